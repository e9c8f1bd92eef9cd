"""The kernels as operators of torch: what torch itself checks of an operator, and compiled models with eager's bits."""
import os
import sys
import unittest

try:
    import torch
except ImportError as e:
    print("skipped: no torch here:", e)
    sys.exit(77)

import inlay
import inlay.torch

torch.manual_seed(1)
F16, BF16 = torch.float16, torch.bfloat16


def random(*shape, dtype=F16):
    return torch.rand(shape).sub(0.5).to(dtype)


E4M3, E4M3_OCP, E8M0, FP4 = torch.float8_e4m3fnuz, torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2


def bits(*shape, most, dtype):
    return torch.randint(0, most, shape, dtype=torch.uint8).view(dtype)


def of_fp4(packed, scale):
    """The numbers, by the table of the format: the first of two in the lower bits, with one power of two for 32."""
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    pairs = packed.view(torch.uint8).long()
    numbers = table[torch.stack((pairs % 16, pairs // 16), -1).flatten(-2)]
    return numbers * torch.exp2(scale.view(torch.uint8).float() - 127).repeat_interleave(32, -1)


SAMPLES = [
    (torch.ops.inlay.gemm, (random(16, 32), random(32, 24))),
    (torch.ops.inlay.gemm, (random(5, 13, dtype=BF16), random(7, 13, dtype=BF16).t(), "emulator", "gfx950", "tile=64x64x32")),
    (torch.ops.inlay.gemm, (random(16, 32), random(32, 24), "", "", "", random(16, 24), 0.5, -2.0)),
    (torch.ops.inlay.gemm, (random(16, 40).to(E4M3), random(24, 40).to(E4M3).t(), "", "", "", None, 1.0, 1.0, None, None, "", None, torch.rand(16, 1), torch.rand(1, 24))),
    (torch.ops.inlay.gemm, (bits(8, 32, most=256, dtype=torch.int8), bits(32, 8, most=256, dtype=torch.int8))),
    (torch.ops.inlay.gemm, (random(16, 32), random(32, 24), "", "", "", random(16, 24), 0.5, -2.0, random(24), random(16), "silu", random(16, 24))),
    (torch.ops.inlay.softmax, (random(2, 3, 100),)),
    (torch.ops.inlay.softmax, (random(8, 4).t(),)),
    (torch.ops.inlay.rms_norm, (random(4, 64), random(64))),
    (torch.ops.inlay.flash_attention, (random(1, 16, 2, 64), random(1, 32, 1, 64), random(1, 32, 1, 64), True)),
]


class Operators(unittest.TestCase):
    def test_torchs_own_checks(self):
        for op, args in SAMPLES:
            with self.subTest(op=str(op)):
                more = {} if args[0].dtype != E4M3 else {"test_utils": ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")}
                torch.library.opcheck(op.default, args, **more)  # test_schema compares inputs by operations that torch has not for floats of 8 bits

    def test_values(self):
        a, b = random(16, 32), random(32, 24)
        torch.testing.assert_close(torch.ops.inlay.gemm(a, b).float(), a.float() @ b.float(), rtol=2.0**-10, atol=1e-4)
        self.assertTrue(torch.equal(torch.ops.inlay.gemm(a, b), inlay.gemm(a, b)))
        self.assertTrue(torch.equal(torch.ops.inlay.gemm(a, b), torch.from_numpy(inlay.gemm(a.numpy(), b.numpy()))))
        x = random(8, 4).t()
        torch.testing.assert_close(inlay.softmax(x).float(), torch.softmax(x.float(), -1), rtol=2.0**-9, atol=1e-4)

    def test_products_of_floats_of_8_bits(self):
        for arch, dtype in (("gfx942", E4M3), ("gfx942", torch.float8_e5m2fnuz), ("gfx950", E4M3_OCP), ("gfx950", torch.float8_e5m2)):
            for m, n, k in ((20, 24, 40), (16, 64, 128)):  # K is no multiple of the kernel's unit, and is one
                a, b, c = random(m, k).to(dtype), random(n, k).to(dtype).t(), random(m, n, dtype=BF16)
                want = a.double() @ b.double()
                for scales in ((), (torch.rand(m) + 0.5, torch.rand(1, n) + 0.5), (torch.tensor([2.0]), torch.tensor(0.25))):
                    more = dict(zip(("scale_a", "scale_b"), scales))
                    scaled = want * (scales[0].double().reshape(-1, 1) * scales[1].double().reshape(1, -1) if scales else 1)
                    y = inlay.gemm(a, b, arch=arch, **more)
                    self.assertEqual(y.dtype, BF16)
                    torch.testing.assert_close(y.double(), scaled, rtol=2.0**-8, atol=1e-5)
                    torch.testing.assert_close(inlay.gemm(a, b, arch=arch, out="f32", **more).double(), scaled, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(inlay.gemm(a, b, c, alpha=2, beta=-1, arch=arch).double(), 2 * want - c.double(), rtol=2.0**-8, atol=1e-4)
        with self.assertRaisesRegex(ValueError, "float8_e4m3fn, and the kernel's elements are e4m3fnuz\n  hint   arch="):
            inlay.gemm(random(16, 16).to(E4M3_OCP), random(16, 16).to(E4M3_OCP), arch="gfx942")
        a = random(16, 16).to(E4M3)
        for words, call in (("scale_b is missing", lambda: inlay.gemm(a, a, scale_a=torch.rand(16))), ("1 or 16 of float32", lambda: inlay.gemm(a, a, scale_a=torch.rand(16), scale_b=torch.rand(8))),
                            ("1 or 16 of float32", lambda: inlay.gemm(a, a, scale_a=torch.rand(4, 4), scale_b=torch.rand(16))),
                            ("1 or 16 of float32", lambda: inlay.gemm(a, a, scale_a=random(16), scale_b=random(16)))):
            with self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaisesRegex(RuntimeError, "no gradient of a product of float16 with scales"):
            x = random(8, 16).requires_grad_()
            inlay.gemm(x, random(16, 8), scale_a=torch.rand(8), scale_b=torch.rand(8)).sum().backward()

    def test_products_of_integers(self):
        for m, n, k in ((20, 24, 40), (16, 64, 128)):
            a, b = bits(m, k, most=256, dtype=torch.int8), bits(k, n, most=256, dtype=torch.int8)
            c = inlay.gemm(a, b)
            self.assertEqual(c.dtype, torch.int32)
            self.assertTrue(torch.equal(c.long(), a.long() @ b.long()))
            self.assertTrue((inlay.gemm(a.numpy(), b.numpy()) == c.numpy()).all())
            sa, sb = torch.rand(m) + 0.5, torch.rand(n) + 0.5
            y = inlay.gemm(a, b, scale_a=sa, scale_b=sb)
            self.assertEqual(y.dtype, BF16)
            torch.testing.assert_close(y.double(), (a.double() @ b.double()) * sa.double()[:, None] * sb.double(), rtol=2.0**-8, atol=1e-5)

    def test_products_of_floats_of_4_bits(self):
        for m, n, k in ((20, 24, 96), (40, 64, 256), (33, 16, 512)):  # K is no multiple of 256, and is one; rows of more than one block of scales
            a, b = bits(m, k // 2, most=256, dtype=FP4), bits(n, k // 2, most=256, dtype=FP4)
            sa, sb = (torch.randint(120, 134, (rows, k // 32), dtype=torch.uint8).view(E8M0) for rows in (m, n))
            y = inlay.gemm(a, b.t(), scale_a=sa, scale_b=sb, out="f32", arch="gfx950")
            want = of_fp4(a, sa).double() @ of_fp4(b, sb).double().t()
            torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-5 * want.abs().max().item())
        with self.assertRaisesRegex(ValueError, "of float4 both have scales"):
            inlay.gemm(a, b.t(), arch="gfx950")
        with self.assertRaisesRegex(ValueError, r"scale_b of .*: \(16, 16\) of float8_e8m0fnu"):
            inlay.gemm(a, b.t(), scale_a=sa, scale_b=sb[:, :8], arch="gfx950")
        with self.assertRaisesRegex(ValueError, "gfx942"):
            inlay.gemm(a, b.t(), scale_a=sa, scale_b=sb, arch="gfx942")

    def test_any_dlpack_producer_is_taken(self):
        class Producer:
            """What has nothing but the protocol."""

            def __init__(self, of):
                self.of = of

            def __dlpack__(self, **options):
                return self.of.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.of.__dlpack_device__()

        for dtype in (F16, BF16):  # numpy has the first, torch the second
            a, b = random(16, 32, dtype=dtype), random(32, 24, dtype=dtype)
            y = inlay.gemm(Producer(a), Producer(b))
            self.assertTrue(torch.equal(torch.as_tensor(y), inlay.gemm(a, b)))
        x, w = random(4, 64), random(64)
        self.assertTrue(torch.equal(torch.as_tensor(inlay.softmax(Producer(x))), inlay.softmax(x)))
        self.assertTrue(torch.equal(torch.as_tensor(inlay.rms_norm(Producer(x), Producer(w))), inlay.rms_norm(x, w)))
        q = random(1, 16, 1, 64)
        self.assertTrue(torch.equal(torch.as_tensor(inlay.flash_attention(*[Producer(q)] * 3)), inlay.flash_attention(q, q, q)))

    def test_gradients(self):
        def both(ours, theirs, *arguments, bound=2.0**-9):
            """Results and gradients against torch's in float32."""
            mine = [a.clone().requires_grad_() for a in arguments]
            want = [a.float().requires_grad_() for a in arguments]
            y, reference = ours(*mine), theirs(*want)
            gradient = random(*y.shape, dtype=y.dtype)
            y.backward(gradient)
            reference.backward(gradient.float())
            for a, b in [(y, reference), *((a.grad, b.grad) for a, b in zip(mine, want))]:
                self.assertEqual(a.dtype, y.dtype)
                torch.testing.assert_close(a.float(), b, rtol=bound, atol=4 * bound * b.abs().max().item())

        both(inlay.gemm, torch.matmul, random(16, 40), random(40, 24))
        both(lambda a, b, c: inlay.gemm(a, b, c, alpha=0.5, beta=-2), lambda a, b, c: torch.addmm(c, a, b, alpha=0.5, beta=-2),
             random(16, 40), random(40, 24), random(16, 24))
        both(lambda a, b, c: inlay.gemm(a, b, c, beta=0), lambda a, b, c: torch.addmm(c, a, b, beta=0), random(16, 40), random(40, 24), random(16, 24))
        for name, act in (("relu", torch.relu), ("silu", torch.nn.functional.silu), ("gelu", torch.nn.functional.gelu),
                          ("gelu_tanh", lambda x: torch.nn.functional.gelu(x, approximate="tanh"))):
            both(lambda a, b, c, v, w, r, name=name: inlay.gemm(a, b, c, beta=2, bias=v, row_bias=w, activation=name, residual=r),
                 lambda a, b, c, v, w, r, act=act: act(a @ b + 2 * c + v + w[:, None]) + r,
                 random(16, 40), random(40, 24), random(16, 24), random(24), random(16), random(16, 24))
        both(lambda a, b, v: inlay.gemm(a, b, bias=v, activation="gelu"), lambda a, b, v: torch.nn.functional.gelu(a @ b + v),
             random(16, 40), random(40, 24), random(24))
        both(lambda a, b, v: inlay.gemm(a, b, bias=v), lambda a, b, v: a @ b + v, random(16, 40), random(40, 24), random(24))
        both(inlay.softmax, lambda x: torch.softmax(x, -1), random(3, 100))
        both(inlay.rms_norm, lambda x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-5), random(2, 3, 64), random(64))

        def attention(q, k, v):
            q, k, v = (x.transpose(1, 2).repeat_interleave(q.shape[2] // x.shape[2], 1) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

        both(lambda q, k, v: inlay.flash_attention(q, k, v, causal=True), attention,
             *(random(1, 40, heads, 64, dtype=BF16) for heads in (4, 2, 2)), bound=2.0**-6)
        with self.assertRaisesRegex(RuntimeError, "does not require grad"):
            inlay.gemm(random(16, 32), random(32, 24)).sum().backward()

    def test_a_gradient_is_of_the_function_with_its_options_or_refused(self):
        q, k, v = (random(1, 64, 1, 64).requires_grad_() for _ in range(3))
        with self.assertRaisesRegex(RuntimeError, "no gradient of a call with window=32"):
            inlay.flash_attention(q, k, v, window=32, tile_q=32, tile_k=32, waves=1).float().sum().backward()
        x, w = random(4, 32).requires_grad_(), random(32).requires_grad_()
        inlay.rms_norm(x, w, epsilon=1.0).float().square().sum().backward()
        again, weight = x.detach().float().requires_grad_(), w.detach().float().requires_grad_()
        (again * torch.rsqrt(again.square().mean(-1, keepdim=True) + 1) * weight).square().sum().backward()
        self.assertTrue(torch.allclose(x.grad.float(), again.grad, atol=0.02, rtol=0.02))
        a, b = random(8, 16).requires_grad_(), random(16, 8)
        c = inlay.gemm(a, b, out="f32")
        self.assertEqual(c.dtype, torch.float32)
        with self.assertRaisesRegex(RuntimeError, "out=f32"):
            c.sum().backward()

    def test_sizes_of_zero(self):
        for ours, theirs, *arguments in ((inlay.gemm, torch.matmul, random(0, 8), random(8, 4)), (inlay.gemm, torch.matmul, random(3, 0), random(0, 4)),
                                         (inlay.gemm, torch.matmul, random(3, 8), random(8, 0)), (inlay.softmax, lambda x: torch.softmax(x, -1), random(0, 64)),
                                         (inlay.rms_norm, lambda x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-5), random(2, 0, 32), random(32))):
            mine, want = ([a.clone().requires_grad_() for a in arguments] for _ in range(2))
            y, reference = ours(*mine), theirs(*want)
            self.assertTrue(y.dtype == reference.dtype and torch.equal(y, reference))
            y.sum().backward()
            reference.sum().backward()
            for a, b in zip(mine, want):
                self.assertTrue(torch.equal(a.grad, b.grad))
        q, k, v = (random(1, queries, 1, 64).requires_grad_() for queries in (0, 16, 16))
        inlay.flash_attention(q, k, v).sum().backward()
        self.assertEqual([tuple(a.grad.shape) for a in (q, k, v)], [(1, 0, 1, 64), (1, 16, 1, 64), (1, 16, 1, 64)])
        self.assertFalse(k.grad.any() or v.grad.any())

    def test_types_that_differ_and_in_place_are_refused(self):
        q, k = random(1, 32, 1, 64), random(1, 32, 1, 64)
        with self.assertRaisesRegex(ValueError, "one type is wanted"):
            inlay.flash_attention(q, k.to(torch.bfloat16), k.to(torch.bfloat16))
        with self.assertRaisesRegex(ValueError, "a new array is returned"):
            inlay.softmax(random(4, 32), in_place=True)

    def test_shapes_are_refused_when_traced(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            self.assertEqual(tuple(inlay.gemm(torch.empty(4, 8, dtype=F16), torch.empty(8, 6, dtype=F16)).shape), (4, 6))
            with self.assertRaisesRegex(ValueError, "matrices M x K and K x N"):
                inlay.gemm(torch.empty(4, 8, dtype=F16), torch.empty(4, 8, dtype=F16))
            with self.assertRaisesRegex(ValueError, "a weight of"):
                inlay.rms_norm(torch.empty(4, 8), torch.empty(4))

    def test_a_compiled_model_gives_eagers_bits(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale, self.weight = (torch.nn.Parameter(p, requires_grad=False) for p in (random(32), random(32, 16)))

            def forward(self, x):
                return inlay.softmax(inlay.gemm(inlay.rms_norm(x, self.scale) * 2, self.weight, tile="64x64x32"))

        model = Model()
        for rows in (8, 8, 12):  # the last by symbolic sizes
            x = random(rows, 32)
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_compiled_products_with_c_and_with_scales_give_eagers_bits(self):
        x, w, c = random(24, 64, dtype=BF16), random(64, 40, dtype=BF16), random(24, 40, dtype=BF16)
        a, b = random(16, 64).to(E4M3), random(24, 64).to(E4M3).t()
        sa, sb = torch.rand(16), torch.rand(24)
        for f, arguments in ((lambda x, w, c: inlay.rms_norm(inlay.gemm(x, w, c, alpha=0.5, beta=-2), c[0]), (x, w, c)),
                             (lambda a, b, sa, sb: inlay.gemm(a, b, scale_a=sa, scale_b=sb) * 2, (a, b, sa, sb))):
            self.assertTrue(torch.equal(torch.compile(f, fullgraph=True, backend="aot_eager")(*arguments), f(*arguments)))

    @unittest.skipUnless(os.environ.get("INLAY_SLOW"), "the C++ that inductor writes takes a minute to compile")
    def test_a_model_compiled_by_torchs_own_compiler_gives_eagers_bits(self):
        scale, weight = random(32), random(32, 16)

        def model(x):
            return inlay.gemm(inlay.rms_norm(x, scale) * 2, weight) + 1

        for rows in (8, 8, 12, 0):
            x = random(rows, 32)
            self.assertTrue(torch.equal(torch.compile(model, fullgraph=True)(x), model(x)))

    def test_a_compiled_step_of_training_gives_eagers_gradients(self):
        weights = [random(32), random(32, 16)]
        x = random(8, 32)
        gradients = []
        for compile in (lambda f: f, lambda f: torch.compile(f, fullgraph=True, backend="aot_eager")):
            scale, weight = (w.clone().requires_grad_() for w in weights)
            compile(lambda x: inlay.softmax(inlay.gemm(inlay.rms_norm(x, scale), weight)).float().square().sum())(x).backward()
            gradients.append((scale.grad, weight.grad))
        for eager, compiled in zip(*gradients):
            self.assertTrue(torch.equal(eager, compiled))


if __name__ == "__main__":
    unittest.main()
