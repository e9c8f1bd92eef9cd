#!/usr/bin/env bash
# Installs the build tree into a fresh prefix, builds examples/ as a stranger's project against it through
# find_package(inlay), and runs every example. Usage: consume.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; exit 1; }
# Every example must be listed in its CMakeLists.txt: a forgotten file is an untested one.
for file in "$source"/examples/*.cpp; do
  grep -q "$(basename "$file" .cpp)" "$source/examples/CMakeLists.txt" ||
    { echo "examples/CMakeLists.txt does not list $(basename "$file")"; exit 1; }
done
cmake -S "$source/examples" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; exit 1; }
cmake --build "$scratch/build" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
(cd "$scratch/build" && ctest --output-on-failure)
"$scratch/prefix/bin/inlay" version
