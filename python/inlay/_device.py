"""Launches of Triton and FlyDSL on the emulator: their HIP calls over libamdhip64 without a GPU, with CPU tensors of torch as device memory."""
import atexit
import collections
import contextlib
import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import threading
import types

from . import _graphs
from ._tools import CommandError, processor, stress_count


def hip_library():
    """libamdhip64 on the emulator: that of `inlay run-with`, of the folder INLAY_HIP_FOLDER, the package's own, or that of the build tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.dirname(os.environ.get("INLAY_HIP_LIBRARY", "")), os.environ.get("INLAY_HIP_FOLDER", ""), os.path.join(here, "lib", "inlay"), os.path.join(here, "..", "..", "lib", "inlay"),
               os.path.join(here, "..", "..", "..", "inlay")]
    for folder in folders:
        file = os.path.join(folder, "libamdhip64.so")
        if folder and os.path.exists(file):
            return os.path.realpath(file)
    raise CommandError("libamdhip64 of the emulator is not there\n  hint   name its folder with the environment variable INLAY_HIP_FOLDER")


class Emulator:
    """The device: what `inlay_hip.h` has, and host memory as device memory for as long as a launch takes.

    `opened` is for a process that `inlay run-with` started: the device is there, and its report is that of the command.
    """

    def __init__(self, arch="gfx942", check="all", stress=0, opened=False, dump=None):
        self.arch, stress = arch, stress_count(stress)
        self._hip = ctypes.CDLL(hip_library())
        self._hip.inlay_hip_report.restype = self._hip.inlay_hip_error.restype = ctypes.c_char_p
        self._hip.hipHostRegister.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
        self._hip.hipHostUnregister.argtypes = [ctypes.c_void_p]
        self._lock = threading.Lock()  # launches of several threads
        self._held = collections.Counter()  # address of a storage: launches under way that use it
        self._pointed = collections.deque(maxlen=256)  # tensors whose address the program took: it may be an argument by itself
        self.capture = None  # the graph that is being captured
        self.profiles = []  # names of launches, a list for each of torch's profilers that is on
        if not opened:
            self._checked(self._hip.inlay_hip_open(arch.encode(), check.encode(), stress, 0, dump and dump.encode()))

    def _checked(self, code):
        if code != 0:
            raise CommandError(self._hip.inlay_hip_error().decode())

    def report(self):
        """The launches since the last call: dicts with kernel, geometry and findings."""
        self._pointed.clear()
        return json.loads(self._hip.inlay_hip_report().decode())

    def points_to(self, tensor):
        """Somebody took the tensor's address."""
        self._pointed.append(tensor)

    @contextlib.contextmanager
    def holding(self, tensors, *names):
        """The storages of these tensors are device memory within, where kernels of these names are launched: bounds are those of what torch allocated."""
        ranges = {}
        tensors = [*tensors, *list(self._pointed)]
        if self.capture is not None:
            self.capture.holds(tensors, names)
        for t in tensors:
            storage = t.untyped_storage() if hasattr(t, "untyped_storage") else None
            if storage is not None and storage.device.type == "cpu" and storage.nbytes():
                ranges[storage.data_ptr()] = max(storage.nbytes(), ranges.get(storage.data_ptr(), 0))
        held = []
        try:
            with self._lock:
                for at, size in ranges.items():
                    if not self._held[at]:
                        self._checked(self._hip.hipHostRegister(at, size, 0x80000000))  # INLAY_HIP_LAUNCHES_ONLY
                    self._held[at] += 1
                    held.append(at)
            yield
            for launches in self.profiles if self.capture is None else ():
                launches.extend(names)
        finally:
            with self._lock:
                for at in held:
                    self._held[at] -= 1
                    if not self._held[at]:
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
        elif isinstance(a, dict):
            yield from _tensors(a.values())
        elif hasattr(a, "base"):  # a tensor descriptor of Triton's
            yield from _tensors([a.base])
        elif hasattr(a, "torch_tensor"):  # an argument of FlyDSL's
            yield a.torch_tensor


