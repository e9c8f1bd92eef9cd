#!/usr/bin/env python3
"""Docs that run: replays console blocks and compares code blocks with the examples they are regions of.

  check_docs.py ROOT INLAY [FILE.md ...]

A ```console block holds lines `$ command` and the output that follows each; `inlay` is the binary INLAY, everything
runs in one fresh directory a file, where `tests` is the one of ROOT, and a line `...` in the expected output stands for any lines. `$ command  # exit 1`
states an exit status other than 0. Figures that differ from run to run are written `<number>`.

A ```cpp block must be preceded by `<!-- region: examples/01_layouts.cpp#name -->` and equal the lines of that file
between `// [name]` and `// [name end]`, less common indentation. So must a ```python block that is preceded by one, with `# [name]`. Other
languages are text. Prints one line a block
that disagrees and exits 1 if there is any.
"""
import os
import re
import subprocess
import sys
import tempfile
import textwrap

NUMBER = r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"


def matches(expected, actual):
    """Line by line; `...` swallows any number of lines, `<number>` one number."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[k:]) for k in range(len(actual) + 1))
    if not actual:
        return False
    pattern = NUMBER.join(re.escape(part) for part in re.sub(r"\s+", " ", expected[0].strip()).split("<number>"))
    if not re.fullmatch(pattern, re.sub(r"\s+", " ", actual[0].strip())):
        return False
    return matches(expected[1:], actual[1:])


def replay(block, where, environment, directory):
    """Runs each `$` command of the block; returns the disagreements as text."""
    problems = []
    steps = []
    for line in block:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and line.startswith("> ") and not steps[-1][1] and steps[-1][0].endswith("\\"):
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        elif steps:
            steps[-1][1].append(line)
    for command, expected in steps:
        stated = re.search(r"\s+# exit (\d+)$", command)
        status = int(stated.group(1)) if stated else 0
        if stated:
            command = command[: stated.start()]
        ran = subprocess.run(["bash", "-c", command], cwd=directory, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=300)
        while expected and not expected[-1].strip():
            expected.pop()
        actual = ran.stdout.rstrip("\n").split("\n") if ran.stdout.rstrip("\n") else []
        if ran.returncode != status:
            problems.append(f"{where}: `{command}` exited {ran.returncode}, not {status}\n{ran.stdout[-2000:]}")
        elif expected and not matches(expected, actual):
            problems.append(f"{where}: `{command}` printed\n" + textwrap.indent("\n".join(actual), "    ")
                            + "\n  where the page says\n" + textwrap.indent("\n".join(expected), "    "))
    return problems


def region(root, reference):
    path, name = reference.split("#")
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    found = re.search(rf"^[ \t]*(?://|#) \[{re.escape(name)}\]\n(.*?)^[ \t]*(?://|#) \[{re.escape(name)} end\]", text,
                      re.M | re.S)
    return textwrap.dedent(found.group(1)).strip("\n") if found else None


def check(root, inlay, file):
    with open(file, encoding="utf-8") as f:
        lines = f.read().split("\n")
    environment = dict(os.environ, NO_COLOR="1", TERM="dumb",
                       PATH=os.path.dirname(os.path.abspath(inlay)) + os.pathsep + os.environ["PATH"])
    problems, blocks, marker = [], 0, None
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.join(os.path.abspath(root), "tests"), os.path.join(directory, "tests"))
        at = 0
        while at < len(lines):
            found = re.match(r"<!-- region: (.+?) -->", lines[at])
            if found:
                marker = found.group(1)
            if lines[at].startswith("```"):
                language, begin = lines[at][3:].strip(), at + 1
                at = begin
                while at < len(lines) and not lines[at].startswith("```"):
                    at += 1
                block, where = lines[begin:at], f"{os.path.relpath(file, root)}:{begin}"
                if language == "console":
                    blocks += 1
                    problems += replay(block, where, environment, directory)
                elif language == "cpp" or (language == "python" and marker):
                    blocks += 1
                    text = region(root, marker) if marker else None
                    if text is None:
                        problems.append(f"{where}: a block without a region of an example before it")
                    elif text != "\n".join(block).strip("\n"):
                        problems.append(f"{where}: differs from {marker}")
                marker = None
            at += 1
    return problems, blocks


def main():
    root, inlay = sys.argv[1:3]
    files = sys.argv[3:] or [os.path.join(d, f) for d, _, names in os.walk(os.path.join(root, "docs"))
                             for f in names if f.endswith(".md")] + [os.path.join(root, "README.md")]
    problems, blocks = [], 0
    for file in sorted(files):
        found, count = check(root, inlay, file)
        problems += found
        blocks += count
    print("\n".join(problems) if problems else f"{blocks} blocks of {len(files)} pages agree")
    sys.exit(1 if problems or blocks == 0 else 0)


main()
