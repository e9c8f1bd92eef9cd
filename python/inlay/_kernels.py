"""Prebuilt kernels by name and as functions of arrays: on the GPU where there is one, else on the emulator."""
import functools
import hashlib
import json
import operator
import os
import sys
import tempfile

from . import _inlay
from ._launch import LoadedKernel, place
from ._tools import ELEMENTS as _LAUNCHED, CommandError, build, bytes_of, check_numbers, check_rising, check_shape, checks, host, kernel_flags, log_choice, program


def kernels(name=None, /):
    """Names of the prebuilt kernels; of one its options with their defaults and what they mean."""
    return _inlay.kernel_names() if name is None else _inlay.kernel_options(name)


def explain(kernel, /, **options):
    """What `auto` takes for these options of a prebuilt kernel, and why: a dict of `why`, a line, `options`, `clocks`, and `ranking`, the forms that there are.

    Every call of a kernel is of that form. The line goes to the logger `inlay` (level info) when a form is used first:

        >>> logging.basicConfig(level=logging.INFO)
        >>> inlay.explain("gemm", arch="MI355X", dtype="bf16", m=4096, n=4096, k=4096)["options"]["tile"]
        '256x256x64'
    """
    try:
        return _inlay.kernel_choice(kernel, kernel_flags(options), True)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None


@functools.lru_cache(maxsize=4096)
def _chosen(name, words):
    """The options with what is chosen for them, which is said once."""
    told = _inlay.kernel_choice(name, dict(words), False)
    log_choice(name, dict(words), told["why"])
    return told["flags"]


def buffers(name, /, **options):
    """The buffers of a prebuilt kernel for these options, in order: dicts of `name`, `type` of its elements, `bytes`, `input` and `output`; some are both.

        >>> [b["name"] for b in inlay.buffers("moe_combine", m=4, n=64, dtype="bf16")]
    """
    try:
        words = _chosen(name, tuple(kernel_flags(options).items()))
        about = _arguments(name, tuple(words.items()))
        asked = _asked(name, words, about)
        return [{"name": b.lower(), "type": about[_tensor_of(b)]["type"], "bytes": size, "input": _read(asked, about, b.lower()), "output": output}
                for b, size, output in _inlay.kernel_buffers(name, words) if b.lower() in asked]
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None


@functools.lru_cache(maxsize=256)
def _arguments(name, words):
    """What the launch manifest says of each buffer, by its name; of many problems of each tensor, in the place of its table."""
    of = [a for a in json.loads(_inlay.kernel_manifest(name, dict(words)))["arguments"] if a["kind"] == "buffer" and "values_of" not in a]
    return {a["name"].lower(): a for a in (a.get("points_to", a) for a in of)}


def _tensor_of(buffer):
    """`a` of `a of problem 2` and of `a of device 2`."""
    return buffer.lower().partition(" of ")[0]


def run_kernel(name, inputs, /, *, device="auto", arch=None, check="all", **options):
    """One launch of a prebuilt kernel with your data: a dict of its outputs, arrays of one dimension, or tensors of torch if an input is one.

    `inputs` maps the kernel's buffers, capitals or not, to arrays of their exact bytes, rows as the kernel lays them out, used where they lie if contiguous; one of as many dimensions as the buffer and
    of other extents is refused. `buffers(name, ..)` has them, `kernels(name)` the options. `device`, `arch`: as of gemm. On the emulator what the sanitizers find is an error.

        >>> inlay.run_kernel("softmax", {"x": x}, m=4, n=1024, dtype="f32")["y"].reshape(4, 1024)
    """
    inputs = {k.lower(): _taken(v) for k, v in inputs.items()}
    gpus = [v for v in inputs.values() if _of_gpu(v)]
    if gpus and len({str(v.device) for v in inputs.values() if hasattr(v, "device")}) > 1:
        _mixed(name, inputs)
    for n, v in inputs.items():
        check_numbers(name, n, v)
    where = place(device, arch, gpus[0].device.index or 0 if gpus else None)
    like = next((v for v in inputs.values() if _is_tensor(v)), None)
    try:
        if where.startswith("emulator"):
            if gpus:
                raise ValueError(f"{name}: tensors of the GPU, and device is {device!r}")
            def fits(buffer, shape):
                if (given := inputs.get(buffer.lower())) is not None and not isinstance(given, bytes):
                    check_shape(buffer.lower(), given, shape)

            out = _emulated(name, inputs, check, {**options, "arch": where.partition(":")[2]}, fits)
            return {n: _like(data, like, (-1,), element) for n, (data, element) in out.items()}
        return _launched(name, inputs, like, where, {**options, "arch": _gpu_arch(where)})
    except RuntimeError as e:
        raise CommandError(str(e)) from None


def _emulated(name, inputs, check, options, shape_check=None):
    """Bytes and element of each output."""
    try:
        words = _chosen(name, tuple(kernel_flags(options).items()))
        about = _arguments(name, tuple(words.items()))
        _complete(name, inputs, about, _asked(name, words, about))
        _same_elements(name, inputs, {n: about.get(_tensor_of(n), {}).get("type") for n in inputs})
        names = {buffer.lower(): buffer for buffer, _, _ in _inlay.kernel_buffers(name, words)}
        out = _inlay.run_kernel(name, words, {names.get(k.lower(), k): _bytes(v) for k, v in inputs.items()}, checks(check), shape_check)
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None
    return {n.lower(): (data, about[_tensor_of(n)]["type"]) for n, data in out.items()}


