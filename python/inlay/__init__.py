"""Layout algebra, proofs, and kernels for AMD Instinct, on a machine without a GPU.

    >>> import inlay
    >>> inlay.composition("(6,2):(8,2)", "3:2")
    Layout('3:16')
    >>> bool(inlay.prove("injective", "(M,K):(ld,1)", where=["ld >= K"]))
    True
    >>> c = inlay.gemm(a, b)                       # on the emulator, numpy arrays or CPU tensors of torch
    >>> k = inlay.Program("mine", "gfx942", 256)   # a kernel of one's own, proved: inlay.codegen
    >>> inlay.check(kernel[grid], x, y, n)         # a Triton kernel, compiled for the target, run with all sanitizers

Operations of the algebra take layouts, texts ('(4,8):(8,1)'), integers, None for _, and tuples of these. A request that has no meaning is a
LayoutError, which is a ValueError, with the fields code, operation, operands, where, numbers and hint.
"""
from . import _inlay
from ._inlay import ComposedLayout, CoordSwizzle, Layout, LayoutError, Swizzle, evaluate

__all__ = ["ComposedLayout", "CoordSwizzle", "Layout", "LayoutError", "Swizzle", "evaluate"]

if hasattr(_inlay, "prove"):
    from ._inlay import Verdict, prove, recheck

    __all__ += ["Verdict", "prove", "recheck"]


def _operations():
    """The rows of the algebra's table, which is the extension's."""
    values = {"run_kernel", "kernel_names", "processor", "kernel_options", "kernel_buffers", "kernel_manifest", "kernel_choice", "prove", "recheck", "evaluate"}
    for name in dir(_inlay):
        operation = getattr(_inlay, name)
        if not name.startswith("_") and callable(operation) and not isinstance(operation, type) and name not in values:
            globals()[name] = operation
            __all__.append(name)


_operations()
del _operations

if hasattr(_inlay, "kernel_names"):
    from . import codegen
    from .codegen import Artifact, Program, ProgramError, ProofReport
    from ._delta import gated_delta
    from ._kernels import buffers, explain, flash_attention, gemm, kernels, rms_norm, run_kernel, softmax, varlen_attention
    from ._launch import LoadedKernel, load
    from ._tools import (CommandError, Picture, Timing, build, compare, draw, exec, fuzz, inspect, run, search, time, validate)
    from ._triton import Report, check

    __version__ = _inlay.version
    __all__ += ["Artifact", "CommandError", "LoadedKernel", "Picture", "Program", "ProgramError", "ProofReport", "Report", "Timing", "buffers", "build", "check", "codegen",
                "compare", "draw", "exec", "explain", "flash_attention", "fuzz", "gated_delta", "gemm",
                "inspect", "kernels", "load", "rms_norm", "run", "run_kernel", "search", "softmax", "time", "validate", "varlen_attention"]
else:
    __version__ = "0"


def __dir__():
    return sorted(__all__ + ["__version__", "__doc__"])
