"""The sum over devices, each of which reads what it needs of all of them: the same bits on all devices."""
import functools
import operator

import numpy

from inlay.codegen import Program, line_tv


# [all_reduce]
def all_reduce(target, type="bf16", devices=4, v=8, threads=256):
    tile = threads * v * 2
    k = Program("all_reduce", target, threads)
    N, rank = k.size("n", most=(1 << 28) // devices // v * v, multiple=v), k.devices(devices)
    Y, X = k.output("y", type, [N]), k.peers("x", type, [N])
    def sum(*x): return functools.reduce(operator.add, x)
    k.computes(Y, lambda i: sum(*(x[i] for x in X)))
    part = k.workgroups(0, N, tile)
    tv = line_tv(tile, v, threads)
    k.meet("signals")  # their inputs are there
    x = [k.load(k.tile(of, [tile], [part]), tv, v) for of in X]
    k.store(k.map(x, sum, type), k.tile(Y, [tile], [part]), v)
    k.meet("signals")  # nobody reads mine any more
    return k
# [all_reduce end]


def main(target="gfx942"):
    artifact = all_reduce(target).build()
    n, random = 10000, numpy.random.default_rng(1)
    x = [random.integers(-8, 9, n).astype(numpy.float32) for _ in range(4)]  # sums that bf16 has
    of_bf16 = [(a.view(numpy.uint32) >> 16).astype(numpy.uint16) for a in x]
    y = [numpy.zeros(n, numpy.uint16) for _ in x]
    signals = [numpy.zeros(3 * 4, numpy.int32) for _ in x]  # a word for each workgroup and device
    artifact.run(y, *of_bf16, *signals, n=n, check="all", stress=2)
    for of_device in y:
        numpy.testing.assert_array_equal((of_device.astype(numpy.uint32) << 16).view(numpy.float32), sum(x))
    return artifact


if __name__ == "__main__":
    print(main().proofs)
