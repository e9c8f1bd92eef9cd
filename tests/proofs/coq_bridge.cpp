// The theorems of proofs/coq speak of this library and not of another algebra: prints a Coq file in which the definitions
// of the theories are evaluated on the same small layouts as the library, next to what the library answered. ctest
// `proofs.coq_bridge` has coqc compute it. Refusals count as answers; with each kind goes a case with a wrong answer,
// which must be found.
#include <algorithm>
#include <inlay/algebra/error.h>
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/swizzle.h>
#include <inlay/solver/prove.h>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace inlay;

namespace {

std::string number(long v) { return v < 0 ? "(" + std::to_string(v) + ")" : std::to_string(v); }

template <class Items, class Text>
std::string list(const Items& items, const Text& text) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? "; " : "") + text(item);
  return out + "]";
}
std::string list(const std::vector<long>& numbers) { return list(numbers, number); }
std::string modes(const Layout& l) {
  return list(l.modes(), [](const Mode& m) {
    return "(" + number(m.extent.value()) + ", " + number(m.stride.scale.value()) + ")";
  });
}
std::string optional_modes(const std::optional<Layout>& l) { return l ? "Some " + modes(*l) : "None"; }

template <class F>
std::optional<Layout> attempt(const F& f) {
  try {
    return f();
  } catch (const LayoutError&) {
    return std::nullopt;
  }
}

struct Draw {
  std::mt19937 engine{11};
  long operator()(long low, long high) {
    return low + static_cast<long>(engine() % static_cast<unsigned long>(high - low + 1));
  }
  // Strides often continue what is spanned so far, so that modes merge, fill and nest; then the modes are shuffled.
  Layout layout(long modes_at_most, long size_at_most, bool negative) {
    std::vector<Tuple<Mode>> entries;
    long next = 1;
    long size = 1;
    for (long k = 0, rank = (*this)(1, modes_at_most); k < rank; ++k) {
      long s = (*this)(1, 6);
      if (size * s > size_at_most) s = 1;
      size *= s;
      const long kind = (*this)(0, 9);
      const long d = kind == 0               ? 0
                     : kind == 1             ? (*this)(1, 12)
                     : kind == 2 && negative ? -(*this)(1, 12)
                     : kind <= 4             ? next * (*this)(2, 3)
                                             : next;
      next = std::max(next, std::abs(d) * s);
      entries.push_back(Tuple<Mode>({s, d}));
    }
    if ((*this)(0, 3) == 0) std::shuffle(entries.begin(), entries.end(), engine);
    if (entries.size() > 2 && (*this)(0, 2) == 0) { // nesting is not modelled, and must not matter
      entries[0] = Tuple<Mode>::of({entries[0], entries[1]});
      entries.erase(entries.begin() + 1);
    }
    return Layout(Tuple<Mode>::of(entries));
  }
};

// One list of cases, printed where `check` answers false; `wrong` is a case that must be among those.
void print(const std::string& kind, const std::vector<std::string>& cases, const std::string& wrong) {
  std::cout << "Definition " << kind << "_cases := [\n  ";
  for (std::size_t k = 0; k < cases.size(); ++k) std::cout << (k ? ";\n  " : "") << cases[k];
  std::cout << "].\nEval vm_compute in (length " << kind << "_cases, filter (fun c => negb (check_" << kind
            << " c)) " << kind << "_cases).\nExample " << kind << "_same : forallb check_" << kind << " "
            << kind << "_cases = true.\nProof. vm_compute. reflexivity. Qed.\nExample " << kind
            << "_control : check_" << kind << " " << wrong
            << " = false.\nProof. vm_compute. reflexivity. Qed.\n\n";
}

const char* const preamble = R"(Require Import ZArith List Bool.
Require Layout FirstDiff.
Require Import Value Chain Composition Complement Laws Swizzle.
Import ListNotations.
Open Scope Z_scope.

Definition mode_eq_dec (a b : Z * Z) : {a = b} + {a <> b}. Proof. decide equality; apply Z.eq_dec. Defined.
Definition same (A B : list (Z * Z)) : bool := if list_eq_dec mode_eq_dec A B then true else false.
Definition same_option (A B : option (list (Z * Z))) : bool :=
  match A, B with Some A, Some B => same A B | None, None => true | _, _ => false end.
