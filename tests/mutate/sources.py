#!/usr/bin/env python3
"""Mutation check: flips one operator at a time in the bodies of the algebra, in the solver, in the way of a kernel from program to machine code, or in what validates machine code, and asks whether the tests notice.

  tests/mutate/sources.py [algebra | codegen | solver | validate] [--mutants N] [--seed S] [--only REGEX] [--since COMMIT] [--list] [--directory DIR] [--objects BUILD] [--tests REGEX] [--limit SECONDS] [--report FILE.json] [--jobs J]

A mutant has one token changed: `+` and `-`, `*` and `+`, `<` and `<=`, `==` and `!=`, `&&` and `||` cut short, `yes` and
`no` of a Truth, floor_div and ceil_div, min and max, 0 and 1, `true` and `false`, a predicate negated. Comments, strings and
the wording of messages are left alone. Compiling the algebra once for each of some hundred mutants would take hours; so the
script makes one copy of the tree that holds all of them behind a switch (mutation_switch.h), builds it once, checks that it
passes with no mutant active, and then runs the test programs for each mutant. `--objects build/release` compiles only the
files with mutants, or what the build compiles together with them, and links them before the libraries of that build, which must
be up to date: minutes instead of an hour.

  killed      a test fails, crashes, or takes more than twice the processor time of the unchanged tree
  stillborn   the mutant does not compile, or its expression does not exist for the types it meets; counted apart
  survived    every test passes: the change is invisible, or no test looks there

Tests are run case by case, those first that are quick and come to few mutants' places. A case that never comes to a mutant's place is not
run for it; the report says so of survivors that none comes to. --limit ends the tests of one mutant after so many seconds of processor
time, and leaves out tests that take longer by themselves; what survives then has to be asked again without it. What a report says already, of the same sample, is tried first: the test that killed a mutant.

A mutant that is argued is listed in equivalent.json with its proof and does not count. Its `kind` says what the proof shows:

  same        it provably computes the same, or what nobody can see (the default)
  refuses     it refuses, waits or asks for more than needed: nothing that is wrong is taken for right
  choice      another choice among orders, forms or samples that are judged alike: a matter of speed
  message     another wording

Exit status 1 if a mutant survives that is not listed, or if a listed one is killed or gone.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
# Kernels as users run them: proved, built, emulated with every sanitizer, compared with their specification.
RUNS = ["inlay run vector_add --auto no", "inlay run layernorm --m 3 --n 2600 --stream yes --threads 128 --vectors 1 --stress --auto no", "inlay run rope --tokens 3 --heads 5 --in-place yes --auto no",
        "inlay run softmax --m 3 --n 1000 --stress --auto no", "inlay run rmsnorm --arch gfx950 --m 3 --n 1000 --dtype bf16 --auto no",
        "inlay run gemm --m 70 --n 60 --k 200 --tile 64x64x32 --stress --auto no", "inlay run gemm --arch gfx950 --m 70 --n 60 --k 72 --tile 64x64x64 --transfer yes --stress --auto no",
        "inlay run gemm --arch gfx950 --dtype fp8 --m 140 --n 60 --k 400 --tile 64x64x128 --scales yes --bias yes --loops asm --auto no",
        "inlay run preshuffle_gemm --arch gfx942 --m 70 --n 48 --k 320 --stress --auto no", "inlay run block_scale_gemm --m 40 --n 144 --k 384 --tile-m 32 --auto no",
        "inlay run moe_stage1 --arch gfx950 --tokens 20 --inter 72 --k 136 --auto no", "inlay run flash_attention --head-dim 64 --causal 1 --group 2 --queries 40 --keys 100 --tile-q 64 --auto no",
        "inlay run gemm --m 300 --n 140 --k 264 --scheduler default --dtype bf16 --out f32 --mfma 32 --auto no"]
# Loops as assembly, with all forms of order, and kernels that begin, end and share out otherwise.
RUNS += [f"inlay run {kernel} --stress --auto no" for kernel in (
    "gemm --arch gfx950 --m 300 --n 300 --k 264 --tile 256x256x64 --loops asm", "gemm --m 300 --n 300 --k 264 --tile 256x256x32 --loops asm",
    "gemm --arch gfx950 --m 300 --n 300 --k 520 --tile 256x256x64 --stagger yes", "gemm --arch gfx950 --m 300 --n 300 --k 520 --tile 256x256x64 --waves 2x4 --direct-to-lds yes --pingpong yes",
    "gemm --m 300 --n 140 --k 264 --tile 64x64x64 --stages 3 --loops asm", "gemm --arch gfx950 --m 300 --n 140 --k 264 --direct-to-lds yes --stages 3",
    "gemm --m 300 --n 300 --k 264 --stream-k-workgroups 5", "gemm --m 70 --n 64 --k 512 --tile 64x64x32 --split 256 --split-k-fixup yes", "gemm --dtype i8 --m 70 --n 64 --k 320",
    "flash_attention --head-dim 64 --causal 1 --window 32 --queries 100 --keys 100 --tile-q 32 --tile-k 32 --waves 1", "causal_conv1d", "conv3d", "moe_sort", "scatter_add")]
# Programs that try to prove something false, and places of code changed so that a rule has to refuse them.
PROVED = ["INLAY_CLAIMS=alone adversary", "kernels [#derive_test],[#branch_test],[#ticket_test],[#turn_test],[#roles_test],[#stagger_test],[#pingpong_test]", "kernel_forms ~[.]", "kernel_integers ~[.]"]
DRAWN = ["random_programs --sample 40 --seed 3", "kernel_mutations --sample 60 --seed 4"]
SCHEDULED = ["validate_code [#ticket_test]", "codegen [#schedule_test],[#emit_test],[#expression_test]", "kernels [#stagger_test],[#pingpong_test]", "kernel_orders ~[.]", "kernel_integers ~[.]", "kernel_forms ~[.]"]

# What is mutated, the folders to build for it, and for which files what must notice, quickest first: tests, of which a name may have
# tags, `[#file]` too, or programs with their arguments.
PROGRAMS = ("inlay", "random_programs", "kernel_mutations", "machine_mutations")
# Machine code that is right, which has to be validated, and damaged machine code, of which nothing that behaves otherwise may be.
VALIDATED = ["inlay validate " + k for k in (
    "vector_add", "moe_blocks", "concat", "moe_sort", "pad", "causal_conv1d", "rope", "softmax --threads 128 --vectors 1", "dropout", "mla_reduce", "moe_starts",
    "gemm --tile 32x32x64 --waves 1x1", "all_reduce", "all_gather", "attention_backward_dq", "attention_backward_dkv", "batched_gemm", "conv2d", "cross_entropy", "cumsum",
    "gated_delta_state", "gated_delta_step", "gemv", "grouped_gemm", "kv_write", "argmax", "layernorm_backward", "moe_combine", "moe_dispatch", "quantise", "scatter_add",
    "scatter_rows", "group_norm", "weighted_combine", "softmax --dtype bf16 --threads 128 --vectors 1", "rmsnorm --quant i8", "layernorm --dtype bf16", "moe_stage1 --arch gfx950",
    "gemm --dtype f64 --tile 32x32x32 --waves 1x1 --activation relu", "gemm --tile 32x32x64 --waves 1x1 --tile-order xcd+rows:2", "gated_delta_out", "mla_decode",
    "gemm --tile 32x64x64 --arch gfx950 --split 192 --split-k-at-once 3 --split-k-fixup yes")]
DAMAGED = ["machine_mutations --kernels integers --sample 8 --seed 13 --least 60 --budget 2000000"]
WHAT = {
    "algebra": ("algebra/include/inlay/algebra/bodies", "algebra;cli", [("", ["algebra_golden", "algebra_values", "algebra_laws ~[#exhaustive_laws_test]~[.]"])]),
    "codegen": ("codegen", "algebra;solver;codegen;runtime;validate;kernels;cli", [
        ("codegen/provenance/", PROVED + DRAWN + RUNS), ("codegen/(address|expand|emit_ir|emit_asm|schedule/)", PROVED[:1] + RUNS + SCHEDULED + DRAWN + ["adversary"]),
        ("codegen/sum_order", ["kernel_orders ~[.]", "kernel_orders [nightly]"])]),
    "validate": ("validate", "algebra;solver;codegen;runtime;validate;kernels;cli", [
        ("validate/claims|values_at_sizes", ["validate_code [#claims_test],[#values_test]"]), ("", VALIDATED + ["validate_code ~[.]"] + DAMAGED)]),
    "solver": ("solver", "algebra;solver", [
        ("certificates/", ["solver_unit ~[long]~[#lds_test]~[#coalescing_test]", "solver_random [forged]", "solver_unit [long]"]),
        ("questions/(banks|coalescing|lds|search)", ["solver_unit ~[long]", "solver_random [decided]", "solver_random [forged]"]),
        ("", ["solver_unit ~[long]~[#lds_test]~[#coalescing_test]", "solver_random [decided]", "solver_random [#random_test],[#ceilings_test]", "solver_unit [long]"])]),
}

# (what is matched in code; the mutant, as a reader would write it; what stands in the copy, {n} the number of the mutant).
# Blanks keep templates, pointers and declarations out.
RULES = [
    (r" (\+) ", "-", "+ ::mutation::plus({n}) +"), (r" (-) ", "+", "- ::mutation::minus({n}) -"),
    (r" (\*) ", "+", "* ::mutation::times({n}) *"), (r" (<) ", "<=", "< ::mutation::less({n}) <"),
    (r" (<=) ", "<", "<= ::mutation::less_equal({n}) <="), (r" (>) ", ">=", "> ::mutation::greater({n}) >"),
    (r" (>=) ", ">", ">= ::mutation::greater_equal({n}) >="), (r" (==) ", "!=", "== ::mutation::equal({n}) =="),
    (r" (!=) ", "==", "!= ::mutation::not_equal({n}) !="), (r" (&&) ", "&& false &&", "&& !::mutation::on({n}) &&"),
    (r" (\|\|) ", "|| true ||", "|| ::mutation::on({n}) ||"),
    (r"(Truth::yes)\b", "Truth::no", "(::mutation::on({n}) ? Truth::no : Truth::yes)"),
    (r"(Truth::no)\b", "Truth::yes", "(::mutation::on({n}) ? Truth::yes : Truth::no)"),
    (r"(?<![:\w])(floor_div)\(", "ceil_div", "::mutation::floor_div<{n}>"), (r"(?<![:\w])(ceil_div)\(", "floor_div", "::mutation::ceil_div<{n}>"),
    (r"(?<![:\w])(min)\(", "max", "::mutation::min<{n}>"), (r"(?<![:\w])(max)\(", "min", "::mutation::max<{n}>"),
    (r"(?<![:\w])(floor_mod)\(", "floor_div", "::mutation::floor_mod<{n}>"),
    (r"(?<![:\w])(exact_div)\(", "floor_mod", "::mutation::exact_div<{n}>"),
    (r"\bS\((0)\)", "1", "::mutation::on({n}) ? 1 : 0"), (r"\bS\((1)\)", "0", "::mutation::on({n}) ? 0 : 1"),
    (r"(?:= |return |, |\()(true)\b", "false", "!::mutation::on({n})"), (r"(?:= |return |, |\()(false)\b", "true", "::mutation::on({n})"),
    (r"(?<![:\w.])(is_one)\(", "!is_one", "::mutation::on({n}) != is_one"), (r"(?<![:\w.])(is_zero)\(", "!is_zero", "::mutation::on({n}) != is_zero"),
    (r"(?<!\w)(!)\w[\w.]*\(", "", "::mutation::on({n}) == !!"),
    # Of the solver: bounds that are off by one, and cases that are not passed over.
    (r"(?:context_?\.|[ (!])(positive\()(?!const )", "nonnegative(", "nonnegative((::mutation::on({n}) ? Poly(0) : Poly(-1)) + "),
    (r"(?:context_?\.|[ (!])(nonnegative\()(?!const )", "positive(", "nonnegative((::mutation::on({n}) ? Poly(-1) : Poly(0)) + "),
    (r"\bd\.(nonnegative\()", "nonnegative(1 + ", "nonnegative((::mutation::on({n}) ? constant(1) : Sum()) + "),
    (r"\b(?:Poly|constant)\((1)\)", "0", "::mutation::on({n}) ? 0 : 1"), (r"(continue;)", ";", "if (!::mutation::on({n})) continue;"),
]
# Of the solver, whose divisions are functions and no templates; a + b of texts is no sum.
FUNCTIONS = [(rf"(?<![:\w.])({a})\((?!Wide |Number )", b, f"(::mutation::on({{n}}) ? {b} : {a})") for a, b in (("floor_div", "floor_mod"), ("floor_mod", "floor_div"))]
TEXTS = re.compile(r"""^\s*(//|#)|"|std::string|asserted|declare|reason =|throw """)
# Lines that only word a message, and templates' machinery.
SKIPPED_LINE = re.compile(r"^\s*(//|#|\*|static_assert|template|using |case )|to_string\(|requires |throw_|if constexpr|op\.fail|constexpr .*\) \{ return .*\"")


def program_of(test):
    """The program of a test: "SETTING=value program arguments", or "SETTING=value program: case"."""
    return next(word for word in test.split() if "=" not in word).rstrip(":")


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
        solver = file.startswith("solver/")
        rules = RULES if not solver else [r for r in RULES if "floor_" not in r[0]] + FUNCTIONS
        for pattern, replacement, switched in rules:
            for match in re.finditer(pattern, text):
                begin, end = match.span(1)
                if not all(mask[begin:end]):
                    continue
                number = text.count("\n", 0, begin)
                if SKIPPED_LINE.search(lines[number]) or (solver and match[1] in "+-" and TEXTS.search(lines[number])):
                    continue
                column = begin - starts[number]
                changed = lines[number][:column] + replacement + lines[number][column + end - begin:]
                # A text has no difference: beside a literal `-` is no expression, whether a test comes there or not.
                text_beside = match[1] == "+" and (text[:begin].rstrip().endswith('"') or text[end:].lstrip().startswith('"'))
                key = f"{file}|{lines[number].strip()}|{changed.strip()}"
                found.append({"id": hashlib.sha256(key.encode()).hexdigest()[:8], "file": file, "line": number + 1,
                              "before": lines[number].strip(), "after": changed.strip(),
                              "begin": begin, "end": end, "switched": switched, "text": text_beside})
    return found


def choose(found, count, seed):
    """A reproducible sample, spread over the files in proportion to their candidates; an edit elsewhere leaves it as it is."""
    unique = {m["id"]: m for m in found}
    chosen = sorted(unique.values(), key=lambda m: hashlib.sha256(f"{seed} {m['id']}".encode()).digest())
    return sorted(chosen[:count], key=lambda m: (m["file"], m["line"]))


class Tree:
    """A private copy of the sources with a build of its own, all mutants inside."""

    def __init__(self, directory, jobs, components):
        self.root, self.jobs = os.path.join(directory, "source"), str(jobs)
        self.build = os.path.join(directory, "build")
        os.makedirs(directory, exist_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns("build", ".git"))
        self.run(["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", f"-DINLAY_COMPONENTS={components}", "-DINLAY_WERROR=OFF",
                  "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DINLAY_BENCHMARKS=OFF", "-DINLAY_TOGETHER=OFF"], check=True)

    @staticmethod
    def run(command, check=False, seconds=None, mutant=0, cwd=None, **environment):
        """Exit status and output; never more than 4 GiB of memory, which a mutant may well ask for, nor than so many seconds of processor time,
        which do not depend on who else is at work. A mutant that waits is given up after ten minutes."""
        def limits():
            if mutant:
                resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
            if seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600 if mutant else None, errors="replace", cwd=cwd,
                                  env=dict(os.environ, RC_PARAMS="seed=1", INLAY_MUTANT=str(mutant), **environment), preexec_fn=limits)
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if seconds and done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout", ""
        if check and done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}")
        return done.returncode, done.stdout

    def write(self, mutants):
        """The files of the bodies with every mutant that is alive behind its switch."""
        for file in sorted({m["file"] for m in mutants}):
            with open(os.path.join(ROOT, file), encoding="utf-8") as f:
                text = f.read()
            for m in sorted((m for m in mutants if m["file"] == file and m["verdict"] != "stillborn"), key=lambda m: -m["begin"]):
                text = text[:m["begin"]] + m["switched"].format(n=m["number"]) + text[m["end"]:]
            header = os.path.join(self.root, "tests/mutate/mutation_switch.h")
            os.makedirs(os.path.dirname(os.path.join(self.root, file)), exist_ok=True)
            with open(os.path.join(self.root, file), "w", encoding="utf-8") as f:
                first = "#pragma once" if file.endswith(".h") else re.search(r'^#include .*$', text, re.M)[0]
                line = text[:text.index(first)].count("\n") + 2
                f.write(text.replace(first, f'{first}\n#include "{header}"\n#line {line}', 1))

    def build_programs(self, tests, mutants):
        """Exit status and output of the compiler."""
        return self.run(["cmake", "--build", self.build, "--parallel", self.jobs, "--target"] + [self.program(t) for t in tests] + ["--", "-k", "0"])

    def state(self, program, mutants):
        """What a test's places and times are good for: these mutants, and this program."""
        of = "".join(f"{m['id']} {m['number']} {m['verdict'] == 'stillborn'}\n" for m in mutants)
        beside = getattr(self, "objects", self.build)
        return f"{hashlib.sha256(of.encode()).hexdigest()[:16]} {os.path.getmtime(os.path.join(beside, 'bin', self.program(program)))}"

    def compile(self, tests, mutants):
        """Builds; a mutant on a line that does not compile is stillborn, and the build is tried without it."""
        for _ in range(12):
            self.write(mutants)
            status, output = self.build_programs(tests, mutants)
            if status == 0:
                return
            lines = set(re.findall(r"(\w+/\w+\.(?:h|cpp)):(\d+)", output))
            bad = [m for m in mutants if m["verdict"] != "stillborn" and ("/".join(m["file"].split("/")[-2:]), str(m["line"])) in lines]
            errors = set(re.findall(r"(\w+/\w+\.(?:h|cpp)):(\d+):\d+: error", output))
            exact = [m for m in bad if ("/".join(m["file"].split("/")[-2:]), str(m["line"])) in errors]
            if not bad:
                sys.exit(output[-6000:])
            for m in exact or bad:
                m["verdict"], m["by"] = "stillborn", "does not compile"
        sys.exit("the mutated tree does not compile")

    @staticmethod
    def program(name):
        return name if name in PROGRAMS else "test_" + name

    def cases(self, name):
        """A test by its cases, so that only those run that come to a mutant's place, the quick ones first."""
        program = program_of(name)
        if program in PROGRAMS:
            return [name]
        setting, arguments = name.split(program, 1)
        done = subprocess.run([os.path.join(self.build, "bin", self.program(program)), *arguments.split(), "-#", "--list-test-names-only"], stdout=subprocess.PIPE, text=True)
        return [f"{setting}{program}: {case}" for case in done.stdout.split("\n") if case]

    def test(self, name, seconds=None, mutant=0, **environment):
        program = program_of(name)
        setting, arguments = name.split(program, 1)
        environment.update(word.split("=") for word in setting.split())
        if arguments.startswith(": "):
            arguments = [re.sub(r"([\\,\[\]])", r"\\\1", arguments[2:]), "--abort", "--rng-seed", "1"]
        else:
            arguments = arguments.split()
        return self.run([os.path.join(self.build, "bin", self.program(program)), *arguments], seconds=seconds, mutant=mutant, **environment)


