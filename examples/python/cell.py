"""The linear part of a recurrent cell, x W^T + h U^T + b: two products in one accumulator, which begins with the bias."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, rows_tv, without_axis


# [cell]
def cell(target, type="bf16"):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 2, 2, 64, 64, 64, 8)
    k = Program("cell", target, mma.threads())
    M, N = k.size("m", most=1 << 16), k.size("n", most=1 << 16, multiple=4)
    K, H = k.size("inputs", most=1 << 14, multiple=8), k.size("state", most=1 << 14, multiple=8)
    Y, b = k.output("y", "f32", [M, N]), k.input("b", "f32", [1, N])
    X, W, S, U = k.input("x", type, [M, K]), k.input("w", type, [N, K]), k.input("h", type, [M, H]), k.input("u", type, [N, H])
    k.computes(Y, lambda m, n: k.sum(K, lambda i: X[m, i] * W[n, i]) + k.sum(H, lambda i: S[m, i] * U[n, i]) + b[0, n])

    bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
    rows = rows_tv(64, 64, 8, mma.threads())
    left = k.conflict_free_tile("left", type, 64, 64, 8, rows, mma.a())
    right = k.conflict_free_tile("right", type, 64, 64, 8, rows, mma.b())
    acc = k.zeros("f32", mma.c(), [64, 64])
    k.update(acc, [k.load(k.tile(b, [1, 64], [0, bn]), without_axis(mma.c(), 0), 1)], lambda a, bias: a + bias)
    for of, by, depth in ((X, W, K), (S, U, H)):
        @k.loop(depth, 64, distance=2, ring=2)
        def trip(t):
            k.copy(k.tile(of, [64, 64], [bm, t]), left, rows, 8)
            k.copy(k.tile(by, [64, 64], [bn, t]), right, rows, 8)
            k.mma(acc, k.read(left, mma.a(), 8), k.read(right, mma.b(), 8), mma)
    k.store(acc, k.tile(Y, [64, 64], [bm, bn]), 4)
    return k
# [cell end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx942"):
    artifact, random = cell(target).build(), numpy.random.default_rng(1)
    for m, n, depth, state in ((1, 4, 8, 8), (70, 68, 200, 72), (64, 128, 64, 320)):
        x, w, h, u = (bf16(random.uniform(-1, 1, s)) for s in ((m, depth), (n, depth), (m, state), (n, state)))
        b, y = random.uniform(-1, 1, (1, n)).astype(numpy.float32), numpy.zeros((m, n), numpy.float32)
        artifact.run(y, b, x, w, h, u, m=m, n=n, inputs=depth, state=state, check="all", stress=1)
        numpy.testing.assert_allclose(y, wide(x) @ wide(w).T + wide(h) @ wide(u).T + b, rtol=1e-4, atol=1e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
