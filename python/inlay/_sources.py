"""What `inlay.check`, `time` and `validate` take beside Triton's kernels: code objects, HIP sources, folders of Triton's cache, FlyDSL's launches."""
import glob
import os
import shutil
import subprocess
import tempfile

from ._tools import CommandError, processor

_HIP = (".hip", ".cpp", ".cc", ".cxx", ".cu")


def is_file(a):
    return isinstance(a, (str, os.PathLike))


def is_flydsl(kernel):
    return type(kernel).__module__.split(".")[0] == "flydsl"


def code_object(file, arch):
    """The file that the command takes: of a folder of Triton's cache the launch that it describes, of HIP C++ what clang makes of it."""
    name = os.fspath(file)
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

    asked = (processor(arch), check, int(stress))
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
