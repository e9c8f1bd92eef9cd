"""Writes the stubs, with the docstrings, from the package as it is built: PYTHONPATH=build/release/python python3 python/stubs.py > python/inlay/__init__.pyi;
the same with `codegen` after it > python/inlay/codegen.pyi. The site's pages of the Python API are made of them."""
import inspect
import re
import sys

sys.path.pop(0)  # the folder of this file has the package without its extension
import inlay

HEAD = '''# Written by python/stubs.py.
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy

from . import codegen as codegen
from .codegen import Artifact as Artifact, Program as Program, ProgramError as ProgramError, ProofReport as ProofReport

__version__: str

class LayoutError(ValueError):
    code: str
    operation: str
    summary: str
    operands: dict[str, str]
    where: str
    numbers: dict[str, str]
    hint: str

class Layout:
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
    def values(self) -> numpy.ndarray: ...

class Swizzle:
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
    def __init__(self, text: str) -> None: ...
    def __call__(self, coordinate: Any) -> Any: ...
    def __hash__(self) -> int: ...

class ComposedLayout:
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
    def svg(self) -> str: ...
    def html(self) -> str: ...

class Report:
    name: str
    arch: str
    details: dict[str, Any]
    file: str
    @property
    def findings(self) -> list[dict[str, Any]]: ...
    def __bool__(self) -> bool: ...
    def raise_if_found(self) -> None: ...

class Timing(dict[str, Any]):
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

class CommandError(ValueError): ...

class LoadedKernel:
    arch: str
    buffers: list[str]
    sizes: list[str]
    def __call__(self, *buffers: Any, stream: Optional[int] = ..., **sizes: int) -> None: ...
    def why(self, **sizes: int) -> str: ...

def prove(property: str, /, *arguments: Any, where: Union[str, Sequence[str]] = ..., domain: Union[str, Sequence[str]] = ...,
          by_mode: bool = ..., access: str = ..., arch: str = ..., element_bytes: int = ..., lines: int = ..., recheck: bool = ...,
          limit: Optional[int] = ..., steps: Optional[int] = ...) -> Verdict: ...
def recheck(certificate: str, /) -> dict[str, Any]: ...
def time(file: Any, *args: Any, kernel: Optional[str] = ..., grid: Any = ..., block: Any = ..., arch: Optional[str] = ..., **options: Any) -> Timing: ...
def evaluate(text: str, /) -> Any: ...
'''


def written():
    out = [HEAD]
    head = HEAD
    for name in inlay.__all__:
        if f"def {name}(" in head or f"class {name}" in head or f" {name} as {name}" in head:
            continue
        value = getattr(inlay, name)
        parameters = []
        for p in inspect.signature(value).parameters.values():
            text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name + ": Any"
            parameters.append((text + (" = ..." if p.default is not p.empty else ""), p.kind))
        texts, slash, star = [], False, False
        for text, kind in parameters:
            if not slash and texts and kind != inspect.Parameter.POSITIONAL_ONLY and parameters[0][1] == inspect.Parameter.POSITIONAL_ONLY:
                texts.append("/")
                slash = True
            if kind == inspect.Parameter.KEYWORD_ONLY and not star and not any(k == inspect.Parameter.VAR_POSITIONAL for _, k in parameters):
                texts.append("*")
                star = True
            texts.append(text)
        if parameters and not slash and all(k == inspect.Parameter.POSITIONAL_ONLY for _, k in parameters):
            texts.append("/")
        out.append(f"def {name}({', '.join(texts)}) -> Any: ...\n")
    return "".join(out)


CODEGEN = '''# Written by python/stubs.py.
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, overload

from . import Layout as Layout, Swizzle as Swizzle

class ProgramError(ValueError):
    file: str
    line: int
'''


def types(text, result=False):
    """A signature as pybind11 says it, in types that a caller may give: numbers where formulas are taken, sequences where lists are."""
    text = re.sub(r"inlay\._inlay\.(codegen\.)?", "", text)
    text = re.sub(r"\bfunction\b", "Callable[..., Any]", text)
    text = re.sub(r"\bobject\b", "Any", text)
    if result:
        return text
    text = text.replace("List[", "Sequence[")
    text = re.sub(r"(?<=[:\[] )?\bSym\b", "Union[Sym, int]", text)
    text = re.sub(r"\bIndex\b", "Union[Index, Sym, int]", text)
    text = re.sub(r"\bLayout\b", "Union[Layout, str]", text)
    text = re.sub(r"\*(args|kwargs)\b", r"*\1: Any", text)
    return re.sub(r"= [^,)]+", "= ...", text)


