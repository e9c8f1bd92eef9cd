"""Five points of a grid, with zeros around it: one window, and a tile of it moved for each of them."""
import numpy

from inlay.codegen import Program, rows_tv

POINTS = [(0, 0, -4.0), (-1, 0, 1.0), (1, 0, 1.0), (0, -1, 1.0), (0, 1, 1.0)]


# [laplace]
def laplace(target):
    k = Program("laplace", target, 256)
    H, W = k.size("h", most=1 << 14), k.size("w", most=1 << 14)
    Y, X = k.output("y", "f32", [H, W]), k.input("x", "f32", [H, W])
    around = k.window("around", X, [(H + 2, [(H, 0)]), (W + 2, [(W, 1)])], [-1, -1])  # element (1, 1) is X's (0, 0)

    def sum_of(values):
        total = k.constant(0)
        for value, (_, _, weight) in zip(values, POINTS):
            total = total + weight * value
        return total

    k.computes(Y, lambda h, w: sum_of([around[h + (1 + dh), w + (1 + dw)] for dh, dw, _ in POINTS]))
    right, down = k.workgroups(0, W, 64), k.workgroups(1, H, 16)
    tv = rows_tv(16, 64, 1, 256)

    def point(dh, dw):
        tap = k.tile(around, [16, 64], [down, right])
        tap.origin[0] += 1 + dh
        tap.origin[1] += 1 + dw
        return k.load(tap, tv, 1)

    points = [point(dh, dw) for dh, dw, _ in POINTS]
    k.store(k.map(points, lambda *values: sum_of(values)), k.tile(Y, [16, 64], [down, right]), 1)
    return k
# [laplace end]


def main(target="gfx942"):
    artifact = laplace(target).build(validate=True)
    for h, w in [(1, 1), (37, 101), (16, 64)]:
        x = numpy.random.default_rng(h).uniform(-1, 1, (h, w)).astype(numpy.float32)
        y = numpy.empty_like(x)
        artifact.run(y, x, h=h, w=w, stress=1)
        p = numpy.pad(x, 1)
        numpy.testing.assert_allclose(
            y, p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x, atol=1e-5)
    return artifact


if __name__ == "__main__":
    print(main().program)
