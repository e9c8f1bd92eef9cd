"""The gated delta rule over whole sequences, as a chain of prebuilt kernels (kernels/recurrent/gated_delta_chunk.h)."""
from ._kernels import _arrays, _as_numbers, _compute, _element, _is_tensor, _taken, _zeros

_CHUNK = 64
_CHUNKS = 4  # of a launch that passes the state on


def gated_delta(q, k, v, g, beta, initial_state=None, *, normalise=True, device="auto", arch=None):
    """Linear attention by the gated delta rule: `(o, state)` of q and k (batch, tokens, heads of k, D), v (batch, tokens, heads, E), g and beta (batch, tokens, heads).

    For every sequence and head, token after token, from the initial state or from 0:

        S = e^g S + k beta (v - (e^g S)^T k)^T,   o = S^T q / sqrt(D)

    computed in chunks of 64 tokens. Elements are float16 or bfloat16, o is as v. g, at most 0 (minus infinity forgets all), and beta, with beta |k|^2 below 2 (near it digits are lost: of 1.9 and keys that are alike 4 %), are taken as float32; states are float32, (batch, heads, D, E), as
    of the kernel `gated_delta_step`, which goes on from the last one. D and E: 64 or 128. Heads of v that follow one another share one of q and k.
    `g` of None forgets nothing. `normalise`: q and k are divided by their lengths first. `device`, `arch`: as of gemm.
    """
    q, k, v, g, beta, initial_state = map(_taken, (q, k, v, g, beta, initial_state))
    _arrays("gated_delta", q=q, k=k, v=v, beta=beta, **({} if g is None else {"g": g}), **({} if initial_state is None else {"initial_state": initial_state}))
    given = ", ".join(f"{n} {tuple(x.shape)}" for n, x in (("q", q), ("k", k), ("v", v), ("g", g), ("beta", beta)) if x is not None)
    if len(q.shape) != 4 or len(v.shape) != 4 or tuple(q.shape) != tuple(k.shape) or tuple(q.shape[:2]) != tuple(v.shape[:2]):
        raise ValueError(f"gated_delta of {given}: q and k (batch, tokens, heads of k, D) and v (batch, tokens, heads, E)")
    batch, tokens, heads, values = v.shape
    key_heads, keys = q.shape[2:]
    if 0 in v.shape or 0 in q.shape:
        raise ValueError(f"gated_delta of {given}: at least one token, head and element")
    if heads % key_heads:
        raise ValueError(f"gated_delta: {heads} heads of v and {key_heads} of k: a multiple of these")
    for n, x, shape in (("g", g, (batch, tokens, heads)), ("beta", beta, (batch, tokens, heads)), ("initial_state", initial_state, (batch, heads, keys, values))):
        if x is not None and tuple(x.shape) != shape:
            raise ValueError(f"gated_delta: {n} of {tuple(x.shape)}, and {shape} is wanted")
    element, count, group = _element(v), -(-tokens // _CHUNK), heads // key_heads
    if element == "f32" or _element(q) != element or _element(k) != element:
        raise TypeError(f"gated_delta of q {q.dtype}, k {k.dtype} and v {v.dtype}: float16 or bfloat16 (torch), one type")

    def launch(stage, inputs, outputs, sizes, **options):
        return _compute("gated_delta_" + stage, inputs, outputs, sizes, options, device, arch, dtype=element if "dtype" not in sizes else None)

    all_tokens, rows = {"batch": batch, "tokens": tokens, "heads": heads}, (count, batch, heads, _CHUNK)
    of_keys = (count, batch, key_heads, _CHUNK, keys)
    g = _zeros((batch, tokens, heads), "f32", beta) if g is None else _as_numbers(g)
    gates, betas = _compute("gated_delta_gates", {"g": g, "beta": _as_numbers(beta)}, {"gates": (rows, "f32"), "betas": (rows, "f32")}, all_tokens, {}, device, arch,
                            dtype="")
    queries, keys_of, columns = launch("keys", {"q": q, "k": k}, {"queries": (of_keys, element), "keys": (of_keys, element),
                                                                  "key_columns": ((*of_keys[:3], keys, _CHUNK), element)},
                                       {**all_tokens, "heads": key_heads, "key": keys}, normalise="yes" if normalise else "no")
    inverse, = launch("inverse", {"keys": keys_of, "gates": gates, "betas": betas}, {"inverse": ((count, batch, heads, _CHUNK * _CHUNK), element)},
                      {**all_tokens, "group": group, "key": keys})
    w, u = launch("rows", {"inverse": inverse, "key_columns": columns, "v": v, "gates": gates, "betas": betas},
                  {"w": ((*rows, keys), element), "u": ((count, batch, heads, values, _CHUNK), element)}, {**all_tokens, "group": group, "key": keys, "value": values})
    of_state = (batch, heads, values, keys)
    state = _zeros(of_state, "f32", v) if initial_state is None else _as_numbers(initial_state).swapaxes(2, 3)
    states, rests, n = [state.reshape(1, *of_state)], [], 0
    while n < count:  # chunks from the state that those before left
        several = _CHUNKS if count - n >= _CHUNKS and batch <= 32 and heads <= 128 else 1
        part = slice(n, n + several)
        after, rest = launch("state", {"before": states[-1][-1], "w": w[part], "u": u[part], "key_columns": columns[part], "gates": gates[part]},
                             {"after": ((several, *of_state), "f32"), "r": ((several, batch, heads, values, _CHUNK), element)},
                             {"batch": batch, "heads": heads, "group": group, "key": keys, "value": values, "chunks": several})
        states.append(after), rests.append(rest)
        n += several
    states = _joined(states)
    o, = launch("out", {"queries": queries, "keys": keys_of, "states": states[:-1], "r": _joined(rests), "gates": gates}, {"o": ((batch, tokens, heads, values), element)},
                {**all_tokens, "group": group, "key": keys, "value": values})
    return o, states[-1].swapaxes(2, 3)


def _joined(arrays):
    if _is_tensor(arrays[0]):
        import torch

        return torch.cat([a.contiguous() for a in arrays])
    import numpy

    return numpy.concatenate(arrays)
