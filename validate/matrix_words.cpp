// A matrix instruction by the layouts of its atom.
#include "matrix_words.h"

#include <inlay/codegen/view.h>

namespace inlay::kernels::validate {

using runtime::symbolic::FlowMatrix;

MatrixProduct::MatrixProduct(const codegen::Mma& mma)
    : a_values(mma.a_values()), b_values(mma.b_values()), c_values(mma.c_values()) {
  // (lane, value) -> (row, k, block): axes 0, 1, 2.
  const auto rows = [&](const Layout& layout, int values, int depth,
                        std::map<std::pair<int, int>, Row>& out) {
    const auto row = codegen::coordinates(layout, 0), k = codegen::coordinates(layout, 1),
               block = codegen::coordinates(layout, 2);
    for (std::size_t at = 0; at < row.size(); ++at) {
      Row& r = out[{block[at], row[at]}];
      r.at.resize(static_cast<std::size_t>(depth), -1);
      r.at[static_cast<std::size_t>(k[at])] = static_cast<int>(at);
    }
    if (row.size() != static_cast<std::size_t>(64 * values))
      throw NotFollowed{"a matrix operand that does not fill a wave"};
  };
  if (mma.sparse) throw NotFollowed{"sparse matrix products"};
  rows(mma.a, a_values, mma.k, rows_a_);
  rows(mma.b, b_values, mma.k, rows_b_);
  if (mma.scaled) {
    // (lane, 1) -> (row, first k): a lane's scale is of 32 k of its row.
    std::map<std::pair<int, int>, int> lane_of;
    const auto row = codegen::coordinates(*mma.scale, 0), k = codegen::coordinates(*mma.scale, 1);
    for (std::size_t lane = 0; lane < row.size(); ++lane)
      lane_of[{row[lane], k[lane] / 32}] = static_cast<int>(lane);
    const auto scales = [&](const Layout& layout, std::vector<int>& out) {
      const auto of_row = codegen::coordinates(layout, 0), of_k = codegen::coordinates(layout, 1);
      for (std::size_t at = 0; at < of_row.size(); ++at)
        out.push_back(lane_of.at({of_row[at], of_k[at] / 32}));
    };
    scales(mma.a, scale_a_);
    scales(mma.b, scale_b_);
  }
  const auto m = codegen::coordinates(mma.c, 0), n = codegen::coordinates(mma.c, 1),
             block = codegen::coordinates(mma.c, 2);
  for (std::size_t at = 0; at < m.size(); ++at)
    of_.push_back({&rows_a_.at({block[at], m[at]}), &rows_b_.at({block[at], n[at]})});
}

void MatrixProduct::operator()(std::span<const Number> a, std::span<const Number> b,
                               std::span<const Number> c, std::span<Number> d) const {
  for (std::size_t at = 0; at < of_.size(); ++at) {
    const auto& [x, y] = of_[at];
    unsigned __int128 sum = c[at];
    for (std::size_t k = 0; k < x->at.size(); ++k) {
      const unsigned __int128 product =
          static_cast<unsigned __int128>(a[static_cast<std::size_t>(x->at[k])]) *
          b[static_cast<std::size_t>(y->at[k])];
      sum += folded(product);
    }
    d[at] = reduce(sum);
  }
}

void MatrixProduct::real(std::span<const Number> a, std::span<const Number> b, std::span<const Number> c,
                         std::span<Number> d) const {
  for (std::size_t at = 0; at < of_.size(); ++at) {
    const auto& [x, y] = of_[at];
    const auto [cv, ce] = std::pair(RealArithmetic::real(c[at]), RealArithmetic::error(c[at]));
    double sum = cv, size = std::fabs(cv), error = ce;
    for (std::size_t k = 0; k < x->at.size(); ++k) {
      const Number m = a[static_cast<std::size_t>(x->at[k])], n = b[static_cast<std::size_t>(y->at[k])];
      const double p = RealArithmetic::real(m) * RealArithmetic::real(n);
      sum += p;
      size += std::fabs(p);
      const double em = RealArithmetic::error(m), en = RealArithmetic::error(n);
      error += RealArithmetic::times(RealArithmetic::real(m), en) +
               RealArithmetic::times(RealArithmetic::real(n), em) + (em == 0 ? 0 : em * en);
    }
    d[at] = RealArithmetic::number(sum, error + std::ldexp(size, -22) + RealArithmetic::flushed(size));
  }
}

bool empties(Terms& t, const runtime::isa::Instruction& i, FlowMatrix& x) {
  if (i.mnemonic.starts_with("v_mfma_scale") || (x.c.empty() && i.operands[3].value != 0)) return false;
  for (const auto* words : {&x.a, &x.b, &x.c})
    for (const auto& lanes : *words)
      for (const Word w : lanes)
        if (w == Terms::unknown || t.value(w) != 0U) return false;
  if (x.a.empty() || x.b.empty()) return false;
  for (auto& lanes : x.d) lanes.fill(t.constant(0));
  return true;
}

const codegen::Atom* matrix_atom(const codegen::Target& target, const runtime::isa::Instruction& i) {
  const auto& m = i.modifiers;
  std::string name(i.mnemonic);
  const bool by_format = name.ends_with("f8f6f4"); // whose name says the formats of A and B
  if (by_format && m.cbsz != 0) name += " cbsz:" + std::to_string(m.cbsz);
  if (by_format && m.blgp != 0) name += " blgp:" + std::to_string(m.blgp);
  const codegen::Atom* atom = codegen::Atom::find(target, name);
  const bool plain =
      (by_format || (m.cbsz == 0 && m.blgp == 0)) && m.abid == 0 && m.neg_lo == 0 && m.neg_hi == 0;
  return atom == nullptr || !atom->mma || !plain || atom->mma->sparse ? nullptr : atom;
}
unsigned scale_byte(const runtime::isa::Instruction& i, int operand) {
  const auto bit = [&](unsigned byte) { return unsigned{i.encoding[byte]} >> (3 + operand) & 1U; };
  return bit(1) | bit(7) << 1;
}

std::optional<std::vector<Number>> multiply_words(FlowMatrix& x, const runtime::isa::Instruction& i,
                                                  const codegen::Atom& atom, const MatrixProduct& f,
                                                  ValuesOfWords& values, std::string& why) {
  if (x.c.empty() && i.operands[3].value != 0) return std::nullopt;
  const bool wide = atom.mma->c_element == Element::f64;
  if (bits(atom.mma->c_element) != 32 && !wide) return std::nullopt;
  std::vector<Number> a, b, c, d(static_cast<std::size_t>(64 * f.c_values));
  const auto fetch = [&](const std::vector<std::array<Word, 64>>& from, Element format, int count,
                         std::vector<Number>& to) {
    if (format == Element::f64) {
      if (static_cast<int>(from.size()) != 2 * count) return false;
      for (unsigned l = 0; l < 64; ++l)
        for (std::size_t v = 0; v < from.size(); v += 2) {
          const auto n = values.read_f64(from[v][l], from[v + 1][l]);
          if (!n) return false;
          to.push_back(*n);
        }
      return true;
    }
    const int per_word = 32 / bits(format);
    if (static_cast<int>(from.size()) * per_word < count) return false;
    for (unsigned l = 0; l < 64; ++l)
      for (int v = 0; v < count; ++v) {
        const auto n = values.read(from[static_cast<std::size_t>(v / per_word)][l], format,
                                   static_cast<unsigned>(v % per_word));
        if (!n) return false;
        to.push_back(*n);
      }
    return true;
  };
  values.forget_missing();
  const bool known = fetch(x.a, atom.mma->a_element, f.a_values, a) &&
                     fetch(x.b, atom.mma->b_element, f.b_values, b) &&
                     (x.c.empty() || fetch(x.c, atom.mma->c_element, f.c_values, c));
  if (!known) {
    why = located(i) + " multiplies " + values.missing();
    return std::nullopt;
  }
  if (x.c.empty()) c.assign(d.size(), 0);
  for (int operand = 0; atom.mma->scaled && operand < 2; ++operand) {
    const auto& scales = operand == 0 ? x.scale_a : x.scale_b;
    auto& of = operand == 0 ? a : b;
    const std::vector<int>& lane_of = f.scale_of(operand);
    for (std::size_t k = 0; k < of.size(); ++k) {
      const auto n = scales.size() != 1 ? std::nullopt
                                        : values.read(scales[0][static_cast<std::size_t>(lane_of[k])],
                                                      Element::e8m0, scale_byte(i, operand));
      if (!n) {
        why = located(i) + " is scaled by " + values.missing();
        return std::nullopt;
      }
      of[k] = multiply(of[k], *n);
    }
  }
  f(a, b, c, d);
  for (std::size_t k = 0; k < x.d.size(); ++k)
    for (unsigned l = 0; l < 64; ++l) {
      const std::size_t first = l * static_cast<std::size_t>(f.c_values);
      x.d[k][l] = wide ? values.half_of_f64(d[first + k / 2], k % 2)
                       : values.word(atom.mma->c_element, std::span(d).subspan(first + k, 1));
    }
  return d;
}

} // namespace inlay::kernels::validate
