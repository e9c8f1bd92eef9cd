"""A softmax by Triton that is right, and one whose programs write each other's rows."""
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.program_id(0)
    v = tl.load(x + row * n + at, at < n, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + at, e / tl.sum(e, 0), at < n)


@triton.jit
def softmax_in_one_row(x, y, n, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.program_id(0)
    v = tl.load(x + row * n + at, at < n, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + at, e / tl.sum(e, 0), at < n)