Definition same_values (A B : list Z) : bool := if list_eq_dec Z.eq_dec A B then true else false.
Definition to_nat (L : list (Z * Z)) : Layout.layout := map (fun m => (Z.to_nat (fst m), snd m)) L.

(* layout, its size, its values at -5 .. size + 4, of which [0, size) also by Layout.v *)
Definition check_value (c : list (Z * Z) * Z * list Z) : bool :=
  let '(L, n, values) := c in
  (size L =? n) && same_values (map (fun i => value L (i - 5)) (range (n + 10))) values &&
  same_values (map (Layout.eval (to_nat L)) (seq 0 (Z.to_nat n))) (firstn (Z.to_nat n) (skipn 5 values)).
(* layout, coalesce of it: the loop of Value.v and the normal form of Layout.v *)
Definition check_coalesce (c : list (Z * Z) * list (Z * Z)) : bool :=
  same (unwrapped (coalesced false (fst c))) (snd c) &&
  same (unwrapped (of_nat_layout (Layout.nf (to_nat (fst c))))) (snd c).
(* two layouts of one size, the smallest index where they differ *)
Definition check_difference (c : list (Z * Z) * list (Z * Z) * option Z) : bool :=
  let '(A, B, i) := c in
  match FirstDiff.fd (Layout.nf (to_nat A)) (Layout.nf (to_nat B)), i with
  | Some k, Some i => Z.of_nat k =? i | None, None => true | _, _ => false end.
(* two layouts, their composition *)
Definition check_composition (c : list (Z * Z) * list (Z * Z) * option (list (Z * Z))) : bool :=
  let '(A, B, R) := c in same_option (compose A B) R.
(* layout, cotarget, complement *)
Definition check_complement (c : list (Z * Z) * list Z * option (list (Z * Z))) : bool :=
  let '(L, M, R) := c in
  same_option (match complement L M with Some R => Some (unwrapped R) | None => None end) R.

(* layout, tile, logical_divide or logical_product, and whether it is the former *)
Definition check_tiling (c : list (Z * Z) * list (Z * Z) * bool * option (list (Z * Z))) : bool :=
  let '(A, T, is_divide, R) := c in same_option (if is_divide then divide A T else product A T) R.
(* bits, base, shift of a swizzle, an offset, its image *)
Definition check_swizzle (c : Z * Z * Z * Z * Z) : bool := let '(b, m, s, x, y) := c in swizzle b m s x =? y.
(* layout, cosize *)
Definition check_cosize (c : list (Z * Z) * Z) : bool := cosize (fst c) =? snd c.
(* layout, whether the solver proves it a bijection by its stride chain *)
Definition check_bijective (c : list (Z * Z) * bool) : bool :=
  eqb (match stride_chain (fst c) with Some _ => true | None => false end) (snd c).
(* layout, whether the solver proves it injective by domination *)
Definition check_injective (c : list (Z * Z) * bool) : bool := eqb (domination (fst c)) (snd c).

)";

} // namespace

