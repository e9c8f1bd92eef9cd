#!/usr/bin/env python3
"""The tables of proofs/README.md claim what a machine checks, and all of it.

  check_table.py ROOT

Every theorem of proofs/coq stands in the table of theorems, and the other way round (proofs.coq checks each for
assumptions). The table of identities has 52 rows; what a row names exists and says that it is about that row:
theorems, files of proofs/smt by number (`; identity N`), instances for all sizes (`proved(...); // N`) and properties
of values (`identity("N ...")`) in identities_test.cpp, and the layouts of the naive form in refuted/naive_forms.json.
No file, instance, property or naive form is left out, and no row is empty. CI installs the programs that check.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def numbers(text):
    """`7, 8, 12` and `27-29` as a set."""
    out = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        out |= set(range(int(first), int(last or first) + 1))
    return out


def table(heading):
    """The cells of the rows of the table under a heading."""
    text = readme.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in text.split("\n") if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


readme = (root / "proofs/README.md").read_text()
theorems = {}
for path in sorted((root / "proofs/coq").glob("*.v")):
    for name in re.findall(r"^Theorem (\w+)", path.read_text(), re.M):
        check(name not in theorems, f"two theorems are called {name}")
        theorems[name] = f"coq/{path.name}"

listed = {}
for names, file, _ in table("Theorems in Coq"):
    for name in re.findall(r"`(\w+)`", names):
        listed[name] = file
for name in sorted(theorems.keys() | listed.keys()):
    check(theorems.get(name) == listed.get(name),
          f"theorem {name}: proved in {theorems.get(name)}, listed under {listed.get(name)}")

smt = {}
for path in sorted((root / "proofs/smt").glob("*.smt2")):
    number = int(path.name.split("_")[0])
    check(path.read_text().startswith(f"; identity {number}\n"), f"{path.name} does not begin with `; identity {number}`")
    smt.setdefault(number, set()).add(path.stem.split("_", 1)[1])

test = (root / "tests/proofs/identities_test.cpp").read_text()
values = set()
for name in re.findall(r'\bidentity\(\s*"([^"]*)"', test):
    stated = [numbers(m.group(1)) for m in re.finditer(r"(?:^|; )((?:\d+(?:-\d+)?(?:, )?)+)", name)]
    check(stated, f'identity("{name}") has no number')
    values |= set().union(*stated) if stated else set()
symbolic = set()
for block in re.findall(r"\n  proved\((?:[^;]*?)\);( *//[^\n]*)?", test):
    stated = re.match(r" *// ([\d, -]+)", block)
    check(stated, f"an instance for all sizes has no number: {block!r}")
    symbolic |= numbers(stated.group(1)) if stated else set()

naive = {}
for entry in json.loads((root / "proofs/refuted/naive_forms.json").read_text()):
    naive.setdefault(entry["identity"], []).append(json.dumps(entry))

seen = []
for number, _, _, coq, in_smt, for_all_sizes, tested, fails_at in table("Identities"):
    number = int(number)
    seen.append(number)
    for name in re.findall(r"`(\w+)`", coq):
        check(name in theorems, f"row {number}: no theorem {name}")
    check(bool(coq) == bool(re.fullmatch(r"(`\w+`(, )?)*(`\w+`)", coq)), f"row {number}: {coq!r} is more than names of theorems")
    check({s.strip() for s in in_smt.split(",")} - {""} == smt.get(number, set()),
          f"row {number}: SMT says {in_smt!r}, the files are {sorted(smt.get(number, set()))}")
    check(for_all_sizes == ("yes" if number in symbolic else ""), f"row {number}: for all sizes is {for_all_sizes!r}")
    check(tested == ("yes" if number in values else ""), f"row {number}: values is {tested!r}")
    check(bool(fails_at) == (number in naive), f"row {number}: naive form {fails_at!r}, {len(naive.get(number, []))} entries in naive_forms.json")
    for layout in re.findall(r"`([^`]+)`", fails_at):
        check(any(layout in entry for entry in naive.get(number, [])), f"row {number}: {layout} is not in naive_forms.json")
    check(coq or in_smt or for_all_sizes or tested or fails_at, f"row {number} claims nothing that is checked")
check(seen == list(range(1, 53)), f"the rows are {seen}")
for kind, found in (("SMT", smt), ("instance", symbolic), ("property", values), ("naive form", naive)):
    check(set(found) <= set(seen), f"{kind} for identities that have no row: {sorted(set(found) - set(seen))}")

packages = (root / ".ci/packages.sh").read_text().split("packages_test=(")[1].split(")")[0]
for program in ("coq", "cvc5", "z3"):
    check(re.search(rf"\b{program}\b", packages), f"CI does not install {program}")

print("\n".join(problems) if problems else f"{len(seen)} identities, {len(theorems)} theorems")
sys.exit(bool(problems))
