"""y = the sum of the rows of a table that a list names: each trip loads some ids, and the rows that these name."""
import inlay
import numpy
from inlay.codegen import Program, rows_tv, without_axis


# [embedding bag]
def embedding_bag(target, masked=True):
    rows, columns = 8, 256
    k = Program("embedding_bag", target, 64)
    T, V, D = k.size("ids_in_bag", most=1 << 10), k.size("rows", most=1 << 16), k.size("columns", most=1 << 10, multiple=4)
    Y, W, ids = k.output("y", "f32", [1, D]), k.input("w", "f32", [V, D]), k.input("ids", "i32", [T])
    k.computes(Y, lambda _, d: k.sum(T, lambda p: W[k.at(ids, p), d]))
    bd = k.workgroups(0, D, columns)
    tv = rows_tv(rows, columns, 4, 64)
    sum = k.zeros("f32", without_axis(tv, 0), [1, columns])
    @k.loop(T, rows, distance=2, ring=2)
    def trip(t):
        named = k.load(k.tile(ids, [rows], [t]), without_axis(tv, 1), 1)
        x = k.load(k.tile(W, [rows, columns], [0, bd]).through(0, named), tv, 4)
        if masked: x = k.fill(x, 0, rows * t, T, 0)  # after the list's end an id is 0, and row 0 is not nothing
        k.update(sum, [k.fold("sum", x, 0)], lambda s, x: s + x)
    k.store(sum, k.tile(Y, [1, columns], [0, bd]), 4)
    return k
# [embedding bag end]


def main(target="gfx942"):
    artifact = embedding_bag(target).build()
    v, d = 7, 260
    table = numpy.random.default_rng(1).uniform(-1, 1, (v, d)).astype(numpy.float32)
    ids = numpy.array([3, 0, 6, 6, 1, -1, 7, 2, 5, 3, 3], numpy.int32)  # -1 and 7 name no row
    y = numpy.zeros(d, numpy.float32)
    artifact.run(y, table, ids, ids_in_bag=len(ids), rows=v, columns=d)
    numpy.testing.assert_allclose(y, table[[i for i in ids if 0 <= i < v]].astype(float).sum(0), atol=1e-5)
    try:
        embedding_bag(target, masked=False).build()
    except inlay.ProgramError as e:
        print(e)
        return artifact
    raise AssertionError("rows after the end of the list were not refused")


if __name__ == "__main__":
    main()
