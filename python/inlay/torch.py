"""The kernels as operators of torch, `torch.ops.inlay.*`: with shapes for tracing, so that torch.compile takes models that call them.

    >>> import inlay.torch                                     # or the first call with a tensor
    >>> torch.compile(lambda a, b: inlay.gemm(a, b), fullgraph=True)(a, b)

`options` of an operator is the text of the kernel's own options, `tile=64x64x32;waves=2x2`. There are no gradients.
"""
import torch

from . import _kernels


def text(options):
    """Options of a kernel as the operators take them."""
    return ";".join(f"{name}={value}" for name, value in options.items())


def _options(text):
    return dict(entry.split("=", 1) for entry in text.split(";") if entry)


@torch.library.custom_op("inlay::gemm", mutates_args=())
def gemm(a: torch.Tensor, b: torch.Tensor, arch: str = "gfx942", options: str = "") -> torch.Tensor:
    return _kernels.gemm_of(a, b, arch, _options(options))


@gemm.register_fake
def _(a, b, arch="gfx942", options=""):
    _kernels.gemm_shapes(a, b)
    return a.new_empty((a.shape[0], b.shape[1]))


@torch.library.custom_op("inlay::softmax", mutates_args=())
def softmax(x: torch.Tensor, arch: str = "gfx942", options: str = "") -> torch.Tensor:
    return _kernels.softmax_of(x, arch, _options(options))


@softmax.register_fake
def _(x, arch="gfx942", options=""):
    return x.new_empty(x.shape)


@torch.library.custom_op("inlay::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-5, arch: str = "gfx942", options: str = "") -> torch.Tensor:
    return _kernels.rms_norm_of(x, w, eps, arch, _options(options))


@rms_norm.register_fake
def _(x, w, eps=1e-5, arch="gfx942", options=""):
    _kernels.rms_norm_shapes(x, w)
    return x.new_empty(x.shape)


@torch.library.custom_op("inlay::flash_attention", mutates_args=())
def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, arch: str = "gfx942",
                    options: str = "") -> torch.Tensor:
    return _kernels.flash_attention_of(q, k, v, causal, arch, _options(options))


@flash_attention.register_fake
def _(q, k, v, causal=False, arch="gfx942", options=""):
    _kernels.flash_attention_shapes(q, k, v)
    return q.new_empty(q.shape)
