"""The commands as functions: arguments are those of `inlay COMMAND`, answers are its JSON."""
import functools
import html
import json
import logging
import math
import operator
import os
import shutil
import subprocess
import tempfile
import threading


class CommandError(ValueError):
    """What the command says when it refuses: its message, with what was given and a hint."""


def processor(name):
    """LLVM's name of a processor or of the one in a chip: `processor("MI300X")` is "gfx942". Errors: CommandError."""
    from . import _inlay

    try:
        return _inlay.processor(name)
    except ValueError as e:
        raise CommandError(str(e)) from None


def program():
    """The command `inlay`: what INLAY names, the package's own, that of the build tree, or that of PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("INLAY", ""), os.path.join(here, "bin", "inlay"), os.path.join(here, "..", "..", "bin", "inlay"),
              os.path.join(here, "..", "..", "..", "..", "bin", "inlay"),
              shutil.which("inlay") or ""]
    for place in places:
        if place and os.access(place, os.X_OK):
            return os.path.realpath(place)
    looked = ", ".join(os.path.realpath(p) for p in places if p)
    raise CommandError(f"the command `inlay` is not there\n  looked at {looked or 'nothing'}, and in PATH\n  hint   name it with the environment variable INLAY")


def call(arguments, input="", allowed=(0, 1, 3)):
    """Exit status and output of `inlay ARGUMENTS`. Errors: CommandError for every status that is not allowed."""
    ran = subprocess.run([program(), *[str(a) for a in arguments]], input=input, capture_output=True, encoding="utf-8", errors="replace")
    if ran.returncode not in allowed:
        message = ran.stderr.strip() or ran.stdout.strip()
        raise CommandError(message.removeprefix("error: "))
    return ran.returncode, ran.stdout


def flags(options):
    """{"tile": "64x64x32", "json": True} as --tile 64x64x32 --json; None and False are left out; {"size": {"m": 2}} is --size m=2."""
    out = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, dict):
            for entry, of in value.items():
                out += [option, f"{entry}={of}"]
        elif isinstance(value, (list, tuple)) and name in ("where", "view", "arg"):
            for entry in value:
                out += [option, str(entry)]
        elif isinstance(value, (list, tuple)):
            out += [option, ",".join(str(entry) for entry in value)]
        else:
            out += [option, str(value)]
    return out


def answer(arguments, options):
    status, text = call([*arguments, *flags(options), "--json"])
    result = json.loads(text)
    if isinstance(result, dict):
        result.setdefault("status", status)
    return result


def kernel_flags(options):
    """Options of a prebuilt kernel: values are texts, and switches are yes or no."""
    return {name.replace("_", "-"): ("yes" if value is True else "no" if value is False else str(value))
            for name, value in options.items() if value is not None}


def build(kernel, output=None, /, **options):
    """Builds a prebuilt kernel: `inlay build KERNEL`. The files go to the directory `output`, or to a new one.

    A dict of what the command's JSON has, and `directory`. A size may be a tuple, `m=(1, 16384)` or with a multiple `n=(1024, 8192, 64)`: several
    forms go into one file, from which `load` takes the one for the sizes of a launch; `most`, `points` and `forms` as of `inlay build --for`.
    """
    directory = os.fspath(output) if output is not None else tempfile.mkdtemp(prefix="inlay-")
    ranges = {name: value for name, value in options.items() if isinstance(value, tuple)}
    pairs = [word for name, value in kernel_flags({n: v for n, v in options.items() if n not in ranges}).items() for word in ("--" + name, value)]
    pairs += [word for name, value in ranges.items() for word in ("--for", f"{name}=" + "..".join(map(str, value[:2])) + "".join(f"/{v}" for v in value[2:]))]
    _, text = call(["build", kernel, "-o", directory, "--json", *pairs], allowed=(0,))
    result = json.loads(text)
    result["directory"] = directory
    return result


def run(kernel, /, *, check=None, stress=False, time=False, seed=None, **options):
    """Builds a kernel, runs it on the emulator on random data and compares with its reference: `inlay run KERNEL`, as a dict."""
    pairs = [word for name, value in kernel_flags(options).items() for word in ("--" + name, value)]
    head = flags({"check": check, "stress": stress_count(stress) > 0, "time": time, "seed": seed})
    _, text = call(["run", kernel, *head, "--json", *pairs], allowed=(0, 1))
    told = json.loads(text)
    if told["choice"]:
        _log_once(kernel, tuple(kernel_flags(options).items()), told["choice"]["why"])
    return told


@functools.cache
def _log_once(kernel, options, why):
    log_choice(kernel, dict(options), why)


def log_choice(kernel, options, why):
    """Says what `auto` takes for these options of a kernel."""
    words = " ".join(f"--{name} {value}" for name, value in options.items())
    logging.getLogger("inlay").info("%s %s: auto: %s", kernel, words, why)


class Contract:
    """What a launch manifest, or a bundle's entry, says of the arrays of a launch: its `arguments`, whether its outputs lie `apart`, whether it is this
    library's, which has elements and extents (`shapes`), and which of the prebuilt ones the kernel is (`made`)."""

    def __init__(self, arguments=(), apart=False, shapes=False, made=None):
        self.arguments, self.apart, self.shapes, self.made = list(arguments), apart, shapes, made

    def check(self, given):
        """The arrays of a launch, in the order of its arguments or by name, as `checked` has them. Errors: as of `checked`."""
        by_name = {a["name"]: a for a in self.arguments if a["kind"] == "buffer"}
        named = {text.partition("=")[0] for text in given if isinstance(text, str)} & {a["name"] for a in self.arguments}
        in_order = iter([a for a in self.arguments if a["name"] not in named])
        pairs = [(None if isinstance(x, str) and x.partition("=")[0] in named else next(in_order, None), x) for x in given]
        buffers = [(a["name"], a.get("type", "") if self.shapes else "", (), a.get("output", False), x) for a, x in pairs if a and a["name"] in by_name and is_array(x)]
        checked(buffers, self.apart, self.shapes, self.made)


