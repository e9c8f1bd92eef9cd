"""The Program interface: the guide's kernels in Python are those of C++, byte for byte, and what is wrong is refused at the line of Python."""
import gc
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

import inlay
import numpy
from inlay import codegen
from inlay._tools import check_shape
from inlay.codegen import (Atom, MmaTiling, Program, Swizzle, choose, exp, float_bits, from_bits, integer, less_signed, line_tv, popcount, rows_tv, select,
                           to_number)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
GUIDE = ("vector_add", "silu_mul", "row_softmax", "mfma_gemm", "gemv", "embedding_bag", "roles", "attention")


def line():
    """Of the caller."""
    return inspect.currentframe().f_back.f_lineno


def machine_code(file):
    """What is loaded of a code object: instructions, descriptor, metadata; not the lines of its source."""
    offset, = struct.unpack_from("<Q", file, 0x28)
    size, count, names = struct.unpack_from("<HHH", file, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", file, offset + i * size) for i in range(count)]
    text = sections[names][4]
    named = {file[text + s[0]:file.index(b"\0", text + s[0])].decode(): file[s[4]:s[4] + s[5]] for s in sections if s[1] != 8}
    return {name: named[name] for name in (".text", ".rodata", ".note")}


def gemm(target="gfx942", *, row=0, depth=None, swizzle=Swizzle(3, 3, 3)):
    """The guide's GEMM with one place to change, and the line of its store."""
    mma = MmaTiling.of(Atom.mma_best(target, "bf16", "bf16", "f32", 16), 2, 2, 64, 64, 64, 8)
    k = Program("gemm64", target, mma.threads())
    M, N, K = k.size("m"), k.size("n", most=1 << 20, multiple=4), k.size("k", most=1 << 20, multiple=8)
    C, A, B = k.output("c", "f32", [M, N]), k.input("a", "bf16", [M, K]), k.input("b", "bf16", [N, K])
    k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * B[n + row, i]))
    bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
    rows = rows_tv(64, 64, 8, mma.threads())
    a, b = (k.lds(name, "bf16", [64, 64], swizzle) for name in ("lds_a", "lds_b"))
    acc = k.zeros("f32", mma.c(), [64, 64])
    @k.loop(K if depth is None else depth, 64)
    def trip(t):
        k.copy(k.tile(A, [64, 64], [bm, t]), a, rows, 8)
        k.copy(k.tile(B, [64, 64], [bn, t]), b, rows, 8)
        k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
    k.store(acc, k.tile(C, [64, 64], [bm, bn]), 4); stored = line()
    return k, stored


