"""Decode attention over a cache of pages of 16 tokens: grouped heads, a length for each sequence, keys and values in bf16 or fp8."""
import math

import numpy

from inlay import codegen
from inlay.codegen import Atom, MmaTiling, Program, columns_tv, exp, find_swizzle, inside, max, rows_tv, transposed, without_axis


# [paged decode]
def paged_decode(target, group=8, cache="bf16", type="bf16", D=64, page=16, n=64):
    minus, rows, fp8 = -math.inf, 16, cache != type  # of the instruction; rows after `group` are not stored
    def tiling(columns, depth): return MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 1, 1, rows, columns, depth, 8)
    qk, pv = tiling(n, D).with_columns(8), tiling(D, n)
    k = Program("paged_decode", target, 64)
    S, HK, P = k.size("sequences", most=1 << 16), k.size("kv_heads", most=256), k.size("pages", most=1 << 24)
    N = k.size("keys", most=1 << 20, multiple=page)  # the longest sequence for which the table has pages
    O, Q = k.output("o", "f32", [S, HK, group, D]), k.input("q", type, [S, HK, group, D])
    K, V = k.input("k", cache, [P, page, HK, D]), k.input("v", cache, [P, page, HK, D])
    T, L = k.input("table", "i32", [S, N // page]), k.input("lengths", "i32", [S])
    keys, values = k.paged("keys_at", K, T), k.paged("values_at", V, T)
    @k.computes(O)
    def output(s, h, g, d):
        length = k.value(L, s)
        def score(i): return inside(i, length, k.sum(D, lambda j: Q[s, h, g, j] * keys[s, i, h, j]) * (1 / math.sqrt(D)), minus)
        most = k.fold("max", N, score)
        def p(i): return exp(score(i) - most)
        return inside(0, length, k.sum(N, lambda i: p(i) * inside(i, length, values[s, i, h, d], 0)) / k.sum(N, p), 0)

    s, h = k.workgroups(0, S, 1), k.workgroups(1, HK, 1)
    length, of_row, loaded = k.uniform(L, s), without_axis(qk.c(), 1), columns_tv(n, D, 8, 64)
    lds = k.lds("lds_v", type, [D, n], find_swizzle(target, type, D, n, [(pv.b(), 8, True), (transposed(loaded), 1, False)]))
    to = k.tile(O, [1, 1, rows, D], [s, h, 0, 0]).keep([2, 3])
    def attend():
        q = k.load(k.tile(Q, [1, 1, rows, D], [s, h, 0, 0]).keep([2, 3]), qk.a(), 8)
        m, l, o = k.full(minus, of_row, [rows, 1]), k.zeros("f32", of_row, [rows, 1]), k.zeros("f32", pv.c(), [rows, D])
        @k.loop(codegen.min(N, length), n, distance=1, ring=1)
        def trip(t):
            def tile(of): return k.tile(of, [1, n, 1, D], [s, t, h, 0]).keep([1, 3])
            def seen(i, x, other): return inside(i, N, inside(i, length, x, other), other)
            v = k.map([k.load(tile(values), loaded, 8)], lambda v: seen(n * t + k.position(0), v, 0), type)
            k.store(v, k.whole(lds).keep([1, 0]), 1)
            of_keys = k.load(tile(keys), qk.b(), 8)
            if fp8: of_keys = k.map([of_keys], lambda v: v, type)
            scores = k.zeros("f32", qk.c(), [rows, n])
            k.mma(scores, q, of_keys, qk)
            x = k.map([scores], lambda v: seen(n * t + k.position(1), v * (1 / math.sqrt(D)), minus))
            most = k.map([m, k.fold("max", x, 1)], lambda old, new: max(old, new))
            p, again = (k.map([of, most], lambda v, m: exp(v - m)) for of in (x, m))
            k.update(l, [again, k.fold("sum", p, 1)], lambda l, again, sum: l * again + sum)
            k.update(o, [again], lambda o, again: o * again)
            k.mma(o, k.relayout(p, pv.a(), type, "any"), k.read(lds, pv.b(), 8), pv)
            k.update(m, [most], lambda _, most: most)
        k.store(k.map([o, l], lambda o, l: o / l), to, 4)
    k.if_less(0, length, attend, lambda: k.store(k.zeros("f32", pv.c(), [rows, D]), to, 4))
    return k
# [paged decode end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def e4m3fnuz(codes):
    """What codes of 8 bits stand for on gfx942: bias 8, and 0x80 is no number."""
    c = codes.astype(int)
    sign, exponent, mantissa = 1 - 2 * (c >> 7), (c >> 3) & 15, c & 7
    return sign * numpy.where(exponent == 0, mantissa * 2.0**-10, (8 + mantissa) * 2.0 ** (exponent - 11.0))


def main(target="gfx942", kinds=("bf16", "e4m3fnuz"), group=8, D=64, page=16):
    random = numpy.random.default_rng(1)
    for cache in kinds:
        artifact = paged_decode(target, group, cache).build()
        sequences, heads, pages, keys = 5, 2, 40, 160
        lengths = numpy.array([0, 1, 160, 200, 77], numpy.int32)  # none, one, all, more than there are, some
        table = random.integers(0, pages, (sequences, keys // page)).astype(numpy.int32)
        q = bf16(random.uniform(-1, 1, (sequences, heads, group, D)))
        shape = (pages, page, heads, D)
        if cache == "bf16":
            k, v = (bf16(random.uniform(-1, 1, shape)) for _ in "kv")
            of_k, of_v = wide(k), wide(v)
        else:
            k, v = (random.choice(numpy.r_[0:64, 129:192], shape).astype(numpy.uint8) for _ in "kv")
            of_k, of_v = e4m3fnuz(k), e4m3fnuz(v)
        o = numpy.zeros((sequences, heads, group, D), numpy.float32)
        artifact.run(o, q, k, v, table, lengths, sequences=sequences, kv_heads=heads, pages=pages, keys=keys, check="all", stress=1)
        for s, length in enumerate(numpy.minimum(lengths, keys)):
            at = [(table[s, i // page], i % page) for i in range(length)]
            for h in range(heads):
                if length == 0:
                    assert not o[s, h].any()
                    continue
                ks, vs = (numpy.array([x[p, i, h] for p, i in at]) for x in (of_k, of_v))
                x = wide(q[s, h]) @ ks.T / math.sqrt(D)
                p = numpy.exp(x - x.max(-1, keepdims=True))
                numpy.testing.assert_allclose(o[s, h], p / p.sum(-1, keepdims=True) @ vs, atol=1e-2)
    return artifact


if __name__ == "__main__":
    print(main().program)
