"""`pytest --inlay` over tests of Triton kernels: what passes, what fails and with which words."""
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import pytest  # noqa: F401
    import torch  # noqa: F401
    import triton  # noqa: F401
except ImportError as e:
    print("skipped: pytest, torch and triton are needed:", e)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
MORE = '''
import pytest, torch, triton, triton.language as tl
from softmax_kernels import softmax, softmax_in_one_row


@pytest.mark.inlay_known("bounds")
def test_known_and_gone():
    x = torch.rand(4, 100, device="cuda")
    softmax[(4,)](x, torch.empty_like(x), 100, BLOCK=128)


@pytest.mark.inlay_known("rasec")
def test_no_such_kind():
    pass


def test_fails_on_its_own():
    x = torch.rand(4, 100, device="cuda")
    softmax_in_one_row[(4,)](x, torch.empty_like(x), 100, BLOCK=128)
    assert False, "of its own"


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)


def test_views_and_the_device():
    x = torch.arange(3000, dtype=torch.float32, device="cuda:0")[17:1017]
    y = torch.zeros(1000).to("cuda")
    assert x.is_cuda and torch.cuda.is_available()
    add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, 1000)
    torch.cuda.synchronize()
    assert torch._C._cuda_getCurrentRawStream(x.device.index) == torch.cuda.current_stream(x.device).cuda_stream
    torch.testing.assert_close(y.cpu(), x + 1)


@pytest.mark.parametrize("n", [256, 250])
def test_neighbours(n):
    memory = bytearray(4 * (n + 256))  # no byte between the two
    y, x = (torch.frombuffer(memory, dtype=torch.float32, count=count, offset=4 * begin) for begin, count in ((0, n), (n, 256)))
    add[(1,)](x, y, 256)
    assert (y == 1).all() and not x.any()


@triton.jit
def add_at(address, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.cast(address, tl.pointer_type(tl.float32))
    tl.store(y + at, tl.load(x + at, at < n) + 1, at < n)


def test_an_address_by_itself():
    x, y = torch.rand(100, device="cuda"), torch.empty(100, device="cuda")
    add_at[(1,)](x.data_ptr(), y, 100, BLOCK=128)
    torch.testing.assert_close(y, x + 1)


@triton.jit
def add_described(d, y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK)[None, :], d.load([0, 0]) + 1)


def test_a_descriptor():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, y = torch.rand(1, 64, device="cuda"), torch.empty(1, 64, device="cuda")
    add_described[(1,)](TensorDescriptor.from_tensor(x, [1, 64]), y, BLOCK=64)
    torch.testing.assert_close(y, x + 1)


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    whole = torch.rand(8, 100)  # one storage, of which launches under way share the registration

    def row(r):
        y = torch.empty(1, 100, device="cuda")
        for _ in range(5):
            softmax[(1,)](whole[r].to("cuda"), y, 100, BLOCK=128)
        assert y.is_cuda
        return y

    with ThreadPoolExecutor(4) as pool:
        out = torch.cat(list(pool.map(row, range(8))))
    torch.testing.assert_close(out, torch.softmax(whole, -1))


def test_gradients():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, dy):
            assert dy.is_cuda
            dx = torch.empty(1, 100, device="cuda")
            softmax[(1,)](dy.contiguous(), dx, 100, BLOCK=128)
            return dx

    x = torch.rand(1, 100, device="cuda", requires_grad=True)
    dy = torch.rand(1, 100)
    Doubled.apply(x).backward(dy)
    torch.testing.assert_close(x.grad, torch.softmax(dy, -1))


def test_a_layer_norm_of_halves_sums_as_the_device_does():
    import torch.nn.functional as F

    torch.manual_seed(0)
    x, dy = torch.randn(1000, 64, dtype=torch.float16, device="cuda"), torch.randn(1000, 64, dtype=torch.float16, device="cuda")
    w, b = (torch.rand(64, dtype=torch.float16, device="cuda", requires_grad=True) for _ in range(2))
    y = F.layer_norm(x, (64,), weight=w, bias=b, eps=1e-5)
    y.backward(dy)
    assert y.dtype == torch.float16
    assert ((b.grad.double() - dy.double().sum(0)).abs() <= dy.double().sum(0).abs() * 2 ** -11 + 1e-4).all()  # rounded once


def test_the_profiler_has_each_launch():
    x, y = torch.rand(4, 100, device="cuda"), torch.empty(4, 100, device="cuda")
    softmax[(4,)](x, y, 100, BLOCK=128)
    with torch.profiler.profile() as profile:
        softmax[(4,)](x, y, 100, BLOCK=128)
        softmax[(4,)](x, y, 100, BLOCK=128)
    softmax[(4,)](x, y, 100, BLOCK=128)
    of_device = [e for e in profile.events() if str(e.device_type).endswith("CUDA")]
    assert [(e.name, e.self_device_time_total) for e in of_device] == [("softmax", 1.0)] * 2, of_device


def test_a_finding_of_a_thread():
    import threading

    x = torch.rand(4, 100, device="cuda")
    launch = threading.Thread(target=lambda: softmax_in_one_row[(4,)](x, torch.empty(4, 100, device="cuda"), 100, BLOCK=128))
    launch.start()
    launch.join()
'''

