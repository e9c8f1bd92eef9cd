"""A product by roles: two waves bring what two others multiply."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, Swizzle, rows_tv


def product(target):
    mma = MmaTiling.of(Atom.mma_of(target, "f16", "f16", "f32", 16, 16), 2, 1, 64, 64, 64, 8)
    k = Program("product", target, 256)
    m, n, d = k.size("m", most=1 << 16), k.size("n", most=1 << 16), k.size("k", most=1 << 16, multiple=8)
    C, A, B = k.output("c", "f32", [m, n]), k.input("a", "f16", [m, d]), k.input("b", "f16", [n, d])
    k.computes(C, lambda m, n: k.sum(d, lambda i: A[m, i] * B[n, i]))
    bn, bm = k.workgroups(0, n, 64), k.workgroups(1, m, 64)
    a, b = k.lds("lds_a", "f16", [64, 64], Swizzle(3, 3, 3)), k.lds("lds_b", "f16", [64, 64], Swizzle(3, 3, 3))
    # [roles]
    by_rows = rows_tv(64, 64, 8, 128)
    _, acc = k.roles([("producer", 2, None), ("consumer", 2, lambda: k.zeros("f32", mma.c(), [64, 64]))])
    @k.loop(d, 64)
    def trip(t):
        def producer():
            k.copy(k.tile(A, [64, 64], [bm, t]), a, by_rows, 8)
            k.copy(k.tile(B, [64, 64], [bn, t]), b, by_rows, 8)
        def consumer():
            of_a, of_b = k.read(a, mma.a(), 8), k.read(b, mma.b(), 8)
            k.mma(acc, of_a, of_b, mma)
        k.roles([("producer", 2, producer), ("consumer", 2, consumer)])
    k.roles([("producer", 2, None), ("consumer", 2, lambda: k.store(acc, k.tile(C, [64, 64], [bm, bn]), 1))])
    # [roles end]
    return k


def main(target="gfx942"):
    artifact = product(target).build()
    random, m, n, depth = numpy.random.default_rng(1), 65, 70, 72
    a, b = (random.uniform(-1, 1, (rows, depth)).astype(numpy.float16) for rows in (m, n))
    c = numpy.zeros((m, n), numpy.float32)
    artifact.run(c, a, b, m=m, n=n, k=depth)
    numpy.testing.assert_allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-4)
    return artifact


if __name__ == "__main__":
    print(main().program)
