"""The second product of a mixture of experts: rows in the order of experts, added to the tokens that a table names."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, inside, rows_tv, without_axis


# [moe2]
def moe_stage2(target, type="bf16", out="f32", tile_m=64, tile_n=64, tile_k=64):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 2, 2, tile_m, tile_n, tile_k, 8)
    k = Program("moe_stage2", target, mma.threads())
    T, D, I = k.size("tokens", most=1 << 14), k.size("k", most=1 << 14, multiple=8), k.size("inter", most=1 << 13, multiple=8)
    E, P = k.size("experts", most=1 << 12), k.size("rows", most=1 << 22, multiple=tile_m)
    Z, Y, V, weights = k.output("z", out, [T, D]), k.input("y", type, [P, I]), k.input("v", type, [E, D, I]), k.input("weights", "f32", [P, 1])
    ids, experts = k.input("ids", "i32", [P]), k.input("experts_of_blocks", "i32", [P // tile_m])
    rows_in_use = k.input("rows_in_use", "i32", [1])
    used = k.uniform(rows_in_use, 0)
    @k.scatters(Z, ids)
    def down(p, d):
        sum = k.sum(I, lambda i: Y[p, i] * V[k.at(experts, p // tile_m), d, i])
        return inside(p, used, sum * weights[p, 0], 0)

    bd, bp = k.workgroups(0, D, tile_n), k.workgroups(1, P, tile_m)
    e = k.uniform(experts, bp)
    by_rows, by_rows_v = rows_tv(tile_m, tile_k, 8, mma.threads()), rows_tv(tile_n, tile_k, 8, mma.threads())
    row = without_axis(mma.c(), 1)
    y = k.conflict_free_tile("lds_y", type, tile_m, tile_k, 8, by_rows, mma.a())
    v = k.conflict_free_tile("lds_v", type, tile_n, tile_k, 8, by_rows_v, mma.b())
    @k.if_less(tile_m * bp, used)
    def then():
        acc = k.zeros("f32", mma.c(), [tile_m, tile_n])
        @k.loop(I, tile_k, distance=2, ring=2)
        def trip(t):
            k.copy(k.tile(Y, [tile_m, tile_k], [bp, t]), y, by_rows, 8)
            k.copy(k.tile(V, [1, tile_n, tile_k], [e, bd, t]).keep([1, 2]), v, by_rows_v, 8)
            of_v, of_y = k.read(v, mma.b(), 8), k.read(y, mma.a(), 8)  # in the order in which GCC evaluates arguments
            k.mma(acc, of_y, of_v, mma)
        rows, weight = k.load(k.tile(ids, [tile_m], [bp]), row, 1), k.load(k.tile(weights, [tile_m, 1], [bp, 0]), row, 1)
        z = k.map([acc, weight], lambda z, weight: z * weight, out)
        k.add(k.fill(z, 0, tile_m * bp, used, 0), k.tile(Z, [tile_m, tile_n], [0, bd]).through(0, rows))
    return k
# [moe2 end]


def main(target="gfx942"):
    artifact = moe_stage2(target).build()
    random, tokens, d, inter, experts, rows, used = numpy.random.default_rng(1), 50, 72, 40, 3, 192, 128
    y, v = (random.uniform(-1, 1, shape).astype(numpy.float32).view(numpy.uint32) >> 16 for shape in ((rows, inter), (experts, d, inter)))
    weights, ids = random.uniform(0, 1, rows).astype(numpy.float32), random.integers(0, tokens, rows, numpy.int32)
    ids[5] = tokens  # names no row: padding
    blocks = numpy.array([2, 0, 1], numpy.int32)
    z = numpy.zeros((tokens, d), numpy.float32)
    artifact.run(z, y.astype(numpy.uint16), v.astype(numpy.uint16), weights, ids, blocks, numpy.array([used], numpy.int32),
                 tokens=tokens, k=d, inter=inter, experts=experts, rows=rows)
    y, v = ((x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float) for x in (y, v))
    want = numpy.zeros((tokens + 1, d))
    for p in range(used):
        want[ids[p]] += v[blocks[p // 64]] @ y[p] * weights[p]
    numpy.testing.assert_allclose(z, want[:tokens], atol=1e-4)
    return artifact


if __name__ == "__main__":
    print(main().program)