STRESS = '''
import torch, triton, triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)


@triton.jit
def who_is_last(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + 0 * at, at)


@triton.jit
def who_comes_when(counter, order, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(order + at, tl.atomic_add(counter + 0 * at, 1))


def test_in_place():
    x = torch.arange(100, dtype=torch.float32, device="cuda")
    add_one[(1,)](x, 100, BLOCK=128)
    torch.testing.assert_close(x, torch.arange(1, 101, dtype=torch.float32))


def test_what_a_race_leaves():
    who_is_last[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"), BLOCK=256)


def test_order_without_a_race():
    counter, order = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.zeros(256, dtype=torch.int32, device="cuda")
    who_comes_when[(1,)](counter, order, BLOCK=256)
    assert sorted(order.tolist()) == list(range(256)) and counter.item() == 256
'''

# A program that launches and compares as it is imported, as Triton's tutorials do.
TUTORIAL = """
import torch
from softmax_kernels import softmax


def test_softmax(rows, columns, device="cuda"):
    x = torch.rand(rows, columns, device=device)
    y = torch.empty_like(x)
    softmax[(rows,)](x, y, columns, BLOCK=128)
    torch.testing.assert_close(y, torch.softmax(x, -1))


test_softmax(4, 100)
"""
# Functions that stay tests: what nobody calls, what is called elsewhere, and what has its fixtures.
NO_TUTORIAL = """
import pytest


@pytest.fixture
def given():
    return 4


def test_nobody_calls(rows):
    pass


def test_called_by_main(rows):
    pass


def test_has_its_fixture(given):
    assert given == 4


def test_called_by_a_function(rows):
    pass


@pytest.mark.parametrize("n", [1, 2])
def test_of_parameters(n):
    assert n in (1, 2, 3)


def other():
    test_called_by_a_function(4)


test_has_its_fixture(4)
test_of_parameters(3)
if __name__ == "__main__":
    test_called_by_main(4)
"""

