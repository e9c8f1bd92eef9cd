#!/usr/bin/env bash
# check.sh COQC SOURCES OUTPUT: compiles every theory and demands that `Print Assumptions` answers "Closed under the global
# context" for each of its theorems, that is: no axiom and no admitted lemma. Prints the theorems, one a line.
set -euo pipefail
coqc=$1 sources=$2 output=$3
layers=("Layout F2" "FirstDiff Value" "Chain Composition" "Complement Swizzle" "Laws Monoids") # each needs those before it only
theories="${layers[*]}"
for file in "$sources"/*.v; do
  case " $theories " in *" $(basename "$file" .v) "*) ;; *) echo "$file is not in the list of $0"; exit 1 ;; esac
done
mkdir -p "$output"
cd "$output"
rm -f ./*.v ./*.vo
theorems=()
for layer in "${layers[@]}"; do
  running=()
  for theory in $layer; do
    cp "$sources/$theory.v" .
    "$coqc" -q -Q . "" "$theory.v" &
    running+=($!)
    mapfile -t -O "${#theorems[@]}" theorems < <(sed -n "s/^Theorem \([A-Za-z0-9_]*\).*/$theory.\1/p" "$theory.v")
  done
  for pid in "${running[@]}"; do wait "$pid"; done
done
# The last answer must not be "Closed": were it, this check could not fail.
{
  echo "Require $theories."
  printf 'Print Assumptions %s.\n' "${theorems[@]}"
  echo 'Axiom unproved : 0 = 1. Lemma wrong : 1 = 0. Proof. symmetry. exact unproved. Qed. Print Assumptions wrong.'
} >Assumptions.v
"$coqc" -q -Q . "" Assumptions.v >assumptions.txt
closed=$(grep -c '^Closed under the global context$' assumptions.txt || true)
if [ "${#theorems[@]}" -lt 1 ] || [ "$closed" -ne "${#theorems[@]}" ] || ! tail -n 1 assumptions.txt | grep -q '^unproved'; then
  echo "$closed of ${#theorems[@]} theorems without assumptions"
  cat assumptions.txt
  exit 1
fi
printf '%s: closed under the global context\n' "${theorems[@]}"
