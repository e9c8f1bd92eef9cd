"""c = a + b in FlyDSL, as it would run on a GPU: docs/tutorials/6-flydsl.md runs it without one."""
import sys

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch


# [kernel]
@flyc.kernel
def add_kernel(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, block: fx.Constexpr[int]):
    tiles = [fx.logical_divide(t, fx.make_layout(block, 1)) for t in (a, b, c)]
    mine = [fx.logical_divide(fx.slice(t, (None, fx.block_idx.x)), fx.make_layout(1, 1)) for t in tiles]
    atom = fx.make_copy_atom(fx.UniversalCopy32b(), fx.Float32)
    registers = [fx.make_rmem_tensor(fx.make_layout(1, 1), fx.Float32) for _ in mine]
    for k in (0, 1):
        fx.copy(atom, fx.slice(mine[k], (None, fx.thread_idx.x)), registers[k])
    registers[2].store(registers[0].load() + registers[1].load())
    fx.copy(atom, registers[2], fx.slice(mine[2], (None, fx.thread_idx.x)))
# [kernel end]


@flyc.jit
def add(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, n: fx.Int32, stream: fx.Stream = fx.Stream(None)):
    add_kernel(a, b, c, 64).launch(grid=((n + 63) // 64, 1, 1), block=(64, 1, 1), stream=stream)


n = int(sys.argv[1])
a, b = torch.rand(n).cuda(), torch.rand(n).cuda()
c = torch.zeros_like(a)
add(a, b, c, n, stream=torch.cuda.Stream())
torch.testing.assert_close(c, a + b)
print("the sums are right")
