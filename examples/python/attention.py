"""Attention: the loop carries a maximum, a sum and an output, and rescales them when the maximum grows."""
import math

import numpy

from inlay import codegen
from inlay.codegen import (Atom, MmaTiling, Program, columns_tv, conflict_free_swizzle, exp, exp2, find_swizzle, inside, log, rows_tv, transposed,
                           values_exchanged, without_axis)


# [attention]
def flash_attention(target, type="f16", D=64, waves=4, rows=64, columns=64, group=1, causal=False):
    scale, infinity = 1 / math.sqrt(D), math.inf
    to_two = scale * 1.4426950408889634
    def tiling(n, depth): return MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), waves, 1, rows, n, depth, 8)
    # A lane's 8 adjacent columns of the scores are its 8 k of the second product.
    qk, pv = tiling(columns, D).with_columns(8), tiling(D, columns)
    threads = qk.threads()

    k = Program("flash_attention", target, threads)
    B, SQ, SK = k.size("batch", most=1 << 16), k.size("queries", most=1 << 17), k.size("keys", most=1 << 16)
    H = k.size("heads", most=max(64 // group, 1) * group, multiple=group)
    HK = H // group
    O, LSE = k.output("o", type, [B, SQ, H, D]), k.output("lse", "f32", [B, H, SQ])
    Q, K, V = k.input("q", type, [B, SQ, H, D]), k.input("k", type, [B, SK, HK, D]), k.input("v", type, [B, SK, HK, D])
    # Scores of whole tiles may be minus infinity. The multiple of a power of two by `to_two` is exact, so that two of them leave no rest in `scaled` below.
    def as_number(x): return codegen.max(x, k.constant(-2.0**127))
    def specification(b, q, h):
        def score(i):
            all = k.sum(D, lambda d: Q[b, q, h, d] * K[b, i, h // group, d])
            return inside(i, q + 1, all, -infinity) if causal else all
        most = as_number(k.fold("max", SK, score))
        return most * scale, lambda i: exp((score(i) - most) * scale)
    @k.computes(O)
    def output(b, q, h, d):
        _, p = specification(b, q, h)
        return k.sum(SK, lambda i: p(i) * V[b, i, h // group, d]) / k.sum(SK, p)
    @k.computes(LSE)
    def logarithm(b, h, q):
        most, p = specification(b, q, h)
        return most + log(k.sum(SK, p))

    bq, h, b = k.workgroups(0, SQ, rows), k.workgroups(1, H, 1), k.workgroups(2, B, 1)
    by_rows = rows_tv(columns, D, 8, threads)
    # V is transposed on its way to LDS: a work-item loads 8 columns of some rows, and writes what a column has of them at once.
    for piece in (8, 4, 2, 1):
        if piece > max(columns * D // 8 // threads, 1): continue
        loaded = columns_tv(columns, D, 8, threads, piece)
        written = values_exchanged(loaded) if piece > 1 else loaded
        of_values = find_swizzle(target, type, D, columns, [(pv.b(), 8, True), (transposed(written), piece, False)])
        if of_values: break
    of_keys = conflict_free_swizzle(target, type, columns, D, [(by_rows, 8, False), (tiling(columns, D).b(), 8, True)])
    keys, values = k.lds("lds_k", type, [columns, D], of_keys, place=qk.b_place()), k.lds("lds_v", type, [D, columns], of_values)
    of_row = without_axis(qk.c(), 1)
    q = k.load(k.tile(Q, [1, rows, 1, D], [b, bq, h, 0]).keep([1, 3]), qk.a(), 8)
    m, l, o = k.full(-infinity, of_row, [rows, 1]), k.zeros("f32", of_row, [rows, 1]), k.zeros("f32", pv.c(), [rows, D])
    # Behind the diagonal nothing is seen: the loop ends there, where that is the end of a tile.
    @k.loop(codegen.min(SK, rows * (bq + 1)) if causal and rows % columns == 0 else SK, columns, distance=2, ring=2)
    def trip(t):
        def tile(of): return k.tile(of, [1, columns, 1, D], [b, t, h // group, 0]).keep([1, 3])
        k.copy(tile(K), keys, by_rows, 8)
        rows_of_v = k.load(tile(V), loaded, 8)
        if piece > 1: rows_of_v = k.map([rows_of_v], lambda v: v, type, tv=written)
        k.store(rows_of_v, k.whole(values).keep([1, 0]), piece)
        scores = k.zeros("f32", qk.c(), [rows, columns])
        k.mma(scores, q, k.read(keys, qk.b(), 8), qk)
        column, row = columns * t + k.position(1), rows * bq + k.position(0)
        x = k.map([scores], lambda v: inside(column, SK, inside(column, row + 1, v, -infinity) if causal else v, -infinity))
        most = k.map([m, k.fold("max", x, 1)], lambda old, new: codegen.max(old, new))
        # exp2((x - most) scaled) in one product and sum.
        lowered = k.map([most], lambda v: as_number(v) * -to_two)
        def scaled(v, lowered): return exp2(v * to_two + lowered)
        p, again = k.map([x, lowered], scaled), k.map([m, lowered], lambda m, lowered: scaled(as_number(m), lowered))
        k.update(l, [again, k.fold("sum", p, 1)], lambda l, again, sum: l * again + sum)
        k.update(o, [again], lambda o, again: o * again)
        k.mma(o, k.relayout(p, pv.a(), type, "any"), k.read(values, pv.b(), 8), pv)
        k.update(m, [most], lambda _, most: most)
    k.store(k.map([o, l], lambda o, l: o / l), k.tile(O, [1, rows, 1, D], [b, bq, h, 0]).keep([1, 3]), 4)
    k.store(k.map([m, l], lambda m, l: as_number(m) * scale + log(l)), k.tile(LSE, [1, 1, rows], [b, h, bq]).keep([2]), 1)
    return k
# [attention end]


def main(target="gfx942"):
    artifact = flash_attention(target).build()
    random, heads, queries, keys = numpy.random.default_rng(1), 2, 70, 100
    q, k, v = (random.uniform(-1, 1, (1, rows, heads, 64)).astype(numpy.float16) for rows in (queries, keys, keys))
    o, lse = numpy.zeros_like(q), numpy.zeros((1, heads, queries), numpy.float32)
    artifact.run(o, lse, q, k, v, batch=1, queries=queries, keys=keys, heads=heads)
    s = numpy.einsum("bqhd,bkhd->bhqk", q.astype(float), k.astype(float)) / 8
    p = numpy.exp(s - s.max(-1, keepdims=True))
    numpy.testing.assert_allclose(lse, numpy.log(numpy.exp(s).sum(-1)), atol=1e-3)
    numpy.testing.assert_allclose(o, numpy.einsum("bhqk,bkhd->bqhd", p / p.sum(-1, keepdims=True), v.astype(float)), atol=4e-3)
    return artifact


if __name__ == "__main__":
    print(main().proofs)
