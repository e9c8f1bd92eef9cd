#!/usr/bin/env bash
# The wheel in a clean environment, with nothing in PATH but that: the Python of README's first lines, the command, the C++ headers, and a Triton
# softmax with a planted race, where there is Triton. Usage: wheel.sh SOURCE; INLAY_WHEEL names a wheel that was built before, INLAY_PYTHON the
# Python that it is for (python3), INLAY_PEERS_PYTHON one that has triton, torch and pytest.
set -euo pipefail
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wheel=${INLAY_WHEEL:-}
python=${INLAY_PYTHON:-python3}
if [ -z "$wheel" ]; then
  "$python" -c 'import venv, ensurepip' 2>/dev/null || { echo "skipped: no Python with venv and pip"; exit 77; }
  (cd "$source" && python/wheel "$python") || exit 1
  wheel=$(ls -t "$source"/dist/*.whl | head -n 1)
fi
size=$(stat -c %s "$wheel")
[ "$size" -lt 80000000 ] || { echo "the wheel has $size bytes"; exit 1; }
case $wheel in *manylinux_2_*_x86_64.whl) ;; *) echo "no manylinux tag: $wheel"; exit 1 ;; esac

"$python" -m venv "$scratch/venv"
bin=$scratch/venv/bin
"$bin/pip" -q install "$wheel"
here=("env" -i "PATH=$bin" "HOME=$scratch")
cd "$scratch"

# README's block.
sed -n '/^```python$/,/^```$/p' "$source/README.md" | sed '1d;/^```$/,$d' >readme.py
grep -q inlay.gemm readme.py
"${here[@]}" "$bin/python" readme.py

# The tests of the package that need nothing else; `fuzz` asks the shell for pipes.
for test in inlay package program; do
  "${here[@]}" "PATH=$bin:/usr/bin:/bin" "$bin/python" "$source/tests/python/test_$test.py" 2>"$scratch/log" || { cat "$scratch/log"; exit 1; }
  echo "test_$test.py: $(tail -n 3 "$scratch/log" | tr '\n' ' ')"
done

"${here[@]}" "$bin/inlay" eval 'coalesce((2,3):(1,2))' | grep -qx 6:1
"${here[@]}" "$bin/inlay" run gemm --m 64 --n 64 --k 64 --validate | grep 'ok: every element' >/dev/null
"${here[@]}" "$bin/inlay" run-with -- "$bin/python" -c 'import ctypes; n = ctypes.c_int()
for name in ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"):
    assert ctypes.CDLL(name).hipGetDeviceCount(ctypes.byref(n)) == 0 and n.value == 1, name
# one library by all names: what one allocates the other knows
at = ctypes.c_void_p()
assert ctypes.CDLL("libamdhip64.so.6").hipMalloc(ctypes.byref(at), ctypes.c_size_t(64)) == 0
assert ctypes.CDLL("libamdhip64.so").hipFree(at) == 0' | grep 'no kernel was launched' >/dev/null
# Every library that the program and the module need comes with them, or from the C library and the compiler.
package=$("$bin/python" -c 'import importlib.util; print(importlib.util.find_spec("inlay").submodule_search_locations[0])')
for file in "$package/bin/inlay" "$package"/_inlay*.so "$package"/lib/inlay/*.so*; do
  if LC_ALL=C ldd "$file" | grep -vE "$package|linux-vdso|ld-linux|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|z)\.so"; then
    echo "$file needs what a Linux may not have"; exit 1
  fi
done
test -s "$package/include/inlay/algebra/layout.h"
test -f "$package/py.typed"

# A C++ program against it, where there is a compiler.
if command -v c++ >/dev/null; then
  c++ -std=c++20 -I"$package/include" "$source/examples/01_layouts.cpp" -o layouts "$package/lib/libinlay_algebra.a"
  ./layouts >/dev/null
fi

triton=${INLAY_PEERS_PYTHON:-}
if [ -z "$triton" ] || ! "$triton" -c 'import triton, torch, pytest' 2>/dev/null; then
  echo "no Triton: INLAY_PEERS_PYTHON names no Python with triton, torch and pytest, so that no kernel of Triton's was tried"
  exit 0
fi
export PYTHONPATH=$(dirname "$package")
timeout 120 "$triton" "$source/examples/demo.py" || { echo "demo.py: exit status $?"; exit 1; }
cp "$source/tests/package/softmax_kernels.py" .
"$triton" - <<'PYTHON'
import inlay, numpy, softmax_kernels
x = numpy.random.default_rng(1).random((4, 100), dtype=numpy.float32)
for arch in ("gfx942", "gfx950"):
    y = numpy.zeros_like(x)
    report = inlay.check(softmax_kernels.softmax[(4,)], x, y, 100, BLOCK=128, arch=arch)
    assert report, report
    numpy.testing.assert_allclose(y.sum(1), 1, rtol=1e-5)
    report = inlay.check(softmax_kernels.softmax_in_one_row[(4,)], x, y, 100, BLOCK=128, arch=arch)
    assert not report and "races" in str(report) and "softmax_kernels.py:" in str(report), report
PYTHON
"$triton" "$source/tests/python/test_pytest.py" || exit 1
