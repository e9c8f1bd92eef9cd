// Program: views, and what moves between memory, LDS and registers.
#include "about.h"
#include "program_checks.h"

#include "atoms/tables.h"
#include "thread_value.h"

#include <algorithm>
#include <numeric>

namespace inlay::codegen {

void Program::append(Op::What what, const Where& where) {
  (open_.empty() ? body_ : *open_.back()).push_back({std::move(what), where});
}

Fragment Program::fragment(Element element, const Layout& tv, std::vector<int> extents) {
  if (tv.rank() != 2 || tv.mode(0).size() != Int(threads_))
    throw CodegenError("a fragment is shared out over all work-items of the workgroup",
                       "tv     " + to_string(tv) + " for " + std::to_string(threads_) + " work-items");
  check_axes(tv);
  Fragment f{static_cast<int>(fragments_.size()), element, tv, std::move(extents)};
  fragments_.push_back(f);
  return f;
}

Layout Program::of_role(const Layout& tv, const Where& where) const {
  if (role_.all() || tv.rank() != 2) return tv;
  const int wave = target_->wave_size, own = role_.count * wave;
  const auto refuse = [&] {
    throw CodegenError("roles: the tile is not for the waves of " + role_name_,
                       "tv     " + to_string(tv) + ", line " + std::to_string(where.line()),
                       "a layout over " + std::to_string(own) + " work-items");
  };
  const auto values = tv.mode(1).size().value();
  if (tv.mode(0).size() == Int(threads_)) { // that of a fragment of the role
    for (std::size_t axis = 0; axis < 16; ++axis) {
      const std::vector<int> c = coordinates(tv, axis);
      for (std::size_t n = 0; n < c.size(); ++n)
        if (c[n] != c[n % static_cast<std::size_t>(own * values)]) refuse();
    }
    return tv;
  }
  if (tv.mode(0).size() != Int(own)) refuse();
  TupleBuilder<Mode> b;
  const std::size_t both = b.open(), of_threads = b.open();
  const Layout threads = tv.mode(0), of_values = tv.mode(1);
  for (const Mode& m : threads.modes()) b.leaf(m);
  b.leaf(Mode{threads_ / own, Stride(0)});
  b.close(of_threads, threads.modes().size() + 1);
  const std::size_t inside = b.open();
  for (const Mode& m : of_values.modes()) b.leaf(m);
  b.close(inside, of_values.modes().size());
  b.close(both, 2);
  return Layout(std::move(b).finish());
}

View Program::tile(const Tensor& tensor, const std::vector<int>& extents,
                   const std::vector<Sym>& index) const {
  check_own(tensors_, tensor, "tile");
  if (extents.size() != tensor.shape.size() || index.size() != tensor.shape.size())
    throw CodegenError("tile: " + tensor.name + " has " + std::to_string(tensor.shape.size()) + " axes",
                       "given  " + std::to_string(extents.size()) + " extents and " +
                           std::to_string(index.size()) + " indices");
  View v;
  v.tensor = tensor.id;
  TupleBuilder<Mode> b;
  const auto leaf = [&](std::size_t i) { b.leaf(Mode{Int(extents[i]), Stride(1, {i})}); };
  if (extents.size() == 1) {
    leaf(0);
  } else {
    const std::size_t at = b.open();
    for (std::size_t i = 0; i < extents.size(); ++i) leaf(i);
    b.close(at, extents.size());
  }
  v.where = Layout(std::move(b).finish());
  for (std::size_t i = 0; i < extents.size(); ++i) v.origin.push_back(Sym(extents[i]) * index[i]);
  return v;
}

View Program::whole(const Tensor& lds) const {
  std::vector<int> extents;
  for (const Sym& s : lds.shape) extents.push_back(static_cast<int>(s.constant()->value()));
  return tile(lds, extents, std::vector<Sym>(extents.size(), Sym(0)));
}

namespace {
// `tv` over a tile that has page and slot, in this order, in the place of `axis`: position = slots page + slot.
Layout by_page_and_slot(const Layout& tv, std::size_t axis, std::int64_t slots) {
  const Int all(slots);
  const auto refuse = [&] {
    throw CodegenError("paged: positions of a tile do not fall into pages of " + std::to_string(slots),
                       "tv     " + to_string(tv),
                       "a layout whose steps along the positions divide a page, or that it divides");
  };
  TupleBuilder<Mode> b;
  const std::size_t both = b.open();
  for (const std::size_t side : {0, 1}) {
    std::vector<Mode> modes;
    const Layout part = tv.mode(side);
    for (const Mode& m : part.modes()) {
      if (!m.stride.is_basis()) {
        modes.push_back(m);
      } else if (const std::size_t a = m.stride.axis[0]; a != axis) {
        modes.push_back(Mode{m.extent, Stride(m.stride.scale, {a > axis ? a + 1 : a})});
      } else if (const Int step = m.stride.scale; floor_mod(step, all) == Int(0)) {
        modes.push_back(Mode{m.extent, Stride(floor_div(step, all), {axis})});
      } else if (step * m.extent <= all) {
        modes.push_back(Mode{m.extent, Stride(step, {axis + 1})});
      } else {
        if (step < Int(1) || floor_mod(all, step) != Int(0)) refuse();
        const Int in = floor_div(all, step);
        if (floor_mod(m.extent, in) != Int(0)) refuse();
        modes.push_back(Mode{in, Stride(step, {axis + 1})});
        modes.push_back(Mode{floor_div(m.extent, in), Stride(1, {axis})});
      }
    }
    const std::size_t at = modes.size() == 1 ? 0 : b.open();
    for (const Mode& m : modes) b.leaf(m);
    if (modes.size() != 1) b.close(at, modes.size());
  }
  b.close(both, 2);
  Layout out(std::move(b).finish());
  const std::vector<int> position = coordinates(tv, axis), page = coordinates(out, axis),
                         slot = coordinates(out, axis + 1);
  for (std::size_t s = 0; s < position.size(); ++s)
    if (slot[s] >= slots || position[s] != slots * page[s] + slot[s]) refuse();
  return out;
}
} // namespace

View Program::by_pages(const View& view, Layout& tv, const Where& where) {
  const Tensor t = tensor(view.tensor), cache = tensor(t.cache), table = tensor(t.table);
  const auto slots = static_cast<int>(cache.shape[1].constant()->value());
  const std::size_t last = table.shape.size() - 1; // the axis of positions
  const auto refuse = [&](const std::string& what, const std::string& given, const std::string& hint) {
    throw CodegenError("paged: " + what, t.name + ", " + given + ", line " + std::to_string(where.line()),
                       hint);
  };
  if (!view.plain() || !view.rows.empty())
    refuse("a tile is plain", "given  " + to_string(view.where), "k.tile(..).keep(..) alone");
  std::vector<int> in_cache(cache.shape.size(), 1), in_table(table.shape.size(), 1);
  std::vector<std::size_t> kept; // modes of the tile of the cache
  std::optional<std::size_t> positions;
  int whole = slots; // of a page in a tile
  for (std::size_t m = 0; m < view.where.rank(); ++m) {
    const Mode mode = view.where.mode(m).modes()[0];
    const std::size_t axis = mode.stride.axis[0];
    const auto extent = static_cast<int>(mode.extent.value());
    if (axis < last) {
      if (extent != 1)
        refuse("a tile is of one sequence", std::to_string(extent) + " of axis " + std::to_string(axis),
               "a tile of 1 along it");
    } else if (axis == last) {
      if (extent % slots != 0 && slots % extent != 0)
        refuse("a tile is whole pages of " + std::to_string(slots) + ", or a part of one",
               std::to_string(extent) + " positions",
               "a tile of a multiple of them, or one that divides them");
      whole = std::min(extent, slots);
      in_cache[0] = in_table[last] = extent / whole;
      in_cache[1] = whole;
      positions = m;
      kept.insert(kept.end(), {0, 1});
    } else {
      in_cache[axis - last + 1] = extent;
      kept.push_back(axis - last + 1);
    }
  }
  if (!positions || kept.size() != view.where.rank() + 1)
    refuse("a tile keeps its positions", "given  " + to_string(view.where),
           "keep(..) with their mode, and without those of sequences");
  const Sym begin = view.origin[last], first = floor_div(begin, Sym(slots));
  if (!(Sym(whole) * floor_div(begin, Sym(whole)) == begin))
    refuse("a tile begins with a page, or with a part of one as long as itself: a multiple of " +
               std::to_string(whole),
           "at " + Words(*this)(to_string(begin)), "k.tile, which counts whole tiles");

  tv = by_page_and_slot(tv, *positions, slots);
  Layout of_pages = tv; // which pages a work-item's positions are in
  for (std::size_t axis = 0; axis <= view.where.rank(); ++axis)
    if (axis != *positions) of_pages = without_axis(of_pages, axis);
  of_pages = with_strides(
      of_pages, [&](const Mode& m) { return m.stride.is_basis() ? Stride(m.stride.scale, {0}) : m.stride; });
  View names = tile(table, in_table, std::vector<Sym>(table.shape.size(), Sym(0)));
  names.origin.assign(view.origin.begin(), view.origin.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  names.origin[last] = first;
  const Fragment pages = load(names.keep({last}), of_pages, 1, where);

  View rows = tile(cache, in_cache, std::vector<Sym>(cache.shape.size(), Sym(0)));
  rows.origin[1] = begin - Sym(slots) * first;
  for (std::size_t axis = last + 1; axis < view.origin.size(); ++axis)
    rows.origin[axis - last + 1] = view.origin[axis];
  rows.cache = view.cache;
  return rows.through(0, pages).keep(kept);
}

namespace {
// To LDS bits move as they are.
void check_moved(const char* operation, const std::string& what, Element from, const Tensor& to,
                 const std::source_location& where) {
  if (from == to.element) return;
  throw CodegenError(std::string(operation) + ": " + what + " holds " + to_string(from) + ", and " + to.name +
                         " holds " + to_string(to.element),
                     "line   " + std::to_string(where.line()),
                     "k.load, k.map(.., " + to_string(to.element) + ") and k.store of what that gives");
}
void check_cached(const char* operation, const View& view, const Tensor& t,
                  const std::source_location& where) {
  if (view.cache == CachePolicy{} || t.space != Space::lds) return;
  throw CodegenError(std::string(operation) + ": " + t.name + " is in LDS, which no cache stands before",
                     "line   " + std::to_string(where.line()), "a tile of memory .cached(..)");
}
// What is narrower than a byte is moved in whole registers.
void check_narrow(const char* operation, const Tensor& t, int vector, const std::source_location& where) {
  const int width = bits(t.element), whole = std::lcm(width, 32) / width;
  if (width >= 8 || vector % whole == 0) return;
  throw CodegenError(std::string(operation) + ": elements of " + std::to_string(width) +
                         " bits are moved in whole registers, of " + std::to_string(whole),
                     "vector " + std::to_string(vector) + " of " + t.name + " " + to_string(t.element) +
                         ", line " + std::to_string(where.line()),
                     "a vector of " + std::to_string(whole) +
                         ", or of a multiple, along an axis declared as one");
}
// LDS is written by one instruction for each vector, and read by one or three.
void check_width(const Target& target, const Tensor& t, int vector, bool read,
                 const std::source_location& where) {
  if (t.space != Space::lds) return;
  const int wide = vector * bits(t.element);
  about([&] { return where; },
        [&] {
          return (void)(read ? Atom::lds_read(target, wide) : Atom::store(target, Addressing::lds, wide));
        });
}
} // namespace

void Program::copy(const View& from, const Tensor& to, const Layout& tv, int vector, Where where) {
  check_vector(tv, vector, "copy");
  check_moved("copy", tensor_name(from.tensor), tensor(from.tensor).element, to, where);
  check_cached("copy", from, tensor(from.tensor), where);
  check_narrow("copy", to, vector, where);
  check_width(*target_, to, vector, false, where);
  if (tensor(from.tensor).space == Space::paged)
    return store(load(from, tv, vector, where), whole(to), vector, where);
  CopyOp c;
  c.from = from;
  c.to = whole(to);
  c.tv = of_role(tv, where);
  c.vector = vector;
  append(c, where);
}

void Program::transfer(const View& from, const Tensor& to, const Layout& tv, int vector, Where where) {
  check_vector(tv, vector, "transfer");
  check_moved("transfer", tensor_name(from.tensor), tensor(from.tensor).element, to, where);
  check_cached("transfer", from, tensor(from.tensor), where);
  if (const Tensor& t = tensor(from.tensor); t.space == Space::paged)
    throw CodegenError("transfer: " + t.name + " is paged, and its rows lie anywhere",
                       "line   " + std::to_string(where.line()), "copy, through registers");
  const int bytes = vector * bits(to.element) / 8;
  const auto& widths = target_->lds_dma_bytes;
  if (std::find(widths.begin(), widths.end(), bytes) == widths.end())
    throw CodegenError("transfer: no instruction moves that many bytes a lane to LDS",
                       std::to_string(bytes) + " bytes on " + std::string(target_->name),
                       "4 bytes, 12 and 16 on " + machine::moving_to_lds(16).names() +
                           ", or copy, through registers");
  CopyOp c;
  c.from = from;
  c.to = whole(to);
  c.tv = of_role(tv, where);
  c.vector = vector;
  c.direct = true;
  append(c, where);
}

Fragment Program::load(const View& from, const Layout& tv, int vector, Where where) {
  check_vector(tv, vector, "load");
  check_cached("load", from, tensor(from.tensor), where);
  check_narrow("load", tensor(from.tensor), vector, where);
  check_width(*target_, tensor(from.tensor), vector, true, where);
  CopyOp c;
  Layout places = tv; // over the axes of what is in memory
  c.from = tensor(from.tensor).space == Space::paged ? by_pages(from, places, where) : from;
  c.tv = of_role(places, where);
  const Fragment f = fragment(tensor(from.tensor).element, of_role(tv, where), from.extents());
  c.to_fragment = f.id;
  c.vector = vector;
  append(c, where);
  if (const Tensor& t = tensor(from.tensor); t.space != Space::lds && !t.output) exact_.push_back(f.id);
  return f;
}

Fragment Program::read(const Tensor& from, const Layout& tv, int vector, Where where) {
  return load(whole(from), tv, vector, where);
}

void Program::store(const Fragment& from, const View& to, int vector, Where where) {
  check_own(fragments_, from, "store", where);
  check_vector(from.tv, vector, "store");
  check_cached("store", to, tensor(to.tensor), where);
  check_narrow("store", tensor(to.tensor), vector, where);
  check_width(*target_, tensor(to.tensor), vector, false, where);
  if (const Tensor& t = tensor(to.tensor); t.space == Space::window)
    throw CodegenError("store: " + t.name + " is a window, and is read only",
                       "line   " + std::to_string(where.line()), "an output of its own");
  if (tensor(to.tensor).space == Space::paged)
    throw CodegenError("store: " + tensor(to.tensor).name + " is paged, and is read only",
                       "line   " + std::to_string(where.line()),
                       "an output, or rows of its cache where a table names them: k.puts(..)");
  if (const Tensor& t = tensor(to.tensor); t.space == Space::lds)
    check_moved("store", "r" + std::to_string(from.id), from.element, t, where);
  else if (from.element == Element::i64)
    throw CodegenError(
        "store: its fragment holds i64 as memory has it, and registers have the nearest of 32 bits",
        "to     " + t.name + ", line " + std::to_string(where.line()),
        "k.map({x}, integer(x), i32), and k.computes(.., integer(..)); or both tensors as i32 of twice as "
        "many elements");
  else if (t.element == Element::i64 && from.element != Element::i32)
    throw CodegenError("store: " + t.name + " is i64, and the fragment holds " + to_string(from.element),
                       "line   " + std::to_string(where.line()), "k.map({x}, truncated(x), i32)");
  else if (t.element != from.element && t.element != Element::i64)
    check_elements("store", *target_, {from.element}, t.element, where);
  CopyOp c;
  c.from_fragment = from.id;
  c.to = to;
  c.tv = from.tv;
  c.vector = vector;
  append(c, where);
}

void Program::add_in_lds(const Fragment& from, const View& to, const Where& where) {
  const Tensor& t = tensor(to.tensor);
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("add: " + t.name + " is in LDS, " + why, "line   " + std::to_string(where.line()),
                       hint);
  };
  if (to.rows.empty() || to.rows[0] < 0)
    refuse("and what is added to each of its elements by itself is no atomic",
           "k.fold across lanes and waves, or a fragment that k.update adds to; atomics are for elements "
           "that a table names, "
           "k.tile(" +
               t.name + ", ..).through(0, ids)");
  if (t.element != Element::i32 || from.element != Element::i32)
    refuse("and holds " + to_string(t.element) + ", where " + to_string(from.element) +
               " is added: sums of floats would depend on the order in which waves come",
           "i32 both: k.map({x}, truncated(x), i32)");
  bool line = t.shape.size() == 1;
  for (std::int64_t i = 0, n = line ? t.shape[0].constant()->value() : 0; i < n && line; ++i) {
    const std::int64_t at[] = {i};
    line = t.at(at) == i;
  }
  if (!line)
    refuse("and its elements are added to where they lie one after the other", "one axis, without a swizzle");
  if (!role_.all() || branches_open_ > 0)
    refuse("and all waves of the workgroup add to it", "the add outside of roles and branches");
  check_vector(from.tv, 1, "add");
  CopyOp c;
  c.from_fragment = from.id;
  c.to = to;
  c.tv = from.tv;
  c.combine = Monoid::sum;
  append(c, where);
}

void Program::add(const Fragment& from, const View& to, Where where) {
  check_own(fragments_, from, "add", where);
  const Element element = tensor(to.tensor).element;
  if (tensor(to.tensor).space == Space::lds) return add_in_lds(from, to, where);
  if (!(to.cache == CachePolicy{}))
    throw CodegenError("add: atomics have no cache policy", "line   " + std::to_string(where.line()),
                       "the tile without cached(..)");
  const bool pairs = element == Element::f16 || element == Element::bf16;
  if (!pairs && element != Element::f32 && element != Element::i32)
    throw CodegenError("add: " + tensor_name(to.tensor) + " is " + to_string(element) +
                           ", which no atomic adds",
                       "line   " + std::to_string(where.line()), "f32, i32, f16 or bf16");
  if (element != from.element) check_elements("add", *target_, {from.element}, element, where);
  (void)Atom::atomic(*target_, addressing_of_sums(*target_, element), Combine::add, element, pairs);
  CopyOp c;
  c.vector = pairs ? 2 : 1;
  check_vector(from.tv, c.vector, "add");
  c.from_fragment = from.id;
  c.to = to;
  c.tv = from.tv;
  c.combine = Monoid::sum;
  append(c, where);
}

} // namespace inlay::codegen
