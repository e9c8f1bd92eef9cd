"""A layout proved for all sizes, a race found in a Triton softmax at its line, a product of torch's tensors: without a GPU.

    pip install inlay-*.whl torch triton && python demo.py
"""
import sys

import torch
import triton
import triton.language as tl

import inlay


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, e / tl.sum(e, axis=0), mask=at < n)  # every row goes to row 0


def line_of(words):
    with open(__file__) as file:
        return 1 + next(i for i, text in enumerate(file) if words in text)


def main():
    verdict = inlay.prove("injective", "(M,K):(ld,1)", where=["ld >= K"])
    print(verdict)
    found = inlay.recheck(verdict.certificate)["accepted"]

    x = torch.rand(4, 100)
    y = torch.empty_like(x)
    report = inlay.check(softmax[(4,)], x, y, 100, BLOCK=128)
    print(report)
    found = found and not report and f"demo.py:{line_of('every row goes to row 0')}" in str(report) and "races" in str(report)

    a, b = torch.rand(64, 64).half(), torch.rand(64, 64).half()
    error = (inlay.gemm(a, b).double() - a.double() @ b.double()).abs().max().item()
    print(f"gemm of 64 x 64 x 64: {error:.4f} off at most")
    return found and error < 0.02


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
