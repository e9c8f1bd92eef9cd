"""Kernels that `inlay build` wrote, launched by their manifests: through HIP in torch's stream, or on the emulator (inlay_c.h)."""
import contextlib
import ctypes
import functools
import os
import threading

from ._tools import CommandError, check_elements, check_shape, checked, contract, processor, size_number

_OK = 0


@functools.cache
def _library():
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.join(here, "lib"), os.path.join(here, "..", "..", "lib"), os.path.join(here, "..", "..", "..")):
        file = os.path.join(folder, "libinlay_c.so.1")
        if os.path.exists(file):
            break
    else:
        raise CommandError("libinlay_c.so.1 is not beside the package")
    lib = ctypes.CDLL(os.path.realpath(file))
    pointer, handle, size, text = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_char_p
    sizes = ctypes.POINTER(ctypes.c_int64)
    for name, result, arguments in (
            ("error", text, []), ("package_load", ctypes.c_int, [text, handle]), ("package_free", None, [pointer]),
            ("device_open", ctypes.c_int, [text, ctypes.c_int, handle]), ("device_arch", text, [pointer]),
            ("device_free", None, [pointer]), ("malloc", ctypes.c_int, [pointer, size, handle]), ("free", ctypes.c_int, [pointer, pointer]),
            ("copy_in", ctypes.c_int, [pointer, pointer, pointer, size]), ("copy_out", ctypes.c_int, [pointer, pointer, pointer, size]),
            ("register", ctypes.c_int, [pointer, pointer, size]), ("unregister", ctypes.c_int, [pointer, pointer]), ("kernel_buffer_output", ctypes.c_int, [pointer, size]),
            ("synchronize", ctypes.c_int, [pointer]), ("kernel_open", ctypes.c_int, [pointer, pointer, text, handle]),
            ("kernel_free", None, [pointer]), ("kernel_buffers", size, [pointer]), ("kernel_sizes", size, [pointer]),
            ("kernel_buffer_name", text, [pointer, size]), ("kernel_buffer_type", text, [pointer, size]), ("kernel_size_name", text, [pointer, size]),
            ("kernel_buffer_bytes", ctypes.c_int, [pointer, size, sizes, size, ctypes.POINTER(size)]),
            ("kernel_buffer_shape", ctypes.c_int, [pointer, size, sizes, size, sizes, size, ctypes.POINTER(size)]),
            ("kernel_form", ctypes.c_int, [pointer, sizes, size, ctypes.POINTER(size), ctypes.POINTER(text)]),
            ("launch", ctypes.c_int, [pointer, handle, size, sizes, size, pointer])):
        function = getattr(lib, "inlay_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


def _need(status):
    if status != _OK:
        raise CommandError(_library().inlay_error().decode())


_emulators = False  # once there is one, libamdhip64 of this process is its own


@functools.cache
def _device(name):
    """Devices stay open: kernels and memory of the process belong to them."""
    global _emulators
    _emulators = _emulators or name.startswith("emulator")
    out = ctypes.c_void_p()
    kind, _, number = name.partition(":") if name.startswith("hip:") else (name, "", "")
    _need(_library().inlay_device_open(kind.encode(), int(number or 0), ctypes.byref(out)))
    return out


_ARCH = "gfx942"  # what is emulated if nobody says


def place(device="auto", arch=None, gpu=None):
    """The device that is meant, "hip", "hip:1" or "emulator:gfx942": the GPU of that number has the arrays, if one has.

    "auto" is what INLAY_DEVICE says, else the GPU where there is one, else the emulator.
    """
    if device == "auto" and gpu is not None:
        return f"hip:{gpu}" if gpu else "hip"
    if device == "auto":
        device = _auto(emulated=arch is not None)
    kind, _, which = device.partition(":")
    if kind == "emulator":
        return f"emulator:{processor(arch or which or _ARCH)}"
    if kind != "hip" or not (which or "0").isdigit():
        raise CommandError(f"device {device!r} is none\n  hint   'hip', 'hip:1', 'emulator', 'emulator:gfx950' or 'auto'")
    return device


def _auto(emulated=False):
    """What INLAY_DEVICE says, else the emulator where a processor to emulate was named, another emulator is open or there is no GPU."""
    named = os.environ.get("INLAY_DEVICE") or "auto"
    return named if named != "auto" else "emulator" if emulated or _emulators or not _gpu() else "hip"


@functools.cache
def _gpu():
    """Whether there is one."""
    try:
        _device("hip")
    except CommandError:
        return False
    return True


class LoadedKernel:
    """A built kernel on a device, which is called with its buffers in order and its sizes by name.

    `buffers` and `sizes` are their names, `arch` the processor.
    """

    def __init__(self, file, name, device, shapes=True):
        lib = self._lib = _library()
        self._emulated = device.startswith("emulator")
        self._device = _device(device)
        self.arch = lib.inlay_device_arch(self._device).decode()
        package, self._kernel = ctypes.c_void_p(), ctypes.c_void_p()
        _need(lib.inlay_package_load(os.fspath(file).encode(), ctypes.byref(package)))
        try:
            _need(lib.inlay_kernel_open(self._device, package, None if name is None else name.encode(), ctypes.byref(self._kernel)))
        finally:
            lib.inlay_package_free(package)
        self.buffers = [lib.inlay_kernel_buffer_name(self._kernel, i).decode() for i in range(lib.inlay_kernel_buffers(self._kernel))]
        self.sizes = [lib.inlay_kernel_size_name(self._kernel, i).decode() for i in range(lib.inlay_kernel_sizes(self._kernel))]
        self._types = [lib.inlay_kernel_buffer_type(self._kernel, i).decode() for i in range(len(self.buffers))]
        self._written = [lib.inlay_kernel_buffer_output(self._kernel, i) != 0 for i in range(len(self.buffers))]
        self._fitting = [set() for _ in self.buffers]  # of each buffer: types of arrays that were looked at
        self._pointers = (ctypes.c_void_p * len(self.buffers))()
        self._numbers = (ctypes.c_int64 * len(self.sizes))()
        self._asked = self._bytes = self._shapes = None
        self._contract = contract(file, name, self.arch)
        self._judges_shapes = shapes  # or who calls it has judged its arrays, and lets them lie as other ones

    def __del__(self):
        if getattr(self, "_kernel", None):
            self._lib.inlay_kernel_free(self._kernel)

    def __call__(self, *buffers, stream=None, **sizes):
        """Enqueues a launch. On HIP buffers are tensors of the device or addresses, and the stream is torch's current one, or `stream`;
        arrays of the host are copied there and outputs back. The emulator uses contiguous arrays where they lie. Outputs are written when the call returns.
        Sizes: all, or none for those that the kernel was built for. None stands for a buffer of which `bytes_for` says 0: that of another
        form. One thread at a time."""
        if sizes != self._asked:
            self._ask(sizes)
        if len(buffers) != len(self.buffers):
            raise TypeError(f"{len(buffers)} buffers, and the kernel takes {', '.join(self.buffers)}")
        if self._emulated:
            return self._of_host(buffers)
        pointers, needed = self._pointers, self._bytes
        for i, b in enumerate(buffers):
            if isinstance(b, int) or not needed[i] and b is None:
                pointers[i] = b
                continue
            if not getattr(b, "is_cuda", False):
                return self._on_host(buffers)
            if b.dtype not in self._fitting[i]:
                check_elements(self.buffers[i], b, self._types[i])
                self._fitting[i].add(b.dtype)
            if self._shapes[i] and b.shape != self._shapes[i]:
                check_shape(self.buffers[i], b, self._shapes[i])
            if b.nbytes < needed[i] and (b.nbytes or needed[i] > 1) or not b.is_contiguous():  # of nothing one byte is asked for
                raise ValueError(f"buffer {self.buffers[i]}: {b.nbytes} bytes, contiguous {b.is_contiguous()}; {needed[i]} are needed")
            pointers[i] = b.data_ptr()
            if stream is None:
                import torch

                stream = torch.cuda.current_stream(b.device).cuda_stream
        status = self._lib.inlay_launch(self._kernel, pointers, len(pointers), self._numbers, self._count, stream)
        if status != _OK:
            _need(status)

    def bytes_for(self, sizes):
        """The bytes that each buffer needs for these sizes. Errors: CommandError naming the size that the kernel does not take."""
        if sizes != self._asked:
            self._ask(sizes)
        return list(self._bytes)

    def why(self, **sizes):
        """Which form is launched for these sizes, of a kernel that has several (inlay build --for), and by which row of its table."""
        if sizes != self._asked:
            self._ask(sizes)
        text = ctypes.c_char_p()
        _need(self._lib.inlay_kernel_form(self._kernel, self._numbers, self._count, None, ctypes.byref(text)))
        return text.value.decode()

    def _ask(self, sizes):
        if sizes and set(sizes) != set(self.sizes):
            raise TypeError(f"sizes {', '.join(sizes)}; the kernel takes {', '.join(self.sizes) or 'none'}")
        for i, name in enumerate(self.sizes):
            self._numbers[i] = size_number(name, sizes.get(name, 0))
        self._count, out, needed = len(self.sizes) if sizes else 0, [], ctypes.c_size_t()
        for i in range(len(self.buffers)):
            _need(self._lib.inlay_kernel_buffer_bytes(self._kernel, i, self._numbers, self._count, ctypes.byref(needed)))
            out.append(needed.value)
        self._asked, self._bytes, self._shapes = dict(sizes), out, [self._shape(i) if self._judges_shapes else () for i in range(len(out))]

    def _shape(self, i):
        """The extents of a buffer whose elements lie row by row; of others none."""
        extents, dimensions = (ctypes.c_int64 * 16)(), ctypes.c_size_t()
        _need(self._lib.inlay_kernel_buffer_shape(self._kernel, i, self._numbers, self._count, extents, len(extents), ctypes.byref(dimensions)))
        return tuple(extents[: dimensions.value]) if dimensions.value <= len(extents) else ()

    def _on_host(self, buffers):
        """A launch on HIP with arrays of the host; all of them are, or it is a mistake."""
        there = [n for n, b in zip(self.buffers, buffers) if isinstance(b, int) or getattr(b, "is_cuda", False)]
        if there:
            mine = next(n for n, b in zip(self.buffers, buffers) if not isinstance(b, int) and not getattr(b, "is_cuda", False))
            raise ValueError(f"buffer {mine} is of the host, and {there[0]} of the GPU")
        self._of_host(buffers)

    def _of_host(self, buffers):
        import numpy

        used = [i for i in range(len(buffers)) if self._bytes[i]]
        for i in range(len(buffers)):
            self._pointers[i] = None
        judged = [(self.buffers[i], self._types[i], self._shapes[i], self._written[i], buffers[i]) for i in used]
        arrays = dict(zip(used, checked(judged, self._contract.apart, kernel=self._contract.made)))
        for i, a in arrays.items():
            if a.nbytes != self._bytes[i] and (a.nbytes or self._bytes[i] > 1):
                raise ValueError(f"buffer {self.buffers[i]}: {a.nbytes} bytes; {self._bytes[i]} are needed")
        lib, copies = self._lib, []
        there = [a for a in arrays.values() if a.flags.c_contiguous and a.ctypes.data % 4 == 0] if self._emulated else []
        with _in_place(self._device, [(a.ctypes.data, a.ctypes.data + a.nbytes) for a in there]) as ranges:
            def lies(a):
                return a.flags.c_contiguous and any(first <= a.ctypes.data and a.ctypes.data + a.nbytes <= last for first, last in ranges)

            if not self._contract.apart and not all(map(lies, arrays.values())):
                checked(judged)  # what is copied shares nothing
            try:
                for i, a in arrays.items():
                    begin, at = a.ctypes.data, ctypes.c_void_p()
                    if lies(a):
                        self._pointers[i] = begin
                        continue
                    data = a.copy(order="C")
                    _need(lib.inlay_malloc(self._device, max(a.nbytes, 1), ctypes.byref(at)))
                    copies.append((i, a, data, at))
                    _need(lib.inlay_copy_in(self._device, at, data.ctypes.data, a.nbytes))
                    self._pointers[i] = at.value
                _need(lib.inlay_launch(self._kernel, self._pointers, len(self.buffers), self._numbers, self._count, None))
                _need(lib.inlay_synchronize(self._device))
                for i, a, data, at in copies:
                    if self._written[i]:
                        back = numpy.empty_like(data)
                        _need(lib.inlay_copy_out(self._device, back.ctypes.data, at, a.nbytes))
                        a[...] = back
            finally:
                for *_, at in copies:
                    lib.inlay_free(self._device, at)


_ours = {}  # begin of memory of the host that is the emulator's: its end, and how many launches use it
_ours_lock = threading.Lock()


@contextlib.contextmanager
def _in_place(device, ranges):
    """Memory of the host that launches use where it lies, within. Gives those ranges that are: not what others have registered in part."""
    together = []  # inputs may share memory
    for begin, end in sorted(ranges):
        if together and begin < together[-1][1]:
            together[-1] = together[-1][0], max(end, together[-1][1])
        else:
            together.append((begin, end))
    held = []
    try:
        with _ours_lock:
            for begin, end in together:
                if begin in _ours and end <= _ours[begin][0]:
                    _ours[begin][1] += 1
                elif _library().inlay_register(device, begin, end - begin) == _OK:
                    _ours[begin] = [end, 1]
                else:
                    continue
                held.append((begin, end))
        yield held
    finally:
        with _ours_lock:
            for begin, _ in held:
                _ours[begin][1] -= 1
                if not _ours[begin][1]:
                    del _ours[begin]
                    _library().inlay_unregister(device, begin)


def load(file, kernel=None, *, device="auto"):
    """A kernel that `inlay.build` or `inlay bundle` wrote, ready to be launched: a LoadedKernel.

    `device`: "hip", the GPU, or "hip:1"; "emulator" or "emulator:gfx950"; "auto": what INLAY_DEVICE says, else the GPU where there is one,
    else the emulator.

        >>> softmax = inlay.load("built/softmax.json")
        >>> softmax(y, x, m=4, n=1024)
    """
    if device == "auto":
        device = _auto()
    return LoadedKernel(file, kernel, device)
