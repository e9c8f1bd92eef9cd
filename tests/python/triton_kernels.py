"""Kernels that inlay.check is tried on: one that is right, one without its mask."""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


@triton.jit
def add_unmasked(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at))


@triton.jit
def matmul_of_one_tile(a, b, c, by_am, by_ak, by_bk, by_bn, by_cm, by_cn, SIZE: tl.constexpr):
    m, n = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    product = tl.dot(tl.load(a + m * by_am + n * by_ak), tl.load(b + m * by_bk + n * by_bn))
    tl.store(c + m * by_cm + n * by_cn, product)


add_tuned = triton.autotune([triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 512}, num_warps=8)], key=["n"])(add)
add_by_size = triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["n"])})(add)
