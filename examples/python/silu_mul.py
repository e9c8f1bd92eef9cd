"""y = x / (1 + exp(-x)) * g of float16."""
import numpy

from inlay.codegen import Program, exp, line_tv


# [silu]
def silu_mul(target):
    k = Program("silu_mul", target, 256)
    n = k.size("n", most=1 << 28, multiple=8)
    y, x, g = k.output("y", "f16", [n]), k.input("x", "f16", [n]), k.input("g", "f16", [n])
    def silu(v, w): return v / (exp(v * -1.0) + 1.0) * w
    k.computes(y, lambda i: silu(x[i], g[i]))

    w = k.workgroups(0, n, 2048)
    tv = line_tv(2048, 8, 256)  # 8 halves a work-item
    a, b = k.load(k.tile(x, [2048], [w]), tv, 8), k.load(k.tile(g, [2048], [w]), tv, 8)
    k.store(k.map([a, b], silu), k.tile(y, [2048], [w]), 8)
    return k
# [silu end]


def main(target="gfx942"):
    artifact = silu_mul(target).build()
    random, n = numpy.random.default_rng(1), 5000
    x, g = (random.uniform(-4, 4, n).astype(numpy.float16) for _ in "xg")
    y = numpy.zeros(n, numpy.float16)
    artifact.run(y, x, g, n=n)
    wide = x.astype(float)
    numpy.testing.assert_allclose(y, wide / (1 + numpy.exp(-wide)) * g, atol=8e-3)
    return artifact


if __name__ == "__main__":
    print(main().proofs)
