"""Arithmetic operation by operation as IEEE 754 rounds it: the bits of numpy."""
import numpy

from inlay.codegen import Program, line_tv, sqrt


# [as written]
def normalise(target, tile=256, **math):
    k = Program("normalise", target, 256)
    N = k.size("n", most=1 << 20)
    Y, X, G, B = k.output("y", "f32", [N]), *(k.input(name, "f32", [N]) for name in ("x", "g", "b"))
    def value(x, g, b): return x / sqrt(g) * g + b
    k.computes(Y, lambda i: value(X[i], G[i], B[i]))
    w, tv = k.workgroups(0, N, tile), line_tv(tile, 1, 256)
    x, g, b = (k.load(k.tile(of, [tile], [w]), tv, 1) for of in (X, G, B))
    k.store(k.map([x, g, b], value, "f32", **math), k.tile(Y, [tile], [w]), 1)
    return k
# [as written end]


def run(kernel, *inputs):
    y = numpy.empty(len(inputs[0]), numpy.float32)
    kernel.run(y, *inputs, n=len(y), check="all")
    return y


def main(target="gfx942"):
    random = numpy.random.default_rng(1)
    x, b = (random.standard_normal(1000).astype(numpy.float32) for _ in range(2))
    g = numpy.ldexp(random.random(1000), random.integers(-60, 60, 1000)).astype(numpy.float32)
    exact, fast = normalise(target, contract=False, approximate=False).build(), normalise(target).build()
    expected = x / numpy.sqrt(g) * g + b  # each operation rounded to f32
    numpy.testing.assert_array_equal(run(exact, x, g, b), expected)
    assert (run(fast, x, g, b) != expected).any()  # else there would be nothing to ask for
    return exact


if __name__ == "__main__":
    print(main().program)
