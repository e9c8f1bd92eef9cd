#!/usr/bin/env python3
"""Verdicts of `inlay prove` on random formulas, judged by Python's own integers.

Nothing of the library takes part in the judgement: a formula in i and the symbols n and m is drawn, `inlay prove` is asked
about it, and what it proves has to hold for all n, m in 1..7 by enumeration; what it refutes has to fail at its witness.
`unknown` is allowed and counted.

    formulas_by_python.py build/release/bin/inlay [cases] [seed]
"""
import json
import random
import re
import subprocess
import sys

SIZES = range(1, 8)
LARGEST_WITNESS = 200_000  # indices; beyond, a witness is left to inlay's own check
DOMAINS = ["n", "n*m", "2*n", "n+m", "4*n", "n*m+1", "8", "16"]
BOUNDS = ["n", "n*m", "2*n", "n+m", "8"]


def draw(rng, depth):
    """A formula as inlay reads it; Python reads it too, once / is //."""

    def sub():
        return draw(rng, depth - 1)

    kind = rng.random()
    if depth == 0 or kind < 0.20:
        return rng.choice(["i", "i", "i", "n", "m", "1", "2", "3", "4"])
    if kind < 0.35:
        return f"({sub()} + {sub()})"
    if kind < 0.45:
        return f"({sub()} * {rng.choice(['2', '3', '4', 'n', 'm'])})"
    if kind < 0.60:
        return f"({sub()} % {rng.choice(['2', '3', '4', 'n', 'm', '(n*m)', '(2*n)'])})"
    if kind < 0.75:
        return f"({sub()} / {rng.choice(['2', '3', '4', 'n', 'm', '(n*m)'])})"
    if kind < 0.80:
        return f"({sub()} ^ {sub()})"
    if kind < 0.84:
        return f"({sub()} & {rng.choice(['1', '3', '7'])})"
    if kind < 0.94:
        return f"{rng.choice(['min', 'max'])}({sub()}, {sub()})"
    if kind < 0.97:
        return f"select({sub()} < {sub()}, {sub()}, {sub()})"
    return f"({sub()} - {sub()})"


def nearly(rng, formula):
    """Another formula that is often the same function: a term that is 0, or one number changed."""
    if rng.random() < 0.5:
        return f"({formula} + ({draw(rng, 1)} % 1))"
    old, new = rng.choice([("n", "m"), ("2", "4"), ("3", "1")])
    return re.sub(rf"\b{old}\b", new, formula, count=1)


def select(condition, yes, no):
    return yes if condition else no


def code(formula):
    return compile(formula.replace("/", "//"), formula, "eval")


def holds(question, n, m):
    names = {"n": n, "m": m, "min": min, "max": max, "select": select}
    size = eval(question["domain"], names)
    values = [eval(question["code"], {**names, "i": i}) for i in range(size)]
    match question["property"]:
        case "injective":
            return len(set(values)) == size
        case "bijective":
            return sorted(values) == list(range(size))
        case "within":
            return all(0 <= v < eval(question["bound"], names) for v in values)
        case "covers":
            return set(range(eval(question["bound"], names))) <= set(values)
        case "equal":
            return values == [eval(question["other"], {**names, "i": i}) for i in range(size)]


def ask(binary, rng):
    formula = draw(rng, rng.choice([2, 3, 3, 4]))
    question = {
        "property": rng.choice(["injective", "bijective", "within", "covers", "equal"]),
        "domain": rng.choice(DOMAINS),
        "code": code(formula),
    }
    arguments = ["prove", question["property"], formula]
    if question["property"] in ("within", "covers"):
        question["bound"] = rng.choice(BOUNDS)
        arguments.append(question["bound"])
    if question["property"] == "equal":
        other = nearly(rng, formula)
        question["other"] = code(other)
        arguments.append(other)
    arguments += ["--domain", f"({question['domain']})", "--json", "--limit", "50000"]
    answer = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=120)
    return question, arguments, answer


def main():
    binary = sys.argv[1]
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 250
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = random.Random(seed)
    counts = {}
    wrong = 0
    for _ in range(cases):
        question, arguments, answer = ask(binary, rng)
        shown = " ".join(f"'{a}'" for a in arguments)
        if answer.returncode not in (0, 1, 3):
            wrong += 1
            print(f"exit {answer.returncode}: inlay {shown}\n{answer.stderr}")
            continue
        result = json.loads(answer.stdout)
        verdict = result["verdict"]
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict == "proved":
            bad = next(((n, m) for n in SIZES for m in SIZES if not holds(question, n, m)), None)
            if bad is not None:
                wrong += 1
                print(f"proved, but false for n, m = {bad}: inlay {shown}")
        if verdict == "refuted":
            symbols = result["witness"]["symbols"]
            n, m = int(symbols.get("n", 1)), int(symbols.get("m", 1))
            if eval(question["domain"], {"n": n, "m": m}) <= LARGEST_WITNESS and holds(question, n, m):
                wrong += 1
                print(f"refuted, but true for n, m = {n}, {m}: inlay {shown}")
    print(f"{cases} questions, seed {seed}: {counts}, {wrong} wrong")
    enough = all(counts.get(v, 0) >= cases // 20 for v in ("proved", "refuted"))
    if not enough:
        print("too few proved or refuted for this to say something")
    return 1 if wrong or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
