"""The package around the algebra: kernels on the emulator with arrays, commands as functions, Triton kernels without a GPU."""
import builtins
import copy
import dis
import importlib
import importlib.util
import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import inlay
import numpy

# Above the sums' rounding: K products of two f16 below 1 in f32, and one rounding to f16.
RELATIVE = 2.0**-10


class Values(unittest.TestCase):
    def test_values_are_pickled_and_copied_as_their_texts(self):
        for value in (inlay.Layout("((2,2),3):((24,2),8)"), inlay.Layout("(4,8):(1@0,1@1)"), inlay.Swizzle(3, 4, 3),
                      inlay.ComposedLayout("Sw<3,4,3> o 0 o (8,64):(64,1)")):
            for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
                self.assertEqual(other, value)
                self.assertEqual(hash(other), hash(value))

    def test_verdicts_are_pickled_with_all_their_fields(self):
        proved = inlay.prove("injective", "(M,K):(ld,1)", where=["ld >= K"])
        refuted = inlay.prove("within", "(M,K):(K,1)", "M*K - 1")
        unknown = inlay.prove("injective", "i -> (a*i) % b", domain=["n"], steps=0, limit=0)
        collision = inlay.prove("injective", "(3,2):(1,1)")
        self.assertEqual([v.outcome for v in (proved, refuted, collision)], ["proved", "refuted", "refuted"])
        self.assertTrue(unknown.obligations)
        self.assertTrue(proved.certificate and refuted.witness["symbols"] and collision.witness["second_index"] is not None)
        for verdict in (proved, refuted, unknown, collision):
            for other in (pickle.loads(pickle.dumps(verdict)), copy.copy(verdict), copy.deepcopy(verdict)):
                for name in ("outcome", "property", "method", "certificate", "obligations", "smt2", "notes", "witness"):
                    self.assertEqual(getattr(other, name), getattr(verdict, name), name)
                self.assertEqual((bool(other), str(other), repr(other)), (bool(verdict), str(verdict), repr(verdict)))
        self.assertTrue(inlay.recheck(pickle.loads(pickle.dumps(proved)).certificate)["accepted"])

    def test_the_package_has_the_names_that_it_says_and_no_others(self):
        self.assertEqual([name for name in dir(inlay) if name.startswith("_")], ["__doc__", "__version__"])
        for name in inlay.__all__:
            self.assertTrue(hasattr(inlay, name), name)
            self.assertTrue(getattr(inlay, name).__doc__, name)
        self.assertRegex(inlay.__version__, r"^\d+\.\d+\.\d+$")

    def test_what_functions_name_is_there(self):
        # Also in those that only run where torch, Triton or FlyDSL is.
        def named(code):
            yield from (i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
            for constant in code.co_consts:
                if hasattr(constant, "co_consts"):
                    yield from named(constant)

        folder = importlib.util.find_spec("inlay").submodule_search_locations[0]
        looked_at = 0
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".py") or file == "torch.py":  # whose module needs torch itself
                continue
            module = importlib.import_module("inlay." + file[:-3]) if file != "__init__.py" else inlay
            with open(os.path.join(folder, file)) as text:
                names = set(named(compile(text.read(), file, "exec")))
            self.assertEqual(sorted(names - set(vars(module)) - set(dir(builtins))), [], file)
            looked_at += len(names)
        self.assertGreater(looked_at, 200)

    def test_stubs_name_what_there_is(self):
        stubs = (importlib.util.find_spec("inlay").submodule_search_locations[0] + "/__init__.pyi")
        with open(stubs) as file:
            text = file.read()
        for name in inlay.__all__:
            self.assertTrue(f"def {name}(" in text or f"class {name}" in text or f" {name} as {name}" in text, name)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "stubs.py")
        for name, words in (("__init__", []), ("codegen", ["codegen"])):
            with open(os.path.join(os.path.dirname(stubs), name + ".pyi")) as file:
                text = file.read()
            written = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=True).stdout
            if "numpy.ndarray[" in inlay.Layout.values.__doc__:  # pybind11 3, by which wheels are built, writes types in another way
                self.assertEqual(written, text, "python/stubs.py writes other stubs")
        for name in inlay.codegen.__all__:
            self.assertRegex(text, rf"(def|class|as) {name}\b", name)


class Commands(unittest.TestCase):
    def test_answers_are_the_commands(self):
        self.assertIn("gemm", inlay.kernels())
        self.assertEqual(inlay.kernels("gemm")["m"][0], "256")
        found = inlay.search("swizzle", view="ds_read_b128 ((16,4),2):((128,16),64)", tile=8192)
        self.assertEqual(found["status"], 0)
        self.assertTrue(inlay.run("vector_add")["ok"])

    def test_a_command_that_is_not_there_says_where_it_was_looked_for(self):
        from unittest import mock

        from inlay import _tools

        with mock.patch.dict(os.environ, {"INLAY": "/nowhere/inlay", "PATH": "/nowhere"}), mock.patch("os.access", return_value=False):
            with self.assertRaisesRegex(inlay.CommandError, "/nowhere/inlay, .*bin/inlay, .*, and in PATH\n  hint   .*INLAY"):
                _tools.program()

    def test_a_refusal_is_an_error_with_its_hint(self):
        with self.assertRaisesRegex(inlay.CommandError, "did you mean rmsnorm"):
            inlay.run("rmsnrom")
        with self.assertRaises(ValueError):
            inlay.draw("(4,8")

    def test_pictures(self):
        picture = inlay.draw("zipped_divide((8,6):(1,8), <4,3>)")
        self.assertTrue(picture._repr_svg_().startswith("<svg"))
        self.assertIn("zipped_divide", str(picture))
        self.assertIn("<html", picture.html())
        self.assertIn("T0V1", str(inlay.draw("make_tiled_copy(2, (4,2):(2,1), (1,2):(0,1))", tv=True)))

    def test_build_inspect_time_and_exec(self):
        with tempfile.TemporaryDirectory() as directory:
            built = inlay.build("vector_add", directory)
            file = built["directory"] + "/vector_add.hsaco"
            self.assertIn("kernels", json.dumps(inlay.inspect(file)))

    def test_times_have_fields_and_are_the_commands_answer(self):
        with tempfile.TemporaryDirectory() as directory:
            inlay.build("gemm", directory)
            timed = inlay.time(directory + "/gemm.json", size={"m": 256, "n": 256, "k": 256})
        self.assertIsInstance(timed, dict)
        chip = timed["timing"]["chip"]
        self.assertEqual((timed.kernel, timed.arch, timed.clocks, timed.uncertainty), ("gemm", "gfx942", chip["clocks"], chip["uncertainty"]))
        self.assertEqual((timed.microseconds, timed.mhz, timed.tflops), tuple(chip["load"][name] for name in ("microseconds", "clock_mhz", "tflops")))
        self.assertAlmostEqual(timed.tflops, 2 * 256**3 / timed.microseconds / 1e6, delta=0.01 * timed.tflops)
        peak = 304 * 2048 * timed.mhz / 1e6  # TFLOP/s: 2048 a clock and compute unit
        self.assertAlmostEqual(timed.peak_percent, 100 * timed.tflops / peak, delta=0.01 * timed.peak_percent)  # both of the time with its launch
        self.assertEqual(timed.bottleneck, timed["timing"]["bottleneck"])
        self.assertEqual(timed.spent, timed["timing"]["spent"])
        self.assertEqual(list(timed.saved), [limit["limit"] for limit in timed["timing"]["without"]])
        self.assertEqual(timed.stalls, timed["timing"]["stalls"])
        self.assertEqual(json.loads(json.dumps(timed)), timed)
        self.assertEqual(copy.copy(timed).clocks, pickle.loads(pickle.dumps(timed)).clocks)
        for word in ("gemm on gfx942", f"{timed.clocks:.0f} clocks", "us at", "TFLOP/s", f"bottleneck: {timed.bottleneck}"):
            self.assertIn(word, str(timed))
            self.assertIn(word, timed._repr_html_())
        self.assertEqual(repr(timed), str(timed))
        self.assertEqual(timed._repr_html_().count("<table>"), timed._repr_html_().count("</table>"))

    def test_manifests_say_what_is_zero_before_the_launch(self):
        for fixup, zeros in (("yes", ["arrived"]), ("no", ["c"])):
            with tempfile.TemporaryDirectory() as directory:
                inlay.build("gemm", directory, tile="16x64x64", waves="1x4", split=64, **{"split-k-fixup": fixup})
                with open(directory + "/gemm.json") as file:
                    arguments = json.load(file)["arguments"]
                self.assertEqual([a["name"] for a in arguments if a.get("before") == "zeros"], zeros)
                ran = inlay.exec(directory + "/gemm.json", size={"m": 16, "n": 64, "k": 200})
                self.assertEqual(ran["findings"], [])

    def test_fuzz_finds_a_wrong_function_and_passes_a_right_one(self):
        right = inlay.fuzz(lambda layout: str(inlay.coalesce(layout)), "coalesce", cases=60, seed=1)
        self.assertTrue(right["ok"], right["report"])
        wrong = inlay.fuzz(lambda layout: layout if layout == "4:1" else "1:0", "coalesce", cases=60, seed=1)
        self.assertFalse(wrong["ok"], wrong["report"])


    def test_stress_is_a_number_of_launches(self):
        for call in (lambda n: inlay.exec("nothing.hsaco", stress=n), lambda n: inlay.run("vector_add", stress=n), lambda n: inlay.check("nothing.hsaco", stress=n)):
            for n in (-1, 1001, "a"):
                with self.assertRaisesRegex(inlay.CommandError, "a number of launches, 0 to 1000"):
                    call(n)

    def test_files_of_the_tutorials(self):
        with tempfile.TemporaryDirectory() as folder:
            def tutorials(*names):
                return subprocess.run([sys.executable, "-m", "inlay.tutorials", *names], capture_output=True, text=True, cwd=folder,
                                      env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(inlay.__file__))})

            listed = tutorials().stdout.split()
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tutorials")
            self.assertEqual(listed, sorted(os.listdir(source)))
            self.assertEqual(tutorials(*listed).returncode, 0)
            for name in listed:
                with open(os.path.join(folder, name)) as copied, open(os.path.join(source, name)) as file:
                    self.assertEqual(copied.read(), file.read())
            self.assertIn(f"'{listed[0]}' is here already", tutorials(listed[0]).stderr)
            self.assertIn("no file '../x'\n  hint   bias_relu.py", tutorials("../x").stderr)


