#!/usr/bin/env python3
"""Notebooks that run: executes the code cells of each notebook in order and compares what they show with what the file says.

  notebooks.py [--write] FILE.ipynb...

A cell shows what it prints and its last expression: the text, and `_repr_svg_` and `_repr_html_` where there are. --write puts that into the file
instead. Of a cell with the metadata `"varies": true`, whose numbers change with the code, the kinds of its outputs are compared. Needs the package
inlay, and no Jupyter.
"""
import ast
import contextlib
import io
import json
import sys
import traceback


def lines(text):
    return text.splitlines(keepends=True)


def shown(source, names):
    """The outputs of a cell, as the notebook format has them."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value, outputs = io.StringIO(), None, []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(last, "cell", "eval"), names)
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = lines(value._repr_svg_())
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def same(cell, outputs):
    if not cell["metadata"].get("varies"):
        return outputs == cell["outputs"]
    kinds = [[(o["output_type"], sorted(o.get("data", ()))) for o in of] for of in (outputs, cell["outputs"])]
    return kinds[0] == kinds[1]


def main():
    write = "--write" in sys.argv[1:]
    differ = cells = 0
    for file in [argument for argument in sys.argv[1:] if argument != "--write"]:
        with open(file, encoding="utf-8") as f:
            notebook = json.load(f)
        names = {}
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] != "code":
                continue
            cells += 1
            try:
                outputs = shown("".join(cell["source"]), names)
            except Exception:
                traceback.print_exc()
                sys.exit(1)
            if write:
                cell["outputs"] = outputs
            elif not same(cell, outputs):
                differ += 1
                print(f"{file}: cell {number} shows\n{json.dumps(outputs)[:2000]}\n  where the file says\n{json.dumps(cell['outputs'])[:2000]}")
        if write:
            with open(file, "w", encoding="utf-8") as f:
                f.write(json.dumps(notebook, indent=1) + "\n")
    print(f"{cells} cells, {differ} differ")
    sys.exit(1 if differ or not cells else 0)


main()
