"""Tokens in the order of their experts, stable: the place of token i is how many tokens have a smaller expert, or the same one and come before."""
import numpy

from inlay.codegen import Program, choose, equal, inside, integer, less_signed, line_tv, truncated


# [counting sort]
def places(target, tile=64):
    k = Program("places", target, 256)
    N = k.size("n", most=1 << 22, multiple=4)
    P, E, own = k.output("places", "i32", [N, 1]), k.input("experts", "i32", [N, 1]), k.input("own", "i32", [N, 1])
    def before(of, mine, j, i):
        a, b = integer(of), integer(mine)
        return choose(less_signed(a, b), k.constant(1), inside(j, i, choose(equal(a, b), k.constant(1), k.constant(0)), 0))
    k.computes(P, lambda i, _: truncated(k.sum(N, lambda j: before(E[j, 0], own[i, 0], j, i))))
    # A square of 64 x 64 comparisons a trip: 16 rows and 4 parts of the columns a wave; its rows alone and its columns alone.
    w, all, rows = k.workgroups(0, N, tile), "((16,4,4),16):((1@0,16@1,16@0),1@1)", "((16,4,4),1):((1@0,0,16@0),0)"
    mine, zero = k.load(k.tile(own, [tile, 1], [w, 0]), rows, 1), k.zeros("f32", all, [tile, tile])
    rank = k.zeros("f32", rows, [tile, 1])
    @k.loop(N, tile, distance=0, ring=1)
    def trip(t):
        of = k.load(k.tile(E, [tile, 1], [t, 0]).keep([1, 0]), "((16,4,4),16):((0,16@1,0),1@1)", 4)
        j, i = tile * t + k.position(1), tile * w + k.position(0)
        hits = k.map([zero, of, mine], lambda _, of, mine: inside(j, N, before(of, mine, j, i), 0), tv=all)
        k.update(rank, [k.fold("sum", hits, 1)], lambda rank, more: rank + more)
    k.store(k.map([rank], lambda v: truncated(v), "i32"), k.tile(P, [tile, 1], [w, 0]), 1)
    return k


def put(target, tile=64):
    k = Program("put", target, tile)
    N = k.size("n", most=1 << 22, multiple=tile)
    ids, at = k.inout("ids", "i32", [N]), k.input("places", "i32", [N])
    k.puts(ids, at, lambda i: integer(k.number(i)))
    w, tv = k.workgroups(0, N, tile), line_tv(tile, 1, tile)
    to = k.load(k.tile(at, [tile], [w]), tv, 1)
    k.store(k.map([to], lambda _: integer(k.number(tile * w + k.position(0))), "i32"), k.tile(ids, [tile], [0]).through(0, to), 1)
    return k
# [counting sort end]


def main(target="gfx942"):
    count, move, random = places(target).build(), put(target).build(), numpy.random.default_rng(1)
    for n in (64, 192, 512):
        experts = random.integers(0, 9, n).astype(numpy.int32)
        at, ids = numpy.zeros(n, numpy.int32), numpy.zeros(n, numpy.int32)
        count.run(at, experts, experts.copy(), n=n, check="all", stress=1)
        move.run(ids, at, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(ids, numpy.argsort(experts, kind="stable"))
    experts = random.integers(0, 9, 100).astype(numpy.int32)  # places alone: no whole number of tiles
    at = numpy.zeros(100, numpy.int32)
    count.run(at, experts, experts.copy(), n=100, check="all")
    numpy.testing.assert_array_equal(numpy.argsort(at), numpy.argsort(experts, kind="stable"))
    return count


if __name__ == "__main__":
    print(main().program)
