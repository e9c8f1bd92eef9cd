"""Sums of rows that follow one another, segment by segment: y[s] = x[starts[s]] + ... + x[starts[s + 1] - 1], nothing of an empty one."""
import numpy

from inlay.codegen import Program, min, rows_tv, without_axis


# [segment sum]
def segment_sum(target, tile=256):
    k = Program("segment_sum", target, 64)
    S, N, D = k.size("segments", most=1 << 20), k.size("n", most=1 << 18), k.size("d", most=1 << 10, multiple=4)
    Y, X, starts = k.output("y", "f32", [S, D]), k.input("x", "f32", [N, D]), k.input("starts", "i32", [S + 1])
    k.computes(Y, lambda s, d: k.sum(N, k.value(starts, s), k.value(starts, s + 1), lambda i: X[i, d]))

    s, part = k.workgroups(0, S, 1), k.workgroups(1, D, tile)
    first, end = k.uniform(starts, s), k.uniform(starts, s + 1)
    tv, to = rows_tv(1, tile, 4, 64), k.tile(Y, [1, tile], [s, part])
    def zeros(): return k.zeros("f32", without_axis(tv, 0), [1, tile])
    def some():
        acc = zeros()
        @k.loop(first, min(N, end), 1, distance=0, ring=1)
        def trip(i):
            k.update(acc, [k.load(k.tile(X, [1, tile], [i, part]), tv, 4)], lambda a, x: a + x)
        k.store(acc, to, 4)
    k.if_less(first, min(N, end), some, lambda: k.store(zeros(), to, 4))
    return k
# [segment sum end]


def main(target="gfx942"):
    artifact, random = segment_sum(target).build(), numpy.random.default_rng(1)
    for segments, n, d in ((1, 1, 4), (9, 40, 260), (5, 3, 8)):
        x = random.integers(-99, 99, (n, d)).astype(numpy.float32)
        starts = numpy.sort(random.integers(0, n + 3, segments + 1)).astype(numpy.int32)  # past the end, too
        y = numpy.full((segments, d), numpy.nan, numpy.float32)
        artifact.run(y, x, starts, segments=segments, n=n, d=d, check="all", stress=2)
        numpy.testing.assert_array_equal(y, numpy.stack([x[a:b].sum(0) for a, b in zip(starts, starts[1:])]))
    return artifact


if __name__ == "__main__":
    print(main().program)
