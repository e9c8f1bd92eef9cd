"""Triton's own launches on the emulator: its HIP driver over libamdhip64 without a GPU, with CPU tensors of torch as device memory."""
import contextlib
import ctypes
import json
import os

from ._tools import CommandError, processor


def hip_library():
    """libamdhip64 on the emulator: of the folder INLAY_HIP_FOLDER, the package's own, or that of the build tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.environ.get("INLAY_HIP_FOLDER", ""), os.path.join(here, "lib", "inlay"), os.path.join(here, "..", "..", "lib", "inlay"),
               os.path.join(here, "..", "..", "..", "inlay")]
    for folder in folders:
        file = os.path.join(folder, "libamdhip64.so")
        if folder and os.path.exists(file):
            return os.path.realpath(file)
    raise CommandError("libamdhip64 of the emulator is not there\n  hint   name its folder with the environment variable INLAY_HIP_FOLDER")


class Emulator:
    """The device: what `inlay_hip.h` has, and host memory as device memory for as long as a launch takes."""

    def __init__(self, arch="gfx942", check="all", stress=0):
        self.arch = arch
        self._hip = ctypes.CDLL(hip_library())
        self._hip.inlay_hip_report.restype = self._hip.inlay_hip_error.restype = ctypes.c_char_p
        self._hip.hipHostRegister.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
        self._hip.hipHostUnregister.argtypes = [ctypes.c_void_p]
        self._checked(self._hip.inlay_hip_open(arch.encode(), check.encode(), stress, 0, None))

    def _checked(self, code):
        if code != 0:
            raise CommandError(self._hip.inlay_hip_error().decode())

    def report(self):
        """The launches since the last call: dicts with kernel, geometry and findings."""
        return json.loads(self._hip.inlay_hip_report().decode())

    @contextlib.contextmanager
    def holding(self, tensors):
        """The storages of these tensors are device memory within: bounds are those of what torch allocated."""
        ranges = {}
        for t in tensors:
            storage = t.untyped_storage() if hasattr(t, "untyped_storage") else None
            if storage is not None and storage.device.type == "cpu" and storage.nbytes():
                ranges[storage.data_ptr()] = max(storage.nbytes(), ranges.get(storage.data_ptr(), 0))
        held = []
        try:
            for at, size in ranges.items():
                self._checked(self._hip.hipHostRegister(at, size, 0))
                held.append(at)
            yield
        finally:
            for at in held:
                self._hip.hipHostUnregister(at)


def defects(launches):
    """(kind, text) of what is wrong with these launches, each once; notes are none."""
    out = {}
    for launch in launches:
        found = [(f["kind"], f["text"]) for f in launch.get("findings", []) if not f.get("note")]
        if launch.get("error"):
            found.append(("error", launch["error"]))
        if launch.get("stress"):
            found.append(("stress", "another schedule leaves other bits: " + launch["stress"]))
        for kind, text in found:
            where = f"{launch.get('kernel', 'kernel')} {launch.get('geometry', '')}".strip()
            out.setdefault((kind, text.split("\n  in ")[0]), f"{text.rstrip()}\n  launch {where}")
    return [(kind, text) for (kind, _), text in out.items()]


def _tensors(args):
    for a in args:
        if hasattr(a, "untyped_storage"):
            yield a
        elif isinstance(a, (tuple, list)):
            yield from _tensors(a)
        elif hasattr(a, "base"):  # a tensor descriptor
            yield from _tensors([a.base])


def activate(arch="gfx942", check="all", stress=0):
    """Makes the emulator Triton's device in this process, and torch's device "cuda" the processor. The Emulator.

    A benchmark of Triton's (`do_bench`, `perf_report`) measures nothing here: of an autotuned kernel the first configuration is taken.
    """
    try:
        import torch
        import triton
        from triton.backends.amd import driver as amd
        from triton.backends.compiler import GPUTarget
    except ImportError as e:
        raise CommandError(f"launches of Triton need triton and torch, which are not there ({e})\n  hint   pip install triton torch") from None
    arch = processor(arch)
    os.environ["TRITON_LIBHIP_PATH"] = hip_library()
    emulator = Emulator(arch, check, stress)

    def no_benchmark(fn, *args, quantiles=None, **kwargs):
        return [1.0] * len(quantiles) if quantiles else 1.0

    class Launcher(amd.HIPLauncher):
        def __call__(self, *args):
            with emulator.holding(_tensors(args)):
                super().__call__(*args)

    class Driver(amd.HIPDriver):
        def __init__(self):
            super().__init__()
            self.launcher_cls = Launcher
            properties = self.utils.get_device_properties
            self.utils.get_device_properties = lambda device: properties(device or 0)
            self.get_current_device = lambda: 0
            self.get_current_stream = lambda device=None: 0
            self.set_current_device = lambda device: None
            self.get_device_capability = lambda device=None: (9, 4 if arch == "gfx942" else 5)

        @staticmethod
        def is_active():
            return True

        def get_current_target(self):
            return GPUTarget("hip", arch, 64)

        def get_active_torch_device(self):
            return torch.device("cpu")

        def get_benchmarker(self):
            return no_benchmark

        def get_empty_cache_for_benchmark(self):
            return torch.empty(1)

    driver = Driver()
    triton.runtime.driver._default = driver
    triton.runtime.driver.set_active(driver)
    import triton.testing

    triton.testing.do_bench = triton.testing.do_bench_cudagraph = no_benchmark
    triton.testing.Mark.run = lambda self, *args, **kwargs: None
    _torch_on_processor(torch, driver)
    return emulator


def _torch_on_processor(torch, driver):
    from torch.overrides import TorchFunctionMode

    processor = torch.device("cpu")

    def place(value):
        if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            return processor
        if isinstance(value, torch.device) and value.type == "cuda":
            return processor
        return value

    class OnProcessor(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.Tensor.cuda:
                return args[0]
            if function == torch.Tensor.is_cuda.__get__:
                return True
            kwargs = {name: place(value) if name == "device" else value for name, value in (kwargs or {}).items()}
            if function in (torch.Tensor.to, torch.Tensor.new_tensor):
                args = tuple(place(a) for a in args)
            return function(*args, **kwargs)

    OnProcessor().__enter__()

    class Stream:
        cuda_stream = 0

        def __getattr__(self, name):
            return lambda *args, **kwargs: None

    here = {"is_available": True, "device_count": 1, "current_device": 0, "synchronize": None, "empty_cache": None, "set_device": None,
            "set_stream": None, "manual_seed": None, "manual_seed_all": None, "get_device_capability": driver.get_device_capability(),
            "get_device_name": "inlay's emulator"}
    for name, value in here.items():
        setattr(torch.cuda, name, lambda *args, _value=value, **kwargs: _value)
    torch.cuda.current_stream = torch.cuda.default_stream = lambda *args, **kwargs: Stream()
    torch.cuda.Stream = torch.cpu.Stream = lambda *args, **kwargs: Stream()
    torch.cuda.stream = torch.cuda.device = lambda *args, **kwargs: contextlib.nullcontext()
    torch.cpu.set_stream = lambda *args, **kwargs: None
