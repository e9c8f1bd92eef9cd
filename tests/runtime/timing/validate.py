#!/usr/bin/env python3
"""The cycle model against clocks measured on hardware: rows of measured.json, run by `inlay time`.

  validate.py INLAY               prints the tables and exits 1 when a limit is passed
  validate.py INLAY --write FILE  also puts them into FILE between its marks
  validate.py INLAY --aiter [CHECKOUT] [--published|--tiles] [--leave-out KERNEL,..] [--write FILE]
                                  the times of whole launches (end_to_end.py) instead, from the clone that INLAY_AITER names; takes 10 to 30 minutes.
                                  --published: TFLOP/s of long ones; --tiles: the tile that the tuner chose among those of its family

A limit is what this model reaches with some room, not what one would wish for: a change of the model that makes it worse fails.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import end_to_end
import orders
import published

HERE = os.path.dirname(os.path.abspath(__file__))
READS = {  # where lanes read and write 16 bytes each: v1 and v2 from the lane in v8; v11 is free
    "free": None,
    # lanes 32 bytes apart: two to a bank in each phase
    "two_way": ["v_lshlrev_b32 v1, 5, v8"],
    # the same, and writes too
    "all_two_way": ["v_lshlrev_b32 v1, 5, v8", "v_lshlrev_b32 v2, 5, v8"],
    # 16 rows of 128 bytes side by side, as without padding or swizzle
    "raw_rows": ["v_and_b32 v1, 15, v8", "v_lshlrev_b32 v1, 7, v1", "v_lshrrev_b32 v11, 4, v8", "v_lshlrev_b32 v11, 4, v11",
                 "v_add_u32 v1, v1, v11"],
}


class Model:
    def __init__(self, inlay):
        self.inlay = inlay
        self.directory = tempfile.mkdtemp()

    def timing(self, text, arch, waves, *more, buffer=67108864, neighbours=False):
        path = os.path.join(self.directory, "k.s")
        with open(path, "w") as f:
            f.write(text)
        grid = [] if "--grid" in more else ["--grid", "1"]
        alone = [] if neighbours else ["--alone"]
        ran = subprocess.run([self.inlay, "time", path, "--arch", arch, *grid, "--block", str(64 * waves), "--arg", f"zeros:{buffer}", *alone, "--quick", "--json",
                              *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"inlay time: {ran.stderr}")
        return json.loads(ran.stdout)["timing"]


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    for rank, i in enumerate(order):
        out[i] = rank
    return out


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    n = len(x)
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1))


def matrix_rows(model, data):
    rows = []
    for r in data["matrix"]["rows"]:
        many = "\n".join(f"{r['name']} v[{d}:{d + r['d'] - 1}], v[0:{r['a'] - 1}], v[8:{8 + r['a'] - 1}], v[{d}:{d + r['d'] - 1}]".replace("v[0:0]", "v0")
                         .replace("v[8:8]", "v8") for d in [32 + i % 4 * r["d"] for i in range(64)])
        one = many.split("\n")[0]

        def clocks(body):
            text = orders.kernel(r["arch"], "", "16x16x16_f16", 1, 1).replace("loop:\n", "loop:\n" + body + "\n")
            return model.timing(text, r["arch"], 1)["clocks"]

        # The loop's own scalar instructions hide behind the pipe, so rates come from differences.
        rate = (clocks(many) - clocks("\n".join(many.split("\n")[:32]))) / 32
        latency = clocks(one + "\nv_add_f32 v30, v32, v32") - clocks("v_add_f32 v30, v32, v32")
        rows.append((r, rate, latency))
    return rows


def lds_rows(model, data):
    rows = []
    for r in data["lds"]["rows"]:
        def place(row, column):
            return row * 1024 + sum(row * 1024 // every * pad for every, pad in r["pad"]) + column

        # As the code of the measured kernels has them: one wave reads 32 times, 16 rows below one another and two columns of 1 KiB, four 16 times.
        # Halves of 32 bytes follow each other, the second half first but for the first pair.
        pairs = {1: [place(16 * i, 128 * k) for i in range(2) for k in range(8)], 4: [place(16 * i, 512 * k) for i in range(4) for k in range(2)]}
        offsets = {w: [0, 16] + [o for p in at[1:] for o in (p + 16, p)] for w, at in pairs.items()}

        def clocks(waves, n):
            # Lane l reads at row l mod 16, column 2 * (wave * 64 + (l & 48)), with the paddings of that row.
            address = ["v_and_b32 v1, 15, v8", "v_lshlrev_b32 v11, 10, v1"]
            for every, pad in r["pad"]:
                address += [f"v_lshrrev_b32 v12, {(every // 1024).bit_length() - 1}, v1", f"v_mul_u32_u24 v12, {pad}, v12", "v_add_u32 v11, v11, v12"]
            address += ["v_and_b32 v12, 48, v8", "v_lshlrev_b32 v13, 6, v9", "v_or_b32 v12, v12, v13", "v_lshlrev_b32 v12, 1, v12", "v_add_u32 v1, v11, v12"]
            reads = "\n".join(f"ds_read_b128 v[{16 + 4 * i}:{19 + 4 * i}], v1 offset:{o}" for i, o in enumerate(offsets[waves][:n]))
            text = orders.kernel("gfx950", "", "16x16x32_f16", waves, 1, lds=131072, read_address=address)
            return model.timing(text.replace("loop:\n", "loop:\n" + reads + "\n s_waitcnt lgkmcnt(0)\n"), "gfx950", waves)["clocks"]
        # The second half of them: by then the queue is full.
        one, four = [(clocks(w, n) - clocks(w, n // 2)) / (n - n // 2) for w, n in ((1, 32), (4, 16))]
        rows.append((r, one, four))
    return rows


def loop_rows(model, data):
    rows = []
    for r in data["loops"]:
        text = orders.kernel(r["arch"], r["order"], r["matrix"], r["waves"], 14, lds=131072 if r["arch"] == "gfx950" else 65536,
                             prologue=r["prologue"], read_address=READS[r["reads"]], apart=r.get("apart", False))
        t = model.timing(text, r["arch"], r["waves"], "--data-in", r["data_in"])
        tokens = orders.expand(r["order"])
        ideal = 16 * tokens.count("M") * r["waves"] // 4  # of the waves of one SIMD
        measured = r.get("clocks") or ideal / r["efficiency"] * 100
        rows.append((r, measured, t["clocks_per_trip"], ideal))
    return rows


def loops_and_instructions(inlay):
    model = Model(inlay)
    with open(os.path.join(HERE, "measured.json")) as f:
        data = json.load(f)
    out, failed = [], []

    def limit(name, value, most):
        if value > most:
            failed.append(f"{name}: {value:.2f}, limit {most}")

    rows = matrix_rows(model, data)
    out += ["### Matrix instructions alone", "", data["matrix"]["source"] + ".", "",
            "| | instruction | clocks, published | modelled | D to use, published | modelled |", "|---|---|--:|--:|--:|--:|"]
    for r, rate, latency in rows:
        out.append(f"| {r['arch']} | `{r['name']}` | {r['clocks']} | {rate:.1f} | {r['latency']} | {latency:.0f} |")
        limit(r["name"], abs(rate / r["clocks"] - 1) * 100, 2)
        limit(r["name"] + " latency", abs(latency / r["latency"] - 1) * 100, 2)
    worst = max(abs(rate / r["clocks"] - 1) for r, rate, _ in rows) * 100
    out += ["", f"Largest error {worst:.1f} %. The clocks are the model's input, so this table checks that they arrive, not that they are right.", ""]

    rows = lds_rows(model, data)
    out += ["### Reads of LDS on MI355X", "", data["lds"]["source"] + ". The reads are those of the kernels' machine code, in number, order, offsets and addresses of their "
            "lanes (looked up in five of the fourteen, the others by their padding); what fills LDS before and multiplies after is left out.", "",
            "| padding, bytes each | one wave, measured | modelled | four waves, measured | modelled | |", "|---|--:|--:|--:|--:|---|"]
    for r, one, four in rows:
        pads = ", ".join(f"{p} a {e}" for e, p in r["pad"])
        out.append(f"| {pads} | {r['one']} | {one:.1f} | {r['four']} | {four:.1f} | {'fitted' if r.get('fit') else ''} |")
        limit("LDS one wave " + pads, abs(one / r["one"] - 1) * 100, 10)
        limit("LDS four waves " + pads, abs(four / r["four"] - 1) * 100, 10)
    out.append("")

    rows = loop_rows(model, data)
    for chip, what in (("MI300X", "clocks"), ("MI355X", "efficiency")):
        mine = [r for r in rows if r[0]["chip"] == chip]
        out += [f"### Loops of a GEMM on {chip}", ""]
        if what == "clocks":
            out += ["| loop, from its published order | clocks a trip, measured | modelled | error | |", "|---|--:|--:|--:|---|"]
        else:
            out += ["| loop, from the order of its machine code | matrix efficiency, measured | modelled | points | |", "|---|--:|--:|--:|---|"]
        errors = []
        for r, measured, modelled, ideal in mine:
            fit = "fitted" if r.get("fit") else ""
            if what == "clocks":
                error = (modelled / measured - 1) * 100
                out.append(f"| {r['name']} | {measured:.0f} | {modelled:.0f} | {error:+.1f} % | {fit} |")
            else:
                error = ideal / modelled * 100 - r["efficiency"]
                out.append(f"| {r['name']} | {r['efficiency']:.1f} % | {ideal / modelled * 100:.1f} % | {error:+.1f} | {fit} |")
            errors.append((abs(error), bool(r.get("fit"))))
        test = [e for e, fit in errors if not fit]
        rank = spearman([m for _, m, _, _ in mine], [c for _, _, c, _ in mine])
        out += ["", f"Mean error {sum(e for e, _ in errors) / len(errors):.1f}, of the rows that no parameter was fitted to {sum(test) / len(test):.1f}; largest "
                f"{max(e for e, _ in errors):.1f}; rank correlation {rank:.2f}.", ""]
        limit(f"{chip} mean error", sum(e for e, _ in errors) / len(errors), 3.5)
        limit(f"{chip} largest error", max(e for e, _ in errors), 6.5)
        limit(f"{chip} 1 - rank correlation", 1 - rank, 0.05)

    rows = tile_order_rows(model, data)
    out += ["### Tile orders and the L2 caches of MI355X", "", data["tile_orders"]["source"] + ". The kernel is rebuilt from its loads.", "",
            "| order of the tiles | misses, measured | modelled | error |", "|---|--:|--:|--:|"]
    for r, asked, misses in rows:
        out.append(f"| {r['name']} | {r['misses']} | {misses:.0f} | {(misses / r['misses'] - 1) * 100:+.1f} % |")
        limit("requests to L2 of " + r["name"], abs(asked / 16777216 - 1) * 100, 0.1)
    errors = [abs(misses / r["misses"] - 1) * 100 for r, _, misses in rows]
    out += ["", f"Mean error {sum(errors) / len(errors):.1f} %, all of it one way: the workgroups of an XCD are taken to go in step, so that it fetches each line once.", ""]
    limit("tile orders, mean error", sum(errors) / len(errors), 25)
    return out, failed


def tile_order_rows(model, data):
    out = []
    trips = 16  # of 128: the others are alike
    for r in data["tile_orders"]["rows"]:
        table = os.path.join(model.directory, "tiles")
        with open(table, "wb") as f:
            for pid in range(256):
                f.write(struct.pack("<II", *published.tile_of(pid, 16, 16, r["remap"], r["group"])))
        text = orders.loads_of_tiles(16384, trips)
        t = model.timing(text, "gfx950", 4, "--grid", "256", "--arg", f"in:{table}", "--sample", "1", buffer=2 * 4096 * 16384, neighbours=True)
        scale = 256 * 128 / trips
        out.append((r, (t["lines"]["asked"] - t["lines"]["l1"]) * scale, (t["lines"]["mall"] + t["lines"]["hbm"]) * scale / t["chip"]["sharing"]["l2"]))
    return out


def published_section(inlay, checkout, leave_out):
    """Lines of the table of published TFLOP/s: AITER's tables, then the others of measured.json."""
    with open(os.path.join(HERE, "measured.json")) as f:
        data = json.load(f)
    return end_to_end.published(inlay, checkout, published.rows(inlay, checkout, data, READS), data["published"]["sources"], leave_out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("inlay")
    parser.add_argument("--aiter", nargs="?", const=os.environ.get("INLAY_AITER", ""))
    parser.add_argument("--tiles", action="store_true", help="with --aiter: the tile that the tuner chose among those of its family")
    parser.add_argument("--published", action="store_true", help="with --aiter: TFLOP/s at the clock under load, beside published ones")
    parser.add_argument("--leave-out", default="", help="with --aiter: kernels whose rows are not run, as the tables name them, between commas")
    parser.add_argument("--write")
    o = parser.parse_args()
    inlay = os.path.abspath(o.inlay)
    if o.aiter == "":
        print("skipped: INLAY_AITER names no clone of github.com/ROCm/aiter")
        return 77
    name = "validation" if o.aiter is None else "published" if o.published else "tiles" if o.tiles else "end to end"
    if o.aiter is None:
        out, failed = loops_and_instructions(inlay)
    else:
        out, failed = published_section(inlay, o.aiter, o.leave_out.split(",")) if o.published else end_to_end.choices(inlay, o.aiter) if o.tiles else end_to_end.section(inlay, o.aiter, spearman, o.leave_out.split(","))
    text = "\n".join(out)
    print(text)
    if o.write:
        with open(o.write) as f:
            page = f.read()
        begin, end = f"<!-- {name} -->\n", f"<!-- {name} end -->"
        head, rest = page.split(begin)
        with open(o.write, "w") as f:
            f.write(head + begin + "\n" + text + "\n" + end + rest.split(end)[1])
    for f in failed:
        print("FAILED", f)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