def _launched(name, inputs, like, where, options):
    """The same on the GPU, of the options that the kernel was built for."""
    if any(" of problem " in n for n in inputs):
        raise CommandError(f"{name}: many problems are launched here on the emulator\n"
                           f"  hint   on the GPU inlay.load(FILE) of what `inlay build {name}` writes, whose tables are tensors: int64 of each x.data_ptr(), int32 of the sizes")
    built = _built(name, where, tuple(sorted(options.items())))
    kernel, known = built.kernel, [n.lower() for n in built.kernel.buffers]
    types = dict(zip(known, kernel._types))
    asked = _asked(name, kernel_flags(options), built.about)
    _complete(name, inputs, built.about, asked)
    _same_elements(name, inputs, types)
    given = []
    for i, (n, size) in enumerate(zip(known, kernel.bytes_for({}))):
        about = built.about[n]
        if n in inputs:
            a = _contiguous(inputs[n])
            if a.nbytes != size:
                raise CommandError(f"{name}: buffer '{n}' has {a.nbytes} bytes, and {size} are wanted")
            try:
                check_shape(n, inputs[n], kernel._shape(i))
            except ValueError as e:
                raise CommandError(str(e)) from None
            given.append(a if not about["output"] else a.clone() if _of_gpu(a) else a.copy())
        else:
            given.append(_allocate((size,), "bytes", like, about.get("before") == "zeros"))
    kernel(*given)
    out = {n: a for n, a in zip(known, given) if asked.get(n)}
    if _of_gpu(like):
        return {n: a.reshape(-1).view(_type(types[n], like)) for n, a in out.items()}
    return {n: _like(bytes_of(a), like, (-1,), types[n]) for n, a in out.items()}


def _asked(name, words, about):
    """The buffers that are not the kernel's own, as counters and parts of sums, and which of them are outputs."""
    return {b.lower(): output for b, _, output in _inlay.kernel_buffers(name, words) if output or not about.get(_tensor_of(b), {}).get("output")}


def _read(asked, about, buffer):
    """Whether the kernel reads what a buffer holds before the launch, or keeps some of it."""
    return not asked[buffer] or about.get(_tensor_of(buffer), {}).get("before") == "data"


def _complete(name, inputs, about, asked):
    """Errors: CommandError for a buffer that is none, and for one that is read and not given."""
    known = ", ".join(asked)
    for n in inputs:
        if n not in asked:
            raise CommandError(f"{name} has no buffer '{n}'\n  hint   {known}")
    for n in asked:
        if _read(asked, about, n) and n not in inputs:
            raise CommandError(f"{name}: input '{n}' is missing\n  hint   inputs and outputs are {known}")


def _bytes(a):
    import numpy

    return bytes_of(numpy.frombuffer(a, numpy.uint8) if isinstance(a, bytes) else numpy.ascontiguousarray(host(a)))


def _taken(a):
    """An array or tensor as it is; any other DLPack producer as an array that shares its memory, or as a tensor of torch on a device."""
    if not hasattr(a, "__dlpack__") or _is_tensor(a) or type(a).__module__.split(".")[0] == "numpy":
        return a
    import numpy

    if a.__dlpack_device__()[0] == 1:
        try:
            return numpy.from_dlpack(a)
        except (BufferError, TypeError, ValueError, RuntimeError):  # types that numpy has not
            pass
    import torch

    return torch.from_dlpack(a)


# Floats of numpy, torch and ml_dtypes, and what a launch manifest calls them; and what holds the bits of others.
_NAMES = {name: element for name, element in _LAUNCHED.items() if not element.startswith("i")}
_BITS = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "bf16": "int16"}


@functools.cache
def _name_of(dtype):
    return str(dtype).replace("torch.", "")


def _same_elements(name, inputs, types):
    """Errors: CommandError for floats that are not the kernel's. Integers may be the bits of anything."""
    for n, a in inputs.items():
        of_array, want = _NAMES.get(_name_of(getattr(a, "dtype", ""))), types.get(n.lower())
        if of_array is not None and want not in (None, "", of_array) and not (of_array == "f32" and want == "xf32"):
            raise CommandError(f"{name}: {n} of {_name_of(a.dtype)}, and the kernel's elements are {want}" + _floats_of_other(of_array, want))


def _floats_of_other(given, want):
    other = given[:4] == want[:4] and given[:2] in ("e4", "e5")
    return "\n  hint   arch=, a processor of which floats of 8 bits are these, or a.to(torch.float8_" + want + ")" if other else ""


_ELEMENTS = {"float16": "f16", "float32": "f32", "bfloat16": "bf16"}


@functools.cache
def _element_of(dtype):
    name = str(dtype).replace("torch.", "")
    if name not in _ELEMENTS:
        raise TypeError(f"elements of {name}: float16, bfloat16 (torch) and float32 are taken")
    return _ELEMENTS[name]


def _element(a):
    """The kernel's name of the type of an array or tensor."""
    return _element_of(a.dtype)


def _is_tensor(a):
    """Whether it is a tensor of torch, which goes through torch's operator of the same name, so that torch.compile and autograd see it."""
    return hasattr(a, "detach")


def _of_gpu(a):
    return getattr(a, "is_cuda", False)


def _type(element, like):
    """The type of an element, or of bytes, in numpy, or in torch for what is like a tensor of torch. What numpy has not is ml_dtypes' where it is in use, else bits."""
    name = next((n for n, e in _NAMES.items() if e == element), None)
    if _is_tensor(like):
        import torch

        return getattr(torch, name or _BITS.get(element, "uint8"))
    import numpy

    if name not in ("float16", "float32", "float64") and (other := sys.modules.get("ml_dtypes")) and hasattr(other, name or ""):
        return numpy.dtype(getattr(other, name))
    return numpy.dtype(_BITS.get(element, "uint8"))


def _like(data, a, shape, element):
    """The bytes of an output, an array of its own, as what the input was: a numpy array, or a tensor of torch."""
    if _is_tensor(a):
        import torch

        return torch.from_numpy(data).view(_type(element, a)).reshape(shape)
    return data.view(_type(element, None)).reshape(shape)


