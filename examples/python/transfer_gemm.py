"""A GEMM whose tiles go from memory directly to LDS, without registers on the way."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, transfer_place, transfer_tv


# [transfer gemm]
def transfer_gemm(target, m=128, n=128, deep=64, type="f16", whole=False):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 2, 2, m, n, deep, 8)
    k = Program("transfer_gemm", target, mma.threads())
    M, N, K = k.size("m", most=1 << 16), k.size("n", most=1 << 14, multiple=4), k.size("k", most=1 << 14, multiple=8)
    C, A, B = k.output("c", "f32", [M, N]), k.input("a", type, [M, K]), k.input("b", type, [N, K])
    k.computes(C, lambda i, j: k.sum(K, lambda x: A[i, x] * B[j, x]))
    bn, bm = k.workgroups(0, N, n), k.workgroups(1, M, m)
    lanes = 1 if target == "gfx950" else 4  # a lane moves 16 bytes there, and 4 elsewhere: 4 lanes share 8 elements
    a, b = (k.lds(name, type, [rows, deep], place=transfer_place(rows, deep, 8, lanes, whole)) for name, rows in (("lds_a", m), ("lds_b", n)))
    acc = k.zeros("f32", mma.c(), [m, n])
    @k.loop(K, deep, distance=1, ring=2)
    def trip(t):
        for of, at, to, rows in ((A, bm, a, m), (B, bn, b, n)):
            k.transfer(k.tile(of, [rows, deep], [at, t]), to, transfer_tv(rows, deep, 8, mma.threads(), lanes, whole), 8 // lanes)
        k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
    k.store(acc, k.tile(C, [m, n], [bm, bn]), 4)
    return k
# [transfer gemm end]


def main(target="gfx942"):
    artifact, random = transfer_gemm(target).build(), numpy.random.default_rng(1)
    for m, n, depth in ((70, 136, 200), (1, 4, 8)):
        a, b = (random.uniform(-1, 1, (rows, depth)).astype(numpy.float16) for rows in (m, n))
        c = numpy.zeros((m, n), numpy.float32)
        artifact.run(c, a, b, m=m, n=n, k=depth, stress=1)
        numpy.testing.assert_allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().proofs)