def activate(arch="gfx942", check="all", stress=0):
    """Makes the emulator the device of Triton and FlyDSL in this process, and torch's device "cuda" the processor. The Emulator.

    A benchmark of Triton's (`do_bench`, `perf_report`) measures nothing here: of an autotuned kernel the first configuration is taken.
    """
    there = [name for name in ("torch", "triton", "flydsl") if importlib.util.find_spec(name)]
    if "torch" not in there or len(there) < 2:
        raise CommandError("launches need torch, and triton or flydsl, of which there is " + (", ".join(there) or "none") + "\n  hint   pip install torch triton")
    arch = processor(arch)
    emulator = Emulator(arch, check, stress)
    for name in there:
        adapt(name, emulator)
    return emulator


def adapt(name, emulator):
    """Makes the emulator the device of torch, triton or flydsl."""
    {"torch": _torch_on_processor, "triton": _triton, "flydsl": _flydsl}[name](emulator)


def _flydsl(emulator):
    os.environ["FLYDSL_GPU_ARCH"] = emulator.arch
    os.environ.setdefault("FLYDSL_DEBUG_ENABLE_DEBUG_INFO", "1")  # lines of Python in the code object, which findings name
    if "ROCM_PATH" not in os.environ and not os.path.exists("/opt/rocm/llvm/bin/ld.lld"):
        # FlyDSL's compiler links by the ld.lld that lies there, before and after it is imported.
        linker = next(filter(None, map(shutil.which, (*(f"ld.lld-{n}" for n in range(23, 17, -1)), "ld.lld"))), None)
        if linker is None:
            raise CommandError("FlyDSL links with ld.lld, which is not there\n  hint   apt install lld, or ROCM_PATH: the folder of llvm/bin/ld.lld")
        folder = tempfile.mkdtemp(prefix="inlay-lld-")
        atexit.register(shutil.rmtree, folder, True)
        os.makedirs(folder + "/llvm/bin")
        os.symlink(linker, folder + "/llvm/bin/ld.lld")
        # ROCm's device libraries, for kernels that print or call mathematical functions.
        triton = importlib.util.find_spec("triton")
        places = [*(os.path.join(p, "backends/amd/lib") for p in (triton.submodule_search_locations if triton else ())),
                  "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"]
        for place in places:
            if os.path.exists(place + "/ockl.bc"):
                os.mkdir(folder + "/amdgcn")
                os.symlink(place, folder + "/amdgcn/bitcode")
                break
        os.environ["ROCM_PATH"] = folder
    # FlyDSL's runtime asks for the library by a version's name.
    for version in (5, 6, 7):
        ctypes.CDLL(f"{hip_library()}.{version}", ctypes.RTLD_GLOBAL)
    import flydsl.compiler.jit_function as jit

    def holds(call):
        def held(self, *args, **kwargs):
            with emulator.holding(_tensors([*args, *kwargs.values()]), getattr(getattr(self, "func", None), "__name__", "launch")):
                return call(self, *args, **kwargs)

        return held

    for made, names in ((jit.JitFunction, ("_compile_or_execute", "__call__")), (getattr(jit, "CompiledFunction", None), ("__call__",))):
        name = next((n for n in names if hasattr(made, n)), None)  # the first is also flyc.compile's, which launches
        if made is not None and name is not None:
            setattr(made, name, holds(getattr(made, name)))
    # A tensor of the processor is one of the device, not one that only says what to compile for.
    placeholder, live = getattr(jit, "_is_compile_placeholder", None), getattr(jit, "_has_live_device_argument", None)
    if placeholder is not None and live is not None:
        def of_device(value):
            return next(_tensors([value]), None) is not None

        jit._is_compile_placeholder = lambda value, **more: not of_device(value) and placeholder(value, **more)
        jit._has_live_device_argument = lambda value: of_device(value) or live(value)