def _allocate(shape, element, like, zeros):
    """An output beside its inputs."""
    if _of_gpu(like):
        import torch

        return (torch.zeros if zeros else torch.empty)(shape, dtype=_type(element, like), device=like.device)
    import numpy

    return numpy.zeros(shape, dtype=_type(element, None))


def _zeros(shape, element, like):
    """Zeros where `like` is, and of its kind."""
    if _is_tensor(like):
        import torch

        return torch.zeros(shape, dtype=_type(element, like), device=like.device)
    return _allocate(shape, element, like, True)


def _contiguous(a):
    """Rows one after the other, as kernels read them: a tensor of the GPU stays there, everything else is numpy's."""
    import numpy

    if not _of_gpu(a):
        return numpy.ascontiguousarray(host(a))
    a = a.contiguous()
    return a if a.data_ptr() % 4 == 0 else a.clone()  # what a launch takes


class _Built:
    """A prebuilt kernel on the GPU, which was built for these options: the `kernel`, and of its buffers what they hold `before`."""

    def __init__(self, name, where, options):
        flags = kernel_flags(options)
        key = json.dumps([name, flags, _build()], sort_keys=True)
        folder = os.path.join(_cache(), "kernels", hashlib.sha256(key.encode()).hexdigest()[:32])
        manifest = os.path.join(folder, f"{name}.json")
        if not os.path.exists(manifest):
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as fresh:
                new = os.path.join(fresh, "new")
                choice = build(name, new, **options)["choice"]
                with open(os.path.join(new, "auto.txt"), "w") as file:
                    file.write(choice["why"] if choice else "")
                try:
                    os.rename(new, folder)
                except OSError:  # another process was faster
                    pass
        try:
            with open(os.path.join(folder, "auto.txt")) as file:
                if why := file.read():
                    log_choice(name, flags, why)
        except FileNotFoundError:  # a folder of a package that did not write it
            pass
        self.kernel = LoadedKernel(manifest, None, where, shapes=False)
        with open(manifest) as file:
            arguments = [a for a in json.load(file)["arguments"] if a["kind"] == "buffer"]
        self.about = {a["name"].lower(): a for a in arguments}


_built = functools.lru_cache(maxsize=None)(lambda name, where, options: _Built(name, where, dict(options)))


@functools.cache
def _build():
    """What tells one build of the library from another."""
    status = os.stat(program())
    return [_inlay.version, status.st_size, status.st_mtime_ns]


def _cache():
    """The folder of what is built for the GPU, that of `auto`'s choices (docs/choosing.md), or one of this process."""
    folder = os.environ.get("INLAY_CACHE_DIR")
    if folder is None:
        folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "inlay")
    return folder or _folder_of_process().name


@functools.cache
def _folder_of_process():
    return tempfile.TemporaryDirectory(prefix="inlay-")


_GROW = ("m", "batch", "queries", "keys", "sequences", "blocks", "pages", "rows", "tokens")  # sizes that differ from call to call: a kernel is built for the next power of two


class _Plan:
    """A launch of a kernel on the GPU for some sizes: `order`, its buffers' names, and which of them it allocates, with bytes, and zeros or not."""

    def __init__(self, name, where, element, sizes, options, launched):
        fixed = {**({"dtype": element} if element else {}), "arch": _gpu_arch(where), **options}
        rounded = {n: 1 << (v - 1).bit_length() if n in _GROW and v > 0 else v for n, v in sizes.items()}
        for exact in (rounded, sizes):
            built = _built(name, where, tuple(sorted({**fixed, **exact}.items())))
            self.kernel = kernel = built.kernel
            self.sizes = {s: launched[s] for s in kernel.sizes}
            try:
                needed = kernel.bytes_for(self.sizes)
                break
            except CommandError:  # a form for other multiples
                if exact is sizes:
                    raise
        self.order = kernel.buffers
        self.needed = dict(zip(kernel.buffers, needed))
        self.zeros = {n for n in kernel.buffers if built.about[n.lower()].get("before") == "zeros"}


_plan = functools.lru_cache(maxsize=4096)(
    lambda name, where, element, sizes, options, launched: _Plan(name, where, element, dict(sizes), dict(options), dict(launched)))


def _compute(name, inputs, outputs, sizes, options, device="auto", arch=None, launched=None, dtype=None):
    """The outputs of one launch. `inputs`: arrays by the kernel's names; `outputs`: shape and element by name; `sizes`: what the kernel is built
    for; `launched`: its sizes in a launch, where they are others; `dtype`: the kernel's, if it is not the first array's, "" for none."""
    like = next(iter(inputs.values()))
    typed = {"dtype": _element(like) if dtype is None else dtype} if dtype != "" else {}
    for option, of_arrays in {**sizes, **typed}.items():
        if option in options:
            raise ValueError(f"{name}: {option} is that of the arrays, {of_arrays}, and no option here\n  hint   inlay.run_kernel takes {option}=")
    gpus = [_of_gpu(a) for a in inputs.values()]
    on_gpu = gpus[0]
    if on_gpu:
        number = like.device.index or 0
        if not all(gpus) or any(a.device.index != like.device.index for a in inputs.values()):
            _mixed(name, inputs)
        where = place(device, arch, number)
        if where.startswith("emulator"):
            raise ValueError(f"{name}: tensors of the GPU, and device is {device!r}")
    elif any(gpus):
        _mixed(name, inputs)
    else:
        where = place(device, arch)
    if all(0 in shape for shape, _ in outputs.values()):
        return [_zeros(shape, element, like) for shape, element in outputs.values()]
    if where.startswith("emulator"):
        out = _emulated(name, inputs, "all", {**typed, "arch": where.partition(":")[2], **sizes, **options})
        return [_like(out[n][0], like, shape, element) for n, (shape, element) in outputs.items()]
    plan = _plan(name, where, typed.get("dtype"), tuple(sizes.items()), tuple(options.items()), tuple((launched or sizes).items()))
    if not on_gpu:  # of tensors there the launch looks at the types
        _same_elements(name, inputs, dict(zip(plan.order, plan.kernel._types)))
    given = {n: _contiguous(a) for n, a in inputs.items()}
    for n in plan.order:
        if n not in given:
            shape, element = outputs.get(n) or ((plan.needed[n],), "bytes")
            given[n] = _allocate(shape, element, like, n in plan.zeros or n not in outputs)
    plan.kernel(*[given[n] for n in plan.order], **plan.sizes)
    if on_gpu:
        return [given[n] for n in outputs]
    return [_like(bytes_of(given[n]), like, shape, element) for n, (shape, element) in outputs.items()]


