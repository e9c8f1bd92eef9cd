"""c = a + b: the smallest kernel, proved for all n, run on the emulator with every sanitizer on."""
import numpy

from inlay.codegen import Program, line_tv


# [vector add]
def vector_add(target):
    k = Program("vector_add", target, 256)
    n = k.size("n", most=(1 << 29) - 1)
    c, a, b = k.output("c", "f32", [n]), k.input("a", "f32", [n]), k.input("b", "f32", [n])
    k.computes(c, lambda i: a[i] + b[i])

    w = k.workgroups(0, n, 1024)
    tv = line_tv(1024, 4, 256)
    both = [k.load(k.tile(x, [1024], [w]), tv, 4) for x in (a, b)]
    k.store(k.map(both, lambda x, y: x + y), k.tile(c, [1024], [w]), 4)
    return k
# [vector add end]


def main(target="gfx942"):
    artifact = vector_add(target).build()
    n = 1000
    a, b, c = numpy.arange(n, dtype=numpy.float32), numpy.ones(n, numpy.float32), numpy.zeros(n, numpy.float32)
    artifact.run(c, a, b, n=n, check="all")
    numpy.testing.assert_array_equal(c, a + b)
    return artifact


if __name__ == "__main__":
    print(main().proofs)
