"""How often each number occurs, counted by atomics in LDS; and the sum of weights of each."""
import numpy

from inlay.codegen import Program, choose, equal, inside, integer, line_tv, truncated


# [histogram]
def histogram(target, bins=256, tile=256, weighted=False):
    k = Program("histogram", target, 256)
    N = k.size("n", most=1 << 22)
    H, ids = k.output("h", "i32", [bins]), k.input("ids", "i32", [N])
    X = k.input("x", "i8", [N]) if weighted else None
    def weight(of=None): return of if weighted else k.constant(1)
    k.computes(H, lambda r: k.sum(N, lambda s: choose(equal(integer(ids[s]), integer(k.number(r))), weight(X and X[s]), k.constant(0))))

    w, tv, all_bins = k.workgroups(0, N, tile), line_tv(tile, 1, 256), line_tv(bins, 1, 256)
    counts = k.lds("counts", "i32", [bins])
    k.store(k.zeros("i32", all_bins, [bins]), k.whole(counts), 1)
    e = k.load(k.tile(ids, [tile], [w]), tv, 1)
    x = [k.load(k.tile(X, [tile], [w]), tv, 1)] if weighted else []
    v = k.map([e] + x, lambda _, *of: truncated(inside(tile * w + k.position(0), N, weight(*of), 0)), "i32")
    k.add(v, k.tile(counts, [tile], [0]).through(0, e))
    k.add(k.read(counts, all_bins, 1), k.tile(H, [bins], [0]))
    return k
# [histogram end]


def main(target="gfx942"):
    counts, sums, random = histogram(target).build(), histogram(target, weighted=True).build(), numpy.random.default_rng(1)
    for n in (1, 255, 256, 1000):
        ids = random.integers(-3, 259, n).astype(numpy.int32)  # some are no element
        x, there = random.integers(-128, 128, n).astype(numpy.int8), (ids >= 0) & (ids < 256)
        h = numpy.zeros(256, numpy.int32)
        counts.run(h, ids, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(h, numpy.bincount(ids[there], minlength=256))
        h[:] = 0
        sums.run(h, ids, x, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(h, numpy.bincount(ids[there], x[there], 256).astype(numpy.int32))
    return counts


if __name__ == "__main__":
    print(main().program)