int main() {
  Draw draw;
  std::cout << preamble;

  std::vector<std::string> cases;
  for (int k = 0; k < 150; ++k) {
    const Layout l = draw.layout(4, 40, true);
    std::vector<long> values;
    for (long i = -5; i < l.size().value() + 5; ++i) values.push_back(l(Int(i)).value());
    cases.push_back("(" + modes(l) + ", " + number(l.size().value()) + ", " + list(values) + ")");
  }
  print("value", cases, "([(2, 3)], 2, [-15; -12; -9; -6; -3; 0; 3; 6; 9; 12; 15; 19])");

  cases.clear();
  for (int k = 0; k < 300; ++k) {
    const Layout l = draw.layout(5, 500, true);
    cases.push_back("(" + modes(l) + ", " + modes(coalesce(l)) + ")");
  }
  print("coalesce", cases, "([(2, 1); (3, 2)], [(2, 1); (3, 2)])");

  cases.clear();
  for (int equal = 0, different = 0; equal < 50 || different < 150;) {
    const Layout a = draw.layout(3, 24, true);
    const Layout b = draw.layout(3, 24, true);
    if (a.size() != b.size()) continue;
    long i = 0;
    while (i < a.size().value() && a(Int(i)) == b(Int(i))) ++i;
    const bool differ = i < a.size().value();
    if (++(differ ? different : equal) > (differ ? 150 : 50)) continue;
    cases.push_back("(" + modes(a) + ", " + modes(b) + ", " + (differ ? "Some " + number(i) : "None") + ")");
  }
  print("difference", cases, "([(2, 1); (3, 2)], [(2, 1); (3, 3)], Some 3)");

  // What matters is the boundary between accepted and refused: as many of each, of which half have several leaves.
  cases.clear();
  int wanted[2][2] = {{100, 100}, {100, 100}};
  while (wanted[0][0] + wanted[0][1] + wanted[1][0] + wanted[1][1] > 0) {
    const Layout a = draw.layout(4, 400, true);
    const Layout b = draw.layout(3, 40, true);
    const auto r = attempt([&] { return composition(a, b); });
    if (wanted[r.has_value()][b.modes().size() > 1] == 0) continue;
    --wanted[r.has_value()][b.modes().size() > 1];
    cases.push_back("(" + modes(a) + ", " + modes(b) + ", " + optional_modes(r) + ")");
  }
  print("composition", cases, "([(6, 8); (2, 2)], [(3, 2)], Some [(3, 8)])");

  cases.clear();
  int left[2] = {80, 220};
  while (left[0] + left[1] > 0) {
    const Layout l = draw.layout(3, 60, left[0] > 40);
    std::vector<long> target;
    for (long rank = draw(0, 2); rank-- > 0;) target.push_back(draw(1, 40));
    const auto r = attempt([&] {
      if (target.empty()) return complement(l);
      if (target.size() == 1) return complement(l, Int(target[0]));
      return complement(l, IntTuple::of({IntTuple(Int(target[0])), IntTuple(Int(target[1]))}));
    });
    if (left[r.has_value()] == 0) continue;
    --left[r.has_value()];
    cases.push_back("(" + modes(l) + ", " + list(target) + ", " + optional_modes(r) + ")");
  }
  print("complement", cases, "([(4, 2)], [24], Some [(2, 1); (3, 4)])");

  cases.clear();
  int tilings[2][2] = {{50, 50}, {50, 50}};
  while (tilings[0][0] + tilings[0][1] + tilings[1][0] + tilings[1][1] > 0) {
    const Layout a = draw.layout(3, 60, true);
    const Layout t = draw.layout(2, 16, true);
    const bool divides = draw(0, 1) == 0;
    const auto r =
        attempt([&] { return divides ? logical_divide(a, Tile(t)) : logical_product(a, Tile(t)); });
    if (tilings[divides][r.has_value()] == 0) continue;
    --tilings[divides][r.has_value()];
    cases.push_back("(" + modes(a) + ", " + modes(t) + (divides ? ", true, " : ", false, ") +
                    optional_modes(r) + ")");
  }
  print("tiling", cases, "([(8, 1)], [(2, 1)], true, Some [(2, 1); (4, 1)])");

  cases.clear();
  for (int k = 0; k < 100; ++k) {
    const Layout l = draw.layout(4, 60, true);
    cases.push_back("(" + modes(l) + ", " + number(l.cosize().value()) + ")");
  }
  print("cosize", cases, "([(2, 3)], 5)");

  cases.clear();
  for (int k = 0; k < 200; ++k) {
    const long bits = draw(0, 4);
    const long base = draw(0, 5);
    const long shift = draw(bits, bits + 3) * (draw(0, 1) == 0 ? 1 : -1);
    const long x = draw(-5000, 5000);
    const Swizzle swizzle(static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift));
    cases.push_back("(" + number(bits) + ", " + number(base) + ", " + number(shift) + ", " + number(x) +
                    ", " + number(swizzle(Int(x)).value()) + ")");
  }
  print("swizzle", cases, "(3, 4, 3, 128, 128)");

  const auto verdicts = [&](const char* method, auto prove) {
    cases.clear();
    int open[2] = {75, 75};
    while (open[0] + open[1] > 0) {
      const Layout l = draw.layout(4, 60, true);
      const solver::Verdict v = prove(l);
      const bool by_method = v.outcome == solver::Outcome::proved && v.method == method;
      if (open[by_method] == 0) continue;
      --open[by_method];
      cases.push_back("(" + modes(l) + (by_method ? ", true)" : ", false)"));
    }
  };
  verdicts("stride chain", [](const Layout& l) { return solver::prove_bijective(l); });
  print("bijective", cases, "([(3, 2); (2, 1)], false)");
  verdicts("domination", [](const Layout& l) { return solver::prove_injective(l); });
  print("injective", cases, "([(3, 2); (2, 3)], true)");
}
