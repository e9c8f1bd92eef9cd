"""Running sums down the columns of a matrix: each workgroup goes on from what the one before stored."""
import numpy

from inlay.codegen import Program, ceil_div, rows_tv, without_axis


# [cumsum]
def cumsum(target, type="f16", threads=64, rows=16, v=8):
    wide, of_sums = threads * v, min(v, 4)  # 16 bytes of f32
    k = Program("cumsum", target, threads)
    N, M = k.size("n", most=1 << 20, multiple=rows), k.size("m", most=1 << 20, multiple=v)
    Y, C, X = k.output("y", type, [N, M]), k.output("carry", "f32", [ceil_div(N, rows), M]), k.input("x", type, [N, M])
    def sum_to(end, column): return k.sum(N, 0, end, lambda i: X[i, column])  # of the rows before `end`
    k.computes(Y, lambda n, m: sum_to(n + 1, m))
    k.computes(C, lambda part, m: sum_to(rows * (part + 1), m))

    columns, part = k.workgroups(0, M, wide), k.workgroups(1, N, rows)
    tv = rows_tv(1, wide, v, threads)
    line = without_axis(tv, 0)
    def row(of, number): return k.tile(of, [1, wide], [number, columns])
    def add(a, b, element="f32"): return k.map([a, b], lambda a, b: a + b, element)
    sums = []  # of the workgroup's rows, up to each
    for i in range(rows):
        one = k.fold("sum", k.load(row(X, rows * part + i), tv, v), 0)
        sums.append(add(sums[-1], one) if sums else one)
    def before(): return k.load(row(C, part - 1), line, of_sums)
    def carry(sum): k.store(sum, row(C, part), of_sums)
    def each(result):
        for i in range(rows): k.store(result(sums[i]), row(Y, rows * part + i), v)
    k.await_("turn", part)
    k.if_less(0, part, lambda: carry(add(before(), sums[-1])), lambda: carry(sums[-1]))
    k.signal("turn")
    def others():
        all = before()
        each(lambda sum: add(all, sum, type))
    k.if_less(0, part, others, lambda: each(lambda sum: k.map([sum], lambda x: x, type)))
    return k
# [cumsum end]


def main(target="gfx942"):
    artifact = cumsum(target).build()
    x = numpy.random.default_rng(1).uniform(-1, 1, (48, 520)).astype(numpy.float16)
    y, carry, turn = numpy.zeros_like(x), numpy.zeros((3, 520), numpy.float32), numpy.zeros(2, numpy.int32)
    artifact.run(y, carry, x, turn, n=48, m=520)
    numpy.testing.assert_allclose(y, numpy.cumsum(x.astype(float), 0), atol=1e-2)
    return artifact


if __name__ == "__main__":
    print(main().program)
