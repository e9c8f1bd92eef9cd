"""A 64 x 64 GEMM with matrix instructions: four waves, LDS, a double-buffered loop."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, rows_tv


# [mfma gemm]
def gemm64(target):
    mma = MmaTiling.of(Atom.mma_best(target, "bf16", "bf16", "f32", 16), 2, 2, 64, 64, 64, 8)
    k = Program("gemm64", target, mma.threads())
    M, N, K = k.size("m"), k.size("n", most=1 << 20, multiple=4), k.size("k", most=1 << 20, multiple=8)
    C, A, B = k.output("c", "f32", [M, N]), k.input("a", "bf16", [M, K]), k.input("b", "bf16", [N, K])
    k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * B[n, i]))

    bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
    rows = rows_tv(64, 64, 8, mma.threads())
    a = k.conflict_free_tile("lds_a", "bf16", 64, 64, 8, rows, mma.a())
    b = k.conflict_free_tile("lds_b", "bf16", 64, 64, 8, rows, mma.b())
    acc = k.zeros("f32", mma.c(), [64, 64])
    @k.loop(K, 64, distance=2, ring=2)
    def trip(t):
        k.copy(k.tile(A, [64, 64], [bm, t]), a, rows, 8)
        k.copy(k.tile(B, [64, 64], [bn, t]), b, rows, 8)
        of_a, of_b = k.read(a, mma.a(), 8), k.read(b, mma.b(), 8)
        k.mma(acc, of_a, of_b, mma)
    k.store(acc, k.tile(C, [64, 64], [bm, bn]), 4)
    return k
# [mfma gemm end]


def main(target="gfx950"):
    artifact = gemm64(target).build()
    random, m, n, depth = numpy.random.default_rng(1), 70, 68, 200
    a, b = (random.uniform(-1, 1, (rows, depth)).astype(numpy.float32).view(numpy.uint32) >> 16 for rows in (m, n))
    c = numpy.zeros((m, n), numpy.float32)
    artifact.run(c, a.astype(numpy.uint16), b.astype(numpy.uint16), m=m, n=n, k=depth)  # bfloat16 is the upper half of float32
    wide = [(x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float) for x in (a, b)]
    numpy.testing.assert_allclose(c, wide[0] @ wide[1].T, atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
