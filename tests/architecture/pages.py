#!/usr/bin/env python3
"""Kernels are pages: pages.py ROOT

A file of kernels/ROOM/ is at most 150 lines long, of attention and of a mixture of experts 200; one that has a kernel's program begins with
its index expression; places are said by layout factories (kernels/places.h, parse_layout), not built tuple by tuple; and no two files have
ten lines of code in common. What is no page has its own length, and the reason: it may not grow. Exit status 1 when something is not so.
"""
import collections
import pathlib
import re
import sys

LINES = collections.defaultdict(lambda: 150, attention=200, moe=200)
NO_PAGES = {
    "gemm/bound.cpp": (232, "a cycle model of every form of the GEMM: one formula, whose terms share all of their names"),
    "map/language.cpp": (322, "the grammar of formulas: one recursive descent, whose functions call one another"),
}
SHARED = 10


def code_lines(text):
    """The lines that count: no comments, no includes, none without a word."""
    lines = []
    for line in text.split("\n"):
        line = re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip()
        if re.search(r"\w", line) and not line.startswith("#"):
            lines.append(line)
    return lines


def first_comment(text):
    return " ".join(line for line in re.match(r"(?://[^\n]*\n)*", text).group(0).split("\n"))


def problems(root):
    kernels = root / "kernels"
    pages = sorted(p for end in ("cpp", "h") for p in kernels.glob(f"*/*.{end}"))
    if len(pages) < 100:
        yield f"{kernels}: only {len(pages)} files; is that the library?"
    seen = {}
    for page in pages:
        name, text = str(page.relative_to(kernels)), page.read_text()
        length = text.count("\n")
        most = NO_PAGES[name][0] if name in NO_PAGES else LINES[page.parent.name]
        if length > most:
            yield (f"kernels/{name}: {length} lines, at most {most}: what do others have too? else cut it where it joins, "
                   "options and limits / program / data and reference")
        if name in NO_PAGES and length <= LINES[page.parent.name]:
            yield f"kernels/{name}: {length} lines: it is a page, strike it from NO_PAGES"
        has_program = re.search(r"\bProgram k\(|\bRows rows\(", text)
        if page.suffix == ".cpp" and has_program and not re.search(r"[\w:][\])}]? \+?= \S", first_comment(text)):
            yield f"kernels/{name}: has a program, and does not begin with its index expression, `// y[m,n] = ..`"
        if "TupleBuilder" in text:
            yield f"kernels/{name}: builds a layout leaf by leaf: by_strides, by_rows (kernels/places.h), parse_layout"
        lines = code_lines(text)
        told = set()
        for at in range(len(lines) - SHARED + 1):
            run = tuple(lines[at:at + SHARED])
            other = seen.setdefault(run, name)
            if other != name and other not in told:
                told.add(other)
                yield f"kernels/{name}: {SHARED} lines of kernels/{other}, from `{run[0]}` on: one place for both"
    for name in NO_PAGES:
        if not (kernels / name).exists():
            yield f"kernels/{name}: is not there any more, strike it from NO_PAGES"


def main():
    wrong = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(wrong) if wrong else "pages: as designed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
