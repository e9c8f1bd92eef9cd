// Triton's attributes: their text as a tree of fields, and one rule an attribute.
#include "text_reader.h"

#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/triton_layout.h>

#include <algorithm>
#include <bit>
#include <memory>

namespace inlay {
namespace {

using detail::TextReader;
using Shape = std::vector<std::int64_t>;

struct Attribute;
// A number (true is 1), a list, an attribute, or a bare word.
struct Node {
  std::int64_t number = 0;
  std::vector<Node> list;
  std::shared_ptr<Attribute> attribute;
};
struct Attribute {
  std::string name, text;
  std::vector<std::pair<std::string, Node>> fields;
  std::vector<std::pair<std::int64_t, std::int64_t>> paddings; // after how many elements, how many
};

[[noreturn]] void refuse(const std::string& summary, const std::string& where, const std::string& hint = "") {
  throw LayoutError({"triton", "triton layout", summary, {}, where.substr(0, 200), {}, hint});
}

constexpr int deepest = 16;
Attribute read_attribute(TextReader& in, int depth);

Node read_node(TextReader& in, int depth) {
  if (depth > deepest)
    detail::throw_limit("nesting of an attribute", static_cast<std::size_t>(depth), deepest);
  Node n;
  if (in.peek() == '#') {
    n.attribute = std::make_shared<Attribute>(read_attribute(in, depth + 1));
  } else if (in.accept('[')) {
    if (!in.accept(']')) {
      do n.list.push_back(read_node(in, depth + 1));
      while (n.list.size() < max_leaves && in.accept(','));
      in.expect(']');
    }
  } else if (in.at_name()) {
    n.number = in.name() == "true" ? 1 : 0;
  } else {
    n.number = in.signed_number().value();
  }
  return n;
}

void read_fields(TextReader& in, Attribute& a, int depth) {
  in.expect('{');
  if (in.accept('}')) return;
  do {
    std::string key(in.name());
    in.expect('=');
    a.fields.emplace_back(std::move(key), read_node(in, depth + 1));
  } while (a.fields.size() < 64 && in.accept(','));
  in.expect('}');
}

Attribute read_attribute(TextReader& in, int depth) {
  const std::size_t start = (void(in.peek()), in.position());
  in.expect('#');
  Attribute a;
  a.name = in.name();
  if (in.accept('.')) a.name = in.name(); // #ttg.blocked, #triton_gpu.blocked
  if (in.peek() != '<')
    in.fail_at(start, "'#" + a.name +
                          "' is a name of another line: write the attribute itself, #ttg.blocked<{...}>");
  in.expect('<');
  if (in.accept('[')) { // [512:+16, ...] of padded_shared
    do {
      const std::int64_t every = in.number().value();
      in.expect(':');
      in.expect('+');
      a.paddings.emplace_back(every, in.number().value());
    } while (a.paddings.size() < 64 && in.accept(','));
    in.expect(']');
  }
  if (in.peek() == '{') read_fields(in, a, depth);
  // `shared_linear<{offset = ..}, alignment = 16>`
  while (in.accept(',')) {
    std::string key(in.name());
    in.expect('=');
    a.fields.emplace_back(std::move(key), read_node(in, depth + 1));
  }
  in.expect('>');
  a.text = in.text().substr(start, in.position() - start);
  return a;
}

const Node* find(const Attribute& a, const char* key) {
  for (const auto& [name, value] : a.fields)
    if (name == key) return &value;
  return nullptr;
}
const Node& field(const Attribute& a, const char* key) {
  if (const Node* n = find(a, key)) return *n;
  refuse(std::string("'") + key + "' is missing", a.text);
}
std::int64_t power_of_two(const Attribute& a, const char* key, std::int64_t n) {
  if (n < 1 || n > (std::int64_t{1} << 40) || !std::has_single_bit(static_cast<std::uint64_t>(n)))
    refuse(std::string("'") + key + "' holds " + std::to_string(n) + ", which is no power of two", a.text);
  return n;
}
std::int64_t power_of_two(const Attribute& a, const char* key) {
  return power_of_two(a, key, field(a, key).number);
}
Shape powers(const Attribute& a, const char* key, std::size_t rank = 0) {
  Shape out;
  for (const Node& n : field(a, key).list) out.push_back(power_of_two(a, key, n.number));
  if (out.empty() || out.size() > 5 || (rank != 0 && out.size() != rank))
    refuse(std::string("'") + key + "' has " + std::to_string(out.size()) + " entries", a.text);
  return out;
}
// A permutation of the dimensions, the fastest first.
std::vector<std::size_t> order_of(const Attribute& a, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const Node& n : field(a, "order").list) out.push_back(static_cast<std::size_t>(n.number));
  for (std::size_t d = 0; d < rank; ++d)
    if (std::count(out.begin(), out.end(), d) != 1 || out.size() != rank)
      refuse("'order' is no permutation of " + std::to_string(rank) + " dimensions", a.text);
  return out;
}
// One block alone: what is said of several changes nothing here, and is refused where it would.
void one_block(const Attribute& a) {
  for (const char* key : {"CTAsPerCGA", "CTASplitNum"})
    if (const Node* n = find(a, key))
      for (const Node& e : n->list)
        if (e.number != 1) refuse("a layout over several blocks is not read", a.text);
  for (const char* key : {"CGALayout", "block"})
    if (const Node* n = find(a, key); n && !n->list.empty())
      refuse("a layout over several blocks is not read", a.text);
}

// Bases are taken one dimension after the other; what is beyond the shape stands still, what is missing of it are registers.
class Builder {
public:
  Builder(std::size_t rank, const Shape& shape) : shape_(shape), at_(rank, 1) {}

