"""torch.cuda's streams, events and graphs on the emulator: launches by libamdhip64, which captures and replays them, and between them what torch does itself.

In a capture nothing of the device happens, as on a GPU: launches become nodes of HIP's graph, and what torch computes on the processor a node that
computes it again, into the same tensors. What a capture changed meanwhile is put back.
"""
import contextlib
import ctypes
import threading

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def install(torch, emulator):
    """Makes them torch's."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_map

    hip = emulator._hip
    handle, pointer = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    for name, arguments in (("hipStreamCreate", [pointer]), ("hipStreamSynchronize", [handle]), ("hipStreamWaitEvent", [handle, handle, ctypes.c_uint]),
                            ("hipStreamBeginCapture", [handle, ctypes.c_int]), ("hipStreamEndCapture", [handle, pointer]),
                            ("hipStreamIsCapturing", [handle, ctypes.POINTER(ctypes.c_int)]), ("hipEventCreate", [pointer]), ("hipEventDestroy", [handle]),
                            ("hipEventRecord", [handle, handle]), ("hipGraphInstantiate", [pointer, handle, pointer, ctypes.c_char_p, ctypes.c_size_t]),
                            ("hipGraphLaunch", [handle, handle]), ("hipGraphDestroy", [handle]), ("hipGraphExecDestroy", [handle]),
                            ("hipLaunchHostFunc", [handle, _CALLBACK, handle])):
        getattr(hip, name).argtypes = arguments
    hip.hipGetErrorString.restype = ctypes.c_char_p

    def need(code):
        if code != 0:
            raise RuntimeError(hip.hipGetErrorString(code).decode())

    def made(create, *more):
        out = ctypes.c_void_p()
        need(create(ctypes.byref(out), *more))
        return out.value

    here = threading.local()  # its streams, the current one last

    def current_stream(device=None):
        return getattr(here, "streams", None) and here.streams[-1] or standard

    pool, taken = [], iter(range(1 << 62))  # torch's own are 32, too, taken in turn

    class Stream:
        def __init__(self, device=None, priority=0, stream_ptr=None, **kwargs):
            self.device, self.device_index, self.priority = torch.device("cpu"), 0, priority
            if stream_ptr is not None:
                self.cuda_stream = stream_ptr
                return
            number = next(taken) % 32
            if number == len(pool):
                pool.append(made(hip.hipStreamCreate))
            self.cuda_stream = pool[number]

        stream_id = property(lambda self: self.cuda_stream)

        def synchronize(self):
            need(hip.hipStreamSynchronize(self.cuda_stream))

        def query(self):
            return True

        def wait_event(self, event):
            event.wait(self)

        def wait_stream(self, stream):
            self.wait_event(stream.record_event())

        def record_event(self, event=None):
            event = Event() if event is None else event
            event.record(self)
            return event

        def __enter__(self):
            here.streams = [*getattr(here, "streams", ()), self]
            return self

        def __exit__(self, *error):
            here.streams = here.streams[:-1]

        def __eq__(self, other):
            return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

        def __hash__(self):
            return hash(self.cuda_stream)

        def __getattr__(self, name):
            if name.startswith("_"):  # what libraries mark their own streams by
                raise AttributeError(name)
            return lambda *args, **kwargs: None

    class Event:
        """Time does not pass on the emulator."""

        def __init__(self, *args, **kwargs):
            self._event = made(hip.hipEventCreate)

        def __del__(self):
            hip.hipEventDestroy(self._event)

        def record(self, stream=None):
            need(hip.hipEventRecord(self._event, (stream or current_stream()).cuda_stream))

        def wait(self, stream=None):
            need(hip.hipStreamWaitEvent((stream or current_stream()).cuda_stream, self._event, 0))

        def synchronize(self):
            pass

        def query(self):
            return True

        def elapsed_time(self, end):
            return 1.0

    standard = Stream(stream_ptr=0)

    def is_capturing(stream=None):
        out = ctypes.c_int()
        need(hip.hipStreamIsCapturing((stream or current_stream()).cuda_stream, ctypes.byref(out)))
        return out.value != 0

    def refuse_in_capture(*args, **kwargs):
        if is_capturing():
            raise RuntimeError("operation not permitted when stream is capturing: the host waits for the device")

    class Recorder(TorchDispatchMode):
        """Makes what torch computes a node of the graph."""

        def __init__(self, graph):
            super().__init__()
            self.graph, self.saved, self.own = graph, {}, set()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs, schema = kwargs or {}, function._schema
            if not is_capturing():
                return function(*args, **kwargs)
            if schema.name in ("aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::nonzero"):
                raise RuntimeError(f"operation not permitted when stream is capturing: {schema.name} waits for a value of the device")
            given = dict(zip((a.name for a in schema.arguments), args)) | kwargs
            changed = [t for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write for t in tree_flatten(given.get(a.name))[0]]
            for t in changed:
                self.keep(t)
            launches = len(self.graph._names)
            out = function(*args, **kwargs)
            if len(self.graph._names) > launches:
                raise RuntimeError(f"{schema.name} launches kernels itself, which the emulator does not capture\n  hint   the launches outside of an operator of torch")
            whole = out if len(schema.returns) != 1 else (out,)
            new = [t for r, value in zip(schema.returns, whole or ()) if r.alias_info is None for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]
            self.own.update(t.untyped_storage().data_ptr() for t in new)
            self.graph._tensors += new
            if not changed and (not new or schema.name in ("aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided")):
                return out
            self.graph._node(function, *tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, (args, kwargs, new)))
            return out

        def keep(self, tensor):
            """What lies there before the capture; of a tensor that it has made itself nothing."""
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in self.own and storage.data_ptr() not in self.saved:
                    self.saved[storage.data_ptr()] = storage, storage.clone()

        def put_back(self):
            for storage, before in self.saved.values():
                storage.copy_(before)

    class CUDAGraph:
        def __init__(self, keep_graph=False):
            self._clear()

        def _clear(self):
            self._exec = self._recorder = self._stream = self._failed = None
            self._tensors, self._names, self._callbacks = [], [], []

        def holds(self, tensors, names):
            """A launch of the capture."""
            self._tensors += tensors
            self._names += names

        def _node(self, function, args, kwargs, new):
            def compute(_):
                try:
                    with torch.no_grad():
                        out = [t for t in tree_flatten(function(*args, **kwargs))[0] if isinstance(t, torch.Tensor)] if new else function(*args, **kwargs)
                        for to, value in zip(new, out if new else ()):
                            to.copy_(value)
                except BaseException as e:
                    self._failed = self._failed or e

            callback = _CALLBACK(compute)
            self._callbacks.append(callback)
            need(hip.hipLaunchHostFunc(current_stream().cuda_stream, callback, None))

        def capture_begin(self, pool=None, capture_error_mode="global", **kwargs):
            if emulator.capture is not None:
                raise RuntimeError("a capture is under way: one at a time")
            stream = current_stream()
            if not stream.cuda_stream:
                raise RuntimeError("CUDA graphs must be captured on a non-default stream: with torch.cuda.graph(..), or torch.cuda.stream(torch.cuda.Stream())")
            self.reset()
            need(hip.hipStreamBeginCapture(stream.cuda_stream, 0))
            self._stream, self._recorder, emulator.capture = stream, Recorder(self), self
            self._recorder.__enter__()

        def capture_end(self):
            if self._recorder is None:
                raise RuntimeError("capture_end without capture_begin")
            recorder, self._recorder, emulator.capture = self._recorder, None, None
            recorder.__exit__(None, None, None)
            graph = made(lambda out: hip.hipStreamEndCapture(self._stream.cuda_stream, out))
            recorder.put_back()
            self._exec = made(hip.hipGraphInstantiate, graph, None, None, 0)
            need(hip.hipGraphDestroy(graph))

        def instantiate(self):
            pass

        def replay(self):
            if self._exec is None:
                raise RuntimeError("replay of a graph that was not captured")
            with emulator.holding(self._tensors, *self._names):
                code = hip.hipGraphLaunch(self._exec, current_stream().cuda_stream)
            failed, self._failed = self._failed, None
            if failed is not None:
                raise failed
            need(code)

        def reset(self):
            if self._exec is not None:
                hip.hipGraphExecDestroy(self._exec)
            self._clear()

        def pool(self):
            return 0, 0

        def enable_debug_mode(self):
            pass

        def debug_dump(self, debug_path, **kwargs):
            pass

        def __del__(self):
            self.reset()

    class graph:  # noqa: N801
        """torch.cuda.graph."""

        default_capture_stream = None

        def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global", **kwargs):
            if stream is None:
                graph.default_capture_stream = stream = graph.default_capture_stream or Stream()
            self.cuda_graph, self.capture_stream = cuda_graph, stream

        def __enter__(self):
            self.capture_stream.__enter__()
            try:
                self.cuda_graph.capture_begin()
            except BaseException:
                self.capture_stream.__exit__()
                raise

        def __exit__(self, *error):
            try:
                self.cuda_graph.capture_end()
            finally:
                self.capture_stream.__exit__()

    def stream_context(stream):
        return contextlib.nullcontext() if stream is None else stream

    def set_stream(stream):
        here.streams = [stream]

    cuda = torch.cuda
    cuda.Stream = torch.cpu.Stream = Stream
    cuda.ExternalStream = lambda stream_ptr, device=None, **kwargs: Stream(stream_ptr=stream_ptr)
    cuda.Event, cuda.current_stream, cuda.stream, cuda.set_stream = Event, current_stream, stream_context, set_stream
    cuda.default_stream = lambda device=None: standard
    cuda.synchronize = refuse_in_capture
    torch._C._cuda_getCurrentRawStream = lambda device=None: current_stream().cuda_stream
    cuda.CUDAGraph = cuda.graphs.CUDAGraph = CUDAGraph
    cuda.graph = cuda.graphs.graph = graph
    cuda.is_current_stream_capturing = cuda.graphs.is_current_stream_capturing = is_capturing
    cuda.graph_pool_handle = cuda.graphs.graph_pool_handle = lambda: (0, 0)
    return current_stream
