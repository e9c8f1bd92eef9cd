"""The tables of varlen_attention from cu_seqlens, on the device: nobody on the host knows how long sequences are, the grid is for the longest they may be."""
import tempfile

import inlay
import numpy

from inlay.codegen import Program, line_tv, max, min, select, truncated, without_axis


# [attention blocks]
def attention_blocks(target, tile=64, causal=True):
    k = Program("attention_blocks", target, tile)
    S, J, P = k.size("sequences", most=1 << 16), k.size("blocks", most=1 << 12), k.size("pages", most=1 << 18)  # blocks, pages: of the longest sequence
    row, position = k.output("row", "i32", [S, J, tile]), k.output("position", "i32", [S, J, tile])
    ends, table = k.output("ends", "i32", [S, J]), k.output("table", "i32", [S, J, P])
    starts, keys, pages = k.input("cu_seqlens", "i32", [S + 1]), k.input("keys", "i32", [S]), k.input("block_table", "i32", [S, P])
    def row_of(i, start, end): return truncated(select(end - start, k.number(i + 1), start + k.number(i), k.constant(-1)))
    def position_of(i, n, keys): return truncated(keys - n + min(k.number(i), n - 1) if causal else keys - 1)
    def ends_of(j, n, keys):
        seen = max(keys - n + min(k.number(tile * j + tile), n), k.constant(0)) if causal else keys
        return truncated(select(n, k.number(tile * j + 1), seen, k.constant(0)))  # 0: the block has no row
    k.computes(row, lambda s, j, x: row_of(tile * j + x, starts[s], starts[s + 1]))
    k.computes(position, lambda s, j, x: position_of(tile * j + x, starts[s + 1] - starts[s], keys[s]))
    k.computes(ends, lambda s, j: ends_of(j, starts[s + 1] - starts[s], keys[s]))
    k.computes(table, lambda s, j, p: pages[s, p])

    j, s = k.workgroups(0, J, 1), k.workgroups(1, S, 1)
    slots = line_tv(tile, 1, tile)
    one = without_axis(slots, 0)
    start, end, seen = (k.load(k.tile(of, [1], [at]), one, 1) for of, at in ((starts, s), (starts, s + 1), (keys, s)))
    i = tile * j + k.position(0)
    zero = k.zeros("f32", slots, [tile])
    def slot(of): return k.tile(of, [1, 1, tile], [s, j, 0]).keep([2])
    k.store(k.map([zero, start, end], lambda _, a, b: row_of(i, a, b), "i32"), slot(row), 1)
    k.store(k.map([zero, start, end, seen], lambda _, a, b, n: position_of(i, b - a, n), "i32"), slot(position), 1)
    k.store(k.map([start, end, seen], lambda a, b, n: ends_of(j, b - a, n), "i32"), k.tile(ends, [1, 1], [s, j]).keep([1]), 1)
    @k.loop(P, tile, distance=0, ring=1)
    def trip(t):
        k.store(k.load(k.tile(pages, [1, tile], [s, t]).keep([1]), slots, 1), k.tile(table, [1, 1, tile], [s, j, t]).keep([2]), 1)
    return k
# [attention blocks end]


def main(target="gfx942"):
    tile, heads, d, page, random = 64, 2, 64, 16, numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        inlay.build("varlen_attention", folder, arch=target, dtype="f16", head_dim=d, page=page, tile_q=tile, tile_k=64, waves=4)
        attention = inlay.load(folder + "/varlen_attention.json", device="emulator:" + target)
    for causal in (True, False):
        blocks = attention_blocks(target, tile, causal).build()
        for queries, keys, longest, most in (([100, 1, 0, 64, 65], [130, 9, 50, 64, 192], 128, 192), ([3], [3], 64, 64)):
            S, J, P = len(queries), longest // tile, most // page
            cu = numpy.concatenate([[0], numpy.cumsum(queries)]).astype(numpy.int32)
            block_table = random.permutation(S * P).reshape(S, P).astype(numpy.int32)
            row, position = (numpy.zeros((S, J, tile), numpy.int32) for _ in range(2))
            ends, table = numpy.zeros((S, J), numpy.int32), numpy.zeros((S, J, P), numpy.int32)
            blocks.run(row, position, ends, table, cu, numpy.array(keys, numpy.int32), block_table, sequences=S, blocks=J, pages=P, check="all", stress=1)
            for s, (n, m) in enumerate(zip(queries, keys)):
                numpy.testing.assert_array_equal(row[s].ravel(), [cu[s] + i if i < n else -1 for i in range(J * tile)])
                last = [m - n + (n if n < (j + 1) * tile else (j + 1) * tile) if causal else m for j in range(J)]
                numpy.testing.assert_array_equal(ends[s], [last[j] if j * tile < n else 0 for j in range(J)])

            q = random.uniform(-1, 1, (cu[-1], heads, d)).astype(numpy.float16)
            k, v = (random.uniform(-1, 1, (S * P, page, heads, d)).astype(numpy.float16) for _ in "kv")
            o, lse = numpy.zeros((S, J * tile, heads, d), numpy.float16), numpy.zeros((S, J * tile, heads), numpy.float32)
            attention(o, lse, q, k, v, table, row, position, ends, blocks=S * J, rows=cu[-1], heads=heads, keys=most, pages=S * P)
            for s, (n, m) in enumerate(zip(queries, keys)):
                of_k, of_v = (x[block_table[s]].reshape(-1, heads, d)[:m].astype(float) for x in (k, v))
                x = numpy.einsum("qhd,khd->hqk", q[cu[s]:cu[s + 1]].astype(float), of_k) / 8
                if causal:
                    x = numpy.where(numpy.arange(m) <= m - n + numpy.arange(n)[:, None], x, -numpy.inf)
                p = numpy.exp(x - x.max(-1, keepdims=True, initial=-1e30))
                want = numpy.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), of_v)
                numpy.testing.assert_allclose(o[s, :n].astype(float), want, atol=2e-3)
    return blocks


if __name__ == "__main__":
    print(main().program)