def functions(name, value, indent):
    """The overloads of a function of the extension, or the signature of one of Python."""
    value = inspect.unwrap(value)
    if inspect.isfunction(value):
        signature = [str(p) if p.name == "self" else {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name + ": Any"
                     + (" = ..." if p.default is not p.empty else "") for p in inspect.signature(value).parameters.values()]
        return f"{indent}def {name}({', '.join(signature)}) -> Any: ...\n"
    found = re.findall(rf"^(?:\d+\. )?{name}\((.*)\) -> (.*)$", value.__doc__ or "", re.M)
    out = ""
    for arguments, result in found:
        if arguments.startswith("self: "):
            arguments = "self" + arguments[6:].partition(",")[1] + arguments[6:].partition(",")[2]
        if isinstance(value, staticmethod) or (indent and not arguments.startswith("self")):
            out += f"{indent}@staticmethod\n"
        if len(found) > 1:
            out += f"{indent}@overload\n"
        ignored = "  # type: ignore[override]" if name in ("__eq__",) else ""
        out += f"{indent}def {name}({types(arguments)}) -> {types(result, True)}: ...{ignored}\n"
    return out


def written_codegen():
    from inlay import codegen

    out = [CODEGEN]
    for name in codegen.__all__:
        value = getattr(codegen, name)
        if name in ("Layout", "Swizzle", "ProgramError"):
            continue
        if not isinstance(value, type):
            out.append(functions(name, value, ""))
            continue
        members = ""
        for member, what in vars(value).items():
            if isinstance(what, property):
                result = re.search(r"-> (.*)$", what.fget.__doc__ or "")
                members += f"    @property\n    def {member}(self) -> {types(result.group(1), True) if result else 'Any'}: ...\n"
            elif member.startswith("__") and member not in ("__init__", "__call__", "__getitem__", "__setitem__", "__len__", "__hash__", "__eq__", "__str__") and "__%s__" not in member \
                    and not re.fullmatch(r"__r?(add|sub|mul|truediv|floordiv|mod)__|__neg__|__bool__", member):
                continue
            elif member.startswith("_") and not member.startswith("__"):
                continue
            elif callable(what) or isinstance(what, staticmethod):
                members += functions(member, getattr(value, member) if isinstance(what, staticmethod) else what, "    ")
        if name == "Expr":
            members = members.replace("arg0: Any) -> Any", "other: Union[Expr, Sym, float]) -> Expr")
        out.append(f"\nclass {name}:\n{members or '    ...' + chr(10)}")
    return "".join(out)


def words(value, name):
    """The docstring without the signatures that pybind11 puts before it."""
    text = inspect.getdoc(value.fget if isinstance(value, property) else value) or ""
    text = re.sub(rf"^(?:Overloaded function\.|(?:\d+\. )?{name}\(.*\) -> .*|\(.*\) -> .*)\n?", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip().replace("\\", "\\\\")


def documented(text, module):
    """The stubs with the docstring of each name; the second overload of a name has none."""
    out, owner, seen, doc = [], None, set(), ""
    for line in text.split("\n"):
        named = re.match(r"( *)(class|def) (\w+)", line)
        if named:
            indent, kind, name = named.groups()
            if not indent:
                owner = getattr(module, name, None) if kind == "class" else None
            value = getattr(module, name, None) if not indent else vars(owner).get(name) if owner else None
            value = value.__func__ if isinstance(value, staticmethod) else value
            doc = "" if value is None or name.startswith("__") or (owner, name) in seen else words(value, name)
            if doc == words(property, "property"):
                doc = ""
            seen.add((owner, name))
        ends = re.search(r":( \.\.\.)?$", line)
        if not doc or not ends:  # a declaration may have several lines
            out.append(line)
            continue
        out.append(line[:ends.start()] + ":")
        out += [f"{indent}    {part}" if part else "" for part in f'"""{doc}"""'.split("\n")]
        doc = ""
    return "\n".join(out)


if __name__ == "__main__":
    from inlay import codegen

    text = documented(written_codegen(), codegen) if sys.argv[1:] == ["codegen"] else documented(written(), inlay)
    print(text, end="")
