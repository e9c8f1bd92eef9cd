"""Attention to the last `window` keys: tiles that no row of the block sees are not loaded."""
import math

import numpy

from inlay.codegen import (Atom, MmaTiling, Program, columns_tv, conflict_free_swizzle, exp, find_swizzle, inside, max, rows_tv, transposed, values_exchanged,
                           without_axis)


# [sliding window]
def sliding_window(target, window=200, type="bf16", D=64, waves=4, n=64):
    minus, tiles = -math.inf, (window - 1 + n - 1) // n  # before the diagonal one
    def tiling(columns, depth): return MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), waves, 1, n, columns, depth, 8)
    qk, pv = tiling(n, D).with_columns(8), tiling(D, n)
    k = Program("sliding_window", target, qk.threads())
    B, S, H = k.size("batch", most=1 << 16), k.size("rows", most=1 << 16), k.size("heads", most=64)
    O = k.output("o", type, [B, S, H, D])
    Q, K, V = (k.input(name, type, [B, S, H, D]) for name in "qkv")
    def seen(i, q, x): return inside(q - window, i, inside(i, q + 1, x, minus), minus)
    @k.computes(O)
    def output(b, q, h, d):
        def score(i): return seen(i, q, k.sum(D, lambda j: Q[b, q, h, j] * K[b, i, h, j]) * (1 / math.sqrt(D)))
        most = k.fold("max", S, score)
        def p(i): return exp(score(i) - most)
        return k.sum(S, lambda i: p(i) * V[b, i, h, d]) / k.sum(S, p)

    bq, h, b = k.workgroups(0, S, n), k.workgroups(1, H, 1), k.workgroups(2, B, 1)
    by_rows, loaded = rows_tv(n, D, 8, qk.threads()), columns_tv(n, D, 8, qk.threads(), 2)
    written = values_exchanged(loaded)  # V is transposed on its way to LDS
    keys = k.lds("lds_k", type, [n, D], conflict_free_swizzle(target, type, n, D, [(by_rows, 8, False), (tiling(n, D).b(), 8, True)]), place=qk.b_place())
    values = k.lds("lds_v", type, [D, n], find_swizzle(target, type, D, n, [(pv.b(), 8, True), (transposed(written), 2, False)]))
    of_row = without_axis(qk.c(), 1)
    def tile(of, number): return k.tile(of, [1, n, 1, D], [b, number, h, 0]).keep([1, 3])
    q, m, l, o = k.load(tile(Q, bq), qk.a(), 8), k.full(minus, of_row, [n, 1]), k.zeros("f32", of_row, [n, 1]), k.zeros("f32", pv.c(), [n, D])
    def attend(t):
        k.copy(tile(K, t), keys, by_rows, 8)
        k.store(k.map([k.load(tile(V, t), loaded, 8)], lambda v: v, type, tv=written), k.whole(values).keep([1, 0]), 2)
        scores = k.zeros("f32", qk.c(), [n, n])
        k.mma(scores, q, k.read(keys, qk.b(), 8), qk)
        column, row = n * t + k.position(1), n * bq + k.position(0)
        x = k.map([scores], lambda v: inside(column, S, seen(column, row, v * (1 / math.sqrt(D))), minus))
        most = k.map([m, k.fold("max", x, 1)], lambda old, new: max(old, new))
        p, again = (k.map([of, most], lambda v, m: exp(v - m)) for of in (x, m))
        k.update(l, [again, k.fold("sum", p, 1)], lambda l, again, sum: l * again + sum)
        k.update(o, [again], lambda o, again: o * again)
        k.mma(o, k.relayout(p, pv.a(), type, "any"), k.read(values, pv.b(), 8), pv)
        k.update(m, [most], lambda _, most: most)
    attend(bq)  # the diagonal first: every row has seen a key
    k.if_less(0, bq, lambda: k.loop(max(0, n * bq - n * tiles), n * bq, n, attend))
    k.store(k.map([o, l], lambda o, l: o / l), tile(O, bq), 4)
    return k
# [sliding window end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx942", window=200):
    artifact, random = sliding_window(target, window).build(), numpy.random.default_rng(1)
    for rows in (1, 64, 70, 333):
        q, k, v = (bf16(random.uniform(-1, 1, (1, rows, 2, 64))) for _ in "qkv")
        o = numpy.zeros_like(q)
        artifact.run(o, q, k, v, batch=1, rows=rows, heads=2, check="all", stress=1)
        s = numpy.einsum("bqhd,bkhd->bhqk", wide(q), wide(k)) / 8
        i, j = numpy.arange(rows)[:, None], numpy.arange(rows)
        s = numpy.where((j <= i) & (j > i - window), s, -numpy.inf)
        p = numpy.exp(s - s.max(-1, keepdims=True))
        numpy.testing.assert_allclose(wide(o), numpy.einsum("bhqk,bkhd->bqhd", p / p.sum(-1, keepdims=True), wide(v)), atol=1e-2)
    return artifact


if __name__ == "__main__":
    print(main().program)
