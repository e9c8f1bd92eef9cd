"""Code objects of AITER (`hsa/ARCH/FAMILY/X.co`) with the row of its table: which kernel it is, its tile and so the grid, and arguments in slots of 16 bytes."""
import csv
import glob
import os

from ._tools import CommandError, inspect


def _up(a, b):
    return -(-a // b)


def _in_line(tile, a):
    """Scaled products of 8 bits: parts of K beside one another along x, M, N and their number the arguments 6, 7, 12."""
    return a[7] // tile[1] * max(1, a[12]), _up(a[6], tile[0])


def _bf16(tile, a):
    return _up(a[15], tile[1]), _up(a[14], tile[0]), max(1, a[17])


def _fp4(tile, a):
    """Parts of K by the logarithm of their number; each is of whole 256."""
    return _up(a[15], tile[1]), _up(a[14], tile[0]), _up(a[16], _up(a[16] >> a[23], 256) * 256) if a[23] else 1


# Of its products, by a part of the kernel's name: the grid for a tile and the arguments, and how many of these it needs (csrc/py_itfs_cu/asm_gemm_*.cu).
_GRIDS = {"I8gemm_bf16_perTokenI8": (_in_line, 13), "fp8gemm_bf16_blockscale": (_in_line, 13), "bf16gemm_": (_bf16, 18), "f4gemm_bf16_per1x32Fp4": (_fp4, 24)}


def _row(file):
    """That of a table beside the file, or beside its folder, as of MI300 and MI308; None where there is none."""
    folder, name = os.path.split(os.path.abspath(file))
    for place in (folder, os.path.dirname(folder)):
        for table in sorted(glob.glob(os.path.join(glob.escape(place), "*.csv"))):
            with open(table, encoding="utf-8-sig", newline="") as text:
                for row in csv.DictReader(text):
                    if row.get("knl_name") and os.path.basename(row.get("co_name") or "") == name:
                        return row
    return None


def launch(file, args, options):
    """Arguments and options of a launch of `file`, as `exec` takes them. `options`: those of the caller, `row` among them where the table is elsewhere.

    Arguments are the members of AITER's structure without its padding: what a kernel does not take is left out, what is not given is 0, None is a null pointer.
    Errors: CommandError for a row of another file, and for a grid that does not follow from it.
    """
    row, options = options.get("row"), {name: value for name, value in options.items() if name != "row"}
    row = row or (_row(file) if os.fspath(file).endswith(".co") else None)
    if row is None:
        return args, options
    if os.path.basename(row["co_name"]) != os.path.basename(file):
        raise CommandError(f"the row is of {row['co_name']}, and the file is {os.path.basename(file)}")
    options["kernel"] = options.get("kernel") or row["knl_name"]
    args = tuple("ptr:0" if a is None else a for a in args)
    grid, needed = next((_GRIDS[name] for name in _GRIDS if name in row["knl_name"]), (None, 0))
    if options.get("grid") is None and args:
        if grid is None or len(args) < needed:
            raise CommandError(f"{row['knl_name']}: no grid follows from {len(args)} arguments and the row\n  hint   grid=" + (f", or {needed} arguments" if grid else "(x, y, z), block="))
        tile = [int(next(row[name] for name in row if name.replace("_", "").lower() == "tile" + axis)) for axis in "mn"]
        options["grid"] = [int(n) for n in grid(tile, args)]
        options["block"] = options.get("block") or 256
    declared = next((k["arguments"]["list"] for k in inspect(file)["kernels"] if k["kernel"] == options["kernel"]), [])
    slots = [a for a in declared if a["offset"] % 16 == 0]
    if args and len(args) != len(declared) and len(slots) < len(declared):
        args = args[:len(slots)] + tuple("ptr:0" if a["size"] == 8 else "i32:0" for a in slots[len(args):])
    return args, options