def _one_type(name, **inputs):
    """A kernel takes the bits of all its inputs for the first one's type."""
    if len({str(a.dtype) for a in inputs.values()}) > 1:
        raise ValueError(f"{name}: " + ", ".join(f"{n} of {a.dtype}" for n, a in inputs.items()) + ": one type is wanted")


def _mixed(name, inputs):
    raise ValueError(f"{name}: tensors of " + " and ".join(dict.fromkeys(str(getattr(a, "device", "the host")) for a in inputs.values())))


@functools.cache
def _gpu_arch(where):
    from ._launch import _device, _library

    return _library().inlay_device_arch(_device(where)).decode()


def gemm(a, b, /, c=None, *, alpha=1.0, beta=1.0, bias=None, row_bias=None, activation=None, residual=None, scale_a=None, scale_b=None,
         device="auto", arch=None, **options):
    """a @ b, of matrices M x K and K x N, or act(alpha * (a @ b) + beta * c + bias + row_bias[:, None]) + residual. Sums are in float32, and rounded once.

    Elements: float16, bfloat16, float32 and float64, of which the result is one too (of float64 sums and all that follows are in float64; dtype="xf32"
    is float32 whose products leave out the low 13 bits, on gfx942); floats of 8 bits as the processor has them (float8_e4m3fnuz and float8_e5m2fnuz, or
    float8_e4m3fn and float8_e5m2), of which it is bfloat16; int8, of which it is int32, and bfloat16 with scales; float4_e2m1fn_x2, two along K in a byte.
    `out`: another type of the result, "f32", "f16" or "bf16".
    `scale_a`, `scale_b`: float32, one for each row of a and each column of b, or one for all; of float4, and of
    floats of 8 bits on gfx950, one float8_e8m0fnu for 32 of K, M x K/32 and N x K/32.
    `c`, `residual`: matrices M x N of the type of the result, which is a new array; where beta is 0, c is not read. `bias`: N numbers,
    `row_bias`: M, taken as float32. `activation`: "relu", "silu", "gelu" (of erf) or "gelu_tanh".
    `device`: "hip", the GPU, in torch's current stream for tensors of it; "emulator"; "auto": where the tensors are, and for those of the host the GPU if there
    is one. `arch`: the processor that is emulated, gfx942 if nobody says. Others: options of the kernel (`inlay.kernels("gemm")`). The form is
    chosen for the sizes, M rounded up to a power of two.
    """
    a, b, c, bias, row_bias, residual, scale_a, scale_b = map(_taken, (a, b, c, bias, row_bias, residual, scale_a, scale_b))
    if _is_tensor(a):
        from . import torch

        return torch.gemm(a, b, *torch.texts(device, arch, options), c, float(alpha), float(beta), bias, row_bias, activation or "", residual, scale_a, scale_b)
    return gemm_of(a, b, device, arch, options, c, float(alpha), float(beta), bias, row_bias, activation, residual, scale_a, scale_b)


def _arrays(name, **inputs):
    for n, x in inputs.items():
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise TypeError(f"{name}: {n} is of type {type(x).__name__}: arrays of numpy, tensors of torch and what has shape and dtype as they do are taken")


# Elements of a product by the types of arrays: the option `dtype`, and how many of them along K lie in 16 bytes.
_FACTORS = {"float16": ("f16", 8), "bfloat16": ("bf16", 8), "float32": ("f32", 4), "float64": ("f64", 2), "float8_e4m3fnuz": ("fp8", 16), "float8_e4m3fn": ("fp8", 16), "float8_e5m2fnuz": ("bf8", 16),
            "float8_e5m2": ("bf8", 16), "int8": ("i8", 16), "float4_e2m1fn_x2": ("fp4", 32)}
# Scales of 32 of K, and how many elements of an array one of them is for.
_OF_BLOCKS, _BLOCKS = ("float8_e8m0fnu", "uint8"), {"fp4": 16, "mxfp8": 32, "mxbf8": 32}
GEMM_ACTIVATIONS = ("relu", "silu", "gelu", "gelu_tanh")


def _factor(a, options, scale=None):
    dtype, together = _factor_of(a.dtype)
    if dtype in ("fp8", "bf8") and scale is not None and _name_of(scale.dtype) in _OF_BLOCKS:
        return "mx" + dtype, together
    return ("xf32" if dtype == "f32" and options.get("dtype") == "xf32" else dtype), together


@functools.cache
def _factor_of(dtype):
    name = _name_of(dtype)
    if name not in _FACTORS:
        raise TypeError(f"gemm: elements of {name}: {', '.join(_FACTORS)} are taken")
    return _FACTORS[name]


