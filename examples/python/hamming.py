"""Sums of integers modulo 2^32: in how many bits each row of words differs from a query."""
import numpy

from inlay.codegen import Program, integer, popcount, rows_tv


# [hamming]
def hamming(target, threads=256, words=4):
    wide = threads * words
    k = Program("hamming", target, threads)
    M, N = k.size("m", most=1 << 16), k.size("n", most=1 << 20, multiple=words)
    Y, X, Q = k.output("y", "i32", [M, 1]), k.input("x", "i32", [M, N]), k.input("q", "i32", [1, N])
    def bits(x, q): return popcount(integer(x) ^ integer(q))
    k.computes(Y, lambda m, _: k.sum(N, lambda i: bits(X[m, i], Q[0, i])))
    row, tv = k.workgroups(0, M, 1), rows_tv(1, wide, words, threads)
    sums = k.zeros("i32", tv, [1, wide])
    @k.loop(N, wide)
    def trip(t):
        x, q = (k.load(k.tile(T, [1, wide], [r, t]), tv, words) for T, r in ((X, row), (Q, 0)))
        k.update(sums, [x, q], lambda s, x, q: integer(s) + bits(x, q))
    k.store(k.fold("sum", sums, 1, "i32"), k.tile(Y, [1, 1], [row, 0]), 1)
    return k
# [hamming end]


def main(target="gfx942"):
    kernel, random = hamming(target).build(), numpy.random.default_rng(1)
    for m, n in ((1, 4), (3, 1024), (2, 1028), (2, 5000)):
        x, q = (random.integers(-2**31, 2**31, (rows, n)).astype(numpy.int32) for rows in (m, 1))
        y = numpy.empty((m, 1), numpy.int32)
        kernel.run(y, x, q, m=m, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(y[:, 0], numpy.unpackbits((x ^ q).view(numpy.uint8), axis=1).sum(1))
    return kernel


if __name__ == "__main__":
    print(main().program)