def _triton(emulator):
    import torch
    import triton
    from triton.backends.amd import driver as amd
    from triton.backends.compiler import GPUTarget

    arch = emulator.arch
    os.environ["TRITON_LIBHIP_PATH"] = hip_library()

    def no_benchmark(fn, *args, quantiles=None, **kwargs):
        return [1.0] * len(quantiles) if quantiles else 1.0

    class Launcher(amd.HIPLauncher):
        def __init__(self, src, metadata):
            super().__init__(src, metadata)
            self.name = getattr(metadata, "name", "launch")

        def __call__(self, *args):
            with emulator.holding(_tensors(args), self.name):
                super().__call__(*args)

    class Driver(amd.HIPDriver):
        def __init__(self):
            super().__init__()
            self.launcher_cls = Launcher
            properties = self.utils.get_device_properties
            self.utils.get_device_properties = lambda device: properties(device or 0)
            self.get_current_device = lambda: 0
            self.get_current_stream = lambda device=None: torch.cuda.current_stream().cuda_stream
            self.set_current_device = lambda device: None
            self.get_device_capability = lambda device=None: _capability(arch)

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

    try:
        driver = Driver()
    except (subprocess.CalledProcessError, RuntimeError) as e:
        raise CommandError(f"Triton does not compile its driver: {e}\n  hint   a C compiler and Python's headers: apt install gcc libc6-dev python3-dev, or CC") from e
    triton.runtime.driver._default = driver
    triton.runtime.driver.set_active(driver)
    import triton.testing

    triton.testing.do_bench = triton.testing.do_bench_cudagraph = no_benchmark
    triton.testing.Mark.run = lambda self, *args, **kwargs: None


def _capability(arch):
    """(9, 4) of gfx942."""
    return int(arch[3:-2]), int(arch[-2], 16)