def contract(file, kernel=None, arch=None):
    """The Contract of a file; one that says nothing of what is no manifest, or cannot be read: what reads it to launch it says why."""
    try:
        with open(file, "rb") as data:
            head = data.read(24)
            if head[:16] == b"INLAY BUNDLE 1\n\0":
                entries = json.loads(data.read(int.from_bytes(head[16:], "little")))
            elif os.fspath(file).endswith(".json"):
                entries = [{"manifest": json.loads(head + data.read())}]
            else:
                return Contract()
        entries = [(e["manifest"], [e["manifest"]]) if "manifest" in e else (e["table"]["contract"], [f["manifest"] for f in e["forms"]]) for e in entries]
        entries = [e for e in entries if kernel in (None, e[0]["kernel"])]
        if len(entries) > 1 and arch is not None:
            entries = [e for e in entries if e[0]["arch"] == processor(arch)]
        (whole, forms), = entries
        if not forms[0]["format"].startswith("inlay.launch/"):
            return Contract()
        shapes = any("made" in m or any("shape" in a for a in m["arguments"]) for m in forms)
        return Contract(whole["arguments"], any(m.get("outputs_apart") for m in forms), shapes, forms[0].get("made", {}).get("kernel"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return Contract()


def is_array(argument):
    """Whether an argument of a launch is memory, and no value or text."""
    import numpy

    return not isinstance(argument, (str, bool, int, float, numpy.generic))


def _arguments(args, directory, contract):
    """Arguments of a launch: arrays are read and written in place, numbers are i32 or f32, texts are what `--arg` takes.

    A launch gets an address: what lies from an array's first element to its last is there, strides and all. Where the contract has extents it gets the
    elements in their order, and the command judges the shape. Errors: those of `checked` for arrays that the contract does not take.
    The texts, and the memory of arrays with the files that hold it before and after the launch, and the number of the argument where the array is
    read-only: no contract says that the kernel leaves it.
    """
    import numpy

    contract.check(args)
    shared = {} if contract.shapes or any(isinstance(a, str) and "=" in a for a in args) else _shared(args)  # names change the order
    texts, back = [], []
    for k, a in enumerate(args):
        if isinstance(a, str):
            texts.append(a)
        elif isinstance(a, bool):
            texts.append(f"i32:{int(a)}")
        elif isinstance(a, int):
            texts.append(f"i32:{a}" if -(2**31) <= a < 2**31 else f"i64:{a}")
        elif isinstance(a, float):
            texts.append(f"f32:{a!r}")
        elif isinstance(a, numpy.generic):
            kind = {"i": "i", "u": "u", "f": "f"}.get(a.dtype.kind)
            if kind is None or a.dtype.itemsize not in (4, 8):
                raise TypeError(f"argument {k}: a {a.dtype} is no argument by value; give i32, i64, u32, u64, f32 or f64")
            texts.append(f"{kind}{8 * a.dtype.itemsize}:{a.item()}")
        else:
            array = host(a)
            if not array.dtype.isnative:
                raise TypeError(f"argument {k} is {array.dtype}, of the other byte order\n  hint   a.astype(a.dtype.newbyteorder('='))")
            before, after = (os.path.join(directory, f"{k}.{end}") for end in ("in.npy", "out.npy"))
            writeable = array.flags.writeable
            if contract.shapes:
                memory = array.view({1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(array.itemsize, array.dtype))
                with open(before, "wb") as file:
                    numpy.save(file, numpy.ascontiguousarray(array))
            elif k in shared and shared[k][0] != k:
                texts.append("at:%d:%d" % shared[k])
                continue
            else:
                memory = _memory(k, array)
                if k in shared:
                    memory, writeable = shared[k][2:]
                memory.tofile(before)
            kept = not writeable and bool(contract.arguments)
            texts.append(f"in:{before}" if kept else f"inout:{before}:{after}")
            if not kept:
                back.append((memory, before, after, None if writeable else k))
    return texts, back


def _shared(args):
    """Of arrays whose memory meets that of others: a launch gets it once. Of each, by its number, that of the one that begins first and how far into it
    it begins; of that one (itself, 0, the memory of all, whether one of them may be written)."""
    arrays = [(k, host(a)) for k, a in enumerate(args) if is_array(a)]
    places = sorted((m.ctypes.data, k, m, a.flags.writeable) for k, a in arrays if (m := _memory(k, a)).size)
    groups = []
    for begin, k, m, writeable in places:
        if groups and begin < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], begin + m.size)
            groups[-1][2].append((k, begin))
            groups[-1][3] |= writeable
        else:
            groups.append([begin, begin + m.size, [(k, begin)], writeable])
    out = {}
    for begin, end, members, writeable in groups:
        if len(members) > 1:
            first = members[0][0]
            out.update({k: (first, at - begin) for k, at in members[1:]})
            out[first] = (first, 0, _bytes_at(begin, end - begin), writeable)
    return out


def _memory(k, array):
    """The bytes from the first element of an array to its last."""
    import numpy

    if any(stride < 0 and extent > 1 for stride, extent in zip(array.strides, array.shape)):
        raise ValueError(f"argument {k}: strides {array.strides}: some elements lie before the first, whose address a launch gets\n  hint   numpy.ascontiguousarray")
    if not array.size:
        return numpy.empty(0, numpy.uint8)
    size = array.itemsize + sum((extent - 1) * stride for stride, extent in zip(array.strides, array.shape))
    return _bytes_at(array.ctypes.data, size)


def _bytes_at(address, size):
    import ctypes

    import numpy

    return numpy.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address))


