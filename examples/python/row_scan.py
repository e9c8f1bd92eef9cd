"""Running sums along rows of any length: a workgroup has a row, and goes on from tile to tile."""
import numpy

from inlay.codegen import Program, rows_tv, without_axis


# [row scan]
def row_scan(target, type="f32", threads=512, runs=4, v=4):
    wide = threads * runs * v
    k = Program("row_scan", target, threads)
    M, N = k.size("m", most=1 << 20), k.size("n", most=1 << 20, multiple=v)
    Y, X = k.output("y", type, [M, N]), k.input("x", type, [M, N])
    k.computes(Y, lambda m, i: k.sum(N, 0, i + 1, lambda j: X[m, j]))
    row, tv = k.workgroups(0, M, 1), rows_tv(1, wide, v, threads)
    before = k.zeros("f32", without_axis(tv, 1), [1, 1])
    @k.loop(N, wide, distance=1, ring=2)
    def trip(t):
        up_to, all = k.scan("sum", k.load(k.tile(X, [1, wide], [row, t]), tv, v), 1)
        k.store(k.map([up_to, before], lambda x, before: x + before, type), k.tile(Y, [1, wide], [row, t]), v)
        k.update(before, [all], lambda before, all: before + all)
    return k
# [row scan end]


def main(target="gfx942"):
    artifact, random = row_scan(target).build(), numpy.random.default_rng(1)
    for m, n in ((1, 4), (3, 8192), (2, 20000)):
        x = random.uniform(-1, 1, (m, n)).astype(numpy.float32)
        y = numpy.zeros_like(x)
        artifact.run(y, x, m=m, n=n, check="all", stress=1)
        numpy.testing.assert_allclose(y, numpy.cumsum(x.astype(float), 1), atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
