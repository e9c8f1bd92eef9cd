"""A GEMM of 16-bit activations and 4-bit weights with a scale for each group of K: words of 8 weights are taken apart on their way to LDS."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, integer, rows_tv, shift_right_signed, to_number, without_axis


# [w4a16]
def w4a16_gemm(target, type="bf16", group=64, tile=64):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 2, 2, tile, tile, group, 8)
    k = Program("w4a16_gemm", target, mma.threads())
    M, N, K = k.size("m", most=1 << 16), k.size("n", most=1 << 16, multiple=4), k.size("k", most=1 << 14, multiple=group)
    C, A = k.output("c", "f32", [M, N]), k.input("a", type, [M, K])
    W, S = k.input("w", "i32", [N, K // 8]), k.input("s", "f32", [N, K // group])
    words = k.window("words", W, [(N, [(N, 0)]), (K, [(8, 1, 0), (K // 8, 1)])], [0, 0])  # the word that weight (n, i) is in
    def weight(word, i): return to_number(shift_right_signed(integer(word) << (28 - 4 * integer(k.number(i % 8))), 28))
    k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * (weight(words[n, i], i) * S[n, i // group])))

    bn, bm = k.workgroups(0, N, tile), k.workgroups(1, M, tile)
    rows = rows_tv(tile, group, 8, mma.threads())
    a = k.conflict_free_tile("lds_a", type, tile, group, 8, rows, mma.a())
    w = k.conflict_free_tile("lds_w", type, tile, group, 8, rows, mma.b())
    acc = k.zeros("f32", mma.c(), [tile, tile])
    @k.loop(K, group, distance=2, ring=2)
    def trip(t):
        k.copy(k.tile(A, [tile, group], [bm, t]), a, rows, 8)
        of, scale = k.load(k.tile(words, [tile, group], [bn, t]), rows, 1), k.load(k.tile(S, [tile, 1], [bn, t]), without_axis(rows, 1), 1)
        k.store(k.map([of, scale], lambda w, s: weight(w, k.position(1)) * s, type), k.whole(w), 8)
        k.mma(acc, k.read(a, mma.a(), 8), k.read(w, mma.b(), 8), mma)
    k.store(acc, k.tile(C, [tile, tile], [bm, bn]), 4)
    return k
# [w4a16 end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx942", group=64):
    artifact, random = w4a16_gemm(target, group=group).build(), numpy.random.default_rng(1)
    for m, n, depth in ((1, 4, 64), (70, 68, 192), (33, 132, 640)):
        a, s = bf16(random.uniform(-1, 1, (m, depth))), (2.0 ** random.integers(-3, 3, (n, depth // group))).astype(numpy.float32)
        w = random.integers(-8, 8, (n, depth))
        words = ((w.reshape(n, -1, 8) & 15) << (4 * numpy.arange(8))).sum(-1).astype(numpy.uint32).view(numpy.int32)
        c = numpy.zeros((m, n), numpy.float32)
        artifact.run(c, a, words, s, m=m, n=n, k=depth, check="all", stress=1)
        numpy.testing.assert_allclose(c, wide(a) @ (w * numpy.repeat(s, group, 1)).T, rtol=1e-4, atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
