"""Strangers' kernels: a Triton JITFunction compiled for the target, without a GPU, and run with all sanitizers."""
import os
import tempfile

from . import _aiter
from ._sources import flydsl_launch, is_file, is_flydsl, launched
from ._tools import CommandError, exec, host, processor


class Report:
    """What a launch of a kernel did wrong. True when nothing was found.

    `findings`: dicts with `kind`, `text` and where it is; `details`: all that `inlay exec --json` says; `directory` of the code object, for
    `inlay time` and `inlay inspect`.
    """

    def __init__(self, name, arch, details, file):
        self.name, self.arch, self.details, self.file = name, arch, details, file

    @property
    def findings(self):
        return [f for f in self.details.get("findings", []) if not f.get("note")]

    def __bool__(self):
        return not self.findings and self.details.get("status", 0) == 0

    def __str__(self):
        if self:
            return f"{self.name} on {self.arch}: nothing found"
        return "\n".join([f"{self.name} on {self.arch}: {len(self.findings)} finding{'s' * (len(self.findings) > 1)}"] + [_sentence(f) for f in self.findings])

    __repr__ = __str__

    def raise_if_found(self):
        """An AssertionError with the findings, for tests."""
        if not self:
            raise AssertionError(str(self))
        return self


def _sentence(finding):
    source = finding.get("source") or finding.get("line")
    where = f"{source['file']}:{source['line']}" if isinstance(source, dict) and "file" in source else source
    return f"{finding.get('kind', 'finding')}: {finding.get('message', finding)}" + (f"\n  at {where}" if where else "")


def check(kernel, /, *args, grid=None, arch="gfx942", check="all", stress=False, **kwargs):
    """Runs a kernel on the emulator and says what is wrong with it: races, bounds, uninit, waits, barriers, alignment, hazards.

    Of Triton: `kernel[grid]`, or the kernel and `grid=`; arguments and keywords as in a launch, arrays of numpy or CPU tensors of torch, which are
    written in place. Needs triton, and no GPU. With `stress=True` also under hostile orders of events.
    Of FlyDSL: a function with `@flyc.jit` and its arguments. Of a file, with `grid=`, `block=` and, where it has several, `kernel=`: a code object, a `.co` of AITER's, of whose products the row of
    the table beside it, or `row=`, says grid and block, a launch manifest, a folder of Triton's cache or of a FlyDSL dump, or HIP C++ (`.hip`, `.cpp`), which clang compiles.

        >>> report = inlay.check(add[(4,)], x, y, out, n, BLOCK=256)
        >>> assert report, report
        >>> inlay.check("add.hip", x, y, out, n, grid=4, block=256)
    """
    if is_file(kernel):
        file, args = launched(kernel, arch, args)
        of_arch = {} if file != os.fspath(kernel) or "arch" in kwargs else {"arch": None}
        args, options = _aiter.launch(file, args, {"grid": grid, **of_arch, **kwargs})
        details = exec(file, *args, check=None if check == "all" else check, stress=stress, **options)
        return Report(details.get("demangled", details.get("kernel", os.path.basename(file))), details.get("arch", arch), details, file)
    if is_flydsl(kernel):
        launches, files = flydsl_launch("check", kernel, args, kwargs, arch, check, stress)
        return Report(*_of_launches(launches, arch), files[-1] if files else None)
    code = compiled("check", kernel, grid, arch, args, kwargs)
    details = exec(code.file, *code.values, check=None if check == "all" else check, stress=stress, **code.launch)
    return Report(code.name, processor(arch), details, code.file)


def _of_launches(launches, arch):
    """Name, processor and details of a Report of several launches."""
    from ._device import defects

    found = [{"kind": kind, "message": text.removeprefix(kind + ": ")} for kind, text in defects(launches)]
    names = dict.fromkeys(launch.get("kernel", "") for launch in launches)
    return ", ".join(names) or "no launch", arch, {"findings": found, "launches": launches, "status": 0 if launches else 1}


class Compiled:
    """A Triton kernel as code object with the arguments and the geometry of one launch, as the commands take them."""

    def __init__(self, name, file, values, grid, block, lds):
        self.name, self.file, self.values = name, file, values
        self.launch = {"kernel": name, "grid": grid, "block": block, "lds": lds}


