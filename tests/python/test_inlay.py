"""The Python module: values go in and out unchanged, errors keep their fields, and nothing is computed here."""
import inspect
import unittest
import xml.dom.minidom

import inlay
import numpy


class Values(unittest.TestCase):
    def test_a_layout_from_text_and_from_tuples(self):
        layout = inlay.Layout("((2,2),3):((24,2),8)")
        self.assertEqual(layout, inlay.Layout(((2, 2), 3), ((24, 2), 8)))
        self.assertEqual(layout.shape, ((2, 2), 3))
        self.assertEqual(layout.stride, ((24, 2), 8))
        self.assertEqual((layout.size, layout.cosize, layout.rank, layout.depth), (12, 43, 2, 2))
        self.assertEqual(inlay.Layout((4, 8)), inlay.Layout("(4,8):(1,4)"))
        self.assertEqual(inlay.Layout(8), inlay.Layout("8:1"))
        self.assertEqual(inlay.Layout((4,)).shape, (4,))

    def test_representation_is_valid_input(self):
        layout = inlay.Layout("((2,2),3):((24,2),8)")
        self.assertEqual(eval(repr(layout), {"Layout": inlay.Layout}), layout)
        self.assertEqual(str(layout), "((2,2),3):((24,2),8)")
        self.assertEqual(len({layout, inlay.Layout(str(layout))}), 1)
        swizzled = inlay.ComposedLayout("Sw<3,4,3> o 0 o (8,64):(64,1)")
        self.assertEqual(eval(repr(swizzled), {"ComposedLayout": inlay.ComposedLayout}), swizzled)

    def test_calls_agree_with_the_definition(self):
        layout = inlay.Layout("((2,2),3):((24,2),8)")
        for k in range(3):
            for j in range(2):
                for i in range(2):
                    value = 24 * i + 2 * j + 8 * k
                    self.assertEqual(layout(((i, j), k)), value)
                    self.assertEqual(layout((i, j), k), value)
                    self.assertEqual(layout(i + 2 * j + 4 * k), value)
        self.assertEqual([str(mode) for mode in layout], ["(2,2):(24,2)", "3:8"])

    def test_values_are_a_numpy_array(self):
        values = inlay.Layout("(4,8):(8,1)").values()
        self.assertEqual(values.dtype, numpy.int64)
        self.assertTrue((values.reshape(8, 4).T == numpy.arange(32).reshape(4, 8)).all())
        x = numpy.arange(512)
        rows = inlay.ComposedLayout(inlay.Swizzle(3, 4, 3), 0, inlay.Layout("512:1")).values()
        self.assertTrue((rows == x ^ ((x & 0x380) >> 3)).all())

    def test_coordinates(self):
        self.assertEqual(inlay.Layout("(4,5):(1@0,1@1)")(6), (2, 1))
        self.assertEqual(inlay.Layout("(4,5):(1@0,1@1)").stride, ("1@0", "1@1"))


class Operations(unittest.TestCase):
    def test_arguments_may_be_layouts_texts_integers_and_tuples(self):
        a = inlay.Layout("(6,2):(8,2)")
        self.assertEqual(repr(inlay.composition(a, "3:2")), "Layout('3:16')")
        self.assertEqual(inlay.composition(a, inlay.Layout(3, 2)), inlay.evaluate("composition((6,2):(8,2), 3:2)"))
        self.assertEqual(str(inlay.zipped_divide("(8,6):(1,8)", (4, 3))), "((4,3),(2,2)):((1,8),(4,24))")
        self.assertEqual(str(inlay.logical_divide("(8,6):(1,8)", (4, None))), "((4,2),6):((1,4),8)")
        self.assertEqual(inlay.size("(8,6):(1,8)"), 48)
        swizzle = inlay.CoordSwizzle("CS<2,0,[0],1,[1]>")
        self.assertEqual(swizzle, inlay.evaluate(str(swizzle)))
        self.assertEqual(swizzle((3, 5)), (3, 3))
        self.assertEqual(inlay.coshape("(4,5):(1@0,2@1)"), (4, 9))
        self.assertEqual(inlay.idx2crd(9, (2, (2, 2))), (1, (0, 2)))

    def test_every_operation_of_the_table_is_there(self):
        for name in ("coalesce", "complement", "right_inverse", "left_inverse", "blocked_product", "tile_to_shape"):
            self.assertTrue(callable(getattr(inlay, name)))

    def test_pictures(self):
        for layout in (inlay.Layout("(4,8):(8,1)"), inlay.ComposedLayout("Sw<2,1,3> o 0 o (4,8):(8,1)")):
            document = xml.dom.minidom.parseString(layout._repr_svg_())
            self.assertEqual(len(document.getElementsByTagName("g")), 32)


