"""Softmax of rows with one wave a row: a fold within the wave, and what happens when the maximum forgets the end of the row."""
import math

import inlay
import numpy
from inlay.codegen import Program, exp, rows_tv


# [row softmax]
def row_softmax(target, filled=True):
    k = Program("row_softmax", target, 64)
    M, N = k.size("m"), k.size("n", most=512, multiple=4)
    Y, X = k.output("y", "f32", [M, N]), k.input("x", "f32", [M, N])
    @k.computes(Y)
    def softmax(m, n):
        def e(i): return exp(X[m, i] - k.fold("max", N, lambda j: X[m, j]))
        return e(n) / k.sum(N, e)
    row = k.workgroups(0, M, 1)
    x = k.load(k.tile(X, [1, 512], [row, 0]), rows_tv(1, 512, 4, 64), 4)
    if filled: x = k.fill(x, 1, 0, N, -math.inf)
    e = k.map([x, k.fold("max", x, 1)], lambda v, most: exp(v - most))
    k.store(k.map([e, k.fold("sum", e, 1)], lambda v, sum: v / sum), k.tile(Y, [1, 512], [row, 0]), 4)
    return k
# [row softmax end]


def main(target="gfx950"):
    artifact = row_softmax(target).build()
    x = numpy.random.default_rng(1).uniform(-8, 8, (3, 300)).astype(numpy.float32)
    y = numpy.zeros_like(x)
    artifact.run(y, x, m=3, n=300)
    want = numpy.exp(x.astype(float) - x.max(1, keepdims=True))
    numpy.testing.assert_allclose(y, want / want.sum(1, keepdims=True), atol=1e-6)
    try:
        row_softmax(target, filled=False).build()  # beyond the row the descriptor gives 0, which may be the largest
    except inlay.ProgramError as e:
        print(e)
        return artifact
    raise AssertionError("a maximum over what is outside of the row was not refused")


if __name__ == "__main__":
    main()
