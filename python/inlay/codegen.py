"""Kernels as programs, under the names of C++ (docs/guide/5-first-kernel.md and on).

    >>> from inlay.codegen import Program, line_tv
    >>> k = Program("twice", "gfx942", 256)
    >>> n = k.size("n")
    >>> y, x = k.output("y", "f32", (n,)), k.input("x", "f32", (n,))
    >>> k.computes(y, lambda i: 2 * x[i])
    >>> w = k.workgroups(0, n, 1024)
    >>> twice = k.map([k.load(k.tile(x, (1024,), (w,)), line_tv(1024, 4, 256), 4)], lambda v: 2 * v)
    >>> k.store(twice, k.tile(y, (1024,), (w,)), 4)
    >>> artifact = k.build()                  # proved for all n, then machine code
    >>> artifact.run(out, x, n=len(x))        # on the emulator, arrays written in place

Elements, targets and monoids are their names ("bf16", "gfx950", "max"), a layout is an inlay.Layout or its text, and what is a block in C++ is a
function, given as the argument or decorated. What the library refuses is a ProgramError with the file and the line of the call.
"""
import os
import tempfile

from . import _inlay
from ._inlay import Layout, Swizzle
from ._tools import CommandError, answer, host

_names = ("Artifact", "Atom", "Expr", "Fragment", "Index", "MmaTiling", "Program", "ProgramError", "ProofReport", "Sym", "SymLayout", "Tensor",
          "View", "ceil_div", "choose", "columns_tv", "conflict_free_swizzle", "equal", "exp", "exp2", "find_swizzle", "float_bits", "floor_div",
          "floor_mod", "from_bits", "inside", "integer", "less_signed", "less_unsigned", "line_tv", "log", "log2", "max", "min", "mul_hi", "nearest",
          "popcount", "rcp", "rows_tv", "rsqrt", "scales_place", "scales_transfer_tv", "select", "shift_right_signed", "sqrt", "to_number",
          "to_number_unsigned", "transfer_place", "transfer_tv", "transposed", "truncated", "values_exchanged", "without_axis")
globals().update({name: getattr(_inlay.codegen, name) for name in _names})
__all__ = [*_names, "Layout", "Swizzle"]


def _run(self, *buffers, check="bounds,uninit,races", **sizes):
    """One launch on the emulator: buffers in the order of the program, which outputs are written in place, and sizes by name.

    Arrays of numpy or CPU tensors of torch, contiguous. Errors: CommandError for sizes that the launch contract refuses and for what the
    sanitizers `check` find, with the line of the program.
    """
    import numpy

    arrays = [host(b) for b in buffers]
    for a, name in zip(arrays, self.buffers):
        if not a.flags.c_contiguous:
            raise ValueError(f"buffer {name} is not contiguous")
    try:
        after = self._run([a.tobytes() for a in arrays], sizes, check)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    for a, data in zip(arrays, after):
        if data is not None:
            a[...] = numpy.frombuffer(data, dtype=a.dtype).reshape(a.shape)


def _save(self, directory):
    """Writes what `inlay build` writes: code object, launch manifest, IR, assembly, proofs. The manifest's file, which inlay.load,
    inlay.exec, inlay.time, inlay.validate and the command line take."""
    os.makedirs(directory, exist_ok=True)
    for end, text in (("hsaco", self.hsaco), ("json", self.manifest), ("ll", self.ir), ("s", self.assembly), ("proofs.txt", self.proofs.text())):
        with open(os.path.join(directory, f"{self.kernel}.{end}"), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    return os.path.join(directory, self.kernel + ".json")


def _time(self, *buffers, **sizes):
    """Clocks of a launch on hardware by the model, as inlay.time gives them. Without buffers they hold zeros."""
    with tempfile.TemporaryDirectory(prefix="inlay-") as directory:
        arguments = []
        for name, b in zip(self.buffers, buffers):
            file = os.path.join(directory, name + ".in")
            host(b).tofile(file)
            arguments += ["--arg", f"{name}=in:{file}"]
        sizes = [word for name, value in sizes.items() for word in ("--size", f"{name}={value}")]
        return answer(["time", self.save(directory), *arguments, *sizes], {})


Artifact.run, Artifact.save, Artifact.time = _run, _save, _time  # noqa: F821
for _name, _function in (("run", _run), ("save", _save), ("time", _time)):
    _function.__name__, _function.__qualname__ = _name, "Artifact." + _name
del _name, _function