class Guide(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("INLAY_GUIDE_PROGRAMS"), "no program that builds those of C++")
    def test_the_guides_kernels_are_right_on_the_emulator_and_are_those_of_cpp(self):
        with tempfile.TemporaryDirectory() as directory, open(os.devnull, "w") as nothing:
            slow = bool(os.environ.get("INLAY_SLOW"))
            subprocess.run([os.environ["INLAY_GUIDE_PROGRAMS"], directory] + ["all"] * slow, check=True)
            codes = {}
            for file in sorted(os.listdir(directory)):
                name, target, _ = file.split(".")
                module = importlib.import_module(name.removeprefix("causal_"))
                with self.subTest(file), open(os.path.join(directory, file), "rb") as code:
                    if module.__name__ != name:
                        built = module.flash_attention(target, causal=True).build()
                    else:
                        out, sys.stdout = sys.stdout, nothing
                        try:
                            built = module.main(target)
                        finally:
                            sys.stdout = out
                    codes[file] = machine_code(code.read())
                    self.assertEqual(machine_code(built.hsaco), codes[file])
            self.assertEqual(len(codes), 2 * (len(GUIDE) + 1) if slow else 2 * len(GUIDE) - 1)
            self.assertEqual(len({str(code) for code in codes.values()}), len(codes))  # no two are one

    def test_rows_through_a_table_turns_and_several_devices(self):
        for name in ("moe_stage2", "cumsum", "all_reduce"):
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                inlay.build(name, directory)
                built = importlib.import_module(name).main()
                with open(os.path.join(directory, name + ".hsaco"), "rb") as code:
                    self.assertEqual(machine_code(built.hsaco), machine_code(code.read()))

    def test_loops_in_loops_and_persistent_workgroups(self):
        for name in ("grouped_gemm", "logits_logsumexp", "cell", "segment_sum", "transfer_gemm"):
            for target in ("gfx942", "gfx950"):
                with self.subTest(name, target=target):
                    importlib.import_module(name).main(target)  # checks its result

    def test_numbers_of_few_bits(self):
        for target in ("gfx90a", "gfx942", "gfx950"):
            with self.subTest(target=target):
                importlib.import_module("small_numbers").main(target)  # checks its result

    def test_ids_of_64_bits(self):
        for target in ("gfx90a", "gfx942", "gfx950"):
            with self.subTest(target=target):
                importlib.import_module("wide_ids").main(target)  # checks its result

    def test_counts_and_masks(self):
        for name in ("histogram", "block_sparse", "block_sparse_attention", "as_written", "hamming", "greatest"):
            for target in ("gfx90a", "gfx942", "gfx950"):
                with self.subTest(name, target=target):
                    importlib.import_module(name).main(target)  # checks its result

    def test_ten_programs(self):
        """Those of the guide's page 28: in as many lines as its table has, at most so many, and right."""
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "docs", "guide", "28-ten-programs.md")) as page:
            rows = [line.split(" | ") for line in page if line.startswith("| [`")]
        self.assertEqual(len(rows), 12)
        built = set()
        for what, lines, most, _ in rows:
            name = re.search(r"`(\w+)\.py`", what)[1]
            program = re.search(r", `(\w+)`", what)
            with self.subTest(what):
                with open(os.path.join(root, "examples", "python", name + ".py")) as text:
                    regions = re.findall(r"# \[([\w ]+)\]\n(.*?)# \[\1 end\]", text.read(), re.S)
                count = sum(body.count("\n") for region, body in regions if not program or region.replace(" ", "_") == program[1])
                self.assertEqual(count, int(lines))
                self.assertLessEqual(count, int(most))
                if name not in built:
                    importlib.import_module(name).main()
                built.add(name)

    def test_scan_of_integers(self):
        """Sums up to each element modulo 2^32, of rows that end inside of tiles, and an order of work-items that it is not made for."""
        k = Program("scan", "gfx950", 128)
        m, n = k.size("m", most=64), k.size("n", most=1 << 16, multiple=2)
        y, x = k.output("y", "i32", [m, n]), k.input("x", "i32", [m, n])
        k.computes(y, lambda r, i: k.sum(n, 0, i + 1, lambda j: integer(x[r, j])))
        row, tv = k.workgroups(0, m, 1), rows_tv(1, 512, 2, 128)
        before = k.zeros("i32", "(128,1):(0,0)", [1, 1])
        add = lambda a, b: integer(a) + integer(b)
        @k.loop(n, 512, distance=1, ring=2)
        def trip(t):
            up_to, all = k.scan("sum", k.load(k.tile(x, [1, 512], [row, t]), tv, 2), 1, "i32")
            k.store(k.map([up_to, before], add, "i32"), k.tile(y, [1, 512], [row, t]), 2)
            k.update(before, [all], add)
        artifact, random = k.build(), numpy.random.default_rng(3)
        for rows, columns in ((1, 2), (3, 512), (2, 1500)):
            of = random.integers(-1 << 31, 1 << 31, (rows, columns)).astype(numpy.int32)
            to = numpy.zeros_like(of)
            artifact.run(to, of, m=rows, n=columns, check="all", stress=1)
            numpy.testing.assert_array_equal(to, numpy.cumsum(of, 1, dtype=numpy.int32))
        with self.assertRaisesRegex(Exception, "do not follow one another"):
            k.scan("sum", k.zeros("f32", "((64,2),1):((2@1,1@1),1@0)", [1, 128]), 1)

    def test_windows(self):
        k = Program("curvature", "gfx942", 64)
        n = k.size("n", most=1 << 20)
        y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
        before, after = (k.window(name, x, [(n, [(n, 0)])], [by]) for name, by in (("before", -1), ("after", 1)))
        k.computes(y, lambda i: before[i] - 2 * x[i] + after[i])
        w = k.workgroups(0, n, 256)
        parts = [k.load(k.tile(t, [256], [w]), line_tv(256, 1, 64), 1) for t in (before, x, after)]
        k.store(k.map(parts, lambda a, b, c: a - 2 * b + c), k.tile(y, [256], [w]), 1)
        built = k.build()
        for size in (1, 255, 1000):
            given, out = numpy.random.default_rng(size).uniform(-1, 1, size).astype(numpy.float32), numpy.zeros(size, numpy.float32)
            built.run(out, given, n=size)
            padded = numpy.pad(given, 1)
            numpy.testing.assert_allclose(out, padded[:-2] - 2 * given + padded[2:], atol=1e-6)
        # Rows of 5, of which every other one from the third on, and a digit with a step.
        k = Program("some", "gfx942", 64)
        m = k.size("m", most=1000)
        y, x = k.output("y", "f32", [m, 4]), k.input("x", "f32", [m, 5])
        some = k.window("some", x, [(m, [(m, 0, 2)]), (4, [(4, 1)])], [2, 1])
        k.computes(y, lambda i, j: some[i, j])
        w = k.workgroups(0, m, 16)
        k.store(k.load(k.tile(some, [16, 4], [w, 0]), rows_tv(16, 4, 1, 64), 1), k.tile(y, [16, 4], [w, 0]), 1)
        given, out = numpy.arange(50, dtype=numpy.float32).reshape(10, 5), numpy.ones((10, 4), numpy.float32)
        k.build().run(out, given, m=10)
        numpy.testing.assert_array_equal(out, numpy.concatenate([given[2::2, 1:], numpy.zeros((6, 4))]))
        with self.assertRaisesRegex(inlay.ProgramError, "axes"):
            k.window("none", x, [(m, [(m, 0)])], [0])

    def test_a_tile_that_is_moved(self):
        for target in ("gfx90a", "gfx950"):
            importlib.import_module("stencil").main(target)  # checks its result
        k = Program("moved", "gfx942", 64)
        m = k.size("m", most=1000)
        x, y = k.input("x", "f32", [m, 5]), k.output("y", "f32", [m, 5])
        view = k.tile(x, [16, 5], [k.workgroups(0, m, 16), 0])
        self.assertEqual([str(s) for s in view.origin], ["16*wg_x", "0"])
        view.origin[-1] += 3
        view.origin[0] = m
        self.assertEqual([str(s) for s in view.origin], ["m", "3"])
        self.assertEqual(str(k.tile(x, [16, 5], [0, 0]).origin[1]), "0")  # another view
        for axis in (2, -3):
            with self.assertRaises(IndexError):
                view.origin[axis] = 0
        with self.assertRaisesRegex(inlay.ProgramError, "does not belong") as error:
            wrong = line(); view.origin[0] = Program("other", "gfx942", 64).size("m")
        self.assertEqual(error.exception.line, wrong)
        # A moved tile is compared as it is: one further on it is another one than the specification says.
        def shifted(by):
            k = Program("shifted", "gfx942", 64)
            n = k.size("n", most=1000)
            y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
            later = k.window("later", x, [(n + 3, [(n, 0)])], [0])
            k.computes(y, lambda i: later[i + 2])
            group = k.workgroups(0, n, 64)
            view = k.tile(later, [64], [group])
            view.origin[0] += by
            k.store(k.load(view, line_tv(64, 1, 64), 1), k.tile(y, [64], [group]), 1)
            return k.build()

        given, out = numpy.arange(1, 101, dtype=numpy.float32), numpy.zeros(100, numpy.float32)
        shifted(2).run(out, given, n=100, check="all")
        numpy.testing.assert_array_equal(out, numpy.concatenate([given[2:], [0, 0]]))
        with self.assertRaisesRegex(inlay.ProgramError, "y is what the specification says"):
            shifted(1)

    def test_orders_that_rows_do_not_share(self):
        """Programs whose claims were proved, and whose equal rows had other bits."""
        wide = 256

        def start(**facts):
            k = Program("o", "gfx942", 64)
            m, n = k.size("m", most=256, **facts), k.size("n", most=4096)
            y, x = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, wide])
            k.computes(y, lambda r, _: k.sum(wide, lambda i: x[r, i]))

            def fold(row, vector):  # of 4 by halves, of single elements in order
                return k.fold("sum", k.load(k.tile(x, [1, wide], [row, 0]), rows_tv(1, wide, vector, 64), vector), 1)

            def store(f, row):
                k.store(f, k.tile(y, [1, 1], [row, 0]), 1)
            return k, m, n, fold, store

        def one_or_other(k, condition, a, b):
            return k.map([a, b], lambda a, b: choose(condition, a, b))

        def last_by_itself(k, m, n, fold, store):
            k.loop(m - 1, 1, lambda t: store(fold(t, 4), t), distance=0, ring=1)
            store(fold(m - 1, 1), m - 1)

        def two_loops(k, m, n, fold, store):
            k.loop(0, m - 5, 1, lambda t: store(fold(t, 4), t), distance=0, ring=1)
            k.loop(m - 5, m, 1, lambda t: store(fold(t, 1), t), distance=0, ring=1)

        def by_trip(k, m, n, fold, store):
            k.loop(m, 1, lambda t: store(one_or_other(k, less_signed(integer(k.number(t)), k.integer(2)), fold(t, 4), fold(t, 1)), t),
                   distance=0, ring=1)

        def by_trip_in_branches(k, m, n, fold, store):
            w = k.workgroups(0, m, 8)

            def row(t):
                k.if_less(t, 2, lambda: store(fold(8 * w + t, 4), 8 * w + t), lambda: store(fold(8 * w + t, 1), 8 * w + t))
            k.loop(8, 1, row, distance=0, ring=1)

        def in_a_branch(k, m, n, fold, store):
            w = k.workgroups(0, m, 2)
            store(fold(2 * w, 4), 2 * w)
            odd = lambda: store(fold(2 * w + 1, 1), 2 * w + 1)
            k.if_less(n, 100, odd, odd)

        def by_vectors(k, m, n, fold, store):
            w = k.workgroups(0, m, 2)
            store(fold(2 * w, 4), 2 * w)
            store(fold(2 * w + 1, 1), 2 * w + 1)

        def rounded_otherwise(k, m, n, fold, store):
            w = k.workgroups(0, m, 2)
            for row, contract in ((2 * w, True), (2 * w + 1, False)):
                f = fold(row, 4)
                store(k.map([f, f], lambda a, b: a * b + a, "f32", contract=contract), row)

        def by_another_size(k, m, n, fold, store):
            w = k.workgroups(0, m, 1)
            store(one_or_other(k, less_signed(integer(k.number(n)), k.integer(100)), fold(w, 4), fold(w, 1)), w)

        for build, facts, claim in ((last_by_itself, {"least": 6}, "batch-invariant"), (two_loops, {"least": 6}, "batch-invariant"),
                                    (by_trip, {}, "position-invariant"), (by_trip_in_branches, {}, "position-invariant"), (in_a_branch, {"multiple": 2}, "position-invariant"),
                                    (by_vectors, {"multiple": 2}, "position-invariant"),
                                    (rounded_otherwise, {"multiple": 2}, "position-invariant"),
                                    (by_another_size, {}, "split-invariant")):
            with self.subTest(build.__name__):
                k, m, n, fold, store = start(**facts)
                build(k, m, n, fold, store)
                verdicts = [c.verdict for c in k.orders().claims if c.claim.startswith(claim)]
                self.assertEqual(verdicts, ["undecided"], str(k.orders()))

    def test_zeros_of_products_that_become_f16(self):
        """Of one element alone LLVM adds 0 to a product that becomes f16: -0 became 0 in every other row."""
        for f in (lambda v: v * 0.3, lambda v: v * v * v, lambda v: exp(v) * v, lambda v: v / 3):
            k = Program("rows", "gfx942", 64)
            M, n = k.size("m", most=1 << 10, multiple=2), 256
            x, y, w = k.input("x", "f16", [M, n]), k.output("y", "f16", [M, n]), k.workgroups(0, M, 2)
            k.computes(y, lambda m, i: f(x[m, i]))
            for r, v in ((2 * w, 4), (2 * w + 1, 1)):
                k.store(k.map([k.load(k.tile(x, [1, n], [r, 0]), rows_tv(1, n, v, 64), v)], f), k.tile(y, [1, n], [r, 0]), v)
            built = k.build()
            given, out = numpy.tile(numpy.array([-0.0, 0, 1, -3], numpy.float16), (4, n // 4)), numpy.zeros((4, n), numpy.float16)
            built.run(*({"x": given, "y": out}[name] for name in built.buffers), m=4, check="all")
            numpy.testing.assert_array_equal(out.view(numpy.uint16), numpy.tile(out[0].view(numpy.uint16), (4, 1)))
            self.assertEqual(out.view(numpy.uint16)[1, :2].tolist(), [0x8000, 0])

    def test_what_llvm_gets_wrong(self):
        """Signs of vectors of words, 0 - x, what is a product after its passes, a fence of what all lanes share (codegen/llvm_defects.cpp)."""
        def mapped(target, out, f, vector, *inputs):
            k = Program("mapped", target, 64)
            n = k.size("n", most=1 << 10, multiple=vector)
            y, x = k.output("y", out, [n]), [k.input(f"x{i}", "f32", [n]) for i in range(len(inputs))]
            k.computes(y, lambda i: f(k, *(t[i] for t in x)))
            w, tv = k.workgroups(0, n, 64 * vector), line_tv(64 * vector, vector, 64)
            of = [k.load(k.tile(t, [64 * vector], [w]), tv, vector) for t in x]
            k.store(k.map(of, lambda *v: f(k, *v), out, contract=False, approximate=False), k.tile(y, [64 * vector], [w]), vector)
            given = [numpy.array(v, numpy.float32) for v in inputs]
            result = numpy.full(len(inputs[0]), 7, {"f32": numpy.float32, "f16": numpy.float16}[out])
            k.build().run(result, *given, n=len(result), check="all")
            return result

        def bits(x):
            return x.view({2: numpy.uint16, 4: numpy.uint32}[x.itemsize]).tolist()

        def size(x):
            return from_bits(float_bits(x) & 0x7FFFFFFF)
        a, b = [1, -2, 3, 4, -5, 6, -0.0, 0], [1, 1, -1, -2, 3, -4, -0.0, 0]
        for target in ("gfx942", "gfx950", "gfx90a"):
            for vector in (1, 2, 4):
                with self.subTest(target, vector=vector):
                    x, z = numpy.array(a, numpy.float32), numpy.array(b, numpy.float32)
                    chosen = -numpy.where(z >= 0, x, z)
                    self.assertEqual(bits(mapped(target, "f32", lambda k, x, z: -select(z, k.constant(0), x, z), vector, a, b)), bits(chosen))
                    self.assertEqual(bits(mapped(target, "f32", lambda k, x, z: select(z, k.constant(0), size(x), z), vector, a, b)),
                                     bits(numpy.where(z >= 0, abs(x), z)))
                    self.assertEqual(bits(mapped(target, "f32", lambda k, x, z: (k.constant(0) - x) * 3, vector, a, b)), bits((numpy.float32(0) - x) * numpy.float32(3)))
                    for f, want in ((lambda k, x, z: x / 2, x / 2), (lambda k, x, z: codegen.max(x * z, x * z), x * z), (lambda k, x, z: x * z - 0.0, x * z),
                                    (lambda k, x, z: (x * z) / 2, x * z / 2)):
                        self.assertEqual(bits(mapped(target, "f16", f, vector, a, b)), bits(want.astype(numpy.float16)))
            for element, by in (("f32", 1 / 128), ("f16", 0.5)):  # a mean in f16, which all lanes have
                with self.subTest(target, mean=element):
                    k = Program("mean", target, 256)
                    m, n = k.size("m", most=64), k.size("n", most=256)
                    y, x, w = k.output("y", "f16", [m, 1]), k.input("x", element, [m, n]), k.workgroups(0, m, 1)
                    k.computes(y, lambda r, _: k.sum(n, lambda i: x[r, i]) * by)
                    total = k.fold("sum", k.load(k.tile(x, [1, 256], [w, 0]), rows_tv(1, 256, 1, 256), 1), 1)
                    k.store(k.map([total], lambda v: v * by, "f32"), k.tile(y, [1, 1], [w, 0]), 1)
                    given = numpy.arange(3 * 100).reshape(3, 100).astype({"f32": "f4", "f16": "f2"}[element]) % 4
                    out = numpy.zeros((3, 1), "f2")
                    k.build().run(out, given, m=3, n=100, check="all")
                    self.assertEqual(out[:, 0].tolist(), (given.astype("f4").sum(1) * by).astype("f2").tolist())

    def test_what_8_bits_do_not_hold_is_not_refuted(self):
        """1 / 0 in i8 is 127 and in fp8 a NaN; to validation it is an infinity, which such a format has not."""
        for element in ("i8", "fp8"):
            k = Program("reciprocals", "gfx942", 64)
            n = k.size("n", most=1 << 10)
            y, x, w = k.output("y", element, [n]), k.input("x", "i32", [n]), k.workgroups(0, n, 64)
            k.computes(y, lambda i: codegen.rcp(x[i]))
            tv = line_tv(64, 1, 64)
            k.store(k.map([k.load(k.tile(x, [64], [w]), tv, 1)], codegen.rcp, element), k.tile(y, [64], [w]), 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertNotIn("refuted", k.build(validate=True).validation)

    def test_a_grid_in_the_least_numbers(self):
        """ceil(16 t / 1024) workgroups are ceil(t / 64), and tiles of 64 begin inside."""
        for extent, tile, of in ((16, 1024, 64), (3, 192, 64), (1, 64, 64), (2, 64, 32)):
            k = Program("copies", "gfx942", 64)
            t = k.size("t", most=1 << 16)
            x, y = k.input("x", "f32", [t]), k.output("y", "f32", [t])
            k.computes(y, lambda i: x[i])
            w, tv = k.workgroups(0, extent * t, tile), line_tv(64, 1, 64)
            k.store(k.load(k.tile(x, [64], [w]), tv, 1), k.tile(y, [64], [w]), 1)
            if of == 64:
                out, given = numpy.zeros(301, "f4"), numpy.arange(301, dtype="f4")
                k.build().run(out, given, t=301, check="all")
                self.assertEqual(out.tolist(), given.tolist())
            else:  # one workgroup in two begins after the end
                with self.assertRaises(inlay.ProgramError):
                    k.prove()

    def test_what_is_rounded_under_way(self):
        """Conversions are the identity in a proof: that what is rounded fits is the caller's to see to, by name."""
        def through(element, f=lambda v: v, of="f32"):
            k = Program("through", "gfx942", 256)
            n = k.size("n", most=1 << 10)
            y, x = k.output("y", "f32", [n]), k.input("x", of, [n])
            k.computes(y, lambda i: f(x[i]) * 2)
            w, tv = k.workgroups(0, n, 256), line_tv(256, 1, 256)
            h = k.map([k.load(k.tile(x, [256], [w]), tv, 1)], f, element); self.rounds = line()
            k.store(k.map([h], lambda v: v * 2), k.tile(y, [256], [w]), 1)
            return [c["subject"] for c in k.prove().items if c["verdict"] == "the caller's"]
        for element, fits in (("fp8", "has no magnitude over 240"), ("i8", "is whole, -128 to 127"), ("f16", "has no magnitude over 65504")):
            said = through(element)
            self.assertEqual(said, [f"what test_program.py:{self.rounds} rounds to {'e4m3fnuz' if element == 'fp8' else element} {fits}"])
        self.assertEqual(through("bf16"), [])
        self.assertEqual(through("fp8", of="fp8"), [])  # nothing is rounded
        self.assertEqual(through("f16", of="f16"), [])
        k = Program("stored", "gfx942", 256)  # what is stored so is of the specification's type
        n = k.size("n", most=1 << 10)
        y, x = k.output("y", "fp8", [n]), k.input("x", "f32", [n])
        k.computes(y, lambda i: x[i] * 2)
        w, tv = k.workgroups(0, n, 256), line_tv(256, 1, 256)
        k.store(k.map([k.load(k.tile(x, [256], [w]), tv, 1)], lambda v: v * 2, "fp8"), k.tile(y, [256], [w]), 1)
        self.assertEqual([c["subject"] for c in k.prove().items if c["verdict"] == "the caller's"], [])

    def test_orders_of_sums(self):
        k, _ = gemm()
        orders = k.orders()
        self.assertTrue(orders["deterministic"] and orders["batch-invariant"] and orders["split-invariant"], str(orders))
        self.assertEqual(orders["deterministic"].verdict, "proved")
        self.assertIn("mfma", orders.sums["c"])
        k = Program("parts", "gfx942", 64)
        rows, n = k.size("rows"), k.size("n", most=64)
        y, x = k.output("y", "f32", [n]), k.input("x", "f32", [rows, n])
        k.computes(y, lambda j: k.sum(rows, lambda i: x[i, j]))
        part = k.workgroups(0, rows, 1)
        k.add(k.load(k.tile(x, [1, 64], [part, 0]).keep([1]), line_tv(64, 1, 64), 1), k.tile(y, [64], [0])); added = line()
        claim = k.orders()["deterministic"]
        self.assertFalse(claim)
        self.assertEqual((claim.verdict, claim.file, claim.line), ("refuted", __file__, added))
        self.assertIn("atomics", claim.reason)
        with self.assertRaises(KeyError):
            orders["fast"]

    def test_under_stress(self):
        k = Program("adds", "gfx942", 256)
        t, p = k.size("tokens", most=1000), k.size("rows", most=1000, multiple=256)
        y, x, ids = k.output("y", "f32", [t]), k.input("x", "f32", [p]), k.input("ids", "i32", [p])
        k.scatters(y, ids, lambda i: x[i])
        w, tv = k.workgroups(0, p, 256), line_tv(256, 1, 256)
        k.add(k.load(k.tile(x, [256], [w]), tv, 1), k.tile(y, [256], [0]).through(0, k.load(k.tile(ids, [256], [w]), tv, 1)))
        adds, rng = k.build(), numpy.random.default_rng(1)
        data = (rng.standard_normal(512) * 10.0 ** (numpy.arange(512) % 7)).astype("f4")
        out, one = numpy.zeros(3, "f4"), numpy.zeros(512, "i4")  # all to one element: the order of the waves tells
        with self.assertRaisesRegex(inlay.CommandError, r"adds: byte \d+ of y is 0x\w\w in a plain run and 0x\w\w under stress, seed \d"):
            adds.run(out, data, one, tokens=3, rows=512, stress=5)
        self.assertFalse(out.any())  # nothing was written
        adds.run(out, numpy.ones(512, "f4"), one, tokens=3, rows=512, stress=2)  # exact in any order
        for check in (True, False, None, "races"):
            adds.run(numpy.zeros(3, "f4"), numpy.ones(512, "f4"), one, tokens=3, rows=512, check=check)
        with self.assertRaisesRegex(TypeError, "^check=3: names such as"):
            adds.run(out, data, one, tokens=3, rows=512, check=3)
        self.assertEqual(out.tolist(), [512, 0, 0])

    def test_an_inner_loop_goes_on_with_the_sum_of_the_trip_before(self):
        """A block of assembly zeroes its accumulators: this is IR, without being asked."""
        for target in ("gfx942", "gfx950"):
            mma = MmaTiling.of(Atom.mma_best(target, "bf16", "bf16", "f32", 16), 2, 2, 64, 64, 64, 8)
            k = Program("two_levels", target, mma.threads())
            M, N = k.size("m", most=1 << 16), k.size("n", most=1 << 16, multiple=4)
            K = k.size("k", most=1 << 14, multiple=256)
            C, A, B = k.output("c", "f32", [M, N]), k.input("a", "bf16", [M, K]), k.input("b", "bf16", [N, K])
            k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * B[n, i]))
            bm, bn = k.workgroups(0, M, 64), k.workgroups(1, N, 64)
            rows = rows_tv(64, 64, 8, 256)
            a = k.conflict_free_tile("a_", "bf16", 64, 64, 8, rows, mma.a())
            b = k.conflict_free_tile("b_", "bf16", 64, 64, 8, rows, mma.b())
            acc = k.zeros("f32", mma.c(), [64, 64])
            @k.loop(K, 256, distance=0, ring=1)
            def outer(c):
                @k.loop(256, 64, distance=2, ring=2)
                def inner(t):
                    k.copy(k.tile(A, [64, 64], [bm, 4 * c + t]), a, rows, 8)
                    k.copy(k.tile(B, [64, 64], [bn, 4 * c + t]), b, rows, 8)
                    k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
            k.store(acc, k.tile(C, [64, 64], [bm, bn]), 4)
            rng, out = numpy.random.default_rng(2), numpy.zeros((70, 68), "f4")
            x, y = (rng.standard_normal(shape).astype("f4").view("u4") >> 16 for shape in ((70, 768), (68, 768)))
            k.build().run(out, x.astype("u2"), y.astype("u2"), m=70, n=68, k=768, check="all", stress=2)
            want = (x << 16).view("f4").astype(float) @ (y << 16).view("f4").astype(float).T
            numpy.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-3)
            with self.assertRaisesRegex(inlay.ProgramError, "goes on with sums that it did not begin"):
                k.build(loops="asm")

    def test_they_have_as_many_lines_as_in_cpp(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
        for python, cpp, region in (("mfma_gemm.py", "07_mfma_gemm.cpp", "mfma gemm"), ("row_softmax.py", "06_row_softmax.cpp", "row softmax"),
                                    ("gemv.py", "08_gemv.cpp", "gemv"), ("embedding_bag.py", "09_embedding_bag.cpp", "embedding bag"),
                                    ("silu_mul.py", "05_silu_mul.cpp", "silu")):
            lengths = []
            for file, mark in ((os.path.join("python", python), "# "), (cpp, "// ")):
                with open(os.path.join(root, file)) as text:
                    text = text.read()
                lengths.append(text[text.index(f"{mark}[{region}]"):text.index(f"{mark}[{region} end]")].count("\n"))
            self.assertLessEqual(lengths[0], lengths[1], python)


class FalseProofs(unittest.TestCase):
    """Programs that were proved and wrong, each for a reason of its own; where the right one is near it, it is built."""

    def refused(self, build, why="y is what the specification says"):
        with self.assertRaisesRegex(inlay.ProgramError, why):
            build()

    def test_what_to_write_is_said(self):
        def rows(monoid, spec, of, extent=lambda n, lens: n, adds=None, distance=0, **facts):
            k = Program("rows", "gfx942", 64)
            m, n = k.size("m", most=1 << 10), k.size("n", **{"most": 1 << 12, **facts})
            y, x, lens = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, n]), k.input("lens", "i32", [m])
            k.computes(y, lambda i, _: k.fold(monoid, n, lambda j: spec(x[i, j])))
            w, tv = k.workgroups(0, m, 1), rows_tv(1, 64, 1, 64)
            acc = k.full(-math.inf if monoid == "max" else 0, codegen.without_axis(tv, 1), [1, 1])
            @k.loop(extent(n, k.uniform(lens, w)), 64, distance=distance, ring=distance + 1)
            def trip(t):
                v = k.map([k.load(k.tile(x, [1, 64], [w, t]), tv, 1)], of)
                k.update(acc, [k.fold(monoid, v, 1)], adds or (lambda a, b: codegen.max(a, b) if monoid == "max" else a + b))
            k.store(acc, k.tile(y, [1, 1], [w, 0]), 1)
            return k.build()

        def shifted():
            k = Program("shifted", "gfx942", 64)
            n = k.size("n", most=1 << 10)
            y, x = k.output("y", "f32", [n]), k.input("x", "f32", [256])
            k.computes(y, lambda i: x[(i - 4) % 256])
            w, tv = k.workgroups(0, n, 64), line_tv(64, 1, 64)
            k.store(k.load(k.tile(x, [64], [0]), tv, 1), k.tile(y, [64], [w]), 1)
            return k.build()

        one = lambda v: v
        for build, why in (
            (lambda: rows("max", one, one), r"hint   k.fill\(x, 1, 64\*trip, n, -INFINITY\)"), (lambda: rows("max", one, one, distance=2), r"k.fill\(x, 1, 64\*trip, n, "),
            (lambda: rows("sum", exp, exp), r"k.fill\(x, 1, 64\*trip, n, 0\)"), (lambda: rows("sum", one, one, lambda n, _: n // 2), r"the loop to n/2 may have no trip: k.if_less\(0, n/2, "),
            (lambda: rows("sum", one, one, lambda n, number: number), r"the loop to lens\[wg_x\] may have no trip: k.if_less\(0, lens"),
            (lambda: rows("sum", one, one, lambda n, _: codegen.min(n, 128), least=256), r"wanted \[0, n\), where n is 256 to 4096\n *hint   loops and folds before"),
            (shifted, r"\(64\*wg_x\+c0-4\)%256"),
        ):
            with self.subTest(why):
                self.refused(build, why)

    def test_a_window_of_two_tiles_is_loaded_ahead(self):
        importlib.import_module("sliding_window").main("gfx942", 65)  # checks its result

    def sums_rows(self, k, x, n, w, tv, s, distance=0):
        """A loop over n: what follows it knows how many trips it had."""
        @k.loop(n, 64, distance=distance, ring=distance + 1)
        def _(t):
            part = k.map([k.load(k.tile(x, [4, 64], [w, t]), tv, 1)], lambda v: codegen.inside(64 * t + k.position(1), n, v, 0))
            k.update(s, [k.fold("sum", part, 1)], lambda p, q: p + q)

    def test_the_index_of_a_fold_in_a_fold(self):
        def program(row):
            k = Program("p", "gfx942", 64)
            m = k.size("m", least=1, most=64)
            y, x, mask = k.output("y", "f32", [1, 1]), k.input("x", "f32", [m, m]), k.input("mask", "i32", [1])
            there = lambda i: codegen.less_signed(k.integer(0), integer(mask[i // 64]))
            most = lambda r: k.fold("max", m, lambda c: codegen.choose(there(c), x[row(r, c), c], k.constant(-numpy.inf)))
            k.computes(y, lambda i, j: k.sum(m, lambda r: codegen.choose(there(r), most(r), k.constant(0))))
            k.workgroups(0, 1, 1)
            tv = rows_tv(64, 64, 1, 64)
            of_row = codegen.without_axis(tv, 1)
            total, none = k.zeros("f32", codegen.without_axis(of_row, 0), [1, 1]), k.full(-numpy.inf, of_row, [64, 1])

            @k.loop(m, 64, distance=0, ring=1)
            def _(t):
                @k.if_less(0, k.uniform(mask, t))
                def _():
                    tile = k.fill(k.load(k.tile(x, [64, 64], [0, t]), tv, 1), 1, 64 * t, m, -numpy.inf)
                    rows = k.map([none, k.fold("max", tile, 1)], codegen.max)
                    k.update(total, [k.fold("sum", k.fill(rows, 0, 0, m, 0), 0)], lambda a, b: a + b)
            k.store(total, k.tile(y, [1, 1], [0, 0]), 1)
            return k.build()
        self.refused(lambda: program(lambda r, c: c))
        right = program(lambda r, c: r)
        for m in (1, 5, 64):
            x = (numpy.arange(m * m) * 7 % 11).reshape(m, m).astype(numpy.float32)
            y = numpy.zeros((1, 1), numpy.float32)
            right.run(y, x, numpy.ones(1, numpy.int32), m=m, check="all")
            self.assertEqual(y[0, 0], x.max(1).sum())

    def test_a_condition_of_the_elements_of_another_fold(self):
        k = Program("p", "gfx942", 64)
        m = k.size("m", most=1024)
        y, x, a, s, p = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, 128]), k.input("a", "f32", [m, 128]), k.input("s", "f32", [m, 1]), k.input("p", "i32", [m, 128])
        there = lambda e: codegen.less_signed(k.integer(0), integer(e))
        zero = k.constant(0)
        k.computes(y, lambda i, j: k.sum(128, 0, 64, lambda e: codegen.choose(there(p[i, e]), exp(a[i, e] / s[i, 0]), zero))
                   + k.sum(128, lambda e: codegen.choose(there(p[i, e]), x[i, e], zero)))
        w = k.workgroups(0, m, 4)
        whole, half = rows_tv(4, 128, 1, 64), rows_tv(4, 64, 1, 64)
        load = lambda t, n, tv: k.load(k.tile(t, [4, n], [w, 0]), tv, 1)
        divisor = load(s, 1, codegen.without_axis(whole, 1))
        first = k.map([load(a, 64, half), load(p, 64, half), load(s, 1, codegen.without_axis(half, 1))], lambda a, p, s: codegen.choose(there(p), exp(a / s), zero))
        second = k.map([load(x, 128, whole), load(p, 128, whole), divisor], lambda x, p, s: codegen.choose(there(p), x / s, zero))
        sums = [k.fold("sum", first, 1), k.fold("sum", second, 1), divisor]
        k.store(k.map(sums, lambda a, b, s: a + b * s), k.tile(y, [4, 1], [w, 0]), 1)
        self.refused(k.build, "a map loses no condition")  # where s is 0 and p is above 0 from the 64th element on alone

    def test_powers_of_large_numbers(self):
        def program(spec, code):
            k = Program("p", "gfx942", 64)
            n = k.size("n", most=1024)
            y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
            k.computes(y, lambda i: spec(x[i]))
            w, tv = k.workgroups(0, n, 64), line_tv(64, 1, 64)
            k.store(k.map([k.load(k.tile(x, [64], [w]), tv, 1)], code), k.tile(y, [64], [w]), 1)
            return k.build()
        for by in (800, -800, 100, -100, 1e30):  # exp of it is 0 or infinite, here or in f32
            for wrong in (lambda x: x * 0, lambda x: 2 * exp(x - by), lambda x: exp(x) * exp(x - by)):
                self.refused(lambda: program(lambda x: exp(x - by), wrong))
            program(lambda x: exp(x - by), lambda x: exp(x - by))

    def test_scores_that_a_number_masks(self):
        for least in (-1e30, -1000.0):
            k = Program("p", "gfx942", 64)
            m = k.size("m", most=1024)
            y, x, p = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, 64]), k.input("p", "i32", [m, 64])
            there = lambda e: codegen.less_signed(k.integer(0), integer(e))
            score = lambda i, e: codegen.choose(there(p[i, e]), x[i, e], k.constant(least))
            k.computes(y, lambda i, j: k.sum(64, lambda e: exp(score(i, e) - k.fold("max", 64, lambda f: score(i, f)))))
            w, tv = k.workgroups(0, m, 4), rows_tv(4, 64, 1, 64)
            xs, ps = (k.load(k.tile(t, [4, 64], [w, 0]), tv, 1) for t in (x, p))
            most = k.fold("max", k.map([xs, ps], lambda x, p: codegen.choose(there(p), x, k.constant(least))), 1)
            parts = k.map([xs, ps, most], lambda x, p, m: codegen.choose(there(p), exp(x - m), k.constant(0)))
            k.store(k.fold("sum", parts, 1), k.tile(y, [4, 1], [w, 0]), 1)
            self.refused(k.build)  # a row of which all is masked has 64 weights of 1

    def test_what_is_of_bf16_becomes_f16_after_it_was_computed(self):
        """LLVM takes bf16 for a part of f16: it multiplied in f16, where 2^17 is an infinity."""
        k = Program("narrow", "gfx942", 64)
        M = k.size("m", most=1 << 16)
        x, z = k.input("x", "bf16", [M]), k.input("z", "f16", [M])
        maps = {"scaled": lambda a, b: a * 0.25, "product": lambda a, b: a * b, "sum": lambda a, b: a + b, "greatest": lambda a, b: codegen.max(a, b) * 0.25}
        w, tv = k.workgroups(0, M, 64), line_tv(64, 1, 64)
        of = [k.load(k.tile(t, [64], [w]), tv, 1) for t in (x, z)]
        for name, f in maps.items():
            for kind in ("f16", "f32"):  # computed as f16, and stored as such
                y = k.output(f"{name}_{kind}", "f16", [M])
                k.computes(y, lambda i, f=f: f(x[i], z[i]))
                k.store(k.map(of, f, kind), k.tile(y, [64], [w]), 1)
        built = k.build()
        X, Z = numpy.array([131072, 2.0**-30, 92672, 3], numpy.float32), numpy.array([2.0**-10, 1024, -29888, 5], numpy.float16)
        given = {"x": (X.view(numpy.uint32) >> 16).astype(numpy.uint16), "z": Z}
        results = {f"{name}_{kind}": numpy.zeros(4, numpy.float16) for name in maps for kind in ("f16", "f32")}
        built.run(*({**given, **results}[name] for name in built.buffers), m=4, check="all")
        b = Z.astype(numpy.float32)
        with numpy.errstate(over="ignore"):
            wanted = {"scaled": X * 0.25, "product": X * b, "sum": X + b, "greatest": numpy.maximum(X, b) * 0.25}
            for name in results:
                numpy.testing.assert_array_equal(results[name], wanted[name.split("_")[0]].astype(numpy.float16), name)

    def test_what_is_known_after_one_trip(self):
        """What follows a loop is looked at after each number of its trips where it asks how many there were."""
        def program(by_mask):
            k = Program("p", "gfx942", 64)
            m, n, p = k.size("m", most=1 << 10), k.size("n", most=1 << 10), k.size("p", least=1 if by_mask else 200, most=1 << 10)
            y, x, mask = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, n]), k.input("mask", "i32", [(p + 63) // 64])
            k.computes(y, lambda i, _: k.constant(1))
            w, tv = k.workgroups(0, m, 4), rows_tv(4, 64, 1, 64)
            row = codegen.without_axis(tv, 1)
            s, a = k.zeros("f32", row, [4, 1]), k.full(1, row, [4, 1])
            self.sums_rows(k, x, n, w, tv, s, 0 if by_mask else 2)
            sets = lambda: k.update(a, [], lambda _: k.number(codegen.ceil_div(n, 64)))

            @k.loop(p, 64, distance=0, ring=1)
            def _(t):
                if by_mask:
                    k.if_less(0, k.uniform(mask, t), lambda: None, sets)
                else:
                    k.if_less(t, 1, sets)
            k.store(a, k.tile(y, [4, 1], [w, 0]), 1)
            return k.build()
        for by_mask in (True, False):
            self.refused(lambda: program(by_mask), "leaves one state|y is what")

    def test_what_is_left_out_after_one_trip(self):
        k = Program("p", "gfx942", 64)
        m, n, p = k.size("m", most=1 << 10), k.size("n", most=1 << 10), k.size("p", most=1 << 10)
        y, x, q = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, n]), k.input("q", "f32", [m, p])
        more = codegen.ceil_div(n, 64) - 1
        k.computes(y, lambda i, _: k.sum(p, lambda j: q[i, j] * k.number(more)))
        w, g = k.workgroups(0, m, 4), k.workgroups(1, p, 64)
        tv = rows_tv(4, 64, 1, 64)
        s = k.zeros("f32", codegen.without_axis(tv, 1), [4, 1])

        def adds():
            part = k.map([k.load(k.tile(q, [4, 64], [w, g]), tv, 1)], lambda v: codegen.inside(64 * g + k.position(1), p, v * k.number(more), 0))
            k.add(k.fold("sum", part, 1), k.tile(y, [4, 1], [w, 0]))

        k.if_less(p, 5, adds, lambda: self.sums_rows(k, x, n, w, tv, s))
        self.refused(k.build, "a workgroup that stores nothing|y is what|leaves out")