  enum Input { registers, lanes, warps };
  Builder& take(Input input, std::size_t dim, std::int64_t n) {
    for (std::int64_t k = 1; k < n; k *= 2) {
      std::vector<std::int64_t> basis(at_.size(), 0);
      if (shape_.empty() || at_[dim] < shape_[dim]) basis[dim] = at_[dim];
      at_[dim] *= 2;
      bases_[input].push_back(std::move(basis));
    }
    return *this;
  }
  Builder& stand(Input input, std::int64_t n) {
    for (std::int64_t k = 1; k < n; k *= 2) bases_[input].emplace_back(at_.size(), 0);
    return *this;
  }
  Builder& fill(std::size_t dim) {
    if (!shape_.empty() && at_[dim] < shape_[dim]) take(registers, dim, shape_[dim] / at_[dim]);
    return *this;
  }
  /// Where the dimension goes on once `n` more positions of it are taken by warps, whose bases come later.
  [[nodiscard]] std::int64_t at(std::size_t dim) const { return at_[dim]; }
  void skip(std::size_t dim, std::int64_t n) { at_[dim] *= n; }
  void set(std::size_t dim, std::int64_t n) { at_[dim] = n; }

  [[nodiscard]] LinearLayout finish() && {
    return {
        {{"register", bases_[registers]}, {"lane", bases_[lanes]}, {"warp", bases_[warps]}, {"block", {}}}};
  }

private:
  const Shape& shape_;
  Shape at_;
  std::vector<std::vector<std::int64_t>> bases_[3];
};

void drop_idle_registers(LinearLayout& l) {
  for (LinearLayout::Input& input : l.inputs)
    if (input.name == "register")
      std::erase_if(input.bases, [](const std::vector<std::int64_t>& b) {
        return std::all_of(b.begin(), b.end(), [](std::int64_t x) { return x == 0; });
      });
}

Shape shape_or(const Shape& shape, std::size_t rank, const Attribute& a) {
  if (!shape.empty() && shape.size() != rank)
    refuse("a layout of " + std::to_string(rank) + " dimensions on a tensor of " +
               std::to_string(shape.size()),
           a.text);
  return shape;
}

LinearLayout blocked(const Attribute& a, const Shape& wanted, std::optional<std::size_t> k = {}) {
  const Shape sizes = powers(a, "sizePerThread");
  const std::size_t rank = sizes.size();
  const Shape threads = powers(a, "threadsPerWarp", rank), warps = powers(a, "warpsPerCTA", rank);
  const auto order = order_of(a, rank);
  const Shape shape = shape_or(wanted, rank, a);
  Builder b(rank, shape);
  // An operand of a product has the whole of K in each thread.
  for (const std::size_t d : order)
    b.take(Builder::registers, d, k != d ? sizes[d] : shape.empty() ? sizes[d] : shape[d]);
  const auto spread = [&](Builder::Input input, const Shape& n) {
    for (const std::size_t d : order)
      if (k == d)
        b.stand(input, n[d]);
      else
        b.take(input, d, n[d]);
  };
  spread(Builder::lanes, threads);
  spread(Builder::warps, warps);
  for (const std::size_t d : order) b.fill(d);
  LinearLayout l = std::move(b).finish();
  // Registers that would repeat a value, as a thread's share is larger than the tensor, are none here; those of products are kept.
  if (!k) drop_idle_registers(l);
  return l;
}

struct Mfma {
  std::size_t rank, m, n;
  std::int64_t rows, columns;
  bool transposed, wide;
  Shape warps, tiles;
};
Mfma mfma_of(const Attribute& a) {
  Mfma x;
  x.warps = powers(a, "warpsPerCTA");
  x.rank = x.warps.size();
  if (x.rank != 2 && x.rank != 3) refuse("an MFMA has two dimensions, or three with a batch", a.text);
  x.m = x.rank - 2, x.n = x.rank - 1;
  const Shape instruction = powers(a, "instrShape");
  if (instruction.size() < 2) refuse("'instrShape' is [M, N, K]", a.text);
  x.rows = instruction[0], x.columns = instruction[1];
  if (std::pair(x.rows, x.columns) != std::pair<std::int64_t, std::int64_t>(16, 16) &&
      std::pair(x.rows, x.columns) != std::pair<std::int64_t, std::int64_t>(32, 32))
    refuse("an MFMA of " + std::to_string(x.rows) + "x" + std::to_string(x.columns) + " is not read", a.text,
           "those of 16x16 and 32x32 are");
  x.transposed = find(a, "isTransposed") && find(a, "isTransposed")->number != 0;
  const Node* bits = find(a, "elementBitWidth");
  x.wide = bits && bits->number == 64;
  x.tiles = find(a, "tilesPerWarp") ? powers(a, "tilesPerWarp", x.rank) : Shape(x.rank, 1);
  return x;
}

// Registers along a dimension: those of several tiles a warp, then, after what the warps take, what is left of the tensor.
void tiles_and_rest(Builder& b, std::size_t dim, std::int64_t tiles, std::int64_t warps, const Shape& shape) {
  b.take(Builder::registers, dim, tiles);
  const std::int64_t before = b.at(dim);
  b.skip(dim, warps);
  if (!shape.empty()) b.fill(dim);
  b.set(dim, before);
}

LinearLayout mfma(const Attribute& a, const Shape& wanted) {
  const Mfma x = mfma_of(a);
  const Shape shape = shape_or(wanted, x.rank, a);
  Builder b(x.rank, shape);
  const std::size_t run = x.transposed ? x.n : x.m, across = x.transposed ? x.m : x.n;
  const std::int64_t side = x.rows;
  // Four in a run a lane, `side` lanes across, the other lanes along; of 32x32 four such blocks. Of 64-bit values one in a run.
  if (!x.wide) b.take(Builder::registers, run, 4);
  b.take(Builder::lanes, across, side).take(Builder::lanes, run, 64 / side);
  b.take(Builder::registers, run, x.wide ? side * side / 64 : side * side / 256);
  tiles_and_rest(b, x.n, x.tiles[x.n], x.warps[x.n], shape);
  tiles_and_rest(b, x.m, x.tiles[x.m], x.warps[x.m], shape);
  b.take(Builder::warps, x.n, x.warps[x.n]).take(Builder::warps, x.m, x.warps[x.m]);
  if (x.rank == 3) b.take(Builder::warps, 0, x.warps[0]).fill(0);
  return std::move(b).finish();
}

LinearLayout dot_operand(const Attribute& a, const Shape& wanted) {
  const Node& parent = field(a, "parent");
  const std::int64_t operand = field(a, "opIdx").number;
  if (!parent.attribute || (operand != 0 && operand != 1))
    refuse("an operand has a parent and an opIdx of 0 or 1", a.text);
  const Attribute& p = *parent.attribute;
  one_block(p);
  if (p.name == "blocked") {
    const std::size_t rank = powers(p, "sizePerThread").size();
    if (rank < 2) refuse("an operand has two dimensions", a.text);
    return blocked(p, wanted, operand == 0 ? rank - 1 : rank - 2);
  }
  if (p.name != "amd_mfma") refuse("an operand of '" + p.name + "' is not read", a.text);
  const Mfma x = mfma_of(p);
  const std::size_t k = operand == 0 ? x.n : x.m, other = operand == 0 ? x.m : x.n;
  const std::int64_t width = power_of_two(a, "kWidth");
  const Shape shape = shape_or(wanted, x.rank, a);
  Builder b(x.rank, shape);
  b.take(Builder::registers, k, width);
  b.take(Builder::lanes, other, x.rows).take(Builder::lanes, k, 64 / x.rows);
  b.fill(k);
  tiles_and_rest(b, other, x.tiles[other], x.warps[other], shape);
  for (const std::size_t d : {x.n, x.m})
    if (d == k)
      b.stand(Builder::warps, x.warps[d]);
    else
      b.take(Builder::warps, d, x.warps[d]);
  if (x.rank == 3) b.take(Builder::warps, 0, x.warps[0]).fill(0);
  return std::move(b).finish();
}

LinearLayout linear_of(const Attribute& a, const Shape& shape);

// The parent on a tensor of extent 1 in that dimension, without it.
LinearLayout slice_of(const Attribute& a, const Shape& wanted) {
  const Node& parent = field(a, "parent");
  const std::int64_t dim = field(a, "dim").number;
  if (!parent.attribute) refuse("a slice has a parent", a.text);
  LinearLayout whole;
  Shape shape = wanted;
  if (shape.empty()) {
    const IntTuple tile = tile_of(linear_of(*parent.attribute, {}));
    for (const Int n : tile.leaves()) shape.push_back(n.value());
    if (dim < 0 || static_cast<std::size_t>(dim) >= shape.size()) refuse("'dim' is no dimension", a.text);
    shape[static_cast<std::size_t>(dim)] = 1;
  } else {
    if (dim < 0 || static_cast<std::size_t>(dim) > shape.size()) refuse("'dim' is no dimension", a.text);
    shape.insert(shape.begin() + dim, 1);
  }
  whole = linear_of(*parent.attribute, shape);
  for (LinearLayout::Input& input : whole.inputs) {
    for (auto& basis : input.bases)
      if (static_cast<std::size_t>(dim) < basis.size()) basis.erase(basis.begin() + dim);
  }
  drop_idle_registers(whole);
  return whole;
}

std::vector<std::vector<std::int64_t>> bases_of(const Attribute& a, const char* key) {
  std::vector<std::vector<std::int64_t>> out;
  for (const Node& basis : field(a, key).list) {
    out.emplace_back();
    for (const Node& n : basis.list) out.back().push_back(n.number);
  }
  return out;
}

constexpr const char* read_here = "read are linear, blocked, amd_mfma, dot_op and slice of these, "
                                  "swizzled_shared, amd_rotating_shared, padded_shared and "
                                  "shared_linear";

LinearLayout linear_of(const Attribute& a, const Shape& shape) {
  if (a.name == "linear") { // says its tile itself
    LinearLayout l = parse_linear_layout("#ttg." + a.text.substr(a.text.find("linear<")));
    const IntTuple tile = tile_of(l);
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d >= tile.leaves().size() || tile.leaves()[d] > Int(shape[d]))
        refuse("the layout is larger than the tensor", a.text);
    return l;
  }
  one_block(a);
  if (a.name == "blocked") return blocked(a, shape);
  if (a.name == "amd_mfma") return mfma(a, shape);
  if (a.name == "dot_op") return dot_operand(a, shape);
  if (a.name == "slice") return slice_of(a, shape);
  refuse("'" + a.name + "' is not read", a.text, read_here);
}

