"""y = max(x + bias, 0) of rows of float16: docs/tutorials/4-kernel.md writes it."""
import numpy
from inlay.codegen import Program, max, rows_tv, without_axis


# [bias_relu]
def bias_relu(target):
    k = Program("bias_relu", target, 256)
    M, N = k.size("m"), k.size("n", most=1 << 20, multiple=8)
    Y, X, B = k.output("y", "f16", [M, N]), k.input("x", "f16", [M, N]), k.input("b", "f16", [1, N])
    k.computes(Y, lambda m, n: max(X[m, n] + B[0, n], 0.0))

    bn, bm = k.workgroups(0, N, 256), k.workgroups(1, M, 8)
    tv = rows_tv(8, 256, 8, 256)
    x = k.load(k.tile(X, [8, 256], [bm, bn]), tv, 8)
    b = k.load(k.tile(B, [1, 256], [0, bn]), without_axis(tv, 0), 8)
    k.store(k.map([x, b], lambda v, w: max(v + w, 0.0)), k.tile(Y, [8, 256], [bm, bn]), 8)
    return k
# [bias_relu end]


def main():
    # [run]
    artifact = bias_relu("gfx942").build(validate=True)
    random = numpy.random.default_rng(1)
    x, b = random.uniform(-1, 1, (50, 1000)).astype("f2"), random.uniform(-1, 1, (1, 1000)).astype("f2")
    y = numpy.empty_like(x)
    artifact.run(y, x, b, m=50, n=1000)
    print("largest difference to numpy:", abs(y - numpy.maximum(x + b, 0)).max())
    artifact.save("built")
    # [run end]


if __name__ == "__main__":
    main()
