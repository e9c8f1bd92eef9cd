"""Kernels exported as AITER keeps its own (`inlay bundle --aiter`): the table read by the rules of AITER's hsa/codegen.py, each of which is
written down here once more; grids by Python's own arithmetic; and launches by the exported structure, with all sanitizers.

    python3 aiter.py INLAY HIP_FOLDER
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

INLAY, HIP = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*words, status=0, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def read_table(root, arch, module):
    """Rows of all tables of a module, by the key that AITER's host functions look for: processor and function."""
    rows = {}
    for folder, _, files in os.walk(os.path.join(root, "hsa", arch, module)):
        for file in files:
            if not file.endswith(".csv"):
                continue
            with open(os.path.join(folder, file), encoding="utf-8-sig") as text:
                content = text.read()
            assert not re.search(r"//|#|;|/\*", content), "a comment to AITER's reader"
            table = list(csv.DictReader(content.splitlines()))
            assert table and {"knl_name", "co_name"} <= set(table[0])
            for row in table:
                assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in row), "columns are members of a C++ structure"
                numbers = {name for name in row if name not in ("knl_name", "co_name")}
                assert all(row[name].isdigit() and int(row[name]) < 2**31 for name in numbers), row
                assert arch + row["knl_name"] not in rows, "one row a function"
                path = os.path.join(folder, row["co_name"])
                with open(path, "rb") as code:
                    assert code.read(4) == b"\x7fELF"
                rows[arch + row["knl_name"]] = {**row, "path": path}
    return rows


def grid_of(manifest, sizes):
    """The manifest's grid by Python: floor division, as the format says."""
    return [eval(formula.replace("/", "//"), {"min": min, "max": max}, sizes) for formula in manifest["grid"]]


def grids_agree(folder, manifest, out):
    """The header's grid and conditions, compiled, against the manifest."""
    names = [s["name"] for s in manifest["sizes"]]
    tried = [[max(s["least"], s["multiple"]) for s in manifest["sizes"]],
             [s["multiple"] * (127 + 2 * i) for i, s in enumerate(manifest["sizes"])],
             [s["multiple"] * 128 for s in manifest["sizes"]]]
    tried = [sizes for sizes in tried if all(n <= s["most"] for n, s in zip(sizes, manifest["sizes"]))]
    name = manifest["kernel"]
    calls = "".join(f"show({name}::takes({', '.join(map(str, s))}), {name}::grid({', '.join(map(str, s))}));" for s in tried)
    source = os.path.join(out, "grid.cpp")
    with open(source, "w") as text:
        text.write(f'#include "{name}.h"\n#include <cstdio>\n'
                   "static void show(bool ok, std::array<int, 3> g) { std::printf(\"%d %d %d %d\\n\", ok, g[0], g[1], g[2]); }\n"
                   "int main() { " + calls + " }\n")
    run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", folder, source, "-o", source[:-4])
    said = [list(map(int, line.split())) for line in run(source[:-4]).splitlines()]
    assert said == [[1, *grid_of(manifest, dict(zip(names, sizes)))] for sizes in tried], (name, said)


with tempfile.TemporaryDirectory() as out:
    at = lambda *names: os.path.join(out, *names)
    manifests = {}
    for arch in ("gfx942", "gfx950"):
        for kernel in (["gemm"], ["rmsnorm"], ["flash_attention"], ["gemm", "--dtype", "fp8", "--scales", "yes"]):
            folder = at("built", arch, str(len(kernel)) + kernel[0])
            run(INLAY, "build", *kernel, "--arch", arch, "--auto", "no", "--no-validate", "-o", folder)
            with open(os.path.join(folder, kernel[0] + ".json")) as text:
                manifests[arch, *kernel] = folder, json.load(text)
    plain = [os.path.join(folder, key[1] + ".json") for key, (folder, _) in manifests.items() if len(key) == 2]
    run(INLAY, "bundle", *plain, "--aiter", at("aiter"))
    for (arch, kernel, *more), (folder, manifest) in manifests.items():
        root = at("aiter")
        if more: # another kernel of the same name
            root = at("scaled", arch)
            run(INLAY, "bundle", os.path.join(folder, kernel + ".json"), "--aiter", root)
        rows = read_table(root, arch, kernel)
        row = rows[arch + manifest["kernel"]]
        assert len(rows) == 1 and int(row["block"]) == manifest["block"][0] and int(row["lds"]) == manifest["lds"]
        for s in manifest["sizes"]:
            assert [int(row[f"{s['name']}_{what}"]) for what in ("least", "most", "multiple")] == [s["least"], s["most"], s["multiple"]]
        with open(os.path.join(folder, kernel + ".hsaco"), "rb") as a, open(row["path"], "rb") as b:
            assert a.read() == b.read()
        grids_agree(os.path.dirname(row["path"]), manifest, out)
        # The project's own commands take it, too.
        assert manifest["kernel"] in run(INLAY, "inspect", row["path"])
        if (kernel, more) == ("gemm", []):
            folder = os.path.dirname(row["path"])
            run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", folder, os.path.join(HERE, "aiter_host.cpp"), "-o", at("host"),
                f"-L{HIP}", "-lamdhip64", f"-Wl,-rpath,{HIP}")
            said = run(INLAY, "run-with", "--library", HIP, "--arch", arch, "--check", "all", "--", at("host"), row["path"], row["knl_name"])
            assert "right" in said and "no defect" in said, said
    # Several forms have one function's name.
    with open(at("forms"), "w") as text:
        text.write("--tile 64x64x64 --waves 2x2\n--tile 16x64x64 --waves 1x4\n")
    run(INLAY, "build", "gemm", "--for", "m=1..64", "--n", "64", "--k", "64", "--forms", at("forms"), "--no-validate", "-o", at("forms.inlay"))
    said = run(INLAY, "bundle", at("forms.inlay"), "--aiter", at("none"), status=2)
    assert "AITER's tables have a function of one name once" in said and not os.path.exists(at("none")), said
print("8 kernels exported, read, compiled; gemm launched on gfx942 and gfx950")
