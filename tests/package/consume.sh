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

# pkg-config: a C program against the C interface, on the emulator, and a C++ program against the static libraries.
export PKG_CONFIG_PATH=$scratch/prefix/lib/pkgconfig:$scratch/prefix/lib/x86_64-linux-gnu/pkgconfig
if command -v pkg-config >/dev/null; then
  "$scratch/prefix/bin/inlay" build softmax -o "$scratch/built" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
  # shellcheck disable=SC2046
  cc -std=c99 -Wall -Wextra -Werror "$source/tests/package/launch.c" -o "$scratch/launch" $(pkg-config --cflags --libs inlay_c)
  libraries=$(pkg-config --variable=libdir inlay_c)
  LD_LIBRARY_PATH=$libraries "$scratch/launch" "$scratch/built/softmax.json"
  # shellcheck disable=SC2046
  cc -std=c99 "$source/tests/package/launch.c" -o "$scratch/whole" $(pkg-config --cflags inlay_c) "$libraries/libinlay_c.a" -lstdc++ -ldl
  if ldd "$scratch/whole" | grep inlay; then echo "the static C interface is not in the program"; exit 1; fi
  INLAY_EMULATOR_LIBRARY=$libraries/inlay/libamdhip64.so "$scratch/whole" "$scratch/built/softmax.json"
  if ldd "$libraries/libinlay_c.so" | grep -E 'LLVM|z3'; then echo "the C interface is linked to LLVM or Z3"; exit 1; fi
  # shellcheck disable=SC2046
  c++ "$source/examples/01_layouts.cpp" -o "$scratch/layouts" $(pkg-config --cflags --libs inlay)
  "$scratch/layouts" >/dev/null
fi
"$scratch/prefix/bin/inlay" run-with -- true | grep 'no kernel was launched' >/dev/null
test -s "$scratch/prefix/share/man/man1/inlay-exec.1"
test -s "$scratch/prefix/share/bash-completion/completions/inlay"
