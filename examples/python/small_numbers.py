"""Numbers of 4 and 6 bits: rows of packed e2m3 with a scale for each 32, and rows packed as e2m1."""
import numpy

from inlay.codegen import Program, from_code, integer, rows_tv, to_code, without_axis


# [unpack]
def from_e2m3(target, rows=4, tile=256):
    k = Program("from_e2m3", target, 256)
    M, N = k.size("m", most=1 << 14), k.size("n", most=1 << 16, multiple=32)
    Y = k.output("y", "f32", [M, N])
    X, S = k.input("x", "i8", [M, N // 4 * 3]), k.input("s", "f32", [M, N // 32])  # 4 codes in 3 bytes
    byte = [k.window(f"byte{b}", X, [(M, [(M, 0)]), (N, [(4, 1, 0), (N // 4, 1, 3)])], [0, b]) for b in (0, 1, 2)]
    scale = k.window("scale", S, [(M, [(M, 0)]), (N, [(32, 1, 0), (N // 32, 1)])], [0, 0])
    def number(a, b, c, s, j):
        word = (integer(a) & 255) | (integer(b) & 255) << 8 | (integer(c) & 255) << 16
        return from_code("e2m3", word >> 6 * integer(k.number(j % 4))) * s
    k.computes(Y, lambda m, n: number(*(w[m, n] for w in (*byte, scale)), n))
    bn, bm = k.workgroups(0, N, tile), k.workgroups(1, M, rows)
    tv = rows_tv(rows, tile, 1, 256)
    of = [k.load(k.tile(w, [rows, tile], [bm, bn]), tv, 1) for w in (*byte, scale)]
    k.store(k.map(of, lambda *x: number(*x, k.position(1))), k.tile(Y, [rows, tile], [bm, bn]), 1)
    return k
# [unpack end]


# [pack]
def to_e2m1(target, rows=4, tile=256):
    k = Program("to_e2m1", target, 256)
    M, N = k.size("m", most=1 << 13), k.size("n", most=1 << 12)  # words of a row, of 8 numbers each
    Y, X = k.output("y", "i32", [M, N]), k.input("x", "f32", [M, 8 * N])
    eighth = [k.window(f"x{j}", X, [(M, [(M, 0)]), (N, [(N, 1, 8)])], [0, j]) for j in range(8)]
    def word(*x):
        codes = [to_code("e2m1", v) << 4 * j for j, v in enumerate(x)]
        return ((codes[0] | codes[1]) | (codes[2] | codes[3])) | ((codes[4] | codes[5]) | (codes[6] | codes[7]))
    k.computes(Y, lambda m, n: word(*(w[m, n] for w in eighth)))
    bn, bm = k.workgroups(0, N, tile), k.workgroups(1, M, rows)
    tv = rows_tv(rows, tile, 1, 256)
    of = [k.load(k.tile(w, [rows, tile], [bm, bn]), tv, 1) for w in eighth]
    k.store(k.map(of, word, "i32"), k.tile(Y, [rows, tile], [bm, bn]), 1)
    return k
# [pack end]


E2M3 = [(m if e == 0 else (8 + m) * 2.0 ** (e - 1)) / 8 for e in range(4) for m in range(8)]
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def main(target="gfx942"):
    random = numpy.random.default_rng(1)
    unpack, pack = from_e2m3(target).build(), to_e2m1(target).build()
    for m, n in ((1, 32), (5, 288), (9, 512)):
        codes, s = random.integers(0, 64, (m, n)), 2.0 ** random.integers(-9, 9, (m, n // 32)).astype(numpy.float32)
        three = (codes.reshape(m, -1, 4) << (6 * numpy.arange(4))).sum(-1)
        x = ((three[..., None] >> (8 * numpy.arange(3))) & 255).astype(numpy.uint8).reshape(m, -1).view(numpy.int8)
        y = numpy.zeros((m, n), numpy.float32)
        unpack.run(y, x, s, m=m, n=n, check="all", stress=1)
        numpy.testing.assert_array_equal(y, numpy.array(E2M3 + [-v for v in E2M3])[codes] * numpy.repeat(s, 32, 1))
    for m, n in ((1, 1), (5, 37), (3, 300)):
        x = (random.integers(-32, 33, (m, 8 * n)) / 4).astype(numpy.float32)  # ties, and past the largest
        y = numpy.zeros((m, n), numpy.int32)
        pack.run(y, x, m=m, n=n, check="all", stress=1)
        codes = (y.view(numpy.uint32)[..., None] >> (4 * numpy.arange(8, dtype=numpy.uint32))).reshape(m, -1) & 15
        wanted = numpy.array([min(range(8), key=lambda c: (abs(E2M1[c] - abs(v)), c % 2)) + (8 if v < 0 else 0) for v in x.ravel()])
        numpy.testing.assert_array_equal(codes.ravel(), wanted)
    return unpack


if __name__ == "__main__":
    print(main().program)