# Scripts as they would stand on a machine with a GPU.
DEVICE_SCRIPT = """
import io, torch

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
assert dev.type == "cuda"
torch.cuda.manual_seed_all(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.GELU(), torch.nn.Linear(8, 1)).to(dev)
data = torch.utils.data.TensorDataset(torch.rand(32, 16), torch.rand(32, 1))
step, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cuda")
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
for x, t in torch.utils.data.DataLoader(data, batch_size=16, pin_memory=True):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(model(x.to(dev, non_blocking=True)).float(), t.cuda(non_blocking=True))
    step.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(step), scaler.update()
end.record(), torch.cuda.synchronize(), begin.elapsed_time(end)
file = io.BytesIO()
torch.save(model.state_dict(), file)
for where in ("cuda", dev, None):
    file.seek(0)
    model.load_state_dict(torch.load(file, map_location=where))
same = [torch.randn(4, device=dev, generator=torch.Generator(device=dev).manual_seed(3)) for _ in range(2)]
assert torch.equal(*same)
with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()), torch.device("cuda"):
    assert torch.zeros(4).is_cuda and torch.rand(2, device=0).to(0).cuda(0).is_cuda
torch.set_default_device("cuda")
assert torch.rand(2).pin_memory().is_cuda and torch.rand(2).type("torch.cuda.HalfTensor").dtype == torch.float16
torch.set_default_device(None)
torch.cuda.memory_summary(), torch.cuda.memory_allocated(), torch.cuda.reset_peak_memory_stats(), torch.cuda.seed()
print("right")
"""
TRITON_SCRIPT = """
import torch, triton, triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr, OVER: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) * 2, at < n + OVER)


x = torch.rand(1000, device="cuda")
y = torch.empty_like(x)
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
double[(4,)](x, y, 1000, BLOCK=256, OVER=0)
end.record()
torch.cuda.synchronize()
begin.elapsed_time(end)
torch.testing.assert_close(y.cpu(), 2 * x.cpu())
assert torch.cuda.get_device_properties(0).gcnArchName == "gfx950"
assert torch.version.hip == "6.4.43483" and torch.version.cuda is None
import sys
if "over" in sys.argv:
    double[(4,)](x, y, 1000, BLOCK=256, OVER=8)
"""
FLYDSL_SCRIPT = """
import torch
import flydsl.compiler as flyc
import flydsl.expr as fx


@flyc.kernel
def add_kernel(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, block: fx.Constexpr[int]):
    tiles = [fx.logical_divide(t, fx.make_layout(block, 1)) for t in (a, b, c)]
    mine = [fx.logical_divide(fx.slice(t, (None, fx.block_idx.x)), fx.make_layout(1, 1)) for t in tiles]
    atom = fx.make_copy_atom(fx.UniversalCopy32b(), fx.Float32)
    registers = [fx.make_rmem_tensor(fx.make_layout(1, 1), fx.Float32) for _ in mine]
    for k in (0, 1):
        fx.copy(atom, fx.slice(mine[k], (None, fx.thread_idx.x)), registers[k])
    registers[2].store(registers[0].load() + registers[1].load())
    fx.copy(atom, registers[2], fx.slice(mine[2], (None, fx.thread_idx.x)))


@flyc.jit
def add(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, n: fx.Int32, stream: fx.Stream = fx.Stream(None)):
    add_kernel(a, b, c, 64).launch(grid=(n // 64, 1, 1), block=(64, 1, 1), stream=stream)


a, b = torch.rand(256).cuda(), torch.rand(256).cuda()
c = torch.zeros_like(a)
add(a, b, c, 256, stream=torch.cuda.Stream())
torch.testing.assert_close(c, a + b)
print("right")
"""


FLYDSL_KERNEL = FLYDSL_SCRIPT[:FLYDSL_SCRIPT.index("a, b = ")].replace("n // 64", "(n + 63) // 64")
FLYDSL_TESTS = FLYDSL_KERNEL + """
def test_whole():
    a, b, c = torch.rand(256).cuda(), torch.rand(256).cuda(), torch.zeros(256).cuda()
    add(a, b, c, 256, stream=torch.cuda.Stream())
    torch.testing.assert_close(c, a + b)


def test_compiled():
    a, b, c = torch.rand(256).cuda(), torch.rand(256).cuda(), torch.zeros(256).cuda()
    compiled = flyc.compile(add, a, b, c, 256, torch.cuda.current_stream())  # launches, too
    torch.testing.assert_close(c, a + b)
    compiled(b, b, c, 256, torch.cuda.current_stream())
    torch.testing.assert_close(c, b + b)


def test_past_the_end():
    a, b, c = torch.rand(250).cuda(), torch.rand(250).cuda(), torch.zeros(250).cuda()
    add(a, b, c, 250, stream=torch.cuda.Stream())
"""