class Loaded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        inlay.build("vector_add", cls.directory.name)
        cls.file = cls.directory.name + "/vector_add.json"

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_several_forms(self):
        with tempfile.TemporaryDirectory() as folder:
            forms = folder + "/forms"
            with open(forms, "w") as f:
                f.write("--tile 16x64x64 --waves 1x4 --split 64 --split-k-fixup yes\n--tile 64x64x64\n")
            built = inlay.build("gemm", folder + "/", m=(1, 100), n=64, k=128, forms=forms, points=3, arch="gfx942", dtype="f16")
            self.assertEqual(built["file"], folder + "/gemm.inlay")
            kernel = inlay.load(built["file"], device="emulator")
            names = kernel.buffers
            self.assertEqual((names[:3], kernel.sizes), (["c", "a", "b"], ["m", "n", "k"]))
            edges = {e for r in built["rows"] for e in (r["least"][0], r["most"][0])} | {101}
            seen = set()
            for m in sorted(edges):
                a = numpy.random.default_rng(m).integers(-2, 3, (m, 128)).astype(numpy.float16)
                b = numpy.random.default_rng(m + 1).integers(-2, 3, (64, 128)).astype(numpy.float16)
                c = numpy.zeros((m, 64), numpy.float16)
                needed = dict(zip(names, kernel.bytes_for({"m": m, "n": 64, "k": 128})))
                more = [numpy.zeros(needed[n], numpy.uint8) if needed[n] else None for n in names[3:]]
                kernel(c, a, b, *more, m=m, n=64, k=128)
                numpy.testing.assert_array_equal(c, a.astype(numpy.float32) @ b.astype(numpy.float32).T)
                row = next((k for k, r in enumerate(built["rows"]) if r["least"][0] <= m <= r["most"][0]), len(built["rows"]))
                form = built["rows"][row]["form"] if row < len(built["rows"]) else len(built["forms"]) - 1
                self.assertIn(f"row {row} of ", kernel.why(m=m, n=64, k=128))
                self.assertIn(f": form {form}, ", kernel.why(m=m, n=64, k=128))
                seen.add(form)
            self.assertEqual(len(seen), len(built["forms"]))
            with self.assertRaisesRegex(inlay.CommandError, "all other sizes: form .*k = 12 is not a multiple of 8"):
                kernel.bytes_for({"m": 5, "n": 64, "k": 12})

    def test_on_the_emulator(self):
        kernel = inlay.load(self.file, device="emulator")
        self.assertEqual((kernel.arch, kernel.buffers, kernel.sizes), ("gfx942", ["c", "a", "b"], ["n"]))
        for n in (1000, 1000, 256):
            a, b, c = (numpy.arange(n, dtype=numpy.float32) + k for k in range(3))
            kernel(c, a, b, n=n)
            numpy.testing.assert_array_equal(c, a + b)
        with self.assertRaisesRegex(ValueError, "buffer a: 4 bytes; 1024 are needed"):
            kernel(c, a[:1], b, n=256)
        with self.assertRaisesRegex(TypeError, "buffer a is f32, and its array is >f4: give float32"):
            kernel(c, a.astype(">f4"), b, n=256)
        for other in (numpy.float64, numpy.float16, numpy.int32, numpy.int64, numpy.complex64, numpy.uint16):
            with self.assertRaisesRegex(TypeError, f"buffer b is f32, and its array is {other.__name__}: give float32"):
                kernel(c, a, numpy.zeros(1024 // other().itemsize, other), n=256)
        for nothing, wrong, why in ((None, TypeError, "buffer a is None\n  hint   an array"), (a[:0], ValueError, "buffer a: 0 bytes; 1024 are needed")):
            with self.assertRaisesRegex(wrong, why):
                kernel(c, nothing, b, n=256)
        kernel(c, a.view(numpy.uint8), b.view(numpy.uint32), n=256)  # bits
        numpy.testing.assert_array_equal(c, a + b)
        with self.assertRaisesRegex(TypeError, "sizes m; the kernel takes n"):
            kernel(c, a, b, m=256)
        with self.assertRaisesRegex(TypeError, "2 buffers, and the kernel takes c, a, b"):
            kernel(c, a, n=256)
        with self.assertRaises(inlay.CommandError):
            inlay.load(self.directory.name + "/nothing.json", device="emulator")
        with self.assertRaisesRegex(ValueError, "buffers a and c share memory, and one of them is an output"):
            kernel(a, a, b, n=256)
        self.assertEqual(a[5], 5)  # nothing was written
        both = numpy.arange(300, dtype=numpy.float32)
        with self.assertRaisesRegex(ValueError, "buffers b and c share memory"):
            kernel(both[:256], a, both[44:], n=256)
        one = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.float32), (256,), (0,), writeable=True)
        with self.assertRaisesRegex(ValueError, "several of its elements are one"):
            kernel(one, a, b, n=256)
        none = numpy.lib.stride_tricks.as_strided(numpy.zeros(0, numpy.float32), (0, 64), (0, 0), writeable=True)
        kernel(none, none, none.copy(), n=0)  # nothing to write: no launch

    def test_arrays_of_any_place(self):
        """Inputs that share memory, what is not contiguous, fixed, or begins at an odd address."""
        kernel, n = inlay.load(self.file, device="emulator"), 300
        both = numpy.random.default_rng(1).random(800).astype(numpy.float32)
        fixed = both[:n].copy()
        fixed.flags.writeable = False
        odd = numpy.zeros(4 * n + 1, numpy.uint8)[1:].view(numpy.float32)
        odd[:] = both[:n]
        inputs = {"one": (both[:n], both[:n]), "overlapping": (both[:n], both[100:100 + n]), "inside": (both[:n], fixed), "every second": (both[:2 * n:2], both[1:2 * n:2]),
                  "backwards": (both[n - 1::-1], both[:n]), "odd": (odd, both[:n])}
        for name, (a, b) in inputs.items():
            want = a + b
            for c in (numpy.zeros(n, numpy.float32), numpy.zeros(2 * n, numpy.float32)[::2], numpy.zeros(n, numpy.float32)[::-1], numpy.zeros(4 * n + 3, numpy.uint8)[3:].view(numpy.float32)):
                kernel(c, a, b, n=n)
                numpy.testing.assert_array_equal(c, want, name)
        c = numpy.zeros(n + 16, numpy.float32)
        kernel(c[8:n + 8], both[:n], both[:n], n=n)
        self.assertTrue((c[:8] == 0).all() and (c[n + 8:] == 0).all())

    def test_a_gemm_of_many_problems(self):
        rng, options = numpy.random.default_rng(1), dict(groups="3,0,7", n=16, k=32, dtype="f16", layout="nt")
        given = {f"{n} of problem {z}": rng.standard_normal(shape).astype(numpy.float16) for z, m in ((0, 3), (2, 7)) for n, shape in (("a", (m, 32)), ("b", (16, 32)))}
        self.assertEqual([b["name"] for b in inlay.buffers("gemm", **options)][:3], ["c of problem 0", "a of problem 0", "b of problem 0"])
        out = inlay.run_kernel("gemm", given, device="emulator", **options)
        for z in (0, 2):
            want = given[f"a of problem {z}"].astype(numpy.float64) @ given[f"b of problem {z}"].astype(numpy.float64).T
            numpy.testing.assert_allclose(out[f"c of problem {z}"].reshape(want.shape), want, atol=0.01)
        for wrong, pattern in (({**given, "q": given["a of problem 0"]}, "has no buffer 'q'\n  hint   c of problem 0"), ({n: a for n, a in given.items() if n != "a of problem 2"}, "input 'a of problem 2' is missing"),
                               ({**given, "a of problem 0": given["a of problem 2"]}, "has 448 bytes, and 192"), ({**given, "a of problem 0": given["a of problem 0"].astype(numpy.float32)}, "elements are f16")):
            with self.assertRaisesRegex(inlay.CommandError, pattern):
                inlay.run_kernel("gemm", wrong, device="emulator", **options)

    def test_a_transposed_array_is_refused_wherever_arrays_are_taken(self):
        """It has as many bytes as the buffer. What lies otherwise and has the shape is taken; so is a flat array."""
        sizes, rng = {"m": 5, "n": 8, "k": 24}, numpy.random.default_rng(3)
        a, b = (rng.standard_normal(shape).astype(numpy.float16) for shape in ((5, 24), (8, 24)))
        want = a.astype(float) @ b.astype(float).T
        across = numpy.ascontiguousarray(b.T)
        with tempfile.TemporaryDirectory() as folder:
            built = inlay.build("gemm", folder, arch="gfx942", **sizes)
            file = folder + "/gemm.json"
            kernel = inlay.load(file, device="emulator")

            def by_exec(c, a, b):
                self.assertEqual(inlay.exec(file, c, a, b, 5, 8, 24, size=sizes)["findings"], [])

            def by_name(c, a, b):
                c[...] = inlay.run_kernel("gemm", {"a": a, "b": b}, arch="gfx942", **sizes)["c"].reshape(5, 8)

            entrances = {"load": lambda c, a, b: kernel(c, a, b, **sizes), "exec": by_exec, "run_kernel": by_name,
                         "check": lambda c, a, b: inlay.check(file, c, a, b, 5, 8, 24, size=sizes).raise_if_found()}
            for name, launch in entrances.items():
                with self.subTest(name):
                    for of_c, of_b in ((numpy.zeros((5, 8), numpy.float16), b), (numpy.zeros((8, 5), numpy.float16).T, across.T),
                                       (numpy.zeros((5, 8), numpy.float16), b.reshape(-1))):
                        launch(of_c, a, of_b)
                        numpy.testing.assert_allclose(of_c, want, atol=0.05)
                    with self.assertRaisesRegex(ValueError, r"its shape is \(24, 8\), and .* is \(8, 24\) for these sizes\n  hint   .*reshape\(-1\)"):
                        launch(numpy.zeros((5, 8), numpy.float16), a, across)
            for name in ("load", "exec"):
                with self.assertRaisesRegex(ValueError, r"its shape is \(8, 5\), and .* is \(5, 8\)"):
                    entrances[name](numpy.zeros((8, 5), numpy.float16), a, b)
            with self.assertRaisesRegex(TypeError, "sizes m, n; the kernel takes m, n, k"):
                kernel(numpy.zeros((5, 8), numpy.float16), a, b, m=5, n=8)
            with self.assertRaisesRegex(ValueError, r"its shape is \(24, 8\)"):
                inlay.time(file, numpy.zeros((5, 8), numpy.float16), a, across, 5, 8, 24, size=sizes)
        self.assertEqual(built["kernel"], "gemm")

    def test_shapes(self):
        from inlay._tools import check_shape

        for given, want in (((2, 3, 4), (2, 3, 4)), ((6, 4), (2, 3, 4)), ((24,), (2, 3, 4)), ((4, 3, 4), (2, 6, 4)), ((2, 1, 3, 4), (2, 3, 4)), ((7,), (3,))):
            check_shape("x", numpy.zeros(given), want)
        for given, want in (((3, 2, 4), (2, 3, 4)), ((2, 4, 3), (2, 3, 4)), ((2, 3, 8), (2, 3, 4)), ((4, 3, 4), (2, 3, 4)), ((3, 2), (2, 3))):
            with self.assertRaisesRegex(ValueError, "buffer x: its shape is .* for these sizes"):
                check_shape("x", numpy.zeros(given), want)

    def test_outputs_lie_apart_wherever_arrays_are_taken(self):
        """What shares memory with an output, what cannot be written, and an output of which several elements are one."""
        sizes, ones = {"n": 64}, (lambda n=64: numpy.ones(n, numpy.float32))
        kernel, strided = inlay.load(self.file, device="emulator"), numpy.lib.stride_tricks.as_strided
        with tempfile.TemporaryDirectory() as folder:
            bundle = os.path.join(folder, "add.inlay")
            inlay._tools.call(["bundle", self.file, "-o", bundle])
            entrances = {"load": lambda *arrays: kernel(*arrays, **sizes), "exec": lambda *arrays: inlay.exec(self.file, *arrays, 64, size=sizes),
                         "exec of a bundle": lambda *arrays: inlay.exec(bundle, *arrays, 64, size=sizes),
                         "check": lambda *arrays: inlay.check(self.file, *arrays, 64, size=sizes), "time": lambda *arrays: inlay.time(self.file, *arrays, 64, size=sizes)}
            for name, launch in entrances.items():
                both, fixed = ones(128), ones()
                fixed.flags.writeable = False
                wrong = {"c and c": ((both[:64], both[:64], ones()), "buffers a and c share memory, and one of them is an output"),
                         "in part": ((both[:64], ones(), both[60:124]), "buffers b and c share memory, and one of them is an output.*\n  hint   an array of its own for c"),
                         "fixed": ((fixed, ones(), ones()), "buffer c is an output, and its array is read-only\n  hint   an array that may be written: c.copy"),
                         "one": ((strided(ones(1), (64,), (0,)), ones(), ones()), r"buffer c is an output, and several of its elements are one: shape \(64,\), strides \(0,\)"),
                         "windows": ((strided(ones(), (8, 8), (16, 4)), ones(), ones()), "several of its elements are one"),
                         "halves": ((strided(ones(), (64,), (2,)), ones(), ones()), "several of its elements are one"),
                         "other order": ((ones().astype(">f4"), ones(), ones()), "c is f32, and its array is >f4")}
                for what, (arrays, why) in wrong.items():
                    with self.subTest(name, what=what), self.assertRaisesRegex((ValueError, TypeError), why):
                        launch(*arrays)
                self.assertTrue((both == 1).all())  # nothing was written
                right = {"one input": (ones(), fixed, fixed), "neighbours": (both[:64], both[64:], both[64:]), "interleaved": (both[::2], both[1::2], both[1::2]),
                         "backwards": (ones()[::-1], ones(), ones()), "a broadcast input": (ones(), strided(ones(1), (64,), (0,)), ones()), "flat": (ones().reshape(8, 8).T, ones(), ones())}
                for what, arrays in right.items():
                    with self.subTest(name, what=what):
                        both[:] = 1
                        launch(*arrays)
                        if name != "time":
                            numpy.testing.assert_array_equal(arrays[0].reshape(-1), 2)

    def test_elements_that_meet(self):
        """Of random strides, against a list of all bytes; and an output after the input whose memory it shares, or before it."""
        from inlay._tools import _meets_itself, checked

        rng, met = numpy.random.default_rng(5), 0
        memory = numpy.zeros(1000, numpy.uint8)
        for _ in range(2000):
            shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 4)))
            strides = tuple(int(n) for n in rng.choice([-8, -4, 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 100], len(shape)))
            a = numpy.lib.stride_tricks.as_strided(memory[300:].view(numpy.float32), shape, strides)
            of_bytes = [sum(i * s for i, s in zip(at, strides)) + byte for at in numpy.ndindex(shape) for byte in range(4)]
            self.assertEqual(_meets_itself(a), len(set(of_bytes)) < len(of_bytes), (shape, strides))
            met += _meets_itself(a)
        self.assertTrue(500 < met < 1500, met)
        x, y = memory[:64], memory[60:124]
        for buffers in ([("x", "", (), False, x), ("y", "", (), True, y)], [("y", "", (), True, y), ("x", "", (), False, x)], [("x", "", (), True, x), ("y", "", (), True, y)]):
            with self.assertRaisesRegex(ValueError, "share memory"):
                checked(buffers)
            checked(buffers, apart=False)
        checked([("x", "", (), False, x), ("y", "", (), False, y)])

    def test_outputs_share_memory_where_the_contract_says_so(self):
        """A manifest of another's kernel: elements are read where they are written."""
        with open(self.file) as text, tempfile.TemporaryDirectory() as folder:
            manifest = json.load(text)
            manifest["outputs_apart"] = False
            manifest["code"] = os.path.join(os.path.dirname(self.file), manifest["code"])
            file = os.path.join(folder, "add.json")
            with open(file, "w") as out:
                json.dump(manifest, out)
            kernel = inlay.load(file, device="emulator")
            a, b = numpy.arange(64, dtype=numpy.float32), numpy.ones(64, numpy.float32)
            kernel(a, a, b, n=64)
            numpy.testing.assert_array_equal(a, numpy.arange(64) + 1)
            self.assertEqual(inlay.exec(file, a, a, b, 64, size={"n": 64})["findings"], [])
            numpy.testing.assert_array_equal(a, numpy.arange(64) + 2)
            both = numpy.arange(128, dtype=numpy.float32)
            with self.assertRaisesRegex(ValueError, "buffers a and c share memory"):  # copies would share nothing
                kernel(both[::2], both[::2], b, n=64)
            fixed = a.copy()
            fixed.flags.writeable = False
            with self.assertRaisesRegex(ValueError, "read-only"):
                kernel(fixed, a, b, n=64)

    def test_arrays_of_a_code_object_that_share_memory(self):
        """A launch gets addresses: y = x + s of a stranger's kernel, by workgroups of 64, in memory that x and y share."""
        kernel = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "isa", "add_scalar.gfx942.s")

        def launch(x, y, grid=1):
            return {f["kind"] for f in inlay.exec(kernel, x, y, 0.5, grid=grid)["findings"] if not f.get("note")}

        memory = numpy.arange(160, dtype=numpy.float32)
        had = memory.copy()
        self.assertEqual(launch(memory[:128], memory[:128], 2), set())
        numpy.testing.assert_array_equal(memory[:128], had[:128] + 0.5)
        memory[:] = had
        self.assertEqual(launch(memory[32:96], memory[:64]), set())  # one wave, which has read when it stores
        numpy.testing.assert_array_equal(memory[:64], had[32:96] + 0.5)
        numpy.testing.assert_array_equal(memory[64:], had[64:])
        memory[:] = had
        self.assertEqual(launch(memory[:128], memory[1:129], 2), {"races"})  # what the first workgroup stores the second one reads
        self.assertEqual(launch(memory[:128], memory[1:129].copy(), 2), set())
        fixed = memory[:64]
        fixed.flags.writeable = False
        self.assertEqual(launch(fixed, memory[:64]), set())
        self.assertGreater(inlay.time(kernel, memory[:64], memory[:64], 0.5).clocks, 0)
        self.assertEqual(launch(memory[:64], memory[64:128], 2), {"bounds"})  # neighbours, which end where the other begins

    def test_a_read_only_array_that_a_code_object_writes(self):
        """No contract says which arrays are outputs: the launch tells, and its result is not dropped without a word."""
        kernel = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "isa", "add_scalar.gfx942.s")
        x, y, both = numpy.arange(64, dtype=numpy.float32), numpy.zeros(64, numpy.float32), numpy.zeros(128, numpy.float32)
        fixed, tail = y.copy(), both[64:]
        fixed[:4] = 0.5
        fixed.flags.writeable = tail.flags.writeable = False
        for name, launch in {"exec": lambda *a: inlay.exec(kernel, *a, 0.5, grid=1), "check": lambda *a: inlay.check(kernel, *a, 0.5, grid=1)}.items():
            with self.subTest(name):
                with self.assertRaisesRegex(ValueError, "argument 1 is a read-only array, and the kernel has written to it, first to byte [4-7] of 256: no array was changed\n  hint   .*copy"):
                    launch(x, fixed)
                numpy.testing.assert_array_equal(fixed[:5], [0.5, 0.5, 0.5, 0.5, 0])
                with self.assertRaisesRegex(ValueError, "argument 0 .* byte 2[5-9][0-9] of 512"):  # the memory that both lie in
                    whole = both[:]
                    whole.flags.writeable = False
                    launch(whole, tail)
                x.flags.writeable = False
                launch(x, y)  # read, not written
                numpy.testing.assert_array_equal(y, x + 0.5)
                x.flags.writeable = True
                fixed_x = x + 0.5
                fixed_x.flags.writeable = False
                launch(x, fixed_x)  # written, with what is there
        self.assertGreater(inlay.time(kernel, x, fixed, 0.5, grid=1).clocks, 0)

    def test_threads_that_share_an_input(self):
        from concurrent.futures import ThreadPoolExecutor

        a = numpy.arange(1000, dtype=numpy.float32)

        def some(k):
            kernel, c = inlay.load(self.file, device="emulator"), numpy.zeros(1000, numpy.float32)
            for shift in range(20):
                kernel(c[:900], a[shift:shift + 900] if k % 2 else a[:900], a[:900], n=900)
            return numpy.array_equal(c[:900], (a[19:919] if k % 2 else a[:900]) + a[:900])

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(some, range(4))), [True] * 4)

    def test_arrays_are_used_where_they_lie(self):
        script = """
import resource, sys, inlay, numpy
n = 1 << 24
a, b, c = (numpy.full(n, k, numpy.float32) for k in (1, 2, 0))
kernel = inlay.load(sys.argv[1], device="emulator")
kernel(c[:1000], a[:1000], b[:1000], n=1000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kernel(c, a, b, n=n)
assert (c == 3).all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
        ran = subprocess.run([sys.executable, "-c", script, self.file], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertLess(int(ran.stdout), 150)  # MB; the arrays have 192

    def test_an_overrun_that_ends_in_another_array_of_the_launch(self):
        with open(self.file) as file:
            manifest = json.load(file)
        with tempfile.TemporaryDirectory() as folder:
            manifest["code"] = os.path.join(os.path.dirname(self.file), manifest["code"])
            next(a for a in manifest["arguments"] if a["name"] == "c")["bytes"] = "2*n"  # the kernel writes 4*n
            with open(folder + "/less.json", "w") as file:
                json.dump(manifest, file)
            memory = numpy.ones(2500, numpy.float32)
            c, a, b = memory[:500], memory[500:1500], memory[1500:]  # no byte between them
            with self.assertRaisesRegex(inlay.CommandError, r"bounds: writes \d+ bytes at c \+ 0x7d0 of 2000 bytes"):
                inlay.load(folder + "/less.json", device="emulator")(c, a, b, n=1000)
            self.assertTrue((a == 1).all() and (b == 1).all())
            self.assertTrue((c == 2).all())  # what the launch did before
        c, a, b = memory[:500], memory[500:1000], memory[1000:1500]
        inlay.load(self.file, device="emulator")(c, a, b, n=500)
        self.assertTrue((c == 2).all())

    def test_elements_without_a_type_in_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            inlay.build("softmax", folder, m=4, n=64, arch="gfx942", dtype="bf16")
            kernel = inlay.load(folder + "/softmax.json", device="emulator")
            for element in (numpy.int16, numpy.uint16):
                y, x = numpy.zeros((2, 4, 64), element)
                kernel(y, x)
                self.assertTrue((y == 0x3c80).all())  # 1/64
            with self.assertRaisesRegex(TypeError, "buffer y is bf16, and its array is float16: give bfloat16, or integers of 16 bits that hold its codes"):
                kernel(*numpy.zeros((2, 4, 64), numpy.float16))

    def test_a_manifest_of_other_code(self):
        with open(self.file) as file:
            manifest = json.load(file)
        with tempfile.TemporaryDirectory() as folder:
            manifest["code"] = os.path.join(os.path.dirname(self.file), manifest["code"])
            manifest["arguments"].pop()  # HIP would read one more value than the launch gives
            with open(folder + "/less.json", "w") as file:
                json.dump(manifest, file)
            with self.assertRaisesRegex(inlay.CommandError, "the manifest's arguments are not those of the code object\n  manifest  ptr c"):
                inlay.load(folder + "/less.json", device="emulator")
            with self.assertRaisesRegex(inlay.CommandError, "not those of the code object"):
                inlay._tools.call(["bundle", "-o", folder + "/all.inlay", folder + "/less.json"], allowed=(0,))
            self.assertFalse(os.path.exists(folder + "/all.inlay"))

    def test_without_a_gpu_again_and_again(self):
        if any(os.path.exists(node) for node in ("/dev/kfd",)):
            self.skipTest("there is a GPU")
        script = """
