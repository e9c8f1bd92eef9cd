# The Debian 12 packages that inlay needs: the one place where they are listed. Sourced by quickstart and check.

# To build the library and the command.
packages_build=(
  build-essential cmake ninja-build ccache pkg-config
  llvm-22-dev liblld-22-dev        # code generation, assembler and disassembler, linker
  libz3-dev                        # the solver's last layer
  libboost-dev libeigen3-dev       # big integers and literals; linear algebra of the references
  libcli11-dev nlohmann-json3-dev libfmt-dev
  librapidcheck-dev                # inlay fuzz
  zlib1g-dev libzstd-dev libxml2-dev # what LLVM's CMake files ask for
)
# To build and run the tests as well.
packages_test=(
  catch2 libbenchmark-dev
  coq cvc5 z3                      # proofs/ replayed by programs nobody here wrote
  libamdhip64-5                    # the HIP path, which must say clearly that there is no device
  pybind11-dev python3-pybind11 python3-dev python3-numpy
  clang-format-14 clang-tidy-14
  clang-22                         # C programs for the emulator, compiled by strangers
  rocm-device-libs                 # printf of kernels, as HIP's compiler links it
)

# ensure_packages NAME...: installs those that are missing, as root or through sudo, or says what to type.
ensure_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    printf 'error: these packages are missing and there is no apt-get here (Debian 12 is what is supported):\n  %s\n' \
      "${missing[*]}" >&2
    return 1
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
      printf 'error: packages are missing and neither root nor sudo is at hand. As root, type:\n  apt-get install --no-install-recommends %s\n' \
        "${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get -q update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}"; } \
       >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    printf 'error: apt-get could not install: %s\n  hint   the whole log is in %s\n' "${missing[*]}" "$log" >&2
    return 1
  fi
  rm -f "$log"
}
