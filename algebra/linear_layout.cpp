// Triton's linear layouts: their text, and thread-value layouts both ways.
#include "text_reader.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/linear_layout.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <bit>

namespace inlay {
namespace {

constexpr std::size_t most_bits = 62;

[[noreturn]] void refuse(const char* code, const std::string& summary, const std::string& where,
                         const std::string& hint = "") {
  throw LayoutError({code, "linear layout", summary, {}, where, {}, hint});
}

std::vector<std::int64_t> read_basis(detail::TextReader& in) {
  std::vector<std::int64_t> basis;
  in.expect('[');
  do {
    basis.push_back(in.number().value());
    if (basis.size() > most_bits) detail::throw_limit("outputs of a linear layout", basis.size(), most_bits);
  } while (in.accept(','));
  in.expect(']');
  return basis;
}

// How many bits each output has.
std::vector<std::size_t> output_bits(const LinearLayout& l) {
  std::vector<std::size_t> bits;
  for (const LinearLayout::Input& input : l.inputs)
    for (const auto& basis : input.bases) {
      bits.resize(std::max(bits.size(), basis.size()));
      for (std::size_t j = 0; j < basis.size(); ++j)
        bits[j] =
            std::max(bits[j], static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(basis[j]))));
    }
  return bits;
}

void check(const LinearLayout& l) {
  std::size_t columns = 0;
  std::optional<std::size_t> outputs;
  for (const LinearLayout::Input& input : l.inputs)
    for (const auto& basis : input.bases) {
      ++columns;
      if (outputs.value_or(basis.size()) != basis.size() || basis.empty())
        refuse("linear", "the bases have different numbers of outputs",
               std::to_string(basis.size()) + " and " + std::to_string(outputs.value_or(0)) + " in " +
                   input.name);
      outputs = basis.size();
      for (const std::int64_t x : basis)
        if (x < 0) refuse("linear", "a basis is negative", std::to_string(x) + " in " + input.name);
    }
  std::size_t bits = 0;
  for (const std::size_t n : output_bits(l)) bits += n;
  if (std::max(columns, bits) > most_bits)
    detail::throw_limit("bits of a linear layout", std::max(columns, bits), most_bits);
}

std::vector<std::uint64_t> columns_of(const LinearLayout::Input& input,
                                      const std::vector<std::size_t>& bits) {
  std::vector<std::uint64_t> columns;
  for (const auto& basis : input.bases) {
    std::uint64_t index = 0;
    std::size_t shift = 0;
    for (std::size_t j = 0; j < basis.size(); ++j) {
      index |= static_cast<std::uint64_t>(basis[j]) << shift;
      shift += bits[j];
    }
    columns.push_back(index);
  }
  return columns;
}

std::size_t log2_of(const char* what, Int n) {
  const auto bits = static_cast<std::uint64_t>(n.value());
  if (n < 1 || !std::has_single_bit(bits))
    refuse("linear", std::string(what) + " is not a power of two", to_string(n));
  return static_cast<std::size_t>(std::countr_zero(bits));
}

} // namespace

LinearLayout parse_linear_layout(std::string_view text) {
  detail::TextReader in(text, "parse linear layout");
  LinearLayout l;
  if (!in.accept("#ttg.linear<")) in.fail("'#ttg.linear<'");
  in.expect('{');
  do {
    if (!in.at_name()) in.fail("the name of an input");
    LinearLayout::Input input{std::string(in.name()), {}};
    in.expect('=');
    in.expect('[');
    if (!in.accept(']')) {
      do {
        input.bases.push_back(read_basis(in));
        if (input.bases.size() > most_bits)
          detail::throw_limit("bits of a linear layout", input.bases.size(), most_bits);
      } while (in.accept(','));
      in.expect(']');
    }
    if (l.inputs.size() >= most_bits)
      detail::throw_limit("inputs of a linear layout", l.inputs.size(), most_bits);
    l.inputs.push_back(std::move(input));
  } while (in.accept(','));
  in.expect('}');
  in.expect('>');
  in.finish();
  check(l);
  return l;
}

