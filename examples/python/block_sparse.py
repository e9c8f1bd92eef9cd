"""A product that leaves out blocks of its depth where a mask says so."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, choose, integer, less_signed


# [block sparse]
def block_sparse(target, tile=32, block=32):
    mma = MmaTiling.of(Atom.mma_best(target, "f16", "f16", "f32", 16), 2, 2, tile, tile, block, 8)
    k = Program("block_sparse", target, mma.threads())
    M, N, K = k.size("m", most=1 << 16), k.size("n", most=1 << 16), k.size("k", most=1 << 16, multiple=block)
    C, A, B = k.output("c", "f32", [M, N]), k.input("a", "f16", [M, K]), k.input("b", "f16", [N, K])
    mask = k.input("mask", "i32", [K // block])  # more than 0: there is something in the block
    there = lambda i: less_signed(k.integer(0), integer(mask[i // block]))
    k.computes(C, lambda m, n: k.sum(K, lambda i: choose(there(i), A[m, i] * B[n, i], k.constant(0))))

    bn, bm = k.workgroups(0, N, tile), k.workgroups(1, M, tile)
    acc = k.zeros("f32", mma.c(), [tile, tile])
    @k.loop(K, block, distance=0, ring=1)
    def trip(t):
        @k.if_less(0, k.uniform(mask, t))
        def _():
            a = k.load(k.tile(A, [tile, block], [bm, t]), mma.a(), 8)
            k.mma(acc, a, k.load(k.tile(B, [tile, block], [bn, t]), mma.b(), 8), mma)
    k.store(acc, k.tile(C, [tile, tile], [bm, bn]), 1)
    return k
# [block sparse end]


def main(target="gfx942"):
    product, random = block_sparse(target).build(), numpy.random.default_rng(1)
    for m, n, depth in ((1, 1, 32), (40, 33, 96), (64, 70, 320)):
        a, b = (random.standard_normal((x, depth)).astype(numpy.float16) for x in (m, n))
        for mask in (random.integers(-1, 2, depth // 32), numpy.zeros(depth // 32), numpy.ones(depth // 32)):
            mask, c = mask.astype(numpy.int32), numpy.empty((m, n), numpy.float32)
            there = numpy.repeat(mask > 0, 32)
            product.run(c, numpy.where(there, a, numpy.nan).astype(numpy.float16), b, mask, m=m, n=n, k=depth, check="all", stress=1)
            numpy.testing.assert_allclose(c, numpy.where(there, a, 0).astype(float) @ b.T.astype(float), atol=0.02)
    return product


if __name__ == "__main__":
    print(main().program)