class OneStage(unittest.TestCase):
    def test_a_distance_that_one_stage_drops_is_said(self):
        def sums(distance, ring):
            k = Program("sums", "gfx942", 64)
            M, N = k.size("m", most=1 << 12), k.size("n", most=1 << 12)
            Y, X = k.output("y", "f32", [M, 1]), k.input("x", "f32", [M, N])
            k.computes(Y, lambda m, _: k.sum(N, lambda i: X[m, i]))
            b, tv = k.workgroups(0, M, 1), rows_tv(1, 64, 1, 64)
            acc = k.zeros("f32", codegen.without_axis(tv, 1), [1, 1])
            @k.loop(N, 64, distance=distance, ring=ring)
            def trip(t):
                k.update(acc, [k.fold("sum", k.load(k.tile(X, [1, 64], [b, t]), tv, 1), 1)], lambda a, x: a + x)
            k.store(acc, k.tile(Y, [1, 1], [b, 0]), 1)
            return k
        for distance, ring in ((0, 1), (1, 2)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sums(distance, ring).build()
        with self.assertWarnsRegex(UserWarning, "test_program.py:[0-9]+ loads nothing ahead, though distance = 2: with ring = 1"):
            sums(2, 1).build()


class Pipelines(unittest.TestCase):
    """Loops that load ahead, of every width of a copy: vectors of less than a word go through the registers of a block of assembly, too."""

    def gemm(self, target, element, v, distance, ring, swizzle):
        mma = MmaTiling.of(Atom.mma_best(target, element, element, "i32" if element == "i8" else "f32", 16), 2, 2, 64, 64, 64, 8)
        k = Program("gemm", target, mma.threads())
        out = "i32" if element == "i8" else "f32"
        M, N = k.size("m", most=1 << 12), k.size("n", most=1 << 12)
        K = k.size("k", most=1 << 12, multiple=v)
        C, A, B = k.output("c", out, [M, N]), k.input("a", element, [M, K]), k.input("b", element, [N, K])
        k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * B[n, i]))
        bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
        rows = rows_tv(64, 64, v, mma.threads())
        a, b = (k.lds(name, element, [64, 64], Swizzle(*swizzle)) for name in ("lds_a", "lds_b"))
        acc = k.zeros(out, mma.c(), [64, 64])

        @k.loop(K, 64, distance=distance, ring=ring)
        def trip(t):
            k.copy(k.tile(A, [64, 64], [bm, t]), a, rows, v)
            k.copy(k.tile(B, [64, 64], [bn, t]), b, rows, v)
            k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)

        k.store(acc, k.tile(C, [64, 64], [bm, bn]), 1)
        return k

    def test_every_width(self):
        random = numpy.random.default_rng(5)
        for target in ("gfx90a", "gfx942"):
            for element, swizzle, numpy_type, vectors in (
                ("f16", (3, 3, 3), numpy.float16, (1, 2, 4, 8)), ("bf16", (3, 3, 3), None, (1,)),
                ("i8", (3, 3, 4), numpy.int8, (1, 2, 4, 8)),
            ):
                for v in vectors:
                    for distance, ring in ((0, 1), (1, 2), (2, 2), (2, 3)):
                        with self.subTest(target=target, element=element, v=v, distance=distance, ring=ring):
                            form = "asm" if (v, distance, ring) == (1, 2, 2) else "auto"  # a block, and not IR, can be made of it
                            built = self.gemm(target, element, v, distance, ring, swizzle).build(loops=form)
                            if numpy_type is None:
                                continue
                            m, n, k = 70, 65, 77 * v
                            A = random.integers(-3, 4, (m, k)).astype(numpy_type)
                            B = random.integers(-3, 4, (n, k)).astype(numpy_type)
                            c = numpy.empty((m, n), numpy.int32 if element == "i8" else numpy.float32)
                            built.run(c, A, B, m=m, n=n, k=k, check="all")
                            numpy.testing.assert_array_equal(c, A.astype(numpy.int64) @ B.astype(numpy.int64).T)


class Persistent(unittest.TestCase):
    def test_a_branch_around_a_whole_tile(self):
        """Both paths meet before the workgroup's next tile, where all waves are through with LDS: a barrier after the branch."""
        mma = MmaTiling.of(Atom.mma_best("gfx942", "f16", "f16", "f32", 16), 2, 2, 64, 64, 64, 8)
        k = Program("branched", "gfx942", mma.threads())
        M, N, K = k.size("m", most=1 << 14), k.size("n", most=1 << 14), k.size("k", most=1 << 14, multiple=8)
        C, A, B = k.output("c", "f32", [M, N]), k.input("a", "f16", [M, K]), k.input("b", "f16", [N, K])
        used = k.uniform(k.input("count", "i32", [1]), 0)
        k.computes(C, lambda m, n: codegen.inside(m, used, k.sum(K, lambda i: A[m, i] * B[n, i]), 0))
        bn, bm, rows = k.workgroups(0, N, 64), k.workgroups(1, M, 64), rows_tv(64, 64, 8, mma.threads())
        k.persistent(3)
        a = k.conflict_free_tile("lds_a", "f16", 64, 64, 8, rows, mma.a())
        b = k.conflict_free_tile("lds_b", "f16", 64, 64, 8, rows, mma.b())
        out = k.tile(C, [64, 64], [bm, bn])
        def work():
            acc = k.zeros("f32", mma.c(), [64, 64])
            @k.loop(K, 64, distance=2, ring=2)
            def trip(t):
                k.copy(k.tile(A, [64, 64], [bm, t]), a, rows, 8)
                k.copy(k.tile(B, [64, 64], [bn, t]), b, rows, 8)
                k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
            k.store(k.fill(acc, 0, 64 * bm, used, 0), out, 1)
        k.if_less(64 * bm, used, work, lambda: k.store(k.zeros("f32", mma.c(), [64, 64]), out, 1))
        artifact, random = k.build(), numpy.random.default_rng(1)
        for m, n, depth, count in ((130, 70, 72, 100), (64, 64, 8, 0), (200, 130, 264, 200)):
            x, w = random.standard_normal((m, depth)).astype("f2"), random.standard_normal((n, depth)).astype("f2")
            got, want = numpy.full((m, n), numpy.nan, "f4"), x.astype(float) @ w.astype(float).T
            want[count:] = 0
            artifact.run(got, x, w, numpy.array([count], "i4"), m=m, n=n, k=depth, check="all", stress=2)
            numpy.testing.assert_allclose(got, want, atol=1e-2)


