#!/usr/bin/env bash
# check.sh COQC SOURCES OUTPUT: compiles the theories in order and demands that every `Print Assumptions` answers
# "Closed under the global context", that is: no axiom and no admitted lemma.
set -euo pipefail
coqc=$1 sources=$2 output=$3
mkdir -p "$output"
for theory in Layout FirstDiff F2 Chain; do
  [ -f "$sources/$theory.v" ] || continue
  cp "$sources/$theory.v" "$output/"
  wanted=$(grep -c '^Print Assumptions' "$sources/$theory.v")
  log=$(cd "$output" && "$coqc" -Q . "" "$theory.v")
  closed=$(grep -c 'Closed under the global context' <<<"$log" || true)
  echo "$theory.v: $closed of $wanted theorems without assumptions"
  if [ "$wanted" -lt 1 ] || [ "$closed" -ne "$wanted" ]; then
    echo "$log"
    exit 1
  fi
done
