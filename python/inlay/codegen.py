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
import difflib
import functools
import json
import os
import re
import tempfile

from . import _inlay
from ._inlay import Layout, Swizzle
from ._tools import CommandError, Contract, Timing, _arguments, answer, bytes_of, checked, checks, contract, size_number, stress_count

_names = ("Artifact", "Atom", "Expr", "Fragment", "Index", "MmaTiling", "OrderClaim", "Origin", "Program", "ProgramError", "ProofReport", "SumOrders", "Sym", "SymLayout",
          "Tensor", "View", "ceil_div", "choose", "columns_tv", "conflict_free_swizzle", "equal", "erf", "exp", "exp2", "find_swizzle", "float_bits", "floor", "floor_div",
          "floor_mod", "from_bits", "from_code", "gelu", "gelu_tanh", "inside", "integer", "leading_zeros", "less_signed", "less_unsigned", "line_tv", "log", "log2", "max",
          "min", "mish", "mul_hi", "nearest", "philox4x32", "popcount", "rcp", "relu", "rows_tv", "rsqrt", "scales_place", "scales_transfer_tv", "select",
          "shift_right_signed", "sigmoid", "silu", "softplus", "sqrt", "tanh", "to_code", "to_number", "to_number_unsigned", "trailing_zeros", "transfer_place", "transfer_tv",
          "transposed", "truncated", "values_exchanged", "without_axis")
globals().update({name: getattr(_inlay.codegen, name) for name in _names})
__all__ = [*_names, "Layout", "Swizzle"]


def _in_words(name, method):
    """The method, which says in a sentence what is wrong with its arguments, where pybind11 lists the overloads."""
    signatures = [line[line.index(name + "("):] for line in (method.__doc__ or "").splitlines() if name + "(" in line and "->" in line]
    known = [word for line in signatures for word in re.findall(r"(\w+): ", line)]

    @functools.wraps(method)
    def call(*args, **named):
        try:
            return method(*args, **named)
        except TypeError as e:
            if "incompatible function arguments" not in str(e):
                raise
        unknown = [n for n in named if n not in known]
        near = difflib.get_close_matches(unknown[0], known, 1, 0.5) if unknown else []
        said = f"no argument '{unknown[0]}'" if unknown else "not of " + (", ".join([type(a).__name__ for a in args[1:]] + [f"{n}={v!r}" for n, v in named.items()]) or "nothing")
        short = " or ".join(re.sub(r"self: [\w.]+(, )?|\w+\.(?=\w)", "", line).split(" -> ")[0] for line in signatures)
        raise TypeError(f"{name}: {said}\n  hint   " + (f"did you mean {near[0]}? " if near else "") + short)

    return call


def _wrap():
    for kind in (Program, Artifact):  # noqa: F821
        for name, method in list(vars(kind).items()):
            if not name.startswith("_") and callable(method):
                setattr(kind, name, _in_words(name, method))


_wrap()
del _wrap


def _sets(manifest, buffers):
    """The arrays of each device, in the order of the buffers; of a kernel that several devices run, a list is each device's own."""
    devices, sets = manifest.get("devices", 1), []
    for buffer, given in zip([a for a in manifest["arguments"] if a["kind"] == "buffer"], buffers):
        name, own = buffer["name"], "device" not in buffer
        many = devices > 1 and isinstance(given, (list, tuple))
        if many and (not own or len(given) != devices):
            raise TypeError(f"buffer {name}: {len(given)} arrays; " + (f"one for each of {devices} devices" if own else f"it is device {buffer['device']}'s: one array"))
        if devices > 1 and own and buffer["output"] and not many:
            raise TypeError(f"buffer {name} is written by each of {devices} devices: give a list of as many arrays")
        sets.append((buffer, list(given) if many else [given]))
    return devices, sets


def _run(self, *buffers, check="all", stress=0, **sizes):
    """One launch on the emulator: buffers in the order of the program, which the launch uses where they lie, and sizes by name.

    Arrays of numpy or CPU tensors of torch, of the buffer's type; where numpy has none (bfloat16, float8) integers of its bits. Of the tensor's shape, or
    flat: an array of as many dimensions with other extents is refused, but where rows are counted by other dimensions. One that is not contiguous is copied, there and back. A size of 0 that leaves nothing to write is no launch.
    Of a program that several devices run, all of them launch it: an output is a list with an array for each device, and so may be an input
    that is no peer's; their ranks are given by themselves.
    Of a program for many problems, k.problems("groups", [m]), each tensor is a list with an array for each of them, None where it has no elements, and
    each own size a list of numbers: artifact.run([c0, c1], [a0, a1], [b0, b1], m=[300, 17], n=64, k=32). How many there are follows.
    `stress`: so many launches more, each in another order of waves and with memory as late as hardware may have it, and the same bits.
    Errors: CommandError for sizes that the launch contract refuses and for what the sanitizers `check` find, with the line of the program; for other
    bits under stress, and then nothing is written.
    """
    import numpy

    manifest = json.loads(self.manifest)
    if any("points_to" in a for a in manifest["arguments"]):
        return _run_problems(self, manifest["arguments"], buffers, check, stress_count(stress), sizes)
    if len(buffers) != len(self.buffers):
        raise CommandError(f"{self.kernel}: {len(buffers)} buffers were given\n  hint   {', '.join(self.buffers)}, in this order")
    devices, sets = _sets(manifest, buffers)
    sizes, stress = {name: size_number(name, value) for name, value in sizes.items()}, stress_count(stress)
    if devices > 1:
        if manifest["rank"] in sizes:
            raise TypeError(f"size {manifest['rank']} is each device's own number, and no argument")
        sizes[manifest["rank"]] = 0
    try:
        shapes = self._shapes(sizes)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    flat = iter(checked([(buffer["name"], buffer["type"], shape, buffer["output"], a) for (buffer, given), shape in zip(sets, shapes) for a in given]))
    sets = [(buffer, [next(flat) for _ in given]) for buffer, given in sets]
    of_device = [(buffer, arrays[r if len(arrays) > 1 else 0]) for r in range(devices) for buffer, arrays in sets]
    given = [bytes_of(a) for _, a in of_device]
    try:
        self._run(given, sizes, checks(check), stress)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    for (buffer, a), taken in zip(of_device, given):
        if buffer["output"] and not numpy.may_share_memory(a, taken):
            a[...] = taken.view(a.dtype).reshape(a.shape)