import sys, inlay, numpy as np
for _ in range(3):
    c, a = np.zeros(100, np.float32), np.ones(100, np.float32)
    inlay.load(sys.argv[1])(c, a, a, n=100)
    assert (c == 2).all()
"""
        ran = subprocess.run([sys.executable, "-c", script, self.file], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    @unittest.skipUnless(os.environ.get("INLAY_FAKE_HIP"), "no recording libamdhip64")
    def test_through_hip(self):
        script = """
import ctypes, os, sys, time, inlay
hip = ctypes.CDLL(os.environ["INLAY_HIP_LIBRARY"])
hip.fake_hip_log.restype = ctypes.c_char_p
kernel = inlay.load(sys.argv[1])
kernel(0x10000, 0x20000, 0x30000, n=4000)
print(hip.fake_hip_log().decode().splitlines()[-1])
kernel(0x10000, 0x20000, 0x30000, n=4000, stream=0x70)
print(hip.fake_hip_log().decode().splitlines()[-1])
least = 1e9
for _ in range(5):
    begin = time.perf_counter()
    for _ in range(500): kernel(0x10000, 0x20000, 0x30000, n=4000, stream=0x70)
    least = min(least, (time.perf_counter() - begin) / 500)
print(f"{1e6 * least:.1f} us a launch")
"""
        ran = subprocess.run([sys.executable, "-c", script, self.file], capture_output=True, text=True,
                             env={**os.environ, "INLAY_HIP_LIBRARY": os.environ["INLAY_FAKE_HIP"]})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        own, given, cost = ran.stdout.splitlines()
        # 4 workgroups of 256, on HIP's own stream and on the one given
        self.assertEqual(own, "hipModuleLaunchKernel vector_add 4 1 1 256 1 1 0 on 0 first 65536")
        self.assertEqual(given, "hipModuleLaunchKernel vector_add 4 1 1 256 1 1 0 on stream first 65536")
        self.assertLess(float(cost.split()[0]), 1000, cost)
        script = """
import sys, types, inlay
def tensor(at, n=4000, contiguous=True):
    return types.SimpleNamespace(is_cuda=True, dtype="torch.float32", shape=(n,), nbytes=4 * n, is_contiguous=lambda: contiguous, data_ptr=lambda: at)
kernel = inlay.load(sys.argv[1])
kernel(*map(tensor, (0x10000, 0x20000, 0x30000)), n=4000, stream=0x70)
for wrong in (tensor(0x20000, 3999), tensor(0x20000, contiguous=False)):
    try:
        kernel(tensor(0x10000), wrong, tensor(0x30000), n=4000, stream=0x70)
    except ValueError as e:
        print(e)
"""
        ran = subprocess.run([sys.executable, "-c", script, self.file], capture_output=True, text=True,
                             env={**os.environ, "INLAY_HIP_LIBRARY": os.environ["INLAY_FAKE_HIP"]})
        self.assertEqual((ran.stdout, ran.stderr), ("buffer a: 15996 bytes, contiguous True; 16000 are needed\nbuffer a: 16000 bytes, contiguous False; 16000 are needed\n", ""))
        script = """
import ctypes, os, sys, inlay
ctypes.CDLL(os.environ["INLAY_HIP_LIBRARY"]).fake_hip_reset(0, 4, b"", 0)
try:
    inlay.load(sys.argv[1], device="hip")
except inlay.CommandError as e:
    print(e)
"""
        ran = subprocess.run([sys.executable, "-c", script, self.file], capture_output=True, text=True,
                             env={**os.environ, "INLAY_HIP_LIBRARY": os.environ["INLAY_FAKE_HIP"]})
        self.assertIn("HIP finds no AMD GPU here\n  hint   inlay devices says why", ran.stdout + ran.stderr)


@unittest.skipUnless(os.environ.get("INLAY_HIP_ON_EMULATOR"), "no libamdhip64 on the emulator")
class OnHip(unittest.TestCase):
    """Functions of arrays by HIP: its library is the one on the emulator."""

    def run_there(self, script):
        with tempfile.TemporaryDirectory() as cache:
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                 env={**os.environ, "INLAY_DEVICE": "hip", "INLAY_HIP_LIBRARY": os.environ["INLAY_HIP_ON_EMULATOR"],
                                      "INLAY_CACHE_DIR": cache})
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran.stdout, os.listdir(os.path.join(cache, "kernels"))

    def test_arrays_of_the_host(self):
        out, built = self.run_there("""
import inlay, numpy as np
a, b = (np.random.default_rng(1).uniform(-1, 1, s).astype(np.float16) for s in ((31, 44), (44, 64)))
for rows in (31, 20, 9):  # the first two by one form
    np.testing.assert_allclose(inlay.gemm(a[:rows], b), a[:rows].astype(float) @ b.astype(float), rtol=2.0**-9, atol=1e-4)
    c = np.ones((rows, 64), np.float16)
    np.testing.assert_allclose(inlay.gemm(a[:rows], b, c, alpha=2, beta=-3), 2 * (a[:rows].astype(float) @ b.astype(float)) - 3, rtol=2.0**-9, atol=1e-2)
parts = {"tile": "16x64x64", "waves": "1x4", "split": 64}
for fixup, bound in (("yes", 1e-3), ("no", 0.05)):  # a counter, an output to which parts are added in float16: 0 before the launch
    left, right = np.tile(a, (1, 4))[:16], np.tile(b, (4, 1))
    for _ in range(2):
        np.testing.assert_allclose(inlay.gemm(left, right, **parts, **{"split-k-fixup": fixup}), left.astype(float) @ right.astype(float), rtol=2.0**-8, atol=bound)
x = a[:, :40]
np.testing.assert_allclose(inlay.softmax(x).astype(float).sum(-1), 1, rtol=2.0**-8)
try:
    inlay.gemm(a, b, device="gpu")
except inlay.CommandError as e:
    print(e)
""")
        self.assertIn("device 'gpu' is none", out)
        self.assertEqual(len(built), 7, built)

    def test_kernels_by_name(self):
        out, built = self.run_there("""
import inlay, numpy as np
random = np.random.default_rng(1)
x, y = (random.uniform(-1, 1, s).astype(np.float32) for s in ((2, 64), (5, 64)))
ids = np.array([4, 0], np.int32)
had = y.copy()
after = inlay.run_kernel("scatter_rows", {"Y": y, "x": x, "ids": ids}, tokens=2, n=64, rows=5, dtype="f32")
assert list(after) == ["y"] and after["y"].dtype == np.float32
assert (after["y"].reshape(5, 64) == np.stack([x[1], y[1], y[2], y[3], x[0]])).all() and (y == had).all()
a, b = (random.integers(-100, 100, s).astype(np.int8) for s in ((16, 128), (128, 64)))
assert (inlay.gemm(a, b) == a.astype(int) @ b.astype(int)).all()
a, b = ((x % 4).astype(np.float16) for x in (a, b.T))
options = {"tile": "16x64x64", "waves": "1x4", "split": 64, "split_k_fixup": True}  # parts of sums and counters are its own
product = inlay.run_kernel("gemm", {"a": a, "b": np.ascontiguousarray(b)}, m=16, n=64, k=128, dtype="f16", **options)
assert list(product) == ["c"] and (product["c"].reshape(16, 64) == a @ b.T).all()
for inputs in ({"x": x, "ids": ids}, {"y": y, "x": x, "ids": ids, "z": x}, {"y": y, "x": x[:1], "ids": ids}, {"y": y, "x": x.astype(np.float16), "ids": ids}):
    try:
        inlay.run_kernel("scatter_rows", inputs, tokens=2, n=64, rows=5, dtype="f32")
    except inlay.CommandError as e:
        print(str(e).splitlines()[0])
