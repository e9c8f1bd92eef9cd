#!/usr/bin/env python3
"""Docs that run: replays console blocks and compares code blocks with the examples they are regions of.

  check_docs.py ROOT INLAY [FILE.md ...]

A ```console block holds lines `$ command` and the output that follows each; `inlay` is the binary INLAY, everything
runs in one fresh directory a file, where `tests`, `examples` and `docs` are those of ROOT, and a line `...` in the expected output stands for any lines. `$ command  # exit 1`
states an exit status other than 0. After `<!-- vary: code, auto -->` the numbers of the block's lines that start with one of these words, `#` for a number, differ from run to
run. Python finds the package beside INLAY.

A ```console block after `<!-- needs: triton, torch -->` runs by a Python that has these modules: that of INLAY_PEERS_PYTHON, python3 or
/usr/bin/python3. So for programs, `<!-- needs: clang++-22 -->`. Without them it is counted as left out.

A relative link must lead to a file, and `#part` to one of its headings.

A ```cpp block must be preceded by `<!-- region: examples/01_layouts.cpp#name -->` and equal the lines of that file
between `// [name]` and `// [name end]`, less common indentation. So must a ```python block that is preceded by one, with `# [name]`. Other
languages are text. Prints one line a block
that disagrees and exits 1 if there is any.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

NUMBER = r"(?:0x[0-9a-f]+|[-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"


def matches(expected, actual, vary):
    """Line by line; `...` swallows any number of lines; on lines that start with a word of `vary` any number is any other."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[k:], vary) for k in range(len(actual) + 1))
    if not actual:
        return False
    line = re.sub(r"\s+", " ", expected[0].strip())
    varies = any(line == word or line.startswith(word + " ") or (word == "#" and re.match(NUMBER, line)) for word in vary)
    pattern = NUMBER.join(re.escape(part) for part in re.split(NUMBER, line)) if varies else re.escape(line)
    if not re.fullmatch(pattern, re.sub(r"\s+", " ", actual[0].strip())):
        return False
    return matches(expected[1:], actual[1:], vary)


def replay(block, where, environment, directory, vary=()):
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
        elif expected and not matches(expected, actual, vary):
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


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(text):
    """Of the headings, as forges make them."""
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", without_code(text), re.M)}


def broken_links(root, file, text):
    problems = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_code(text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, part = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
        if not os.path.exists(to):
            problems.append(f"{os.path.relpath(file, root)}: a link to {target}, which is not there")
        elif part and to.endswith(".md"):
            with open(to, encoding="utf-8") as f:
                if part not in anchors(f.read()):
                    problems.append(f"{os.path.relpath(file, root)}: a link to {target}, which has no such heading")
    return problems


def python_with(needs, environment):
    """The first Python of INLAY_PEERS_PYTHON, python3 and /usr/bin/python3 that imports what is needed, or None. A name with a sign, `clang++-22`, is a program."""
    if needs not in KNOWN:
        names = needs.replace(",", " ").split()
        programs = [name for name in names if not name.isidentifier()]
        code = "import importlib, sys; [importlib.import_module(m) for m in sys.argv[1:]]"
        candidates = [os.environ.get("INLAY_PEERS_PYTHON"), shutil.which("python3"), "/usr/bin/python3"]
        KNOWN[needs] = next((python for python in candidates if python and os.path.exists(python) and subprocess.run(
            [python, "-c", code, *(name for name in names if name.isidentifier())], env=environment, stderr=subprocess.DEVNULL,
            check=False).returncode == 0), None) if all(shutil.which(name) for name in programs) else None
    return KNOWN[needs]


KNOWN = {}


def check(root, inlay, file):
    """Disagreements, blocks that were looked at, blocks that were left out."""
    with open(file, encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")
    binaries = os.path.dirname(os.path.abspath(inlay))
    environment = dict(os.environ, NO_COLOR="1", TERM="dumb", PATH=binaries + os.pathsep + os.environ["PATH"],
                       PYTHONPATH=os.path.join(os.path.dirname(binaries), "python"), PYTHONDONTWRITEBYTECODE="1")
    problems, blocks, left_out, marker, needs, vary = broken_links(root, file, text), 0, 0, None, None, ()
    with tempfile.TemporaryDirectory() as directory:
        for folder in ("tests", "examples", "docs"):
            os.symlink(os.path.join(os.path.abspath(root), folder), os.path.join(directory, folder))
        at = 0
        while at < len(lines):
            found = re.match(r"<!-- region: (.+?) -->", lines[at])
            if found:
                marker = found.group(1)
            found = re.match(r"<!-- needs: (.+?) -->", lines[at])
            if found:
                needs = found.group(1)
            found = re.match(r"<!-- vary: (.+?) -->", lines[at])
            if found:
                vary = found.group(1).split(", ")
            if lines[at].startswith("```"):
                language, begin = lines[at][3:].strip(), at + 1
                at = begin
                while at < len(lines) and not lines[at].startswith("```"):
                    at += 1
                block, where = lines[begin:at], f"{os.path.relpath(file, root)}:{begin}"
                python = python_with(needs, environment) if language == "console" and needs else None
                if language == "console" and needs and not python:
                    left_out += 1
                elif language == "console":
                    blocks += 1
                    there = environment
                    if needs:  # its `python3` and `pytest` are those of that Python
                        there = dict(environment, PATH=binaries + os.pathsep + os.path.dirname(os.path.abspath(python)) + os.pathsep + os.environ["PATH"])
                    problems += replay(block, where, there, directory, vary)
                elif language == "cpp" or (language == "python" and marker):
                    blocks += 1
                    text = region(root, marker) if marker else None
                    if text is None:
                        problems.append(f"{where}: a block without a region of an example before it")
                    elif text != "\n".join(block).strip("\n"):
                        problems.append(f"{where}: differs from {marker}")
                marker = needs = None
                vary = ()
            at += 1
    return problems, blocks, left_out


def main():
    root, inlay = sys.argv[1:3]
    files = sys.argv[3:] or [os.path.join(d, f) for d, _, names in os.walk(os.path.join(root, "docs"))
                             for f in names if f.endswith(".md")] + [os.path.join(root, "README.md")]
    problems, blocks, left_out = [], 0, 0
    for file in sorted(files):
        found, count, without = check(root, inlay, file)
        problems += found
        blocks += count
        left_out += without
    print("\n".join(problems) if problems else f"{blocks} blocks of {len(files)} pages agree"
          + (f"; {left_out} need modules that this Python does not have (INLAY_PEERS_PYTHON)" if left_out else ""))
    sys.exit(1 if problems or blocks == 0 else 0)


main()
