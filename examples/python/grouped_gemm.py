"""A persistent grouped GEMM: as many workgroups as the device has units walk over a list of tiles, each of which names its expert."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, rows_tv


# [grouped gemm]
def grouped_gemm(target, workers=304):
    mma = MmaTiling.of(Atom.mma_best(target, "bf16", "bf16", "f32", 16), 2, 2, 64, 64, 64, 8)
    k = Program("grouped_gemm", target, mma.threads())
    M, N = k.size("m", most=1 << 22, multiple=64), k.size("n", most=1 << 20, multiple=4)
    K, E = k.size("k", most=1 << 20, multiple=8), k.size("experts", most=1 << 12)
    C, A, W = k.output("c", "f32", [M, N]), k.input("a", "bf16", [M, K]), k.input("w", "bf16", [E, N, K])
    expert_of_block = k.input("expert_of_block", "i32", [M // 64])
    k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * k(W, [k.at(expert_of_block, m // 64), n, i])))

    bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
    k.persistent(workers)
    e = k.uniform(expert_of_block, bm)
    rows = rows_tv(64, 64, 8, mma.threads())
    a = k.conflict_free_tile("lds_a", "bf16", 64, 64, 8, rows, mma.a())
    b = k.conflict_free_tile("lds_b", "bf16", 64, 64, 8, rows, mma.b())
    acc = k.zeros("f32", mma.c(), [64, 64])
    @k.loop(K, 64, distance=2, ring=2)
    def trip(t):
        k.copy(k.tile(A, [64, 64], [bm, t]), a, rows, 8)
        k.copy(k.tile(W, [1, 64, 64], [e, bn, t]).keep([1, 2]), b, rows, 8)
        k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
    k.store(acc, k.tile(C, [64, 64], [bm, bn]), 4)
    return k
# [grouped gemm end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx950", workers=7):
    artifact = grouped_gemm(target, workers).build()
    random, m, n, depth, experts = numpy.random.default_rng(1), 320, 132, 200, 3
    a, w = bf16(random.uniform(-1, 1, (m, depth))), bf16(random.uniform(-1, 1, (experts, n, depth)))
    expert = random.integers(0, experts, m // 64).astype(numpy.int32)
    c = numpy.zeros((m, n), numpy.float32)
    artifact.run(c, a, w, expert, m=m, n=n, k=depth, experts=experts, check="all", stress=2)
    for block, e in enumerate(expert):
        rows = slice(64 * block, 64 * block + 64)
        numpy.testing.assert_allclose(c[rows], wide(a[rows]) @ wide(w[e]).T, atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
