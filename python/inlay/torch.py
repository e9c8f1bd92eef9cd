"""The kernels as operators of torch, `torch.ops.inlay.*`: with shapes for tracing and with gradients, so that models that call them are
trained, and compiled by torch.compile.

    >>> import inlay.torch                                     # or the first call with a tensor
    >>> torch.compile(lambda a, b: inlay.gemm(a, b), fullgraph=True)(a, b)

They run where their tensors are: on the GPU in torch's current stream, also while a graph is captured; on the host as `inlay.gemm` says. `options`
of an operator is the text of the kernel's own options, `tile=64x64x32;waves=2x2`; `device` and `arch` are texts, empty for "auto".
"""
from typing import Optional

import torch

from . import _kernels
from ._tools import kernel_flags


def texts(device, arch, options):
    """device, arch and the options of a kernel as the operators take them."""
    return device, arch or "", ";".join(f"{name}={value}" for name, value in kernel_flags(options).items())


def _options(text):
    return dict(entry.split("=", 1) for entry in text.split(";") if entry)


def _where(device, arch, options):
    return device or "auto", arch or None, _options(options)


# Options that say how a kernel computes, and not what: a gradient does not depend on them.
_FORM = {
    "gemm": {"tile", "waves", "mfma", "direct-to-lds", "direct-to-vgpr", "stages", "n-multiple", "tile-order", "stagger", "pingpong", "split",
             "split-k-fixup", "stream-k-workgroups", "deterministic", "pin", "pipeline"},
    "softmax": {"threads", "vectors", "vector", "stream"},
    "rms_norm": {"threads", "vectors", "vector", "stream", "epsilon"},  # of which the backward has epsilon too
    "flash_attention": {"tile-q", "tile-k", "waves"},
}


def _keep_where(ctx, where):
    ctx.where, ctx.options = where[:2], where[2] if len(where) > 2 else ""


def _same_function(name, ctx):
    """The backward is that of the function without options: refuses a gradient where one of them changes what was computed."""
    others = [f"{option}={value}" for option, value in _options(ctx.options).items() if option.replace("_", "-") not in _FORM[name]]
    if others:
        raise RuntimeError(f"inlay.{name}: there is no gradient of a call with {', '.join(others)}\n"
                           "  hint   the call without it, or with detached tensors where no gradient is wanted")


@torch.library.custom_op("inlay::gemm", mutates_args=())
def gemm(a: torch.Tensor, b: torch.Tensor, device: str = "", arch: str = "", options: str = "", c: Optional[torch.Tensor] = None,
         alpha: float = 1.0, beta: float = 1.0, bias: Optional[torch.Tensor] = None, row_bias: Optional[torch.Tensor] = None,
         activation: str = "", residual: Optional[torch.Tensor] = None, scale_a: Optional[torch.Tensor] = None,
         scale_b: Optional[torch.Tensor] = None) -> torch.Tensor:
    return _kernels.gemm_of(a, b, *_where(device, arch, options), c, alpha, beta, bias, row_bias, activation, residual, scale_a, scale_b)


@gemm.register_fake
def _(a, b, device="", arch="", options="", c=None, alpha=1.0, beta=1.0, bias=None, row_bias=None, activation="", residual=None, scale_a=None, scale_b=None):
    _kernels.gemm_shapes(a, b, _options(options), c, beta, bias, row_bias, activation, residual, scale_a, scale_b)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_kernels.gemm_type(a, _options(options), scale_a is not None))


def _keep_gemm(ctx, inputs, output):
    a, b, *where, c, ctx.alpha, ctx.beta, bias, row_bias, ctx.activation, _, ctx.scale, _ = inputs
    ctx.save_for_backward(a, b, *((c, bias, row_bias) if ctx.activation else ()))
    ctx.types = [None if x is None else x.dtype for x in (bias, row_bias)]
    _keep_where(ctx, where)


def _before_activation(ctx, dy):
    """The gradient of what the activation takes, which is computed again, in float32."""
    if not ctx.activation:
        return dy
    a, b, c, bias, row_bias = ctx.saved_tensors
    z = gemm(a, b, *ctx.where, "out=f32", None if c is None or ctx.beta == 0 else c.float(), ctx.alpha,
             1.0 if c is None or ctx.beta == 0 else ctx.beta, bias, row_bias)
    dy, aten = dy.float(), torch.ops.aten
    if ctx.activation == "relu":
        return aten.threshold_backward(dy, z, 0)
    if ctx.activation == "silu":
        return aten.silu_backward(dy, z)
    return aten.gelu_backward(dy, z, approximate="tanh" if ctx.activation == "gelu_tanh" else "none")


def _gemm_gradients(ctx, dy):
    _same_function("gemm", ctx)
    a, b = ctx.saved_tensors[:2]
    if a.dtype not in (torch.float16, torch.bfloat16) or ctx.scale is not None:
        raise RuntimeError(f"inlay.gemm: there is no gradient of a product of {str(a.dtype)[6:]}" + ("" if ctx.scale is None else " with scales"))
    wanted = [*ctx.needs_input_grad, *[False] * 14]  # torch leaves out defaults at the end
    dz = _before_activation(ctx, dy)
    dc = dz.to(dy.dtype)
    da = gemm(dc, b.t(), *ctx.where, alpha=ctx.alpha) if wanted[0] else None
    db = gemm(a.t(), dc, *ctx.where, alpha=ctx.alpha) if wanted[1] else None
    of_c = (dz * ctx.beta).to(dy.dtype) if wanted[5] else None
    of_bias, of_rows = (dz.float().sum(axis).to(kind) if wanted[8 + axis] else None for axis, kind in enumerate(ctx.types))
    return da, db, None, None, None, of_c, None, None, of_bias, of_rows, None, dy if wanted[11] else None, None, None


