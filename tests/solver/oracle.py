#!/usr/bin/env python3
"""Verdicts of `inlay prove` judged by Python's integers: an oracle that shares nothing with the solver.

Layouts, swizzled and composed layouts and formulas are drawn over the symbols n, m and t, with conditions on them, and
`inlay prove --jsonl` is asked about all its properties. Then the definition is enumerated:

  proved    has to hold at every instance tried: values of the symbols that satisfy the conditions, drawn towards the edges
            (0 and negative ones, extents of 1, the bounds of the conditions, values past 2^31, 2^62 and 2^63)
  refuted   has to fail at its witness
  an error  has to be true: conditions that contradict each other have no instance, an extent is not positive where it says
  unknown   is allowed and counted

    oracle.py build/release/bin/inlay [questions] [seed] [--recheck SHARE] [--only PROPERTY] [--show]

Exit status 1 when a verdict is wrong, or when too few are decided for this to say something.
"""
import argparse
import collections
import functools
import json
import os
import random
import re
import select as io_select
import subprocess
import sys
import time
import types

NAMES = ["n", "m", "t"]
PROPERTIES = (["equal"] * 5 + ["within"] * 4 + ["injective"] * 4 + ["bijective"] * 3 + ["covers"] * 3 + ["disjoint"] * 3 +
              ["aligned"] * 3 + ["inverse"] * 2 + ["conflict-free"] + ["coalesced"])
EDGES = [*range(-7, 10), 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 1000, 4096, 2**20 + 1,
         2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 + 3, -100, -2**31, -2**63]
MOST_INDICES = 3000  # beyond, only some indices are looked at
SECONDS = 60         # of processor time for one question; ten times as many where others are at work
AHEAD = 16           # questions asked before the first of them is judged

# Which lanes share a phase: nod-ai/amd-shark-ai docs/empirical-lds, measured on MI300X. Bytes a lane, lanes of each phase.
def eights(*ranges):
    return [lane + half for a, b in ranges for lane in range(a, b + 1) for half in (0,)]


PHASES = {
    "ds_read_b32": (4, [list(range(32)), list(range(32, 64))]),
    "ds_read_b64": (8, [list(range(k, k + 16)) for k in range(0, 64, 16)]),
    "ds_read_b128": (16, [[lane + half for lane in eights(*r)] for half in (0, 32) for r in (
        ((0, 3), (20, 23)), ((4, 7), (16, 19)), ((8, 11), (28, 31)), ((12, 15), (24, 27)))]),
    "ds_write_b128": (16, [list(range(k, k + 8)) for k in range(0, 64, 8)]),
    # Bytes and halves come out of the dword around them.
    "ds_read_u8": (4, [list(range(32)), list(range(32, 64))]),
    "ds_read_u16": (4, [list(range(32)), list(range(32, 64))]),
}
ALIGNMENT = {"ds_read_u8": 1, "ds_read_u16": 2}
BANKS, LINE = 32, 128


# ---- one text for both readers

def python(text):
    """What inlay reads as Python reads it."""
    text = re.sub(r"/+", "//", text).replace("&&", " and ").replace("||", " or ")
    return re.sub(r"!(?!=)", " not ", text)


@functools.lru_cache(20_000)
def code(text):
    return compile(python(text), text, "eval")


@functools.lru_cache(2_000)
def function_code(text, names):
    """The formula as the code of a function of its coordinates; symbols are its globals."""
    made = compile(f"lambda {', '.join(names)}: ({python(text)})", text, "eval")
    return next(c for c in made.co_consts if isinstance(c, types.CodeType))


def select(condition, yes, no):
    return yes if condition else no


BUILTINS = {"__builtins__": {}, "min": min, "max": max, "select": select, "ceil_div": lambda a, b: (a + b - 1) // b}


class Skip(Exception):
    """This instance says nothing: a division by zero, an endless shift."""


def value(expression, env):
    try:
        return int(eval(expression, BUILTINS, env))
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError) as e:
        raise Skip(str(e)) from e


class Empty(Exception):
    """An extent below 1."""


def swizzle(x, bits, base, shift):
    mask = ((1 << bits) - 1) << (base + max(shift, 0))
    return x ^ ((x & mask) >> shift if shift >= 0 else (x & mask) << -shift)


class Function:
    """text and domain for inlay; extents of the top-level modes and a value for each coordinate here."""

    def __init__(self, text, domain=None, modes=None, formula=None, names=None, extents=None, outer=()):
        self.text, self.domain, self.outer = text, domain, list(outer)
        self.modes = modes      # per top-level mode: [(extent, stride), ...] as code
        self.formula = function_code(formula, tuple(names)) if formula is not None else None
        self.names = names
        self.own_extents = extents

    def bind(self, env):
        """Numbers instead of symbols. Empty when an extent is below 1."""
        bound = Bound()
        bound.formula = types.FunctionType(self.formula, {**BUILTINS, **env}) if self.formula is not None else None

        def numbers(groups):
            out = [[(value(e, env), value(d, env)) for e, d in g] for g in groups]
            if any(e < 1 for g in out for e, _ in g):
                raise Empty
            return out

        bound.outer = []
        for kind, what in reversed(self.outer):
            if kind == "layout":
                bound.outer.append((kind, [leaf for g in numbers(what) for leaf in g]))
            elif kind == "offset":
                bound.outer.append((kind, value(what, env)))
            else:
                bound.outer.append((kind, what))
        if self.formula is None:
            bound.modes = numbers(self.modes)
            bound.extents = []
            for g in bound.modes:
                bound.extents.append(1)
                for e, _ in g:
                    bound.extents[-1] *= e
        else:
            bound.extents = [value(e, env) for e in self.own_extents]
            if any(e < 1 for e in bound.extents):
                raise Empty
        bound.size = 1
        for e in bound.extents:
            bound.size *= e
        return bound


def along(leaves, x):
    total = 0
    for k, (extent, stride) in enumerate(leaves):
        if k + 1 == len(leaves):
            return total + x * stride
        total += x % extent * stride
        x //= extent
    return total