int log2(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }

Layout ordered(const Shape& shape, const std::vector<std::size_t>& order) {
  std::vector<IntTuple> extents, strides(shape.size());
  std::int64_t stride = 1;
  for (const std::int64_t n : shape) extents.emplace_back(Int(n));
  for (const std::size_t d : order) strides[d] = IntTuple(Int(stride)), stride *= shape[d];
  return shape.size() == 1 ? Layout(Int(shape[0]), 1)
                           : Layout::from(IntTuple::of(extents), IntTuple::of(strides));
}

Shape shape_of(const Attribute& a, const Shape& given) {
  Shape shape = given;
  if (shape.empty() && find(a, "shape"))
    for (const Node& n : find(a, "shape")->list) shape.push_back(n.number);
  if (shape.empty())
    refuse("a layout of shared memory needs its shape", a.text,
           "write the type, !ttg.memdesc<64x64xf16, #ttg." + a.name + "<...>>");
  for (const std::int64_t n : shape) power_of_two(a, "shape", n);
  return shape;
}

// Chunks of `vec` of a row are exchanged by the row's number over perPhase, as far as there are such chunks and rows.
Value swizzled(const Attribute& a, const Shape& given, bool rotating) {
  const Shape shape = shape_of(a, given);
  const auto order = order_of(a, shape.size());
  const Layout plain = ordered(shape, order);
  const std::int64_t vec = power_of_two(a, "vec"), per = power_of_two(a, "perPhase"),
                     phases = power_of_two(a, "maxPhase");
  if (shape.size() < 2) return plain;
  const std::int64_t columns = shape[order[0]], rows = shape[order[1]];
  const int chunks = std::max(0, log2(columns) - log2(vec));
  const auto swizzle = [&](std::int64_t first) { // by the bits of the row from `first` on
    const int bits = std::min({log2(phases), chunks, std::max(0, log2(rows) - log2(first))});
    return Swizzle(bits, log2(vec), bits == 0 ? 0 : log2(columns) + log2(first) - log2(vec));
  };
  const Swizzle s = swizzle(per);
  const Swizzle blocks = rotating ? swizzle(per * phases) : Swizzle();
  Value v = s.is_identity() ? Value(plain) : Value(ComposedLayout(s, 0, plain));
  return blocks.is_identity() ? v : nested(Value(blocks), IntTuple(Int(0)), v);
}