def gemm_shapes(a, b, options=None, c=None, beta=1.0, bias=None, row_bias=None, activation=None, residual=None, scale_a=None, scale_b=None):
    _arrays("gemm", a=a, b=b)
    given = {"c": c, "bias": bias, "row_bias": row_bias, "residual": residual, "scale_a": scale_a, "scale_b": scale_b}
    given = {n: x for n, x in given.items() if x is not None}
    if given:
        _arrays("gemm", **given)
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0] or _name_of(a.dtype) != _name_of(b.dtype):
        raise ValueError(f"gemm of {tuple(a.shape)} {a.dtype} and {tuple(b.shape)} {b.dtype}: matrices M x K and K x N of one type" +
                         ("\n  hint   a.reshape(-1, a.shape[-1])" if len(a.shape) > 2 and len(b.shape) == 2 else ""))
    dtype, _ = _factor(a, options or {}, scale_a)
    if (scale_a is None) != (scale_b is None) or dtype == "fp4" and scale_a is None:
        raise ValueError(f"gemm: scale_{'a' if scale_a is None else 'b'} is missing: " +
                         ("of float4 both have scales" if dtype == "fp4" else "both have scales, or none"))
    for n, scale, rows in () if scale_a is None else (("scale_a", scale_a, a.shape[0]), ("scale_b", scale_b, b.shape[1])):
        shape, name = tuple(scale.shape), _name_of(scale.dtype)
        if block := _BLOCKS.get(dtype):
            want, right = f"{(rows, a.shape[1] // block)} of float8_e8m0fnu", shape == (rows, a.shape[1] // block) and a.shape[1] % block == 0 and name in _OF_BLOCKS
        else:
            numbers = _weights(dtype)
            want, right = f"1 or {rows} of {numbers}", sum(x != 1 for x in shape) <= 1 and functools.reduce(operator.mul, shape, 1) in (1, rows) and name == numbers
        if not right:
            raise ValueError(f"gemm: {n} of {shape} {scale.dtype}: {want} are wanted")
    element = _gemm_element(a, options or {}, scale_a is not None)
    if c is None and beta != 1:
        raise ValueError(f"gemm: beta={beta} and no c")
    for n, x in (("c", c), ("residual", residual)):
        if x is not None and (tuple(x.shape) != (a.shape[0], b.shape[1]) or _NAMES.get(_name_of(x.dtype)) != element):
            raise ValueError(f"gemm: {n} of {tuple(x.shape)} {x.dtype}, and the result is {(a.shape[0], b.shape[1])} of {element}")
    for n, x, length in (("bias", bias, b.shape[1]), ("row_bias", row_bias, a.shape[0])):
        if x is not None and tuple(x.shape) != (length,):
            raise ValueError(f"gemm: {n} of {tuple(x.shape)}, and there are {length} {'columns' if n == 'bias' else 'rows'}")
    if activation and activation not in GEMM_ACTIVATIONS:
        raise ValueError(f"gemm: activation={activation!r}: {', '.join(GEMM_ACTIVATIONS)}")


def _gemm_element(a, options, scaled=False):
    """Of a product: that of the matrices, or the kernel's option `out`. Errors: ValueError for one that has no type here."""
    dtype, _ = _factor(a, options)
    element = options.get("out") or (dtype if dtype in ("f16", "bf16", "f32", "f64") else "f32" if dtype == "xf32" else "i32" if dtype == "i8" and not scaled else "bf16")
    if element not in ("f32", "f64", "f16", "bf16", "i32"):
        raise ValueError(f"gemm: out={element!r}: f32, f16, bf16 are returned, f64 of float64, and i32 of int8")
    return element


def gemm_type(a, options, scaled):
    return _type(_gemm_element(a, options, scaled), a)


def _weights(dtype):
    """What alpha, beta, scales and biases are of."""
    return "float64" if dtype == "f64" else "float32"


def _number(value, like, numbers):
    """One number as a buffer, where `like` is."""
    if _of_gpu(like):
        import torch

        return torch.full((1,), value, dtype=getattr(torch, numbers), device=like.device)
    import numpy

    return numpy.array([value], numbers)


def _as_numbers(x, numbers="float32"):
    if _is_tensor(x):
        import torch

        return x.to(getattr(torch, numbers))
    import numpy

    return numpy.asarray(x).astype(numbers)


def gemm_of(a, b, device, arch, options, c=None, alpha=1.0, beta=1.0, bias=None, row_bias=None, activation=None, residual=None, scale_a=None, scale_b=None):
    gemm_shapes(a, b, options, c, beta, bias, row_bias, activation, residual, scale_a, scale_b)
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    dtype, together = _factor(a, options, scale_a)
    numbers, block = _weights(dtype), _BLOCKS.get(dtype)
    element = _gemm_element(a, options, scale_a is not None)
    if beta == 0:
        c = None
    if k == 0 and c is None and bias is None and row_bias is None and residual is None:  # a sum of nothing; each activation leaves 0
        return _zeros((m, n), element, a)
    if dtype == "xf32":  # said by its option; others are the arrays' own
        options = {n: v for n, v in options.items() if n != "dtype"}
    in_byte = 2 if dtype == "fp4" else 1
    step = 256 // in_byte if block else together  # the kernel's unit of K; more zeros of K change no sum
    more = -k % step or (step if k == 0 else 0)
    if _of_gpu(a) and not more:
        left, right = a, b.t()
    else:
        left, right = (_as_bits(x) if _of_gpu(x) else host(x) for x in (a, b))
        right = right.t() if _of_gpu(b) else right.T
        if more:
            left, right = (_padded(x, more) for x in (left, right))
        left, right = (_with_type(x, a) for x in (left, right))
    inputs = {"a": left, "b": right}
    if block:
        inputs["sa"], inputs["sb"] = _block_scales(scale_a, m, (k + more) // block), _block_scales(scale_b, n, (k + more) // block)
    elif scale_a is not None:
        options, inputs["sa"], inputs["sb"] = {**options, "scales": "yes"}, _row_scales(scale_a, m), _row_scales(scale_b, n)
    if alpha != 1:
        options, inputs["alpha"] = {**options, "alpha": "yes"}, _number(alpha, a, numbers)
    if c is not None:
        options, inputs["beta"] = {**options, "beta": "yes"}, _number(beta, a, numbers)
        inputs["c"] = c
    for name, x in (("bias", bias), ("row_bias", row_bias)):
        if x is not None:
            options, inputs[name] = {**options, name: "yes"}, _as_numbers(x, numbers)
    if activation:
        options = {**options, "activation": activation}
    if residual is not None:
        options, inputs["residual"] = {**options, "residual": "yes"}, residual
    result = "c" if c is None else "d"
    return _compute("gemm", inputs, {result: ((m, n), element)}, {"m": m, "n": n, "k": in_byte * (k + more)}, options, device, arch, dtype=dtype)[0]


def _row_scales(scale, rows):
    """One for each row."""
    if _of_gpu(scale):
        return scale.reshape(-1).expand(rows)
    import numpy

    return numpy.broadcast_to(host(scale).reshape(-1), (rows,))


def _block_scales(scale, rows, columns):
    """Scales of 32 of K each, with more rows and columns, in the kernel's order: of blocks of 32 rows and 8 columns ((16,2),(4,2)):((4,1),(64,2))."""
    down, across = -rows % 32, columns - scale.shape[1]
    apart, order = ((rows + down) // 32, 2, 16, columns // 8, 2, 4), (0, 3, 5, 2, 4, 1)
    if _of_gpu(scale):
        import torch

        return torch.nn.functional.pad(_as_bits(scale), (0, across, 0, down)).reshape(apart).permute(order).contiguous()
    import numpy

    return numpy.ascontiguousarray(numpy.pad(host(scale).view(numpy.uint8), ((0, down), (0, across))).reshape(apart).transpose(order))


def _as_bits(x):
    """A tensor of elements for which torch has no operations, as bytes."""
    if x.element_size() > 1:
        return x
    import torch

    return x.view(torch.uint8)


def _padded(x, more):
    if _of_gpu(x):
        import torch

        return torch.nn.functional.pad(x, (0, more))
    import numpy

    return numpy.pad(x, ((0, 0), (0, more)))


def _with_type(x, a):
    """Bits of what was a tensor of torch, as one again."""
    if not _is_tensor(a):
        return x
    import numpy
    import torch

    return (x if _of_gpu(a) else torch.from_numpy(numpy.ascontiguousarray(x))).view(a.dtype)


def _rows(x):
    """Leading dimensions as one."""
    if len(x.shape) < 1:
        raise ValueError("a number has no rows")
    columns = x.shape[-1]
    rows = 1
    for n in x.shape[:-1]:
        rows *= n
    return rows, columns


def _by_rows(name, inputs, output, options, device, arch):
    """Of a kernel of rows, by its first input."""
    if "in-place" in kernel_flags(options):
        raise ValueError(f"{name}: in_place has no meaning here: a new array is returned")
    x = next(iter(inputs.values()))
    rows, columns = _rows(x)
    return _compute(name, inputs, {output: (tuple(x.shape), _element(x))}, {"m": rows, "n": columns}, options, device, arch)[0]


def softmax(x, /, *, device="auto", arch=None, **options):
    """softmax over the last dimension. `device`, `arch`: as of gemm."""
    x = _taken(x)
    for name in ("dim", "axis"):
        if (over := options.pop(name, -1)) not in (-1, len(getattr(x, "shape", ())) - 1):
            raise ValueError(f"softmax: {name}={over}, and it is over the last one\n  hint   inlay.softmax(x.{'movedim' if _is_tensor(x) else 'swapaxes'}({over}, -1)), and back")
    if _is_tensor(x):
        from . import torch

        return torch.softmax(x, *torch.texts(device, arch, options))
    return softmax_of(x, device, arch, options)


def softmax_of(x, device, arch, options):
    _arrays("softmax", x=x)
    return _by_rows("softmax", {"x": x}, "y", options, device, arch)


def softmax_backward_of(dy, y, device, arch, options):
    _one_type("softmax_backward", dy=dy, y=y)
    return _by_rows("softmax_backward", {"dy": dy, "y": y}, "dx", options, device, arch)


def rms_norm(x, w, /, *, eps=1e-5, device="auto", arch=None, **options):
    """x / sqrt(mean(x^2) + eps) * w over the last dimension. `device`, `arch`: as of gemm."""
    x, w = _taken(x), _taken(w)
    if _is_tensor(x):
        from . import torch

        return torch.rms_norm(x, w, float(eps), *torch.texts(device, arch, options))
    return rms_norm_of(x, w, eps, device, arch, options)


def rms_norm_shapes(x, w):
    _arrays("rms_norm", x=x, w=w)
    if tuple(w.shape) != tuple(x.shape[-1:]) or str(w.dtype) != str(x.dtype):
        raise ValueError(f"rms_norm: a weight of {tuple(w.shape)} {w.dtype} for rows of {tuple(x.shape[-1:])} {x.dtype}")


def rms_norm_of(x, w, eps, device, arch, options):
    rms_norm_shapes(x, w)
    return _by_rows("rmsnorm", {"x": x, "w": w}, "y", {"epsilon": repr(float(eps)), **options}, device, arch)


def rms_norm_backward_of(dy, x, w, eps, device, arch, options):
    _one_type("rms_norm_backward", dy=dy, x=x, w=w)
    return _by_rows("rmsnorm_backward", {"dy": dy, "x": x, "w": w}, "dx", {"epsilon": repr(float(eps)), **options}, device, arch)


def flash_attention(q, k, v, /, *, causal=False, device="auto", arch=None, **options):
    """Attention of q, k, v of shape (batch, sequence, heads, head size) of float16 or bfloat16. `device`, `arch`: as of gemm.

    Heads of k and v may be fewer: each is shared by as many heads of q. `causal`: query i sees keys 0 to i, however many there are.
    """
    q, k, v = map(_taken, (q, k, v))
    if "scale" in options:
        raise ValueError("flash_attention: scores are scaled by 1 / sqrt(head size)\n  hint   for another scale: q * (scale * sqrt(head size))")
    if _is_tensor(q):
        from . import torch

        return torch.flash_attention(q, k, v, causal, *torch.texts(device, arch, options))[0]
    return flash_attention_of(q, k, v, causal, device, arch, options)[0]


def flash_attention_shapes(q, k, v):
    _arrays("flash_attention", q=q, k=k, v=v)
    shapes = [tuple(a.shape) for a in (q, k, v)]
    wrong = (next((f"{n} has {len(s)} dimensions" for n, s in zip("qkv", shapes) if len(s) != 4), None)
             or next((f"{n} has {s[0]} sequences, and q {q.shape[0]}" for n, s in zip("kv", shapes[1:]) if s[0] != q.shape[0]), None)
             or (f"{k.shape[1]} keys and {v.shape[1]} values" if k.shape[1] != v.shape[1] else None)
             or (f"{k.shape[2]} heads of k and {v.shape[2]} of v" if k.shape[2] != v.shape[2] else None)
             or (f"{q.shape[2]} heads of q are no multiple of {k.shape[2]} of k" if not k.shape[2] or q.shape[2] % k.shape[2] else None)
             or next((f"head sizes {q.shape[3]} of q and {s[3]} of {n}" for n, s in zip("kv", shapes[1:]) if s[3] != q.shape[3]), None))
    if wrong:
        raise ValueError(f"flash_attention of {', '.join(map(str, shapes))}: {wrong}\n  hint   shapes are (batch, sequence, heads, head size)")
    if k.shape[1] == 0 and 0 not in q.shape:
        raise ValueError(f"flash_attention: no keys for {q.shape[1]} queries: a softmax of nothing has no value")
    _one_type("flash_attention", q=q, k=k, v=v)


def _attention(q, k):
    """Sizes of attention, and the options that follow from shapes."""
    batch, queries, heads, size = q.shape
    return {"batch": batch, "queries": queries, "keys": k.shape[1], "heads": heads}, {"group": heads // k.shape[2], "head-dim": size}


def flash_attention_of(q, k, v, causal, device, arch, options):
    """The result, and the logarithm of each row's sum of exponentials, (batch, heads, queries)."""
    flash_attention_shapes(q, k, v)
    sizes, form = _attention(q, k)
    return _compute("flash_attention", {"q": q, "k": k, "v": v},
                    {"o": (tuple(q.shape), _element(q)), "lse": ((q.shape[0], q.shape[2], q.shape[1]), "f32")}, sizes,
                    {"causal": int(causal), **form, **options}, device, arch)


def flash_attention_backward_of(do, q, k, v, o, lse, causal, device, arch):
    """The gradients of q, k and v."""
    _one_type("flash_attention_backward", do=do, q=q, k=k, v=v, o=o)
    if 0 in q.shape:
        return [_zeros(tuple(a.shape), _element(a), a) for a in (q, k, v)]
    sizes, form = _attention(q, k)
    rows = {n: sizes[n] for n in ("batch", "queries", "heads")}
    per_row = (tuple(lse.shape), "f32")
    delta, lse2 = _compute("attention_backward_delta", {"do": do, "o": o, "lse": lse}, {"delta": per_row, "lse2": per_row}, rows, form, device, arch)
    given = {"do": do, "q": q, "k": k, "v": v, "lse2": lse2, "delta": delta}
    options = {"causal": int(causal), **form}
    dq, = _compute("attention_backward_dq", given, {"dq": (tuple(q.shape), _element(q))}, sizes, options, device, arch)
    launched = {"batch": sizes["batch"], "keys": sizes["keys"], "rows": sizes["queries"] * form["group"], "kv_heads": k.shape[2]}
    dk, dv = _compute("attention_backward_dkv", given, {n: (tuple(k.shape), _element(k)) for n in ("dk", "dv")}, sizes, options, device, arch, launched)
    return dq, dk, dv


def varlen_attention(q, k, v, cu_seqlens, cu_seqlens_k=None, /, *, longest=None, longest_k=None, causal=False, window=0, device="auto", arch=None, **options):
    """Attention of sequences that stand one after the other: q (rows, heads, head size), k and v (rows, heads, head size) of float16 or bfloat16.

    `cu_seqlens`: where each begins in q, and where the last one ends, int32 or int64, as flash-attn has it: 0 first, then no smaller ones, at the end the number of rows;
    `cu_seqlens_k` in k and v, where it is another place. `longest`, `longest_k`: the longest sequences, or more. Places of the host are checked. Those of the GPU are copied to the host, which waits for
    it, and checked, if nobody says `longest`; with both nothing waits and nothing is checked: rows past the last place, or of a sequence past `longest`, are 0. `causal`: the last query sees all keys, the one before
    it one less; a query that sees none gives 0. `window`: with causal, keys that a query sees, its own the last. Others: options of the kernel
    (`inlay.kernels("varlen_attention")`), `device`, `arch`: as of gemm.

        >>> inlay.varlen_attention(q, k, v, numpy.array([0, 100, 101, 164]), causal=True)
    """
    q, k, v, cu_seqlens, cu_seqlens_k = map(_taken, (q, k, v, cu_seqlens, cu_seqlens if cu_seqlens_k is None else cu_seqlens_k))
    _varlen_shapes(q, k, v, cu_seqlens, cu_seqlens_k)
    nothing = 0 in q.shape
    if not nothing:
        longest, longest_k = (_longest(*of) for of in (("", longest, cu_seqlens, q), ("_k", longest_k, cu_seqlens_k, k)))
    if nothing or len(cu_seqlens) == 1 or k.shape[0] == 0:
        return _zeros((*q.shape[:2], v.shape[2]), _element(q), q)
    tile, sequences = 64, len(cu_seqlens) - 1
    blocks, keys = max(1, -(-longest // tile)), max(1, -(-longest_k // 64)) * 64
    heads, size = q.shape[1:]
    of_kernel = {"causal": "yes" if causal else "no", "window": window}
    lines = (sequences, blocks, tile)
    row, position, ends, table = _compute("attention_blocks", {"cu_seqlens_q": _as_int32(cu_seqlens), "cu_seqlens_k": _as_int32(cu_seqlens_k)},
                                          {"row": (lines, "i32"), "position": (lines, "i32"), "ends": (lines[:2], "i32"), "table": ((*lines[:2], keys), "i32")},
                                          {"sequences": sequences, "blocks": blocks, "pages": keys}, {**of_kernel, "tile": tile}, device, arch, dtype="")
    launched = {"blocks": sequences * blocks, "rows": q.shape[0], "heads": heads, "keys": keys, "pages": k.shape[0]}
    sizes = {"sequences": 1, "queries": 1, "kv-heads": k.shape[1], **{n: launched[n] for n in ("keys", "pages", "blocks", "rows")}}
    slots = (sequences * blocks * tile, heads)
    o, _ = _compute("varlen_attention", {"q": q, "k": k, "v": v, "row": row, "position": position, "ends": ends, "table": table},
                    {"o": ((*slots, v.shape[2]), _element(q)), "lse": (slots, "f32")}, sizes,
                    {**of_kernel, "group": heads // k.shape[1], "head-dim": size, "value-dim": v.shape[2], "page": 1, "tile-q": tile, **options}, device, arch, launched)
    out = _zeros((*q.shape[:2], v.shape[2]), _element(q), q)
    return _compute("scatter_rows", {"x": o, "ids": row, "y": out}, {"y": (tuple(out.shape), _element(q))},
                    {"tokens": slots[0], "rows": q.shape[0], "n": heads * v.shape[2]}, {}, device, arch)[0]


def _longest(end, said, places, rows):
    """Of the sequences that begin at these places; what the caller said of them. Errors: ValueError for places that are none, where they are on the host or nobody said."""
    if said is not None:
        said = operator.index(said)
        if _of_gpu(places):
            return said
    places = host(places.cpu() if _of_gpu(places) else places)
    name = "cu_seqlens" + end
    if places[0] != 0:
        raise ValueError(f"varlen_attention: {name}[0] is {places[0]}: the first sequence begins at 0")
    check_rising("varlen_attention", name, places)
    if places[-1] != rows.shape[0]:
        raise ValueError(f"varlen_attention: {name}[{len(places) - 1}] is {places[-1]}, and there are {rows.shape[0]} rows of {'k' if end else 'q'}"
                         f"\n  hint   where the last sequence ends, or {'k' if end else 'q'}[:{places[-1]}]")
    longest = int((places[1:] - places[:-1]).max(initial=0))
    if said is not None and said < longest:
        raise ValueError(f"varlen_attention: longest{end}={said}, and a sequence has {longest} rows")
    return longest if said is None else said


def _as_int32(x):
    """Places in rows, one after the other."""
    if _is_tensor(x):
        import torch

        return x.to(torch.int32)
    import numpy

    return numpy.asarray(x).astype(numpy.int32)


def _varlen_shapes(q, k, v, cu_seqlens, cu_seqlens_k):
    _arrays("varlen_attention", q=q, k=k, v=v, cu_seqlens=cu_seqlens, cu_seqlens_k=cu_seqlens_k)
    shapes = [tuple(a.shape) for a in (q, k, v)]
    wrong = (next((f"{n} has {len(s)} dimensions" for n, s in zip("qkv", shapes) if len(s) != 3), None)
             or (f"{k.shape[0]} rows of k and {v.shape[0]} of v" if k.shape[0] != v.shape[0] else None)
             or (f"{k.shape[1]} heads of k and {v.shape[1]} of v" if k.shape[1] != v.shape[1] else None)
             or (f"{q.shape[1]} heads of q are no multiple of {k.shape[1]} of k" if not k.shape[1] or q.shape[1] % k.shape[1] else None)
             or (f"head sizes {q.shape[2]} of q and {k.shape[2]} of k" if q.shape[2] != k.shape[2] else None))
    if wrong:
        raise ValueError(f"varlen_attention of {', '.join(map(str, shapes))}: {wrong}\n  hint   shapes are (rows of all sequences, heads, head size)")
    for n, x in (("cu_seqlens", cu_seqlens), ("cu_seqlens_k", cu_seqlens_k)):
        if len(x.shape) != 1 or len(x) == 0 or _name_of(x.dtype) not in ("int32", "int64"):
            raise ValueError(f"varlen_attention: {n} of {tuple(x.shape)} {x.dtype}\n  hint   int32, where each sequence begins and the last one ends: [0, 100, 101, 164]")
    if len(cu_seqlens) != len(cu_seqlens_k):
        raise ValueError(f"varlen_attention: {len(cu_seqlens)} places in cu_seqlens and {len(cu_seqlens_k)} in cu_seqlens_k: as many sequences of queries as of keys")
    _one_type("varlen_attention", q=q, k=k, v=v)