class Bound:
    def coordinate(self, index):
        out = []
        for e in self.extents:
            out.append(index % e)
            index //= e
        return out

    def at(self, index):
        c = self.coordinate(index)
        if self.formula is None:
            x = sum(along(g, k) for g, k in zip(self.modes, c))
        else:
            try:
                x = int(self.formula(*c))
            except (ZeroDivisionError, ValueError, OverflowError, MemoryError) as e:
                raise Skip(str(e)) from e
        for kind, what in self.outer:
            if kind == "layout":
                x = along(what, x)
            elif kind == "offset":
                x += what
            else:
                x = swizzle(x, *what)
        return x

    def pairs(self, indices):
        """(index, value) of each; of a layout all at once, as every index takes the next coordinate."""
        if self.formula is not None or len(indices) < self.size:
            return ((i, self.at(i)) for i in indices)
        values = [0]
        for extent, stride in (leaf for g in self.modes for leaf in g):
            values = [v + k for k in range(0, extent * stride, stride) for v in values] if stride else values * extent
        for kind, what in self.outer:
            if kind == "layout":
                values = [along(what, x) for x in values]
            elif kind == "offset":
                values = [x + what for x in values]
            else:
                values = [swizzle(x, *what) for x in values]
        return enumerate(values)

    def indices(self):
        """All of them, or those where functions that differ usually do."""
        if self.size <= MOST_INDICES:
            return range(self.size), True
        rng = random.Random(self.size)
        some = {0, 1, 2, self.size - 1, self.size - 2, self.size // 2}
        before = 1
        for e in (e for g in self.modes for e, _ in g) if self.formula is None else self.extents:
            some |= {before, before - 1, before + 1, before * (e - 1), before * 2, before * (e // 2)}
            before *= e
        some |= {1 << k for k in range(self.size.bit_length())} | {rng.randrange(self.size) for _ in range(150)} | set(range(64))
        return sorted(i for i in some if 0 <= i < self.size), False


# ---- drawing

def draw_formula(rng, depth, atoms, symbols):
    def sub():
        return draw_formula(rng, depth - 1, atoms, symbols)

    s = symbols or ["4"]
    kind = rng.random()
    if depth == 0 or kind < 0.18:
        return rng.choice(atoms * 3 + s + ["1", "2", "3", "4", "8"])
    if kind < 0.34:
        return f"({sub()} + {sub()})"
    if kind < 0.45:
        return f"({sub()} * {rng.choice(['2', '3', '4', '8', *s])})"
    far = [f"({rng.choice([40, 2**33, 2**45, 2**62])} - {s[0]})"] if rng.random() < 0.15 else [] # only large values break it
    if kind < 0.60:
        return f"({sub()} % {rng.choice(['2', '3', '4', '8', *s, f'(2*{s[0]})'] + 9 * far)})"
    if kind < 0.74:
        return f"({sub()} / {rng.choice(['2', '3', '4', '8', *s] + 9 * far)})"
    if kind < 0.80:
        return f"({sub()} {rng.choice('^^|')} {sub()})"
    if kind < 0.84:
        return f"({sub()} & {rng.choice(['1', '3', '7', '6', '12', sub()])})"
    if kind < 0.86:
        return f"({sub()} {rng.choice(['<<', '>>'])} {rng.choice('123')})"
    if kind < 0.92:
        return f"{rng.choice(['min', 'max'])}({sub()}, {sub()})"
    if kind < 0.96:
        return f"select({sub()} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {sub()}, {sub()}, {sub()})"
    return f"({sub()} - {sub()})"


def draw_polynomial(rng, atoms, symbols):
    """Products of coordinates: parities and residues decide what is said of them."""
    def factor():
        return rng.choice(atoms * 4 + symbols + [f"({rng.choice(atoms)} + {rng.randint(1, 4)})"])

    def sum_of_products():
        return " + ".join("*".join([str(rng.randint(1, 8)), *(factor() for _ in range(rng.choice([1, 2, 2, 3])))]) for _ in range(rng.choice([1, 1, 2])))

    a = rng.choice(atoms)
    text = rng.choice([f"({sum_of_products()})", f"({a}*({a} + 1))", f"({a}*({a} + 1)*{factor()})", f"({a}*{a} - {a})", f"({a}*{a}*{a} + 5*{a})"])
    m = rng.choice("2234468")
    return rng.choice([text, text, f"({text} % {m})", f"({text} / {m})", f"({text} / {m} * {m})", f"(({text} & {m}) ^ ({a} % 4))", f"({text} ^ ({a} & 3))",
                       f"select({text} % {m} == {rng.randint(0, 3)}, {text}, {sum_of_products()})", f"({text} + {sum_of_products()} % {m})"])


def draw_extent(rng, symbols):
    kind = rng.random()
    if not symbols or kind < 0.45:
        return str(rng.choice([1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 16]) if rng.random() < 0.985
                   else rng.choice([2**31, 2**40 + 1, 2**61, 2**62, 2**62 - 1, 2**63 - 1]))
    s, other = rng.choice(symbols), rng.choice(symbols)
    return rng.choice([s, s, s, s, f"2*{s}", f"4*{s}", f"{s}*{other}", f"{s}+1", f"{s}+{other}", f"{s}/2", f"ceil_div({s},4)",
                       f"min({s},8)", f"max({s},{other})", f"{s}-1"])


def draw_layout(rng, symbols, style=None):
    """[(extent text, stride text)] per top-level mode, nested at most once."""
    style = style or rng.choice(["compact", "compact", "permuted", "padded", "any", "any"])
    groups = [[draw_extent(rng, symbols) for _ in range(rng.choice([1, 1, 1, 2, 2]))] for _ in range(rng.choice([1, 2, 2, 2, 3]))]
    flat = [e for g in groups for e in g]
    order = list(range(len(flat)))
    if style in ("permuted", "padded"):
        rng.shuffle(order)
    strides, before = [None] * len(flat), "1"
    for k in order:
        strides[k] = before
        by = flat[k]
        if style == "padded" and rng.random() < 0.5:
            by = rng.choice(symbols + ["32"]) if rng.random() < 0.6 else f"{flat[k]}+1"
        before = f"1*({by})" if before == "1" else f"{before}*({by})"
    for k in range(len(flat)):
        if style == "any" and rng.random() < 0.6:
            strides[k] = rng.choice([str(rng.randint(-9, 9)), "0", *(symbols or ["7"]), f"-{rng.choice(symbols or ['3'])}",
                                     f"{rng.choice(symbols or ['5'])}+{rng.randint(-4, 4)}", "64", "4294967296"])
    out, k = [], 0
    for g in groups:
        out.append([(e, strides[k + j]) for j, e in enumerate(g)])
        k += len(g)
    return out


def layout_text(groups):
    def side(which):
        tops = []
        for g in groups:
            leaves = [leaf[which] for leaf in g]
            tops.append(leaves[0] if len(leaves) == 1 else "(" + ",".join(leaves) + ")")
        return "(" + ",".join(tops) + ")" if len(tops) > 1 or len(groups[0]) > 1 else tops[0]
    return f"{side(0)}:{side(1)}"


def as_code(groups):
    return [[(code(e), code(d)) for e, d in g] for g in groups]


def layout(groups, outer=()):
    """outer: [(kind, text or groups)], outermost first."""
    words, steps = [], []
    for kind, what in outer:
        if kind == "layout":
            words.append(layout_text(what))
            steps.append((kind, as_code(what)))
        elif kind == "offset":
            words.append(what)
            steps.append((kind, code(what)))
        else:
            words.append("Sw<%d,%d,%d>" % what)
            steps.append((kind, what))
    return Function(" o ".join([*words, layout_text(groups)]), modes=as_code(groups), outer=steps)


def formula(text, names, extents):
    head = text if names == ["i"] else f"({', '.join(names)}) -> {text}"
    return Function(head, "(" + ",".join(extents) + ")", formula=text, names=names, extents=[code(e) for e in extents])


def draw_swizzle(rng):
    bits = rng.randint(1, 3)
    return bits, rng.randint(0, 4), rng.choice([1, 1, -1]) * rng.randint(bits, 4)


def draw_function(rng, symbols, kind=None):
    kind = kind or rng.choice(["layout"] * 5 + ["composed"] * 2 + ["formula"] * 4)
    if kind == "formula" and rng.random() < 0.12:
        return draw_remap(rng, symbols)
    if kind == "formula":
        names = ["i"] if rng.random() < 0.6 else ["r", "c"]
        extents = [draw_extent(rng, symbols) for _ in names]
        if names == ["i"] and symbols and rng.random() < 0.5:
            extents = [rng.choice(["n", "2*n", "4*n", f"n*{symbols[-1]}", f"n+{symbols[-1]}", f"n*{symbols[-1]}+1", "8", "16"])]
        if rng.random() < 0.15:
            return formula(draw_polynomial(rng, names, symbols), names, extents)
        return formula(draw_formula(rng, rng.choice([1, 2, 3, 3, 4]), names, symbols), names, extents)
    groups = draw_layout(rng, symbols)
    outer = []
    if kind == "composed":
        shape = rng.random()
        if shape < 0.6:
            outer = [("swizzle", draw_swizzle(rng)), ("offset", rng.choice(["0", "0", "16", *symbols]))]
        elif shape < 0.8:
            outer = [("offset", rng.choice(["1", "-3", "128", *symbols, *(f"2*{s}" for s in symbols)]))]
        else:
            outer = [("layout", draw_layout(rng, symbols))]
    return layout(groups, outer)


def rewritten(rng, groups):
    """The same layout in other words: a leaf cut in two, or a leaf of extent 1 more."""
    groups = [list(g) for g in groups]
    for _ in range(rng.randint(1, 2)):
        g = rng.choice(groups)
        k = rng.randrange(len(g))
        e, d = g[k]
        if rng.random() < 0.25:
            g.insert(k, ("1", str(rng.randint(-9, 9))))
        elif match := re.fullmatch(r"(\w+)\*(\w+)", e):
            g[k:k + 1] = [(match[1], d), (match[2], f"({d})*{match[1]}")]
        elif e.isdigit() and int(e) % 2 == 0:
            g[k:k + 1] = [("2", d), (str(int(e) // 2), f"({d})*2")]
        else:
            g[k] = (e, f"({d})*1")
    return groups


def mutated(rng, text):
    numbers = list(re.finditer(r"(?<![\w<,])\d+|\b[nmt]\b", text))
    if not numbers:
        return text
    at = rng.choice(numbers)
    new = str(int(at[0]) + rng.choice([1, 2])) if at[0].isdigit() else rng.choice(["n", "m", "2"])
    return text[:at.start()] + new + text[at.end():]


def draw_conditions(rng, symbols):
    out = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3]) if symbols else 0):
        s, o = rng.choice(symbols), rng.choice(symbols)
        c = rng.choice([2, 3, 4, 5, 8, 16, 32])
        out.append(rng.choice([
            f"{s} % {c} == 0", f"{s} % {c} == {rng.randrange(c)}", f"{s} % {o} == 0", f"{s} % {o} == 0", f"{s} >= {rng.randint(-100, 9)}",
            f"{s} > {rng.randint(-5, 40)}", f"{s} <= {rng.randint(1, 40)}", f"{s} < {rng.choice([3, 8, 1000, 2**40])}", f"{s} >= {o}",
            f"{s} > {o}", f"{s} == {c}*{o}", f"{s} == {o} + {rng.randint(-2, 3)}", f"{s} * {o} <= {rng.choice([20, 64, 2**20, 2**40])}",
            f"{s} != {rng.randint(0, 5)}", f"{s} == 3 || {s} == 6 || {s} == {c}", f"{rng.randint(-3, 3)} <= {s}", f"{s} >= 2*{o} - 3",
            f"{s} % {rng.choice([2**31, 2**62, 4 * 10**18])} == {rng.choice([0, 1, 2**31 - 1])}", f"{s} >= {rng.choice([2**31, 2**62])}",
            f"({s} & {c - 1}) == 0", f"({s} ^ {o}) >= 1", f"{s} / {c} == {rng.randint(0, 3)}", f"{s} % ({o} + 1) == 1",
            f"{s} >= 0 - {rng.randint(0, 3)}", f"{s} == 2 * {rng.randint(-1, 4)}", f"{s} - {o} < {rng.randint(-3, 5)}",
            f"{s} < {o}", f"{s} <= {o}", f"{o} > {s}", f"{s} <= {c}*{o}", f"{s} < {o} + {rng.randint(0, 4)}", f"{o} >= {s} + {rng.randint(-2, 2)}",
            f"{s} != {o}", f"{s} + {o} <= {rng.choice([6, 40, 2**33])}", f"{s} <= {o} || {s} == {c}", f"!({s} < {o})", f"{s} == {o}*{o}",
            f"{s} * {o} >= {rng.choice([4, 30])}", f"{s} % {o} == {o} - 1", f"{s} >= {o} && {s} <= {o} + {rng.randint(0, 3)}",
            f"min({s}, {o}) >= {rng.randint(0, 4)}", f"{s} / {o} == {rng.randint(0, 2)}", f"{s} <= {rng.randint(-4, 6)} && {s} >= {rng.randint(-6, 4)}",
        ]))
    if out and rng.random() < 0.03: # one and its opposite
        out.append(f"!({rng.choice(out)})")
    return out


def draw_remap(rng, symbols):
    """Orders of blocks: skewed, grouped with a narrower last group, spread over XCDs, folded. Most are permutations."""
    s = symbols or ["5"]
    a, b, g = rng.choice(s), rng.choice([*s, "3", "4"]), rng.choice(["2", "3", "4", "8", *s])
    first, inside = f"(i / ({g}*{b}))*{g}", f"(i % ({g}*{b}))"
    width = f"min({a} - {first}, {g})"
    text, size = rng.choice([
        (f"(i/{a})*{a} + (i%{a} + {rng.choice(['1', '2', '3'])}*(i/{a})) % {a}", f"{a}*{b}"),
        (f"({first} + {inside} % {width})*{b} + {inside} / {width}", f"{a}*{b}"),
        (f"(i % {g})*({a}/{g}) + min(i % {g}, {a} % {g}) + i/{g}", a),
        (f"select(i >= {a}/{g}*{g}, i, (i % {g})*({a}/{g}) + i/{g})", a),
        (f"select(i < {a} - {a}/2, 2*i, 2*(i - ({a} - {a}/2)) + 1)", a),
        (f"select(i % 2 == 0, i/2, ({a} + 1)/2 + i/2)", a), (f"{a} - 1 - i", a), (f"{a}*{b} - 1 - (i/{a} + i%{a}*{b})", f"{a}*{b}"),
    ])
    return formula(mutated(rng, text) if rng.random() < 0.3 else text, ["i"], [size])


@functools.lru_cache(20_000)
def assignment(condition):
    """(symbol, relation, code of the right side, remainder) of a condition that names a symbol on its left."""
    if m := re.fullmatch(r"([nmt]) % (.+) == (\d+)", condition):
        return m[1], "%", code(m[2]), int(m[3])
    if m := re.fullmatch(r"([nmt]) (>=|>|==|<=|<) (.+)", condition):
        return m[1], m[2], code(m[3].split(" ||")[0] if "|" in m[3] else m[3]), 0
    if m := re.fullmatch(r"([nmt]) (/|-) .*|\(([nmt]).*|.*<= ([nmt])", condition):
        return m[1] or m[3] or m[4], "", None, 0
    return None


def repair(rng, env, condition):
    """Makes a condition hold by changing the symbol on its left."""
    if (found := assignment(condition)) is None:
        return
    symbol, relation, right, remainder = found
    if relation == "%":
        try:
            by = value(right, env)
        except Skip:
            return
        env[symbol] = by * rng.choice([-2, -1, 0, 1, 1, 2, 3, 5, 100]) + remainder
    elif relation:
        to = value(right, env)
        step = rng.choice([0, 1, 1, 2, 5, 1000])
        env[symbol] = to + {">=": step, ">": 1 + step, "==": 0, "<=": -step, "<": -1 - step}[relation]
    else:
        env[symbol] = rng.choice(range(0, 40))


class Question:
    def __init__(self, rng, only=None):
        self.property = only or rng.choice(PROPERTIES)
        symbols = NAMES[:rng.choice([0, 1, 1, 2, 2, 2, 3])]
        self.conditions = draw_conditions(rng, symbols)
        self.functions, self.term, self.extra = [], None, {}
        getattr(self, "draw_" + self.property.replace("-", "_"), self.draw_one)(rng, symbols)
        if self.property in ("within", "covers"):
            self.term = self.draw_bound(rng, symbols)
        if self.property == "aligned":
            self.term = rng.choice(["2", "4", "8", "3", "1", "16", *symbols])
        self.symbols = sorted(s for s in NAMES if re.search(rf"\b{s}\b", " ".join(
            [f.text + (f.domain or "") for f in self.functions] + [self.term or ""] + self.conditions)))
        # A condition about nothing in the question is an error of its own.
        asked = " ".join([f.text + " " + (f.domain or "") for f in self.functions] + [self.term or ""])
        related = set(re.findall(r"\b[nmt]\b", asked))
        waiting, grew = list(self.conditions), True
        while grew:
            grew = False
            for c in list(waiting):
                mine = set(re.findall(r"\b[nmt]\b", c))
                if mine & related:
                    related |= mine
                    waiting.remove(c)
                    grew = True
        self.conditions = [c for c in self.conditions if c not in waiting]
        self.symbols = [s for s in self.symbols if s in related]
        self.where = [code(c) for c in self.conditions]
        self.bound = code(self.term) if self.term else None

    def draw_bound(self, rng, symbols):
        f = self.functions[0]
        sizes = ["8", "16", "100", *symbols, *(f"2*{s}" for s in symbols), *(f"{s}+1" for s in symbols)]
        if f.domain:
            sizes += ["*".join(f"({e})" for e in f.domain[1:-1].split(","))] if "(" not in f.domain[1:-1] else []
        elif all(kind == "swizzle" or (kind == "offset" and " o 0 o " in f.text) for kind, _ in f.outer):
            text = f.text.split(" o ")[-1].split(":")[0]
            shape = re.sub(r"[()]", "", text).split(",") if "(" not in re.sub(r"^\(|\)$", "", text) else None
            if shape:
                whole = "*".join(f"({e})" for e in shape)
                sizes += [whole] * 4 + [f"{whole} - 1", f"{whole} + 1"]
        return rng.choice(sizes)

    def draw_one(self, rng, symbols):
        self.functions = [draw_function(rng, symbols)]

    def draw_covers(self, rng, symbols):
        if rng.random() < 0.65:
            return self.draw_one(rng, symbols)
        groups = draw_layout(rng, symbols, rng.choice(["compact", "permuted", "padded"]))
        if rng.random() < 0.4: # from the other end
            g = rng.choice(groups)
            k = rng.randrange(len(g))
            g[k] = (g[k][0], f"0-({g[k][1]})")
        offset = rng.choice(["-1", "-5", "3", "-100", *(f"0-{s}" for s in symbols), *(f"2-2*{s}" for s in symbols)])
        self.functions = [layout(groups, [("offset", offset)])]

    def draw_disjoint(self, rng, symbols):
        groups = draw_layout(rng, symbols)
        first = layout(groups)
        way = rng.random()
        if way < 0.5:
            offset = rng.choice(["1", "-1", "3", "64", *symbols, *(f"{s}+4" for s in symbols), *(f"2*{s}" for s in symbols)])
            other = groups if rng.random() < 0.7 else draw_layout(rng, symbols)
            self.functions = [first, layout(other, [("offset", offset)])]
        else:
            self.functions = [draw_function(rng, symbols), draw_function(rng, symbols)]

    def draw_equal(self, rng, symbols):
        self.extra["by-mode"] = rng.random() < 0.15
        if rng.random() < 0.55:
            groups = draw_layout(rng, symbols)
            outer = [("swizzle", draw_swizzle(rng)), ("offset", "0")] if rng.random() < 0.2 else []
            other = rewritten(rng, groups)
            if rng.random() < 0.3:
                j = rng.randrange(len(other))
                k = rng.randrange(len(other[j]))
                e, d = other[j][k]
                other[j][k] = (e, mutated(rng, d)) if rng.random() < 0.7 else (mutated(rng, e), d)
            self.functions = [layout(groups, outer), layout(other, outer)]
            return
        f = draw_function(rng, symbols, "formula")
        body = f.text.split("-> ")[-1]
        way = rng.random()
        m = rng.choice("248")
        if rng.random() < 0.15: # a quotient and its rest
            body = f"({body}) / {m} * {m} + " + (f"({body}) % {m}" if rng.random() < 0.6 else mutated(rng, f"({body}) % {m}"))
        elif way < 0.45:
            body = f"({body} + ({draw_formula(rng, 1, f.names, symbols)} % 1))"
        elif way < 0.6:
            body = f"select({draw_formula(rng, 1, f.names, symbols)} < {draw_formula(rng, 1, f.names, symbols)}, {body}, {body})"
        else:
            body = mutated(rng, body)
        try:
            self.functions = [f, formula(body, f.names, f.domain[1:-1].split(",") if "(" not in f.domain[1:-1] else ["n"] * len(f.names))]
        except SyntaxError:
            self.functions = [f, f]
        if self.functions[1].domain != f.domain:
            self.functions[1] = f

    def draw_inverse(self, rng, symbols):
        extents = [draw_extent(rng, symbols) for _ in range(rng.choice([1, 2, 2]))]
        if len(extents) == 1:
            self.functions = [layout([[(extents[0], "1")]]), layout([[(mutated(rng, extents[0]) if rng.random() < 0.4 else extents[0], "1")]])]
            return
        a, b = extents
        if rng.random() < 0.25: # its own inverse where it stays inside
            a, swizzle_of_both = rng.choice(["2", "4", "8", "16", a]), [("swizzle", draw_swizzle(rng)), ("offset", "0")]
            self.functions = [layout([[(a, "1")], [(b, a)]], swizzle_of_both)] * 2
            return
        second = [[(b, f"{a}")], [(a, "1")]]
        if rng.random() < 0.4:
            second[0][0] = (b, mutated(rng, a))
        self.functions = [layout([[(a, b)], [(b, "1")]]), layout(second)]
        if rng.random() < 0.3:
            self.functions[rng.randrange(2)] = draw_function(rng, symbols)

    def draw_conflict_free(self, rng, symbols):
        access = rng.choice(sorted(PHASES))
        self.extra.update({"access": access, "arch": "gfx942"})
        width = PHASES[access][0]
        if rng.random() < 0.4:
            # Lanes that are apart by what grows with the instance: conflicts that only instances past a period of the banks have.
            if rng.random() < 0.4: # of bytes a whole period passes before two lanes conflict
                access, width = "ds_read_u8", 4
                self.extra["access"] = access
            w = ALIGNMENT.get(access, width)
            names = ["l", "x", "y"][:rng.choice([2, 2, 3])]
            counts = ["3", "60", "100", "128", "129", "140", "257", "300", *(f"{rng.choice(['', '64*', '100 + '])}{s}" for s in symbols)]
            step = rng.choice(["x", "x", f"({rng.choice([1, 2, 3, 32, 64, 128])}*x + {rng.choice([1, 32, 128])})", "(129 - x)", "x*x", str(rng.choice([1, 3, 32]))])
            if "y" in names:
                step = rng.choice([step, f"({step} + {rng.choice([1, 64, 128])}*y)", f"{step}*y", f"({step} - y)"])
            base = rng.choice(["0", f"{width}*x", "128*x", f"{w * rng.choice([1, 3])}*x"])
            self.functions = [formula(f"{w}*l*{step} + {base}", names, ["2" if access == "ds_read_u8" else rng.choice(["2", "2", "4", "32", "64"]), *(rng.choice(counts) for _ in names[1:])])]
            return
        row = rng.choice(["64", "128", "144", "256", "4", "16", *(f"{rng.choice([16, 64, 128])}*{s} + {rng.choice([0, 16, 32, 96])}" for s in symbols)])
        lanes = rng.choice([[("64", row)], [("16", row), ("4", str(width))], [("8", row), ("8", "16")], [("4", "4"), ("8", row)]])
        groups = [lanes]
        if rng.random() < 0.5:
            groups.append([(rng.choice(["2", "4", *symbols]), rng.choice(["64", "1024", "4096", *(f"128*{s}" for s in symbols)]))])
        outer = [("swizzle", rng.choice([(3, 4, 3), (2, 4, 4), (3, 4, 4), (2, 5, 2)])), ("offset", "0")] if rng.random() < 0.5 else []
        self.functions = [layout(groups, outer)]

    def draw_coalesced(self, rng, symbols):
        self.extra.update({"arch": "gfx942", "element-bytes": rng.choice([1, 2, 4]), "lines": rng.choice([0, 0, 0, 8, 16])})
        values = rng.choice([1, 2, 4])
        row = rng.choice(["64", "128", "256", *(f"{rng.choice([32, 64, 128])}*{s}" for s in symbols), *symbols])
        lanes = rng.choice([[("64", str(values))], [("8", str(values)), ("8", row)], [("16", str(values)), ("4", row)]])
        groups = [lanes, [(str(values), "1")]]
        if rng.random() < 0.4:
            groups.append([(rng.choice(["2", *symbols]), rng.choice(["512", *(f"64*{s}" for s in symbols)]))])
        outer = [("offset", rng.choice(["64", "3", *symbols, *(f"128*{s}" for s in symbols)]))] if rng.random() < 0.4 else []
        self.functions = [layout(groups, outer)]

    def line(self, number, options):
        q = {"id": number, "property": self.property, "arguments": [f.text for f in self.functions] + ([self.term] if self.term else []),
             "where": self.conditions, "domain": [f.domain for f in self.functions if f.domain], **self.extra, **options}
        return json.dumps(q)

    def command(self):
        words = [self.property, *(f.text for f in self.functions), *([self.term] if self.term else [])]
        for c in self.conditions:
            words += ["--where", c]
        for f in self.functions:
            words += ["--domain", f.domain] if f.domain else []
        for key, v in self.extra.items():
            words += ([f"--{key}"] if v else []) if isinstance(v, bool) else [f"--{key}", str(v)]
        return "inlay prove " + " ".join(w if re.fullmatch(r"[\w.-]+", w) else f"'{w}'" for w in words)

    # ---- instances

    def bounded_below(self, s):
        """Symbols are at least 1 unless a condition compares them, alone, with a number from below."""
        for c in (part for c in self.conditions for part in (c.split(" && ") if "!" not in c else [c])):
            if m := re.fullmatch(rf"{s} (>=|>|==) ([-\d +*()]+)", c):
                return True
            if re.fullmatch(rf"[-\d +*()]+ (<=|<|==) {s}", c):
                return True
        return False

    @functools.cached_property
    def positive(self):
        return [s for s in self.symbols if not self.bounded_below(s)]

    def allowed(self, env):
        try:
            return all(env[s] >= 1 for s in self.positive) and all(value(c, env) for c in self.where)
        except Skip:
            return False

    def instances(self, rng, wanted):
        if not self.symbols:
            yield {}
            return
        seen = set()

        def fresh(env):
            key = tuple(env[s] for s in self.symbols)
            if key in seen or not self.allowed(env):
                return False
            seen.add(key)
            return True

        constants = {int(x) + d for c in self.conditions for x in re.findall(r"\d+", c) for d in (-1, 0, 1)}
        pool = EDGES + sorted(constants) * 3
        small = [*range(-3, 9)]
        for attempt in range(40 * wanted):
            if len(seen) >= wanted:
                return
            source = small if attempt % 3 else pool
            env = {s: rng.choice(source) for s in self.symbols}
            if not fresh(env):
                for c in rng.sample(self.conditions, len(self.conditions)):
                    repair(rng, env, c)
                if not fresh(env):
                    continue
            yield dict(env)

    # ---- the definition

    def fails(self, env):
        """None: it holds as far as was looked; else what is wrong. Empty when an extent is below 1."""
        bound = [f.bind(env) for f in self.functions]
        a = bound[0]
        p = self.property
        if p in ("conflict-free", "coalesced"):
            return self.waves(a)
        if p == "inverse":
            b = bound[1]
            indices, _ = b.indices()
            for i in indices:
                y = b.at(i)
                if not 0 <= y < a.size or a.at(y) != i:
                    return f"index {i}"
            return None
        indices, everything = a.indices()
        if p == "equal":
            b = bound[1]
            if a.size != b.size or (self.extra.get("by-mode") and a.extents != b.extents):
                return "the sizes"
            return next((f"index {i}" for (i, v), (_, u) in zip(a.pairs(indices), b.pairs(indices)) if v != u), None)
        term = value(self.bound, env) if self.bound else 0
        if p == "aligned" and term < 1:
            raise Skip("alignment")
        seen = {}
        for i, v in a.pairs(indices):
            if p == "within" and not 0 <= v < term or p == "aligned" and v % term != 0 or p == "bijective" and not 0 <= v < a.size:
                return f"index {i}: {v}"
            if p in ("injective", "bijective") and v in seen:
                return f"indices {seen[v]} and {i}: {v}"
            seen[v] = i
        if p == "covers":
            if not everything:
                if term > a.size:
                    return "more values than indices"
                return None
            if term > a.size:
                return "more values than indices"
            return next((f"no {v}" for v in range(term) if v not in seen), None)
        if p == "disjoint":
            b = bound[1]
            for j, v in b.pairs(b.indices()[0]):
                if v in seen:
                    return f"indices {seen[v]} and {j}: {v}"
        return None

    def waves(self, f, only=None):
        """What is wrong with a wave, or with the one that begins at index `only`."""
        lanes = f.extents[0]
        values = f.extents[1] if self.property == "coalesced" and len(f.extents) > 1 else 1
        if lanes > 64 or values > 16:
            raise Skip("no wave")
        wave = lanes * values
        # The first of them, and those around the periods of the banks in some instance coordinate.
        chosen = set(range(0, min(f.size, 40 * wave), wave))
        before = wave
        for extent in f.extents[2 if self.property == "coalesced" else 1:]:
            chosen |= {before * k for k in (63, 64, 65, 126, 127, 128, 129, 130, 256, 257, extent - 1) if 0 <= k < extent}
            before *= extent
        chosen |= {(f.size // wave - 1) * wave, (f.size // wave // 2) * wave}
        for first in sorted(chosen) if only is None else [only]:
            at = [[f.at(first + lane + lanes * v) for v in range(values)] for lane in range(lanes)]
            if self.property == "conflict-free":
                width, phases = PHASES[self.extra["access"]]
                if any(x[0] % ALIGNMENT.get(self.extra["access"], width) for x in at):
                    return "misaligned"
                for phase in phases:
                    bank = {}
                    for lane in phase:
                        for dword in range(at[lane][0] // 4, at[lane][0] // 4 + width // 4) if lane < lanes else ():
                            if bank.setdefault(dword % BANKS, dword) != dword:
                                return f"bank {dword % BANKS}"
                continue
            size = self.extra["element-bytes"]
            if any(x[v] != x[0] + v for x in at for v in range(values)):
                return "a torn vector"
            touched = {x * size + b for row in at for x in row for b in range(size)}
            lines = len({b // LINE for b in touched})
            if lines > (self.extra["lines"] or -(-len(touched) // LINE)):
                return f"{lines} lines"
        return None

    def fails_at(self, witness):
        """Does a refutation's witness show what it says?"""
        beyond = dict(re.findall(r"\b([nmt]) = (-?\d+)", witness["text"])) # of more than 64 bits
        env = {s: int(witness["symbols"].get(s, beyond.get(s, 1))) for s in self.symbols}
        if not self.allowed(env):
            return "the witness does not satisfy the conditions"
        try:
            bound = [f.bind(env) for f in self.functions]
        except Empty:
            return "an extent of the witness is below 1"
        a, p, i, j = bound[0], self.property, witness.get("index"), witness.get("second_index")
        if i is None and p in ("within", "aligned", "injective", "bijective", "disjoint", "inverse"):
            # Beyond 64 bits the index is in the text alone.
            return None if "index" in witness["text"] else "a witness without an index"
        if p in ("conflict-free", "coalesced"):
            at = witness.get("coordinate")
            if not at or len(at) != len(a.extents) or not all(0 <= x < e for x, e in zip(at, a.extents)):
                return None if a.size > 40 * 64 * 16 or self.waves(a) else "it holds at the witness"
            first, before = 0, 1
            for k, (x, e) in enumerate(zip(at, a.extents)):
                first += before * x if k >= (2 if p == "coalesced" else 1) else 0
                before *= e
            return None if self.waves(a, first) else "it holds at the witness"
        term = value(self.bound, env) if self.bound else 0
        if p == "covers":
            if a.size > 200_000:
                return None
            missing = witness["lhs"]
            if not 0 <= missing < term:
                return "the missing value is none of those"
            return "the value is there" if any(a.at(k) == missing for k in range(a.size)) else None
        if p == "equal" and i is None and "at index" in witness["text"]:
            return None # beyond 64 bits
        if p == "equal" and i is None:
            b = bound[1]
            same = a.size == b.size and not (self.extra.get("by-mode") and a.extents != b.extents)
            return "the sizes are equal" if same else None
        x = None
        if p != "inverse":
            if not 0 <= i < a.size:
                return "the index is outside"
            x = a.at(i)
        if p == "equal":
            shown = x != bound[1].at(i)
        elif p == "within":
            shown = not 0 <= x < term
        elif p == "aligned":
            shown = x % term != 0
        elif p == "disjoint":
            shown = j is None or 0 <= j < bound[1].size and x == bound[1].at(j)
        elif p == "inverse":
            b = bound[1]
            y = b.at(i) if 0 <= i < b.size else 0
            shown = 0 <= i < b.size and (not 0 <= y < a.size or a.at(y) != i)
        elif j is None:
            shown = p == "bijective" and not 0 <= x < a.size or "both give" in witness["text"] # an index beyond 64 bits
        else:
            shown = 0 <= j < a.size and i != j and x == a.at(j)
        return None if shown else "the witness shows nothing"


def draw(rng, only=None):
    """A question; hardly ever one that is refused because an extent is not positive."""
    while True:
        try:
            question = Question(rng, only)
        except SyntaxError: # a mutation that is no formula
            continue
        try:
            for env in question.instances(random.Random(1), 8):
                [f.bind(env) for f in question.functions]
        except Empty:
            if rng.random() < 0.9:
                continue
        except Skip:
            pass
        return question


class Prover:
    """`inlay prove --jsonl`, some questions ahead of the judge, so that both are busy."""

    def __init__(self, binary):
        self.binary, self.process, self.asked, self.read = binary, None, collections.deque(), b""

    def ask(self, line):
        self.asked.append(line)
        if self.process:
            self.send(line)
        else:
            self.start()

    def start(self):
        self.process = subprocess.Popen([self.binary, "prove", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.read = b""
        for line in self.asked:
            self.send(line)

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            pass # answer() sees that it ended

    def seconds_used(self):
        """Of the prover and of the solvers that it has started and that ended."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as f:
                fields = f.read().rpartition(")")[2].split()
            return sum(int(x) for x in fields[11:15]) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):
            return 0.0

    def answer(self):
        """Of the first question without one, or a text that says why there is none; the others are asked again then."""
        silent, begin, used = False, time.monotonic(), self.seconds_used()
        while b"\n" not in self.read:
            if not io_select.select([self.process.stdout], [], [], 5)[0]:
                silent = self.seconds_used() - used > SECONDS or time.monotonic() - begin > 10 * SECONDS
                if silent:
                    break
                continue
            more = self.process.stdout.read(65536)
            if not more:
                break
            self.read += more
        line, end, self.read = self.read.partition(b"\n")
        self.asked.popleft()
        if end:
            return json.loads(line)
        self.process.kill()
        status = self.process.wait()
        self.start()
        return f"no answer within {SECONDS} s" if silent else f"it ended with status {status}"


def judge(question, answer, rng):
    """What is wrong with the answer; None when nothing is."""
    if isinstance(answer, str):
        return answer
    if "error" in answer:
        message = answer["error"]["message"]
        if answer["error"]["code"] == "internal":
            return message
        if "contradict each other" in message:
            found = next(question.instances(rng, 20), None)
            return f"the conditions hold at {found}" if found is not None and question.symbols else None
        if m := re.search(r"is -?\d+ with (.*)\n", message):
            env = {k: int(v) for k, v in (pair.split(" = ") for pair in m[1].split(", "))}
            if not question.allowed(env):
                return "the extents of an assignment that the conditions exclude"
            try:
                [f.bind(env) for f in question.functions]
            except Empty:
                return None
            return f"every extent is positive: {message}"
        known = ("division by zero", "shift by", "an extent is", "the alignment is", "counts lanes", "counts values", "a lane moves", "beyond 2^63")
        return None if any(k in message for k in known) else f"error: {message}"
    if answer["verdict"] == "refuted":
        try:
            return question.fails_at(answer["witness"])
        except Skip:
            return None
    if answer["verdict"] == "proved":
        for env in question.instances(rng, 60):
            try:
                wrong = question.fails(env)
            except Empty:
                wrong = "an extent is below 1"
            except Skip:
                continue
            if wrong:
                return f"proved ({answer['method']}), but false for {env}: {wrong}"
    return None


def record(kept, number, question, answer, seconds, most=45):
    """Keeps quick questions, some of each way to decide each property. One that is not decided is kept when it is false."""
    if isinstance(answer, str) or seconds > 0.1 or answer.get("method") == "cvc5":
        return
    verdict = answer.get("verdict", "error")
    if verdict == "unknown":
        verdict = "unproved"
        for env in question.instances(random.Random(number), 30):
            try:
                if question.fails(env):
                    break
            except (Empty, Skip):
                continue
        else:
            return
    lines = kept.setdefault((question.property, verdict, answer.get("method")), [])
    if len(lines) < most:
        lines.append({**json.loads(question.line(number, {})), "verdict": verdict})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("questions", nargs="?", type=int, default=5000)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--recheck", type=float, default=0.1, help="share of the questions whose proofs the checker derives again")
    parser.add_argument("--only", help="one property")
    parser.add_argument("--show", action="store_true", help="every question with its verdict and time")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--record", metavar="FILE", help="write a selection of the questions with their verdicts, for verdicts_test.cpp")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    prover, counts, methods, wrong, slow, unfollowed, kept = Prover(options.binary), {}, {}, 0, [], {}, {}
    waiting = collections.deque()
    for number in range(options.questions):
        while len(waiting) < AHEAD and number + len(waiting) < options.questions:
            question = draw(rng, options.only)
            recheck = rng.random() < options.recheck
            waiting.append((question, recheck))
            prover.ask(question.line(number + len(waiting) - 1, {"limit": 20000, "steps": options.steps, "recheck": recheck}))
        question, recheck = waiting.popleft()
        answer = prover.answer()
        seconds = SECONDS if isinstance(answer, str) else answer.get("time_us", 0) / 1e6
        bad = judge(question, answer, random.Random(options.seed * 1_000_003 + number))
        verdict = answer if isinstance(answer, str) else answer.get("verdict", "error")
        counts[verdict] = counts.get(verdict, 0) + 1
        if not isinstance(answer, str) and answer.get("method") not in (None, "none"):
            methods[answer["method"]] = methods.get(answer["method"], 0) + 1
        if recheck and verdict == "unknown":
            for o in answer.get("obligations", []):
                if "that the checker can follow" in o:
                    how = o[9:o.index(")")]
                    unfollowed.setdefault(how, []).append((question.command(), o))
        slow.append((seconds, question.command()))
        if bad:
            wrong += 1
            print(f"WRONG {bad}\n  {question.command()}", flush=True)
        if options.record and not bad:
            record(kept, number, question, answer, seconds)
        if number % 10_000 == 9_999:
            print(f"{number + 1} asked: {counts}, {wrong} wrong", flush=True)
        if options.show:
            print(f"{seconds:6.2f} {verdict:8} {question.command()}", flush=True)
    print(f"{options.questions} questions, seed {options.seed}: {counts}, {wrong} wrong")
    print(f"  decided by {dict(sorted(methods.items(), key=lambda x: -x[1]))}")
    for how, cases in sorted(unfollowed.items()):
        print(f"  {len(cases)} proofs by {how} that the checker could not follow, e.g. {cases[0][0]}\n    {cases[0][1]}")
    for seconds, command in sorted(slow, reverse=True)[:3]:
        print(f"  {seconds:.2f} s: {command}")
    if options.record:
        with open(options.record, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(q, separators=(",", ":")) + "\n" for lines in kept.values() for q in lines)
    enough = options.only or all(counts.get(v, 0) >= options.questions // 10 for v in ("proved", "refuted"))
    if not enough:
        print("too few proved or refuted for this to say something")
    return 1 if wrong or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
