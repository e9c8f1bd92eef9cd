"""A Triton kernel with a defect: docs/tutorials/1-triton.md finds it."""
import torch
import triton
import triton.language as tl


# [kernel]
@triton.jit
def softmax(y, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + at, e / tl.sum(e, axis=0))
# [kernel end]


def main(rows=64, n=1000):
    # [check]
    import inlay

    x = torch.rand(rows, n)
    y = torch.empty_like(x)
    report = inlay.check(softmax[(rows,)], y, x, n, BLOCK=1024)
    print(report)
    if report:
        print(inlay.time(softmax[(rows,)], y, x, n, BLOCK=1024))
    # [check end]


if __name__ == "__main__":
    main()