""")
        self.assertEqual(out.splitlines(), ["scatter_rows: input 'y' is missing", "scatter_rows has no buffer 'z'", "scatter_rows: buffer 'x' has 256 bytes, and 512 are wanted",
                                            "scatter_rows: x of float16, and the kernel's elements are f32"])

    def test_a_folder_without_the_line_of_auto_opens(self):
        self.run_there("""
import glob, inlay, numpy as np, os
from inlay import _kernels
x = np.ones((4, 128), np.float16)
y = inlay.softmax(x)
for file in glob.glob(os.environ["INLAY_CACHE_DIR"] + "/kernels/*/auto.txt"):
    os.remove(file)
_kernels._built.cache_clear(), _kernels._plan.cache_clear()
assert (inlay.softmax(x) == y).all()
""")

    def test_what_was_chosen_is_said_by_who_builds_and_by_who_finds_it_built(self):
        out, built = self.run_there("""
import inlay, logging, numpy as np, sys
from inlay import _kernels
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
x = np.ones((4, 128), np.float16)
for _ in range(2):
    inlay.softmax(x), inlay.softmax(x)
    _kernels._built.cache_clear(), _kernels._plan.cache_clear()  # as a second process
""")
        said = out.splitlines()
        self.assertEqual(len(built), 1, built)
        self.assertEqual(len(said), 2, out)
        self.assertEqual(said[0], said[1])
        self.assertRegex(said[0], "INFO:inlay:softmax .*--m 4 --n 128: auto: --threads .* modelled clocks")

    def test_memory_of_the_device_and_a_graph(self):
        # What torch has on a machine with a GPU: tensors there, a current stream, a graph that is captured.
        out, _ = self.run_there("""
import ctypes, os, sys, types, inlay, numpy as np
from inlay import _kernels, _launch
hip, device = ctypes.CDLL(os.environ["INLAY_HIP_LIBRARY"]), _launch._device("hip")

class Gpu:
    is_cuda, device = True, types.SimpleNamespace(index=None, type="cuda")
    def __init__(self, like):
        self.shape, self.dtype, self.nbytes, self.at = like.shape, like.dtype, like.nbytes, ctypes.c_void_p()
        _launch._need(_launch._library().inlay_malloc(device, self.nbytes, ctypes.byref(self.at)))
        self.set(like)
    def set(self, a):
        a = np.ascontiguousarray(a)
        _launch._need(_launch._library().inlay_copy_in(device, self.at, a.ctypes.data, self.nbytes))
    def get(self):
        out = np.empty(self.shape, self.dtype)
        _launch._need(_launch._library().inlay_copy_out(device, out.ctypes.data, self.at, self.nbytes))
        return out
    def is_contiguous(self): return True
    def contiguous(self): return self
    def data_ptr(self): return self.at.value
    def t(self): return Gpu(self.get().T)

stream, graph, again = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipStreamCreate(ctypes.byref(stream)) == 0
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(current_stream=lambda of: types.SimpleNamespace(cuda_stream=stream.value))
sys.modules["torch"] = torch
_kernels._allocate = lambda shape, element, like, zeros: Gpu(np.zeros(shape, {"f16": np.float16, "f32": np.float32}[element]))
a, b = (np.random.default_rng(1).uniform(-1, 1, s).astype(np.float16) for s in ((24, 32), (32, 48)))
x, w = Gpu(a), Gpu(b.T)
def product(): return _kernels._compute("gemm", {"a": x, "b": w}, {"c": ((24, 48), "f16")}, {"m": 24, "n": 48, "k": 32}, {})[0]
c = product()
hip.hipStreamSynchronize(stream)
close = lambda c, a: np.testing.assert_allclose(c.get(), a.astype(float) @ b.astype(float), rtol=2.0**-9, atol=1e-4)
close(c, a)
assert hip.hipStreamBeginCapture(stream, 0) == 0
c = product()
assert hip.hipStreamEndCapture(stream, ctypes.byref(graph)) == 0
assert (c.get() == 0).all()  # captured, not launched
assert hip.hipGraphInstantiate(ctypes.byref(again), graph, None, None, 0) == 0
for k in (1, 2):
    x.set(a * k)
    assert hip.hipGraphLaunch(again, stream) == 0 and hip.hipStreamSynchronize(stream) == 0
    close(c, a * k)
try:
    _kernels._compute("gemm", {"a": x, "b": b.T}, {"c": ((24, 48), "f16")}, {"m": 24, "n": 48, "k": 32}, {})
except ValueError as e:
    print(e)
