#!/usr/bin/env bash
# The arrows of the design, checked by the includes: a folder names only what stands to the right of it.
#   machine runtime algebra -> (nothing)     solver codegen -> algebra     validate -> codegen solver runtime algebra
#   launch -> (nothing)     hip -> runtime launch
#   kernels -> validate codegen solver runtime launch algebra     proofs -> solver algebra     cli tests examples python -> everything
#   Whoever sees anything sees machine/ as well: it is data, and sees nothing itself.
set -u
root=$1
fail=0
declare -A may=(
  [machine]="machine" [algebra]="algebra" [solver]="solver algebra machine" [codegen]="codegen algebra machine"
  [runtime]="runtime machine" [validate]="validate codegen solver algebra runtime machine"
  [launch]="launch" [hip]="hip runtime launch machine"
  [kernels]="kernels validate codegen solver algebra runtime launch machine" [proofs]="proofs solver algebra")
for folder in "${!may[@]}"; do
  [ -d "$root/$folder" ] || continue
  while IFS=: read -r file line text; do
    named=$(sed -E 's|.*[<"]inlay/([a-z_]+)/.*|\1|' <<<"$text")
    case " ${may[$folder]} " in
      *" $named "*) ;;
      *) echo "$file:$line: $folder must not include $named"; fail=1 ;;
    esac
  done < <(grep -rnE '#include [<"]inlay/[a-z_]+/' "$root/$folder" --include='*.h' --include='*.cpp' --include='*.ipp')
  # A quoted include is a private header of the folder: beside the file, or named from the folder's root.
  own=$(realpath "$root/$folder")
  while IFS=: read -r file line text; do
    header=$(sed -E 's|.*#include "([^"]+)".*|\1|' <<<"$text")
    [[ $header == inlay/* ]] && continue
    [ -f "$own/$header" ] && continue
    [[ $(realpath -m "$(dirname "$file")/$header") == "$own"/* && -f $(dirname "$file")/$header ]] && continue
    echo "$file:$line: $header is no header of $folder"; fail=1
  done < <(grep -rnE '#include "' "$root/$folder" --include='*.h' --include='*.cpp' --include='*.ipp')
done
# The rooms of the solver, lowest first: arithmetic, layers, certificates, questions.
declare -A room=(
  [arithmetic]="arithmetic" [layers]="layers arithmetic" [certificates]="certificates layers arithmetic"
  [questions]="questions certificates layers arithmetic")
for name in "${!room[@]}"; do
  while IFS=: read -r file line text; do
    named=$(sed -E 's|.*#include "([a-z_]+)/.*|\1|' <<<"$text")
    case " ${room[$name]} inlay " in
      *" $named "*) ;;
      *) echo "$file:$line: solver/$name must not include $named"; fail=1 ;;
    esac
  done < <(grep -rnE '#include "[a-z_]+/' "$root/solver/$name" --include='*.h' --include='*.cpp' 2>/dev/null)
done
# Foreign types stay out of public headers.
while IFS= read -r hit; do
  echo "$hit: foreign type in a public header"; fail=1
done < <(grep -rnE '(llvm::|z3::|hip[A-Z][A-Za-z]*_t|#include <(llvm|z3|hip|lld)[/+.])' "$root"/*/include 2>/dev/null)
# Boost.Hana has one door.
while IFS= read -r hit; do
  echo "$hit: Hana is included by algebra/literal.h alone"; fail=1
done < <(grep -rln 'boost/hana' "$root"/{algebra,solver,codegen,runtime,kernels,cli} 2>/dev/null | grep -v 'algebra/literal.h$')
# What an architecture is stands in machine/ alone: elsewhere only comments name one.
while IFS=: read -r file line text; do
  echo "$file:$line: names an architecture: ask the row of machine/target.h for the fact"; fail=1
done < <(grep -rnE '^[^/*]*gfx(90a|942|950)' "$root"/{algebra,solver,codegen,runtime,validate,kernels,launch,hip,cli,python} --include='*.h' --include='*.cpp' --include='*.ipp' 2>/dev/null)
[ $fail = 0 ] && echo "arrows: as designed"
exit $fail
