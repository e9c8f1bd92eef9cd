"""What `inlay.check`, `time` and `validate` take beside Triton's kernels: code objects, HIP sources, folders of Triton's cache, FlyDSL's launches."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from ._tools import CommandError, host, processor, stress_count

_HIP = (".hip", ".cpp", ".cc", ".cxx", ".cu")


def is_file(a):
    return isinstance(a, (str, os.PathLike))


def is_flydsl(kernel):
    return type(kernel).__module__.split(".")[0] == "flydsl"


def code_object(file, arch):
    """The file that the command takes: of a folder of Triton's cache the launch that it describes, of one of FlyDSL's dumps the code object in it,
    of HIP C++ what clang makes of it."""
    return launched(file, arch, ())[0]


def launched(file, arch, args):
    """That, and the arguments: of a dump an array stands for its address and the structure of its shape and strides that follows."""
    name = os.fspath(file)
    if os.path.isdir(name) and (dumps := _dumps(name)):
        if len(dumps) != 1:
            which = ", ".join(os.path.relpath(os.path.dirname(f), name) for f in dumps[:8])
            raise CommandError(f"{name} is a folder of {len(dumps)} dumps of FlyDSL's: {which}\n  hint   the folder of one")
        return _dumped(dumps[0], args)
    return _code_object(name, arch), args


def _dumps(folder):
    """The last stage of each dump in it, in which the code object is."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), "**", "*_gpu_module_to_binary*.mlir"), recursive=True))


def _dumped(stage, args):
    with open(stage, encoding="utf-8") as file:
        text = file.read()
    codes = re.findall(r'\bbin = "((?:[^"\\]|\\.)*)"', text)
    kernels = re.findall(r'#gpu\.kernel_metadata<"([^"]+)", !llvm\.func<void \((.*?)\)>(?:, (?:arg_attrs|metadata) =|>)', text)
    if len(codes) != 1 or not kernels:
        raise CommandError(f"{stage} has {len(codes)} code objects\n  hint   a dump of one kernel (FLYDSL_DUMP_IR=1)")
    code = re.sub(rb"\\([0-9A-Fa-f]{2}|.)", lambda m: bytes.fromhex(m[1].decode()) if len(m[1]) == 2 else m[1], codes[0].encode())
    out = os.path.join(tempfile.mkdtemp(prefix="inlay-"), kernels[0][0] + ".hsaco")
    with open(out, "wb") as file:
        file.write(code)
    return out, _spelled(args, _types(kernels[0][1])) if len(kernels) == 1 else args


def _types(text):
    """Types of arguments, a structure as the list of its own: "ptr<1>, struct<packed (i32, i64)>" is ["ptr<1>", ["i32", "i64"]]."""
    words = iter(re.findall(r"struct<(?:packed )?\(|\)>|[^,()\s]+", text))

    def some():
        out = []
        for word in words:
            if word == ")>":
                break
            out.append(some() if word.startswith("struct<") else word)
        return out

    return some()


def _spelled(args, types):
    """Arguments in the order of the code object's."""
    out, rest = [], list(types)
    for a in args:
        kind = rest.pop(0) if rest else None
        out.append(a)
        if not hasattr(a, "shape") or not str(kind).startswith("ptr") or not rest or not isinstance(rest[0], list):
            continue
        if len(args) == len(types):  # all are given
            continue
        extents, strides = (list(part) if isinstance(part, list) else [part] for part in (*rest.pop(0), [])[:2])
        array = host(a)
        apart = [s // array.itemsize for s in array.strides]
        known = {len(apart): apart, len(apart) - 1: apart[:-1] if apart and apart[-1] == 1 else None, 0: []}
        if len(extents) not in (0, array.ndim) or known.get(len(strides)) is None:
            raise CommandError(f"argument {len(out) - 1}: its structure has {len(extents)} extents and {len(strides)} strides, and the array the shape {array.shape} and strides {tuple(apart)}\n"
                               "  hint   all arguments as the code object has them, such a structure as 'bytes:HEX'")
        values = [*zip(extents, array.shape), *zip(strides, known[len(strides)])]
        out.append("bytes:" + b"".join(int(value).to_bytes(int(kind[1:]) // 8, "little", signed=True) for kind, value in values).hex())
    return tuple(out)


def _code_object(name, arch):
    if os.path.isdir(name):
        found = [f for f in sorted(glob.glob(os.path.join(glob.escape(name), "**", "*.json"), recursive=True)) if os.path.exists(f[:-5] + ".hsaco")]
        if len(found) != 1:
            which = ", ".join(os.path.relpath(f, name) for f in found[:8]) or "none"
            raise CommandError(f"{name} is a folder of {len(found)} kernels with a description beside them: {which}\n  hint   one of the files, or the folder of one")
        return found[0]
    if name.endswith(_HIP):
        return _compiled(name, processor(arch or "gfx942"))
    return name


def _compiled(source, arch):
    clang = next(filter(None, map(shutil.which, (*(f"clang++-{n}" for n in range(25, 17, -1)), "clang++"))), None)
    if clang is None:
        raise CommandError(f"{source} is compiled by clang++, which is not there\n  hint   apt install clang-22, or a code object of hipcc's (--genco)")
    out = os.path.join(tempfile.mkdtemp(prefix="inlay-"), os.path.splitext(os.path.basename(source))[0] + ".hsaco")
    words = [clang, "-x", "hip", f"--offload-arch={arch}", "--cuda-device-only", "--no-gpu-bundle-output", "-g", "-O3", source, "-o", out]
    # With HIP's headers where clang finds them, else without: a source may declare itself what it uses.
    for without in ((), ("-nogpuinc", "-nogpulib")):
        ran = subprocess.run([*words, *without], capture_output=True, text=True)
        if ran.returncode == 0:
            return out
    raise CommandError(f"{os.path.basename(clang)} does not compile {source}\n{ran.stderr.strip()}")


_flydsl = None  # the device that FlyDSL has in this process, and how it was asked for


def flydsl_launch(what, jit, args, kwargs, arch, check="all", stress=False):
    """Calls a function of FlyDSL's on the emulator: its launches as the library reports them, and the file that `inlay time` takes of each."""
    global _flydsl
    from . import _device

    asked = (processor(arch), check, stress_count(stress))
    if _flydsl is None:
        folder = tempfile.TemporaryDirectory(prefix="inlay-")
        emulator = _device.Emulator(*asked, dump=folder.name)
        _device.adapt("flydsl", emulator)
        _flydsl = (asked, emulator, folder)
    elif asked != _flydsl[0]:
        raise CommandError(f"inlay.{what}: FlyDSL has {' '.join(map(str, _flydsl[0]))} in this process, and {' '.join(map(str, asked))} is asked for\n  hint   another process")
    _, emulator, folder = _flydsl
    emulator.report()
    before = set(os.listdir(folder.name))
    jit(*args, **kwargs)
    files = sorted((f for f in os.listdir(folder.name) if f.endswith(".json") and f not in before), key=lambda f: (len(f), f))
    return emulator.report(), [os.path.join(folder.name, f) for f in files]


def flydsl_file(what, jit, args, kwargs, arch):
    """The file of the one launch that the function makes."""
    launches, files = flydsl_launch(what, jit, args, kwargs, arch)
    if len(files) != 1:
        raise CommandError(f"inlay.{what}: {len(files)} launches, of {', '.join(sorted({launch.get('kernel', '') for launch in launches})) or 'none'}\n  hint   a function that launches one kernel")
    return files[0]