class Objects(Tree):
    """The files with mutants alone; all else is that of another build of this very tree."""

    def __init__(self, directory, jobs, objects):
        self.root, self.jobs, self.build = os.path.join(directory, "source"), jobs, os.path.join(directory, "build")
        self.objects = os.path.abspath(objects)
        os.makedirs(os.path.join(self.build, "bin"), exist_ok=True)
        os.makedirs(os.path.join(self.root, "tests/mutate"), exist_ok=True)
        shutil.copy(os.path.join(ROOT, "tests/mutate/mutation_switch.h"), os.path.join(self.root, "tests/mutate"))
        self.units = {}  # of each file what it is compiled in, with the command
        with open(os.path.join(self.objects, "compile_commands.json"), encoding="utf-8") as f:
            for command in json.load(f):
                source = command["file"]
                together = source.startswith(self.objects + "/")
                with open(source, encoding="utf-8") as unit:
                    files = re.findall(r'^#include "(.*\.cpp)"$', unit.read(), re.M) if together else [source]
                for file in files:
                    self.units[os.path.relpath(file, ROOT)] = (source, command["command"].split())

    def write(self, mutants):
        super().write(mutants)
        for file in {m["file"] for m in mutants}:  # what stands beside a file stands beside the one that it was copied from
            path, beside = os.path.join(self.root, file), os.path.join(ROOT, os.path.dirname(file))
            with open(path, encoding="utf-8") as f:
                text = f.read()
            def included(match):
                return f'#include "{os.path.join(beside, match[1])}"' if os.path.exists(os.path.join(beside, match[1])) else match[0]
            with open(path, "w", encoding="utf-8") as f:
                f.write(re.sub(r'^#include "([^/].*)"$', included, text, flags=re.M))

    def object_of(self, file):
        return os.path.join(self.build, os.path.relpath(self.units[file][0], ROOT).replace("/", "_") + ".o")

    def compile_unit(self, files):
        """What these files are compiled in, with theirs exchanged for those with mutants."""
        (source, command), out = self.units[files[0]], self.object_of(files[0])
        text = f'#include "{source}"\n'
        if source != os.path.join(ROOT, files[0]):
            with open(source, encoding="utf-8") as f:
                text = f.read()
        inputs = []
        for file in files:
            text = text.replace(f'#include "{os.path.join(ROOT, file)}"', f'#include "{os.path.join(self.root, file)}"')
            with open(os.path.join(self.root, file), encoding="utf-8") as f:
                inputs.append(f.read())
        unit, done, now = out + ".cpp", out + ".done", text + "".join(inputs)
        if os.path.exists(done) and os.path.exists(out):
            with open(done, encoding="utf-8") as f:
                if f.read() == now:
                    return 0, ""
        with open(unit, "w", encoding="utf-8") as f:
            f.write(text)
        status, output = self.run(command[:command.index("-o")] + ["-w", "-o", out, "-c", unit], cwd=self.objects)
        if status == 0:
            with open(done, "w", encoding="utf-8") as f:
                f.write(now)
        return status, output

    def build_programs(self, tests, mutants):
        files, units = sorted({m["file"] for m in mutants}), {}
        for file in files:
            units.setdefault(self.object_of(file), []).append(file)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            results = list(pool.map(self.compile_unit, units.values()))
        if any(status != 0 for status, _ in results):
            return 1, "".join(output for _, output in results)
        for program in map(self.program, tests):
            out = os.path.join("bin", program)
            link = subprocess.run(["ninja", "-C", self.objects, "-t", "commands", "-s", out], stdout=subprocess.PIPE, text=True, check=True).stdout
            link = re.search(r"&& (\S+ .*? -o " + out + r" .*?) &&", link)[1].split()
            at = link.index("-o")
            libraries = " ".join(link)
            own = sorted({self.object_of(f) for f in files if f"libinlay_{f.split('/')[0]}.a" in libraries})
            command = link[:at] + own + ["-o", os.path.join(self.build, out)] + link[at + 2:]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.objects)
            if done.returncode != 0:
                sys.exit(done.stdout[-4000:])
        return 0, ""


