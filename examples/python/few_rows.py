"""Y = X W^T for a few rows of X, at the speed at which W comes from memory: for one or two each work-item sums its own columns, from there on matrix
instructions do."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, rows_tv, without_axis


# [few rows]
def few_rows(target, m=1, type="bf16", rows=4, vectors=2, v=8, distance=0):
    wide = 64 * v * vectors
    k = Program("few_rows", target, 256)
    N, K = k.size("n", most=1 << 22), k.size("k", most=1 << 20, multiple=v)
    Y, X, W = k.output("y", "f32", [m, N]), k.input("x", type, [m, K]), k.input("w", type, [N, K])
    k.computes(Y, lambda i, n: k.sum(K, lambda j: X[i, j] * W[n, j]))
    part = k.workgroups(0, N, rows)
    tv = rows_tv(rows, wide, v, 256)
    sums = [k.zeros("f32", tv, [rows, wide]) for _ in range(m)]
    @k.loop(K, wide, distance=distance, ring=1)
    def trip(t):
        w = k.load(k.tile(W, [rows, wide], [part, t]), tv, v)
        for i, sum in enumerate(sums):
            k.update(sum, [w, k.load(k.tile(X, [1, wide], [i, t]), without_axis(tv, 0), v)], lambda s, w, x: s + w * x)
    for i, sum in enumerate(sums):
        k.store(k.fold("sum", sum, 1), k.tile(Y, [1, rows], [i, part]).keep([1, 0]), 1)
    return k
# [few rows end]


# [few rows gemm]
def few_rows_gemm(target, type="bf16", m=16, n=64, deep=128):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 1, 4, m, n, deep, 8)
    k = Program("few_rows_gemm", target, mma.threads())
    M, N, K = k.size("m", most=1 << 16), k.size("n", most=1 << 20, multiple=4), k.size("k", most=1 << 20, multiple=8)
    Y, X, W = k.output("y", "f32", [M, N]), k.input("x", type, [M, K]), k.input("w", type, [N, K])
    k.computes(Y, lambda i, j: k.sum(K, lambda l: X[i, l] * W[j, l]))
    bn, bm = k.workgroups(0, N, n), k.workgroups(1, M, m)
    of_x, of_w = (rows_tv(rows, deep, 8, mma.threads()) for rows in (m, n))
    x = k.conflict_free_tile("lds_x", type, m, deep, 8, of_x, mma.a())
    w = k.conflict_free_tile("lds_w", type, n, deep, 8, of_w, mma.b())
    acc = k.zeros("f32", mma.c(), [m, n])
    @k.loop(K, deep, distance=2, ring=2)
    def trip(t):
        k.copy(k.tile(X, [m, deep], [bm, t]), x, of_x, 8)
        k.copy(k.tile(W, [n, deep], [bn, t]), w, of_w, 8)
        k.mma(acc, k.read(x, mma.a(), 8), k.read(w, mma.b(), 8), mma)
    k.store(acc, k.tile(Y, [m, n], [bm, bn]), 4)
    return k
# [few rows gemm end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx942"):
    random = numpy.random.default_rng(1)
    one, two, gemm = few_rows(target).build(), few_rows(target, 2).build(), few_rows_gemm(target).build()
    for m, n, depth in ((1, 1, 8), (2, 37, 1032), (8, 68, 4000), (1, 5, 4000), (19, 132, 72)):
        x, w = bf16(random.uniform(-1, 1, (m, depth))), bf16(random.uniform(-1, 1, (n, depth)))
        for artifact, sizes in ((one, {}), (two, {}), (gemm, {"m": m})):
            if (artifact is one and m != 1) or (artifact is two and m != 2) or (artifact is gemm and n % 4):
                continue
            y = numpy.zeros((m, n), numpy.float32)
            artifact.run(y, x, w, n=n, k=depth, check="all", stress=2, **sizes)
            numpy.testing.assert_allclose(y, wide(x) @ wide(w).T, atol=1e-3)
    return one, gemm


if __name__ == "__main__":
    for artifact in main():
        print(artifact.program)