def checks(value):
    """Sanitizers as text: True is all of them, False and None none. Errors: TypeError."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return "all" if value else "none"
    raise TypeError(f"check={value!r}: names such as 'bounds,races', 'all' or 'none'")


def stress_count(value):
    """How many launches under stress: True is one. Errors: CommandError for what is no number from 0 to 1000, as of `inlay run-with --stress`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= 1000:
        raise CommandError(f"stress={value!r}: a number of launches, 0 to 1000")
    return number


def size_number(name, value):
    """A size that a launch is given. Errors: TypeError for what is no integer, ValueError for one of more than 63 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"size {name} is {value!r}: an integer is wanted") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"size {name} is {number}: not of 64 bits")
    return number


def host(a):
    """A numpy array that shares the memory of an array, a CPU tensor of torch or any other DLPack producer."""
    import numpy

    if isinstance(a, numpy.ndarray):
        return a
    detach = getattr(a, "detach", None)
    if detach is not None:  # torch: bfloat16 and float8 have no type in numpy and stay bits
        a = detach()
        if a.device.type != "cpu":
            raise TypeError("a tensor of a device: give the CPU's, tensor.cpu()")
        try:
            return a.numpy()
        except TypeError:
            import torch

            return a.view({1: torch.uint8, 2: torch.int16}[a.element_size()]).numpy()
    if hasattr(a, "__dlpack__"):
        return numpy.from_dlpack(a)
    raise TypeError(f"an argument is an array, a number or a text as --arg takes it, not {type(a).__name__}")


# Types of numpy, torch and ml_dtypes, and what a manifest calls such elements.
ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "int16": "i16", "int32": "i32", "int64": "i64",
            "float8_e4m3fnuz": "e4m3fnuz", "float8_e4m3fn": "e4m3fn", "float8_e5m2fnuz": "e5m2fnuz", "float8_e5m2": "e5m2", "float8_e8m0fnu": "e8m0",
            "float4_e2m1fn_x2": "e2m1"}
_BITS = {"f64": 64, "i64": 64, "u64": 64, "f32": 32, "xf32": 32, "i32": 32, "u32": 32, "f16": 16, "bf16": 16, "i16": 16, "u16": 16}


def check_elements(name, array, want):
    """Errors: TypeError for an array of other elements than the buffer's. Bytes are taken for anything, unsigned integers of as many bits too, and signed
    ones for what numpy has no type for."""
    is_ = str(getattr(array, "dtype", "bytes")).removeprefix("torch.")
    if not want or ELEMENTS.get(is_) == ("f32" if want == "xf32" else want) or is_ in ("uint8", "int8", "bytes") or is_.startswith("|V") or is_.startswith("void"):
        return
    bits, of_numpy = _BITS.get(want, 8), want in ("f16", "f32", "f64")
    if is_ == f"uint{bits}" or is_ == f"int{bits}" and not of_numpy:
        return
    wanted = next((n for n, e in ELEMENTS.items() if e == want), "")
    if want[0] in "iu":
        wanted = f"int{bits} or uint{bits}"
    elif not of_numpy:
        wanted += (wanted and ", or ") + f"integers of {bits} bits that hold its codes"
    raise TypeError(f"buffer {name} is {want}, and its array is {is_}: give {wanted}")


def check_shape(name, array, shape):
    """Errors: ValueError for an array of as many dimensions as the buffer, two or more, and of other extents: a transposed one has as many bytes. Rows that are
    counted by other dimensions are taken: (5, 128, 64) for (10, 64, 64); dimensions of 1 count for nothing."""
    given, want = ([n for n in of if n != 1] for of in (array.shape, shape))
    if given == want or len(want) < 2 or len(given) != len(want):
        return
    if given[-1] != want[-1] or math.prod(given) != math.prod(want) or sorted(given) == sorted(want):
        raise ValueError(f"buffer {name}: its shape is {tuple(array.shape)}, and the kernel's is {tuple(shape)} for these sizes"
                         "\n  hint   array.reshape(-1), if its elements lie as the kernel's do")


# Buffers of places in rows, each of which is no smaller than the one before, and none negative. Lengths that are negative count as 0.
_PLACES = {("attention_blocks", "cu_seqlens_q"), ("attention_blocks", "cu_seqlens_k")}


def check_numbers(kernel, name, array):
    """Of arrays of the host that say to a prebuilt kernel where sequences begin. Errors: ValueError."""
    import numpy

    if (kernel, name) not in _PLACES or getattr(getattr(array, "device", None), "type", "cpu") != "cpu":
        return
    numbers = numpy.frombuffer(array, numpy.uint8) if isinstance(array, bytes) else numpy.ascontiguousarray(host(array)).reshape(-1)
    if numbers.dtype.kind not in "iu" or numbers.nbytes % 4:
        return  # refused as no array of these elements
    numbers = numbers.view(numpy.int32)
    if numbers.size and numbers.min() < 0:
        at = int((numbers < 0).argmax())
        raise ValueError(f"{kernel}: {name}[{at}] is {numbers[at]}: not negative")
    check_rising(kernel, name, numbers)


def check_rising(kernel, name, places):
    """Errors: ValueError for a place that is smaller than the one before it."""
    if (falls := places[1:] < places[:-1]).any():
        at = int(falls.argmax())
        raise ValueError(f"{kernel}: {name}[{at + 1}] is {places[at + 1]}, and {name}[{at}] is {places[at]}: where each sequence begins, one after the other")


def checked(buffers, apart=True, elements=True, kernel=None):
    """The arrays of the host that a launch is given, as numpy's. `buffers`: of each its name, its elements, its shape or none, whether it is written, and
    what was given. `apart`: outputs share no memory with other buffers. `elements`: the launch takes them in their order, not an address and strides.
    `kernel`: the prebuilt one that is launched. Errors: TypeError and ValueError naming the buffer."""
    import numpy

    arrays = []
    for name, element, shape, output, given in buffers:
        if given is None:
            raise TypeError(f"buffer {name} is None\n  hint   an array: only what has no elements may have no memory, as numpy.empty(0)")
        check_elements(name, given, element)
        a = host(given)
        if not a.dtype.isnative:
            raise TypeError(f"buffer {name}: its array is {a.dtype}, of the other byte order\n  hint   a.astype(a.dtype.newbyteorder('='))")
        if output and not a.flags.writeable:
            raise ValueError(f"buffer {name} is an output, and its array is read-only\n  hint   an array that may be written: {name}.copy()")
        if output and elements and _meets_itself(a):
            raise ValueError(f"buffer {name} is an output, and several of its elements are one: shape {a.shape}, strides {a.strides}\n  hint   an array of its own: {name}.copy()")
        check_shape(name, a, shape)
        check_numbers(kernel, name.lower(), a)
        for (other, _, _, written, _), b in zip(buffers, arrays):
            if apart and (output or written) and numpy.shares_memory(a, b):
                raise ValueError(f"buffers {name} and {other} share memory, and one of them is an output: it lies apart from all others\n"
                                 f"  hint   an array of its own for {name if output else other}")
        arrays.append(a)
    return arrays


def _meets_itself(a):
    """Whether two elements of an array share a byte."""
    import numpy

    steps = sorted((abs(stride), extent) for stride, extent in zip(a.strides, a.shape) if extent > 1)
    reach, nested = a.itemsize, True  # bytes that the dimensions so far take
    for stride, extent in steps:
        nested = nested and stride >= reach
        reach += (extent - 1) * stride
    if nested or not a.size:
        return False
    if reach < a.size * a.itemsize:
        return True
    at = numpy.zeros(1, numpy.int64)
    for stride, extent in steps:
        at = (at[:, None] + stride * numpy.arange(extent)).reshape(-1)
    at.sort()
    return bool((numpy.diff(at) < a.itemsize).any())


def bytes_of(array):
    """The bytes of a numpy array, where they lie if it is contiguous; of a copy, where they begin at an address that is no multiple of 4, at which no launch reads."""
    import numpy

    flat = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    return flat if flat.ctypes.data % 4 == 0 else flat.copy()


def _copy_back(back):
    """What a launch has written: memory may be that of several arguments. Errors: ValueError when an array is read-only and the kernel has written to it."""
    import numpy

    changed = []
    for memory, before, after, fixed in back:
        if os.path.exists(after):
            with open(before, "rb") as file:
                of_numpy = file.read(6) == b"\x93NUMPY"
            old, new = (numpy.load(file).view(memory.dtype) if of_numpy else numpy.fromfile(file, numpy.uint8) for file in (before, after))
            if fixed is not None and (differ := old != new).any():
                raise ValueError(f"argument {fixed} is a read-only array, and the kernel has written to it, first to byte {int(differ.argmax())} of {memory.size}: no array was changed"
                                 "\n  hint   an array that may be written: array.copy()")
            changed.append((memory, old, new))
    for memory, old, new in changed:
        numpy.copyto(memory, new, where=old != new)


def _grid(file, grid):
    """That of the caller, or of the manifest; one workgroup where a code object has neither."""
    return 1 if grid is None and not os.fspath(file).endswith(".json") else grid


def exec(file, *args, kernel=None, grid=None, block=None, check=None, stress=False, stats=False, arch=None, **options):
    """Runs a kernel of a code object on the emulator: `inlay exec`. Arrays are read, and written in place.

    Errors: ValueError for a read-only array that the kernel writes.

        >>> inlay.exec("add.hsaco", x, y, n, kernel="add", grid=4, block=256)["findings"]
        []
        >>> inlay.exec("built/gemm.json", size={"m": 16, "n": 64, "k": 128})["findings"]     # a launch manifest; inputs are zeros
        []
    """
    grid = _grid(file, grid)
    with tempfile.TemporaryDirectory(prefix="inlay-") as directory:
        texts, back = _arguments(args, directory, contract(file, kernel, arch))
        words = [word for t in texts for word in ("--arg", t)]
        result = answer(["exec", os.fspath(file), *words],
                        {"kernel": kernel, "grid": grid, "block": block, "check": check, "stress": stress_count(stress) > 0, "stats": stats, "arch": arch,
                         **options})
        _copy_back(back)
    return result


class Timing(dict):
    """The clocks of a launch by the model: a dict, the JSON of `inlay time`, and what is asked for most as fields.

    `clocks` of the launch and their `uncertainty`; `microseconds` and, where there are matrix products, `tflops` and `peak_percent` of the
    matrix pipes, all with the launch and at the clock under load, `mhz`; `bottleneck`; `spent`, clocks of an average SIMD by cause; `saved`, clocks that would go
    if a limit went; `stalls`, dicts of the instructions that wait longest.
    """

    kernel = property(lambda self: self["kernel"])
    arch = property(lambda self: self["arch"])
    geometry = property(lambda self: self.get("geometry", ""))
    clocks = property(lambda self: self._chip["clocks"])
    uncertainty = property(lambda self: self._chip["uncertainty"])
    microseconds = property(lambda self: self._chip["load"]["microseconds"])
    mhz = property(lambda self: self._chip["load"]["clock_mhz"])
    tflops = property(lambda self: self._chip["load"]["tflops"])
    peak_percent = property(lambda self: self._chip["load"]["peak_percent"])
    bottleneck = property(lambda self: self["timing"]["bottleneck"])
    spent = property(lambda self: self["timing"]["spent"])
    saved = property(lambda self: {limit["limit"]: limit["saved"] for limit in self["timing"]["without"]})
    stalls = property(lambda self: self["timing"]["stalls"])
    _chip = property(lambda self: self["timing"]["chip"])

    def __str__(self):
        text = f"{self.get('demangled', self.kernel)} on {self.arch}: {self.clocks:.0f} clocks, {self.microseconds:.1f} us at {self.mhz:.0f} MHz"
        if self.tflops is not None:
            text += f", {self.tflops:.1f} TFLOP/s ({self.peak_percent:.1f} % of peak)"
        return text + (f", bottleneck: {self.bottleneck}" if self.bottleneck else "")

    __repr__ = __str__

    def _repr_html_(self):
        def table(title, rows):
            cells = "".join(f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{value:.0f}</td></tr>" for name, value in rows)
            return f"<table><thead><tr><th scope='col'>{title}</th><th scope='col'>clocks</th></tr></thead><tbody>{cells}</tbody></table>" if cells else ""

        first = sorted(self.spent.items(), key=lambda entry: -entry[1])
        stalls = [(f"{s['text']} ({s['cause']})", s["clocks"]) for s in self.stalls[:8]]
        return f"<p>{html.escape(str(self))}</p>" + table("spent on", first) + table("saved without", [entry for entry in self.saved.items() if entry[1] >= 1]) + table("stalls", stalls)


def time(file, *args, kernel=None, grid=None, block=None, arch=None, **options):
    """Clocks of a launch on hardware by the model: `inlay time`, as a Timing. Arrays are inputs; nothing is written back.

    Of a file as `check` takes it, of a Triton kernel, whose keywords follow as in its launch, or of a function of FlyDSL's that launches one kernel.

        >>> inlay.time("add.hsaco", x, y, n, kernel="add", grid=4, block=256).clocks
        >>> inlay.time(add[(4,)], x, y, out, n, BLOCK=256, arch="gfx950")
    """
    from . import _aiter, _sources

    if _sources.is_file(file):
        file, args = _sources.launched(file, arch, args)
        args, options = _aiter.launch(file, args, {**options, "kernel": kernel, "grid": grid, "block": block})
        kernel, grid, block = (options.pop(name) for name in ("kernel", "grid", "block"))
    elif _sources.is_flydsl(file):
        file, args, options = _sources.flydsl_file("time", file, args, options, arch or "gfx942"), (), {}
    else:
        from ._triton import compiled

        arch = arch or "gfx942"
        code = compiled("time", file, grid, arch, args, options)
        file, args, options = code.file, code.values, {"lds": code.launch["lds"]}
        kernel, grid, block = (code.launch[name] for name in ("kernel", "grid", "block"))
    grid = _grid(file, grid)
    with tempfile.TemporaryDirectory(prefix="inlay-") as directory:
        texts, _ = _arguments(args, directory, contract(file, kernel, arch))
        words = [word for t in texts for word in ("--arg", t)]
        return Timing(answer(["time", os.fspath(file), *words], {"kernel": kernel, "grid": grid, "block": block, "arch": arch, **options}))


def validate(file, /, *args, grid=None, arch=None, **options):
    """Races and waits in every schedule, or claims about machine code: `inlay validate`, as a dict.

    Of a file as `check` takes it or a kernel's name, with the command's options; or of a Triton kernel or a function of FlyDSL's, whose arguments follow as in
    a launch: they say what it is compiled for, and what is shown holds for all values that the code can get.

        >>> inlay.validate("add.hsaco", block=256)["kernels"][0]["verdict"]
        >>> inlay.validate(add[(4,)], x, y, out, n, BLOCK=256)
    """
    from . import _aiter, _sources

    if _sources.is_file(file):
        if args:
            raise TypeError("inlay.validate of a file takes no arguments of a launch")
        file = _sources.code_object(file, arch)
        return answer(["validate", file], _aiter.launch(file, (), {**options, "arch": arch, "grid": grid})[1])
    if _sources.is_flydsl(file):
        return answer(["validate", _sources.flydsl_file("validate", file, args, options, arch or "gfx942")], {})
    from ._triton import compiled

    code = compiled("validate", file, grid, arch or "gfx942", args, options)
    return answer(["validate", code.file], {"kernel": code.name, "block": code.launch["block"]})


def inspect(file, /, **options):
    """What the machine code of a file is: `inlay inspect`, as a dict."""
    return answer(["inspect", os.fspath(file)], options)


def compare(left, right, /, **options):
    """Two code objects side by side: `inlay compare`, as a dict."""
    return answer(["compare", os.fspath(left), os.fspath(right)], options)


def search(what, *arguments, **options):
    """A swizzle, padding, vector or tiler with its proof: `inlay search WHAT`, as a dict.

        >>> inlay.search("swizzle", view="ds_read_b128 ((16,4),2):((128,16),64)", tile=8192)["found"][0]
    """
    return answer(["search", what, *[str(a) for a in arguments]], options)


class Picture:
    """A drawing: SVG where a notebook asks for it, a table of characters as text."""

    def __init__(self, arguments):
        self._arguments = arguments

    def svg(self):
        return call(["draw", *self._arguments, "--svg", "-"])[1]

    def html(self):
        """One page with all cells, their values and coordinates."""
        return call(["draw", *self._arguments, "--html", "-"])[1]

    def _repr_svg_(self):
        return self.svg()

    def __str__(self):
        return call(["draw", *self._arguments])[1]

    __repr__ = __str__


def draw(expression=None, /, *, tv=False, tile=None, mfma=None, banks=None, arch=None):
    """A layout, an operation with its inputs, a thread-value layout, an MFMA, or the banks of an LDS access: `inlay draw`.

        >>> inlay.draw("zipped_divide((8,6):(1,8), <4,3>)")
        >>> inlay.draw("make_tiled_copy(8, (32,8):(8,1), (1,8):(0,1))", tv=True)
        >>> inlay.draw(mfma="32x32x8")
    """
    arguments = ([] if expression is None else [str(expression)]) + flags(
        {"tv": tv, "tile": None if tile is None else str(tile).replace(" ", ""), "mfma": mfma, "banks": banks, "arch": arch})
    call(["draw", *arguments])  # refuses now what it would refuse when it is shown
    return Picture(arguments)


def fuzz(function, operation, /, *, cases=1000, seed=None, **options):
    """Random inputs of `operation` for a function of yours, against inlay: `inlay fuzz --against`.

    The function gets what the operation gets, layouts as texts and tuples as lists, and returns a text, a number or a list; an exception is
    a refusal. A dict: `ok`, and the `report`, which names and shrinks the first input on which the two differ.

        >>> inlay.fuzz(lambda layout: my_library.coalesce(layout), "coalesce")["ok"]
    """
    with tempfile.TemporaryDirectory(prefix="inlay-") as directory:
        asked, answered = (os.path.join(directory, name) for name in ("asked", "answered"))
        os.mkfifo(asked)
        os.mkfifo(answered)

        def serve():
            with open(asked) as questions, open(answered, "w") as answers:
                for line in questions:
                    question = json.loads(line)
                    try:
                        reply = {"id": question.get("id"), "result": _plain(function(*question["args"]))}
                    except Exception as e:  # the function's own refusal
                        reply = {"id": question.get("id"), "error": {"code": type(e).__name__, "message": str(e)}}
                    answers.write(json.dumps(reply) + "\n")
                    answers.flush()

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        bridge = f"cat {answered} & cat > {asked}; wait"
        status, text = call(["fuzz", operation, "--against", bridge, *flags({"cases": cases, "seed": seed, **options})])
        server.join(timeout=10)
    return {"ok": status == 0, "report": text.replace(bridge, getattr(function, "__name__", "the function"))}


def _plain(value):
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value)