def since(commit, mutants):
    """Those on lines that no commit up to this one has."""
    new = {}
    for file in {m["file"] for m in mutants}:
        blame = subprocess.run(["git", "-C", ROOT, "blame", "-l", "-s", "-w", "-C", "-C", "-M", f"^{commit}", "--", file], stdout=subprocess.PIPE, text=True, check=True).stdout
        new[file] = [not line.startswith("^") for line in blame.split("\n")]
    return [m for m in mutants if new[m["file"]][m["line"] - 1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=sorted(WHAT), default="algebra")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression on file:line or id")
    parser.add_argument("--since", default="", help="only lines that are newer than this commit")
    parser.add_argument("--list", action="store_true", help="show the mutants and stop")
    parser.add_argument("--directory", default=os.path.join(ROOT, "build", "mutation"))
    parser.add_argument("--objects", default="", help="a build of this tree whose objects stand for all that is not mutated")
    parser.add_argument("--tests", default="", help="regular expression on the tests that must notice, for a quick first look")
    parser.add_argument("--limit", type=float, default=0, help="seconds of processor time for one mutant")
    parser.add_argument("--report", default="")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.directory = os.path.abspath(options.directory)

    sources, components, by_file = WHAT[options.what]
    by_file = [(pattern, [t for t in tests if re.search(options.tests, t)]) for pattern, tests in by_file]
    TESTS = list(dict.fromkeys(t for _, tests in by_file for t in tests))
    if not TESTS:
        sys.exit(f"error: no test is called '{options.tests}'")
    ends = (".h", ".ipp") if options.what == "algebra" else (".cpp",)
    files = sorted(os.path.relpath(os.path.join(folder, f), ROOT) for folder, _, names in os.walk(os.path.join(ROOT, sources))
                   for f in names if f.endswith(ends))
    files = [f for f in files if any(re.search(pattern, f) for pattern, _ in by_file)]
    found = candidates(files)
    if options.since:
        found = since(options.since, found)
    mutants = choose(found, options.mutants, options.seed)
    sample = mutants  # all of them are compiled, so that a part of the sample is asked again at once
    for number, m in enumerate(sample, 1):
        m["number"], m["verdict"], m["by"] = number, "survived", ""
    mutants = [m for m in mutants if re.search(options.only, f"{m['file']}:{m['line']} {m['id']}")]
    print(f"{len(mutants)} of {len(found)} possible mutants, seed {options.seed}")
    if options.list:
        for m in mutants:
            print(f"{m['id']}  {m['file']}:{m['line']}\n    - {m['before']}\n    + {m['after']}")
        return 0

    tree = Objects(options.directory, options.jobs, options.objects) if options.objects else Tree(options.directory, options.jobs, components)
    tree.compile(sorted({program_of(t) for t in TESTS}), sample)
    before = []
    if options.report and os.path.exists(options.report):
        with open(options.report, encoding="utf-8") as f:
            before = json.load(f)["mutants"]
    killers = {m["id"]: m["test"] for m in before if m.get("test")}
    limits, reached, cost = {}, {}, {}
    def used():
        times = resource.getrusage(resource.RUSAGE_CHILDREN)
        return times.ru_utime + times.ru_stime
    # What the unchanged tree needs for each test, and which mutants' places it comes to: as long as tests and mutants are these.
    known, path = {}, os.path.join(options.directory, "reached.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            known = json.load(f)
    by_file = [(pattern, [case for t in tests for case in tree.cases(t)]) for pattern, tests in by_file]
    for test in dict.fromkeys(t for _, tests in by_file for t in tests):
        now = tree.state(program_of(test), sample)
        if known.get(test, {}).get("state") != now:
            begin, file, places = used(), os.path.join(options.directory, "reached"), []
            status, output = tree.test(test, seconds=int(options.limit) or None, INLAY_MUTANTS_REACHED=file)
            if status == "timeout":
                print(f"left out, as it takes longer than the limit: {test}")
            elif status != 0:
                sys.exit(f"the unchanged tree fails {test}\n{output[-4000:]}")
            else:
                with open(file, encoding="utf-8") as f:
                    places = [int(line) for line in f]
            known[test] = {"state": now if places else "", "seconds": used() - begin, "reached": places}
            with open(path, "w", encoding="utf-8") as f:
                json.dump(known, f)
        seconds, reached[test] = known[test]["seconds"], set(known[test]["reached"])
        limits[test] = int(2 * seconds + 5)
        cost[test] = (0.1 + seconds) * len(reached[test])
    by_file = [(pattern, sorted(tests, key=cost.get)) for pattern, tests in by_file]

    with open(os.path.join(ROOT, "tests/mutate/equivalent.json"), encoding="utf-8") as f:
        equivalent = {e["id"]: e.get("kind", "same") for e in json.load(f) if e.get("what", "algebra") == options.what}
    for m in mutants:
        if m["text"]:
            m["verdict"], m["by"] = "stillborn", "a difference of texts"
        tests = next(tests for pattern, tests in by_file if re.search(pattern, m["file"])) if m["verdict"] != "stillborn" else []
        tests = [t for t in tests if m["number"] in reached[t]]
        if m["verdict"] != "stillborn" and not tests:
            m["by"] = "no test comes here"
        begin = used()
        for tried, test in enumerate(sorted(tests, key=lambda t: t != killers.get(m["id"]))):
            if options.limit and used() - begin > options.limit:
                m["by"] = f"stopped after {tried} of {len(tests)} tests"
                break
            status, output = tree.test(test, limits[test], m["number"])
            if status == 77:
                m["verdict"], m["by"] = "stillborn", "does not exist for its types"
                break
            if status != 0:
                m["verdict"], m["test"], m["by"] = "killed", test, f"{test}: {'takes too long' if status == 'timeout' else status}"
                break
        done = mutants[:mutants.index(m) + 1]
        if options.report:
            judged = {x["id"] for x in done}
            with open(options.report, "w", encoding="utf-8") as f:
                json.dump({"seed": options.seed, "mutants": done + [x for x in before if x["id"] not in judged]}, f, indent=1)
        print(f"{m['number']:4d}/{len(mutants)} {m['verdict']:9s} {m['id']} {m['file']}:{m['line']}  {m['by']}", flush=True)
        if m["verdict"] == "survived" and m["id"] not in equivalent:
            print(f"       - {m['before']}\n       + {m['after']}", flush=True)

    counts = {v: sum(m["verdict"] == v for m in mutants) for v in ("killed", "stillborn", "survived")}
    survivors = {m["id"] for m in mutants if m["verdict"] == "survived"}
    considered = {m["id"] for m in mutants}
    unlisted = sorted(survivors - equivalent.keys())
    stale = sorted(i for i in equivalent if i not in survivors and (i in considered or (not options.only and len(found) <= options.mutants)))
    counting = counts["killed"] + len(unlisted)
    alive = 100 * len(unlisted) / max(1, counting)
    raw = 100 * counts["survived"] / max(1, counts["killed"] + counts["survived"])
    kinds = collections.Counter(equivalent[i] for i in survivors if i in equivalent)
    print(f"{counts['killed']} killed, {counts['stillborn']} stillborn, {counts['survived']} survived ({raw:.1f} %), {len(survivors) - len(unlisted)} of them "
          f"argued ({', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))}); {len(unlisted)} of {counting} that count survived ({alive:.1f} %)")
    print("killed by", ", ".join(f"{name} {n}" for name, n in collections.Counter(program_of(m["test"]) for m in mutants if m.get("test")).most_common()))
    for i in unlisted:
        print(f"survived and not in equivalent.json: {i}")
    for i in stale:
        print(f"in equivalent.json, but does not survive: {i}")
    print(f"caught {counts['killed']} of {counting}")
    return 1 if unlisted or stale else 0


sys.exit(main())