""")
        self.assertIn("gemm: tensors of", out)


class Kernels(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(1)

    def array(self, *shape, dtype=numpy.float16):
        return self.random.uniform(-1, 1, shape).astype(dtype)

    def test_gemm(self):
        for m, n, k in ((64, 64, 64), (33, 65, 24), (1, 1, 1), (17, 40, 13)):
            a, b = self.array(m, k), self.array(k, n)
            c = inlay.gemm(a, b)
            want = a.astype(float) @ b.astype(float)
            self.assertEqual((c.shape, c.dtype), (want.shape, a.dtype))
            numpy.testing.assert_allclose(c, want, rtol=RELATIVE, atol=k * 2.0**-20)

    def test_gemm_of_float32_and_float64(self):
        for kind, arch, digits, form in ((numpy.float32, "gfx942", 24, {"tile": "32x64x32", "waves": "1x4"}),
                                         (numpy.float64, "gfx950", 53, {"tile": "32x64x16", "waves": "1x4"})):
            unit = 2.0**-digits
            for m, n, k in ((33, 65, 25), (5, 8, 0)):
                a, b, c = (self.array(*shape, dtype=kind) / 3 for shape in ((m, k), (k, n), (m, n)))
                v, w, r = self.array(n, dtype=kind) / 7, self.array(m, dtype=kind) / 7, self.array(m, n, dtype=kind) / 7
                wide = [x.astype(numpy.longdouble) for x in (a, b, c, v, w, r)]
                product, size = wide[0] @ wide[1], numpy.abs(wide[0]) @ numpy.abs(wide[1])
                got = inlay.gemm(a, b, arch=arch, **form)
                self.assertEqual((got.shape, got.dtype), ((m, n), kind))
                self.assertTrue((numpy.abs(got - product) <= 2 * k * unit * size).all())
                alpha, beta = 1 / 3, -0.7  # with all their digits
                got = inlay.gemm(a, b, c, alpha=alpha, beta=beta, bias=v, row_bias=w, activation="relu", residual=r, arch=arch, **form)
                of = numpy.longdouble if kind is numpy.float64 else numpy.float32
                terms = [of(alpha) * product, of(beta) * wide[2], wide[3], wide[4][:, None]]
                within = 2 * k * unit * alpha * size + 8 * unit * (sum(map(numpy.abs, terms)) + numpy.abs(wide[5]))
                self.assertTrue((numpy.abs(got - (numpy.maximum(sum(terms), 0) + wide[5])) <= within).all())
        a, b = self.array(9, 16, dtype=numpy.float32) / 3, self.array(16, 7, dtype=numpy.float32) / 3
        # Each product leaves out the low 13 bits of its factors.
        short = [(x.view(numpy.uint32) & 0xffffe000).view(numpy.float32).astype(float) for x in (a, b)]
        got = inlay.gemm(a, b, dtype="xf32", arch="gfx942", tile="32x64x32", waves="1x4")
        self.assertEqual(got.dtype, numpy.float32)
        numpy.testing.assert_allclose(got, short[0] @ short[1], rtol=0, atol=2.0**-20)
        self.assertGreater(numpy.abs(got - a.astype(float) @ b.astype(float)).max(), 2.0**-16)
        with self.assertRaisesRegex(inlay.CommandError, "gfx950, which has no xf32"):
            inlay.gemm(a, b, dtype="xf32", arch="gfx950")
        with self.assertRaisesRegex(TypeError, "gemm: elements of complex64"):
            inlay.gemm(a.astype(numpy.complex64), b.astype(numpy.complex64))

    def test_gemm_of_8_bits_with_scales_of_32(self):
        def numbers(codes):  # e4m3fn
            exponent, mantissa = (codes >> 3).astype(int) & 15, codes & 7
            return numpy.where(codes > 127, -1.0, 1.0) * numpy.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0**(exponent - 7))

        def shuffled(scales, k):
            rows = len(scales)
            place = numpy.full(-(-rows // 32) * k, 255, numpy.uint8)  # what is no row's is NaN
            for r in range(rows):
                for b in range(k // 32):
                    place[r % 16 * 4 + r // 16 % 2 + r // 32 * k + b % 4 * 64 + b // 4 % 2 * 2 + b // 8 * 256] = scales[r, b]
            return place

        m, n, k = 35, 18, 768
        rng = numpy.random.default_rng(5)
        a, b = (rng.integers(0, 127, (rows, k), numpy.uint8) | rng.integers(0, 2, (rows, k), numpy.uint8) * 128 for rows in (m, n))
        sa, sb = (rng.integers(118, 132, (rows, k // 32), numpy.uint8) for rows in (m, n))
        left, right = (numbers(x) * numpy.repeat(2.0**(s.astype(int) - 127), 32, axis=1) for x, s in ((a, sa), (b, sb)))
        for kernel, more in (("gemm", {"tile": "64x64x256"}), ("gemm", {"tile": "32x64x256", "waves": "1x2", "direct-to-lds": True})):
            got = inlay.run_kernel(kernel, {"a": a, "b": b, "sa": shuffled(sa, k), "sb": shuffled(sb, k)}, m=m, n=n, k=k, dtype="mxfp8", arch="gfx950",
                                   out="f32", **more)["c"].reshape(m, n)
            self.assertTrue((numpy.abs(got - left @ right.T) <= 2 * k * 2.0**-24 * (numpy.abs(left) @ numpy.abs(right).T)).all())

        class Array:
            def __init__(self, dtype, *shape):
                self.dtype, self.shape = dtype, shape

        factors = Array("float8_e4m3fn", 8, 64), Array("float8_e4m3fn", 64, 6)
        inlay._kernels.gemm_shapes(*factors, scale_a=Array("float8_e8m0fnu", 8, 2), scale_b=Array("uint8", 6, 2))
        with self.assertRaisesRegex(ValueError, r"scale_b of .6, 4. uint8: .6, 2. of float8_e8m0fnu are wanted"):
            inlay._kernels.gemm_shapes(*factors, scale_a=Array("float8_e8m0fnu", 8, 2), scale_b=Array("uint8", 6, 4))
        inlay._kernels.gemm_shapes(*factors, scale_a=Array("float32", 8), scale_b=Array("float32", 6))

    def test_hints(self):
        x = self.array(4, 64)
        numpy.testing.assert_array_equal(inlay.softmax(x, axis=1), inlay.softmax(x))
        for f, error, hint in ((lambda: inlay.softmax(x, dim=0), ValueError, r"dim=0, and it is over the last one\n  hint   inlay.softmax\(x.swapaxes\(0, -1\)\)"),
                               (lambda: inlay.flash_attention(*3 * [self.array(1, 4, 2, 64)], scale=1.0), ValueError, r"scaled by 1 / sqrt\(head size\)\n  hint   .*q \* \(scale"),
                               (lambda: inlay.prove("injectiv", "(4,8):(8,1)"), ValueError, "unknown property 'injectiv'\n  hint   did you mean injective\\? equal, injective,")):
            with self.assertRaisesRegex(error, hint):
                f()

    def test_gemm_with_alpha_beta_and_c(self):
        for (m, n, k), options in (((33, 65, 24), {}), ((17, 40, 13), {}), ((5, 8, 0), {}), ((16, 24, 32), {"out": "f32"})):
            a, b, c = self.array(m, k), self.array(k, n), self.array(m, n, dtype=numpy.float32 if options else numpy.float16)
            product, wide = a.astype(float) @ b.astype(float), c.astype(float)
            for alpha, beta in ((1, 1), (0.5, -2), (0, 3), (-1.5, 0)):
                had = c.copy()
                d = inlay.gemm(a, b, c, alpha=alpha, beta=beta, **options)
                self.assertEqual((d.shape, d.dtype), (c.shape, c.dtype))
                numpy.testing.assert_allclose(d, alpha * product + beta * wide, rtol=RELATIVE, atol=(k + 4) * 2.0**-20)
                self.assertTrue((c == had).all())
            if k:
                numpy.testing.assert_allclose(inlay.gemm(a, b, alpha=2, **options), 2 * product, rtol=RELATIVE, atol=k * 2.0**-20)
            self.assertFalse(numpy.isnan(inlay.gemm(a, b, numpy.full_like(c, numpy.nan), beta=0, **options)).any())
        a, b = self.array(4, 8), self.array(8, 6)
        for what, call in (("gemm: c of .4, 5. float16", lambda: inlay.gemm(a, b, self.array(4, 5))),
                           ("gemm: c of .4, 6. float32", lambda: inlay.gemm(a, b, self.array(4, 6, dtype=numpy.float32))),
                           ("gemm: beta=2.0 and no c", lambda: inlay.gemm(a, b, beta=2))):
            with self.assertRaisesRegex(ValueError, what):
                call()
        with self.assertRaisesRegex(TypeError, "gemm: c is of type list"):
            inlay.gemm(a, b, [[1.0]])

    def test_gemm_with_biases_activation_and_residual(self):
        def curve(name, x):
            return {"": lambda: x, "relu": lambda: numpy.maximum(x, 0), "silu": lambda: x / (1 + numpy.exp(-x)),
                    "gelu": lambda: x / 2 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))),
                    "gelu_tanh": lambda: x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))}[name]()

        for i, activation in enumerate(("relu", "silu", "gelu", "gelu_tanh", "")):
            m, n, k = ((33, 65, 24), (17, 40, 13), (5, 8, 0))[i % 3]
            a, b, c, r = self.array(m, k), self.array(k, n), self.array(m, n), self.array(m, n)
            v, w = self.array(n, dtype=numpy.float32), self.array(m)
            z = 0.5 * (a.astype(float) @ b.astype(float)) - 2 * c.astype(float)
            d = inlay.gemm(a, b, c, alpha=0.5, beta=-2, bias=v, row_bias=w, activation=activation or None, residual=r)
            self.assertEqual((d.shape, d.dtype), (c.shape, c.dtype))
            numpy.testing.assert_allclose(d, curve(activation, z + v + w.astype(float)[:, None]) + r, rtol=RELATIVE, atol=(k + 40) * 2.0**-20)
            if activation:
                numpy.testing.assert_allclose(inlay.gemm(a, b, activation=activation), curve(activation, a.astype(float) @ b.astype(float)),
                                              rtol=RELATIVE, atol=(k + 40) * 2.0**-20)
        a, b = self.array(4, 8), self.array(8, 6)
        for what, call in (("gemm: bias of .4,., and there are 6 columns", lambda: inlay.gemm(a, b, bias=self.array(4))),
                           ("gemm: row_bias of .6,., and there are 4 rows", lambda: inlay.gemm(a, b, row_bias=self.array(6))),
                           ("gemm: residual of .6, 4. float16", lambda: inlay.gemm(a, b, residual=self.array(6, 4))),
                           ("gemm: activation='tanh': relu, silu, gelu, gelu_tanh", lambda: inlay.gemm(a, b, activation="tanh"))):
            with self.assertRaisesRegex(ValueError, what):
                call()
        with self.assertRaisesRegex(TypeError, "gemm: bias is of type list"):
            inlay.gemm(a, b, bias=[1.0])

    def test_gemm_refuses_what_is_no_product(self):
        with self.assertRaises(ValueError):
            inlay.gemm(self.array(4, 8), self.array(4, 8))
        with self.assertRaises(TypeError):
            inlay.gemm(self.array(8, 8).astype(int), self.array(8, 8).astype(int))
        with self.assertRaisesRegex(ValueError, r"hint   a.reshape\(-1, a.shape\[-1\]\)"):
            inlay.gemm(self.array(2, 4, 8), self.array(8, 8))

    def test_a_mode_that_is_not_there(self):
        layout = inlay.Layout("(4,8):(8,1)")
        self.assertEqual([str(mode) for mode in layout], ["4:8", "8:1"])
        with self.assertRaisesRegex(IndexError, r"mode 3 of \(4,8\):\(8,1\), which has 2"):
            layout[3]
        with self.assertRaisesRegex(inlay.CommandError, "did you mean coalesce"):
            inlay.fuzz(str, "coalese")

    def test_softmax_and_rms_norm(self):
        for shape, dtype in (((3, 256), numpy.float16), ((2, 2, 100), numpy.float32), ((1, 7), numpy.float32), ((2, 5000), numpy.float16)):
            x = self.array(*shape, dtype=dtype)
            y, wide = inlay.softmax(x), x.astype(float)
            want = numpy.exp(wide - wide.max(-1, keepdims=True))
            want /= want.sum(-1, keepdims=True)
            numpy.testing.assert_allclose(y, want, rtol=2 * RELATIVE, atol=1e-7)
            w = self.array(shape[-1], dtype=dtype)
            want = wide / numpy.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * w.astype(float)
            numpy.testing.assert_allclose(inlay.rms_norm(x, w), want, rtol=2 * RELATIVE, atol=1e-3 * RELATIVE)

    def test_varlen_attention(self):
        """Sequences beside one another: without queries, without keys, of more queries than keys, and blocks of 64 rows that end in the middle."""
        def want(q, k, v, starts, starts_k, causal, window):
            out = numpy.zeros((*q.shape[:2], v.shape[2]))
            for first, end, first_k, end_k in zip(starts[:-1], starts[1:], starts_k[:-1], starts_k[1:]):
                at, key = numpy.arange(end - first)[:, None] + (end_k - first_k) - (end - first), numpy.arange(end_k - first_k)
                seen = (key <= at) & (key > at - (window or 1 << 20)) if causal else (key >= 0) & (at < 1 << 20)
                for h in range(q.shape[1]):
                    h_k = h * k.shape[1] // q.shape[1]
                    x = numpy.where(seen, q[first:end, h].astype(float) @ k[first_k:end_k, h_k].astype(float).T / math.sqrt(q.shape[2]), -numpy.inf)
                    p = numpy.where(seen, numpy.exp(x - x.max(-1, keepdims=True, initial=-1e30)), 0)
                    out[first:end, h] = p / numpy.maximum(p.sum(-1, keepdims=True), 1e-300) @ v[first_k:end_k, h_k].astype(float)
            return out

        for queries, keys, causal, window, more in (([100, 1, 0, 64, 130], None, True, 0, {}), ([100, 1, 0, 64, 130], [30, 9, 50, 0, 140], True, 0, {"longest": 200}),
                                                    ([70, 3], [70, 100], False, 0, {"longest_k": 128}), ([100, 130], [100, 190], True, 50, {"arch": "gfx950"})):
            starts = numpy.concatenate([[0], numpy.cumsum(queries)])
            starts_k = starts if keys is None else numpy.concatenate([[0], numpy.cumsum(keys)]).astype(numpy.int32)
            q, k, v = self.array(starts[-1], 4, 64), self.array(starts_k[-1], 2, 64), self.array(starts_k[-1], 2, 64)
            o = inlay.varlen_attention(q, k, v, starts, *([] if keys is None else [starts_k]), causal=causal, window=window, **more)
            self.assertEqual((o.shape, o.dtype), (q.shape, q.dtype))
            numpy.testing.assert_allclose(o.astype(float), want(q, k, v, starts, starts_k, causal, window), rtol=8 * RELATIVE, atol=2 * RELATIVE)
        q, k, places = self.array(8, 2, 64), self.array(8, 1, 64), numpy.array([0, 8])
        self.assertEqual(inlay.varlen_attention(q[:0], k, k, numpy.array([0])).shape, (0, 2, 64))
        for what, call in (("q has 2 dimensions\\n  hint   shapes are", lambda: inlay.varlen_attention(q[:, 0], k, k, places)),
                           ("8 rows of k and 7 of v", lambda: inlay.varlen_attention(q, k, k[:7], places)),
                           ("cu_seqlens of .2,. float64\\n  hint   int32, where each", lambda: inlay.varlen_attention(q, k, k, places.astype(float))),
                           ("2 places in cu_seqlens and 3 in cu_seqlens_k", lambda: inlay.varlen_attention(q, k, k, places, numpy.array([0, 4, 8]))),
                           ("keys is that of the arrays, 64", lambda: inlay.varlen_attention(q, k, k, places, keys=3)),
                           (r"cu_seqlens\[0\] is 1: the first sequence begins at 0", lambda: inlay.varlen_attention(q, k, k, numpy.array([1, 8]))),
                           (r"cu_seqlens\[2\] is 3, and cu_seqlens\[1\] is 5: where each", lambda: inlay.varlen_attention(q, k, k, numpy.array([0, 5, 3, 8]))),
                           (r"cu_seqlens\[1\] is 7, and there are 8 rows of q\n  hint   where the last sequence ends, or q\[:7\]", lambda: inlay.varlen_attention(q, k, k, numpy.array([0, 7]))),
                           (r"cu_seqlens\[1\] is 9, and there are 8 rows of q", lambda: inlay.varlen_attention(q, k, k, numpy.array([0, 9]))),
                           (r"cu_seqlens\[0\] is 0, and there are 8 rows of q", lambda: inlay.varlen_attention(q, k, k, numpy.array([0]))),
                           (r"cu_seqlens_k\[1\] is 4, and there are 8 rows of k", lambda: inlay.varlen_attention(q, k, k, places, numpy.array([0, 4]))),
                           ("longest=7, and a sequence has 8 rows", lambda: inlay.varlen_attention(q, k, k, places, longest=7)),
                           ("longest_k=1, and a sequence has 8 rows", lambda: inlay.varlen_attention(q, k, k, places, longest=8, longest_k=1))):
            with self.assertRaisesRegex(ValueError, what):
                call()

    def test_places_of_sequences_do_not_fall(self):
        """By name and by manifest."""
        options = {"attention_blocks": {"sequences": 2, "blocks": 1, "pages": 64}}
        for kernel, name, numbers, why in (("attention_blocks", "cu_seqlens_q", [0, 9, 8], r"cu_seqlens_q\[2\] is 8, and cu_seqlens_q\[1\] is 9"),
                                           ("attention_blocks", "cu_seqlens_k", [0, -1, 8], r"cu_seqlens_k\[1\] is -1: not negative")):
            asked = inlay.buffers(kernel, **options[kernel])
            numbers = numpy.array(numbers, numpy.int32)
            self.assertEqual([b["bytes"] for b in asked if b["name"] == name], [numbers.nbytes])
            arrays = {b["name"]: numpy.zeros(b["bytes"], numpy.uint8) for b in asked}
            inputs = {**{b["name"]: arrays[b["name"]] for b in asked if b["input"]}, name: numbers}
            for given in (numbers, numbers.tobytes(), numbers.view(numpy.uint8)):
                with self.subTest(kernel), self.assertRaisesRegex(ValueError, f"{kernel}: {why}"):
                    inlay.run_kernel(kernel, {**inputs, name: given}, **options[kernel])
            with tempfile.TemporaryDirectory() as folder:
                inlay.build(kernel, folder, **options[kernel])
                loaded = inlay.load(f"{folder}/{kernel}.json", device="emulator")
                needed = dict(zip([n.lower() for n in loaded.buffers], loaded.bytes_for({})))
                given = [{**arrays, name: numbers}.get(n, numpy.zeros(size, numpy.uint8)) for n, size in needed.items()]
                with self.assertRaisesRegex(ValueError, f"{kernel}: {why}"):
                    loaded(*given)

    def test_flash_attention(self):
        q, k, v = self.array(1, 48, 2, 64), self.array(1, 80, 1, 64), self.array(1, 80, 1, 64)
        o = inlay.flash_attention(q, k, v)
        kk, vv = (numpy.repeat(x.astype(float), 2, axis=2) for x in (k, v))
        s = numpy.einsum("bqhd,bkhd->bhqk", q.astype(float), kk) / 8
        p = numpy.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        numpy.testing.assert_allclose(o, numpy.einsum("bhqk,bkhd->bqhd", p, vv), rtol=8 * RELATIVE, atol=2 * RELATIVE)

    def recurrence(self, q, k, v, g, beta, state, normalise=True):
        """The gated delta rule token by token, in double; what the kernels of its chunks share nothing with."""
        o, states = numpy.zeros(v.shape), state.astype(float).copy()
        for b, h in numpy.ndindex(v.shape[0], v.shape[2]):
            of_key = h // (v.shape[2] // k.shape[2])
            for t in range(v.shape[1]):
                query, key = q[b, t, of_key].astype(float), k[b, t, of_key].astype(float)
                if normalise:
                    query, key = query / numpy.sqrt(query @ query + 1e-6), key / numpy.sqrt(key @ key + 1e-6)
                s = states[b, h] * numpy.exp(float(g[b, t, h]))
                states[b, h] = s + numpy.outer(key, float(beta[b, t, h]) * (v[b, t, h].astype(float) - s.T @ key))
                o[b, t, h] = states[b, h].T @ query / numpy.sqrt(q.shape[3])
        return o, states

    def test_gated_delta(self):
        """Ragged last chunks, one token, grouped heads, keys and values of both sizes, strong, endless and no gates, and keys that are all alike."""
        random = self.random
        for batch, tokens, heads, key_heads, keys, values, arch, kind in ((1, 1, 2, 1, 64, 64, "gfx942", ""), (2, 65, 3, 3, 64, 128, "gfx950", "no gates"),
                                                                          (1, 150, 4, 2, 128, 64, "gfx942", "alike"), (1, 330, 2, 1, 64, 64, "gfx942", "strong gates"),
                                                                          (1, 128, 1, 1, 128, 128, "gfx90a", "lengths"),
                                                                          (1, 100, 2, 1, 64, 64, "gfx942", "forgets all")):
            q, k = (random.standard_normal((batch, tokens, key_heads, keys)).astype(numpy.float16) for _ in "qk")
            v = random.standard_normal((batch, tokens, heads, values)).astype(numpy.float16)
            g = numpy.log(1 / (1 + numpy.exp(-random.standard_normal((batch, tokens, heads)) - 2))).astype(numpy.float32)
            beta = random.uniform(0, 1, (batch, tokens, heads)).astype(numpy.float32)
            state = random.standard_normal((batch, heads, keys, values)).astype(numpy.float32)
            if kind == "alike":
                k[:], beta[:], g[:] = k[0, 0, 0], 1, 0
            if kind == "strong gates":
                g *= 100
            if kind == "forgets all":
                g[:, 5::7], g[:, 40], g[:, 70:] = -numpy.inf, -1e30, -1e6
            if kind == "lengths":
                q, k = (q / 16).astype(numpy.float16), (k / 16).astype(numpy.float16)
            none = kind == "no gates"
            with self.subTest(kind=kind, tokens=tokens):
                got = inlay.gated_delta(q, k, v, None if none else g, beta, state, normalise=kind != "lengths", arch=arch)
                want = self.recurrence(q, k, v, 0 * g if none else g, beta, state, kind != "lengths")
                self.assertEqual([x.shape for x in got], [x.shape for x in want])
                for x, y in zip(got, want):
                    numpy.testing.assert_allclose(x, y, rtol=0, atol=4 * RELATIVE * numpy.abs(y).max())
        o, last = inlay.gated_delta(q, k, v, g, beta)  # no state is one of zeros
        numpy.testing.assert_array_equal(o, inlay.gated_delta(q, k, v, g, beta, 0 * state)[0])
        first, between = inlay.gated_delta(q[:, :64], k[:, :64], v[:, :64], g[:, :64], beta[:, :64])
        more, end = inlay.gated_delta(q[:, 64:], k[:, 64:], v[:, 64:], g[:, 64:], beta[:, 64:], between)
        numpy.testing.assert_array_equal(numpy.concatenate([first, more], 1), o)  # cut between chunks: the same bits
        numpy.testing.assert_array_equal(end, last)

    def test_gated_delta_inverse_of_large_products(self):
        """Keys that are alike and beta of 1.9: elements of the inverse are at most 1.9, and powers of what is inverted are not."""
        keys = numpy.zeros((1, 1, 1, 64, 64), numpy.float16)
        keys[..., 0] = 1
        rows = numpy.ones((1, 1, 1, 64), numpy.float32)
        got = inlay.run_kernel("gated_delta_inverse", {"keys": keys, "gates": 0 * rows, "betas": 1.9 * rows}, dtype="f16", batch=1, tokens=64, heads=1, group=1, key=64,
                               arch="gfx942")["inverse"].reshape(4, 4, 16, 16).transpose(0, 2, 1, 3).reshape(64, 64)
        want = numpy.linalg.inv(numpy.eye(64) + numpy.tril(numpy.full((64, 64), 1.9), -1))
        numpy.testing.assert_allclose(got, want, rtol=0, atol=2 * RELATIVE)

    def test_gated_delta_refuses_what_is_none(self):
        x, g = self.array(1, 4, 2, 64), numpy.zeros((1, 4, 2), numpy.float32)
        for words, error, message in (((x, x, x[:, :3], g, g), ValueError, r"v \(1, 3, 2, 64\), .*: q and k \(batch"), ((x, x, self.array(1, 4, 3, 64), g, g), ValueError, "3 heads of v and 2 of k"),
                                      ((x, x, x, g[:, :3], g), ValueError, r"g of \(1, 3, 2\), and \(1, 4, 2\) is wanted"), ((x, x, x, g, g, x), ValueError, "initial_state of"),
                                      ((x.astype(numpy.float32),) * 3 + (g, g), TypeError, "float16 or bfloat16"), ((x[:, :0], x[:, :0], x[:, :0], g[:, :0], g[:, :0]), ValueError, "at least one"),
                                      ((*3 * (self.array(1, 4, 2, 32),), g, g), inlay.CommandError, "--key 32\n  hint   64 or 128"), ((1, 2, 3, 4, 5), TypeError, "q is of type int")):
            with self.assertRaisesRegex(error, message):
                inlay.gated_delta(*words)

    def test_softmax_in_parts_where_whole_parts_are_minus_infinity(self):
        """A part of 256 columns or 64 keys: none, the first, the first and half of the next, all but the last, all of a row."""
        n, part = 1024, 256
        x = self.array(5, n, dtype=numpy.float32)
        for row, hidden in enumerate((0, part, part + part // 2, n - 1, n)):
            x[row, :hidden] = -numpy.inf
        options = {"m": 5, "n": n, "dtype": "f32", "threads": 64, "vectors": 1, "stream": "yes"}
        wide = x.astype(float)
        with numpy.errstate(all="ignore"):
            most = wide.max(-1, keepdims=True)
            e = numpy.exp(wide - most)
            sums = e.sum(-1, keepdims=True)
            lse = numpy.where(numpy.isinf(most), -numpy.inf, most + numpy.log(sums))
            log_softmax = wide - lse
        targets = numpy.full(5, n - 1, numpy.int32)
        for name, inputs, more, want in (("softmax", {}, {}, {"y": e / sums}), ("log_softmax", {}, {}, {"y": log_softmax}),
                                         ("row_reduce", {}, {"op": "logsumexp"}, {"y": lse}),
                                         ("cross_entropy", {"targets": targets}, {}, {"lse": lse, "loss": -log_softmax[:, -1]})):
            got = inlay.run_kernel(name, {"x": x, **inputs}, **options, **more)
            for output, value in want.items():
                numpy.testing.assert_allclose(got[output], value.ravel(), rtol=2.0**-18, atol=2.0**-20, err_msg=name)

        d, heads, keys, queries, page = 64, 2, 256, 48, 16
        q, kk, v = self.array(queries, heads, d), self.array(16, page, heads, d), self.array(16, page, heads, d)
        bias = self.array(queries, heads, keys)
        for i in range(queries):
            bias[i, :, :(0, 64, 96, keys - 1, keys)[i % 5]] = -numpy.inf
        scores = numpy.einsum("qhd,khd->hqk", q.astype(float), kk.reshape(-1, heads, d).astype(float)) / 8 + bias.transpose(1, 0, 2)
        for sinks in (None, numpy.array([0.5, -numpy.inf], numpy.float32)):
            options = {"dtype": "f16", "head_dim": d, "kv_heads": heads, "page": page, "sequences": 1, "queries": queries, "keys": keys, "pages": 16,
                       "tile_q": 64, "tile_k": 64, "waves": 4, "causal": "no", "bias": "yes", "sinks": "no" if sinks is None else "yes"}
            inputs = {"q": q, "k": kk, "v": v, "bias": bias, "table": numpy.arange(16, dtype=numpy.int32), "ends": numpy.array([keys], numpy.int32),
                      "row": numpy.append(numpy.arange(queries), [0] * 16).astype(numpy.int32), "position": numpy.full(64, keys - 1, numpy.int32)}
            sink = numpy.full((heads, 1, 1), -numpy.inf) if sinks is None else sinks.astype(float).reshape(heads, 1, 1)
            if sinks is not None:
                inputs["sinks"] = sinks
            got = inlay.run_kernel("varlen_attention", inputs, **options)
            with numpy.errstate(all="ignore"):
                most = numpy.maximum(scores.max(-1, keepdims=True), sink)
                e = numpy.exp(scores - most)
                sums = e.sum(-1, keepdims=True) + numpy.exp(sink - most)
                want = numpy.einsum("hqk,khd->qhd", e / sums, v.reshape(-1, heads, d).astype(float))
                lse = numpy.where(numpy.isinf(most), -numpy.inf, most + numpy.log(sums))[:, :, 0].T
            self.assertEqual(numpy.isnan(want).any(axis=(1, 2)).sum(), 9)  # rows without a key, whose head has no sink
            numpy.testing.assert_allclose(got["o"].reshape(64, heads, d)[:queries].astype(float), want, rtol=8 * RELATIVE, atol=2 * RELATIVE)
            numpy.testing.assert_allclose(got["lse"].reshape(64, heads)[:queries], lse, rtol=2.0**-16, atol=2.0**-10)

    def test_groups_by_offsets_on_the_device(self):
        """moe_blocks makes the table of grouped_gemm from where the groups start; two of them have no rows."""
        block, n, k, starts = 64, 64, 128, numpy.array([0, 0, 128, 192, 192], numpy.int32)
        with tempfile.TemporaryDirectory() as folder:
            inlay.build("moe_blocks", folder, block=block)
            inlay.build("grouped_gemm", folder, dtype="f16", out="f32", tile_m=block, tile_n=64, waves="2x2")
            tables, product = (inlay.load(f"{folder}/{name}.json", device="emulator") for name in ("moe_blocks", "grouped_gemm"))
        of_blocks, rows = numpy.zeros(5, numpy.int32), 5 * block
        tables(of_blocks, starts, blocks=5, experts=5)
        a, b, c = self.array(rows, k), self.array(5, n, k), numpy.zeros((rows, n), numpy.float32)
        product(c, a, b, of_blocks, m=rows, n=n, k=k, groups=5)
        groups = (1, 1, 2, 4, 4)
        numpy.testing.assert_array_equal(of_blocks, groups)
        want = numpy.concatenate([a[i * block:(i + 1) * block].astype(float) @ b[g].astype(float).T for i, g in enumerate(groups)])
        numpy.testing.assert_allclose(c, want, rtol=1e-5, atol=1e-4)

    def test_attention_where_all_scores_of_whole_tiles_are_minus_infinity(self):
        """Keys of minus infinity: none, the first tile, all but the last key, all. All of them: NaN, as their softmax is, and minus infinity as logarithm."""
        def attention(scores, v, sink=-numpy.inf):
            with numpy.errstate(all="ignore"):
                most = numpy.maximum(scores.max(-1, keepdims=True), sink)
                e = numpy.exp(scores - most)
                sums = e.sum(-1, keepdims=True) + numpy.exp(sink - most)
                return (e / sums) @ v, numpy.where(numpy.isinf(most), most, most + numpy.log(sums))[..., 0]

        def close(got, want, lse=None, logarithms=None):
            numpy.testing.assert_allclose(got.reshape(want.shape).astype(float), want, rtol=8 * RELATIVE, atol=4 * RELATIVE)
            if lse is not None:
                numpy.testing.assert_allclose(lse.reshape(logarithms.shape), logarithms, rtol=2.0**-14, atol=2.0**-8)

        def infinite(keys, hidden):
            for i, n in enumerate(hidden):
                keys[i, :n, 0] = -numpy.inf

        d, n, hidden = 64, 128, (0, 32, 96, 127, 128)
        heads = len(hidden)
        q, k, v = (self.array(n, heads, d) for _ in range(3))
        q[..., 0] = numpy.abs(q[..., 0]) + numpy.float16(0.1)
        infinite(k.transpose(1, 0, 2), hidden)
        scores = numpy.einsum("qhd,khd->hqk", q.astype(float), k.astype(float)) / 8
        values = v.astype(float).transpose(1, 0, 2)
        row, key = numpy.arange(n)[:, None], numpy.arange(n)
        for arch in ("gfx942", "gfx950"):
            common = {"dtype": "f16", "head_dim": d, "tile_q": 32, "tile_k": 32, "arch": arch}
            for more, seen in (({}, key >= 0), ({"causal": "yes"}, key <= row), ({"window": 40}, (key <= row) & (key > row - 40)),
                               ({"window": 90}, (key <= row) & (key > row - 90))):
                got = inlay.run_kernel("flash_attention", {"q": q, "k": k, "v": v}, batch=1, queries=n, keys=n, heads=heads, waves=1, **common, **more)
                o, lse = attention(numpy.where(seen, scores, -numpy.inf), values)
                self.assertEqual(numpy.isnan(o[:4]).any(), bool(more))
                self.assertTrue(numpy.isnan(o[4]).all())
                close(got["o"].reshape(n, heads, d).transpose(1, 0, 2), o, got["lse"], lse)

            pages, table = {"k": k.reshape(8, 16, heads, d), "v": v.reshape(8, 16, heads, d)}, numpy.arange(8, dtype=numpy.int32)
            tables = {"row": numpy.arange(n, dtype=numpy.int32), "position": numpy.arange(n, dtype=numpy.int32)}
            for more, seen in (({}, key <= row), ({"window": 40}, (key <= row) & (key > row - 40)), ({"causal": "no"}, key >= 0), ({"sinks": "yes"}, key <= row)):
                position = tables["position"] if more.get("causal") != "no" else numpy.full(n, n - 1, numpy.int32)
                inputs = {"q": q, **pages, "row": tables["row"], "position": position, "table": numpy.tile(table, 4), "ends": numpy.full(4, n, numpy.int32)}
                sink = numpy.array([0.5, -numpy.inf, 0.25, 3, 0.5], numpy.float32) if "sinks" in more else numpy.full(heads, -numpy.inf, numpy.float32)
                if "sinks" in more:
                    inputs["sinks"] = sink
                got = inlay.run_kernel("varlen_attention", inputs, page=16, kv_heads=heads, sequences=1, queries=n, keys=n, pages=8, waves=2, **common, **more)
                o, lse = attention(numpy.where(seen, scores, -numpy.inf), values, sink[:, None, None].astype(float))
                close(got["o"].reshape(n, heads, d).transpose(1, 0, 2), o, got["lse"].reshape(n, heads).T, lse)

            lengths = numpy.array([n], numpy.int32)
            for more, first in (({}, 0), ({"window": 40}, n - 40), ({"sinks": "yes"}, 0)):
                inputs = {"q": q[-1], **pages, "table": table, "lengths": lengths}
                if "sinks" in more:
                    inputs["sinks"] = sink
                got = inlay.run_kernel("paged_decode", inputs, dtype="f16", kv_dtype="f16", head_dim=d, group=1, page=16, split=32, kv_heads=heads, sequences=1,
                                       keys=n, pages=8, arch=arch, **more)
                o, _ = attention(scores[:, -1:, first:], values[:, first:], sink[:, None, None].astype(float) if "sinks" in more else -numpy.inf)
                close(got["o"], o[:, 0])

            # Of latent attention a hidden key's rotary part is minus infinity: its first 512 are a value, too.
            heads_of_query, split = 16, 64
            latent = self.array(len(hidden) * n, 576)
            infinite(latent.reshape(len(hidden), n, 576)[:, :, 575:], hidden)
            of_query = self.array(len(hidden), heads_of_query, 576)
            of_query[..., 575] = 1
            sizes = {"dtype": "f16", "heads": heads_of_query, "sequences": len(hidden), "keys": n, "split": split, "arch": arch}
            lengths = numpy.full(len(hidden), n, numpy.int32)
            parts = inlay.run_kernel("mla_decode", {"q": of_query, "kv": latent, "table": numpy.arange(len(hidden) * n // 16, dtype=numpy.int32), "lengths": lengths},
                                     kv_dtype="f16", page=16, pages=len(hidden) * n // 16, **sizes)
            got = inlay.run_kernel("mla_reduce", {**parts, "lengths": lengths}, **sizes)
            wide = latent.astype(float).reshape(len(hidden), n, 576)
            o, _ = attention(numpy.einsum("shd,skd->shk", of_query.astype(float), wide) * 0.07216878364870322, wide[..., :512])
            close(got["o"], o)

    def test_attention_where_lengths_are_below_zero(self):
        """They count as 0; loops over -5 positions did not end."""
        d, n, heads, lengths = 64, 128, 2, numpy.array([-5, 20, -2**31], numpy.int32)
        table = numpy.tile(numpy.arange(n // 16, dtype=numpy.int32), 3)
        q, k, v = self.array(3, heads, d), self.array(n // 16, 16, heads, d), self.array(n // 16, 16, heads, d)
        common = {"dtype": "f16", "arch": "gfx942"}
        for more in ({}, {"window": 40}):
            o = inlay.run_kernel("paged_decode", {"q": q, "k": k, "v": v, "table": table, "lengths": lengths}, kv_dtype="f16", head_dim=d, group=1, page=16, split=32,
                                 kv_heads=heads, sequences=3, keys=n, pages=n // 16, **common, **more)["o"].reshape(3, heads, d)
            self.assertEqual([bool(numpy.any(x)) for x in o], [False, True, False])
        sizes = {"heads": 16, "split": 32, "sequences": 3, "keys": n, **common}
        parts = inlay.run_kernel("mla_decode", {"q": self.array(3, 16, 576), "kv": self.array(n, 576), "table": table, "lengths": lengths}, kv_dtype="f16", page=16,
                                 pages=n // 16, **sizes)
        o = inlay.run_kernel("mla_reduce", {**parts, "lengths": lengths}, **sizes)["o"].reshape(3, -1)
        self.assertEqual([bool(numpy.any(x)) for x in o], [False, True, False])
        rows = numpy.arange(3 * 16, dtype=numpy.int32)
        got = inlay.run_kernel("varlen_attention", {"q": self.array(48, heads, d), "k": k, "v": v, "row": rows, "position": rows % 16, "table": table, "ends": lengths},
                               head_dim=d, tile_q=16, tile_k=32, waves=1, group=1, page=16, kv_heads=heads, sequences=3, queries=16, blocks=3, rows=48, keys=n,
                               pages=n // 16, **common)
        self.assertEqual([bool(numpy.any(x)) for x in got["o"].reshape(3, -1)], [False, True, False])
        self.assertTrue(numpy.isfinite(got["o"]).all())

    def test_sizes_of_zero(self):
        f = self.array
        for out, shape in ((inlay.gemm(f(0, 8), f(8, 4)), (0, 4)), (inlay.gemm(f(3, 8), f(8, 0)), (3, 0)), (inlay.gemm(f(3, 0), f(0, 4)), (3, 4)),
                           (inlay.softmax(f(0, 64)), (0, 64)), (inlay.softmax(f(2, 0)), (2, 0)), (inlay.rms_norm(f(2, 0, 32), f(32)), (2, 0, 32)),
                           (inlay.flash_attention(f(1, 0, 2, 64), f(1, 16, 1, 64), f(1, 16, 1, 64)), (1, 0, 2, 64)),
                           (inlay.flash_attention(f(0, 16, 2, 64), f(0, 16, 1, 64), f(0, 16, 1, 64)), (0, 16, 2, 64))):
            self.assertEqual((out.shape, out.dtype), (shape, numpy.float16))
            self.assertFalse(out.any())
        with self.assertRaisesRegex(ValueError, "matrices M x K and K x N"):
            inlay.gemm(f(0, 8), f(4, 4))
        for of_q, of_k, of_v, what in (((1, 4, 2, 64), (1, 4, 0, 64), (1, 4, 0, 64), "2 heads of q are no multiple of 0 of k"), ((1, 8, 3, 64), (1, 65, 2, 64), (1, 65, 2, 64), "3 heads of q are no multiple of 2"),
                                       ((1, 8, 2, 64), (1, 65, 2, 64), (1, 64, 2, 64), "65 keys and 64 values"), ((2, 8, 2, 64), (1, 8, 2, 64), (1, 8, 2, 64), "k has 1 sequences, and q 2"),
                                       ((1, 8, 2, 64), (1, 8, 2, 128), (1, 8, 2, 128), "head sizes 64 of q and 128 of k"), ((8, 2, 64), (1, 8, 2, 64), (1, 8, 2, 64), "q has 3 dimensions")):
            with self.assertRaisesRegex(ValueError, rf"flash_attention of .*: {what}.*\n  hint   .*\(batch, sequence, heads, head size\)"):
                inlay.flash_attention(f(*of_q), f(*of_k), f(*of_v))
        with self.assertRaisesRegex(ValueError, "no keys for 4 queries"):
            inlay.flash_attention(f(1, 4, 2, 64), f(1, 0, 2, 64), f(1, 0, 2, 64))
        for call, what in ((lambda: inlay.gemm([[1.0]], f(1, 1)), "gemm: a is of type list"), (lambda: inlay.gemm(f(1, 1), None), "gemm: b is of type NoneType"),
                           (lambda: inlay.softmax([1.0]), "softmax: x"), (lambda: inlay.rms_norm(f(2, 8), [1.0]), "rms_norm: w"),
                           (lambda: inlay.flash_attention(1, 2, 3), "flash_attention: q is of type int")):
            with self.assertRaisesRegex(TypeError, what):
                call()

    def test_options_that_the_arrays_have_are_refused(self):
        x = self.array(4, 128)
        for call, option in ((lambda: inlay.gemm(x, x.T, m=8), "m is that of the arrays, 4"), (lambda: inlay.softmax(x, n=64), "n is that of the arrays, 128"),
                             (lambda: inlay.softmax(x, dtype="f32"), "dtype is that of the arrays, f16"),
                             (lambda: inlay.flash_attention(*[self.array(1, 16, 1, 64)] * 3, queries=8), "queries is that of the arrays, 16")):
            with self.assertRaisesRegex(ValueError, option):
                call()
        y = inlay.run_kernel("softmax", {"x": x}, m=4, n=128, dtype="f16")["y"]
        self.assertEqual((y.dtype, y.shape), (numpy.float16, (512,)))
        self.assertTrue((y.reshape(4, 128) == inlay.softmax(x)).all())

    def test_kernels_by_name(self):
        self.assertEqual([(b["input"], b["output"]) for b in inlay.buffers("scatter_rows")], [(True, True), (True, False), (True, False)])
        self.assertEqual([(b["name"], b["type"], b["bytes"], b["output"]) for b in inlay.buffers("gather_rows", tokens=3, n=64, rows=5, dtype="f32")],
                         [("y", "f32", 768, True), ("x", "f32", 1280, False), ("ids", "i32", 12, False)])
        x, ids = self.array(5, 64, dtype=numpy.float32), numpy.array([4, 0, 9], numpy.int32)
        y = inlay.run_kernel("gather_rows", {"X": x, "ids": ids}, tokens=3, n=64, rows=5, dtype="f32")["y"]
        self.assertTrue((y.reshape(3, 64) == numpy.stack([x[4], x[0], 0 * x[0]])).all())
        # What holds before the launch what is read is an input, too.
        y = self.array(5, 64, dtype=numpy.float32)
        after = inlay.run_kernel("scatter_rows", {"y": y, "x": x[:2], "ids": ids[:2]}, tokens=2, n=64, rows=5, dtype="f32")["y"].reshape(5, 64)
        self.assertTrue((after == numpy.stack([x[1], y[1], y[2], y[3], x[0]])).all())
        parts = [self.array(64, dtype=numpy.float32) for _ in range(2)]  # of two devices
        sums = inlay.run_kernel("all_reduce", {"x_0": parts[0], "x_1": parts[1]}, devices=2, n=64, dtype="f32")
        self.assertEqual(list(sums), ["y", "y of device 1"])
        for y in sums.values():
            self.assertTrue((y == parts[0] + parts[1]).all())
        with self.assertRaisesRegex(inlay.CommandError, "input 'y' is missing"):
            inlay.run_kernel("scatter_rows", {"x": x[:2], "ids": ids[:2]}, tokens=2, n=64, rows=5, dtype="f32")
        with self.assertRaisesRegex(inlay.CommandError, "x of float32, and the kernel's elements are f16"):
            inlay.run_kernel("softmax", {"x": self.array(4, 64, dtype=numpy.float32)}, m=4, n=128, dtype="f16")

    def test_every_kernel_takes_auto_and_says_so(self):
        inlay._kernels._chosen.cache_clear()
        self.assertGreater(len(inlay.kernels()), 60)
        for name in list(inlay.kernels())[::3]:  # all of them by the command, tests/cli/run_test.cpp
            with self.assertLogs("inlay", "INFO") as said:
                inputs = {b["name"]: numpy.zeros(b["bytes"], numpy.uint8) for b in inlay.buffers(name) if b["input"]}
                if "places" in inputs:  # of which no two may be one
                    inputs["places"] = numpy.arange(len(inputs["places"]) // 4, dtype=numpy.int32)
                self.assertTrue(inlay.run_kernel(name, inputs, device="emulator"), name)
            for line in said.output:
                if any(default == "auto" for default, _ in inlay.kernels(name).values()):
                    self.assertRegex(line, f"^INFO:inlay:{name} .*: auto: (--|what stands without sizes: ).*(modelled clocks, the fewest of|the one form for these sizes)")
                else:
                    self.assertRegex(line, f"^INFO:inlay:{name} .*: auto: nothing to choose: no option changes only speed$")

    def test_calls_take_what_is_chosen_for_their_sizes_and_say_so_once(self):
        a, b = self.array(8, 512), self.array(512, 64)
        with self.assertLogs("inlay", "INFO") as said:
            first, again = inlay.gemm(a, b, arch="gfx950"), inlay.gemm(a, b, arch="gfx950")
        self.assertEqual(first.tobytes(), again.tobytes())
        self.assertEqual(len(said.output), 1)
        self.assertRegex(said.output[0], "gemm .*--m 8 --n 64 --k 512: auto: --tile .* modelled clocks")
        told = inlay.explain("gemm", arch="gfx950", m=8, n=64, k=512)
        self.assertIn(told["why"], said.output[0])
        for kernel, options, why in (("softmax", {"m": 3, "n": 256}, "modelled clocks"), ("grouped_gating", {"m": 3}, "no option changes only speed")):
            with self.assertLogs("inlay", "INFO") as said:
                ran = [inlay.run(kernel, **options) for _ in range(2)][0]
            self.assertEqual(len(said.output), 1)
            self.assertIn(ran["choice"]["why"], said.output[0])
            self.assertIn(why, said.output[0])
        self.assertEqual(told["clocks"], min(f["clocks"] for f in told["ranking"] if "clocks" in f))
        self.assertIn("no option changes only speed", inlay.explain("grouped_gating")["why"])
        # What is given stays; buffers that only the chosen form has are its own.
        self.assertEqual(inlay.explain("gemm", m=8, n=64, k=512, tile="32x64x64")["options"]["tile"], "32x64x64")
        parts = inlay.run_kernel("gemm", {"a": a, "b": numpy.ascontiguousarray(b.T)}, m=8, n=64, k=512, split=256, split_k_fixup=True, tile="16x64x64")
        self.assertEqual(list(parts), ["c"])
        numpy.testing.assert_allclose(numpy.frombuffer(parts["c"], numpy.float16).reshape(8, 64), first, rtol=2e-3, atol=2e-2)
        # Rows of any length have forms.
        numpy.testing.assert_allclose(inlay.softmax(self.array(2, 100)).astype(float).sum(1), 1, rtol=2e-3)

    def test_a_buffer_of_another_size_is_refused(self):
        with self.assertRaisesRegex(inlay.CommandError, "bytes"):
            inlay.run_kernel("softmax", {"x": self.array(4, 100)}, m=4, n=128)
        with self.assertRaisesRegex(inlay.CommandError, "no buffer 'z'"):
            inlay.run_kernel("softmax", {"z": self.array(4, 128)}, m=4, n=128)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_tensors_of_torch(self):
        import torch

        a, b = torch.rand(16, 32).to(torch.bfloat16), torch.rand(32, 16).to(torch.bfloat16)
        c = inlay.gemm(a, b)
        self.assertEqual(c.dtype, torch.bfloat16)
        torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2.0**-7, atol=1e-3)


ADD = """
#define __global__ __attribute__((global))
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) z[i] = x[i] + y[i];
}
"""


class Files(unittest.TestCase):
    """check, time and validate of code objects, sources and folders."""

    def arrays(self, n):
        x = numpy.arange(n, dtype=numpy.float32)
        return x, 2 * x, numpy.zeros(n, numpy.float32)

    def test_a_code_object_and_its_manifest(self):
        with tempfile.TemporaryDirectory() as directory:
            inlay.build("vector_add", directory, arch="gfx950")
            x, y, z = self.arrays(1024)
            report = inlay.check(directory + "/vector_add.hsaco", z, x, y, 1024, grid=1, block=256)
            self.assertTrue(report, report)
            self.assertEqual((report.name, report.arch), ("vector_add", "gfx950"))
            self.assertTrue((z == x + y).all())
            report = inlay.check(directory + "/vector_add.hsaco", z[:1000], x, y, 1024, grid=1, block=256)
            self.assertRegex(str(report), "bounds: writes")
            self.assertTrue(inlay.check(directory + "/vector_add.json", size={"n": 1024}))
            # A folder of one kernel with its description, as in Triton's cache.
            self.assertGreater(inlay.time(directory, size={"n": 1024}).clocks, 500)
            inlay.build("softmax", directory + "/other")
            with self.assertRaisesRegex(inlay.CommandError, "a folder of 2 kernels .*: other/softmax.json, vector_add.json"):
                inlay.validate(directory)

    @unittest.skipUnless(any(shutil.which(f"clang++-{n}") for n in range(18, 26)), "no clang that knows gfx950")
    def test_a_code_object_of_aiter_with_the_row_of_its_table(self):
        slots = ["ptr"] * 6 + ["i32"] * 7  # of csrc/py_itfs_cu/asm_gemm_a8w8.cu, each in 16 bytes
        declared = [(16 * k + at, size) for k, kind in enumerate(slots) for at, size in ([(0, 8), (8, 4), (12, 4)] if kind == "ptr" else [(0, 4), (4, 4), (8, 4), (12, 4)])]
        name = "_ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_32x128E"
        # Each workgroup of tiles of 32 x 128 adds one to a word of its own, and so does one that is too many.
        text = f"""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x70
  s_waitcnt lgkmcnt(0)
  s_lshr_b32 s6, s6, 7
  s_mul_i32 s6, s6, s3
  s_add_u32 s6, s6, s2
  s_lshl_b32 s6, s6, 2
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[8:9], vcc
  v_mov_b32 v1, s6
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[4:5]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_kernarg_size 208
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 208
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
""" + "".join(f"      - {{.offset: {at}, .size: {size}, .value_kind: {'global_buffer, .address_space: global' if size == 8 else 'by_value'}}}\n" for at, size in declared) + "...\n.end_amdgpu_metadata\n"
        row = {"tile_m": "32", "tile_n": "128", "splitK": "0", "bpreshuffle": "1", "knl_name": name, "co_name": "i8.co"}
        m, n = 70, 512  # 3 x 4 tiles
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "i8.co")
            with open(file, "w") as out:
                out.write(text)
            words = numpy.zeros(12, numpy.uint32)
            arguments = (words, None, None, None, None, None, m, n, 64, 64, 64, 2 * n, 1)
            for more in ({"row": row}, {}):
                words[:] = 0
                report = inlay.check(file, *arguments, **more)
                self.assertTrue(report, report)
                self.assertEqual(list(words), [1] * 12)
                self.assertIn("grid 4x3x1 block 256x1x1", inlay.time(file, *arguments, **more).geometry)
                self.assertEqual(inlay.validate(file, **more)["kernels"][0]["kernel"], name)
                with open(os.path.join(folder, "table.csv"), "w", encoding="utf-8-sig") as out:
                    out.write(",".join(row) + "\n" + ",".join(row.values()) + "\n")
            two = numpy.zeros(24, numpy.uint32)
            inlay.check(file, two, *arguments[1:12], 2)  # K in two parts, side by side: words of a row are those of the next one, too
            self.assertEqual(two.sum(), 24)
            with self.assertRaisesRegex(inlay.CommandError, "no grid follows from 9 arguments and the row\n  hint   grid=, or 13 arguments"):
                inlay.check(file, *arguments[:9])
            self.assertTrue(inlay.check(file, *arguments[:8], grid=(4, 3), block=256))  # the rest is 0
            with self.assertRaisesRegex(inlay.CommandError, "the row is of other.co, and the file is i8.co"):
                inlay.validate(file, row={**row, "co_name": "other.co"})

    def test_a_hip_source(self):
        with tempfile.TemporaryDirectory() as directory:
            source = directory + "/add.hip"
            with open(source, "w") as file:
                file.write(ADD)
            for arch in ("gfx942", "gfx950"):
                x, y, z = self.arrays(1000)
                report = inlay.check(source, x, y, z, 1000, grid=4, block=256, arch=arch)
                self.assertTrue(report, report)
                self.assertEqual((report.name, report.arch), ("add", arch))
                self.assertTrue((z == x + y).all())
                self.assertEqual(inlay.time(source, x, y, z, 1000, grid=4, block=256, arch=arch).arch, arch)
                self.assertEqual(inlay.validate(source, arch=arch)["kernels"][0]["verdict"], "validated")
                with open(directory + "/over.hip", "w") as file:
                    file.write(ADD.replace("i < n", "i <= n"))
                report = inlay.check(directory + "/over.hip", x, y, z, 1000, grid=4, block=256, arch=arch)
                self.assertRegex(str(report), r"bounds: writes 4 bytes at argument 2 (.|\n)*over.hip:5")
            with open(source, "w") as file:
                file.write("void f( {")
            with self.assertRaisesRegex(inlay.CommandError, r"does not compile .*add.hip\n(.|\n)*error: "):
                inlay.check(source, grid=1, block=64)


@unittest.skipUnless(importlib.util.find_spec("flydsl") and importlib.util.find_spec("torch"), "flydsl and torch are not installed")
class FlyDSL(unittest.TestCase):
    def test_a_function_of_flydsl(self):
        import test_pytest

        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/flydsl_add.py", "w") as file:
                file.write(test_pytest.FLYDSL_KERNEL)
            script = """
