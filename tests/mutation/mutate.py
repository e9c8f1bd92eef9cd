#!/usr/bin/env python3
"""Mutation check: flips one operator at a time in the bodies of the algebra and asks whether the tests notice.

  tests/mutation/mutate.py [--mutants N] [--seed S] [--only REGEX] [--list] [--directory DIR] [--report FILE.json]
                           [--test NAME]... [--jobs J]

A mutant is the source tree with one token changed: `+` and `-`, `*` and `+`, `<` and `<=`, `==` and `!=`, `&&` and `||`,
`yes` and `no` of a Truth, floor_div and ceil_div, min and max, 0 and 1, `true` and `false`. Comments, strings and the text
of error messages are left alone. The script copies the tree once into DIR, configures the algebra alone, checks that the
unchanged tree passes, and then builds and runs the test programs for each mutant:

  killed      a test fails, crashes, or takes more than ten times as long as it did on the unchanged tree
  stillborn   the mutant does not compile (a static_assert or a warning noticed); counted apart
  survived    every test passes: the change is invisible, or no test looks there

Exit status 1 if a mutant survives that docs/mutation.md does not name.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SOURCES = "algebra/include/inlay/algebra/bodies"

# (what is matched in code, what replaces the group); spaces keep templates, pointers and declarations out.
RULES = [
    (r" (\+) ", "-"), (r" (-) ", "+"), (r" (\*) ", "+"), (r" (\+=) ", "-="), (r" (-=) ", "+="), (r" (\*=) ", "+="),
    (r" (<) ", "<="), (r" (<=) ", "<"), (r" (>) ", ">="), (r" (>=) ", ">"), (r" (==) ", "!="), (r" (!=) ", "=="),
    (r" (&&) ", "||"), (r" (\|\|) ", "&&"), (r"Truth::(yes)\b", "no"), (r"Truth::(no)\b", "yes"),
    (r"\b(floor_div)\(", "ceil_div"), (r"\b(ceil_div)\(", "floor_div"), (r"\b(min)\(", "max"), (r"\b(max)\(", "min"),
    (r"\bS\((0)\)", "1"), (r"\bS\((1)\)", "0"), (r" = (true)\b", "false"), (r" = (false)\b", "true"),
    (r"\breturn (true)\b", "false"), (r"\breturn (false)\b", "true"), (r", (true)\)", "false"), (r", (false)\)", "true"),
    (r"\b(is_one)\(", "is_zero"), (r"\b(is_zero)\(", "is_one"), (r"(!)\w[\w.]*\(", ""),
]
# Lines that only word a message, and templates' machinery.
SKIPPED_LINE = re.compile(r"^\s*(//|#|\*|static_assert|template|using |case )|to_string\(|requires |throw_|where\(\)")


def code_mask(text):
    """True where a character is code: not in a comment, a string or a character literal."""
    mask, i, state = [True] * len(text), 0, ""
    while i < len(text):
        two = text[i:i + 2]
        if state == "":
            if two in ("//", "/*"):
                state = two
            elif text[i] == '"':
                state = '"'
            elif text[i] == "'" and not (i and text[i - 1].isdigit()):
                state = "'"
            mask[i] = state == ""
        else:
            mask[i] = False
            if state in "\"'" and text[i] == "\\":
                i += 1
                mask[i] = False
            elif state in "\"'" and text[i] == state:
                state = ""
            elif state == "//" and text[i] == "\n":
                state = ""
            elif state == "/*" and two == "*/":
                mask[i + 1] = False
                i, state = i + 1, ""
        i += 1
    return mask


def candidates(files):
    """Every place where a rule applies, as dictionaries with a name that survives changes elsewhere in the file."""
    found = []
    for file in files:
        with open(os.path.join(ROOT, file), encoding="utf-8") as f:
            text = f.read()
        mask, lines = code_mask(text), text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        for pattern, replacement in RULES:
            for match in re.finditer(pattern, text):
                begin, end = match.span(1)
                if not all(mask[begin:end]):
                    continue
                number = text.count("\n", 0, begin)
                if SKIPPED_LINE.search(lines[number]):
                    continue
                column = begin - starts[number]
                changed = lines[number][:column] + replacement + lines[number][column + end - begin:]
                key = f"{file}|{lines[number].strip()}|{changed.strip()}"
                found.append({"id": hashlib.sha256(key.encode()).hexdigest()[:8], "file": file, "line": number + 1,
                              "before": lines[number].strip(), "after": changed.strip(),
                              "begin": begin, "end": end, "replacement": replacement})
    return found


def choose(found, count, seed):
    """A reproducible sample, spread over the files in proportion to their candidates."""
    unique = {m["id"]: m for m in found}
    chosen = sorted(unique.values(), key=lambda m: m["id"])
    random.Random(seed).shuffle(chosen)
    return sorted(chosen[:count], key=lambda m: (m["file"], m["line"]))


class Tree:
    """A private copy of the sources with a build of its own."""

    def __init__(self, directory, jobs):
        self.root, self.jobs = os.path.join(directory, "source"), str(jobs)
        self.build = os.path.join(directory, "build")
        os.makedirs(directory, exist_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns("build", ".git"))
        self.run(["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", "-DINLAY_COMPONENTS=algebra", "-DCMAKE_BUILD_TYPE=Debug",
                  "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DINLAY_BENCHMARKS=OFF"], check=True)

    @staticmethod
    def run(command, check=False, timeout=None):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                                  env=dict(os.environ, RC_PARAMS="seed=1 max_success=300"))
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if check and done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}")
        return done.returncode, done.stdout

    def compile(self, tests):
        return self.run(["cmake", "--build", self.build, "--parallel", self.jobs, "--target"] + ["test_" + t for t in tests])

    def test(self, name, limit):
        return self.run([os.path.join(self.build, "bin", "test_" + name), "--abort", "--rng-seed", "1"], timeout=limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression on file:line or id")
    parser.add_argument("--list", action="store_true", help="show the mutants and stop")
    parser.add_argument("--directory", default=os.path.join(ROOT, "build", "mutation"))
    parser.add_argument("--report", default="")
    parser.add_argument("--test", action="append", default=[], help="test program, quickest first")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    files = sorted(os.path.join(SOURCES, f) for f in os.listdir(os.path.join(ROOT, SOURCES)) if f.endswith((".h", ".ipp")))
    found = candidates(files)
    mutants = choose(found, options.mutants, options.seed)
    mutants = [m for m in mutants if re.search(options.only, f"{m['file']}:{m['line']} {m['id']}")]
    print(f"{len(mutants)} of {len(found)} possible mutants, seed {options.seed}")
    if options.list:
        for m in mutants:
            print(f"{m['id']}  {m['file']}:{m['line']}\n    - {m['before']}\n    + {m['after']}")
        return 0

    tests = options.test or ["algebra_ops", "algebra_laws", "algebra_golden"]
    tree = Tree(options.directory, options.jobs)
    status, output = tree.compile(tests)
    if status != 0:
        sys.exit(output[-4000:])
    limits = {}
    for test in tests:
        begin = time.monotonic()
        status, output = tree.test(test, 600)
        if status != 0:
            sys.exit(f"the unchanged tree fails {test}\n{output[-4000:]}")
        limits[test] = 10 * (time.monotonic() - begin) + 5

    with open(os.path.join(ROOT, "docs/mutation.md"), encoding="utf-8") as f:
        explained = set(re.findall(r"`([0-9a-f]{8})`", f.read()))
    for number, mutant in enumerate(mutants, 1):
        path = os.path.join(tree.root, mutant["file"])
        with open(os.path.join(ROOT, mutant["file"]), encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text[:mutant["begin"]] + mutant["replacement"] + text[mutant["end"]:])
        status, output = tree.compile(tests)
        mutant["verdict"], mutant["by"] = "survived", ""
        if status != 0:
            mutant["verdict"] = "stillborn"
        else:
            for test in tests:
                status, output = tree.test(test, limits[test])
                if status != 0:
                    failed = re.search(r"^-{20,}\n(.+?)\n-{20,}", output, re.M | re.S)
                    mutant["verdict"] = "killed"
                    mutant["by"] = f"{test}: {'timeout' if status == 'timeout' else failed.group(1).split(chr(10))[0] if failed else status}"
                    break
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        print(f"{number:4d}/{len(mutants)} {mutant['verdict']:9s} {mutant['id']} {mutant['file']}:{mutant['line']}"
              f"  {mutant['by']}", flush=True)
        if mutant["verdict"] == "survived":
            print(f"       - {mutant['before']}\n       + {mutant['after']}", flush=True)

    counts = {v: sum(m["verdict"] == v for m in mutants) for v in ("killed", "stillborn", "survived")}
    unexplained = [m["id"] for m in mutants if m["verdict"] == "survived" and m["id"] not in explained]
    alive = counts["survived"] / max(1, counts["killed"] + counts["survived"])
    print(f"{counts['killed']} killed, {counts['stillborn']} stillborn, {counts['survived']} survived ({100 * alive:.1f} %), "
          f"{len(unexplained)} of them not explained in docs/mutation.md")
    if options.report:
        with open(options.report, "w", encoding="utf-8") as f:
            json.dump({"seed": options.seed, "counts": counts, "mutants": mutants}, f, indent=1)
    return 1 if unexplained else 0


sys.exit(main())