// Coordinate to number of the element: bit k of it moves the coordinate by basis k.
Layout by_offset(const Attribute& a) {
  const LinearLayout l{{{"offset", bases_of(a, "offset")}}};
  const auto inverse = bit_matrix(l).inverse();
  if (!inverse || !inverse->layout())
    refuse("no extents and strides do this: two bases of 'offset' share a bit", a.text);
  std::vector<std::uint64_t> columns;
  const IntTuple tile = tile_of(l);
  std::vector<Tuple<Mode>> modes;
  std::size_t k = 0;
  for (const Int n : tile.leaves()) {
    const std::size_t bits = static_cast<std::size_t>(log2(n.value()));
    columns.assign(bits, 0);
    for (std::size_t j = 0; j < bits; ++j) columns[j] = inverse->column(k++);
    modes.emplace_back(BitMatrix(columns).layout()->view());
  }
  return modes.size() == 1 ? Layout(modes[0]) : Layout(Tuple<Mode>::of(modes));
}

Value padded(const Attribute& a, const Shape& given) {
  one_block(a);
  const Layout plain = find(a, "offset") ? by_offset(a) : [&] {
    const Shape shape = shape_of(a, given);
    return ordered(shape, order_of(a, shape.size()));
  }();
  if (a.paddings.empty()) refuse("'[interval:+padding]' is missing", a.text);
  auto paddings = a.paddings;
  std::sort(paddings.begin(), paddings.end());
  // Offset x of memory moves by x / interval * padding for each pair: the digits of x between two intervals have one stride each.
  std::vector<IntTuple> extents, strides;
  std::int64_t before = 1, more = 0; // elements, and padding that so many bring
  const std::int64_t all = plain.size().value();
  for (const auto& [interval, padding] : paddings) {
    power_of_two(a, "interval", interval);
    if (interval >= all) break;
    if (interval > before || extents.empty())
      extents.emplace_back(Int(interval / before)), strides.emplace_back(Int(before + more));
    more = more * (interval / before) + padding;
    before = interval;
  }
  extents.emplace_back(Int(all / before)), strides.emplace_back(Int(before + more));
  const Layout memory = extents.size() == 1 ? Layout(extents[0].leaf(), strides[0].leaf())
                                            : Layout::from(IntTuple::of(extents), IntTuple::of(strides));
  return composition(memory, plain);
}