def compiled(what, kernel, grid, arch, args, kwargs):
    """The launch `kernel[grid](*args, **kwargs)`, compiled for the target as Triton's own launch does it, for the function `what`."""
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as e:
        raise CommandError(f"inlay.{what} compiles the kernel by triton, which is not there ({e})\n  hint   pip install triton") from None
    arch = processor(arch)
    kernel, grid = _launch(what, kernel, grid)
    kernel, kwargs = _unwrapped(what, kernel, args, kwargs)
    names = [p.name for p in kernel.params]
    options = {k: v for k, v in kwargs.items() if k not in names}
    bound = kernel.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in names})
    bound.apply_defaults()
    signature, constants, attributes, values = {}, {}, {}, []
    for k, parameter in enumerate(kernel.params):
        value = bound.arguments[parameter.name]
        kind = "constexpr" if parameter.is_constexpr or value is None else _type(value, parameter)
        if kind in ("i32", "i64") and value == 1 and not parameter.do_not_specialize:
            kind = "constexpr"  # as Triton's own launch does
        signature[parameter.name] = kind
        if kind == "constexpr":
            constants[(k,)] = value
            continue
        aligned = kind.startswith("*") or (isinstance(value, int) and value % 16 == 0)
        if aligned and not parameter.do_not_specialize and not parameter.do_not_specialize_on_alignment:
            attributes[(k,)] = [["tt.divisibility", 16]]
        values.append(_value(kind, value))
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)
    meta = compiled.metadata
    if callable(grid):
        grid = grid(dict(bound.arguments))
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    directory = tempfile.mkdtemp(prefix="inlay-")
    file = os.path.join(directory, meta.name + ".hsaco")
    with open(file, "wb") as out:
        out.write(compiled.asm["hsaco"])
    # Triton's kernels end with pointers to scratch memory that nothing here needs.
    values += ["ptr:0"] * _scratch_pointers(file, meta.name, len(values))
    return Compiled(meta.name, file, values, [*grid, 1, 1][:3], [64 * meta.num_warps, 1, 1], meta.shared or None)


def _launch(what, kernel, grid):
    """The kernel and the grid of `kernel[grid]`, which Triton keeps in a function."""
    cells = getattr(kernel, "__closure__", None)
    if cells and not hasattr(kernel, "params"):
        held = dict(zip(kernel.__code__.co_freevars, (c.cell_contents for c in cells)))
        kernel, grid = held.get("self", kernel), held.get("grid", grid)
    if grid is None:
        raise CommandError(f"inlay.{what}: the grid is missing\n  hint   inlay.{what}(kernel[grid], x, y, n), or grid=(4,)")
    return kernel, grid


def _unwrapped(what, kernel, args, kwargs):
    """The JITFunction within autotuning, of which the first configuration is taken, and heuristics."""
    while not hasattr(kernel, "params"):
        if getattr(kernel, "configs", None):
            config = kernel.configs[0]
            kwargs = {"num_warps": config.num_warps, "num_stages": config.num_stages, **config.kwargs, **kwargs}
        elif hasattr(kernel, "values") and hasattr(kernel, "fn"):
            known = {**dict(zip(kernel.arg_names, args)), **kwargs}
            kwargs = {**kwargs, **{k: f(known) for k, f in kernel.values.items()}}
        if not hasattr(kernel, "fn"):
            raise CommandError(f"inlay.{what}: no Triton kernel\n  given  {kernel!r}\n  hint   a function with @triton.jit")
        kernel = kernel.fn
    return kernel, kwargs


_ELEMENTS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16", "int32": "i32",
             "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1", "float8_e4m3fn": "fp8e4nv",
             "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16"}


def _type(value, parameter):
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    name = str(getattr(value, "dtype", type(value).__name__)).replace("torch.", "")
    if name not in _ELEMENTS:
        raise CommandError(f"inlay.check: argument '{parameter.name}' is a {name}\n  hint   an array, a tensor or a number")
    return ("*" if getattr(value, "ndim", 0) or not hasattr(value, "item") else "") + _ELEMENTS[name]


def _value(kind, value):
    if kind.startswith("*"):
        return host(value)
    return f"i32:{int(value)}" if kind == "u1" else value


def _scratch_pointers(file, name, given):
    from ._tools import inspect

    kernels = inspect(file).get("kernels", [])
    for kernel in kernels:
        if kernel.get("name") == name:
            return max(0, sum(1 for a in kernel.get("args", kernel.get("arguments", [])) if not a.get("hidden")) - given)
    return 2