gemm.register_autograd(_gemm_gradients, setup_context=_keep_gemm)


@torch.library.custom_op("inlay::softmax", mutates_args=())
def softmax(x: torch.Tensor, device: str = "", arch: str = "", options: str = "") -> torch.Tensor:
    return _kernels.softmax_of(x, *_where(device, arch, options))


@softmax.register_fake
def _(x, device="", arch="", options=""):
    return x.new_empty(x.shape)


@torch.library.custom_op("inlay::softmax_backward", mutates_args=())
def softmax_backward(dy: torch.Tensor, y: torch.Tensor, device: str = "", arch: str = "") -> torch.Tensor:
    return _kernels.softmax_backward_of(dy, y, *_where(device, arch, ""))


@softmax_backward.register_fake
def _(dy, y, device="", arch=""):
    return y.new_empty(y.shape)


def _keep_softmax(ctx, inputs, output):
    ctx.save_for_backward(output)
    _keep_where(ctx, inputs[1:])


def _softmax_gradient(ctx, dy):
    _same_function("softmax", ctx)
    return softmax_backward(dy, *ctx.saved_tensors, *ctx.where), None, None, None


softmax.register_autograd(_softmax_gradient, setup_context=_keep_softmax)


@torch.library.custom_op("inlay::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-5, device: str = "", arch: str = "", options: str = "") -> torch.Tensor:
    return _kernels.rms_norm_of(x, w, eps, *_where(device, arch, options))


@rms_norm.register_fake
def _(x, w, eps=1e-5, device="", arch="", options=""):
    _kernels.rms_norm_shapes(x, w)
    return x.new_empty(x.shape)


@torch.library.custom_op("inlay::rms_norm_backward", mutates_args=())
def rms_norm_backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, eps: float, device: str = "", arch: str = "") -> torch.Tensor:
    return _kernels.rms_norm_backward_of(dy, x, w, eps, *_where(device, arch, ""))


@rms_norm_backward.register_fake
def _(dy, x, w, eps, device="", arch=""):
    return x.new_empty(x.shape)


def _keep_rms_norm(ctx, inputs, output):
    x, w, ctx.eps, *where = inputs
    ctx.save_for_backward(x, w)
    _keep_where(ctx, where)
    ctx.eps = float(_options(ctx.options).get("epsilon", ctx.eps))


def _rms_norm_gradients(ctx, dy):
    _same_function("rms_norm", ctx)
    x, w = ctx.saved_tensors
    dx = rms_norm_backward(dy, x, w, ctx.eps, *ctx.where) if ctx.needs_input_grad[0] else None
    dw = None
    if ctx.needs_input_grad[1]:  # a sum over all rows, of torch's own
        rows = x.float()
        normal = rows * torch.rsqrt(rows.square().mean(-1, keepdim=True) + ctx.eps)
        dw = (dy.float() * normal).flatten(0, -2).sum(0).to(w.dtype) if x.dim() > 1 else (dy.float() * normal).to(w.dtype)
    return dx, dw, None, None, None, None


rms_norm.register_autograd(_rms_norm_gradients, setup_context=_keep_rms_norm)


@torch.library.custom_op("inlay::flash_attention", mutates_args=())
def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, device: str = "", arch: str = "",
                    options: str = "") -> tuple[torch.Tensor, torch.Tensor]:
    """The result, and the logarithm of each row's sum of exponentials, (batch, heads, queries)."""
    return tuple(_kernels.flash_attention_of(q, k, v, causal, *_where(device, arch, options)))


def _logarithms(q):
    return q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)


@flash_attention.register_fake
def _(q, k, v, causal=False, device="", arch="", options=""):
    _kernels.flash_attention_shapes(q, k, v)
    return q.new_empty(q.shape), _logarithms(q)


@torch.library.custom_op("inlay::flash_attention_backward", mutates_args=())
def flash_attention_backward(do: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, causal: bool,
                             device: str = "", arch: str = "") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(_kernels.flash_attention_backward_of(do, q, k, v, o, lse, causal, *_where(device, arch, "")[:2]))


@flash_attention_backward.register_fake
def _(do, q, k, v, o, lse, causal, device="", arch=""):
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _keep_attention(ctx, inputs, output):
    q, k, v, ctx.causal, *where = inputs
    ctx.save_for_backward(q, k, v, *output)
    ctx.mark_non_differentiable(output[1])
    _keep_where(ctx, where)


def _attention_gradients(ctx, do, _):
    _same_function("flash_attention", ctx)
    return (*flash_attention_backward(do, *ctx.saved_tensors, ctx.causal, *ctx.where), None, None, None, None)


flash_attention.register_autograd(_attention_gradients, setup_context=_keep_attention)