def _torch_on_processor(emulator):
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import DeviceContext

    processor = torch.device("cpu")

    def place(value):
        if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            return processor
        if isinstance(value, torch.device) and value.type == "cuda":
            return processor
        return value

    def numbered(value):
        """A number is a device of the program's, too."""
        return processor if type(value) is int else place(value)

    def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
        """Summed in f32, as the device does it: the processor sums gradients of f16 in f16."""
        wide = [t if t is None or t.dtype not in (torch.float16, torch.bfloat16) else t.float() for t in (input, weight, bias)]
        return torch.layer_norm(wide[0], normalized_shape, wide[1], wide[2], eps).to(input.dtype)

    class OnProcessor(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
                return args[0]
            if function == torch.Tensor.is_cuda.__get__:
                return True
            if function in (torch.Tensor.data_ptr, torch.Tensor.__dlpack__):
                emulator.points_to(args[0])
            if function is torch.nn.functional.layer_norm:
                return layer_norm(*args, **(kwargs or {}))
            kwargs = {name: numbered(value) if name == "device" else value for name, value in (kwargs or {}).items() if name != "pin_memory"}
            if function is torch.Tensor.to:
                args = (args[0], *(numbered(a) for a in args[1:2]), *map(place, args[2:]))
            elif function is torch.Tensor.new_tensor:
                args = tuple(place(a) for a in args)
            elif function is torch.Tensor.type and len(args) > 1 and isinstance(args[1], str):
                args = (args[0], args[1].replace("torch.cuda.", "torch."), *args[2:])
            return function(*args, **kwargs)

    OnProcessor().__enter__()
    run_backward = getattr(torch.autograd, "_engine_run_backward", None)

    def run_backward_on_processor(*args, **kwargs):
        """A mode is off within the call that it sees; gradients are functions of the program's own."""
        with OnProcessor():
            return run_backward(*args, **kwargs)

    if run_backward is not None:
        torch.autograd._engine_run_backward = run_backward_on_processor
    start = threading.Thread.start

    def start_on_processor(thread):
        """Modes of torch are of one thread; those that are started now have this one, too."""
        run = thread.run

        def run_on_processor():
            with OnProcessor():
                run()

        thread.run = run_on_processor
        start(thread)

    threading.Thread.start = start_on_processor

    units = ctypes.c_int()
    emulator._hip.hipDeviceGetAttribute(ctypes.byref(units), 63, 0)  # hipDeviceAttributeMultiprocessorCount
    version = ctypes.c_int()
    emulator._hip.hipRuntimeGetVersion(ctypes.byref(version))
    torch.version.hip = f"{version.value // 10**7}.{version.value // 10**5 % 100}.{version.value % 10**5}"  # by which programs tell a torch for AMD's processors
    torch.version.cuda = None
    major, minor = _capability(emulator.arch)
    properties = types.SimpleNamespace(name="inlay's emulator", gcnArchName=emulator.arch, multi_processor_count=units.value, warp_size=64,
                                       major=major, minor=minor, total_memory=192 << 30, L2_cache_size=4 << 20)
    here = {"is_available": True, "device_count": 1, "current_device": 0, "empty_cache": None, "set_device": None,
            "get_device_capability": (major, minor), "is_initialized": True,
            "get_device_name": properties.name, "get_device_properties": properties, "_sleep": None,
            "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0, "memory_stats": {},
            "mem_get_info": (properties.total_memory, properties.total_memory), "reset_peak_memory_stats": None, "reset_max_memory_allocated": None, "reset_max_memory_cached": None,
            "reset_accumulated_memory_stats": None, "memory_summary": "", "memory_snapshot": [], "can_device_access_peer": True, "utilization": 0, "get_arch_list": [emulator.arch], "init": None, "_lazy_init": None}
    for name, value in here.items():
        setattr(torch.cuda, name, lambda *args, _value=value, **kwargs: _value)
    class Generator(torch.Generator):
        def __new__(cls, device=None):
            return super().__new__(cls, place(device) if device is not None else "cpu")

    torch.Generator = Generator
    if hasattr(torch, "accelerator"):  # as of a torch without a GPU: torch.compile is for the processor
        torch.accelerator.is_available = lambda: False
    # Random numbers of the device are those of the processor.
    random = torch.default_generator
    torch.cuda.manual_seed = torch.cuda.manual_seed_all = lambda seed: random.manual_seed(seed) and None
    torch.cuda.initial_seed, torch.cuda.seed, torch.cuda.seed_all = random.initial_seed, random.seed, random.seed
    torch.cuda.get_rng_state = lambda device=None: random.get_state()
    torch.cuda.set_rng_state = lambda state, device=None: random.set_state(state) and None
    torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all = lambda: [random.get_state()], lambda states: random.set_state(states[0]) and None

    class device(contextlib.nullcontext):  # noqa: N801
        def __init__(self, device=None):
            super().__init__()

    torch.cuda.device = torch.cuda.device_of = device
    torch.serialization.register_package(1, lambda storage: None, lambda storage, location: storage if location.startswith("cuda") else None)  # of torch.load
    in_device = DeviceContext.__init__  # of torch.set_default_device and `with torch.device(..)`
    DeviceContext.__init__ = lambda self, where: in_device(self, place(where))
    torch.cpu.set_stream = lambda *args, **kwargs: None
    _graphs.install(torch, emulator)
    _profiler(emulator)


def _profiler(emulator):
    """torch's profiler has an event of the device for each launch, of one microsecond: a benchmark that divides by the time goes on."""
    import torch.profiler
    from torch.autograd import DeviceType

    made = torch.profiler.profile
    start, stop, events = made.start, made.stop, made.events

    def started(self):
        self._inlay_launches = []
        emulator.profiles.append(self._inlay_launches)
        start(self)

    def stopped(self):
        stop(self)
        emulator.profiles[:] = [p for p in emulator.profiles if p is not self._inlay_launches]

    def with_launches(self):
        return [*events(self), *(types.SimpleNamespace(name=name, device_type=DeviceType.CUDA, device_index=0, self_cpu_time_total=0.0, cpu_time_total=0.0,
                                                       self_device_time_total=1.0, device_time_total=1.0) for name in self._inlay_launches)]

    made.start, made.stop, made.events = started, stopped, with_launches