GRAPHS = '''
import copy

import pytest, torch, triton, triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def add(x, y, out):
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)


def test_capture_and_replay():
    """Launches and what torch computes, in order; a capture runs nothing of it."""
    x, y, out, counter = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda"), torch.zeros(1000, device="cuda"), torch.zeros(1, device="cuda")
    graph, first = torch.cuda.CUDAGraph(), y.clone()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        add(x, y, out)
        counter += 1
        total = (out * 2).sum()
        add(out, out, y)
    assert not torch.cuda.is_current_stream_capturing()
    assert out.abs().max() == 0 and counter == 0 and torch.equal(y, first)
    for _ in range(3):
        before = y.clone()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, x + before) and torch.equal(y, 2 * (x + before))
        torch.testing.assert_close(total, (2 * (x + before)).sum())
    assert counter == 3
    x.fill_(1.0), y.fill_(2.0)
    graph.replay()
    assert (out == 3).all() and total == 6000


def test_streams_of_a_capture():
    x, a, b = (torch.rand(512, device="cuda") for _ in range(3))
    one, other, graph = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=one):
        other.wait_stream(one)
        with torch.cuda.stream(other):
            assert torch.cuda.current_stream() == other
            add(x, x, a)
        add(x, x, b)
        one.wait_stream(other)
    a.zero_(), b.zero_()
    graph.replay()
    assert torch.equal(a, 2 * x) and torch.equal(b, 2 * x)


def test_what_a_capture_refuses():
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    for of_host in (lambda: x.sum().item(), torch.cuda.synchronize, lambda: bool((x > 0).all())):
        with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
            with torch.cuda.graph(graph):
                of_host()
    with pytest.raises(RuntimeError, match="not captured"):
        torch.cuda.CUDAGraph().replay()
    with pytest.raises(RuntimeError, match="non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()
    assert not torch.cuda.is_current_stream_capturing()


def test_graphed_callables():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    twin = copy.deepcopy(model)
    graphed = torch.cuda.make_graphed_callables(model, (torch.rand(3, 8, requires_grad=True),))
    for _ in range(2):
        x, same = torch.rand(3, 8, requires_grad=True), None
        model.zero_grad(), twin.zero_grad()
        y = graphed(x)
        y.sum().backward()
        same = x.detach().requires_grad_()
        torch.testing.assert_close(y, twin(same))
        twin(same).sum().backward()
        torch.testing.assert_close(x.grad, same.grad)
        for p, q in zip(model.parameters(), twin.parameters()):
            torch.testing.assert_close(p.grad, q.grad)


def model():
    import inlay

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.matrix = (torch.nn.Parameter(torch.rand(*shape, dtype=torch.float16)) for shape in ((64,), (64, 32)))

        def forward(self, x):
            return inlay.gemm(inlay.rms_norm(x, self.weight), self.matrix)

    return Model().cuda()


def test_functions_of_inlay_replayed():
    m, x, graph = model(), torch.rand(8, 64, device="cuda").half(), torch.cuda.CUDAGraph()
    with torch.no_grad():
        m(x)
        with torch.cuda.graph(graph):
            y = m(x)
        x.copy_(torch.rand(8, 64).half())
        assert not torch.equal(y, m(x))
        graph.replay()
        assert torch.equal(y, m(x))


def test_functions_of_inlay_compiled():
    m, x = model(), torch.rand(8, 64, device="cuda").half()
    assert torch.equal(torch.compile(m, fullgraph=True)(x), m(x))


def test_random_numbers():
    torch.cuda.manual_seed(5)
    state, first = torch.cuda.get_rng_state(), torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="cuda"), first)
    torch.cuda.manual_seed_all(5)
    assert torch.equal(torch.rand(4, device="cuda"), first)


def test_wrong_when_replayed():
    x, out, graph = torch.rand(1000, device="cuda"), torch.zeros(990, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add(x, x, out)
    graph.replay()
'''


