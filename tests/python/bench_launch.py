"""What a cached launch costs from Python, with a libamdhip64 that only records (docs/measurements/speed.md):

  INLAY_HIP_LIBRARY=build/release/tests/runtime/libfake_hip.so PYTHONPATH=build/release/python python3 tests/python/bench_launch.py
"""
import tempfile
import time

import inlay
from inlay._tools import ELEMENTS

dtypes = {short: "torch." + long for long, short in ELEMENTS.items()}


class Tensor:
    """What a launch asks a tensor of the device for."""

    __slots__ = ("address", "nbytes", "dtype", "shape")
    is_cuda, device = True, "cuda:0"

    def __init__(self, address, dtype, shape):
        self.address, self.nbytes, self.dtype, self.shape = address, 1 << 20, dtype, shape

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.address


def least(f):
    """Microseconds of processor time of one call, whatever else the machine does: the least of 100 runs of 500."""
    best = float("inf")
    for _ in range(100):
        begin = time.thread_time()
        for _ in range(500):
            f()
        best = min(best, (time.thread_time() - begin) / 500)
    return 1e6 * best


print(f"{'kernel':<18}{'buffers':>8}{'sizes':>6}{'tensors':>10}{'addresses':>10}{'ctypes':>10}   us a launch")
for name, sizes in (("vector_add", {"n": 4000}), ("gemm", {"m": 256, "n": 256, "k": 256}),
                    ("flash_attention", {"batch": 1, "queries": 64, "keys": 64, "heads": 2})):
    with tempfile.TemporaryDirectory() as directory:
        inlay.build(name, directory)
        kernel = inlay.load(f"{directory}/{name}.json", device="hip")
    addresses = [(i + 1) << 24 for i in range(len(kernel.buffers))]
    kernel.bytes_for(sizes)
    tensors = [Tensor(a, dtypes.get(t), shape) for a, t, shape in zip(addresses, kernel._types, kernel._shapes)]
    kernel(*tensors, stream=7, **sizes)
    call, handle, pointers, numbers, count = (kernel._lib.inlay_launch, kernel._kernel, kernel._pointers, kernel._numbers, kernel._count)
    print(f"{name:<18}{len(kernel.buffers):>8}{len(sizes):>6}{least(lambda: kernel(*tensors, stream=7, **sizes)):>10.1f}"
          f"{least(lambda: kernel(*addresses, stream=7, **sizes)):>10.1f}{least(lambda: call(handle, pointers, len(pointers), numbers, count, 7)):>10.1f}")