import torch, inlay, flydsl_add
def arrays(n): return torch.rand(n), torch.rand(n), torch.zeros(n)
a, b, c = arrays(256)
report = inlay.check(flydsl_add.add, a, b, c, 256)
assert report and report.name.startswith("add_kernel") and torch.equal(c, a + b), report
print(inlay.check(flydsl_add.add, *arrays(250), 250))
print(inlay.time(flydsl_add.add, a, b, c, 256).clocks, inlay.validate(flydsl_add.add, a, b, c, 256)["kernels"][0]["verdict"])
try:
    inlay.check(flydsl_add.add, a, b, c, 256, arch="gfx950")
except inlay.CommandError as e:
    print(e)
"""
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=directory,
                                 env={**os.environ, "PYTHONPATH": os.pathsep.join([directory, os.environ.get("PYTHONPATH", "")]), "FLYDSL_RUNTIME_ENABLE_CACHE": "0"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"bounds: writes 4 bytes(.|\n)*source flydsl_add.py:16:")
        self.assertRegex(ran.stdout, r"\n\d+\.\d validated\n")
        self.assertIn("FlyDSL has gfx942 all 0 in this process", ran.stdout)

    def test_a_dump_of_flydsl(self):
        import test_pytest

        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/flydsl_add.py", "w") as file:
                file.write(test_pytest.FLYDSL_KERNEL)
            script = "import torch, inlay, flydsl_add; inlay.check(flydsl_add.add, torch.rand(256), torch.rand(256), torch.zeros(256), 256)"
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=directory,
                                 env={**os.environ, "PYTHONPATH": os.pathsep.join([directory, os.environ.get("PYTHONPATH", "")]), "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
                                      "FLYDSL_DUMP_IR": "1", "FLYDSL_DUMP_DIR": directory + "/dump"})
            self.assertEqual(ran.returncode, 0, ran.stderr)
            for folder in (directory + "/dump", directory + "/dump/add_kernel_0"):
                a, b, c = numpy.arange(256, dtype=numpy.float32), numpy.ones(256, numpy.float32), numpy.zeros(256, numpy.float32)
                report = inlay.check(folder, a, b, c, grid=4)
                self.assertTrue(report, report)
                self.assertEqual((report.name, report.arch), ("add_kernel_0", "gfx942"))
                numpy.testing.assert_array_equal(c, a + b)
                self.assertRegex(str(inlay.check(folder, a, b, c[:200], grid=4)), r"bounds: writes 4 bytes at argument 4 (.|\n)*at flydsl_add.py:16")
                self.assertGreater(inlay.time(folder, a, b, c, grid=4).clocks, 500)
                self.assertEqual(inlay.validate(folder)["kernels"][0]["verdict"], "validated")
            whole = [x for array in (a, b, c) for x in (array, "bytes:00010000")]
            self.assertTrue(inlay.check(folder, *whole, grid=4))
            with self.assertRaisesRegex(inlay.CommandError, r"argument 0: its structure has 1 extents and 0 strides, and the array the shape \(16, 16\)"):
                inlay.check(folder, a.reshape(16, 16), b, c, grid=4)
            shutil.copytree(folder, directory + "/dump/other")
            with self.assertRaisesRegex(inlay.CommandError, "a folder of 2 dumps of FlyDSL's: add_kernel_0, other"):
                inlay.check(directory + "/dump", a, b, c, grid=4)

    def test_types_of_a_dump(self):
        from inlay import _sources

        a = numpy.zeros((100, 130), numpy.float16)
        types = _sources._types("ptr<1>, struct<packed (struct<packed (i32, i32)>, struct<packed (i64)>)>, i32, ptr<1>, struct<packed (i32)>")
        self.assertEqual(types, ["ptr<1>", [["i32", "i32"], ["i64"]], "i32", "ptr<1>", ["i32"]])
        given = _sources._spelled((a, 7, a[0]), types)
        self.assertEqual((given[1], given[2], given[4]), ("bytes:" + "64000000" + "82000000" + "8200000000000000", 7, "bytes:82000000"))


@unittest.skipUnless(importlib.util.find_spec("triton"), "triton is not installed: inlay.check compiles the kernel by it")
class Triton(unittest.TestCase):
    def test_a_right_kernel_and_one_that_runs_over(self):
        import triton_kernels

        n = 1000
        x, y = (numpy.arange(n, dtype=numpy.float32) for _ in range(2))
        for arch in ("gfx942", "gfx950"):
            out = numpy.zeros(n, dtype=numpy.float32)
            report = inlay.check(triton_kernels.add[(4,)], x, y, out, n, BLOCK=256, arch=arch)
            self.assertTrue(report, report)
            numpy.testing.assert_array_equal(out, x + y)
            wrong = inlay.check(triton_kernels.add_unmasked[(4,)], x, y, out, n, BLOCK=256, arch=arch)
            self.assertFalse(wrong)
            self.assertIn("triton_kernels.py", str(wrong))

    def test_compiled_as_triton_launches_it(self):
        """What a size may be taken for: n that 16 does not divide by no whole vectors, 1 as a constant; and the first configuration of an autotuned one."""
        import triton
        import triton_kernels
        from inlay import _triton

        for n in (997, 1008):
            x, out = numpy.arange(n, dtype=numpy.float32), numpy.zeros(n, numpy.float32)
            report = inlay.check(triton_kernels.add[(1,)], x, x, out, n, BLOCK=1024)
            self.assertTrue(report, report)
            numpy.testing.assert_array_equal(out, 2 * x)
        one, two = (_triton.compiled("check", triton_kernels.add, (1,), "gfx942", (x, x, out, n), {"BLOCK": 64}).values for n in (1, 2))
        self.assertEqual((len(two) - len(one), two[3]), (1, 2))
        out[:] = 0
        report = inlay.check(triton_kernels.add_tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)], x, x, out, n)
        self.assertTrue(report, report)
        numpy.testing.assert_array_equal(out, 2 * x)
        self.assertEqual(report.details["geometry"], "grid 8x1x1 block 128x1x1")
        out[:] = 0
        report = inlay.check(triton_kernels.add_by_size[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)], x, x, out, n)
        self.assertTrue(report, report)
        numpy.testing.assert_array_equal(out, 2 * x)
        self.assertIn("grid 1x1x1", report.details["geometry"])

    def test_notes_are_no_findings(self):
        for note in (True, False):
            report = inlay.Report("add", "gfx942", {"findings": [{"kind": "races", "message": "m", "note": note}], "status": 0 if note else 1}, "add.hsaco")
            self.assertEqual((bool(report), len(report.findings)), (note, 0 if note else 1))

    def test_arrays_as_they_lie(self):
        """A launch gets an address and strides: of transposed matrices, of parts of a matrix, of what is input and output."""
        import triton_kernels

        random, size = numpy.random.default_rng(1), 32
        a, b = random.random((size, size)).astype(numpy.float16), random.random((size, size)).astype(numpy.float16)
        whole = numpy.full((size, 2 * size), 7, numpy.float32)
        c = whole[:, size:]
        for x in (a, a.T):
            for y in (b, b.T):
                strides = [s // m.itemsize for m in (x, y, c) for s in m.strides]
                c[...] = 0
                report = inlay.check(triton_kernels.matmul_of_one_tile[(1,)], x, y, c, *strides, SIZE=size)
                self.assertTrue(report, report)
                numpy.testing.assert_allclose(c, x.astype(float) @ y.astype(float), rtol=1e-3)
                self.assertTrue((whole[:, :size] == 7).all())
        x, n = random.random(1000).astype(numpy.float32), 500
        for out in (x.copy(), numpy.zeros(1000, numpy.float32)):
            had, every_second = out.copy(), x[::2]
            self.assertTrue(inlay.check(triton_kernels.add[(2,)], out, every_second, out, n, BLOCK=256))
            numpy.testing.assert_array_equal(out[:n], had[:n] + x[:n])  # the address of every second is that of all
            numpy.testing.assert_array_equal(out[n:], had[n:])
        self.assertFalse(inlay.check(triton_kernels.add[(4,)], x[500:], x, x.copy(), 1000, BLOCK=256))
        with self.assertRaisesRegex(ValueError, "argument 0: strides .* some elements lie before the first"):
            inlay.check(triton_kernels.add[(4,)], x[::-1], x, x.copy(), 1000, BLOCK=256)
        self.assertEqual(inlay.check(triton_kernels.add[(4,)], x, x, x.copy(), 1000, BLOCK=256, arch="MI355X").arch, "gfx950")

    def test_clocks_and_waits_of_a_kernel(self):
        import triton_kernels

        n = 1000
        x, y, out = (numpy.arange(n, dtype=numpy.float32) for _ in range(3))
        for arch in ("gfx942", "gfx950"):
            timed = inlay.time(triton_kernels.add[(4,)], x, y, out, n, BLOCK=256, arch=arch)
            self.assertEqual((timed["arch"], timed["geometry"]), (arch, "grid 4x1x1 block 256x1x1"))
            self.assertGreater(timed["timing"]["clocks"], 500)
            numpy.testing.assert_array_equal(out, numpy.arange(n))
            shown = inlay.validate(triton_kernels.add, x, y, out, n, grid=4, BLOCK=256, arch=arch)
            self.assertEqual([k["verdict"] for k in shown["kernels"]], ["validated"])
        with self.assertRaisesRegex(inlay.CommandError, "inlay.time: the grid is missing"):
            inlay.time(triton_kernels.add, x, y, out, n, BLOCK=256)
        with self.assertRaisesRegex(inlay.CommandError, "inlay.validate: no Triton kernel"):
            inlay.validate(3, grid=4)
        with self.assertRaises(TypeError):
            inlay.validate("add.hsaco", x)


if __name__ == "__main__":
    unittest.main()
