"""Integers of 64 bits, as torch has indices: the rows that they name, and the greatest of a row as one."""
import numpy

from inlay.codegen import Program, integer, rows_tv, select, truncated, without_axis


# [embedding]
def embedding(target, rows=4, columns=256):
    k = Program("embedding", target, 256)
    T, V, N = k.size("tokens", most=1 << 24, multiple=rows), k.size("rows", most=1 << 24), k.size("n", most=1 << 16, multiple=4)
    Y, W, ids = k.output("y", "f32", [T, N]), k.input("w", "f32", [V, N]), k.input("ids", "i64", [T])
    k.computes(Y, lambda t, n: k(W, [k.at(ids, t), n]))
    bn, bt = k.workgroups(0, N, columns), k.workgroups(1, T, rows)
    tv = rows_tv(rows, columns, 4, 256)
    named = k.load(k.tile(ids, [rows], [bt]), without_axis(tv, 1), 1)
    k.store(k.load(k.tile(W, [rows, columns], [0, bn]).through(0, named), tv, 4), k.tile(Y, [rows, columns], [bt, bn]), 4)
    return k
# [embedding end]


# [argmax]
def argmax(target, rows=4, columns=256):
    k = Program("argmax", target, 256)
    M, N = k.size("m", most=1 << 20), k.size("n", most=columns)
    Y, X = k.output("y", "i64", [M, 1]), k.input("x", "f32", [M, N])
    def at(x, most, i): return select(x, most, k.number(i), k.constant(numpy.inf))  # where x is the greatest
    @k.computes(Y)
    def first(m, _):
        most = k.fold("max", N, lambda i: X[m, i])
        return truncated(k.fold("min", N, lambda i: at(X[m, i], most, i)))

    bm = k.workgroups(0, M, rows)
    x = k.fill(k.load(k.tile(X, [rows, columns], [bm, 0]), rows_tv(rows, columns, 1, 256), 1), 1, 0, N, -numpy.inf)
    number = k.map([x, k.fold("max", x, 1)], lambda a, most: at(a, most, k.position(1)))
    least = k.fold("min", k.fill(number, 1, 0, N, numpy.inf), 1)
    k.store(k.map([least], truncated, "i32"), k.tile(Y, [rows, 1], [bm, 0]), 1)
    return k
# [argmax end]


def main(target="gfx942"):
    random = numpy.random.default_rng(1)
    take, greatest = embedding(target).build(), argmax(target).build()
    for t, v, n in ((4, 3, 4), (8, 40, 300), (12, 7, 516)):
        w, ids = random.standard_normal((v, n)).astype(numpy.float32), random.integers(0, v, t)
        ids[:4] = 2**32, 2**32 + v - 1, -1, -(2**63)  # no rows, though the lower halves of two are
        y = numpy.empty((t, n), numpy.float32)
        take.run(y, w, ids, tokens=t, rows=v, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(y, numpy.where(((ids >= 0) & (ids < v))[:, None], w[ids.clip(0, v - 1)], 0))
    for m, n in ((1, 1), (5, 37), (9, 256)):
        x = random.integers(0, 9, (m, n)).astype(numpy.float32)  # with ties
        y = numpy.empty((m, 1), numpy.int64)
        greatest.run(y, x, m=m, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(y[:, 0], x.argmax(1))
    return take


if __name__ == "__main__":
    print(main().program)