class Scripts(unittest.TestCase):
    """`inlay run-with -- python3 SCRIPT`."""

    def run_with(self, script, *arguments, arch="gfx950"):
        from inlay import _tools

        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "script.py"), "w") as file:
                file.write(script)
            environment = {**os.environ, "FLYDSL_RUNTIME_ENABLE_CACHE": "0"}
            ran = subprocess.run([_tools.program(), "run-with", "--arch", arch, "--", sys.executable, "script.py", *arguments], cwd=folder,
                                 env=environment, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr

    def test_triton(self):
        status, said = self.run_with(TRITON_SCRIPT)
        self.assertEqual(status, 0, said)
        self.assertIn("no defect", said)
        status, said = self.run_with(TRITON_SCRIPT, "over")
        self.assertEqual(status, 1, said)
        self.assertIn("bounds", said)

    def test_what_programs_ask_of_torch(self):
        status, said = self.run_with(DEVICE_SCRIPT)
        self.assertEqual((status, "right" in said), (0, True), said)

    def test_flydsl(self):
        if importlib.util.find_spec("flydsl") is None:
            self.skipTest("no flydsl")
        for arch in ("gfx942", "gfx950"):
            status, said = self.run_with(FLYDSL_SCRIPT, arch=arch)
            self.assertEqual(status, 0, said)
            self.assertIn("right", said)
            self.assertIn("no defect", said)


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        for name in ("softmax_kernels.py", "test_softmax.py"):
            shutil.copy(os.path.join(HERE, "..", "package", name), cls.folder)
        with open(os.path.join(cls.folder, "test_more.py"), "w") as file:
            file.write(MORE)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def pytest(self, *arguments, **environment):
        # An installed wheel has registered it.
        registered = list(importlib.metadata.entry_points(group="pytest11", name="inlay"))
        plugin = [] if registered else ["-p", "pytest_inlay"]
        ran = subprocess.run([sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *arguments],
                             cwd=self.folder, capture_output=True, text=True, env={**os.environ, **environment})
        return ran.returncode, ran.stdout + ran.stderr

    def test_findings_fail_a_test_unless_they_are_known(self):
        for arch in ("gfx942", "gfx950"):
            status, said = self.pytest("--inlay", "--inlay-arch", arch, "test_softmax.py")
            self.assertEqual(status, 1, said)
            self.assertIn("1 failed, 2 passed", said)
            self.assertIn("races: writes byte", said)
            self.assertRegex(said, r"source .*softmax_kernels\.py:19:")
            self.assertIn(f"3 launches on the emulator of {arch}, 1 known findings", said)

    def test_flydsl(self):
        if importlib.util.find_spec("flydsl") is None:
            self.skipTest("no flydsl")
        with open(os.path.join(self.folder, "test_flydsl_add.py"), "w") as file:
            file.write(FLYDSL_TESTS)
        lines = FLYDSL_TESTS.splitlines()
        load, store = (1 + next(i for i, text in enumerate(lines) if word in text) for word in ("fx.copy(atom, fx.slice(mine[k]", "fx.copy(atom, registers[2]"))
        status, said = self.pytest("--inlay", "test_flydsl_add.py")
        self.assertIn("1 failed, 2 passed", said)
        self.assertRegex(said, rf"bounds: reads 4 bytes.*\n.*\n  source test_flydsl_add\.py:{load}:")
        self.assertRegex(said, rf"bounds: writes 4 bytes.*\n.*\n  source test_flydsl_add\.py:{store}:")

    def test_checks_can_be_chosen(self):
        status, said = self.pytest("--inlay", "--inlay-check", "bounds", "test_softmax.py", "-k", "not known")
        self.assertEqual(status, 0, said)

    def test_the_rest(self):
        status, said = self.pytest("--inlay", "test_more.py")
        self.assertIn("5 failed, 8 passed", said)
        self.assertRegex(said, r"FAILED test_more.py::test_neighbours\[250\] - Failed: bounds: writes")
        self.assertRegex(said, r"bounds: writes \d+ bytes at argument 1 \+ 0x3e8 of 1000 bytes")
        self.assertRegex(said, r"FAILED test_more.py::test_a_finding_of_a_thread - Failed: races")
        self.assertIn("inlay_known: no finding of kind bounds any more", said)
        self.assertIn("no kind 'rasec'", said)
        self.assertIn("AssertionError: of its own", said)
        self.assertIn("inlay: races", said)

    def test_graphs(self):
        with open(os.path.join(self.folder, "test_graphs.py"), "w") as file:
            file.write(GRAPHS)
        status, said = self.pytest("--inlay", "test_graphs.py")
        self.assertIn("1 failed, 7 passed", said)
        self.assertRegex(said, r"bounds: writes 4 bytes at argument 2 \+ 0xf78 of 3960 bytes(.|\n)*source test_graphs.py:10(.|\n)*FAILED test_graphs.py::test_wrong_when_replayed")

    def test_stress(self):
        with open(os.path.join(self.folder, "test_under_stress.py"), "w") as file:
            file.write(STRESS)
        status, said = self.pytest("--inlay", "--inlay-check", "none", "--inlay-stress", "4", "test_under_stress.py")
        self.assertIn("2 failed, 1 passed", said)
        for kernel, size in (("who_is_last", 4), ("who_comes_when", 1024)):
            self.assertRegex(said, rf"another schedule leaves other bits: seed \d: byte \d+ of a buffer of {size} differs\n  launch {kernel} ")

    def test_how_often_under_stress(self):
        for n in ("-1", "1001"):
            status, said = self.pytest("--inlay", "--inlay-stress", n, "test_softmax.py")
            self.assertEqual(status, 4, said)
            self.assertIn(f"--inlay: stress={n}: a number of launches, 0 to 1000", said)

    def test_a_program_that_launches_as_it_is_collected(self):
        def of(text, *arguments):
            with open(os.path.join(self.folder, "program.py"), "w") as file:
                file.write(text)
            return self.pytest("--inlay", "-v", *arguments, "program.py")

        status, said = of(TUTORIAL)
        self.assertEqual(status, 0, said)
        self.assertIn("program.py::launches PASSED", said)
        self.assertIn("1 passed", said)
        self.assertIn("test_softmax of program.py is no test: the file calls it itself, and no fixture gives rows, columns", said)
        status, said = of(TUTORIAL + "def test_of_its_own():\n    assert False, 'of its own'\n")  # which launches, and has tests
        self.assertEqual(status, 1, said)
        self.assertIn("program.py::test_of_its_own FAILED", said)
        self.assertNotIn("::launches", said)
        status, said = of(TUTORIAL.replace("torch.softmax(x, -1)", "x"))  # a comparison that fails
        self.assertEqual(status, 2, said)
        self.assertIn("AssertionError", said)
        status, said = of(TUTORIAL.replace("softmax[", "softmax_in_one_row[").replace("import softmax", "import softmax_in_one_row").replace("torch.testing", "#"))
        self.assertEqual(status, 2, said)
        self.assertIn("races: writes byte", said)
        status, said = of(TUTORIAL.replace("test_softmax(4, 100)", ""))  # nobody calls it
        self.assertEqual(status, 1, said)
        self.assertIn("fixture 'rows' not found", said)
        status, said = of("x = 1\n")  # no launch: nothing to run, as pytest says it
        self.assertEqual(status, 5, said)
        status, said = of(NO_TUTORIAL)
        self.assertEqual(status, 1, said)
        self.assertIn("3 passed, 3 errors", said)
        for name in ("nobody_calls", "called_by_main", "called_by_a_function"):
            self.assertRegex(said, f"ERROR at setup of test_{name}")
        self.assertNotIn("is no test", said)

    def test_what_is_wrong_with_the_request(self):
        status, said = self.pytest("--inlay", "--inlay-arch", "gfx1100", "test_softmax.py")
        self.assertEqual(status, 4, said)
        self.assertIn("MI300X", said)
        status, said = self.pytest("--inlay", "--inlay-check", "bonds", "test_softmax.py")
        self.assertEqual(status, 4, said)
        with tempfile.TemporaryDirectory() as cache:  # a machine without a compiler or Python's headers
            status, said = self.pytest("--inlay", "test_softmax.py", CC="/bin/false", TRITON_CACHE_DIR=cache)
        self.assertEqual(status, 4, said)
        self.assertIn("apt install gcc libc6-dev python3-dev", said)


if __name__ == "__main__":
    unittest.main()