class Errors(unittest.TestCase):
    def test_an_error_carries_its_fields(self):
        with self.assertRaises(inlay.LayoutError) as caught:
            inlay.composition("(6,2):(8,2)", "5:3")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual(error.code, "shape_divisibility")
        self.assertEqual(error.operation, "composition")
        self.assertEqual(error.operands, {"left": "(6,2):(8,2)", "right": "5:3"})
        self.assertEqual(error.numbers["extent"], "5")
        self.assertIn("1, 2, 4", error.hint)
        self.assertIn("composition: extent does not divide", str(error))

    def test_bad_input_is_refused(self):
        for bad in ("(4,8", "(4,8):(1)", "0:1", "nonsense"):
            with self.assertRaises(inlay.LayoutError):
                inlay.Layout(bad)
        with self.assertRaises(TypeError):
            inlay.coalesce(1.5)
        with self.assertRaises((OverflowError, RuntimeError, ValueError)):
            inlay.Layout(2**63)
        with self.assertRaises(inlay.LayoutError):
            inlay.Layout((256, 256))._repr_svg_()


class Functions(unittest.TestCase):
    def test_names_are_those_of_the_algebra(self):
        functions = [name for name in dir(inlay) if inspect.isbuiltin(getattr(inlay, name))]
        self.assertIn("composition", functions)
        self.assertFalse([f for f in functions if f.startswith(("composed", "identity_", "tiled_mma_", "ldsm", "tv_"))])
        for name in functions:
            signature = inspect.signature(getattr(inlay, name))
            self.assertNotIn("args", signature.parameters, name)
            self.assertTrue(getattr(inlay, name).__doc__, name)
        self.assertEqual(str(inspect.signature(inlay.composition)), "(lhs, rhs_layout_or_tiler_or_swizzle, /)")
        self.assertEqual(str(inspect.signature(inlay.coalesce)), "(layout, profile=Ellipsis, /)")

    def test_general_operations_take_composed_layouts(self):
        swizzled = inlay.ComposedLayout("Sw<3,4,3> o 0 o (8,64):(64,1)")
        self.assertEqual(str(inlay.logical_divide(swizzled, (8, 8))), "Sw<3,4,3> o 0 o ((8,1),(8,8)):((64,0),(1,8))")


@unittest.skipUnless(hasattr(inlay, "prove"), "built without the solver")
class Proofs(unittest.TestCase):
    def test_three_answers(self):
        yes = inlay.prove("injective", "(M,K):(ld,1)", where=["ld >= K"])
        self.assertTrue(yes)
        self.assertEqual((yes.outcome, yes.method, yes.witness), ("proved", "domination", None))
        self.assertTrue(inlay.recheck(yes.certificate)["accepted"])
        self.assertFalse(inlay.recheck(yes.certificate.replace("ld >= K", "ld >= 1"))["accepted"])
        no = inlay.prove("within", inlay.Layout((4, 8), (8, 1)), 31)
        self.assertFalse(no)
        self.assertEqual(no.witness["lhs"], 31)
        self.assertIn("outside [0, 31)", str(no))
        open_question = inlay.prove("injective", "(i * 7919) % 1000003", domain="1000003", limit=1000, steps=0)
        self.assertEqual(open_question.outcome, "unknown")
        self.assertTrue(open_question.obligations)

    def test_bad_questions(self):
        for arguments in (("injective",), ("nonsense", "4:1"), ("equal", "4:1"), ("within", "4:1", "4", "5")):
            with self.assertRaises(ValueError):
                inlay.prove(*arguments)
        with self.assertRaises(TypeError):
            inlay.prove("injective", "4:1", wehre=["M > 1"])


unittest.main()
