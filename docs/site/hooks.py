"""What the site has besides docs/*.md, written while it is built:

  api/python/   the package's names, from its stubs (python/inlay/*.pyi)
  api/cpp/      one page a public header: its essay, then each declaration with its comment
  source/       files outside of docs/ that pages link to
  notebooks/    notebooks with their outputs
  navigation    an entry `folder/` is the folder's pages in order of their numbers
"""
import ast
import base64
import json
import os
import posixpath
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s:]+)(#[^)\s]*)?\)")
ROOMS = ["algebra", "solver", "codegen", "kernels", "runtime", "machine", "validate", "launch", "hip"]
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".sh": "sh"}


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


# The C++ headers

def headers():
    """Public headers by room: those of the room itself first, the bodies of the algebra last."""
    found = {}
    for room in ROOMS:
        base = os.path.join(ROOT, room, "include")
        names = [os.path.relpath(os.path.join(d, name), base).replace(os.sep, "/")
                 for d, _, names in os.walk(base) for name in names if name.endswith(".h")]
        found[room] = sorted(names, key=lambda name: ("/bodies/" in name, name.count("/"), name))
    return found


def without_details(text):
    """Without `namespace detail`, includes, and the namespaces' own lines."""
    text = re.sub(r"^namespace detail \{.*?^\} // namespace detail\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^namespace \{.*?^\} // namespace\n", "", text, flags=re.M | re.S)
    return re.sub(r"^(#pragma once|#include .*|namespace [\w:]+ \{|\} // namespace.*|extern \"C\" \{)\n", "", text, flags=re.M)


def without_bodies(code):
    """Bodies of functions of more than six lines are left out."""
    return re.sub(r"(^[^\n{}]*\)[^\n{};]*) \{\n((?:  [^\n]*\n|\n){6,}?)\}", r"\1;", code, flags=re.M)


def prose(comment):
    """A comment as Markdown: `< 3` is no tag, `a*b*c` no emphasis, `x[i](j)` no link; a line that starts with four blanks is code."""
    def plain(text):
        text = re.sub(r"([*_\[\]])", r"\\\1", text.replace("<", "&lt;"))
        return re.sub(r"(?<!\w)\\\*([A-Za-z][\w ,-]*)\\\*(?!\w)", r"*\1*", text)

    return "\n".join(line if line.startswith("    ") else "".join(
        part if k % 2 else plain(part) for k, part in enumerate(re.split(r"(`[^`]*`)", line))) for line in comment.split("\n"))


def header_page(room, header):
    text = text_of(f"{room}/include/{header}")
    if text.startswith("/*"):  # the two C headers: a comment, then C
        text = text[2:].partition("*/")
        comment = re.sub(r"^ ?\* ?", "", text[0], flags=re.M).strip()
        return f"# {header_title(header)}\n\n`#include <{header}>`\n\n{prose(comment)}\n\n```c\n{text[2].strip()}\n```\n"
    out = [f"# {header_title(header)}\n", f"`#include <{header}>`, library `inlay::{room}`.\n"]
    chunks = re.split(r"^((?:///(?!<).*\n)+)", without_details(text), flags=re.M)
    for k in range(1, len(chunks), 2):
        comment = re.sub(r"^/// ?", "", chunks[k], flags=re.M).rstrip()
        code = re.sub(r"\n{3,}", "\n\n", without_bodies(chunks[k + 1])).strip()
        if k == 1 or not code:
            out.append(prose(comment) + "\n")
            if not code:
                continue
        else:
            found = re.match(r"(?:template.*\n)?(?:enum class|enum|struct|class|using) (\w+)", code)
            if found:
                out.append(f"## {found.group(1)}\n")
            out.append(prose(comment) + "\n")
        out.append(f"```cpp\n{code}\n```\n")
    return "\n".join(out)


def header_title(header):
    return re.sub(r"^inlay/\w+/", "", header)


def cpp_pages():
    pages, index = {}, ["# C++ API\n", "One page a public header. A header starts with what its types mean; `namespace detail` is left out. "
                        "`find_package(inlay)` gives the libraries `inlay::<room>`.\n"]
    for room, names in headers().items():
        index.append(f"## {room}\n\n| header | |\n|---|---|")
        for header in names:
            page = f"api/cpp/{room}/{header_title(header)[:-2]}.md"
            pages[page] = header_page(room, header)
            first = re.match(r"(?:///|/\*) ?(.*(?:\n(?:///| \*)(?! *\n).*)*)", text_of(f"{room}/include/{header}"))
            line = re.sub(r"\n(///| \*) ?", " ", first.group(1)) if first else ""
            line = re.split(r"(?<=[.:])\s", line.strip())
            line = line[0] if not re.match(r"`?[\w:/]+`?:$", line[0]) else " ".join(line[:2])
            index.append(f"| [{header}]({page[len('api/cpp/'):]}) | {prose(line).replace('|', chr(92) + '|')} |")
        index.append("")
    pages["api/cpp/index.md"] = "\n".join(index)
    return pages


# The Python package

def signature(node, lines):
    """The declaration as it stands in the stub, without its body."""
    end = node.body[0].lineno - 1 if node.body[0].lineno > node.lineno else node.lineno
    text = "\n".join(lines[node.lineno - 1:end]).strip()
    return re.sub(r":( \.\.\.)?$", "", text)


def shown(text):
    """A docstring: lines of a session are a block of code."""
    out, code = [], False
    for line in (text or "").split("\n"):
        session = line.lstrip().startswith((">>>", "... ")) or (code and line.strip() and not line[:1].isalpha())
        if session != code:
            out.append("```python" if session else "```\n")
            if session:
                out.insert(-1, "")
        code = session
        out.append(line if session else prose(line))
    if code:
        out.append("```")
    return "\n".join(out)


