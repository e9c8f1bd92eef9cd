# Written by python/stubs.py.
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy

from . import codegen as codegen
from .codegen import Artifact as Artifact, Program as Program, ProgramError as ProgramError, ProofReport as ProofReport

__version__: str

class LayoutError(ValueError):
    """A request without a meaning or an answer. Fields: code, operation, summary, operands, where, numbers, hint."""
    code: str
    operation: str
    summary: str
    operands: dict[str, str]
    where: str
    numbers: dict[str, str]
    hint: str

class Layout:
    """A function from coordinates to offsets, written shape:stride."""
    def __init__(self, shape: Union[str, int, tuple], stride: Union[int, tuple] = ...) -> None: ...
    @property
    def shape(self) -> Any: ...
    @property
    def stride(self) -> Any: ...
    @property
    def size(self) -> int: ...
    @property
    def cosize(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def depth(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, mode: int) -> Layout: ...
    def __call__(self, *coordinate: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def values(self) -> numpy.ndarray:
        """All values in the order of the index, as a numpy array."""

class Swizzle:
    """Exchanges elements by XOR-ing one field of address bits onto another."""
    def __init__(self, bits: int, base: int, shift: int) -> None: ...
    @property
    def bits(self) -> int: ...
    @property
    def base(self) -> int: ...
    @property
    def shift(self) -> int: ...
    def __call__(self, offset: int) -> int: ...
    def __hash__(self) -> int: ...

class CoordSwizzle:
    """XORs a field of one coordinate onto another."""
    def __init__(self, text: str) -> None: ...
    def __call__(self, coordinate: Any) -> Any: ...
    def __hash__(self) -> int: ...

class ComposedLayout:
    """outer o offset o inner: the layout of swizzled memory."""
    def __init__(self, outer: Union[str, Swizzle], offset: int = ..., inner: Layout = ...) -> None: ...
    @property
    def inner(self) -> Layout: ...
    @property
    def offset(self) -> int: ...
    @property
    def shape(self) -> Any: ...
    @property
    def size(self) -> int: ...
    @property
    def rank(self) -> int: ...
    def __call__(self, *coordinate: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def values(self) -> numpy.ndarray: ...

class Verdict:
    """The answer of prove(): proved, refuted with a witness, or unknown. True only when proved."""
    @property
    def outcome(self) -> str: ...
    @property
    def property(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def certificate(self) -> str: ...
    @property
    def obligations(self) -> list[str]: ...
    @property
    def smt2(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def witness(self) -> Optional[dict[str, Any]]: ...
    def __bool__(self) -> bool: ...

class Picture:
    """A drawing: SVG where a notebook asks for it, a table of characters as text."""
    def svg(self) -> str: ...
    def html(self) -> str:
        """One page with all cells, their values and coordinates."""

class Report:
    """What a launch of a kernel did wrong. True when nothing was found.

    `findings`: dicts with `kind`, `text` and where it is; `details`: all that `inlay exec --json` says; `directory` of the code object, for
    `inlay time` and `inlay inspect`."""
    name: str
    arch: str
    details: dict[str, Any]
    file: str
    @property
    def findings(self) -> list[dict[str, Any]]: ...
    def __bool__(self) -> bool: ...
    def raise_if_found(self) -> None:
        """An AssertionError with the findings, for tests."""

class Timing(dict[str, Any]):
    """The clocks of a launch by the model: a dict, the JSON of `inlay time`, and what is asked for most as fields.

    `clocks` of the launch and their `uncertainty`; `microseconds` and, where there are matrix products, `tflops` and `peak_percent` of the
    matrix pipes, all with the launch and at the clock under load, `mhz`; `bottleneck`; `spent`, clocks of an average SIMD by cause; `saved`, clocks that would go
    if a limit went; `stalls`, dicts of the instructions that wait longest."""
    @property
    def kernel(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def geometry(self) -> str: ...
    @property
    def clocks(self) -> float: ...
    @property
    def uncertainty(self) -> float: ...
    @property
    def microseconds(self) -> float: ...
    @property
    def mhz(self) -> float: ...
    @property
    def tflops(self) -> Optional[float]: ...
    @property
    def peak_percent(self) -> float: ...
    @property
    def bottleneck(self) -> Optional[str]: ...
    @property
    def spent(self) -> dict[str, float]: ...
    @property
    def saved(self) -> dict[str, float]: ...
    @property
    def stalls(self) -> list[dict[str, Any]]: ...

class CommandError(ValueError):
    """What the command says when it refuses: its message, with what was given and a hint."""

class LoadedKernel:
    """A built kernel on a device, which is called with its buffers in order and its sizes by name.

    `buffers` and `sizes` are their names, `arch` the processor."""
    arch: str
    buffers: list[str]
    sizes: list[str]
    def __call__(self, *buffers: Any, stream: Optional[int] = ..., **sizes: int) -> None: ...
    def why(self, **sizes: int) -> str:
        """Which form is launched for these sizes, of a kernel that has several (inlay build --for), and by which row of its table."""

def prove(property: str, /, *arguments: Any, where: Union[str, Sequence[str]] = ..., domain: Union[str, Sequence[str]] = ...,
          by_mode: bool = ..., access: str = ..., arch: str = ..., element_bytes: int = ..., lines: int = ..., recheck: bool = ...,
          limit: Optional[int] = ..., steps: Optional[int] = ...) -> Verdict:
    """Is a statement about layouts true for all values of their symbols? Properties and arguments are those of `inlay prove`: equal, disjoint, inverse A B; covers, within, aligned A N; injective, bijective, conflict-free, coalesced A. Returns a Verdict; a question without a meaning is a ValueError."""
def recheck(certificate: str, /) -> dict[str, Any]:
    """Checks a certificate without the prover: a dict of accepted, answers and reason."""
def time(file: Any, *args: Any, kernel: Optional[str] = ..., grid: Any = ..., block: Any = ..., arch: Optional[str] = ..., **options: Any) -> Timing:
    """Clocks of a launch on hardware by the model: `inlay time`, as a Timing. Arrays are inputs; nothing is written back.

    Of a file as `check` takes it, of a Triton kernel, whose keywords follow as in its launch, or of a function of FlyDSL's that launches one kernel.

        >>> inlay.time("add.hsaco", x, y, n, kernel="add", grid=4, block=256).clocks
        >>> inlay.time(add[(4,)], x, y, out, n, BLOCK=256, arch="gfx950")"""
def evaluate(text: str, /) -> Any:
    """An expression of the algebra: evaluate('composition((6,2):(8,2), 3:2)')."""
def add(tuple: Any, tuple2: Any, /) -> Any:
    """add(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def append(layout: Any, mode: Any, rank: Any = ..., /) -> Any:
    """append(layout, [rank,] mode), as in `inlay eval`; guide/2-algebra.md explains it."""
def bit_matrix(layout: Any, /) -> Any:
    """bit_matrix(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def blocked_product(layout: Any, tiler: Any, /) -> Any:
    """blocked_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def ceil_div(tuple: Any, tuple2: Any, /) -> Any:
    """ceil_div(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def coalesce(layout: Any, profile: Any = ..., /) -> Any:
    """coalesce(layout [, profile]), as in `inlay eval`; guide/2-algebra.md explains it."""
def colex_less(tuple: Any, tuple2: Any, /) -> Any:
    """colex_less(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def compact_col_major(shape: Any, start: Any = ..., /) -> Any:
    """compact_col_major(shape [, start]), as in `inlay eval`; guide/2-algebra.md explains it."""
def compact_row_major(shape: Any, start: Any = ..., /) -> Any:
    """compact_row_major(shape [, start]), as in `inlay eval`; guide/2-algebra.md explains it."""
def compatible(shape: Any, shape2: Any, /) -> Any:
    """compatible(shape, shape), as in `inlay eval`; guide/2-algebra.md explains it."""
def complement(layout: Any, cotarget: Any = ..., /) -> Any:
    """complement(layout [, cotarget]), as in `inlay eval`; guide/2-algebra.md explains it."""
def composition(lhs: Any, rhs_layout_or_tiler_or_swizzle: Any, /) -> Any:
    """composition(lhs, rhs layout or tiler or swizzle), as in `inlay eval`; guide/2-algebra.md explains it."""
def congruent(tuple: Any, tuple2: Any, /) -> Any:
    """congruent(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def coprofile(layout: Any, /) -> Any:
    """coprofile(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def coshape(layout: Any, /) -> Any:
    """coshape(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def crd2crd(coord: Any, src_shape: Any, dst_shape: Any, /) -> Any:
    """crd2crd(coord, src_shape, dst_shape), as in `inlay eval`; guide/2-algebra.md explains it."""
def crd2idx(coord: Any, shape: Any, or_layout: Any, stride: Any = ..., /) -> Any:
    """crd2idx(coord, shape [, stride] or layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def dice(coord: Any, layout: Any, /) -> Any:
    """dice(coord, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def div(tuple: Any, tuple2: Any, /) -> Any:
    """div(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def domain_distribute(shape: Any, n: Any, /) -> Any:
    """domain_distribute(shape, n), as in `inlay eval`; guide/2-algebra.md explains it."""
def downcast(layout: Any, n: Any, /) -> Any:
    """downcast(layout, n), as in `inlay eval`; guide/2-algebra.md explains it."""
def elem_less(tuple: Any, tuple2: Any, /) -> Any:
    """elem_less(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def elem_scale(tuple: Any, tuple2: Any, /) -> Any:
    """elem_scale(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def evenly_divides(shape: Any, tiler: Any, /) -> Any:
    """evenly_divides(shape, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def filter(layout: Any, profile: Any = ..., /) -> Any:
    """filter(layout [, profile]), as in `inlay eval`; guide/2-algebra.md explains it."""
def filter_zeros(layout: Any, profile: Any = ..., /) -> Any:
    """filter_zeros(layout [, profile]), as in `inlay eval`; guide/2-algebra.md explains it."""
def flat_divide(layout: Any, tiler: Any, /) -> Any:
    """flat_divide(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def flat_product(layout: Any, tiler: Any, /) -> Any:
    """flat_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def flatten(layout_or_tuple: Any, /) -> Any:
    """flatten(layout or tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def gcd(tuple: Any, /) -> Any:
    """gcd(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def get(layout: Any, path: Any, /) -> Any:
    """get(layout, path), as in `inlay eval`; guide/2-algebra.md explains it."""
def get_1d_coord(layout: Any, offset: Any, /) -> Any:
    """get_1d_coord(layout, offset), as in `inlay eval`; guide/2-algebra.md explains it."""
def get_flat_coord(layout: Any, offset: Any, /) -> Any:
    """get_flat_coord(layout, offset), as in `inlay eval`; guide/2-algebra.md explains it."""
def get_hier_coord(layout: Any, offset: Any, /) -> Any:
    """get_hier_coord(layout, offset), as in `inlay eval`; guide/2-algebra.md explains it."""
def group(layout: Any, begin: Any, end: Any, /) -> Any:
    """group(layout, begin, end), as in `inlay eval`; guide/2-algebra.md explains it."""
def idx2crd(idx: Any, shape: Any, stride: Any = ..., /) -> Any:
    """idx2crd(idx, shape [, stride]), as in `inlay eval`; guide/2-algebra.md explains it."""
def inner_product(tuple: Any, tuple2: Any, /) -> Any:
    """inner_product(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def left_inverse(layout: Any, /) -> Any:
    """left_inverse(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def lex_less(tuple: Any, tuple2: Any, /) -> Any:
    """lex_less(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def linear_layout(layout_tv: Any, shape: Any, lanes: Any = ..., /) -> Any:
    """linear_layout(layout_tv, shape [, lanes]), as in `inlay eval`; guide/2-algebra.md explains it."""
def local_partition(tensor: Any, thr_layout: Any, thr_idx: Any, /) -> Any:
    """local_partition(tensor, thr_layout, thr_idx), as in `inlay eval`; guide/2-algebra.md explains it."""
def local_tile(tensor: Any, tiler: Any, coord: Any, /) -> Any:
    """local_tile(tensor, tiler, coord), as in `inlay eval`; guide/2-algebra.md explains it."""
def logical_divide(layout: Any, tiler: Any, /) -> Any:
    """logical_divide(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def logical_product(layout: Any, tiler: Any, /) -> Any:
    """logical_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_composed_layout(outer: Any, inner: Any, offset: Any = ..., /) -> Any:
    """make_composed_layout(outer, [offset,] inner), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_cotiled_copy(atom_tv_layout: Any, data_layout: Any, /) -> Any:
    """make_cotiled_copy(atom_tv_layout, data_layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_fragment_like(layout: Any, /) -> Any:
    """make_fragment_like(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_identity_layout(shape: Any, /) -> Any:
    """make_identity_layout(shape), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_layout(*layouts_or_shape_and_stride: Any) -> Any:
    """make_layout(layout, ...) or (shape [, stride]), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_layout_like(layout: Any, /) -> Any:
    """make_layout_like(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_ordered_layout(shape: Any, order: Any, /) -> Any:
    """make_ordered_layout(shape, order), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_swizzle(source_mask: Any, target_mask: Any, /) -> Any:
    """make_swizzle(source mask, target mask), as in `inlay eval`; guide/2-algebra.md explains it."""
def make_tiled_copy(copy_atom: Any, thr_layout: Any, val_layout: Any, /) -> Any:
    """make_tiled_copy(copy_atom, thr_layout, val_layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def max(tuple: Any, /) -> Any:
    """max(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def max_alignment(layout: Any, /) -> Any:
    """max_alignment(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def max_common_layout(layout: Any, layout2: Any, /) -> Any:
    """max_common_layout(layout, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def max_common_vector(layout: Any, layout2: Any, /) -> Any:
    """max_common_vector(layout, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def min(tuple: Any, /) -> Any:
    """min(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def mod(tuple: Any, tuple2: Any, /) -> Any:
    """mod(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def mul(tuple: Any, tuple2: Any, /) -> Any:
    """mul(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def nullspace(layout: Any, /) -> Any:
    """nullspace(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def prepend(layout: Any, mode: Any, rank: Any = ..., /) -> Any:
    """prepend(layout, [rank,] mode), as in `inlay eval`; guide/2-algebra.md explains it."""
def product(tuple: Any, /) -> Any:
    """product(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def product_each(tuple: Any, /) -> Any:
    """product_each(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def product_like(tuple: Any, guide: Any, /) -> Any:
    """product_like(tuple, guide), as in `inlay eval`; guide/2-algebra.md explains it."""
def raked_product(layout: Any, tiler: Any, /) -> Any:
    """raked_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def recast_layout(layout: Any, old_bits: Any, new_bits: Any, /) -> Any:
    """recast_layout(layout, old bits, new bits), as in `inlay eval`; guide/2-algebra.md explains it."""
def replace(layout: Any, mode: Any, layout2: Any, /) -> Any:
    """replace(layout, mode, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def right_inverse(layout: Any, /) -> Any:
    """right_inverse(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def round_up(tuple: Any, tuple2: Any, /) -> Any:
    """round_up(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def select(layout: Any, modes: Any, /) -> Any:
    """select(layout, modes), as in `inlay eval`; guide/2-algebra.md explains it."""
def shape_div(tuple: Any, tuple2: Any, /) -> Any:
    """shape_div(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def slice(coord: Any, layout: Any, /) -> Any:
    """slice(coord, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def slice_and_offset(coord: Any, layout: Any, /) -> Any:
    """slice_and_offset(coord, layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def sub(tuple: Any, tuple2: Any, /) -> Any:
    """sub(tuple, tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def sum(tuple: Any, /) -> Any:
    """sum(tuple), as in `inlay eval`; guide/2-algebra.md explains it."""
def swizzle(swizzle: Any, offset_or_offsets: Any, /) -> Any:
    """swizzle(swizzle, offset or offsets), as in `inlay eval`; guide/2-algebra.md explains it."""
def take(layout: Any, begin: Any, end: Any, /) -> Any:
    """take(layout, begin, end), as in `inlay eval`; guide/2-algebra.md explains it."""
def tile_to_shape(block: Any, trg_shape: Any, ord_shape: Any = ..., /) -> Any:
    """tile_to_shape(block, trg_shape [, ord_shape]), as in `inlay eval`; guide/2-algebra.md explains it."""
def tiled_divide(layout: Any, tiler: Any, /) -> Any:
    """tiled_divide(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def tiled_mma(mma_atom: Any, atom_layout_mnk: Any, permutation_mnk: Any, /) -> Any:
    """tiled_mma(mma_atom, atom_layout_mnk, permutation_mnk), as in `inlay eval`; guide/2-algebra.md explains it."""
def tiled_product(layout: Any, tiler: Any, /) -> Any:
    """tiled_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def unflatten(layout: Any, profile: Any, /) -> Any:
    """unflatten(layout, profile), as in `inlay eval`; guide/2-algebra.md explains it."""
def upcast(layout: Any, n: Any, /) -> Any:
    """upcast(layout, n), as in `inlay eval`; guide/2-algebra.md explains it."""
def weakly_congruent(shape: Any, shape2: Any, /) -> Any:
    """weakly_congruent(shape, shape), as in `inlay eval`; guide/2-algebra.md explains it."""
def zip(layout: Any, /) -> Any:
    """zip(layout), as in `inlay eval`; guide/2-algebra.md explains it."""
def zipped_divide(layout: Any, tiler: Any, /) -> Any:
    """zipped_divide(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def zipped_product(layout: Any, tiler: Any, /) -> Any:
    """zipped_product(layout, tiler), as in `inlay eval`; guide/2-algebra.md explains it."""
def buffers(name: Any, /, **options: Any) -> Any:
    """The buffers of a prebuilt kernel for these options, in order: dicts of `name`, `type` of its elements, `bytes`, `input` and `output`; some are both.

    >>> [b["name"] for b in inlay.buffers("moe_combine", m=4, n=64, dtype="bf16")]"""
def build(kernel: Any, output: Any = ..., /, **options: Any) -> Any:
    """Builds a prebuilt kernel: `inlay build KERNEL`. The files go to the directory `output`, or to a new one.

    A dict of what the command's JSON has, and `directory`. A size may be a tuple, `m=(1, 16384)` or with a multiple `n=(1024, 8192, 64)`: several
    forms go into one file, from which `load` takes the one for the sizes of a launch; `most`, `points` and `forms` as of `inlay build --for`."""
def check(kernel: Any, /, *args: Any, grid: Any = ..., arch: Any = ..., check: Any = ..., stress: Any = ..., **kwargs: Any) -> Any:
    """Runs a kernel on the emulator and says what is wrong with it: races, bounds, uninit, waits, barriers, alignment, hazards.

    Of Triton: `kernel[grid]`, or the kernel and `grid=`; arguments and keywords as in a launch, arrays of numpy or CPU tensors of torch, which are
    written in place. Needs triton, and no GPU. With `stress=True` also under hostile orders of events.
    Of FlyDSL: a function with `@flyc.jit` and its arguments. Of a file, with `grid=`, `block=` and, where it has several, `kernel=`: a code object, a `.co` of AITER's, of whose products the row of
    the table beside it, or `row=`, says grid and block, a launch manifest, a folder of Triton's cache or of a FlyDSL dump, or HIP C++ (`.hip`, `.cpp`), which clang compiles.

        >>> report = inlay.check(add[(4,)], x, y, out, n, BLOCK=256)
        >>> assert report, report
        >>> inlay.check("add.hip", x, y, out, n, grid=4, block=256)"""
def compare(left: Any, right: Any, /, **options: Any) -> Any:
    """Two code objects side by side: `inlay compare`, as a dict."""
def draw(expression: Any = ..., /, *, tv: Any = ..., tile: Any = ..., mfma: Any = ..., banks: Any = ..., arch: Any = ...) -> Any:
    """A layout, an operation with its inputs, a thread-value layout, an MFMA, or the banks of an LDS access: `inlay draw`.

    >>> inlay.draw("zipped_divide((8,6):(1,8), <4,3>)")
    >>> inlay.draw("make_tiled_copy(8, (32,8):(8,1), (1,8):(0,1))", tv=True)
    >>> inlay.draw(mfma="32x32x8")"""
def exec(file: Any, *args: Any, kernel: Any = ..., grid: Any = ..., block: Any = ..., check: Any = ..., stress: Any = ..., stats: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """Runs a kernel of a code object on the emulator: `inlay exec`. Arrays are read, and written in place.

    Errors: ValueError for a read-only array that the kernel writes.

        >>> inlay.exec("add.hsaco", x, y, n, kernel="add", grid=4, block=256)["findings"]
        []
        >>> inlay.exec("built/gemm.json", size={"m": 16, "n": 64, "k": 128})["findings"]     # a launch manifest; inputs are zeros
        []"""
def explain(kernel: Any, /, **options: Any) -> Any:
    """What `auto` takes for these options of a prebuilt kernel, and why: a dict of `why`, a line, `options`, `clocks`, and `ranking`, the forms that there are.

    Every call of a kernel is of that form. The line goes to the logger `inlay` (level info) when a form is used first:

        >>> logging.basicConfig(level=logging.INFO)
        >>> inlay.explain("gemm", arch="MI355X", dtype="bf16", m=4096, n=4096, k=4096)["options"]["tile"]
        '256x256x64'"""
def flash_attention(q: Any, k: Any, v: Any, /, *, causal: Any = ..., device: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """Attention of q, k, v of shape (batch, sequence, heads, head size) of float16 or bfloat16. `device`, `arch`: as of gemm.

    Heads of k and v may be fewer: each is shared by as many heads of q. `causal`: query i sees keys 0 to i, however many there are."""
def fuzz(function: Any, operation: Any, /, *, cases: Any = ..., seed: Any = ..., **options: Any) -> Any:
    """Random inputs of `operation` for a function of yours, against inlay: `inlay fuzz --against`.

    The function gets what the operation gets, layouts as texts and tuples as lists, and returns a text, a number or a list; an exception is
    a refusal. A dict: `ok`, and the `report`, which names and shrinks the first input on which the two differ.

        >>> inlay.fuzz(lambda layout: my_library.coalesce(layout), "coalesce")["ok"]"""
def gated_delta(q: Any, k: Any, v: Any, g: Any, beta: Any, initial_state: Any = ..., *, normalise: Any = ..., device: Any = ..., arch: Any = ...) -> Any:
    """Linear attention by the gated delta rule: `(o, state)` of q and k (batch, tokens, heads of k, D), v (batch, tokens, heads, E), g and beta (batch, tokens, heads).

    For every sequence and head, token after token, from the initial state or from 0:

        S = e^g S + k beta (v - (e^g S)^T k)^T,   o = S^T q / sqrt(D)

    computed in chunks of 64 tokens. Elements are float16 or bfloat16, o is as v. g, at most 0 (minus infinity forgets all), and beta, with beta |k|^2 below 2 (near it digits are lost: of 1.9 and keys that are alike 4 %), are taken as float32; states are float32, (batch, heads, D, E), as
    of the kernel `gated_delta_step`, which goes on from the last one. D and E: 64 or 128. Heads of v that follow one another share one of q and k.
    `g` of None forgets nothing. `normalise`: q and k are divided by their lengths first. `device`, `arch`: as of gemm."""
def gemm(a: Any, b: Any, /, c: Any = ..., *, alpha: Any = ..., beta: Any = ..., bias: Any = ..., row_bias: Any = ..., activation: Any = ..., residual: Any = ..., scale_a: Any = ..., scale_b: Any = ..., device: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """a @ b, of matrices M x K and K x N, or act(alpha * (a @ b) + beta * c + bias + row_bias[:, None]) + residual. Sums are in float32, and rounded once.

    Elements: float16, bfloat16, float32 and float64, of which the result is one too (of float64 sums and all that follows are in float64; dtype="xf32"
    is float32 whose products leave out the low 13 bits, on gfx942); floats of 8 bits as the processor has them (float8_e4m3fnuz and float8_e5m2fnuz, or
    float8_e4m3fn and float8_e5m2), of which it is bfloat16; int8, of which it is int32, and bfloat16 with scales; float4_e2m1fn_x2, two along K in a byte.
    `out`: another type of the result, "f32", "f16" or "bf16".
    `scale_a`, `scale_b`: float32, one for each row of a and each column of b, or one for all; of float4, and of
    floats of 8 bits on gfx950, one float8_e8m0fnu for 32 of K, M x K/32 and N x K/32.
    `c`, `residual`: matrices M x N of the type of the result, which is a new array; where beta is 0, c is not read. `bias`: N numbers,
    `row_bias`: M, taken as float32. `activation`: "relu", "silu", "gelu" (of erf) or "gelu_tanh".
    `device`: "hip", the GPU, in torch's current stream for tensors of it; "emulator"; "auto": where the tensors are, and for those of the host the GPU if there
    is one. `arch`: the processor that is emulated, gfx942 if nobody says. Others: options of the kernel (`inlay.kernels("gemm")`). The form is
    chosen for the sizes, M rounded up to a power of two."""
def inspect(file: Any, /, **options: Any) -> Any:
    """What the machine code of a file is: `inlay inspect`, as a dict."""
def kernels(name: Any = ..., /) -> Any:
    """Names of the prebuilt kernels; of one its options with their defaults and what they mean."""
def load(file: Any, kernel: Any = ..., *, device: Any = ...) -> Any:
    """A kernel that `inlay.build` or `inlay bundle` wrote, ready to be launched: a LoadedKernel.

    `device`: "hip", the GPU, or "hip:1"; "emulator" or "emulator:gfx950"; "auto": what INLAY_DEVICE says, else the GPU where there is one,
    else the emulator.

        >>> softmax = inlay.load("built/softmax.json")
        >>> softmax(y, x, m=4, n=1024)"""
def rms_norm(x: Any, w: Any, /, *, eps: Any = ..., device: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """x / sqrt(mean(x^2) + eps) * w over the last dimension. `device`, `arch`: as of gemm."""
def run(kernel: Any, /, *, check: Any = ..., stress: Any = ..., time: Any = ..., seed: Any = ..., **options: Any) -> Any:
    """Builds a kernel, runs it on the emulator on random data and compares with its reference: `inlay run KERNEL`, as a dict."""
def run_kernel(name: Any, inputs: Any, /, *, device: Any = ..., arch: Any = ..., check: Any = ..., **options: Any) -> Any:
    """One launch of a prebuilt kernel with your data: a dict of its outputs, arrays of one dimension, or tensors of torch if an input is one.

    `inputs` maps the kernel's buffers, capitals or not, to arrays of their exact bytes, rows as the kernel lays them out, used where they lie if contiguous; one of as many dimensions as the buffer and
    of other extents is refused. `buffers(name, ..)` has them, `kernels(name)` the options. `device`, `arch`: as of gemm. On the emulator what the sanitizers find is an error.

        >>> inlay.run_kernel("softmax", {"x": x}, m=4, n=1024, dtype="f32")["y"].reshape(4, 1024)"""
def search(what: Any, *arguments: Any, **options: Any) -> Any:
    """A swizzle, padding, vector or tiler with its proof: `inlay search WHAT`, as a dict.

    >>> inlay.search("swizzle", view="ds_read_b128 ((16,4),2):((128,16),64)", tile=8192)["found"][0]"""
def softmax(x: Any, /, *, device: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """softmax over the last dimension. `device`, `arch`: as of gemm."""
def validate(file: Any, /, *args: Any, grid: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """Races and waits in every schedule, or claims about machine code: `inlay validate`, as a dict.

    Of a file as `check` takes it or a kernel's name, with the command's options; or of a Triton kernel or a function of FlyDSL's, whose arguments follow as in
    a launch: they say what it is compiled for, and what is shown holds for all values that the code can get.

        >>> inlay.validate("add.hsaco", block=256)["kernels"][0]["verdict"]
        >>> inlay.validate(add[(4,)], x, y, out, n, BLOCK=256)"""
def varlen_attention(q: Any, k: Any, v: Any, cu_seqlens: Any, cu_seqlens_k: Any = ..., /, *, longest: Any = ..., longest_k: Any = ..., causal: Any = ..., window: Any = ..., device: Any = ..., arch: Any = ..., **options: Any) -> Any:
    """Attention of sequences that stand one after the other: q (rows, heads, head size), k and v (rows, heads, head size) of float16 or bfloat16.

    `cu_seqlens`: where each begins in q, and where the last one ends, int32 or int64, as flash-attn has it: 0 first, then no smaller ones, at the end the number of rows;
    `cu_seqlens_k` in k and v, where it is another place. `longest`, `longest_k`: the longest sequences, or more. Places of the host are checked. Those of the GPU are copied to the host, which waits for
    it, and checked, if nobody says `longest`; with both nothing waits and nothing is checked: rows past the last place, or of a sequence past `longest`, are 0. `causal`: the last query sees all keys, the one before
    it one less; a query that sees none gives 0. `window`: with causal, keys that a query sees, its own the last. Others: options of the kernel
    (`inlay.kernels("varlen_attention")`), `device`, `arch`: as of gemm.

        >>> inlay.varlen_attention(q, k, v, numpy.array([0, 100, 101, 164]), causal=True)"""