std::string to_string(const LinearLayout& l) {
  std::string out = "#ttg.linear<{";
  for (std::size_t i = 0; i < l.inputs.size(); ++i) {
    out += (i ? ", " : "") + l.inputs[i].name + " = [";
    for (std::size_t k = 0; k < l.inputs[i].bases.size(); ++k) {
      out += k ? ", [" : "[";
      const auto& basis = l.inputs[i].bases[k];
      for (std::size_t j = 0; j < basis.size(); ++j) out += (j ? ", " : "") + std::to_string(basis[j]);
      out += "]";
    }
    out += "]";
  }
  return out + "}>";
}

IntTuple tile_of(const LinearLayout& l) {
  check(l);
  std::vector<IntTuple> sizes;
  for (const std::size_t n : output_bits(l)) sizes.emplace_back(Int(std::int64_t{1} << n));
  return sizes.empty() ? IntTuple(Int(1)) : IntTuple::of(sizes);
}

BitMatrix bit_matrix(const LinearLayout& l) {
  check(l);
  const std::vector<std::size_t> bits = output_bits(l);
  std::vector<std::uint64_t> all;
  for (const LinearLayout::Input& input : l.inputs) {
    const auto columns = columns_of(input, bits);
    all.insert(all.end(), columns.begin(), columns.end());
  }
  return BitMatrix(all);
}

Layout thread_value_layout(const LinearLayout& l) {
  check(l);
  const std::vector<std::size_t> bits = output_bits(l);
  std::vector<std::uint64_t> threads, values;
  for (const char* name : {"lane", "warp", "block", "register"})
    for (const LinearLayout::Input& input : l.inputs) {
      if (input.name != name) continue;
      const auto columns = columns_of(input, bits);
      auto& to = input.name == "register" ? values : threads;
      to.insert(to.end(), columns.begin(), columns.end());
    }
  if (threads.size() + values.size() != bit_matrix(l).columns())
    refuse("linear", "an input is none of register, lane, warp and block", to_string(l));
  std::vector<std::uint64_t> all = threads;
  all.insert(all.end(), values.begin(), values.end());
  if (!BitMatrix(all).layout())
    refuse("linear", "no layout is this map: two bases share a bit of an output", to_string(l),
           "a swizzled map stays a bit matrix");
  const Layout parts[] = {*BitMatrix(threads).layout(), *BitMatrix(values).layout()};
  return Layout(Tuple<Mode>::of({Tuple<Mode>(parts[0].view()), Tuple<Mode>(parts[1].view())}));
}

LinearLayout linear_layout(const Layout& tv, const IntTuple& tile, Int lanes) {
  if (tv.is_leaf() || tv.rank() != 2) refuse("rank", "a thread-value layout has two modes", to_string(tv));
  const auto matrix = BitMatrix::of(tv);
  if (!matrix)
    refuse("linear", "the layout is not linear over bits", to_string(tv),
           "extents are powers of two, strides are not negative and no two weights share a bit");
  std::vector<std::size_t> bits;
  std::size_t all_bits = 0;
  for (const Int n : tile.leaves())
    bits.push_back(log2_of("an extent of the tile", n)), all_bits += bits.back();
  const std::size_t threads = log2_of("the number of threads", tv.mode(0).size());
  const std::size_t lane_bits = std::min(threads, log2_of("the number of lanes", lanes));
  LinearLayout l{{{"register", {}}, {"lane", {}}, {"warp", {}}, {"block", {}}}};
  for (std::size_t k = 0; k < matrix->columns(); ++k) {
    std::uint64_t column = matrix->column(k);
    if (all_bits < 64 && column >> all_bits != 0)
      refuse("linear", "the layout leaves the tile", to_string(tv) + " reaches " + std::to_string(column));
    std::vector<std::int64_t> basis;
    for (const std::size_t n : bits) {
      basis.push_back(static_cast<std::int64_t>(column & ((std::uint64_t{1} << n) - 1)));
      column >>= n;
    }
    l.inputs[k < lane_bits ? 1 : k < threads ? 2 : 0].bases.push_back(std::move(basis));
  }
  return l;
}

} // namespace inlay