class Refused(unittest.TestCase):
    def test_a_quotient_by_a_declared_multiple_is_printed(self):
        for over, text in ((lambda k, n: 1 / k.number(n), r" \* 1/n\)"), (lambda k, n: 1 / k.number(n + 1), r" \* 1/\(n\+1\)\)"),
                           (lambda k, n: codegen.sqrt(1 / k.number(n)), r" \* rsqrt\(n\)\)")):
            for multiple in (1, 8):
                k = Program("mean", "gfx942", 64)
                m, n = k.size("m", most=1 << 16), k.size("n", most=64, multiple=multiple)
                y, x = k.output("y", "f32", [m, 1]), k.input("x", "f32", [m, n])
                k.computes(y, lambda row, _: k.sum(n, lambda i: x[row, i]) * over(k, n))
                row = k.workgroups(0, m, 1)
                k.store(k.fold("sum", k.load(k.tile(x, [1, 64], [row, 0]), rows_tv(1, 64, 1, 64), 1), 1), k.tile(y, [1, 1], [row, 0]), 1)
                with self.assertRaisesRegex(codegen.ProgramError, text):
                    k.prove()

    def test_pointers_are_not_offered_as_elements(self):
        k = Program("a", "gfx942", 64)
        for name in ("u8", "glob", "buff"):
            with self.assertRaises(codegen.ProgramError) as refused:
                k.input("x", name, [k.size("n" + name)])
            self.assertRegex(str(refused.exception), "one of f64 f32 .* i1\\n")
            self.assertNotRegex(str(refused.exception), "global|lds|buffer")

    """Each of these is the right program with one place changed."""

    def refused(self, f, pattern, at):
        with self.assertRaisesRegex(inlay.ProgramError, pattern) as caught:
            f()
        e = caught.exception
        self.assertEqual((e.file, e.line), (__file__, at))
        self.assertIn(f"{__file__}:{at}", str(e))
        self.assertIsInstance(e, ValueError)

    def test_the_right_one_is_proved(self):
        k, stored = gemm()
        report = k.prove()
        self.assertGreater(report.proved, 40)
        self.assertEqual(len(report.items), report.proved + report.at_launch + sum(i["verdict"] == "the caller's" for i in report.items))
        said = [i for i in report.items if i["claim"] == "c is what the specification says"]
        self.assertEqual([(i["verdict"], i["line"]) for i in said], [("proved", stored)])
        self.assertIn("c is what the specification says", str(report))

    def test_a_wrong_index_in_the_specification(self):
        k, stored = gemm(row=1)
        self.refused(k.prove, "c is what the specification says", stored)
        self.refused(k.build, "c is what the specification says", stored)

    def test_a_loop_that_ends_early(self):
        k, stored = gemm(depth=64)
        self.refused(k.build, "claim", stored)

    def test_counts_that_f32_rounds_are_no_whole_numbers(self):
        """h(r) = the sum of f(x(s)) over the entries s that name r, added to LDS; a map computes in f32, which keeps 2^24."""
        def count(value, said):
            k = Program("h", "gfx942", 64)
            N = k.size("n", most=64)
            H, ids, X = k.output("h", "i32", [64]), k.input("ids", "i32", [N]), k.input("x", "i8", [N])
            k.computes(H, lambda r: k.sum(N, lambda s: codegen.choose(
                codegen.equal(integer(ids[s]), integer(k.number(r))), said(X[s]), k.constant(0))))
            w, tv, lds = k.workgroups(0, N, 64), line_tv(64, 1, 64), k.lds("l", "i32", [64])
            k.store(k.zeros("i32", tv, [64]), k.whole(lds), 1)
            e, x = k.load(k.tile(ids, [64], [w]), tv, 1), k.load(k.tile(X, [64], [w]), tv, 1)
            v = k.map([x], lambda a: codegen.truncated(codegen.inside(64 * w + k.position(0), N, value(a), 0)), "i32")
            k.add(v, k.tile(lds, [64], [0]).through(0, e))
            k.add(k.load(k.whole(lds), tv, 1), k.tile(H, [64], [0]))
            return k
        def ones(w): return to_number(popcount(w))
        kernel, x = count(lambda a: ones(integer(a)) * 3, lambda a: ones(integer(a)) * 3).build(), numpy.array([-127, 3, 9], numpy.int8)
        h = numpy.zeros(64, numpy.int32)
        kernel.run(h, numpy.array([5, 5, -1], numpy.int32), x, n=3)
        self.assertEqual((h[5], h.sum()), (3 * (26 + 2),) * 2)
        # Of bits of what was rounded it is not known that nothing is.
        truncated = codegen.truncated
        with self.assertRaisesRegex(codegen.ProgramError, "h is what the specification says"):
            count(lambda a: ones(truncated(to_number(truncated(a * 0.35)) + 0.25)), lambda a: ones(truncated(a * 0.35 + 0.25))).build()
        kernel = count(lambda a: a * 1041, lambda a: a * 1041).build()
        h = numpy.zeros(64, numpy.int32)
        kernel.run(h, numpy.array([5, 5, -1], numpy.int32), numpy.array([-127, 3, 9], numpy.int8), n=3)
        self.assertEqual((h[5], h.sum()), (-124 * 1041, -124 * 1041))
        for value, said in ((lambda a: a + 16777216, None), (lambda a: a * 132105, None), (lambda a: (a + 16777216) - 16777216, lambda a: a),
                            (lambda a: codegen.choose(codegen.less_signed(integer(a), integer(a) + 1), a + 16777216, a), lambda a: a + 16777216),
                            (lambda a: codegen.choose(codegen.less_signed(integer(a) + 1, integer(a)), a, a + 16777216), None), (lambda a: a * 0.5, None)):
            with self.assertRaisesRegex(codegen.ProgramError, "h is what the specification says"):
                count(value, said or value).build()

    def test_what_f32_rounds_may_be_more_than_the_specification_says(self):
        """114 times -18837575 is in i32, and 114 times what f32 makes of that is not."""
        def count(value, said, most, between="f32"):
            k = Program("h", "gfx942", 128)
            N = k.size("n", most=most)
            H, ids, X = k.output("h", "i32", [128]), k.input("ids", "i32", [N]), k.input("x", "i8", [N])
            k.computes(H, lambda r: k.sum(N, lambda s: codegen.choose(
                codegen.equal(integer(ids[s]), integer(k.number(r))), said(value(X[s])), k.constant(0))))
            w, tv, lds = k.workgroups(0, N, 128), line_tv(128, 1, 128), k.lds("l", "i32", [128])
            k.store(k.zeros("i32", tv, [128]), k.whole(lds), 1)
            e, x = k.load(k.tile(ids, [128], [w]), tv, 1), k.load(k.tile(X, [128], [w]), tv, 1)
            v = k.map([x], lambda a: codegen.inside(128 * w + k.position(0), N, value(a), 0), between)
            v = k.map([v], codegen.truncated, "i32")
            k.add(v, k.tile(lds, [128], [0]).through(0, e))
            k.add(k.load(k.whole(lds), tv, 1), k.tile(H, [128], [0]))
            return k
        kernel = count(lambda a: a * 1041 - 71, lambda whole: whole, 114).build()
        h = numpy.zeros(128, numpy.int32)
        kernel.run(h, numpy.full(114, 7, numpy.int32), numpy.full(114, -128, numpy.int8), n=114)
        self.assertEqual((h[7], h.sum()), (114 * (-128 * 1041 - 71),) * 2)
        with self.assertRaisesRegex(codegen.ProgramError, "a sum of whole numbers stays inside of i32"):
            count(lambda a: a * 147168 - 71, lambda rounded: to_number(codegen.truncated(rounded)), 114).build()
        for value in (lambda a: a * a, lambda a: codegen.choose(codegen.less_signed(integer(a), integer(a) + 1), a, a * 150.0)):
            count(value, lambda whole: whole, 1 << 16).build()
            with self.assertRaisesRegex(codegen.ProgramError, "a sum of whole numbers stays inside of i32"):
                count(value, lambda whole: whole, 1 << 18).build()
        # f16 keeps 2^11.
        with self.assertRaisesRegex(codegen.ProgramError, "a sum of whole numbers stays inside of i32"):
            count(lambda a: a * 1041, lambda whole: whole, 114, "f16").build()

    def test_what_f32_makes_of_constants_and_of_what_is_too_small_or_too_large(self):
        """Counts of numbers that f32 rounds, flushes or takes for infinite; each wrapped, or was another number, on the emulator while it was proved."""
        def count(value, said, n):
            k = Program("h", "gfx942", 128)
            N = k.size("n", most=n)
            H, ids, X = k.output("h", "i32", [128]), k.input("ids", "i32", [N]), k.input("x", "i8", [N])
            k.computes(H, lambda r: k.sum(N, lambda s: codegen.choose(codegen.equal(integer(ids[s]), integer(k.number(r))), said(k, X[s]), k.constant(0))))
            w, tv, lds = k.workgroups(0, N, 128), line_tv(128, 1, 128), k.lds("l", "i32", [128])
            k.store(k.zeros("i32", tv, [128]), k.whole(lds), 1)
            e, x = k.load(k.tile(ids, [128], [w]), tv, 1), k.load(k.tile(X, [128], [w]), tv, 1)
            v = k.map([e, x], lambda _, a: codegen.truncated(codegen.inside(128 * w + k.position(0), N, value(k, a), 0)), "i32")
            k.add(v, k.tile(lds, [128], [0]).through(0, e))
            k.add(k.load(k.whole(lds), tv, 1), k.tile(H, [128], [0]))
            return k

        def as_truncated(f):
            return lambda k, a: to_number(codegen.truncated(f(k, a)))
        bare = [lambda k, a: k.constant(18837575), lambda k, a: k.constant(16777217),
                lambda k, a: codegen.choose(codegen.less_signed(integer(a), integer(a) + 1), k.constant(18837575), k.constant(18837575))]
        rounded = [(lambda k, a: a * 1.0072825552225113 * 616885.7818579136, 27), (lambda k, a: ((a * (0.6 * 2.0**-149)) * 2.0**126) * (2.0**23 / 0.6 * 147000), 114),
                   (lambda k, a: (a * 3e38) * 1e-34, 114), (lambda k, a: ((a * 2.0**-126) * (3 * 2.0**-31)) * 2.0**126 * (2.0**23 * 12000000), 114),
                   (lambda k, a: to_number(codegen.truncated(a * 2.0**33)) - a * 2.0**33, 114)]
        for value, said, n in [(f, f, 114) for f in bare] + [(f, as_truncated(f), n) for f, n in rounded]:
            with self.assertRaisesRegex(codegen.ProgramError, "a sum of whole numbers stays inside of i32|h is what the specification says"):
                count(value, said, n).build()
        kernel = count(lambda k, a: k.constant(1 << 24), lambda k, a: k.constant(1 << 24), 114).build()
        h = numpy.zeros(128, numpy.int32)
        kernel.run(h, numpy.full(114, 7, numpy.int32), numpy.zeros(114, numpy.int8), n=114)
        self.assertEqual((h[7], h.sum()), (114 << 24,) * 2)

    def test_rows_added_in_memory_are_sums_modulo_2_to_the_32nd(self):
        """As page 14 of the guide says of what is not shown."""
        k = Program("s", "gfx942", 64)
        N, R = k.size("n", most=1 << 16), k.size("r", most=1 << 10)
        H, X, ids = k.output("h", "i32", [R, 64]), k.input("x", "i32", [N, 64]), k.input("ids", "i32", [N])
        k.scatters(H, ids, lambda s, j: X[s, j])
        w, tv = k.workgroups(0, N, 1), rows_tv(1, 64, 1, 64)
        e, x = k.load(k.tile(ids, [1], [w]), codegen.without_axis(tv, 1), 1), k.load(k.tile(X, [1, 64], [w, 0]), tv, 1)
        k.add(x, k.tile(H, [1, 64], [0, 0]).through(0, e))
        h = numpy.zeros((4, 64), numpy.int32)
        x = numpy.random.default_rng(7).integers(-2**31, 2**31, (9, 64)).astype(numpy.int32)
        ids = numpy.array([0, 1, 0, 2, 0, 1, 0, -1, 4], numpy.int32)
        k.build().run(h, x, ids, n=9, r=4)
        want = numpy.zeros((4, 64), numpy.int64)
        for row, to in zip(x, ids):
            if 0 <= to < 4:
                want[to] += row
        self.assertTrue((want != want.astype(numpy.int32)).any())
        numpy.testing.assert_array_equal(h, want.astype(numpy.int32))

    def test_a_trips_branch_is_by_a_number_of_31_bits(self):
        def masked(number, said, less=True):
            k = Program("m", "gfx942", 64)
            M, N = k.size("m", most=8), k.size("n", most=128)
            Y, X, mask = k.output("y", "f32", [M, 1]), k.input("x", "f32", [M, N]), k.input("mask", "i32", [codegen.ceil_div(N, 64)])

            def there(entry):
                return codegen.less_signed(k.integer(said), entry) if less else codegen.less_signed(entry, k.integer(said))
            k.computes(Y, lambda i, _: k.sum(N, lambda j: codegen.choose(there(integer(mask[j // 64])), X[i, j], k.constant(0))))
            w, tv = k.workgroups(0, M, 4), rows_tv(4, 64, 1, 64)
            acc = k.zeros("f32", codegen.without_axis(tv, 1), [4, 1])

            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                def some():
                    k.update(acc, [k.fold("sum", k.load(k.tile(X, [4, 64], [w, t]), tv, 1), 1)], lambda a, b: a + b)
                k.if_less(*((number, k.uniform(mask, t)) if less else (k.uniform(mask, t), number)), some)
            k.store(acc, k.tile(Y, [4, 1], [w, 0]), 1)
            return k
        masked(2**31 - 1, 2**31 - 1).build()
        for number, said, less in ((2**31, -2**31, True), (2**32 - 1, -1, True), (2**31 + 1, -2**31 + 1, False)):
            with self.assertRaisesRegex(codegen.ProgramError, "a trip's branch is by"):
                masked(number, said, less).build()

    def test_what_a_trip_reads_is_the_condition_of_its_branch_alone(self):
        def program(use=lambda *_: None, after=lambda *_: None, branch=lambda k, u, some: k.if_less(0, u, some)):
            k = Program("m", "gfx942", 64)
            M, N = k.size("m", most=8), k.size("n", most=128)
            Y, X, mask = k.output("y", "f32", [M, 1]), k.input("x", "f32", [M, N]), k.input("mask", "i32", [codegen.ceil_div(N, 64)])
            k.computes(Y, lambda i, _: k.sum(N, lambda j: codegen.choose(
                codegen.less_signed(k.integer(0), integer(mask[j // 64])), X[i, j], k.constant(0))))
            w, tv, kept = k.workgroups(0, M, 4), rows_tv(4, 64, 1, 64), []
            acc = k.zeros("f32", codegen.without_axis(tv, 1), [4, 1])

            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                u = k.uniform(mask, t)
                kept.append(u)
                x = k.load(k.tile(X, [4, 64], [w, t]), tv, 1)
                f = k.fold("sum", k.map([x], lambda v: codegen.inside(64 * t + k.position(1), N, v, 0)), 1)
                use(k, u, t, acc, f, X, Y, mask, tv)
                branch(k, u, lambda: k.update(acc, [f], lambda a, b: a + b))
            after(k, kept[0], acc)
            k.store(acc, k.tile(Y, [4, 1], [w, 0]), 1)
            return k
        program().build()
        more = "it moves with a loop, and is more than the condition of a branch in its trip"
        by = "a trip's branch is by"
        outside = "it is read in a loop, and a branch outside of it is by it"
        for what, given in (
                (more, {"use": lambda k, u, t, acc, f, X, Y, mask, tv: k.uniform(mask, u)}),
                (more, {"use": lambda k, u, t, acc, f, X, Y, mask, tv: k.load(k.tile(X, [4, 64], [u, t]), tv, 1)}),
                (more, {"use": lambda k, u, t, acc, f, X, Y, mask, tv: k.store(f, k.tile(Y, [4, 1], [u, 0]), 1)}),
                (more, {"use": lambda k, u, t, acc, f, X, Y, mask, tv: k.update(acc, [f], lambda a, b: a + b * k.number(u))}),
                (more, {"use": lambda k, u, t, acc, f, X, Y, mask, tv: k.loop(u, 1, lambda _: k.update(acc, [f], lambda a, b: a + b))}),
                (more, {"branch": lambda k, u, some: some()}),
                (outside, {"after": lambda k, u, acc: k.if_less(0, u, lambda: k.update(acc, [], lambda a: a * 2.0))}),
                (by, {"branch": lambda k, u, some: k.if_less(1, u + 1, some)}),
                (by, {"branch": lambda k, u, some: k.if_less(-1, u, some)}),
                (by, {"branch": lambda k, u, some: k.if_less(u, 0, some)})):
            with self.subTest(inspect.getsource(list(given.values())[0]).strip()):
                with self.assertRaisesRegex(codegen.ProgramError, what):
                    program(**given).build()

    def test_nothing_is_less_than_the_least(self):
        def stores(number):
            k = Program("m", "gfx942", 64)
            N = k.size("n", most=128)
            Y, ids = k.output("y", "f32", [N]), k.input("ids", "i32", [N])
            k.computes(Y, lambda i: codegen.choose(codegen.less_signed(integer(ids[i]), k.integer(-2**31)), k.constant(1), k.constant(0)))
            k.store(k.full(number, line_tv(64, 1, 64), [64]), k.tile(Y, [64], [k.workgroups(0, N, 64)]), 1)
            return k
        stores(0).build()
        with self.assertRaisesRegex(codegen.ProgramError, "y is what the specification says"):
            stores(1).build()

    def test_what_lies_outside_where_a_branch_was_not_taken(self):
        """Of rows past the end a branch leaves exp(0) = 1, and minus infinity where it is not taken: 0 and -6 in the sum of rows."""
        def total(filled):
            k = Program("m", "gfx942", 64)
            M, N = k.size("m", most=4), k.size("n", most=128, multiple=64)
            Y, X, mask = k.output("y", "f32", [1]), k.input("x", "f32", [M, N]), k.input("mask", "i32", [N // 64])
            k.computes(Y, lambda _: k.sum(M, lambda r: codegen.max(k.fold("max", N, lambda j: codegen.choose(
                codegen.less_signed(k.integer(0), integer(mask[j // 64])), exp(X[r, j]), k.constant(-numpy.inf))), k.constant(-5)) - 1.0))
            k.workgroups(0, 1, 1)
            tv = rows_tv(4, 64, 1, 64)
            acc = k.full(-numpy.inf, codegen.without_axis(tv, 1), [4, 1])

            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                @k.if_less(0, k.uniform(mask, t))
                def _():
                    x = k.load(k.tile(X, [4, 64], [0, t]), tv, 1)
                    k.update(acc, [k.fold("max", k.map([x], exp), 1)], codegen.max)
            v = k.map([acc], lambda a: codegen.max(a, k.constant(-5)) - 1.0)
            v = k.fill(v, 0, 0, M, 0) if filled else v
            k.store(k.fold("sum", v, 0), k.tile(Y, [1], [0]), 1)
            return k
        with self.assertRaisesRegex(codegen.ProgramError, "what lies outside of a sum is its empty element"):
            total(False).build()
        total(True).build()

    def test_what_a_branch_in_a_loop_leaves_says_what_to_write(self):
        def counted():
            k = Program("h", "gfx942", 64)
            N = k.size("n", most=1 << 12)
            H, ids = k.output("h", "i32", [64]), k.input("ids", "i32", [N])
            k.computes(H, lambda r: k.sum(N, lambda s: codegen.choose(
                codegen.equal(integer(ids[s]), integer(k.number(r))), k.constant(1), k.constant(0))))
            k.workgroups(0, 1, 1)
            tv, lds = line_tv(64, 1, 64), k.lds("counts", "i32", [64])
            k.store(k.zeros("i32", tv, [64]), k.whole(lds), 1)
            steps = k.zeros("f32", tv, [64])

            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                e = k.load(k.tile(ids, [64], [t]), tv, 1)
                k.add(k.map([e], lambda _: codegen.truncated(codegen.inside(64 * t + k.position(0), N, k.constant(1), 0)), "i32"),
                      k.tile(lds, [64], [0]).through(0, e))
                k.if_less(t, 3, lambda: k.update(steps, [], lambda a: a + 1.0))
            k.store(k.load(k.whole(lds), tv, 1), k.tile(H, [64], [0]), 1); wrong = line()
            return k, wrong, "(?s)not taken from one trip of the loop of line [0-9]+ to the next.*hint   what a trip reads of counts, or adds to"

        def masked(leave):
            k = Program("m", "gfx942", 64)
            M, N = k.size("m", most=8), k.size("n", most=128)
            Y, X, mask = k.output("y", "f32", [M, 1]), k.input("x", "f32", [M, N]), k.input("mask", "i32", [codegen.ceil_div(N, 64)])
            k.computes(Y, lambda i, _: k.sum(N, lambda j: X[i, j]))
            w, tv, stage = k.workgroups(0, M, 4), rows_tv(4, 64, 1, 64), k.lds("stage", "f32", [4, 64])
            acc = k.full(3.0, codegen.without_axis(tv, 1), [4, 1])

            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                x = k.load(k.tile(X, [4, 64], [w, t]), tv, 1)
                k.if_less(0, k.uniform(mask, t), lambda: leave(k, acc, x, stage))
                leave(k, acc, x, stage, True)
            k.store(acc, k.tile(Y, [4, 1], [w, 0]), 1)
            return k

        def two_values():
            def leave(k, acc, x, stage, after=False):
                if not after:
                    k.update(acc, [], lambda a: a * 2.0); leave.wrong = line()
            return masked(leave), leave.wrong, "(?s)the other path leaves 3, and not both are one sum.*hint   in the branch, k.update.*choose"

        def in_lds():
            def leave(k, acc, x, stage, after=False):
                if not after:
                    return k.store(x, k.whole(stage), 1)
                k.update(acc, [k.fold("sum", k.load(k.whole(stage), rows_tv(4, 64, 1, 64), 1), 1)], lambda a, b: a + b); leave.wrong = line()
            return masked(leave), leave.wrong, "(?s)only one path of a branch by what a trip reads.*hint   read stage in the branch"

        for make in (counted, two_values, in_lds):
            with self.subTest(make.__name__):
                k, wrong, what = make()
                self.refused(k.build, what, wrong)

    def test_what_is_stored_where_a_loop_has_no_trip(self):
        """y(m, j) = the sum of x(i, j) over i from `begin` on: 0 where there is none, and nothing else."""
        def path(begin, otherwise, least=False, nested=False):
            tile = 1 if nested or begin in ("size", "memory") else 8
            k = Program("path", "gfx942", 64)
            M, N, D = k.size("m", most=1 << 10), k.size("n", most=1 << 10), k.size("d", most=1 << 10)
            P = k.size("p", most=1 << 10) if nested else 1
            Y, X = k.output("y", "f32", [M, 64]), k.input("x", "f32", [N, P, 64])
            starts = k.input("starts", "i32", [M])
            end = codegen.min(N, 128) if least else N

            def of(row, memory):
                return {"number": 64, "size": D, "workgroup": 8 * row + 8, "memory": memory}[begin]
            k.computes(Y, lambda m, j: k.sum(N, of(m, k.value(starts, m) if begin == "memory" else 0), end,
                                             lambda i: k.sum(P, lambda p: X[i, p, j]) if nested else X[i, 0, j]))
            row = k.workgroups(0, M, 1)
            first = of(row, k.uniform(starts, row) if begin == "memory" else 0)
            tv, one = inlay.Layout(f"(64,{tile}):(1@2,1@{1 if tile == 1 else 0})"), inlay.Layout("(64,1):(1@1,1@0)")
            to = k.tile(Y, [1, 64], [row, 0])

            def some():
                total = k.zeros("f32", one, [1, 64])

                @k.loop(first, end, tile, distance=0, ring=1)
                def trip(i):
                    def add(to, p):
                        x = k.load(k.tile(X, [tile, 1, 64], [i, p, 0]), tv, 1)
                        k.update(to, [x if tile == 1 else k.fold("sum", k.fill(x, 0, tile * i, N, 0), 0)], lambda a, b: a + b)
                    if not nested:
                        return add(total, 0)
                    part = k.zeros("f32", one, [1, 64])
                    k.loop(P, 1, distance=0, ring=1)(lambda p: add(part, p))
                    k.update(total, [part], lambda a, b: a + b)
                k.store(total, to, 1)
            k.if_less(first, end, some, lambda: k.store(k.full(otherwise, one, [1, 64]), to, 1))
            return k
        for how in (dict(begin="number"), dict(begin="number", least=True), dict(begin="size"), dict(begin="workgroup"),
                    dict(begin="memory"), dict(begin="number", nested=True), dict(begin="size", nested=True)):
            with self.subTest(**how):
                path(**how, otherwise=0).build()
                with self.assertRaisesRegex(inlay.ProgramError, "y is what the specification says"):
                    path(**how, otherwise=1).build()

    def test_an_inner_loop_that_ends_where_the_outer_trip_says(self):
        k = Program("k", "gfx942", 64)
        m, n = k.size("m", most=64), k.size("n", most=1024)
        x, y, tv = k.input("x", "f32", [m, n]), k.output("y", "f32", [m, n]), line_tv(64, 1, 64)
        k.computes(y, lambda i, j: x[i, j])
        k.workgroups(0, 1, 1)
        @k.loop(m, 1, distance=0, ring=1)
        def rows(r):
            @k.loop(r + 1, 64)
            def columns(c):
                k.store(k.load(k.tile(x, [1, 64], [r, c]).keep([1]), tv, 1), k.tile(y, [1, 64], [r, c]).keep([1]), 1)
        with self.assertRaisesRegex(inlay.ProgramError, "end of a loop inside of a loop depends on the trip"):
            k.prove()

    def test_a_tile_with_bank_conflicts(self):
        with self.assertRaisesRegex(inlay.ProgramError, r"bank.*\n.*\n.*\n.*hint   another place for lds_a: Swizzle\(3, 3, 3\)"):
            gemm(swizzle=Swizzle(0, 3, 3))[0].build()

    def test_operations_that_are_none(self):
        k = Program("k", "gfx942", 256)
        n = k.size("n")
        x, y = k.input("x", "f32", [n]), k.output("y", "f32", [n])
        w, tv = k.workgroups(0, n, 1024), line_tv(1024, 4, 256)
        tile = k.tile(x, [1024], [w])
        values = k.load(tile, tv, 4)
        for f, pattern in ((lambda: k.size("n"), "declared twice"),
                           (lambda: k.size("m", least=-1), "no such range"),
                           (lambda: k.load(tile, tv, 3), "do not divide"),
                           (lambda: k.load(tile, line_tv(512, 4, 128), 4), "all work-items"),
                           (lambda: k.tile(x, [8, 8], [0, 0]), "has 1 axes"),
                           (lambda: k.tile(x, [0], [0]), "1 and more"),
                           (lambda: x[0, 1], "read with 2 indices"),
                           (lambda: k(x, [0, 1]), "read with 2 indices"),
                           (lambda: k.read(x, tv, 4), "is in memory"),
                           (lambda: k.copy(tile, y, tv, 4), "is in memory"),
                           (lambda: k.whole(x), "is in memory"),
                           (lambda: k.fold("product", values, 0), "sum, max, min"),
                           (lambda: k.fold("sum", values, 5), "no axis 5"),
                           (lambda: k.input("z", "f33", [n]), "f33"),
                           (lambda: k.input("z", "f32", []), "no axes"),
                           (lambda: k.input("z", "f32", [n], "(q):(1)"), "q"),
                           (lambda: k.workgroups(3, n, 64), "axes 0, 1, 2"),
                           (lambda: k.workgroups(1, n, 0), "tiles of 0"),
                           (lambda: k.map([], lambda: 1.0), "no operands"),
                           (lambda: k.map([values], lambda v: v * 1e300), "no number of f32"),
                           (lambda: k.full(1e300, tv, [1024]), "no number of f32"),
                           (lambda: k.loop(n, 64, lambda t: None, ring=9), "ring 1 to 8"),
                           (lambda: k.loop(n, 64, lambda t: None, pins="x"), "x"),
                           (lambda: k.loop(n, 64, lambda t: None), "it does nothing"),
                           (lambda: k.loop(n, 64, lambda t: k.roles([("a", 2, None), ("b", 2, None)])), "it does nothing"),
                           (lambda: k.roles([("all", 3, None)]), "not the waves"),
                           (lambda: k.ticket("t", n), "no grid axis"),
                           (lambda: k.signal("turn"), "not this workgroup's turn"),
                           (lambda: k.order_tiles("rows:0"), "rows"),
                           (lambda: tile.keep([1]), "no plain mode"),
                           (lambda: tile.through(0, values), "indices are i32"),
                           (lambda: k.uniform(x, 0), "no.* table of i32"),
                           (lambda: k.lds("l", "f32", [0]), "no shape"),
                           (lambda: Program("k", "gfx942", 100), "workgroup size"),
                           (lambda: Program("k", "gfx908", 64), "gfx942 .*gfx950"),
                           (lambda: Atom.named("gfx942", "v_mfma"), "v_mfma"),
                           (lambda: rows_tv(7, 7, 4, 64), "whole number of vectors"),
                           (lambda: MmaTiling.of(Atom.named("gfx942", "ds_read_b128"), 1, 1, 16, 16, 16, 4), "no product"),
                           (lambda: n // 0, "zero|0")):
            with self.subTest(pattern):
                self.refused(f, pattern, f.__code__.co_firstlineno)

    def test_maps_of_f64_are_computed_in_f64(self):
        def program(element=lambda x, s: x * s + x, of="f64"):
            k = Program("p", "gfx942", 64)
            M, N = k.size("m", most=1 << 12), k.size("n", most=1 << 12, multiple=16)
            Y, X, S = k.output("y", of, [M, N]), k.input("x", "f64", [M, N]), k.input("s", "f64", [1, N])
            k.computes(Y, lambda m, n: element(X[m, n], S[0, n]))
            at = [k.workgroups(1, M, 8), k.workgroups(0, N, 64)]
            tv = rows_tv(8, 64, 2, 64)
            x, s = k.load(k.tile(X, [8, 64], at), tv, 2), k.load(k.tile(S, [1, 64], [0, at[1]]), codegen.without_axis(tv, 0), 1)
            k.store(k.map([x, s], element, of), k.tile(Y, [8, 64], at), 2)
            return k, x

        rng = numpy.random.default_rng(1)
        x, s = rng.uniform(-1, 1, (21, 80)), rng.uniform(-1, 1, (1, 80))
        for element, want in ((lambda x, s: x * s + x, x * s + x), (lambda x, s: x - s * 0.25, x - s * 0.25)):
            y = numpy.zeros((21, 80))
            program(element)[0].build().run(y, x, s, m=21, n=80, check="all")
            self.assertLess(numpy.abs(y - want).max(), 2.0**-51)
        for wrong, why in ((lambda: program(lambda x, s: x - s * 0.1), "is compared with others within 1e-11"), (lambda: program(of="f32"), "no conversion between f64 and f32"),
                           (lambda: program(lambda x, s: codegen.exp(x) * s), "it is of f64, and quotients, powers and functions of numbers")):
            with self.assertRaisesRegex(Exception, why):
                wrong()
        k, x = program()
        with self.assertRaisesRegex(Exception, "fold: its fragment holds f64"):
            k.fold("sum", x, 1)

    def test_errors_of_building_are_at_the_line_of_the_operation(self):
        def program(element):
            k = Program("p", "gfx942", 64)
            M, N = k.size("m", most=1 << 12), k.size("n", most=1 << 12, multiple=16)
            Y, X = k.output("y", element, [M, N]), k.input("x", element, [M, N])
            k.computes(Y, lambda m, n: X[m, n])
            return k, M, N, Y, X

        def wide_load():
            k, M, N, Y, X = program("f64")
            at = [k.workgroups(1, M, 8), k.workgroups(0, N, 64)]
            x = k.load(k.tile(X, [8, 64], at), rows_tv(8, 64, 8, 64), 8); wrong = line()
            k.store(x, k.tile(Y, [8, 64], at), 2)
            return k, wrong, "no instruction of that width"

        def wide_store():
            k, M, N, Y, X = program("f64")
            at = [k.workgroups(1, M, 8), k.workgroups(0, N, 64)]
            x = k.load(k.tile(X, [8, 64], at), rows_tv(8, 64, 8, 64), 2)
            k.store(x, k.tile(Y, [8, 64], at), 8); wrong = line()
            return k, wrong, "buffer_store: no instruction of that width"

        def much_lds():
            k, M, N, Y, X = program("f32")
            at = [k.workgroups(1, M, 128), k.workgroups(0, N, 256)]
            stage, tv = k.lds("stage", "f32", [128, 256]), rows_tv(128, 256, 4, 64)
            k.copy(k.tile(X, [128, 256], at), stage, tv, 4)
            k.store(k.read(stage, tv, 4), k.tile(Y, [128, 256], at), 4); wrong = line()
            return k, wrong, "(?s)131072 bytes: stage 131072.*smaller tiles"

        def coarse():
            k, M, N, Y, X = program("f32")
            at = [k.workgroups(1, M, 32), k.workgroups(0, N, 64)]
            x = k.load(k.tile(X, [16, 64], at), rows_tv(16, 64, 4, 64), 4)
            k.store(x, k.tile(Y, [16, 64], at), 4); wrong = line()
            return k, wrong, r"(?s)tiles of 16 on m, and ceil\(m / 32\).*k.workgroups\(1, m, 16\)"

        for make in (wide_load, wide_store, much_lds, coarse):
            with self.subTest(make.__name__):
                k, wrong, text = make()
                with self.assertRaisesRegex(inlay.ProgramError, text) as error:
                    k.build()
                self.assertEqual(error.exception.line, wrong)
        with self.assertRaisesRegex(inlay.ProgramError, "a program without an operation"):
            Program("empty", "gfx942", 64).build()

    def test_a_refuted_value_says_what_its_coordinates_are(self):
        k = Program("rows", "gfx942", 64)
        N = k.size("n", most=1 << 12, multiple=4)
        Y, X = k.output("y", "f16", [N]), k.input("x", "f16", [N])
        k.computes(Y, lambda n: X[n])
        at = [k.workgroups(0, N, 256)]
        x = k.load(k.tile(X, [256], at), line_tv(256, 4, 64), 4)
        k.store(k.map([x], lambda x: x + 1), k.tile(Y, [256], at), 4)
        with self.assertRaisesRegex(inlay.ProgramError, "c0     from 0 to 255, the coordinate along axis 0 in the tile"):
            k.build()

    def test_a_part_of_a_tile_is_no_tile(self):
        # The first is the whole tile in other modes, and goes to another tile; the second is none.
        for tv, pattern in ((line_tv(64, 1, 64), "y is what the specification says"),
                            (inlay.Layout("(64,1):(1@0,0)"), "this view is a part of one")):
            with self.subTest(str(tv)):
                k = Program("k", "gfx942", 64)
                n = k.size("n")
                x, y = k.input("x", "f32", [n]), k.output("y", "f32", [n])
                k.computes(y, lambda i: x[i])
                part = k.tile(x, [64], [k.workgroups(0, n, 64)]).partition(tv)
                k.store(k.load(part, line_tv(64, 1, 64), 1), k.tile(y, [64], [0]), 1); at = line()
                self.refused(k.build, pattern, at)

    def test_a_build_of_what_is_not_whole(self):
        k = Program("empty", "gfx942", 64)
        k_line = line() - 1
        k.workgroups(0, k.size("n"), 64)
        y = k.output("y", "f32", [k.size("m")])
        k.computes(y, lambda i: 0.0)
        self.refused(k.build, "y", k_line)

        k = Program("inside", "gfx942", 64)
        n = k.size("n")
        with self.assertRaisesRegex(inlay.ProgramError, "inside of its own loop"):
            k.loop(n, 64, lambda t: k.build())

    def test_two_programs_do_not_meet(self):
        k, other = (Program(name, "gfx942", 64) for name in ("k", "other"))
        n, m = k.size("n"), other.size("n")
        x, y = k.input("x", "f32", [n]), other.input("x", "f32", [m])
        for f in (lambda: n + m, lambda: k.tile(y, [64], [0]), lambda: x[m], lambda: x[n] + y[m], lambda: codegen.max(x[n], y[m]),
                  lambda: k.input("z", "f32", [m]), lambda: codegen.inside(m, n, x[0], 0)):
            self.refused(f, "belong|do not meet", f.__code__.co_firstlineno)

    def test_errors_of_a_function_come_out_and_end_the_program(self):
        for begin in (lambda k, n, f: k.loop(n, 64, f), lambda k, n, f: k.if_less(n, 64, lambda: f(0)), lambda k, n, f: k.loop(n, 64)(f),
                      lambda k, n, f: k.roles([("all", 1, lambda: f(0))])):
            k = Program("k", "gfx942", 64)
            n = k.size("n")
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                begin(k, n, lambda t: 1 // 0)
            with self.assertRaisesRegex(inlay.ProgramError, "ended with an error"):
                k.size("m")
            with self.assertRaisesRegex(inlay.ProgramError, "ended with an error"):
                k.build()
        k = Program("k", "gfx942", 64)
        with self.assertRaisesRegex(KeyError, "x"):
            k.computes(k.output("y", "f32", [k.size("n")]), lambda i: {}["x"])
        with self.assertRaisesRegex(TypeError, "an expression is wanted"):
            k.computes(k.output("z", "f32", [k.size("m")]), lambda i: "x")
        with self.assertRaisesRegex(TypeError, "positional argument"):
            k.computes(k.output("w", "f32", [k.size("l")]), lambda i, j: 0.0)

    def test_branches_of_python_on_what_only_the_device_knows(self):
        k = Program("k", "gfx942", 64)
        n = k.size("n")
        x = k.input("x", "f32", [n])
        with self.assertRaisesRegex(TypeError, "if_less"):
            bool(n)
        with self.assertRaisesRegex(TypeError, "select"):
            bool(x[0])
        with self.assertRaises(TypeError):
            list(x)
        with self.assertRaises(TypeError):
            n + "1"
        with self.assertRaises(TypeError):
            x[0] + "1"


class Functions(unittest.TestCase):
    """The functions that are formulas, by numpy and math: in a specification and in a map they are the same."""
    ERF = staticmethod(numpy.vectorize(math.erf))
    OURS = {"abs": abs, "floor": math.floor, **{f: getattr(codegen, f) for f in ("erf", "gelu", "gelu_tanh", "mish", "relu", "sigmoid", "silu", "softplus", "tanh")}}

    @classmethod
    def by_numpy(cls, x):
        sigmoid, softplus = 1 / (1 + numpy.exp(-x)), numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-abs(x)))
        return {"abs": abs(x), "floor": numpy.floor(x), "erf": cls.ERF(x), "gelu": x / 2 * (1 + cls.ERF(x / math.sqrt(2))),
                "gelu_tanh": x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "mish": x * numpy.tanh(softplus),
                "relu": numpy.maximum(x, 0), "sigmoid": sigmoid, "silu": x * sigmoid, "softplus": softplus, "tanh": numpy.tanh(x)}

    def kernel(self, said, computed, target="gfx942"):
        k = Program("function", target, 64)
        n = k.size("n", most=1 << 20)
        y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
        k.computes(y, lambda i: said(x[i]))
        w, tv = k.workgroups(0, n, 64), line_tv(64, 1, 64)
        k.store(k.map([k.load(k.tile(x, [64], [w]), tv, 1)], computed), k.tile(y, [64], [w]), 1)
        return k

    def test_each_is_proved_and_right(self):
        x = numpy.concatenate([numpy.linspace(-20, 20, 300), [-1e30, 1e30, 0, 0.5, 1.5, 2.5, -0.5, -1.5, -3, 3, 8388609]]).astype(numpy.float32)
        with numpy.errstate(over="ignore"):
            wanted = self.by_numpy(x.astype(float))
        self.assertEqual(set(wanted), set(self.OURS))
        for target in ("gfx942", "gfx950"):
            for name, f in self.OURS.items():
                with self.subTest(function=name, target=target):
                    artifact = self.kernel(f, f, target).build(validate=name != "floor")
                    if name != "floor":  # a whole number, of which machine code is undecided
                        self.assertIn("validated", artifact.validation)
                    y = numpy.zeros_like(x)
                    artifact.run(y, x, n=len(x))
                    exact = name in ("abs", "floor", "relu")
                    numpy.testing.assert_array_less(abs(y - wanted[name]), 1e-30 if exact else 2e-6 * numpy.maximum(1, abs(wanted[name])))

    def test_none_is_another_one(self):
        for said in self.OURS:
            for computed in self.OURS:
                with self.subTest(said=said, computed=computed):
                    k = self.kernel(self.OURS[said], self.OURS[computed])
                    if said == computed:
                        k.prove()
                    else:
                        with self.assertRaisesRegex(codegen.ProgramError, "y is what the specification says"):
                            k.prove()
        for said, computed in ((math.floor, codegen.nearest), (math.floor, lambda x: codegen.nearest(x - 0.5)), (abs, lambda x: x),
                               (codegen.erf, lambda x: codegen.erf(x * -1.0)), (codegen.softplus, lambda x: codegen.log(exp(x) + 1))):
            with self.assertRaisesRegex(codegen.ProgramError, "y is what the specification says"):
                self.kernel(said, computed).prove()
        self.kernel(codegen.silu, lambda x: x * codegen.sigmoid(x)).prove()

    def test_what_is_no_number_is_refused(self):
        for f in self.OURS.values():
            with self.assertRaises(codegen.ProgramError):
                self.kernel(lambda x: f(integer(x * 1)), lambda x: x)


class Arithmetic(unittest.TestCase):
    """What `contract`, `approximate` and `reassociate` ask of a map, by numpy: one operation after the other, each rounded to f32."""
    SIGNS = {"+": numpy.add, "-": numpy.subtract, "*": numpy.multiply, "/": numpy.divide}

    def drawn(self, random, depth):
        """A leaf's number, a root, or an operation of two."""
        if depth == 0 or random.random() < 0.1:
            return int(random.integers(4))
        if random.random() < 0.1:
            return "sqrt", self.drawn(random, 0)
        sign = str(random.choice(list("+++***-/")))
        return sign, self.drawn(random, depth - 1), self.drawn(random, depth - 1 if random.random() < 0.7 else 0)

    def said(self, tree, of):
        if isinstance(tree, int):
            return of[tree]
        if tree[0] == "sqrt":
            return codegen.sqrt(of[tree[1]])
        a, b = self.said(tree[1], of), self.said(tree[2], of)
        return a + b if tree[0] == "+" else a - b if tree[0] == "-" else a * b if tree[0] == "*" else a / b

    def computed(self, tree, of, halves=False):
        if isinstance(tree, int):
            return of[tree]
        if tree[0] == "sqrt":
            return numpy.sqrt(of[tree[1]])
        apply = self.SIGNS[tree[0]]
        if not halves or tree[0] not in "+*":
            return apply(self.computed(tree[1], of, halves), self.computed(tree[2], of, halves))

        def terms(t):
            return terms(t[1]) + terms(t[2]) if not isinstance(t, int) and t[0] == tree[0] else [self.computed(t, of, True)]
        all_of = terms(tree)
        if len(all_of) < 4:
            return apply(*(self.computed(t, of, True) for t in tree[1:]))
        while len(all_of) > 1:
            pairs = [apply(a, b) for a, b in zip(all_of[::2], all_of[1::2])]
            all_of = pairs + all_of[len(pairs) * 2:]
        return all_of[0]

    def kernel(self, trees, math):
        k = Program("written", "gfx942", 64)
        N = k.size("n", most=1 << 16)
        outputs = [k.output(f"y{i}", "f32", [N]) for i in range(len(trees))]
        inputs = [k.input(name, "f32", [N]) for name in "abcd"]
        for y, tree in zip(outputs, trees):
            k.computes(y, lambda i, tree=tree: self.said(tree, [x[i] for x in inputs]))
        w, tv = k.workgroups(0, N, 64), line_tv(64, 1, 64)
        of = [k.load(k.tile(x, [64], [w]), tv, 1) for x in inputs]
        for y, tree, how in zip(outputs, trees, math):
            k.store(k.map(of, lambda *e, tree=tree: self.said(tree, e), "f32", **how), k.tile(y, [64], [w]), 1)
        return k

    def run_on(self, built, count, seed):
        random = numpy.random.default_rng(seed)
        given = [numpy.ldexp(random.random(100) + 0.5, random.integers(-3, 4, 100)).astype(numpy.float32) for _ in range(4)]
        out = [numpy.empty(100, numpy.float32) for _ in range(count)]
        built.run(*out, *given, n=100, check="all")
        return given, out

    def test_random_maps_have_the_bits_of_numpy(self):
        """INLAY_ARITHMETIC: how many kernels of four maps each; the seed is fixed."""
        plain, differs, refused = {"contract": False, "approximate": False}, 0, 0
        count = int(os.environ.get("INLAY_ARITHMETIC", 4))
        for n in range(count):
            random = numpy.random.default_rng([20261129, n])
            trees = [self.drawn(random, 5) for _ in range(4)]
            # Every operand is used somewhere: what nothing needs is refused.
            trees[0] = ("+", trees[0], ("*", ("+", 0, 1), ("+", 2, 3)))
            halves = [bool(random.integers(2)) for _ in trees]
            with self.subTest(n, trees=trees, halves=halves):
                try:
                    built = self.kernel(trees, [dict(plain, reassociate=h) for h in halves]).build()
                except codegen.ProgramError as e:  # a large product of sums, which halves distribute in another order
                    self.assertIn("is what the specification says", str(e))
                    refused += 1
                    continue
                given, out = self.run_on(built, 4, n)
                with numpy.errstate(all="ignore"):
                    for tree, h, y in zip(trees, halves, out):
                        numpy.testing.assert_array_equal(y, self.computed(tree, given, h))
                        differs += h and (y != self.computed(tree, given)).any()
        self.assertTrue(differs)
        self.assertLessEqual(refused, count // 20)

    def test_reassociate_is_of_its_map_alone(self):
        sum_of_five = ("+", ("+", ("+", ("+", 0, 1), 2), 3), 0)
        plain = {"contract": False, "approximate": False}
        neither, first, second = (self.kernel([sum_of_five] * 2, how) for how in (
            [plain] * 2, [dict(plain, reassociate=True), plain], [plain, dict(plain, reassociate=True)]))
        self.assertEqual([k.text().count("by halves") for k in (neither, first, second)], [0, 1, 1])
        built = [k.build() for k in (neither, first, second)]
        results = [self.run_on(b, 2, 1) for b in built]
        given = results[0][0]
        written, halves = self.computed(sum_of_five, given), self.computed(sum_of_five, given, True)
        self.assertTrue((written != halves).any())
        for (_, out), wanted in zip(results, ([written, written], [halves, written], [written, halves])):
            numpy.testing.assert_array_equal(out, wanted)
        # As many additions, and no flag by which LLVM could order any of them.
        self.assertEqual([len(re.findall("= fadd ", b.ir)) for b in built], [8, 8, 8])
        for b in built:
            self.assertNotRegex(b.ir, r"f(add|mul|sub|div) (\w+ )*(reassoc|fast) ")
        # Claims are of real numbers: the same ones, however it is added.
        self.assertEqual(*(re.search("[0-9]+ claims proved", repr(b)).group() for b in built[:2]))
        # Sums of three have no halves: the same code.
        sum_of_three = ("+", ("+", 0, 1), ("*", 2, 3))
        codes = [self.kernel([sum_of_three], [dict(plain, reassociate=r)]).build().assembly for r in (False, True)]
        self.assertEqual(*codes)

class Operations(unittest.TestCase):
    """What the guide's kernels do not use."""

    def test_tickets_and_places(self):
        k = Program("columns", "gfx942", 128)
        m, n = k.size("m", most=1 << 14), k.size("n", most=1000)
        y, parts, x = k.output("y", "f32", [m]), k.output("parts", "f32", [m, n], "(m,n):(1,m)"), k.input("x", "f32", [m, n], "(m,n):(1,m)")
        k.computes(parts, lambda i, p: x[i, p] * 2)
        k.computes(y, lambda i: k.sum(n, lambda p: parts[i, p]))
        row, part = k.workgroups(0, m, 128), k.workgroups(1, n, 1)
        tv = line_tv(128, 1, 128)
        k.store(k.map([k.load(k.tile(x, [128, 1], [row, part]), tv, 1)], lambda v: v * 2), k.tile(parts, [128, 1], [row, part]), 1)
        number = k.ticket("arrived", part)

        @k.if_less(n - 2, number)
        def last():
            sum = k.zeros("f32", tv, [128, 1])
            k.loop(n, 1, lambda t: k.update(sum, [k.fold("sum", k.load(k.tile(parts, [128, 1], [row, t]), tv, 1), 1)], lambda s, v: s + v),
                   distance=0, ring=1)
            k.store(sum, k.tile(y, [128], [row]), 1)
        artifact = k.build()
        values = numpy.random.default_rng(1).uniform(-1, 1, (5, 200)).astype(numpy.float32)  # column by column
        y, parts, arrived = numpy.zeros(200, numpy.float32), numpy.zeros_like(values), numpy.zeros(2, numpy.int32)
        artifact.run(y, parts, values, arrived, m=200, n=5)
        numpy.testing.assert_allclose(y, 2 * values.sum(0), atol=1e-5)
        self.assertEqual(list(arrived), [0, 0])

    def test_shares_and_additions(self):
        mma = MmaTiling.of(Atom.mma_best("gfx942", "f16", "f16", "f32", 16), 2, 2, 64, 64, 64, 8)
        k = Program("shared", "gfx942", mma.threads())
        M, N, K = k.size("m", most=1 << 10), k.size("n", most=1 << 10), k.size("k", most=1 << 12, multiple=8)
        C, A, B = k.output("c", "f32", [M, N]), k.input("a", "f16", [M, K]), k.input("b", "f16", [N, K])
        k.computes(C, lambda m, n: k.sum(K, lambda i: A[m, i] * B[n, i]))
        bn, bm = k.workgroups(0, N, 64), k.workgroups(1, M, 64)
        k.order_tiles("rows:2")
        begin, count = k.share(5, K, 64)
        rows = rows_tv(64, 64, 8, mma.threads())
        a, b = (k.conflict_free_tile(name, "f16", 64, 64, 8, rows, tv) for name, tv in (("lds_a", mma.a()), ("lds_b", mma.b())))
        acc = k.zeros("f32", mma.c(), [64, 64])

        @k.loop(codegen.min(K - 64 * begin, 64 * count), 64)
        def trip(t):
            k.copy(k.tile(A, [64, 64], [bm, begin + t]), a, rows, 8)
            k.copy(k.tile(B, [64, 64], [bn, begin + t]), b, rows, 8)
            k.mma(acc, k.read(a, mma.a(), 8), k.read(b, mma.b(), 8), mma)
        k.add(acc, k.tile(C, [64, 64], [bm, bn]))
        m, n, depth = 100, 70, 200
        x, y = (numpy.random.default_rng(seed).uniform(-1, 1, (size, depth)).astype(numpy.float16) for seed, size in ((1, m), (2, n)))
        c = numpy.zeros((m, n), numpy.float32)
        k.build().run(c, x, y, m=m, n=n, k=depth)
        numpy.testing.assert_allclose(c, x.astype(float) @ y.astype(float).T, atol=1e-3)

    def test_several_devices(self):
        def sums(devices=2, first=True, last=True):
            """Of what the peers and the devices themselves have, and the line of the load."""
            k = Program("sums", "gfx942", 64)
            n, rank = k.size("n", most=1 << 20), k.devices(devices)
            y, own, x = k.output("y", "f32", [n]), k.input("own", "f32", [n]), k.peers("x", "f32", [n])
            self.assertEqual(([t.name for t in x], str(rank)), ([f"x_{d}" for d in range(devices)], "rank"))
            add = lambda *v: sum(v[1:], v[0])
            k.computes(y, lambda i: add(own[i], *(t[i] for t in x)))
            w, tv = k.workgroups(0, n, 64), line_tv(64, 1, 64)
            if first: k.meet("signals")
            of = [k.load(k.tile(t, [64], [w]), tv, 1) for t in (own, *x)]; loaded = line()
            k.store(k.map(of, add), k.tile(y, [64], [w]), 1)
            if last: k.meet("signals")
            return k, loaded
        k, loaded = sums(first=False)
        with self.assertRaisesRegex(inlay.ProgramError, "what is read of x_0 is there") as caught:
            k.build()
        self.assertEqual((caught.exception.file, caught.exception.line), (__file__, loaded))
        with self.assertRaisesRegex(inlay.ProgramError, "no device's launch ends while another one reads"):
            sums(last=False)[0].prove()
        k, _ = sums(3)
        self.assertTrue(k.orders()["deterministic"])
        built = k.build()
        self.assertEqual(built.buffers, ["y", "own", "x_0", "x_1", "x_2", "signals_0", "signals_1", "signals_2"])
        x, own = (numpy.random.default_rng(seed).integers(-9, 9, (3, 100)).astype(numpy.float32) for seed in (1, 2))
        y, flags = numpy.zeros((3, 100), numpy.float32), numpy.zeros((3, 6), numpy.int32)
        for launch in range(2):  # the flags count on
            built.run(list(y), list(own), *x, *flags, n=100, check="all")
            numpy.testing.assert_array_equal(y, own + x.sum(0))
        self.assertEqual(set(flags.ravel()), {4})
        built.run(list(y), own[0], *x, *flags, n=100)  # the same on all devices
        numpy.testing.assert_array_equal(y, own[:1] + x.sum(0) + 0 * y)
        for given, wrong, pattern in (((y[0], own[0], *x, *flags), TypeError, "y is written by each of 3 devices"),
                                      ((list(y[:2]), own[0], *x, *flags), TypeError, "y: 2 arrays; one for each of 3 devices"),
                                      ((list(y), own[0], list(x), *x[1:], *flags), TypeError, "x_0: 3 arrays; it is device 0's"),
                                      (([y[0], y[0], y[1]], own[0], *x, *flags), ValueError, "buffers y and y share memory"),
                                      ((list(y), [own[0], own[1], own[2, :50]], *x, *flags), inlay.CommandError, "own of device 2 has 200 bytes")):
            with self.assertRaisesRegex(wrong, pattern):
                built.run(*given, n=100)
        with self.assertRaisesRegex(TypeError, "rank is each device's own number"):
            built.run(list(y), own[0], *x, *flags, n=100, rank=1)
        k = Program("k", "gfx942", 64)
        n = k.size("n")
        for f, pattern in ((lambda: k.peers("x", "f32", [n]), "one device"), (lambda: k.devices(1), "2 to 64"), (lambda: k.meet("s"), "one device|no grid")):
            with self.assertRaisesRegex(inlay.ProgramError, pattern) as caught:
                f()
            self.assertEqual(caught.exception.line, f.__code__.co_firstlineno)

    def test_the_greatest_and_what_is_beside_them(self):
        names = ("value", "place", "beside")
        def chosen(count=3, n=64, other="bf16", said=0):
            """Of each row of x the greatest elements, their places, and what z has there."""
            k = Program("chosen", "gfx942", 64)
            M = k.size("m", most=1 << 16)
            x, z = k.input("x", "f32", [M, n]), k.input("z", other, [M, n])
            w, tv = k.workgroups(0, M, 8), rows_tv(8, n, 4, 64)
            found = k.top(count, *(k.load(k.tile(t, [8, n], [w, 0]), tv, 4) for t in (x, z)), [1])
            def top(m): return k.top(count, [n], lambda i: x[m, i])
            for d in range(count):
                as_said = (lambda m, _: top(m)[0][d], lambda m, _: top(m)[1][d],
                           lambda m, _: k.at_place(top(m)[1][(d + said) % count], [n], lambda i: z[m, i]))
                for name, formula, ranks in zip(names, as_said, found):
                    y = k.output(f"{name}{d}", "f32", [M, 1])
                    k.computes(y, formula)
                    k.store(ranks[d], k.tile(y, [8, 1], [w, 0]), 1)
            return k
        built = chosen().build()
        random = numpy.random.default_rng(3)
        x, z = random.integers(-3, 4, (21, 64)).astype(numpy.float32), random.integers(0, 1 << 14, (21, 64)).astype(numpy.uint16)
        results = {f"{name}{d}": numpy.zeros((21, 1), numpy.float32) for d in range(3) for name in names}
        built.run(*(results.get(name, {"x": x, "z": z}.get(name)) for name in built.buffers), m=21, check="all")
        order = numpy.argsort(-x, axis=1, kind="stable")
        of_z = (z.astype(numpy.uint32) << 16).view(numpy.float32)
        for d in range(3):
            at = order[:, d:d + 1]
            for name, wanted in zip(names, (numpy.take_along_axis(x, at, 1), at, numpy.take_along_axis(of_z, at, 1))):
                numpy.testing.assert_array_equal(results[f"{name}{d}"], wanted, f"{name}{d}")
        with self.assertRaisesRegex(inlay.ProgramError, "beside0 is what the specification says"):
            chosen(said=1).prove()
        with self.assertRaisesRegex(inlay.ProgramError, "what stands beside its elements is f32(.|\n)*bf16 or f16"):
            chosen(other="f32")

    def test_the_greatest_of_signalling_nans(self):
        def found(row, f, place, count, rank, lanes, target):
            n, rows = len(row), 64 // lanes
            k = Program("nans", target, 64)
            M = k.size("m", most=1 << 16)
            x, y, w = k.input("x", "bf16", [M, n]), k.output("y", "f32", [M, 1]), k.workgroups(0, M, rows)
            of = k.map([k.load(k.tile(x, [rows, n], [w, 0]), rows_tv(rows, n, n // lanes, 64), n // lanes)], f)
            k.computes(y, lambda m, _: k.top(count, [n], lambda i: f(x[m, i]))[place][rank])
            k.store(k.top(count, of, [1])[place][rank], k.tile(y, [rows, 1], [w, 0]), 1)
            built, out = k.build(), numpy.zeros((1, 1), numpy.float32)
            built.run(*({"x": numpy.array([row], numpy.uint16), "y": out}[name] for name in built.buffers), m=1, check="all")
            return float(out[0, 0])
        same, negated, positive = (lambda e: e), (lambda e: e * -1.0), (lambda e: codegen.max(e, 0.0))
        for target in ("gfx942", "gfx950", "gfx90a"):
            for lanes in (1, 8):
                for f in (same, negated):
                    self.assertEqual(found([0x7f81] * 8, f, 0, 1, 0, lanes, target), -math.inf)
                    self.assertEqual(found([0xffa4] * 7 + [0x3f80], f, 0, 2, 1, lanes, target), -math.inf)
                self.assertEqual(found([0x4000, 0x3f80, 0xff81, 0xff81, 0xff81, 0, 0, 0], same, 0, 3, 2, lanes, target), 0)
                self.assertEqual(found([0xffc0] * 8, positive, 1, 1, 0, lanes, target), 0)
                self.assertEqual(found([0x7f81, 0x8000, 0x8000, 0x7f81] * 2, same, 1, 1, 0, lanes, target), 1)

    def test_a_grid_that_a_formula_counts(self):
        k = Program("pairs", "gfx942", 64)
        n = k.size("n", least=2, most=1 << 20)
        x, y = k.input("x", "f32", [n]), k.output("y", "f32", [n // 2])
        first, second = (k.window(name, x, [(n // 2, [(n // 2, 0, 2)])], [at]) for at, name in enumerate(("first", "second")))
        k.computes(y, lambda i: first[i] + second[i])
        w, tv = k.workgroups(0, n // 2, 64), line_tv(64, 1, 64)
        k.store(k.map([k.load(k.tile(t, [64], [w]), tv, 1) for t in (first, second)], lambda a, b: a + b), k.tile(y, [64], [w]), 1)
        built = k.build()
        for size in (2, 3, 129, 1000):
            values, sums = numpy.random.default_rng(size).uniform(-1, 1, size).astype(numpy.float32), numpy.zeros(size // 2, numpy.float32)
            built.run(values, sums, n=size, check="all")
            numpy.testing.assert_array_equal(sums, values[:size // 2 * 2:2] + values[1::2])
        with self.assertRaisesRegex(inlay.CommandError, "n = 1"):
            built.run(numpy.zeros(1, numpy.float32), numpy.zeros(1, numpy.float32), n=1)
        self.assertEqual([str(f) for f in json.loads(built.manifest)["grid"]], ["((n/2) + 63)/64", "1", "1"])
        self.assertGreater(built.time(n=1000).clocks, 0)  # a launch of the manifest

    def test_what_was_there(self):
        k = Program("scale", "gfx942", 64)
        n = k.size("n", most=1 << 20)
        x = k.inout("x", "f32", [n])
        k.computes(x, lambda i: codegen.max(x[i], 0) * 0.5)
        w, tv = k.workgroups(0, n, 64), "(64,1):(1@0,0)"  # a layout may be its text
        tile = k.tile(x, [64], [w])
        k.store(k.map([k.load(tile, tv, 1)], lambda v: codegen.max(v, 0) * 0.5), tile, 1)
        values = numpy.linspace(-1, 1, 100, dtype=numpy.float32)
        after = values.copy()
        k.build().run(after, n=100)
        numpy.testing.assert_array_equal(after, numpy.maximum(values, 0) / 2)

    def test_a_number_for_each_block(self):
        """X[i] * S[table[i / block]], as k.at and as k.value say it, with tiles that are a part of the block; wrong entries are refused."""
        def scaled(said, tile, block, entry, multiple):
            k = Program("scaled", "gfx942", 64)
            M = k.size("m", most=1 << 16, multiple=multiple)
            Y, X, S = k.output("y", "f32", [M]), k.input("x", "f32", [M]), k.input("s", "f32", [1024])
            table = k.input("t", "i32", [codegen.ceil_div(M, block)])
            group = k.workgroups(0, M, tile)
            k.computes(Y, lambda i: X[i] * S[getattr(k, said)(table, i // block)])
            number, tv = k.uniform(table, entry(group)), line_tv(tile, 1, 64)
            x = k.load(k.tile(X, [tile], [group]), tv, 1)
            s = k.load(k.tile(S, [1], [number]), f"(64,{tile // 64}):(0,0)", 1)
            k.store(k.map([x, s], lambda x, s: x * s), k.tile(Y, [tile], [group]), 1)
            return k.build()

        for said in ("at", "value"):
            for tile, block, entry, multiple in (
                (64, 64, lambda w: w, 64), (64, 64, lambda w: w, 1), (64, 128, lambda w: w // 2, 64),
                (64, 128, lambda w: w // 2, 128), (64, 192, lambda w: w // 3, 64), (64, 128, lambda w: 64 * w // 128, 64),
            ):
                with self.subTest(said, block=block, multiple=multiple):
                    m = 5 * block if multiple > 1 else 1000
                    x, s = numpy.arange(1, m + 1, dtype=numpy.float32), numpy.arange(1, 1025, dtype=numpy.float32)
                    table = numpy.random.default_rng(m).integers(0, 1024, -(-m // block)).astype(numpy.int32)
                    y = numpy.zeros(m, numpy.float32)
                    scaled(said, tile, block, entry, multiple).run(y, x, s, table, m=m, check="all")
                    numpy.testing.assert_array_equal(y, x * s[table[numpy.arange(m) // block]])
            for tile, block, entry in (
                (128, 64, lambda w: 2 * w), (64, 96, lambda w: 64 * w // 96), (64, 64, lambda w: w % 4), (64, 128, lambda w: w // 4),
            ):
                with self.subTest(said, block=block), self.assertRaises(inlay.ProgramError):
                    scaled(said, tile, block, entry, 384)

    def test_rows_that_are_put(self):
        k = Program("put", "gfx942", 64)
        t, rows, n = k.size("t", most=1 << 20), k.size("rows", most=1 << 20), k.size("n", most=1 << 10)
        y, x, ids = k.inout("y", "f32", [rows, n]), k.input("x", "f32", [t, n]), k.input("ids", "i32", [t])

        @k.puts(y, ids)
        def _(s, i): return x[s, i]
        w, part = k.workgroups(0, t, 1), k.workgroups(1, n, 64)
        k.store(k.load(k.tile(x, [1, 64], [w, part]), "(64,1):(1@1,0)", 1), k.tile(y, [1, 64], [k.uniform(ids, w), part]), 1)
        values, new = numpy.zeros((9, 70), numpy.float32), numpy.arange(280, dtype=numpy.float32).reshape(4, 70)
        table = numpy.array([8, -1, 0, 9], numpy.int32)
        wanted = values.copy()
        wanted[[8, 0]] = new[[0, 2]]
        k.build().run(values, new, table, t=4, rows=9, n=70)
        numpy.testing.assert_array_equal(values, wanted)


    def test_functions_of_sums_over_a_part(self):
        """Of f(sum of g(x, w) over a segment), written in two ways: what does not depend on the index, and squares of products."""
        def segments(said, done, of_sum, of_sum_done, tile=64):
            k = Program("segments", "gfx942", 64)
            S, N, D = k.size("segments", most=1 << 14), k.size("n", most=1 << 16), k.size("d", most=1 << 10)
            Y, X, W = k.output("y", "f32", [S, D]), k.input("x", "f32", [N, D]), k.input("w", "f32", [1, D])
            A = k.input("a", "i32", [S + 1])
            k.computes(Y, lambda s, d: of_sum(k.sum(N, k.value(A, s), k.value(A, s + 1), lambda i: said(X[i, d], W[0, d]))))
            s, part = k.workgroups(0, S, 1), k.workgroups(1, D, tile)
            begin, end = k.uniform(A, s), codegen.min(N, k.uniform(A, s + 1))
            tv = rows_tv(1, tile, 1, 64)
            row, to = codegen.without_axis(tv, 0), k.tile(Y, [1, tile], [s, part])
            w = k.load(k.tile(W, [1, tile], [0, part]), row, 1)

            def put(total):
                k.store(k.map([total], of_sum_done), to, 1)

            def some():
                acc = k.zeros("f32", row, [1, tile])

                @k.loop(begin, end, 1, distance=0, ring=1)
                def trip(i):
                    k.update(acc, [k.map([k.load(k.tile(X, [1, tile], [i, part]), tv, 1), w], done)], lambda a, x: a + x)
                put(acc)
            k.if_less(begin, end, some, lambda: put(k.zeros("f32", row, [1, tile])))
            return k
        right = [(lambda x, w: (x + w) * 0.5 * w, lambda x, w: x * w * 0.5 + w * w * 0.5, lambda t: t * 0.5),
                 (lambda x, w: x - w - 0.25, lambda x, w: x - (w + 0.25), lambda t: t + t),
                 (lambda x, w: x * x + w * 2, lambda x, w: x * x + w + w, lambda t: t * t)]
        for said, done, of_sum in right:
            segments(said, done, of_sum, of_sum).prove()
            for wrong in (segments(said, lambda x, w: done(x, w) + w, of_sum, of_sum),
                          segments(said, done, of_sum, lambda t: of_sum(t) * 0.5)):
                with self.assertRaisesRegex(inlay.ProgramError, "y is what the specification says"):
                    wrong.prove()

    def test_segments_that_formulas_bound(self):
        """Sums over begin(a) <= i < end(b), with a and b from memory at the ends of i32: below 0 they count as 0."""
        def segments(begin_of, end_of, tile=64):
            k = Program("segments", "gfx942", 64)
            S, N, D = k.size("segments", most=1 << 14), k.size("n", most=1 << 16), k.size("d", most=1 << 10)
            Y, X = k.output("y", "f32", [S, D]), k.input("x", "f32", [N, D])
            A, B = k.input("a", "i32", [S]), k.input("b", "i32", [S])
            k.computes(Y, lambda s, d: k.sum(N, begin_of(k.value(A, s)), end_of(k.value(B, s)), lambda i: X[i, d]))
            s, part = k.workgroups(0, S, 1), k.workgroups(1, D, tile)
            begin, end = begin_of(k.uniform(A, s)), codegen.min(N, end_of(k.uniform(B, s)))
            tv = rows_tv(1, tile, 1, 64)
            row, to = codegen.without_axis(tv, 0), k.tile(Y, [1, tile], [s, part])

            def some():
                acc = k.zeros("f32", row, [1, tile])

                @k.loop(begin, end, 1, distance=0, ring=1)
                def trip(i):
                    k.update(acc, [k.load(k.tile(X, [1, tile], [i, part]), tv, 1)], lambda a, x: a + x)
                k.store(acc, to, 1)
            k.if_less(begin, end, some, lambda: k.store(k.zeros("f32", row, [1, tile]), to, 1))
            return k.build()
        least, most = -2**31, 2**31 - 1
        numbers = [least, least + 1, -1, 0, 1, 5, 6, 7, 8, most - 1, most]
        a, b = (numpy.array(x, numpy.int32).ravel() for x in numpy.meshgrid(numbers, numbers))
        x = numpy.arange(7 * 65, dtype=numpy.float32).reshape(7, 65)
        for begin_of, end_of in ((lambda a: a, lambda b: b), (lambda a: a, lambda b: b + 1), (lambda a: 0, lambda b: b + 1)):
            built, y = segments(begin_of, end_of), numpy.full((a.size, 65), numpy.nan, numpy.float32)
            built.run(y, x, a, b, segments=a.size, n=7, d=65, check="all")
            ends = [(begin_of(max(0, int(i))), max(0, end_of(max(0, int(j))))) for i, j in zip(a, b)]
            numpy.testing.assert_array_equal(y, numpy.stack([x[i:max(i, j)].sum(0) for i, j in ends]))


class Sums(unittest.TestCase):
    """Sums of integers modulo 2^32, and several sums in one accumulator: right by numpy, or refused for the one place that is changed."""

    @staticmethod
    def row(*, lanes=False, body=lambda w: w, said=None, most=1 << 20, distance=2, ring=2, row=0, out="i32", after=None, said_after=None,
            add=lambda a, b: integer(a) + integer(b), numbers=False, fold="i32", depth=None):
        """y(m) = after(the sum of body(x(m, i)) over i)."""
        k = Program("row", "gfx942", 256)
        M, N = k.size("m", most=1 << 16), k.size("n", most=most)
        Y, X = k.output("y", out, [M, 1]), k.input("x", "i32", [M, N])
        of, after, said_after = said or body, after or (lambda s: s), said_after or after or (lambda s: s)
        if numbers:
            k.computes(Y, lambda m, _: k.sum(N, lambda i: X[m, i]))
        else:
            k.computes(Y, lambda m, _: said_after(k.sum(N, lambda i: of(integer(X[m, i])))))
        r, tv = k.workgroups(0, M, 1), rows_tv(1, 1024, 4, 256)
        acc = k.zeros("i32", tv if lanes else codegen.without_axis(tv, 1), [1, 1024 if lanes else 1])
        @k.loop(depth or N, 1024, distance=distance, ring=ring)
        def trip(t):
            x = k.load(k.tile(X, [1, 1024], [r + row, t]), tv, 1)
            if lanes:
                k.update(acc, [x], lambda a, v: integer(a) + body(integer(v)))
            else:
                k.update(acc, [k.fold("sum", k.map([x], lambda v: body(integer(v)), "i32"), 1, fold)], add)
        s = k.fold("sum", acc, 1, "i32") if lanes else acc
        k.store(k.map([s], lambda v: after(integer(v)), "f32" if out == "f32" else "i32"), k.tile(Y, [1, 1], [r, 0]), 1)
        return k

    def runs(self, k, wanted, sizes=((1, 1), (2, 1024), (2, 1025), (1, 3000)), of=numpy.int32):
        kernel, random = k.build(), numpy.random.default_rng(1)
        for m, n in sizes:
            x, y = random.integers(-2**31, 2**31, (m, n)).astype(numpy.int32), numpy.empty((m, 1), of)
            kernel.run(y, x, m=m, n=n, check="all", stress=1)
            numpy.testing.assert_array_equal(y[:, 0], wanted(x).astype(of))

    def refused(self, k, why):
        with self.assertRaisesRegex(inlay.ProgramError, why):
            k.build()

    def test_sums_of_integers(self):
        def total(x): return x.astype(numpy.int64).sum(1).astype(numpy.uint64).astype(numpy.uint32)  # modulo 2^32
        def word(x): return x.view(numpy.uint32).astype(numpy.int64)
        for lanes in (False, True):
            row = lambda **how: self.row(lanes=lanes, **how)
            with self.subTest(lanes=lanes):
                self.runs(row(), total)
                self.runs(row(distance=0, ring=1), total)
                self.runs(row(body=lambda w: w * w * 5), lambda x: total(x * x * numpy.int32(5)))
                self.runs(row(body=lambda w: w >> 7), lambda x: total(word(x) >> 7))
                self.runs(row(body=popcount), lambda x: numpy.unpackbits(x.view(numpy.uint8), axis=1).sum(1))
                self.runs(row(after=lambda s: s ^ (s >> 16)), lambda x: total(x) ^ (total(x) >> 16))
                self.runs(row(out="i64"), lambda x: total(x).view(numpy.int32), of=numpy.int64)
                self.runs(row(out="f32", after=lambda s: to_number(s & 0xffff) * 0.5), lambda x: (total(x) & 0xffff) * 0.5, of=numpy.float32)
                says, outside = "y is what the specification says", "what lies outside of a (wrapping )?sum is its empty element"
                self.refused(row(body=lambda w: w * 2, said=lambda w: w), says)
                self.refused(row(after=lambda s: s * 2, said_after=lambda s: s), says)
                self.refused(row(out="f32", after=lambda s: to_number(s) * 0.5, said_after=lambda s: to_number(s)), says)
                self.refused(row(numbers=True), says)  # it may be more than i32 has
                self.refused(row(row=1), says)
                self.refused(row(depth=1024), "claim")
                self.refused(row(body=lambda w: w + 1), outside)
                self.refused(row(body=codegen.leading_zeros), outside)
        def half(said):
            k = Program("half", "gfx942", 64)
            M, N = k.size("m", most=1 << 10), k.size("n", most=1 << 12)
            Y, X = k.output("y", "f32", [M, 1]), k.input("x", "i32", [M, N])
            k.computes(Y, lambda m, _: said(k, N, lambda i: integer(X[m, i])))
            r, tv = k.workgroups(0, M, 1), rows_tv(1, 64, 1, 64)
            acc = k.zeros("i32", codegen.without_axis(tv, 1), [1, 1])
            k.loop(N, 64, lambda t: k.update(acc, [k.fold("sum", k.load(k.tile(X, [1, 64], [r, t]), tv, 1), 1, "i32")],
                                             lambda a, b: integer(a) + integer(b)), distance=0, ring=1)
            k.store(k.map([acc], lambda v: v * 0.5), k.tile(Y, [1, 1], [r, 0]), 1)
            return k
        self.runs(half(lambda k, n, x: to_number(k.sum(n, x)) * 0.5), lambda x: total(x).view(numpy.int32) * 0.5, of=numpy.float32)
        self.refused(half(lambda k, n, x: k.sum(n, lambda i: to_number(x(i)) * 0.5)), "y is what the specification says")
        def tiles(add):
            """Two tiles a trip."""
            k = Program("tiles", "gfx942", 64)
            M, N = k.size("m", most=1 << 10), k.size("n", most=1 << 12)
            Y, X = k.output("y", "i32", [M, 1]), k.input("x", "i32", [M, N])
            k.computes(Y, lambda m, _: k.sum(N, lambda i: integer(X[m, i])))
            r, tv = k.workgroups(0, M, 1), rows_tv(1, 64, 1, 64)
            acc = k.zeros("i32", codegen.without_axis(tv, 1), [1, 1])
            @k.loop(N, 128, distance=0, ring=1)
            def trip(t):
                of = [k.fold("sum", k.load(k.tile(X, [1, 64], [r, 2 * t + i]), tv, 1), 1, "i32") for i in (0, 1)]
                k.update(acc, of, add)
            k.store(acc, k.tile(Y, [1, 1], [r, 0]), 1)
            return k
        self.runs(tiles(lambda a, b, c: integer(a) + integer(b) + integer(c)), total)
        self.refused(tiles(lambda a, b, c: integer(a) + integer(b) + (integer(c) & 0)), "claim")
        self.runs(self.row(add=lambda a, b: a + b), total)
        self.runs(self.row(add=lambda a, b: integer(b) + integer(a)), total)
        for add in (lambda a, b: integer(a) - integer(b), lambda a, b: integer(a) + integer(b) * 2, lambda a, b: integer(a) ^ integer(b),
                    lambda a, b: integer(a) + integer(b) + 1, lambda a, b: integer(a) + integer(b) + integer(b)):
            self.refused(self.row(add=add), "claim")

    def test_a_sum_of_integers_is_of_a_fragment_of_i32(self):
        k = Program("k", "gfx942", 64)
        n, tv = k.size("n", most=1 << 10), rows_tv(1, 64, 1, 64)
        f, i = (k.load(k.tile(k.input(e, e, [n, n]), [1, 64], [0, 0]), tv, 1) for e in ("f32", "i32"))
        for from_, monoid, to in ((f, "sum", "i32"), (f, "max", "u32"), (i, "sum", "i64"), (f, "sum", "f16")):
            with self.assertRaisesRegex(inlay.ProgramError, "fold: (a|its)"):
                k.fold(monoid, from_, 1, to)
        x = k.input("x", "i32", [n])
        self.assertEqual(str(k.sum(n, lambda j: integer(x[j]))), "sum(_i0 < n, int(x(_i0)))")
        for element, text in (("", "max"), ("i32", "max"), ("u32", "umax")):
            self.assertEqual(str(k.fold("max", n, lambda j: integer(x[j]), element)), text + "(_i0 < n, int(x(_i0)))")
        with self.assertRaisesRegex(inlay.ProgramError, "unsigned max of numbers"):
            k.fold("max", n, lambda j: to_number(integer(x[j])), "u32")

    def test_sums_of_bytes_as_integers(self):
        """In i32 lane by lane, by numbers that a condition leaves out past the end of a row."""
        def kernel(most):
            k = Program("bytes", "gfx942", 64)
            M, N = k.size("m", most=1 << 10), k.size("n", most=most)
            Y, X = k.output("y", "f32", [M, 1]), k.input("x", "i8", [M, N])
            k.computes(Y, lambda m, _: k.sum(N, lambda i: to_number(codegen.truncated(to_number(integer(X[m, i]))))))
            r, tv = k.workgroups(0, M, 1), rows_tv(1, 64, 1, 64)
            acc = k.zeros("i32", tv, [1, 64])
            @k.loop(N, 64, distance=0, ring=1)
            def trip(t):
                x = k.load(k.tile(X, [1, 64], [r, t]), tv, 1)
                in_row = k.map([x], lambda x: codegen.truncated(codegen.inside(64 * t + k.position(1), N, to_number(integer(x)), 0)), "i32")
                k.update(acc, [in_row], lambda a, b: a + b)
            k.store(k.fold("sum", acc, 1), k.tile(Y, [1, 1], [r, 0]), 1)
            return k
        built, random = kernel(1 << 20).build(), numpy.random.default_rng(1)
        for m, n in ((1, 1), (2, 63), (3, 64), (2, 1000)):
            x, y = random.integers(-128, 128, (m, n)).astype(numpy.int8), numpy.empty((m, 1), numpy.float32)
            built.run(y, x, m=m, n=n, stress=1)
            numpy.testing.assert_array_equal(y[:, 0], x.astype(int).sum(1))
        self.refused(kernel(1 << 24), "stays inside of i32")

    def test_bounds_of_counts_of_bits(self):
        """Sums of numbers, which i32 has to hold: what counts bits is 32 at most."""
        def kernel(value, most, between=None):
            k = Program("bits", "gfx942", 64)
            M, N = k.size("m", most=most), k.size("n", most=4)
            Y, X = k.output("y", "i32", [1, N]), k.input("x", "i32", [M, N])
            of = between or (lambda w: to_number(value(w)))
            k.computes(Y, lambda _, j: k.sum(M, lambda i: of(integer(X[i, j]))))
            b, tv = k.workgroups(0, N, 64), rows_tv(1, 64, 1, 64)
            acc = k.zeros("i32", tv, [1, 64])
            @k.loop(M, 1, distance=0, ring=1)
            def trip(t):
                x = k.load(k.tile(X, [1, 64], [t, b]), tv, 1)
                k.update(acc, [k.map([x], lambda v: value(integer(v)), "i32")], lambda a, v: a + v)
            k.store(acc, k.tile(Y, [1, 64], [0, b]), 1)
            return k
        def count(v): return bin(int(v) & 0xffffffff).count("1")
        def zeros(v): return 32 - (int(v) & 0xffffffff).bit_length()
        random = numpy.random.default_rng(1)
        for value, most, wanted in ((popcount, (1 << 26) - 1, count), (codegen.leading_zeros, (1 << 26) - 1, zeros),
                                    (codegen.trailing_zeros, (1 << 26) - 1, lambda v: 32 if v == 0 else count((int(v) & -int(v)) - 1)),
                                    (lambda w: w & 0xffff, 32768, lambda v: int(v) & 0xffff), (lambda w: w >> 16, 32768, lambda v: (int(v) & 0xffffffff) >> 16),
                                    (lambda w: codegen.choose(codegen.less_signed(w, 0), popcount(w), 7), (1 << 26) - 1, lambda v: count(v) if v < 0 else 7)):
            kernel_of = kernel(value, most).build()
            for m in (1, 5):
                x, y = random.integers(-2**31, 2**31, (m, 3)).astype(numpy.int32), numpy.empty((1, 3), numpy.int32)
                x[0, 0] = 0
                kernel_of.run(y, x, m=m, n=3, check="all")
                numpy.testing.assert_array_equal(y[0], [sum(wanted(v) for v in c) for c in x.T])
            self.refused(kernel(value, most + 1), "a sum of whole numbers stays inside of i32")
        for value in (lambda w: w, lambda w: w & -2, lambda w: w >> 0, lambda w: codegen.shift_right_signed(w, 1), lambda w: popcount(w) * 4, lambda w: w & (1 << 31)):
            self.refused(kernel(value, 4), "a sum of whole numbers stays inside of i32")

    @staticmethod
    def two(how, said):
        """y(m) = the sum of said(a(m, i), b(m, i)) over i, by sums under way of which each trip adds a tile's."""
        k = Program("two", "gfx942", 64)
        M, N = k.size("m", most=1 << 12), k.size("n", most=1 << 14)
        Y, A, B = k.output("y", "f32", [M, 1]), k.input("a", "f32", [M, N]), k.input("b", "f32", [M, N])
        k.computes(Y, lambda m, _: k.sum(N, lambda i: said(A[m, i], B[m, i])))
        r, tv = k.workgroups(0, M, 1), rows_tv(1, 256, 4, 64)
        acc = k.zeros("f32", codegen.without_axis(tv, 1), [1, 1])
        @k.loop(N, 256, distance=1, ring=2)
        def trip(t):
            a, b = (k.load(k.tile(X, [1, 256], [r, t]), tv, 1) for X in (A, B))
            how(k, acc, a, b, lambda x: k.fold("sum", x, 1))
        k.store(acc, k.tile(Y, [1, 1], [r, 0]), 1)
        return k

    def test_two_sums_in_one_accumulator(self):
        plus = lambda s, *more: sum(more, s)
        def product(k, a, b): return k.map([a, b], lambda x, y: x * y)
        ways = ((lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], plus), lambda a, b: a + b),
                (lambda k, acc, a, b, f: (k.update(acc, [f(a)], plus), k.update(acc, [f(b)], plus)), lambda a, b: a + b),
                (lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], lambda s, x, y: s - x + y * 2), lambda a, b: 2 * b - a),
                (lambda k, acc, a, b, f: k.update(acc, [f(product(k, a, b)), f(a)], plus), lambda a, b: a * b + a))
        random = numpy.random.default_rng(1)
        for n, (how, said) in enumerate(ways):
            with self.subTest(n):
                kernel = self.two(how, said).build()
                for m, n in ((1, 1), (3, 255), (2, 1030)):
                    a, b = random.integers(-4, 5, (2, m, n)).astype(numpy.float32)
                    y = numpy.empty((m, 1), numpy.float32)
                    kernel.run(y, a, b, m=m, n=n, check="all", stress=1)
                    numpy.testing.assert_array_equal(y[:, 0], said(a, b).sum(1))
                self.refused(self.two(how, lambda a, b: said(a, b) + a), "y is what the specification says")
        for how in (lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], lambda s, x, y: (s + x) * 1.5 + y),
                    lambda k, acc, a, b, f: k.update(acc, [f(a), f(a)], plus), lambda k, acc, a, b, f: k.update(acc, [f(a)], plus),
                    lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], lambda s, x, y: x + y),
                    lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], lambda s, x, y: s + x * y),
                    lambda k, acc, a, b, f: k.update(acc, [f(a), f(b)], lambda s, x, y: s + s + x + y)):
            self.refused(self.two(how, lambda a, b: a + b), "claim")


class Values(unittest.TestCase):
    def test_formulas(self):
        k = Program("k", "gfx942", 64)
        m, n = k.size("m"), k.size("n")
        self.assertEqual(m + n, n + m)
        self.assertEqual((2 * m + 4) // 2, m + 2)
        self.assertEqual((128 * m + 5) % 128, 5)
        self.assertEqual(-(m - n), n - m)
        self.assertEqual(7 - (m - m), 7)
        self.assertEqual(hash(m + 1), hash(1 + m))
        self.assertNotEqual(m, n)
        self.assertEqual(str(codegen.min(m, n)), "min(m,n)")
        self.assertEqual(codegen.ceil_div(64 * m, 64), m)
        self.assertEqual(5 // codegen.Sym(2), 2)

    def test_expressions(self):
        k = Program("k", "gfx942", 64)
        n = k.size("n")
        x = k.input("x", "f32", [n, 4])
        self.assertEqual(str(2 * x[n - 1, 3] - 1), "((2 * x(n-1, 3)) - 1)")
        self.assertEqual(str(1 / k(x, (0, 0))), "(1 / x(0, 0))")
        self.assertEqual(str(x[0, 0] / n), "(x(0, 0) / n)")
        self.assertEqual(str(codegen.max(x[0, 0], 0)), "max(x(0, 0), 0)")
        self.assertEqual(str(codegen.select(x[0, 0], 0, 1, -exp(x[0, 1]))), "(x(0, 0) >= 0 ? 1 : (exp(x(0, 1)) * -1))")

    def test_values_keep_their_program(self):
        def build():
            k = Program("k", "gfx942", 64)
            n = k.size("n")
            x = k.input("x", "f32", [n])
            return n + 1, x[n - 1] * 2, k.tile(x, [64], [0]), k.input("y", "f16", [n])
        n, e, view, y = build()
        gc.collect()
        self.assertEqual((str(n * 2), str(e + 1), str(y[3])), ("2*n+2", "((x(n-1) * 2) + 1)", "y(3)"))
        self.assertEqual(view.extents, (64,))

    def test_decorators_are_functions(self):
        texts = []
        for decorated in (True, False):
            k = Program("k", "gfx942", 64)
            n = k.size("n")
            x, y = k.input("x", "f32", [1, n]), k.output("y", "f32", [1, 1])
            tv = rows_tv(1, 256, 4, 64)
            def total(i, j): return k.sum(n, lambda i: x[0, i])
            sums = k.zeros("f32", tv, [1, 256])
            def trip(t): k.update(sums, [k.load(k.tile(x, [1, 256], [0, t]), tv, 4)], lambda s, v: s + v)
            if decorated:
                self.assertIs(k.computes(y)(total), total)
                self.assertIs(k.loop(n, 256)(trip), trip)
            else:
                k.computes(y, total)
                k.loop(n, 256, trip)
            texts.append("\n".join(line.split("   ; ")[0] for line in str(k).splitlines()))
        self.assertEqual(*texts)


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.artifact = importlib.import_module("vector_add").vector_add("gfx942").build(validate=True)

    def arrays(self, n=1000):
        return numpy.zeros(n, numpy.float32), numpy.arange(n, dtype=numpy.float32), numpy.ones(n, numpy.float32)

    def test_what_it_has(self):
        a = self.artifact
        self.assertEqual((a.kernel, a.arch, a.buffers, a.sizes), ("vector_add", "gfx942", ["c", "a", "b"], ["n"]))
        self.assertIn("buffer_load_dwordx4", a.assembly)
        self.assertIn("define", a.ir)
        self.assertIn("vector_add.py", a.program)
        self.assertEqual(json.loads(a.manifest)["kernel"], "vector_add")
        self.assertIn("claims proved", repr(a))

    def test_a_launch_that_the_contract_refuses(self):
        c, a, b = self.arrays()
        for f, pattern in ((lambda: self.artifact.run(c, a, b, n=1 << 30), "n = 1073741824"), (lambda: self.artifact.run(c, a, b), "the sizes none were given\n  hint   n"),
                           (lambda: self.artifact.run(c, a, b, m=3), "the sizes m were given"),
                           (lambda: self.artifact.run(c, a, n=1000), "2 buffers were given"),
                           (lambda: self.artifact.run(c, a, b[:10], n=1000), "b has 40 bytes"),
                           (lambda: self.artifact.run(c, a, b, n=1000, check="sums"), "sums")):
            with self.assertRaisesRegex(inlay.CommandError, pattern):
                f()
        apart = numpy.zeros(2 * len(c), numpy.float32)[::2]
        self.artifact.run(apart[:500], a[::2], b[:500], n=500)  # not contiguous: copied, there and back
        numpy.testing.assert_array_equal(apart[:500], a[::2] + b[:500])
        self.assertFalse(apart[500:].any())
        fixed = b.copy()
        fixed.flags.writeable = False
        for f, wrong, pattern in ((lambda: self.artifact.run(c, a.astype(numpy.float64), b, n=1000), TypeError, "buffer a is f32, and its array is float64: give float32"),
                                  (lambda: self.artifact.run(c, a.view(numpy.int32), b, n=1000), TypeError, "its array is int32"),
                                  (lambda: self.artifact.run(c, a.astype(">f4"), b, n=1000), TypeError, "its array is >f4"),
                                  (lambda: self.artifact.run(c, c, b, n=1000), ValueError, "buffers a and c share memory"),
                                  (lambda: self.artifact.run(c, None, b, n=1000), TypeError, "buffer a is None\n  hint   an array"),
                                  (lambda: self.artifact.run(c, a, b, n=2.5), TypeError, "size n is 2.5"),
                                  (lambda: self.artifact.run(c, a, b, n=10**30), ValueError, "not of 64 bits"),
                                  (lambda: self.artifact.run(fixed, a, b, n=1000), ValueError, "buffer c is an output")):
            with self.assertRaisesRegex(wrong, pattern):
                f()
        self.artifact.run(c, a, fixed, n=numpy.int64(1000))

    def test_many_problems(self):
        """Tensors are lists, one array a problem; numpy says what each of them is."""
        k = Program("twice_each", "gfx942", 64)
        m, n = k.size("m"), k.size("n", most=4096)
        y, x = k.output("y", "f32", [m, n]), k.input("x", "f32", [m, n])
        k.computes(y, lambda i, j: 2 * x[i, j])
        row, part = k.workgroups(0, m, 1), k.workgroups(1, n, 256)
        f = k.load(k.tile(x, [1, 256], [row, part]).keep([1]), line_tv(256, 1, 64), 1)
        k.store(k.map([f], lambda v: 2 * v), k.tile(y, [1, 256], [row, part]).keep([1]), 1)
        with self.assertRaisesRegex(inlay.codegen.ProgramError, "no size of the program"):
            k.problems("none", [m + 1])
        k.problems("groups", [m])
        artifact = k.build()
        rows = [3, 0, 7]
        xs = [numpy.random.default_rng(r).standard_normal((r, 300), numpy.float32) for r in rows]
        ys = [numpy.zeros_like(a) for a in xs]
        artifact.run(ys, xs, m=rows, n=300, stress=2)
        for a, b in zip(ys, xs):
            numpy.testing.assert_array_equal(a, 2 * b)
        apart = [numpy.zeros((6, 300), numpy.float32)[::2], None, numpy.zeros((7, 300), numpy.float32)]
        artifact.run(apart, [xs[0], None, xs[2]], m=numpy.array(rows), n=300)  # copied there and back; nothing of no rows
        numpy.testing.assert_array_equal(apart[0], 2 * xs[0])
        artifact.run([None], [None], m=[0], n=300)
        artifact.run([ys[0][:, :0]], [xs[0][:, :0]], m=[3], n=0)
        for arguments, sizes, wrong, pattern in (
                ((ys, xs), {"m": [3, 0], "n": 300}, TypeError, "size m: a list of 2, where others have 3"), ((ys, xs), {"m": 3, "n": 300}, TypeError, "size m is each problem's own\n  hint   a list"),
                ((ys,), {"m": rows, "n": 300}, inlay.CommandError, "1 buffers were given\n  hint   y, x, in this order, each a list"), ((ys, xs), {"n": 300}, inlay.CommandError, "size m is missing"),
                ((ys, xs), {"m": rows}, inlay.CommandError, "size n is missing"), ((ys, xs), {"m": [3, 0, 8], "n": 300}, ValueError, "buffer y of problem 2: its shape is"),
                ((ys, xs), {"m": rows, "n": 300, "groups": 3}, TypeError, "how many problems there are"), ((ys, xs), {"m": [3, -1, 7], "n": 300}, inlay.CommandError, "m = -1 of a problem"),
                ((ys[0], xs), {"m": rows, "n": 300}, TypeError, "buffer y is each problem's own"), ((ys, [None] * 3), {"m": rows, "n": 300}, TypeError, "buffer x of problem 0 is None"),
                (([ys[0], ys[0]], [xs[0], xs[0]]), {"m": [3, 3], "n": 300}, ValueError, "y of problem 1 and y of problem 0 share memory"),
                (([ys[0].ravel()[:-1]], [xs[0]]), {"m": [3], "n": 300}, inlay.CommandError, "y of problem 0 has 3596 bytes, and 3600 are wanted"),
                (([], []), {"m": [], "n": 300}, TypeError, "no problem was given"), ((ys, xs), {"m": rows, "n": 5000}, (ValueError, inlay.CommandError), "shape|n = 5000")):
            with self.assertRaisesRegex(wrong, pattern):
                artifact.run(*arguments, **sizes)
        with self.assertRaisesRegex(inlay.CommandError, "many problems is not timed"):
            artifact.time(m=7, n=300, groups=3)
        table = next(a for a in json.loads(artifact.manifest)["arguments"] if a["name"] == "x_at")
        self.assertEqual((table["points_to"]["name"], table["points_to"]["bytes"]), ("x", "4*m*n"))

    def test_shapes_and_sizes_of_zero(self):
        """A transposed array has as many bytes as the tensor; nothing to write is no launch, by run and by load alike."""
        k = Program("copy_rows", "gfx942", 64)
        m, n = k.size("m", most=1 << 12), k.size("n", most=1 << 12)
        y, x = k.output("y", "f32", [m, n]), k.input("x", "f32", [m, n])
        k.computes(y, lambda i, j: x[i, j])
        bn, bm, tv = k.workgroups(0, n, 64), k.workgroups(1, m, 1), rows_tv(1, 64, 1, 64)
        k.store(k.load(k.tile(x, [1, 64], [bm, bn]), tv, 1), k.tile(y, [1, 64], [bm, bn]), 1)
        artifact = k.build()
        given = numpy.arange(5 * 70, dtype=numpy.float32).reshape(5, 70)
        out = numpy.zeros_like(given)
        artifact.run(out, given, m=5, n=70)
        numpy.testing.assert_array_equal(out, given)
        artifact.run(out.reshape(-1), given.reshape(-1)[::-1].copy(), m=5, n=70)  # flat: bytes are what counts
        numpy.testing.assert_array_equal(out.reshape(-1), given.reshape(-1)[::-1])
        check_shape("x", numpy.zeros((5, 128, 64)), (10, 64, 64))  # rows of 64, counted by other dimensions
        check_shape("x", numpy.zeros((5, 2, 64)), (10, 64, 1))
        for shape in ((64, 10, 64), (10, 32, 128), (5, 128, 32)):
            with self.assertRaisesRegex(ValueError, re.escape(f"its shape is {shape}, and the kernel's is (10, 64, 64)")):
                check_shape("x", numpy.zeros(shape), (10, 64, 64))
        before = out.copy()
        for a, b, name, shape in ((out.reshape(70, 5), given, "y", "(70, 5)"), (out, numpy.ascontiguousarray(given.T), "x", "(70, 5)"),
                                  (out, numpy.zeros((6, 70), numpy.float32), "x", "(6, 70)")):
            with self.assertRaisesRegex(ValueError, rf"buffer {name}: its shape is {re.escape(shape)}, and the kernel's is \(5, 70\)"):
                artifact.run(a, b, m=5, n=70)
        with self.assertRaisesRegex(ValueError, r"buffer y: its shape is \(5, 70\), and the kernel's is \(0, 70\)"):
            artifact.run(out, given, m=0, n=70)
        numpy.testing.assert_array_equal(out, before)
        artifact.run(out[:0], given[:0], m=0, n=70)  # nothing to write
        with self.assertRaisesRegex(inlay.CommandError, "m = -1\n  hint   1 to 4096"):
            artifact.run(out, given, m=-1, n=70)
        with tempfile.TemporaryDirectory() as directory:
            loaded = inlay.load(artifact.save(directory), device="emulator")
            loaded(out[:0], given[:0], m=0, n=70)
            for call in (loaded, artifact.run, artifact.time):
                with self.assertRaisesRegex(ValueError, r"its shape is \(70, 5\), and .* is \(5, 70\)"):
                    call(out, numpy.ascontiguousarray(given.T), m=5, n=70)
            with self.assertRaisesRegex(ValueError, r"buffer y: its shape is \(5, 70\), and the kernel's is \(0, 70\)"):
                loaded(out, given, m=0, n=70)
            with self.assertRaisesRegex(ValueError, "buffer y: 1400 bytes; 1 are needed"):
                loaded(out.reshape(-1), given.reshape(-1), m=0, n=70)

    def test_how_often_under_stress(self):
        c, a, b = self.arrays()
        for wrong in (-1, 1001, "a", 1.5):
            with self.assertRaisesRegex(inlay.CommandError, "a number of launches, 0 to 1000"):
                self.artifact.run(c, a, b, n=1000, stress=wrong)

    def test_validation_that_is_not_decided(self):
        self.assertEqual(self.artifact.validation, "validated")
        k = Program("counted", "gfx942", 256)  # validation has no formula for counted bits
        m, n = k.size("m", most=1 << 12), k.size("n", most=1 << 12, multiple=128)
        y, x = k.output("y", "f32", [m, n]), k.input("x", "i32", [m, n])
        k.computes(y, lambda i, j: to_number(popcount(integer(x[i, j]))))
        bn, bm, tv = k.workgroups(0, n, 128), k.workgroups(1, m, 16), rows_tv(16, 128, 8, 256)
        loaded = k.load(k.tile(x, [16, 128], [bm, bn]), tv, 4)
        k.store(k.map([loaded], lambda a: to_number(popcount(integer(a)))), k.tile(y, [16, 128], [bm, bn]), 4)
        self.assertEqual(k.build().validation, "")
        with self.assertWarnsRegex(UserWarning, "(?s)^counted: the claims are proved; .* is undecided: .*stress=4") as said:
            artifact = k.build(validate=True)
        self.assertEqual(said.filename, __file__)
        self.assertRegex(artifact.validation, "^undecided: integers modulo")
        given = numpy.arange(-300, 468, dtype=numpy.int32).reshape(3, 256)
        out = numpy.zeros((3, 256), numpy.float32)
        artifact.run(out, given, m=3, n=256)
        numpy.testing.assert_array_equal(out, [[(int(v) & 0xFFFFFFFF).bit_count() for v in row] for row in given])

    def test_what_is_no_argument(self):
        k = Program("k", "gfx942", 64)
        for call, pattern in ((lambda: k.size("q", max=5), "size: no argument 'max'\n  hint   .*size\\(name: str"), (lambda: k.build(valdate=True), "build: no argument 'valdate'\n  hint   did you mean validate\\? build\\("),
                              (lambda: k.size(5), "size: not of int\n  hint   size\\("), (lambda: self.artifact.run(stres=1), "buffers were given")):
            with self.assertRaisesRegex((TypeError, inlay.CommandError), pattern) as caught:
                call()
            self.assertNotIn("incompatible function arguments", str(caught.exception))
        n, x = k.size("n"), k.input("x", "f32", [8])[3]
        for call, pattern in ((lambda: n < 3, "k.if_less"), (lambda: 3 >= n, "k.if_less"), (lambda: x > 0, "select"), (lambda: x <= x, "select"), (lambda: x**2, r"x \* x.*log2"), (lambda: n**2, r"x \* x"),
                              (lambda: float(x), "exp, exp2")):
            with self.assertRaisesRegex(TypeError, pattern):
                call()

    def test_saved_loaded_and_timed(self):
        c, a, b = self.arrays()
        with tempfile.TemporaryDirectory() as directory:
            manifest = self.artifact.save(directory)
            self.assertEqual(sorted(os.listdir(directory)), ["vector_add." + end for end in ("hsaco", "json", "ll", "proofs.txt", "s")])
            inlay.load(manifest, device="emulator")(c, a, b, n=1000)
            fixed = numpy.zeros_like(c)
            fixed.flags.writeable = False
            with self.assertRaisesRegex(ValueError, "buffer c is an output, and its array is read-only"):
                inlay.load(manifest, device="emulator")(fixed, a, b, n=1000)
            with self.assertRaisesRegex(ValueError, "not of 64 bits"):
                inlay.load(manifest, device="emulator")(c, a, b, n=2**64 + 1000)
            numpy.testing.assert_array_equal(c, a + b)
            code = os.path.join(directory, "vector_add.hsaco")
            self.assertIn("vector_add", json.dumps(inlay.inspect(code)["kernels"]))
        for arrays, why in (((c, c, b), "buffers a and c share memory"), ((fixed, a, b), "buffer c is an output, and its array is read-only")):
            with self.assertRaisesRegex(ValueError, why):
                self.artifact.time(*arrays, n=1000)
        timed = self.artifact.time(c, a, b, n=1000)
        self.assertGreater(timed["timing"]["clocks"], 100)

    def test_a_finding_names_the_line_of_python(self):
        k = Program("reads_nothing", "gfx942", 64)
        n = k.size("n", most=1 << 20)
        y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
        k.computes(y, lambda i: x[i])
        w, tv = k.workgroups(0, n, 64), line_tv(64, 1, 64)
        k.store(k.load(k.tile(x, [64], [w]), tv, 1), k.tile(y, [64], [w]), 1)
        at = line() - 1
        with tempfile.TemporaryDirectory() as directory:
            k.build().save(directory)
            found = inlay.exec(os.path.join(directory, "reads_nothing.hsaco"), "out:256", "out:256", 64, grid=1, block=64, check="uninit")["findings"]
        self.assertTrue(found)
        for f in found:
            self.assertEqual(f["source"], {"file": os.path.basename(__file__), "line": at})

    def test_a_kernel_that_prints(self):
        """In a process of its own, whose output is read."""
        program = textwrap.dedent("""
            import numpy
            from inlay.codegen import Program, integer, line_tv, select
            k = Program("shown", "gfx950", 64)
            n = k.size("n", most=1 << 20, multiple=4)
            y, x = k.output("y", "f32", [n]), k.input("x", "f32", [n])
            k.computes(y, lambda i: x[i] * 2.0)
            w = k.workgroups(0, n, 256)
            v = k.load(k.tile(x, [256], [w]), line_tv(256, 4, 64), 4)
            k.print("tile {} of {}", [w, n])
            k.print("{}", [v], when=lambda e: select(e, 99.5, 1.0, 0.0))
            k.print("x[{}] is {}", [v], lambda e: (integer(k.number(w * 256 + k.position(0))), e + 0.5),
                    lambda e: select(e, 99.5, 1.0, 0.0))
            k.store(k.map([v], lambda e: e * 2.0, "f32"), k.tile(y, [256], [w]), 4)
            given = numpy.arange(300, dtype=numpy.float32)
            given[271:] = given[:29]
            given[70:271] = 0
            given[268] = 100
            result = numpy.zeros_like(given)
            k.build().run(result, given, n=300)
            assert (result == 2 * given).all()
            """)
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "workgroup 0,0,0, wave 0, lane 0: tile 0 of 300\n"
                                     "workgroup 1,0,0, wave 0, lane 0: tile 1 of 300\n"
                                     "workgroup 1,0,0, wave 0, lane 3: 100\n"
                                     "workgroup 1,0,0, wave 0, lane 3: x[268] is 100.5\n")
        k = Program("p", "gfx950", 64)
        n = k.size("n")
        with self.assertRaisesRegex(ValueError, "values 1 for 2 {}"):
            k.print("{} of {}", [n])

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_tensors_of_torch(self):
        import torch

        a, b, c = torch.arange(1000.0), torch.ones(1000), torch.zeros(1000)
        self.artifact.run(c, a, b, n=1000)
        torch.testing.assert_close(c, a + b)


if __name__ == "__main__":
    unittest.main()
