"""A 3 x 3 convolution with padding and stride as a GEMM: pixels by taps is a window of the images, and no matrix in memory."""
import numpy

from inlay.codegen import Atom, MmaTiling, Program, rows_tv


# [conv3x3]
def conv3x3(target, C=32, stride=2, pad=1, type="bf16", tile=64, deep=32):
    mma = MmaTiling.of(Atom.mma_best(target, type, type, "f32", 16), 2, 2, tile, tile, deep, 8)
    k = Program("conv3x3", target, mma.threads())
    N, H, W = k.size("n", most=1 << 8), k.size("h", most=256), k.size("w", most=256)
    P, Q = k.size("p", most=512), k.size("q", most=512)  # of the result: (h + 2 pad - 3) / stride + 1
    M, K = k.size("pixels", most=1 << 26), k.size("k", most=1 << 16, multiple=4)
    Y, X, F = k.output("y", "f32", [M, K]), k.input("x", type, [N, H, W, C]), k.input("f", type, [K, 3 * 3 * C])
    taps = k.window("taps", X, [(M, [(Q, 2, stride), (P, 1, stride), (N, 0)]), (9 * C, [(C, 3), (3, 2), (3, 1)])], [0, -pad, -pad, 0])
    k.computes(Y, lambda m, n: k.sum(9 * C, lambda i: taps[m, i] * F[n, i]))

    bn, bm = k.workgroups(0, K, tile), k.workgroups(1, M, tile)
    rows = rows_tv(tile, deep, 8, mma.threads())
    a = k.conflict_free_tile("lds_taps", type, tile, deep, 8, rows, mma.a())
    b = k.conflict_free_tile("lds_filters", type, tile, deep, 8, rows, mma.b())
    acc = k.zeros("f32", mma.c(), [tile, tile])
    @k.loop(9 * C, deep, distance=2, ring=2)
    def trip(t):
        k.copy(k.tile(taps, [tile, deep], [bm, t]), a, rows, 8)
        k.copy(k.tile(F, [tile, deep], [bn, t]), b, rows, 8)
        k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
    k.store(acc, k.tile(Y, [tile, tile], [bm, bn]), 4)
    return k
# [conv3x3 end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx942", C=32, stride=2, pad=1):
    artifact, random = conv3x3(target, C, stride, pad).build(), numpy.random.default_rng(1)
    for n, h, w, filters in ((1, 3, 3, 4), (2, 9, 7, 68), (3, 1, 5, 36)):
        p, q = ((x + 2 * pad - 3) // stride + 1 for x in (h, w))
        x, f = bf16(random.uniform(-1, 1, (n, h, w, C))), bf16(random.uniform(-1, 1, (filters, 3, 3, C)))
        y = numpy.zeros((n * p * q, filters), numpy.float32)
        artifact.run(y, x, f.reshape(filters, -1), n=n, h=h, w=w, p=p, q=q, pixels=n * p * q, k=filters, check="all", stress=1)
        padded = numpy.pad(wide(x), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        expected = sum(padded[:, r:r + stride * p:stride, s:s + stride * q:stride][:, :p, :q] @ wide(f)[:, r, s].T for r in range(3) for s in range(3))
        numpy.testing.assert_allclose(y.reshape(n, p, q, filters), expected, atol=2e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