Value layout_of(const Attribute& a, const Shape& shape) {
  if (a.name == "swizzled_shared" || a.name == "amd_rotating_shared") {
    one_block(a);
    return swizzled(a, shape, a.name == "amd_rotating_shared");
  }
  if (a.name == "padded_shared") return padded(a, shape);
  if (a.name == "shared_linear") {
    one_block(a);
    return by_offset(a);
  }
  return thread_value_layout(linear_of(a, shape));
}

} // namespace

bool is_triton_layout(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n'))
    text.remove_prefix(1);
  return text.substr(0, 1) == "#" || text.substr(0, 7) == "tensor<" || text.substr(0, 5) == "!ttg.";
}

Value detail::read_triton_layout(TextReader& in) {
  if (in.peek() == '#') return layout_of(read_attribute(in, 0), {});
  const bool memory = in.accept("!ttg.");
  if (in.name() != (memory ? "memdesc" : "tensor"))
    in.fail("tensor<...>, !ttg.memdesc<...> or #ttg. and an attribute");
  in.expect('<');
  Shape shape;
  while (in.at_number()) {
    shape.push_back(in.number().value());
    in.expect('x');
  }
  (void)in.name(); // the type of an element, up to the attribute
  while (in.peek() != ',' && in.peek() != '\0') in.rewind(in.position() + 1);
  in.expect(',');
  const Attribute a = read_attribute(in, 0);
  while (in.accept(',')) { // #smem, mutable, 2x64x64
    while (in.peek() != ',' && in.peek() != '>' && in.peek() != '\0') in.rewind(in.position() + 1);
  }
  in.expect('>');
  if (shape.empty()) refuse("a tensor without dimensions has no layout", a.text);
  for (const std::int64_t n : shape) power_of_two(a, "shape", n);
  return layout_of(a, shape);
}

Value parse_triton_layout(std::string_view text) {
  TextReader in(text, "parse triton layout");
  Value v = detail::read_triton_layout(in);
  in.finish();
  return v;
}

LinearLayout triton_linear_layout(std::string_view attribute, const Shape& shape) {
  TextReader in(attribute, "parse triton layout");
  const Attribute a = read_attribute(in, 0);
  in.finish();
  return linear_of(a, shape);
}

} // namespace inlay
