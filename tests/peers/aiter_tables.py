#!/usr/bin/env python3
"""Our choice of a form beside the kernel that AITER's tuning tables name for the same sizes, both by the cycle model.

    git clone https://github.com/ROCm/aiter
    INLAY_AITER=$PWD/aiter python3 tests/peers/aiter_tables.py [--rows 60] [--journal FILE] [--most 6e9]

Rows are those of aiter/configs whose kernel is a code object of hsa/ that takes the sizes: bf16, fp4 and i8 products, as many of each, spread over
M x N x K. Theirs is launched as csrc/py_itfs_cu/asm_*.cu does it (tests/peers/aiter_kernels.py runs them against numpy) and modelled by
`inlay time --quick`; ours is what `inlay build` chooses. Where ours is longer, the same tile is asked for: it cannot be built (the form is missing), it is
shorter (the choice passed over it), or it is longer too (what is missing is inside the loop). Theirs adds parts of K up by atomics on a C that somebody else
clears, which is not counted; of the rows that are longer, the form that asks for the same (--split-k-fixup no) is modelled, too. INLAY_AITER may be a directory of git (bare, too) or a checkout. Exit 77 without it.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--inlay", default=str(root / "build/release/bin/inlay"))
parser.add_argument("--rows", type=int, default=60)
parser.add_argument("--most", type=float, default=6e9, help="of M x N x K: what is larger takes minutes")
parser.add_argument("--journal", help="a line for each row that is done; those are not done again")
options = parser.parse_args()
aiter = os.environ.get("INLAY_AITER")
if not aiter or not pathlib.Path(aiter).exists():
    print("skipped: INLAY_AITER names no github.com/ROCm/aiter")
    sys.exit(77)
folder = tempfile.TemporaryDirectory()


def read(path):
    """A file of the repository, from the checkout or from git."""
    file = pathlib.Path(aiter, path)
    if file.exists():
        return file.read_bytes()
    return subprocess.run(["git", "-C", aiter, "show", "HEAD:" + path], check=True, capture_output=True).stdout


def table(path):
    return list(csv.DictReader(io.StringIO(read(path).decode())))


def up(a, b):
    return -(-a // b)


# Of each family: its tables of sizes and of kernels, how a row is launched, and what our kernel is called.

def bf16(row, k, m, n, kk):
    split = int(row["splitK"]) if k["splitK"] == "1" else 1
    wide = 4 if row["outdtype"] == "torch.float32" else 2
    return (f"{up(n, int(k['tileN']))},{up(m, int(k['tileM']))},{split}",
            [f"out:{m * n * wide}" if split == 1 else f"zeros:{m * n * wide}", "ptr:0", f"zeros:{2 * m * kk}", f"zeros:{2 * n * kk}", "f32:1", "f32:0",
             f"i32:{n * wide}", "i32:0", f"i32:{n * wide}", "i32:0", f"i32:{2 * kk}", "i32:0", f"i32:{2 * kk}", "i32:0", f"i32:{m}", f"i32:{n}", f"i32:{kk}",
             f"i32:{split}", f"i32:{0 if wide == 4 else 1}", f"zeros:{2 * n}", f"i32:{int(row['bias'] == 'True')}", "zeros:65536"],
            (int(k["tileM"]), int(k["tileN"]), split))


def fp4(row, k, m, n, kk):
    split = int(row["splitK"])
    parts = up(kk, up(kk >> split, 256) * 256) if split else 1
    rows, scales = up(m, 32) * 32, up(kk // 32, 8) * 8
    return (f"{up(n, int(k['tile_N']))},{up(m, int(k['tile_M']))},{parts}",
            [f"{'zeros' if split else 'out'}:{rows * n * 2}", "ptr:0", f"zeros:{up(m, 256) * 128 * kk}", f"zeros:{n * kk // 2}", "f32:1", "f32:0", "i32:0", "i32:0",
             f"i32:{n}", "i32:0", f"i32:{kk}", "i32:0", f"i32:{kk}", "i32:0", f"i32:{m}", f"i32:{n}", f"i32:{kk}", f"zeros:{up(m, 256) * 256 * scales}",
             f"zeros:{up(n, 256) * 256 * scales}", f"i32:{scales}", "i32:0", f"i32:{scales}", "i32:0", f"i32:{split}"],
            (int(k["tile_M"]), int(k["tile_N"]), parts))


def i8(row, k, m, n, kk):
    split = max(1, int(row["splitK"]))
    return (f"{n // int(k['tile_n']) * split},{up(m, int(k['tile_m']))},1",
            [f"{'zeros' if split > 1 else 'out'}:{m * n * 2}", f"zeros:{m * kk}", f"zeros:{n * kk}", f"zeros:{4 * m}", f"zeros:{4 * n}", f"zeros:{4 * n}",
             f"i32:{m}", f"i32:{n}", f"i32:{kk}", f"i32:{kk}", f"i32:{kk}", f"i32:{2 * n}", f"i32:{split}"],
            (int(k["tile_m"]), int(k["tile_n"]), split))


FAMILIES = [
    ("bf16_tuned_gemm", "bf16gemm/bf16gemm_fp32bf16", bf16, lambda row, k: ("preshuffle_gemm" if k["bPreshuffle"] == "1" else "gemm",
     ["--dtype", "bf16"] + (["--out", "f32"] if row["outdtype"] == "torch.float32" else [])), 64),
    ("a4w4_blockscale_tuned_gemm", "f4gemm/f4gemm_bf16_per1x32Fp4", fp4, lambda row, k: ("preshuffle_gemm" if k["bpreshuffle"] == "1" else "gemm", ["--dtype", "fp4"]), 256),
    ("a8w8_bpreshuffle_tuned_gemm", "i8gemm/i8gemm_bf16_perTokenI8", i8, lambda row, k: ("preshuffle_gemm", ["--dtype", "i8", "--scales", "yes", "--bias", "yes", "--out", "bf16"]), 128),
]


def cases():
    """As many rows of each family, spread over the size of the problem, one of each family after the other."""
    all_of = []
    for sizes, kernels, launch, ours, step in FAMILIES:
        found, seen = [], set()
        known = {}
        for row in table(f"aiter/configs/{sizes}.csv"):
            arch = row["gfx"]
            if arch not in known:
                try:
                    known[arch] = {k["knl_name"]: k for k in table(f"hsa/{arch}/{kernels}.csv")}
                except subprocess.CalledProcessError:
                    known[arch] = {}
            k = known[arch].get(row["kernelName"])
            m, n, kk = (int(row[x]) for x in "MNK")
            tile_n = int(k.get("tileN") or k.get("tile_N") or k.get("tile_n")) if k else 1
            if not k or kk % step or n % 16 or (sizes.startswith("a8") and n % tile_n) or m * n * kk > options.most or (arch, m, n, kk) in seen:
                continue
            seen.add((arch, m, n, kk))
            found.append((arch, m, n, kk, row, k, f"hsa/{arch}/{kernels.split('/')[0]}/{k['co_name']}", launch, ours))
        found.sort(key=lambda c: (c[1] * c[2] * c[3], c[:4]))
        want = up(options.rows, len(FAMILIES))
        all_of.append([found[i * len(found) // want] for i in range(want)] if len(found) > want else found)
    return [of[i] for i in range(max(map(len, all_of))) for of in all_of if i < len(of)][:options.rows]


def inlay(*words):
    ran = subprocess.run([options.inlay, *words], capture_output=True, text=True)
    return (json.loads(ran.stdout) if ran.returncode == 0 else None), ran.stderr


def theirs(code, grid, arguments):
    file = os.path.join(folder.name, os.path.basename(code))
    pathlib.Path(file).write_bytes(read(code))
    # Some kernels take less of the structure than the others, or more, which is 0.
    seen, error = inlay("inspect", file, "--json")
    if not seen:
        return None, error
    slots = [a for a in (seen[0] if isinstance(seen, list) else seen["kernels"][0])["arguments"]["list"] if a["offset"] % 16 == 0]
    arguments = arguments[:len(slots)] + ["ptr:0" if a["size"] == 8 else "i32:0" for a in slots[len(arguments):]]
    told, error = inlay("time", file, "--grid", grid, "--block", "256,1,1", "--quick", "--json", "--arg", *arguments)
    return (told["timing"]["chip"]["clocks"], "") if told else (None, error)


def chosen(kernel, arch, flags, m, n, k, *more):
    told, error = inlay("build", kernel, "--arch", arch, *flags, "--m", str(m), "--n", str(n), "--k", str(k), "--no-validate", "--json", "-o", folder.name, *more)
    if not told or not told["choice"]:
        return None, error or "nothing to choose from"
    form = {x: v for x, v in told["choice"]["options"].items() if x in ("tile", "waves", "split", "pingpong", "direct-to-lds", "direct-to-vgpr") and v not in ("0", "no", "none")}
    return told["choice"]["clocks"], " ".join(f"{x}={v}" for x, v in sorted(form.items()))


def judge(case):
    arch, m, n, k, row, kernel, code, launch, ours = case
    grid, arguments, (tile_m, tile_n, split) = launch(row, kernel, m, n, k)
    name, flags = ours(row, kernel)
    there, error = theirs(code, grid, arguments)
    one = {"kernel": name, "arch": arch, "sizes": [m, n, k], "flags": flags, "code": os.path.basename(code), "split": split, "us": float(row["us"]), "theirs": there}
    if there is None:
        return {**one, "why": error.splitlines()[0] if error else "no answer"}
    one["ours"], one["form"] = chosen(name, arch, flags, m, n, k)
    if one["ours"] is not None and one["ours"] <= 1.03 * there:
        return one
    if split > 1 and ("f32" in flags or "i8" in flags): # what theirs is: parts that are added to a C of zeros; of i8 without its bias, which is added once
        one["added"], one["added_form"] = chosen(name, arch, flags, m, n, k, "--split-k-fixup", "no", *(["--bias", "no"] if "i8" in flags else []))
    of_k = {"bf16": 64, "fp4": 256, "i8": 128}[flags[1]]
    same, form = chosen(name, arch, flags, m, n, k, "--tile", f"{tile_m}x{tile_n}x{of_k}")
    if same is None:
        one["missing"] = f"tile {tile_m}x{tile_n}: {form.splitlines()[0][:120] if form else 'cannot be built'}"
    elif one["ours"] is None or same < one["ours"]:
        one["missing"] = f"tile {tile_m}x{tile_n} takes {same:.0f} ({form}): the choice passed over it"
    else:
        one["missing"] = f"tile {tile_m}x{tile_n} takes {same:.0f} here: " + (f"parts of K are added by atomics, {split} of them" if split > 1 else "the loop")
    return one


def added(one):
    """The form that adds its parts to a C of zeros, where it was asked for."""
    return f"; added by atomics {one['added']:.0f}, {one['added'] / one['theirs']:.2f} ({one['added_form']})" if one.get("added") else ""


def main():
    done = {}
    if options.journal and os.path.exists(options.journal):
        with open(options.journal, encoding="utf-8") as f:
            for line in f:
                one = json.loads(line)
                done[one["arch"], *one["sizes"], one["code"]] = one
    results = []
    for case in cases():
        key = (case[0], *case[1:4], os.path.basename(case[6]))
        one = done.get(key) or judge(case)
        if options.journal and key not in done:
            with open(options.journal, "a", encoding="utf-8") as f:
                f.write(json.dumps(one) + "\n")
        results.append(one)
        ours, there = one.get("ours"), one["theirs"]
        ratio = f"{ours / there:.2f}" if ours and there else "-"
        print(f"| {one['kernel']} {one['arch']} {one['flags'][1]} | {'x'.join(map(str, one['sizes']))} | {ours and f'{ours:.0f}'} | {there and f'{there:.0f}'} | {ratio} | "
              f"{one.get('form', '')}{added(one)} | {one['code'][:-3]}{' split ' + str(one['split']) if one['split'] > 1 else ''} | {one.get('missing', one.get('why', ''))} |", flush=True)
    both = [one["ours"] / one["theirs"] for one in results if one.get("ours") and one["theirs"]]
    if both:
        print(f"\n{len(both)} of {len(results)} rows modelled on both sides: ours takes {statistics.median(both):.2f} times theirs in the median, {max(both):.2f} at most; "
              f"{sum(x > 1.03 for x in both)} rows more than 3 % longer")
    folder.cleanup()
    return 0 if len(both) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
