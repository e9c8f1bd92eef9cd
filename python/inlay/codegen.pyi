# Written by python/stubs.py.
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, overload

from . import Layout as Layout, Swizzle as Swizzle

class ProgramError(ValueError):
    """A program that is refused: a claim that does not hold, with its counterexample, or an operation that is none. Fields: file, line, of the program."""
    file: str
    line: int

class Artifact:
    """A kernel as machine code, with what was proved about it."""
    @property
    def kernel(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def ir(self) -> str: ...
    @property
    def assembly(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def schedule(self) -> str: ...
    @property
    def manifest(self) -> str: ...
    @property
    def proofs(self) -> ProofReport: ...
    @property
    def hsaco(self) -> bytes: ...
    @property
    def buffers(self) -> List[str]: ...
    @property
    def sizes(self) -> List[str]: ...
    @property
    def validation(self) -> str: ...
    def run(self, *buffers: Any, check: Any = ..., stress: Any = ..., **sizes: Any) -> Any:
        """One launch on the emulator: buffers in the order of the program, which the launch uses where they lie, and sizes by name.

        Arrays of numpy or CPU tensors of torch, of the buffer's type; where numpy has none (bfloat16, float8) integers of its bits. Of the tensor's shape, or
        flat: an array of as many dimensions with other extents is refused, but where rows are counted by other dimensions. One that is not contiguous is copied, there and back. A size of 0 that leaves nothing to write is no launch.
        Of a program that several devices run, all of them launch it: an output is a list with an array for each device, and so may be an input
        that is no peer's; their ranks are given by themselves.
        Of a program for many problems, k.problems("groups", [m]), each tensor is a list with an array for each of them, None where it has no elements, and
        each own size a list of numbers: artifact.run([c0, c1], [a0, a1], [b0, b1], m=[300, 17], n=64, k=32). How many there are follows.
        `stress`: so many launches more, each in another order of waves and with memory as late as hardware may have it, and the same bits.
        Errors: CommandError for sizes that the launch contract refuses and for what the sanitizers `check` find, with the line of the program; for other
        bits under stress, and then nothing is written."""
    def save(self, directory: Any) -> Any:
        """Writes what `inlay build` writes: code object, launch manifest, IR, assembly, proofs. The manifest's file, which inlay.load,
        inlay.exec, inlay.time, inlay.validate and the command line take."""
    def time(self, *buffers: Any, **sizes: Any) -> Any:
        """Clocks of a launch on hardware by the model, an inlay.Timing. Without buffers they hold zeros."""

class Atom:
    """One instruction that moves data or multiplies matrices. `inlay atoms` lists them."""
    @staticmethod
    def named(target: str, name: str) -> Atom: ...
    @staticmethod
    def mma_best(target: str, a: str, b: str, c: str, m: int) -> Atom:
        """The dense product of m x m results with the largest k: Atom.mma_best('MI355X', 'f16', 'f16', 'f32', 16)."""
    @staticmethod
    def mma_of(target: str, a: str, b: str, c: str, m: int, k: int) -> Atom:
        """The dense product of m x m results with that k."""
    @staticmethod
    def mma_scaled(target: str, a: str, b: str, m: int) -> Atom:
        """The product that multiplies A and B by e8m0 scales of 32 k each."""
    @property
    def name(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def mnk(self) -> Any: ...

class Expr:
    """A real number as an expression over elements and indices: what a specification says, and what a map computes. + - * / with expressions, formulas and numbers. Of integers modulo 2^32 also & | ^ ~ << >>."""
    def __add__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __radd__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __sub__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __rsub__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __mul__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __rmul__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __truediv__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    def __rtruediv__(self, other: Union[Expr, Sym, float]) -> Expr: ...
    @property
    def is_integer(self) -> bool: ...
    def __neg__(self) -> Expr: ...
    def __bool__(self) -> bool: ...
    def __str__(self) -> str: ...

class Fragment:
    """A tile in registers: (thread, value) -> coordinate of the tile."""
    @property
    def element(self) -> str: ...
    @property
    def tv(self) -> Layout: ...
    @property
    def extents(self) -> tuple: ...
    @property
    def threads(self) -> int: ...
    @property
    def values(self) -> int: ...

class Index:
    """An index of a tensor in a specification: a formula, or an entry of a table (Program.at)."""
    def __init__(self, at: Union[Sym, int]) -> None: ...

class MmaTiling:
    """A block of C computed by several waves, one matrix instruction at a time. a(), b(), c() are (thread, value) -> coordinate: what each lane holds."""
    @staticmethod
    def of(atom: Atom, waves_m: int, waves_n: int, m: int, n: int, k: int, k_vector: int) -> MmaTiling: ...
    def with_columns(self, adjacent: int) -> MmaTiling:
        """The same with that many adjacent columns of C in a lane."""
    def repeated(self, times: int) -> MmaTiling:
        """The same by so many groups of waves, each of which computes the whole block."""
    def a(self) -> Layout: ...
    def b(self) -> Layout: ...
    def c(self) -> Layout: ...
    def b_place(self) -> SymLayout: ...
    def c_by_eights(self) -> Layout: ...
    def a_scales(self) -> Layout:
        """-> (m, k // 32)"""
    def b_scales(self) -> Layout:
        """-> (n, k // 32)"""
    def threads(self) -> int: ...
    def clocks(self) -> int:
        """That a wave's products of the block keep its matrix pipe busy."""
    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def k(self) -> int: ...

class OrderClaim:
    """What is known of the bits of a kernel's sums; true when it is proved."""
    @property
    def claim(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def operation(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __str__(self) -> str: ...

class Origin:
    """Where a view begins: a formula for each axis of its tensor."""
    def __len__(self) -> int: ...
    def __getitem__(self, arg0: int) -> Sym: ...
    def __setitem__(self, arg0: int, arg1: Union[Sym, int]) -> None: ...

class Program:
    """A kernel as tiles and operations on them, and the index expression that it computes (docs/guide/5-first-kernel.md). Each operation keeps the line of Python that wrote it."""
    def __init__(self, name: str, target: str, threads: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def threads(self) -> int: ...
    def text(self) -> str:
        """One operation a line."""
    def __str__(self) -> str: ...
    def size(self, name: str, *, least: int = ..., most: int = ..., multiple: int = ...) -> Sym:
        """A size of the launch: any number with these facts, which the launch checks."""
    def workgroups(self, axis: int, extent: Union[Sym, int], tile: int) -> Sym:
        """The number of this workgroup along a grid axis; there are ceil_div(extent, tile)."""
    def order_tiles(self, order: str) -> None:
        """Another workgroup for each tile: 'xcd+rows:8'."""
    def share(self, workers: int, extent: Union[Sym, int], tile: int) -> Tuple[Sym, Sym]:
        """A part of a tile's sum over an extent (stream-K): trips (begin, count)."""
    def persistent(self, workers: int) -> None:
        """That many workgroups walk over all tiles of the grid, and run the program once for each of theirs."""
    def problems(self, count: str, own: Sequence[Union[Sym, int]]) -> None:
        """One launch for many problems: each has tensors of its own, and these sizes. In artifact.run a tensor is then a list of arrays, one a problem, and an own size a list of numbers (docs/guide/35-problems.md)."""
    def waves_per_simd(self, waves: int) -> None:
        """A limit on registers: room for so many waves on a SIMD, or the build refuses."""
    def uniform(self, table: Tensor, at: Union[Sym, int]) -> Sym:
        """table[at], a number of the workgroup."""
    def input(self, name: str, element: str, shape: Sequence[Union[Sym, int]], place: Any = ...) -> Tensor:
        """A tensor in memory. place: coordinate -> element number, row-major when absent."""
    def output(self, name: str, element: str, shape: Sequence[Union[Sym, int]], place: Any = ...) -> Tensor:
        """A tensor that the kernel writes."""
    def inout(self, name: str, element: str, shape: Sequence[Union[Sym, int]], place: Any = ...) -> Tensor:
        """An output that holds an input before the launch; in its specification it is what was there."""
    def devices(self, count: int) -> Sym:
        """That many devices run the program together, each a launch of its own: its rank, 0 to count - 1."""
    def peers(self, name: str, element: str, shape: Sequence[Union[Sym, int]], place: Any = ...) -> List[Tensor]:
        """An input of every device, in the memory of each: `name_0`, `name_1`, ... They may be loaded between two meetings."""
    def paged(self, name: str, cache: Tensor, table: Tensor) -> Tensor:
        """A cache of pages [P, page, ...] looked at by position through a table [S, pages]: a tensor without memory."""
    def window(self, name: str, of: Tensor, axes: Sequence[Tuple[Union[Sym, int], Sequence[Union[Tuple[Union[Sym, int], int], Tuple[Union[Sym, int], int, Union[Sym, int]]]]]], origin: Sequence[Union[Sym, int]]) -> Tensor:
        """An input looked at from elsewhere, 0 outside of it (im2col by views): of(origin + sum of step * digit). An axis is (extent, digits), a digit (extent, axis of the input) or (extent, axis of the input, step), the first one fastest."""
    def value(self, table: Tensor, at: Union[Sym, int]) -> Sym:
        """table[at] as a number in a specification, where `at` may be made of the coordinates."""
    def far(self, tensor: Tensor) -> None:
        """An input whose tiles are loaded by addresses of 64 bits in each lane."""
    def lds(self, name: str, element: str, shape: Sequence[int], swizzle: Optional[Swizzle] = ..., padding: int = ..., *, place: Any = ...) -> Tensor:
        """A tile in LDS, row-major or at a place, under a swizzle."""
    def conflict_free_tile(self, name: str, element: str, rows: int, columns: int, vector: int, write: Union[Layout, str], read: Union[Layout, str]) -> Tensor:
        """A row-major tile in LDS under a swizzle with which neither its write nor its read has a bank conflict."""
    def __call__(self, tensor: Tensor, index: Sequence[Union[Index, Sym, int]]) -> Expr: ...
    def at(self, table: Tensor, *args: Any) -> Index:
        """table[first, ...] as an index: X[k.at(ids, m), j]."""
    def entry(self, table: Tensor, at: Sequence[Union[Sym, int]]) -> Sym:
        """The number of an entry of a table, row by row."""
    def number(self, value: Union[Sym, int]) -> Expr:
        """A formula as an expression."""
    def integer(self, value: int) -> Expr:
        """An integer modulo 2^32."""
    def constant(self, value: float) -> Expr: ...
    @overload
    def sum(self, extent: Union[Sym, int], body: Callable[..., Any]) -> Expr:
        """sum(*args, **kwargs)

        The sum of body(i) over 0 <= i < extent.

        A part of it: begin <= i < end."""
    @overload
    def sum(self, extent: Union[Sym, int], begin: Union[Sym, int], end: Union[Sym, int], body: Callable[..., Any]) -> Expr: ...
    def computes(self, tensor: Tensor, body: Any = ...) -> Any:
        """tensor[i, j, ...] = body(i, j, ...) for all coordinates."""
    def scatters(self, tensor: Tensor, table: Tensor, body: Any = ...) -> Any:
        """tensor[r, j, ...] = the sum of body(s, j, ...) over the entries s of a table with table[s] = r."""
    def puts(self, tensor: Tensor, table: Tensor, body: Any = ...) -> Any:
        """tensor[table[s], j, ...] = body(s, j, ...) for every entry s of a table, no two of which name one row; rows that none names keep what they held, so the tensor is an `inout`."""
    def tile(self, tensor: Tensor, extents: Sequence[int], index: Sequence[Union[Sym, int]]) -> View:
        """Tile number `index` of a tensor."""
    def whole(self, lds: Tensor) -> View:
        """All of a tile in LDS."""
    def copy(self, from_: View, to: Tensor, tv: Union[Layout, str], vector: int) -> None:
        """Memory to LDS, through registers."""
    def transfer(self, from_: View, to: Tensor, tv: Union[Layout, str], vector: int) -> None:
        """Memory to LDS, past the registers."""
    def load(self, from_: View, tv: Union[Layout, str], vector: int) -> Fragment:
        """A tile to registers, `vector` adjacent elements at a time."""
    def read(self, from_: Tensor, tv: Union[Layout, str], vector: int) -> Fragment:
        """A tile in LDS to registers."""
    def store(self, from_: Fragment, to: View, vector: int) -> None:
        """Registers to a tile."""
    def add(self, from_: Fragment, to: View) -> None:
        """to += from, by atomics."""
    def zeros(self, element: str, tv: Union[Layout, str], extents: Sequence[int]) -> Fragment:
        """A tile of zeros in registers."""
    def full(self, value: float, tv: Union[Layout, str], extents: Sequence[int]) -> Fragment:
        """A tile of one number in registers."""
    @overload
    def mma(self, acc: Fragment, a: Fragment, b: Fragment, mma: MmaTiling) -> None:
        """mma(*args, **kwargs)

        acc[m, n] += sum over k of a[m, k] b[n, k]

        The same with scales of 32 k each."""
    @overload
    def mma(self, acc: Fragment, a: Fragment, a_scales: Fragment, b: Fragment, b_scales: Fragment, mma: MmaTiling) -> None: ...
    def map(self, from_: Sequence[Fragment], body: Callable[..., Any], element: str = ..., *, tv: Optional[Union[Layout, str]] = ..., contract: bool = ..., approximate: bool = ..., reassociate: bool = ...) -> Fragment:
        """body(x, y, ...) of the elements of each place; tv: where the result is wanted. contract: a product and a sum are one instruction, rounded once; approximate: quotients and roots within 1 ulp of the reciprocal and the root; reassociate: sums of four and more by halves."""
    def update(self, to: Fragment, from_: Sequence[Fragment], body: Callable[..., Any], *, contract: bool = ..., approximate: bool = ..., reassociate: bool = ...) -> None:
        """to = body(to, from...): what a loop carries from trip to trip."""
    def relayout(self, from_: Fragment, tv: Union[Layout, str], element: str, nan: str = ...) -> Fragment:
        """The same elements where tv wants them."""
    def position(self, axis: int) -> Sym:
        """The coordinate of an element of a map along an axis of its tile."""
    def fill(self, from_: Fragment, axis: int, origin: Union[Sym, int], bound: Union[Sym, int], beyond: float) -> Fragment:
        """`from_` inside of the tensor that it was loaded from, `beyond` outside."""
    @overload
    def fold(self, monoid: str, from_: Fragment, axis: int, element: str = ...) -> Fragment:
        """fold(*args, **kwargs)

        The sum, max or min of a tile along an axis; every thread gets it. "i32": of a fragment of i32, exactly, the sum modulo 2^32. "u32": likewise, its elements without a sign.

        In a specification: over 0 <= i < extent of body(i). "u32": of integers without a sign."""
    @overload
    def fold(self, monoid: str, extent: Union[Sym, int], body: Callable[..., Any], element: str = ...) -> Expr: ...
    def scan(self, monoid: str, from_: Fragment, axis: int, element: str = ...) -> Tuple[Fragment, Fragment]:
        """The same up to each element along the axis, itself included, and of all of them: (prefix, all). In a specification k.sum(n, 0, i + 1, body)."""
    @overload
    def top(self, count: int, from_: Fragment, axes: Sequence[int]) -> Tuple[List[Fragment], List[Fragment]]:
        """top(*args, **kwargs)

        The greatest elements of a tile along its axes and their places, (values, places): of equal ones the least place first. The tile has all of its tensor there, and a row lies in one wave.

        And what another fragment, of bf16 or f16 and laid out alike, has at those places: (values, places, of_beside).

        In a specification: of body(i, ..) over 0 <= i < extent, (values, places)."""
    @overload
    def top(self, count: int, from_: Fragment, beside: Fragment, axes: Sequence[int]) -> Tuple[List[Fragment], List[Fragment], List[Fragment]]: ...
    @overload
    def top(self, count: int, extents: Sequence[Union[Sym, int]], body: Callable[..., Any]) -> Tuple[List[Expr], List[Expr]]: ...
    def at_place(self, place: Expr, extents: Sequence[Union[Sym, int]], body: Callable[..., Any]) -> Expr:
        """In a specification: body(i, ..) where it stands at a place that `top` gives over the same extents."""
    @overload
    def loop(self, extent: Union[Sym, int], tile: int, body: Optional[Callable[..., Any]] = ..., *, distance: int = ..., ring: int = ..., pins: str = ..., depth: str = ..., stagger: bool = ..., pingpong: bool = ...) -> Any:
        """loop(*args, **kwargs)

        body(t) for each tile of an extent, pipelined: loads run `distance` trips ahead, LDS has `ring` stages. As a decorator: @k.loop(K, 64) before def trip(t).

        The trips from where `begin` lies on, a number of whole tiles: the first t is begin / tile."""
    @overload
    def loop(self, begin: Union[Sym, int], end: Union[Sym, int], tile: int, body: Optional[Callable[..., Any]] = ..., *, distance: int = ..., ring: int = ..., pins: str = ..., depth: str = ..., stagger: bool = ..., pingpong: bool = ...) -> Any: ...
    def check(self, from_: Sequence[Fragment], body: Callable[..., Any], text: str) -> None:
        """Ends the launch where body(x, y, ...) is 0 for an element: an assertion of the running kernel."""
    def print(self, text: str, from_: Union[Sequence[Fragment], Sequence[Union[Sym, int]]], values: Optional[Callable[..., Any]] = ..., when: Optional[Callable[..., Any]] = ...) -> None:
        """Prints text, a value in the place of each {}: of fragments for each element where when(x, y, ...) is not 0, values(x, y, ...) or the elements themselves; of numbers of the workgroup or the trip once."""
    def if_less(self, a: Union[Sym, int], b: Union[Sym, int], then: Any = ..., otherwise: Any = ...) -> Any:
        """`then` in the workgroups where a < b, `otherwise` in the others. As a decorator: @k.if_less(a, b) before def then()."""
    def roles(self, roles: Sequence[Tuple[str, int, Any]]) -> list:
        """Groups of waves that do different things: (name, waves, function or None) each. What the functions give."""
    def ticket(self, name: str, number: Union[Sym, int]) -> Sym:
        """The place of this workgroup among those that come here."""
    def await_(self, name: str, number: Union[Sym, int]) -> None:
        """Waits until it is this workgroup's turn; `await` in C++."""
    def meet(self, name: str) -> None:
        """Waits until the workgroup of this number is here on all devices, by flags in the memory of each."""
    def signal(self, name: str) -> None:
        """Passes the turn on."""
    def prove(self, *, scheduler: str = ...) -> ProofReport:
        """Derives and decides every claim, and builds nothing: a ProofReport. What is refuted or not decided is a ProgramError with the operation, its line and a counterexample."""
    def orders(self) -> SumOrders:
        """The order of every floating-point sum, and whether bits depend on it: deterministic, batch-invariant, position-invariant, split-invariant (docs/guide/19-determinism.md). Holds of what `prove` accepts."""
    def build(self, *, scheduler: str = ..., loops: str = ..., validate: bool = ...) -> Artifact:
        """Proves every claim, then emits machine code: an Artifact. `validate`: also holds the machine code against it, which artifact.validation tells; undecided, as after 60,000,000 steps (about a minute), is a UserWarning. A loop with ring = 1 that asks for a distance and has none is a UserWarning."""

class ProofReport:
    """The claims of a kernel, and how each of them was decided."""
    @property
    def items(self) -> list: ...
    @property
    def proved(self) -> int: ...
    @property
    def at_launch(self) -> int: ...
    def text(self) -> str: ...
    def __str__(self) -> str: ...

class SumOrders:
    """The order of a kernel's floating-point sums, and what follows about bits."""
    @property
    def claims(self) -> List[OrderClaim]: ...
    @property
    def sums(self) -> Dict[str, str]: ...
    def __getitem__(self, claim: str) -> OrderClaim: ...
    def __str__(self) -> str: ...

class Sym:
    """An integer that depends on the sizes of a launch and on the workgroup: a polynomial, with // and % as floor division, and min and max. Equal values are equal polynomials."""
    def __init__(self, value: int) -> None: ...
    def __add__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __radd__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __sub__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __rsub__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __mul__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __rmul__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __floordiv__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __rfloordiv__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __mod__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __rmod__(self, arg0: Union[Sym, int]) -> Sym: ...
    def __neg__(self) -> Sym: ...
    def __eq__(self, arg0: Union[Sym, int]) -> bool: ...  # type: ignore[override]
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __str__(self) -> str: ...

class SymLayout:
    """Where elements lie: a layout whose extents and strides may be formulas."""
    def __str__(self) -> str: ...

class Tensor:
    """An array in memory or in LDS. In a specification t[i, j] is its element."""
    @property
    def name(self) -> str: ...
    @property
    def element(self) -> str: ...
    @property
    def shape(self) -> tuple: ...
    @property
    def place(self) -> str: ...
    def __getitem__(self, index: Any) -> Expr: ...

class View:
    """Positions of a tensor: a tile, or a part of it."""
    @property
    def where(self) -> Layout: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def extents(self) -> tuple: ...
    def partition(self, tv: Union[Layout, str]) -> View:
        """The same with positions (thread, value)."""
    def keep(self, modes: Sequence[int]) -> View:
        """The modes of these numbers alone; the others must have one position."""
    def reorder(self, mode: int, order: Union[Layout, str]) -> View:
        """Position p along the mode is coordinate order(p) of what it was."""
    def through(self, mode: int, ids: Fragment) -> View:
        """Position p along the mode is coordinate ids(p): rows of a table. Elements outside of the tensor read as 0."""
    def cached(self, policy: str) -> View:
        """What its loads, copies and stores tell caches: 'nt' (used once), 'sc0', 'sc1', or several of them."""
def ceil_div(a: Union[Sym, int], b: Union[Sym, int]) -> Sym:
    """(a + b - 1) // b"""
def choose(condition: Expr, yes: Any, no: Any) -> Expr:
    """condition != 0 ? yes : no, of an integer."""
def columns_tv(rows: int, columns: int, vector: int, threads: int, down: int = ...) -> Layout:
    """Work-items down the rows, blocks of `down` rows each."""
def conflict_free_swizzle(target: str, element: str, rows: int, columns: int, uses: Sequence[Tuple[Union[Layout, str], int, bool]]) -> Swizzle:
    """The same, which must be there."""
def equal(a: Expr, b: Any) -> Expr:
    """a = b, 1 or 0."""
def erf(x: Expr) -> Expr:
    """The error function, within 6e-7."""
def exp(x: Expr) -> Expr:
    """e^x"""
def exp2(x: Expr) -> Expr:
    """2^x"""
def find_swizzle(target: str, element: str, rows: int, columns: int, uses: Sequence[Tuple[Union[Layout, str], int, bool]]) -> Optional[Swizzle]:
    """The smallest swizzle under which a row-major tile in LDS has no bank conflict in any of its uses, (tv, vector, whether it reads) each; None where there is none."""
def float_bits(x: Expr) -> Expr:
    """The code of a number as f32."""
def floor(x: Expr) -> Expr:
    """The greatest whole number that is not above x."""
def floor_div(a: Union[Sym, int], b: Union[Sym, int]) -> Sym:
    """a // b, rounded to minus infinity."""
def floor_mod(a: Union[Sym, int], b: Union[Sym, int]) -> Sym:
    """a - b * (a // b)"""
def from_bits(x: Expr) -> Expr:
    """The f32 with that code."""
def from_code(type: str, code: Expr) -> Expr:
    """The number whose code of type 'e2m1', 'e2m3', 'e3m2' or 'i4' the lowest bits of an integer are."""
def gelu(x: Expr) -> Expr:
    """x / 2 * (1 + erf(x / sqrt(2)))"""
def gelu_tanh(x: Expr) -> Expr:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))"""
def inside(index: Union[Sym, int], bound: Union[Sym, int], x: Expr, beyond: float) -> Expr:
    """index < bound ? x : beyond. How the empty element of a fold takes the place of what is outside."""
def integer(x: Expr) -> Expr:
    """Of an element of i32 or i8, or a formula: the same integer modulo 2^32. Of an element of i64 the nearest of 32 bits: of 2**32 + 3 it is 2**31 - 1."""
def leading_zeros(x: Expr) -> Expr:
    """How many bits of an integer are 0 above its highest one; 32 of 0."""
def less_signed(a: Expr, b: Any) -> Expr:
    """a < b with signs, 1 or 0."""
def less_unsigned(a: Expr, b: Any) -> Expr:
    """a < b, 1 or 0."""
def line_tv(extent: int, vector: int, threads: int) -> Layout:
    """Vectors along a line."""
def log(x: Expr) -> Expr:
    """The natural logarithm."""
def log2(x: Expr) -> Expr:
    """The logarithm to base 2."""
def max(a: Any, b: Any) -> Any:
    """The larger of two formulas, or of two expressions."""
def min(a: Any, b: Any) -> Any:
    """The smaller of two formulas, or of two expressions."""
def mish(x: Expr) -> Expr:
    """x * tanh(softplus(x))"""
def mul_hi(a: Expr, b: Any) -> Expr:
    """Bits 32 to 63 of the product of two integers, unsigned."""
def nearest(x: Expr) -> Expr:
    """The nearest whole number, ties to the even one."""
def philox4x32(counter: Sequence[Expr], key: Sequence[Expr]) -> List[Expr]:
    """The four random words of a counter of four integers and a key of two, by Philox4x32-10."""
def popcount(x: Expr) -> Expr:
    """How many bits of an integer are set."""
def rcp(x: Expr) -> Expr:
    """1 / x"""
def relu(x: Expr) -> Expr:
    """max(x, 0)"""
def rows_tv(rows: int, columns: int, vector: int, threads: int) -> Layout:
    """Work-items along rows of vectors."""
def rsqrt(x: Expr) -> Expr:
    """1 / sqrt(x)"""
def scales_place(rows: int, columns: int, waves: int) -> SymLayout:
    """The place of MX scales that such a transfer fills."""
def scales_transfer_tv(rows: int, columns: int, waves: int, threads: int) -> Layout:
    """The same for MX scales, one for 32 k."""
def select(a: Expr, b: Any, yes: Any, no: Any) -> Expr:
    """a >= b ? yes : no"""
def shift_right_signed(a: Expr, b: Any) -> Expr:
    """a >> b with copies of the sign."""
def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e^-x)"""
def silu(x: Expr) -> Expr:
    """x / (1 + e^-x)"""
def softplus(x: Expr) -> Expr:
    """log(1 + e^x), without overflow."""
def sqrt(x: Expr) -> Expr:
    """The square root."""
def tanh(x: Expr) -> Expr:
    """The hyperbolic tangent, within 3e-7."""
def to_code(type: str, x: Expr) -> Expr:
    """The code of type 'e2m1', 'e2m3', 'e3m2' or 'i4' of the nearest number, ties to the even code; past the ends the last one."""
def to_number(x: Expr) -> Expr:
    """An integer as a number, with its sign."""
def to_number_unsigned(x: Expr) -> Expr:
    """An integer as a number from 0 to 2^32 - 1."""
def trailing_zeros(x: Expr) -> Expr:
    """How many bits of an integer are 0 below its lowest one; 32 of 0."""
def transfer_place(rows: int, columns: int, vector: int, lanes: int = ..., whole_lines: bool = ...) -> SymLayout:
    """The place of a tile that such a transfer fills."""
def transfer_tv(rows: int, columns: int, vector: int, threads: int, lanes: int = ..., whole_lines: bool = ...) -> Layout:
    """What a transfer to LDS wants: a wave's data lies lane after lane."""
def transposed(tv: Union[Layout, str]) -> Layout:
    """tv in the transposed tile."""
def truncated(x: Expr) -> Expr:
    """A number toward zero as an integer; saturates, 0 for NaN."""
def values_exchanged(tv: Union[Layout, str]) -> Layout:
    """The same elements of each work-item, its first two modes of values exchanged."""
def without_axis(tv: Union[Layout, str], axis: int, values_too: bool = ...) -> Layout:
    """tv without movement along an axis: how a row's scale lies beside the tile that has the row."""
