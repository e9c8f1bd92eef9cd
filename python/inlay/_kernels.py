"""Prebuilt kernels on the emulator, by name and as functions of arrays."""
from . import _inlay
from ._tools import CommandError, host, kernel_flags


def kernels(name=None, /):
    """Names of the prebuilt kernels; of one its options with their defaults and what they mean."""
    return _inlay.kernel_names() if name is None else _inlay.kernel_options(name)


def run_kernel(name, inputs, /, *, check="bounds,uninit,races", **options):
    """One launch of a prebuilt kernel on the emulator with your data: a dict of its outputs as bytes.

    `inputs` maps the kernel's buffers, capitals or not, to arrays of their exact bytes, rows as the kernel lays them out; what the sanitizers find is an
    error. `kernels(name)` has the options.

        >>> inlay.run_kernel("softmax", {"x": x}, rows=4, cols=1024, dtype="f32")["y"]
    """
    try:
        words = kernel_flags(options)
        names = {buffer.lower(): buffer for buffer, _, _ in _inlay.kernel_buffers(name, words)}
        out = _inlay.run_kernel(name, words, {names.get(k.lower(), k): _bytes(v) for k, v in inputs.items()}, check, False)
        return {k.lower(): v for k, v in out.items()}
    except (RuntimeError, ValueError) as e:
        raise CommandError(str(e)) from None


def _bytes(a):
    import numpy

    return a if isinstance(a, bytes) else numpy.ascontiguousarray(host(a)).tobytes()


def _element(a):
    """The kernel's name of the type of an array or tensor."""
    name = str(a.dtype).replace("torch.", "")
    names = {"float16": "f16", "float32": "f32", "bfloat16": "bf16"}
    if name not in names:
        raise TypeError(f"elements of {name}: float16, bfloat16 (torch) and float32 are taken")
    return names[name]


def _like(data, a, shape):
    """Bytes of an output as what the input was: a numpy array, or a tensor of torch."""
    import numpy

    if hasattr(a, "detach"):
        import torch

        return torch.frombuffer(bytearray(data), dtype=a.dtype).reshape(shape)
    return numpy.frombuffer(bytearray(data), dtype=a.dtype).reshape(shape)


def _only(outputs):
    return next(iter(outputs.values()))


def _is_tensor(a):
    """Whether it is a tensor of torch, which goes through torch's operator of the same name, so that torch.compile sees it."""
    return hasattr(a, "detach")


def gemm(a, b, /, *, arch="gfx942", **options):
    """a @ b, of matrices M x K and K x N of float16 or bfloat16, on the emulator.

    Sums are in float32; the kernel's tiles are `tile="64x64x32"` where the options do not say otherwise.
    """
    if _is_tensor(a):
        from . import torch

        return torch.gemm(a, b, arch, torch.text(options))
    return gemm_of(a, b, arch, options)


def gemm_shapes(a, b):
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0] or str(a.dtype) != str(b.dtype):
        raise ValueError(f"gemm of {tuple(a.shape)} {a.dtype} and {tuple(b.shape)} {b.dtype}: matrices M x K and K x N of one type")


def gemm_of(a, b, arch, options):
    import numpy

    gemm_shapes(a, b)
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    left, right = host(a), numpy.ascontiguousarray(host(b).T)
    if k % 8:  # the kernel moves 8 elements at a time; more zeros of K change no sum
        left, right = (numpy.pad(x, ((0, 0), (0, -k % 8))) for x in (left, right))
    out = run_kernel("gemm", {"a": left, "b": right}, m=m, n=n, k=left.shape[1], dtype=_element(a), arch=arch, **options)
    return _like(_only(out), a, (m, n))


def _rows(x):
    """Leading dimensions as one."""
    if len(x.shape) < 1:
        raise ValueError("a number has no rows")
    columns = x.shape[-1]
    rows = 1
    for n in x.shape[:-1]:
        rows *= n
    return rows, columns


def _row_options(columns, size):
    """How many work-items and vectors a row of that length takes."""
    vector = 16 // size if columns % (16 // size) == 0 else 1
    for threads in (64, 256, 1024):
        vectors = -(-columns // (threads * vector))
        if vectors * vector <= 32:
            return {"threads": threads, "vectors": vectors, "vector": vector}
    return {"threads": 1024, "vectors": max(1, 32 // vector), "vector": vector, "stream": True}


def softmax(x, /, *, arch="gfx942", **options):
    """softmax over the last dimension, on the emulator."""
    if _is_tensor(x):
        from . import torch

        return torch.softmax(x, arch, torch.text(options))
    return softmax_of(x, arch, options)


def softmax_of(x, arch, options):
    rows, columns = _rows(x)
    out = run_kernel("softmax", {"x": host(x)}, m=rows, n=columns, dtype=_element(x), arch=arch,
                     **{**_row_options(columns, host(x).itemsize), **options})
    return _like(_only(out), x, tuple(x.shape))


def rms_norm(x, w, /, *, eps=1e-5, arch="gfx942", **options):
    """x / sqrt(mean(x^2) + eps) * w over the last dimension, on the emulator."""
    if _is_tensor(x):
        from . import torch

        return torch.rms_norm(x, w, eps, arch, torch.text(options))
    return rms_norm_of(x, w, eps, arch, options)


def rms_norm_shapes(x, w):
    if tuple(w.shape) != tuple(x.shape[-1:]) or str(w.dtype) != str(x.dtype):
        raise ValueError(f"rms_norm: a weight of {tuple(w.shape)} {w.dtype} for rows of {tuple(x.shape[-1:])} {x.dtype}")


def rms_norm_of(x, w, eps, arch, options):
    rows, columns = _rows(x)
    rms_norm_shapes(x, w)
    out = run_kernel("rmsnorm", {"x": host(x), "w": host(w)}, m=rows, n=columns, dtype=_element(x), arch=arch, epsilon=repr(eps),
                     **{**_row_options(columns, host(x).itemsize), **options})
    return _like(_only(out), x, tuple(x.shape))


def flash_attention(q, k, v, /, *, causal=False, arch="gfx942", **options):
    """Attention of q, k, v of shape (batch, sequence, heads, head size) of float16 or bfloat16, on the emulator.

    Heads of k and v may be fewer: each is shared by as many heads of q.
    """
    if _is_tensor(q):
        from . import torch

        return torch.flash_attention(q, k, v, causal, arch, torch.text(options))
    return flash_attention_of(q, k, v, causal, arch, options)


def flash_attention_shapes(q, k, v):
    if len(q.shape) != 4 or len(k.shape) != 4 or tuple(k.shape) != tuple(v.shape) or q.shape[2] % k.shape[2] or q.shape[3] != k.shape[3]:
        raise ValueError(f"flash_attention of {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}: (batch, sequence, heads, head size)")


def flash_attention_of(q, k, v, causal, arch, options):
    flash_attention_shapes(q, k, v)
    batch, queries, heads, size = q.shape
    out = run_kernel("flash_attention", {"q": host(q), "k": host(k), "v": host(v)}, dtype=_element(q), arch=arch, batch=batch,
                     queries=queries, keys=k.shape[1], heads=heads, group=heads // k.shape[2], causal=int(causal),
                     **{"head-dim": size}, **options)
    return _like(out["o"], q, tuple(q.shape))