def python_page(module, title, introduction):
    text = text_of(f"python/inlay/{module}.pyi")
    lines, out, seen = text.split("\n"), [f"# `{title}`\n\n{introduction}\n"], set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            out.append(f"## {node.name}\n\n{shown(ast.get_docstring(node))}\n")
            members = []
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    property_ = any(getattr(d, "id", "") == "property" for d in member.decorator_list)
                    line = re.sub(r"\s+", " ", signature(member, lines))
                    if property_:
                        line = re.sub(r"^def (\w+)\(self\) -> ", r"\1: ", line)
                    words = ast.get_docstring(member)
                    members.append("".join(f"# {part}\n" for part in (words or "").split("\n") if part.strip()) + line + ("\n" if words else ""))
                elif isinstance(member, ast.AnnAssign):
                    members.append(ast.unparse(member))
            if members:
                out.append("```python\n" + "\n".join(members).rstrip() + "\n```\n")
        elif isinstance(node, ast.FunctionDef):
            if node.name not in seen:
                out.append(f"## {node.name}\n")
            seen.add(node.name)
            out.append(f"```python\n{signature(node, lines)}\n```\n\n{shown(ast.get_docstring(node))}\n")
    return "\n".join(out)


def python_pages():
    return {
        "api/python/inlay.md": python_page("__init__", "inlay", "Names of the package. [Python](../../python.md) says how they go together; "
                                           "what the algebra's operations mean is on [page 2 of the guide](../../guide/2-algebra.md)."),
        "api/python/inlay.codegen.md": python_page("codegen", "inlay.codegen", "Kernels as programs, as in [the guide](../../guide/5-first-kernel.md) "
                                             "and with [the same names in Python](../../python.md#kernels-of-ones-own)."),
    }


# Notebooks

def notebook_page(path):
    out = []
    for cell in json.loads(text_of(path))["cells"]:
        source = "".join(cell["source"])
        out.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:
                picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
                out.append(f'![{"".join(data["text/plain"]).splitlines()[0]}](data:image/svg+xml;base64,{picture})')
            elif "text/html" in data:
                out.append("".join(data["text/html"]))
            else:
                out.append("```text\n" + "".join(output.get("text") or data["text/plain"]).rstrip() + "\n```")
    name = os.path.basename(path)
    return "\n\n".join(out) + f"\n\nThe notebook: [{name}]({name}).\n"


# Files that pages link to

def outside(page, target):
    """The path from ROOT of a linked file that is not in docs/, or None."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return path if not path.startswith(("docs/", "..")) and os.path.isfile(os.path.join(ROOT, path)) else None


def source_page(path):
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def source_text(path):
    text = text_of(path)
    if path.endswith(".md"):  # its own links are from ROOT
        return re.sub(r"\]\((?!https?:|#)(?:docs/)?([^)]*)\)", r"](../\1)", text)
    return f"# `{path}`\n\n```{LANGUAGES.get(os.path.splitext(path)[1], '')}\n{text}```\n"


def by_number(path):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def expanded(entries, pages):
    """The navigation with each folder's pages in the place of `folder/`."""
    out = []
    for entry in entries:
        title, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(value, list):
            out.append({title: expanded(value, pages)})
        elif isinstance(value, str) and value.endswith("/"):
            out.append({title: folder(value, pages)})
        else:
            out.append(entry)
    return out


def folder(path, pages):
    here = sorted((p for p in pages if p.startswith(path) and "/" not in p[len(path):]), key=by_number)
    here.sort(key=lambda p: not p.endswith(("/index.md", "/README.md")))
    below = sorted({p[len(path):].split("/")[0] for p in pages if p.startswith(path) and "/" in p[len(path):]},
                   key=lambda name: ROOMS.index(name) if name in ROOMS else len(ROOMS))
    return here + [{name: folder(f"{path}{name}/", pages)} for name in below]


def on_files(files, config):
    added = {**cpp_pages(), **python_pages()}
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            added[file.src_uri[:-6] + ".md"] = notebook_page("docs/" + file.src_uri)
    wanted = {"CONTRIBUTING.md", "CHANGELOG.md"}
    for file in files.documentation_pages():
        for found in LINK.finditer(file.content_string):
            path = outside(file.src_uri, found.group(1))
            if path:
                wanted.add(path)
    for path in wanted:
        added[source_page(path)] = source_text(path)
    for path, text in added.items():
        boost = "---\nsearch:\n  boost: 0.5\n---\n\n" if path.startswith(("api/", "source/")) else ""  # pages that explain come first
        files.append(File.generated(config, path, content=boost + text))
    config.nav = expanded(config.nav, [f.src_uri for f in files.documentation_pages() if not f.src_uri.startswith("source/")])
    listed = str(config.nav)
    for path in wanted:
        if source_page(path) not in listed:
            files.get_file_from_path(source_page(path)).inclusion = files.get_file_from_path("README.md").inclusion.NOT_IN_NAV
    return files


def on_env(env, config, files):
    config.extra["polyfills"] = ["site/site.js"]  # in the place of a script that the plugin `offline` would have fetched from the network
    return env


def on_page_markdown(markdown, page, config, files):
    def changed(found):
        path = outside(page.file.src_uri, found.group(1))
        if not path:
            return found.group(0)
        to = posixpath.relpath(source_page(path), posixpath.dirname(page.file.src_uri) or ".")
        return found.group(0).replace(f"({found.group(1)}", f"({to}")

    if not page.file.src_uri.startswith("notebooks/"):
        markdown = re.sub(r"\]\(([^)\s:]+)\.ipynb\)", r"](\1.md)", markdown)
    return LINK.sub(changed, markdown)
