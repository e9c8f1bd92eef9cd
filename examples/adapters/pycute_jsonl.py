#!/usr/bin/env python3
"""pycute behind the JSON lines of `inlay eval --jsonl`, so that `inlay fuzz --against` can judge it.

  inlay fuzz composition --against 'env PYTHONPATH=/path/to/cutlass/python python3 pycute_jsonl.py'

One object a line on standard input, `{"id": 1, "op": "composition", "args": ["(6,2):(8,2)", "3:2"]}`, and one on standard
output: `{"id", "result", "size", "values"}` (values up to size 256) or `{"id", "error": {"code", "message"}}`. A layout is
the text `shape:stride`, a tuple a nested list, a by-mode tiler a list of tilers, `_` is null.

Whatever pycute raises is its way of refusing an input. An operation that it does not have is code `unsupported`, which
the fuzzer counts apart.
"""
import json
import sys

import pycute


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def parse(text):
    """`(4)` is a tuple of one entry, which Python's own reading of the text would lose."""
    value = json.loads(text.replace("(", "[").replace(")", "]"))
    return tuples(value)


def layout(text):
    shape, stride = text.split(":")
    return pycute.Layout(parse(shape), parse(stride))


def tiler(value):
    """A layout, an extent, nothing, or a tuple of these."""
    if isinstance(value, str):
        return layout(value)
    if isinstance(value, list):
        return tuple(map(tiler, value))
    return value


def text(value):
    """A tuple as CuTe writes it: (4) has rank 1, no blanks."""
    return "(" + ",".join(map(text, value)) + ")" if isinstance(value, tuple) else str(value)


def layout_text(value):
    return text(value.shape) + ":" + text(value.stride)


UNARY = {"coalesce", "filter", "right_inverse", "left_inverse"}
WITH_TILER = {"composition", "logical_divide", "zipped_divide", "tiled_divide", "logical_product", "zipped_product",
              "tiled_product"}


def evaluate(op, args):
    if op in UNARY and len(args) == 1:
        return getattr(pycute, op)(layout(args[0]))
    if op in ("coalesce", "filter"):
        return getattr(pycute, op)(layout(args[0]), tuples(args[1]))
    if op in WITH_TILER:
        return getattr(pycute, op)(layout(args[0]), tiler(args[1]))
    if op == "complement":
        return pycute.complement(layout(args[0]), *map(tuples, args[1:]))
    if op == "size":
        return pycute.size(layout(args[0]))
    if op == "cosize":
        return pycute.cosize(layout(args[0]))
    if op == "layout_call":
        return layout(args[0])(tuples(args[1]))
    if op in ("crd2idx", "idx2crd"):
        return getattr(pycute, op)(*map(tuples, args))
    if op == "crd2crd":
        return pycute.crd2crd(tuples(args[0]), tuples(args[2]), tuples(args[1]))
    raise NotImplementedError(op)


def answer(request):
    try:
        result = evaluate(request["op"], request["args"])
        if not isinstance(result, pycute.LayoutBase):
            return {"result": result if isinstance(result, int) else text(result)}
        size = pycute.size(result)
        reply = {"result": layout_text(result), "size": size}
        if 0 < size <= 256:
            reply["values"] = [result(i) for i in range(size)]
        if "samples" in request:
            reply["samples"] = [[i, result(i)] for i, _ in request["samples"]]
        return reply
    except NotImplementedError as e:
        return {"error": {"code": "unsupported", "message": str(e)}}
    except Exception as e:  # an assertion, an index or an arithmetic error: pycute refuses
        return {"error": {"code": type(e).__name__, "message": str(e)}}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({"id": request.get("id"), **answer(request)}), flush=True)


main()
