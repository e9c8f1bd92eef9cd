"""Attention to the blocks of keys that a mask has for each block of queries."""
import math

import numpy

from inlay.codegen import Atom, MmaTiling, Program, choose, exp, integer, less_signed, max, rows_tv, without_axis


# [block sparse attention]
def block_sparse_attention(target, D=64, rows=64, columns=64, type="f16"):
    tiling = lambda n, depth: MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 4, 1, rows, n, depth, 8)
    qk, pv = tiling(columns, D).with_columns(8), tiling(D, columns)
    k = Program("block_sparse_attention", target, qk.threads())
    SQ, SK = k.size("queries", most=1 << 14), k.size("keys", most=1 << 14)
    O, Q, K, V = (k.output("o", type, [SQ, D]), *(k.input(name, type, [s, D]) for name, s in (("q", SQ), ("k", SK), ("v", SK))))
    blocks = (SK + columns - 1) // columns
    mask = k.input("mask", "i32", [(SQ + rows - 1) // rows * blocks])
    least, scale = k.constant(-1e30), D ** -0.5
    @k.computes(O)
    def output(q, d):
        there = lambda i: less_signed(k.integer(0), integer(mask[q // rows * blocks + i // columns]))
        score = lambda i: choose(there(i), k.sum(D, lambda e: Q[q, e] * K[i, e]), k.constant(-math.inf))
        most = max(k.fold("max", SK, score), least)
        p = lambda i: exp((score(i) - most) * scale)
        return k.sum(SK, lambda i: p(i) * V[i, d]) / k.sum(SK, p)

    bq, of_row = k.workgroups(0, SQ, rows), without_axis(qk.c(), 1)
    q = k.load(k.tile(Q, [rows, D], [bq, 0]), qk.a(), 8)
    m, l, o = k.full(-math.inf, of_row, [rows, 1]), k.zeros("f32", of_row, [rows, 1]), k.zeros("f32", pv.c(), [rows, D])
    @k.loop(SK, columns, distance=0, ring=1)
    def block(t):
        @k.if_less(0, k.uniform(mask, bq * blocks + t))
        def there():
            s = k.zeros("f32", qk.c(), [rows, columns])
            k.mma(s, q, k.load(k.tile(K, [columns, D], [t, 0]), qk.b(), 8), qk)
            s = k.fill(s, 1, columns * t, SK, -math.inf)
            most = k.map([m, k.fold("max", s, 1)], max)
            by = k.map([most], lambda x: max(x, least))
            p, again = k.map([s, by], lambda x, y: exp((x - y) * scale)), k.map([m, by], lambda x, y: exp((max(x, least) - y) * scale))
            k.update(l, [again, k.fold("sum", p, 1)], lambda sum, a, more: sum * a + more)
            k.update(o, [again], lambda x, a: x * a)
            v = k.map([k.load(k.tile(V, [columns, D], [t, 0]).keep([1, 0]), pv.b(), 1)], lambda x: x, type)
            k.mma(o, k.relayout(p, pv.a(), type), v, pv)
            k.update(m, [most], lambda _, x: x)
    k.store(k.map([o, l], lambda x, sum: x / sum, type), k.tile(O, [rows, D], [bq, 0]), 1)
    return k
# [block sparse attention end]


def main(target="gfx942"):
    built, random = block_sparse_attention(target).build(), numpy.random.default_rng(1)
    for queries, keys in ((1, 1), (70, 130), (64, 320), (130, 70)):
        q, k, v = (random.standard_normal((n, 64)).astype(numpy.float16) for n in (queries, keys, keys))
        mask = random.integers(0, 2, (-(-queries // 64), -(-keys // 64))).astype(numpy.int32)
        mask[:, random.integers(mask.shape[1])] = 1  # a query that sees nothing is 0/0
        there, o = numpy.repeat(numpy.repeat(mask > 0, 64, 0), 64, 1)[:queries, :keys], numpy.empty((queries, 64), numpy.float16)
        built.run(o, q, k, v, mask.reshape(-1), queries=queries, keys=keys, check="all", stress=1)
        s = numpy.where(there, q.astype(float) @ k.T.astype(float) / 8, -numpy.inf)
        p = numpy.exp(s - s.max(1, keepdims=True))
        numpy.testing.assert_allclose(o, p @ v.astype(float) / p.sum(1, keepdims=True), atol=0.01)
    return built


if __name__ == "__main__":
    print(main().program)
