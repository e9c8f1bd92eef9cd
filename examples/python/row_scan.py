"""Running sums along rows of any length: a work-item has a row, whose elements reach it through LDS."""
import numpy

from inlay.codegen import Program, rows_tv


# [row scan]
def row_scan(target, type="f32", rows=64, n=16, v=4):
    k = Program("row_scan", target, rows)
    M, N = k.size("m", most=1 << 20), k.size("n", most=1 << 20, multiple=v)
    Y, X = k.output("y", type, [M, N]), k.input("x", type, [M, N])
    k.computes(Y, lambda m, i: k.sum(N, 0, i + 1, lambda j: X[m, j]))
    bm = k.workgroups(0, M, rows)
    one = f"({rows},1):(1@0,0)"  # a row each
    sum = k.zeros("f32", one, [rows, 1])
    @k.loop(N, n, distance=0, ring=1)
    def trip(t):
        for j in range(n):
            x = k.fold("sum", k.load(k.tile(X, [rows, 1], [bm, n * t + j]), one, 1), 1)
            k.update(sum, [x], lambda sum, x: sum + x)
            k.store(sum, k.tile(Y, [rows, 1], [bm, n * t + j]), 1)
    return k
# [row scan end]


def main(target="gfx942"):
    artifact, random = row_scan(target).build(), numpy.random.default_rng(1)
    for m, n in ((1, 4), (70, 16), (3, 100)):
        x = random.uniform(-1, 1, (m, n)).astype(numpy.float32)
        y = numpy.zeros_like(x)
        artifact.run(y, x, m=m, n=n, check="all", stress=1)
        numpy.testing.assert_allclose(y, numpy.cumsum(x.astype(float), 1), atol=1e-4)
    return artifact


if __name__ == "__main__":
    print(main().program)
