"""y = A x: each work-item sums its own columns in registers, and one fold after the loop joins them."""
import inlay
import numpy
from inlay.codegen import Program, rows_tv


# [gemv]
def gemv(target, monoid="sum"):
    threads, vector = 256, 8
    wide = threads * vector
    k = Program("gemv", target, threads)
    M, N = k.size("m", most=1 << 20), k.size("n", most=1 << 20, multiple=vector)
    Y, A, X = k.output("y", "f32", [M, 1]), k.input("a", "bf16", [M, N]), k.input("x", "bf16", [1, N])
    k.computes(Y, lambda m, _: k.sum(N, lambda i: A[m, i] * X[0, i]))
    row = k.workgroups(0, M, 1)
    tv = rows_tv(1, wide, vector, threads)
    sums = k.zeros("f32", tv, [1, wide])
    @k.loop(N, wide, distance=2, ring=2)
    def trip(t):
        a, x = k.load(k.tile(A, [1, wide], [row, t]), tv, vector), k.load(k.tile(X, [1, wide], [0, t]), tv, vector)
        k.update(sums, [a, x], lambda s, a, x: s + a * x)
    k.store(k.fold(monoid, sums, 1), k.tile(Y, [1, 1], [row, 0]), 1)
    return k
# [gemv end]


def main(target="gfx942"):
    artifact = gemv(target).build()
    random = numpy.random.default_rng(1)
    for n in (8, 2048, 5000):
        a, x = (random.uniform(-1, 1, (rows, n)).astype(numpy.float32).view(numpy.uint32) >> 16 for rows in (3, 1))
        y = numpy.zeros(3, numpy.float32)
        artifact.run(y, a.astype(numpy.uint16), x.astype(numpy.uint16), m=3, n=n)
        wide = [(v.astype(numpy.uint32) << 16).view(numpy.float32).astype(float) for v in (a, x)]
        numpy.testing.assert_allclose(y, wide[0] @ wide[1][0], atol=1e-3)
    try:
        gemv(target, "max").build()  # the largest of the parts is no sum of them
    except inlay.ProgramError as e:
        print(e)
        return artifact
    raise AssertionError("a maximum of parts of a sum was not refused")


if __name__ == "__main__":
    main()