def _run_problems(self, arguments, buffers, check, stress, sizes):
    """One launch for many problems, on copies of their arrays."""
    import numpy

    tensors, own = [a["points_to"] for a in arguments if "points_to" in a], [a["values_of"] for a in arguments if "values_of" in a]
    counted, names = next(a["shape"][0] for a in arguments if "values_of" in a), [t["name"] for t in tensors]
    if len(buffers) != len(names):
        raise CommandError(f"{self.kernel}: {len(buffers)} buffers were given\n  hint   {', '.join(names)}, in this order, each a list of arrays, one a problem")
    if counted in sizes:
        raise TypeError(f"size {counted} is how many problems there are: that many arrays and own sizes are given")
    count = None
    for what, given in [(f"buffer {n}", b) for n, b in zip(names, buffers)] + [(f"size {n}", sizes[n]) for n in own if n in sizes]:
        if not isinstance(given, (list, tuple)) and not (what.startswith("size") and getattr(given, "ndim", 0) == 1):
            raise TypeError(f"{what} is each problem's own\n  hint   a list, with one for each problem")
        count = len(given) if count is None else count
        if len(given) != count:
            raise TypeError(f"{what}: a list of {len(given)}, where others have {count}: one for each problem")
    if not count:
        raise TypeError(f"{self.kernel}: no problem was given")
    values = {n: [size_number(n, v) for v in sizes[n]] for n in own if n in sizes}
    sizes = {n: sorted(values[n])[-1] if n in values else size_number(n, v) for n, v in sizes.items()}
    if missing := [n for n in self.sizes if n != counted and n not in sizes]:
        raise CommandError(f"{self.kernel}: size {missing[0]} is missing" + ("\n  hint   a list, with one for each problem" if missing[0] in own else ""))
    for n, v in [(n, v) for n in own for v in values[n] if v < 0]:
        raise CommandError(f"{self.kernel}: {n} = {v} of a problem\n  hint   0, which is nothing to do, or more")
    sizes[counted] = count
    try:
        shapes = self._shapes_of_problems(sizes, values)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    nothing = [any(values[n][z] == 0 for n in own) or all(0 in shapes[t][z] for t, of in enumerate(tensors) if of["output"]) for z in range(count)]
    if all(nothing):
        return
    listed = [(t, z, a) for t, given in enumerate(buffers) for z, a in enumerate(given) if not (nothing[z] and a is None)]
    arrays = checked([(f"{names[t]} of problem {z}", tensors[t]["type"], shapes[t][z], tensors[t]["output"], a) for t, z, a in listed])
    given = [[None] * count for _ in names]
    for (t, z, _), a in zip(listed, arrays):
        given[t][z] = bytes_of(a) if a.size else None
    try:
        self._run_problems(given, sizes, values, checks(check), stress)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    for (t, z, _), a in zip(listed, arrays):
        taken = given[t][z]
        if tensors[t]["output"] and taken is not None and not numpy.may_share_memory(a, taken):
            a[...] = taken.view(a.dtype).reshape(a.shape)


def _save(self, directory):
    """Writes what `inlay build` writes: code object, launch manifest, IR, assembly, proofs. The manifest's file, which inlay.load,
    inlay.exec, inlay.time, inlay.validate and the command line take."""
    os.makedirs(directory, exist_ok=True)
    for end, text in (("hsaco", self.hsaco), ("json", self.manifest), ("ll", self.ir), ("s", self.assembly), ("proofs.txt", self.proofs.text())):
        with open(os.path.join(directory, f"{self.kernel}.{end}"), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    return os.path.join(directory, self.kernel + ".json")


def _time(self, *buffers, **sizes):
    """Clocks of a launch on hardware by the model, an inlay.Timing. Without buffers they hold zeros."""
    if '"points_to"' in self.manifest:
        raise CommandError(f"{self.kernel}: a launch for many problems is not timed: its tables say where they lie\n  hint   the time of one, of the program without k.problems; inlay.run(\"gemm\", groups=\"300,17\", time=True)")
    with tempfile.TemporaryDirectory(prefix="inlay-") as directory:
        file = self.save(directory)
        of_buffers = [a for a in contract(file).arguments if a["kind"] == "buffer"]
        texts, _ = _arguments(buffers, directory, Contract(of_buffers, apart=True, shapes=True))
        arguments = [word for name, text in zip(self.buffers, texts) for word in ("--arg", f"{name}={text}")]
        sizes = [word for name, value in sizes.items() for word in ("--size", f"{name}={value}")]
        return Timing(answer(["time", file, *arguments, *sizes], {}))


Artifact.run, Artifact.save, Artifact.time = _run, _save, _time  # noqa: F821
for _name, _function in (("run", _run), ("save", _save), ("time", _time)):
    _function.__name__, _function.__qualname__ = _name, "Artifact." + _name
del _name, _function


def __dir__():
    return sorted(__all__)
