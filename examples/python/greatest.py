"""The greatest and the least integer of each row, exactly: with a sign, or without one."""
import numpy

from inlay.codegen import Program, choose, integer, less_signed, less_unsigned, rows_tv, without_axis


# [greatest]
def greatest(target, monoid="max", type="i32", threads=256):
    nothing = {("max", "i32"): -2**31, ("min", "i32"): 2**31 - 1, ("max", "u32"): 0, ("min", "u32"): 2**32 - 1}[monoid, type]
    less = less_signed if type == "i32" else less_unsigned
    k = Program("greatest", target, threads)
    M, N = k.size("m", most=1 << 16), k.size("n", most=1 << 20)
    Y, X = k.output("y", "i32", [M, 1]), k.input("x", "i32", [M, N])
    k.computes(Y, lambda m, _: k.fold(monoid, N, lambda i: integer(X[m, i]), type))
    row, tv = k.workgroups(0, M, 1), rows_tv(1, threads, 1, threads)
    best = k.map([k.zeros("i32", without_axis(tv, 1), [1, 1])], lambda _: k.integer(nothing), "i32")
    def further(a, b): return choose(less(a, b), b, a) if monoid == "max" else choose(less(a, b), a, b)
    @k.loop(N, threads)
    def trip(t):
        def in_row(x): return choose(less_signed(integer(k.number(threads * t + k.position(1))), integer(k.number(N))), integer(x), k.integer(nothing))
        x = k.map([k.load(k.tile(X, [1, threads], [row, t]), tv, 1)], in_row, "i32")
        k.update(best, [k.fold(monoid, x, 1, type)], lambda a, b: further(integer(a), integer(b)))
    k.store(best, k.tile(Y, [1, 1], [row, 0]), 1)
    return k
# [greatest end]


def main(target="gfx942"):
    random = numpy.random.default_rng(1)
    for monoid, type in (("max", "i32"), ("min", "i32"), ("max", "u32"), ("min", "u32")):
        kernel = greatest(target, monoid, type).build()
        for m, n in ((1, 1), (3, 256), (2, 257), (2, 1000)):
            x, y = random.integers(-2**31, 2**31, (m, n)).astype(numpy.int32), numpy.empty((m, 1), numpy.int32)
            kernel.run(y, x, m=m, n=n, check="all", stress=1)
            numpy.testing.assert_array_equal(y[:, 0].view("i4" if type == "i32" else "u4"), getattr(x.view("i4" if type == "i32" else "u4"), monoid)(1))
    return kernel


if __name__ == "__main__":
    print(main().program)
