// Program: sizes, grid, tensors.
#include "program_checks.h"

#include "thread_value.h"

#include <inlay/codegen/symbol_kinds.h>
#include <inlay/machine/lds.h>

#include <algorithm>
#include <set>

namespace inlay::codegen {
namespace {

// What the assembler takes as a symbol, and a formula as a name; names that begin with a low line are the library's.
void check_name(const std::string& what, const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool good = !name.empty() && letter(name[0]);
  for (const char c : name) good = good && (letter(c) || (c >= '0' && c <= '9') || c == '_');
  if (good && name != "min" && name != "max" && name != "select") return;
  const bool ours = !name.empty() && name[0] == '_';
  throw CodegenError(what + ": '" + name + "' is no name",
                     good   ? "the word is reserved: min, max and select are functions of formulas"
                     : ours ? "names that begin with _ are the library's"
                            : "",
                     good ? name + "_ or another name" : "letters, digits and _, a letter first");
}

// What a tensor is, and where, is the same whoever looks at it: sizes say it, and numbers from memory that all workgroups read.
void check_of_sizes(const Program& p, const std::string& what, const std::vector<Sym>& all) {
  for (const Sym& s : all)
    for (const AtomId atom : inlay::symbols(s)) {
      const auto is = [&](const Sym& x) { return *x.as_atom() == atom; };
      if (std::any_of(p.sizes().begin(), p.sizes().end(), [&](const Size& z) { return is(z.symbol); }) ||
          std::any_of(p.uniforms().begin(), p.uniforms().end(),
                      [&](const Uniform& u) { return is(u.symbol) && u.at.is_constant(); }))
        continue;
      const std::string name = Words(p)(p.symbols().atom(atom).name);
      throw CodegenError(what + " depends on " + name + ", which is another number in another workgroup",
                         to_string(s), "formulas of sizes; a tile of it may begin where " + name + " says");
    }
}

} // namespace

Sym own_symbol(SymContext& context, const std::string& name, Interval range) {
  if (context.find(name))
    throw CodegenError("the name " + name + " is another number's in this program", "", "another name");
  return context.symbol(name, range);
}

Program::Program(std::string name, const Target& target, int threads, std::source_location where)
    : name_(std::move(name)), target_(&target), threads_(threads), where_(where) {
  check_name("kernel", name_);
  if (threads < 1 || threads > target.max_workgroup_size || threads % target.wave_size != 0)
    throw CodegenError("workgroup size out of range", "size   " + std::to_string(threads),
                       "a multiple of " + std::to_string(target.wave_size) + " up to " +
                           std::to_string(target.max_workgroup_size) + " on " + std::string(target.name));
}

void Program::refuse_argument_named(const std::string& name, const std::string& what) const {
  check_name(what, name);
  const auto refuse = [&](const std::string& other) {
    throw CodegenError(what + " " + name + ": the kernel has an argument of this name", other + " " + name,
                       "another name: a launch passes arguments by their names");
  };
  for (const Tensor& t : tensors_)
    if (t.space == Space::global && t.name == name) refuse("tensor");
  for (const Size& z : sizes_)
    if (z.name == name) refuse("size  ");
}

Sym Program::size(const std::string& name, SizeFacts facts) {
  if (facts.least < 0 || facts.most < 1 || facts.most > INT32_MAX || facts.least > facts.most ||
      facts.multiple < 1 || facts.most / facts.multiple * facts.multiple < facts.least)
    throw CodegenError(
        "size " + name + ": a size is a number from 0 to 2147483647, and these facts say no such range",
        "from   " + std::to_string(facts.least) + " to " + std::to_string(facts.most) + ", a multiple of " +
            std::to_string(facts.multiple),
        "0 <= least <= most <= 2147483647, with most 1 or more; extents are of sizes from 1 on");
  for (const Size& s : sizes_)
    if (s.name == name) throw CodegenError("size " + name + " is declared twice");
  refuse_argument_named(name, "size");
  const auto whole = [&](std::int64_t n) { return Int(n / facts.multiple * facts.multiple); };
  const Sym symbol =
      own_symbol(*symbols_, name, {whole(facts.least + facts.multiple - 1), whole(facts.most)});
  sizes_.push_back({name, symbol, facts});
  return symbol;
}

std::optional<std::pair<Sym, Sym>> least_of(Sym extent) {
  const auto atom = extent.as_atom();
  if (!atom || extent.context()->atom(*atom).kind != AtomKind::min) return std::nullopt;
  const auto& ends = extent.context()->atom(*atom).operands;
  return std::pair(ends[0], ends[1]);
}

Interval tile_numbers(Sym extent, int tile) {
  const auto most = interval(extent).upper;
  return {Int(0), most ? std::max(Int(0), ceil_div(*most, Int(tile)) - Int(1)) : Int(INT32_MAX)};
}

Sym Program::workgroups(int axis, Sym extent, int tile) {
  refuse_empty(sizes_, extent, "grid axis " + std::to_string(axis));
  if (shares_)
    throw CodegenError("grid axis " + std::to_string(axis) + " is declared after the shares of its tiles");
  for (const GridAxis& g : grid_)
    if (g.axis == axis) throw CodegenError("grid axis " + std::to_string(axis) + " is declared twice");
  const std::vector<AtomId> counted = inlay::symbols(extent);
  const auto known_to_launch = [&](AtomId atom) {
    return std::any_of(sizes_.begin(), sizes_.end(),
                       [&](const Size& s) { return *s.symbol.as_atom() == atom; });
  };
  if (!std::all_of(counted.begin(), counted.end(), known_to_launch))
    throw CodegenError("grid axis " + std::to_string(axis) +
                           ": the launch counts its workgroups before anything is read from memory",
                       "extent " + Words(*this)(to_string(extent)),
                       "a formula of sizes, the most there may be, and k.if_less(" + std::to_string(tile) +
                           " * number, the count in memory, ..) for what a workgroup does");
  if (!tickets_.empty() || !turns_.empty() || !devices_.flags.empty())
    throw CodegenError("grid axis " + std::to_string(axis) +
                           " is declared after a ticket, a turn or a meeting",
                       tensor(!tickets_.empty() ? tickets_[0].tensor
                              : !turns_.empty() ? turns_[0].tensor
                                                : devices_.flags[0])
                           .name,
                       "the whole grid first");
  // ceil(c x / (c t)) = ceil(x / t): the least numbers say most of where tiles begin.
  for (int c = tile; c > 1 && !extent.is_constant(); --c)
    if (const auto x = tile % c == 0 ? divide_exactly(extent, Sym(c)) : std::nullopt) {
      extent = *x, tile /= c;
      break;
    }
  const Sym symbol = own_symbol(*symbols_, "wg_" + std::string(1, "xyz"[axis]), tile_numbers(extent, tile));
  grid_.push_back({axis, symbol, extent, tile});
  return symbol;
}

void Program::order_tiles(const TileOrder& order) {
  if (shares_) throw CodegenError("order_tiles: the tiles are shared out already", "", "the order first");
  tile_map_.reset();
  if (order.linear()) return;
  if (!devices_.flags.empty())
    throw CodegenError("order_tiles: workgroups of one number meet, and have the same tile on all devices",
                       "meet   " + devices_.name, "no order_tiles");
  for (const Turn& t : turns_)
    if (t.axis != 2)
      throw CodegenError("order_tiles: workgroups that wait for those before begin in another order",
                         "turn  " + tensor(t.tensor).name, "a third grid axis for what waits");
  const auto axis = [&](int n) -> const GridAxis& {
    for (const GridAxis& g : grid_)
      if (g.axis == n) return g;
    throw CodegenError("an order of tiles is for a grid along x and y", "order  " + to_string(order));
  };
  const GridAxis &x = axis(0), &y = axis(1);
  tile_map_ = codegen::tile_map(order, *symbols_, ceil_div(x.extent, Sym(x.tile)),
                                ceil_div(y.extent, Sym(y.tile)), x.symbol, y.symbol);
}

Program::Share Program::share(int workers, Sym extent, int tile) {
  refuse_empty(sizes_, extent, "share");
  if (shares_) throw CodegenError("share: the tiles are shared out already");
  const bool two = grid_.size() == 2 && grid_[0].axis + grid_[1].axis == 1;
  if (!two || !tickets_.empty() || !turns_.empty())
    throw CodegenError("share: what is shared out are the tiles of a grid along x and y",
                       "grid   " + std::to_string(grid_.size()) + " axes, " +
                           std::to_string(tickets_.size() + turns_.size()) + " tickets and turns",
                       "axes 0 and 1, and parts that are added");
  const GridAxis &x = grid_[grid_[0].axis == 0 ? 0 : 1], &y = grid_[grid_[0].axis == 0 ? 1 : 0];
  const Sym tiles_x = ceil_div(x.extent, Sym(x.tile)), tiles_y = ceil_div(y.extent, Sym(y.tile));
  const Sym number = symbol_of(*symbols_, SymbolKind::of_tiles, {}, "share_of",
                               {Int(0), Int(Shares::most_steps)}); // Shares::number
  tile_map_ = codegen::tile_map(tile_map_ ? tile_map_->order : TileOrder(), *symbols_, tiles_x, tiles_y,
                                x.symbol, y.symbol, number);
  shares_ = codegen::shares(workers, *symbols_, tile_map_->tiles, extent, tile);
  return {shares_->begin, shares_->count};
}

void Program::persistent(int workers) {
  if (grid_.size() == 1 && grid_[0].axis < 2) (void)workgroups(1 - grid_[0].axis, Sym(1), 1);
  (void)share(workers, Sym(1), 1);
}

void Program::problems(const std::string& count, const std::vector<Sym>& own, std::source_location where) {
  const auto refuse = [&](const std::string& what, const std::string& given, const std::string& hint) {
    throw CodegenError("problems: " + what, given + "\nline   " + std::to_string(where.line()), hint);
  };
  if (problems_.there()) refuse("they are declared twice", "count  " + count, "once, after the operations");
  if (grid_.empty() || std::any_of(grid_.begin(), grid_.end(), [](const GridAxis& g) { return g.axis == 2; }))
    refuse("axis z of the grid counts them", "grid   " + std::to_string(grid_.size()) + " axes",
           "a grid along x, or along x and y");
  if (tile_map_ || shares_ || !tickets_.empty() || !turns_.empty() || devices_.count > 0 ||
      !uniforms_.empty())
    refuse("each has its own number of tiles, and tables, of which workgroups of other problems know nothing",
           tile_map_ || shares_ ? "order_tiles, share or persistent"
           : !uniforms_.empty() ? "uniform " + to_string(uniforms_[0].symbol)
           : devices_.count > 0 ? "devices"
                                : "a ticket or a turn",
           "a workgroup for each tile, without these");
  if (own.empty()) refuse("no size is a problem's own", "count  " + count, "those that differ: {M}");
  std::vector<Size> sizes;
  for (const Sym& s : own) {
    const auto at = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& z) { return z.symbol == s; });
    if (at == sizes_.end()) refuse("it is no size of the program", to_string(s), "what k.size(..) gave");
    if (std::any_of(sizes.begin(), sizes.end(), [&](const Size& z) { return z.symbol == s; }))
      refuse("a size is named twice", at->name, "each once");
    sizes.push_back(*at);
  }
  problems_.where = where;
  problems_.count = size(count, {.most = 65535});
  for (std::size_t i = 0, all = tensors_.size(); i < all; ++i)
    if (tensors_[i].space == Space::global) {
      const int table = input(tensors_[i].name + "_at", Element::i64, {problems_.count}).id;
      tensors_[i].addresses = table;
    }
  for (const Size& z : sizes)
    problems_.sizes.push_back({z.symbol, input(z.name + "_of", Element::i32, {problems_.count}).id});
  assertions_.push_back({"a size of a problem is what the launch covers", where});
}

void Program::waves_per_simd(int waves, std::source_location where) {
  const int most = target_->max_waves_per_simd;
  if (waves < 1 || waves > most || waves_per_simd_ > 0)
    throw CodegenError("waves_per_simd: " + std::to_string(waves) +
                           (waves_per_simd_ > 0 ? " where " + std::to_string(waves_per_simd_) + " were said"
                                                : std::string(" waves on a SIMD")),
                       "line   " + std::to_string(where.line()), "once, 1 to " + std::to_string(most));
  waves_per_simd_ = waves;
  limited_ = where;
}

Sym Program::value(const Tensor& table, Sym at) {
  if (!names_rows(table.element) || table.shape.size() != 1 || table.space != Space::global || table.output)
    throw CodegenError("value: " + table.name + " is no input of i32 or i64 with one axis");
  for (const Entry& v : values_)
    if (v.tensor == table.id && v.at == at) return v.symbol;
  const Sym symbol = own_symbol(*symbols_, name_of(SymbolKind::value, {values_.size()}, table.name),
                                {Int(0), Int(INT32_MAX)});
  values_.push_back({symbol, table.id, at});
  return symbol;
}

Sym Program::uniform(const Tensor& table, Sym at, std::source_location where) {
  if (!names_rows(table.element) || table.shape.size() != 1 || table.space != Space::global)
    throw CodegenError(
        "uniform: " + table.name + " is not a table of i32 or i64 with one axis",
        "table  " + std::to_string(table.shape.size()) + " axes of " + to_string(table.element) + ", line " +
            std::to_string(where.line()),
        "a table of two axes as one of rows * columns: k.uniform(table, row * columns + column)");
  if (table.output)
    throw CodegenError("uniform: " + table.name +
                       " is an output: what it holds is not there before the launch");
  if (table.device >= 0)
    throw CodegenError(
        "uniform: " + table.name +
            " is in the memory of a peer, and a number of the workgroup is read before devices meet",
        "line   " + std::to_string(where.line()), "a table of this device's own");
  for (const AtomId atom : inlay::symbols(at))
    if (loops_open_ == 0 && std::find(trips_.begin(), trips_.end(), atom) != trips_.end())
      throw CodegenError("uniform: " + Words(*this)(to_string(at)) +
                             " moves with a loop, and a number of the workgroup is read once",
                         "table  " + table.name + ", line " + std::to_string(where.line()),
                         "in the loop k.load(k.tile(" + table.name + ", {1}, {" +
                             Words(*this)(to_string(at)) +
                             "}), tv without its axes, 1), and a view through what that gives");
  const Sym symbol = own_symbol(*symbols_, name_of(SymbolKind::uniform, {uniforms_.size()}, table.name),
                                {Int(0), Int(INT32_MAX)});
  uniforms_.push_back({symbol, table.id, at, where});
  return symbol;
}

namespace {
SymLayout row_major(const std::vector<Sym>& shape) {
  TupleBuilder<Sym> b;
  if (shape.size() == 1) {
    b.leaf(shape[0]);
  } else {
    const std::size_t at = b.open();
    for (const Sym& s : shape) b.leaf(s);
    b.close(at, shape.size());
  }
  return SymLayout::row_major(BasicIntTuple<Sym>(std::move(b).finish()));
}
} // namespace

Tensor Program::global(const std::string& name, Element element, std::vector<Sym> shape,
                       std::optional<SymLayout> place, bool output) {
  refuse_argument_named(name, "tensor");
  for (const Sym& extent : shape) refuse_empty(sizes_, extent, "tensor " + name);
  check_of_sizes(*this, "tensor " + name + ": its shape", shape);
  if (place)
    for (const auto& m : place->modes())
      check_of_sizes(*this, "tensor " + name + ": its place", {m.extent, m.stride.scale});
  Tensor t;
  t.id = static_cast<int>(tensors_.size());
  t.name = name;
  t.element = element;
  t.place = SymComposedLayout(Swizzle(), Sym(0), place ? *place : row_major(shape));
  if (devices_.count > 0) {
    const AtomId rank = *devices_.rank.as_atom();
    std::vector<AtomId> all = inlay::symbols(t.place.inner());
    for (const Sym& extent : shape)
      for (const AtomId a : inlay::symbols(extent)) all.push_back(a);
    if (std::find(all.begin(), all.end(), rank) != all.end())
      throw CodegenError("tensor " + name + ": its memory depends on who looks at it",
                         "place  " + to_string(t.place) +
                             "\nrank   the number of the device that runs the program",
                         "a shape of sizes alone; views may begin where the rank says");
  }
  t.shape = std::move(shape);
  t.output = output;
  tensors_.push_back(t);
  return t;
}
Tensor Program::input(const std::string& name, Element element, std::vector<Sym> shape,
                      std::optional<SymLayout> place) {
  return global(name, element, std::move(shape), std::move(place), false);
}
Tensor Program::output(const std::string& name, Element element, std::vector<Sym> shape,
                       std::optional<SymLayout> place) {
  return global(name, element, std::move(shape), std::move(place), true);
}
Tensor Program::inout(const std::string& name, Element element, std::vector<Sym> shape,
                      std::optional<SymLayout> place) {
  Tensor t = global(name, element, std::move(shape), std::move(place), true);
  tensors_.back().in_place = t.in_place = true;
  return t;
}

Tensor Program::paged(const std::string& name, const Tensor& cache, const Tensor& table) {
  const auto refuse = [&](const std::string& what, const std::string& given, const std::string& hint) {
    throw CodegenError("paged: " + what, given, hint);
  };
  if (cache.space != Space::global || cache.output || cache.shape.size() < 2)
    refuse(cache.name + " is no cache of pages", to_string(cache.place), "an input [pages, page, ...]");
  if (!cache.shape[1].constant())
    refuse("how long a page of " + cache.name + " is, is no number", to_string(cache.shape[1]),
           "16, a constant of the program");
  if (!names_rows(table.element) || table.space != Space::global || table.output)
    refuse(table.name + " is no table of pages", to_string(table.element),
           "an input of i32 or i64, [sequences, pages of a sequence]");
  Tensor t;
  t.id = static_cast<int>(tensors_.size());
  t.name = name;
  t.space = Space::paged;
  t.element = cache.element;
  t.shape = table.shape;
  t.shape.back() = cache.shape[1] * t.shape.back();
  t.shape.insert(t.shape.end(), cache.shape.begin() + 2, cache.shape.end());
  t.place = SymComposedLayout(Swizzle(), Sym(0), row_major(t.shape));
  t.cache = cache.id;
  t.table = table.id;
  tensors_.push_back(t);
  return t;
}

Tensor Program::window(const std::string& name, const Tensor& of, std::vector<WindowAxis> axes,
                       std::vector<Sym> origin) {
  const auto refuse = [&](const std::string& what, const std::string& given, const std::string& hint) {
    throw CodegenError("window: " + what, given, hint);
  };
  if (of.space != Space::global || of.output || of.far || bits(of.element) < 8)
    refuse(of.name + " is no input of elements of 8 bits or more, below 2 GiB", to_string(of.place),
           "an input");
  for (const WindowAxis& axis : axes) refuse_empty(sizes_, axis.extent, "window " + name);
  const std::size_t rank = of.shape.size();
  if (of.place.inner().modes().size() != rank)
    refuse(of.name + " has an axis of several modes", to_string(of.place),
           "an input with one stride an axis");
  if (origin.size() != rank)
    refuse(of.name + " has " + std::to_string(rank) + " axes", std::to_string(origin.size()) + " origins",
           "where coordinate 0 of the window lies, a number for each axis of " + of.name);
  Tensor t;
  t.id = static_cast<int>(tensors_.size());
  t.name = name;
  t.space = Space::window;
  t.element = of.element;
  t.of = of.id;
  t.of_shape = of.shape;
  t.look_origin = std::move(origin);
  check_of_sizes(*this, "window " + name + ": its origin", t.look_origin);
  for (const WindowAxis& axis : axes) {
    check_of_sizes(*this, "window " + name + ": its shape", {axis.extent});
    for (const Look& look : axis.looks)
      check_of_sizes(*this, "window " + name + ": what it looks at", {look.extent, look.step});
  }
  const auto stride = [&](std::size_t axis) { return of.place.inner().modes()[axis].stride.scale; };
  Sym offset = of.place.offset();
  for (std::size_t axis = 0; axis < rank; ++axis) offset += t.look_origin[axis] * stride(axis);
  TupleBuilder<BasicMode<Sym>> b;
  const std::size_t all = axes.size() == 1 ? 0 : b.open();
  for (const WindowAxis& axis : axes) {
    if (axis.looks.empty())
      refuse("an axis of " + name + " has no digits", to_string(axis.extent),
             "{extent, axis of the input, step}");
    t.shape.push_back(axis.extent);
    const std::size_t one = axis.looks.size() == 1 ? 0 : b.open();
    Sym before(1);
    for (std::size_t d = 0; d < axis.looks.size(); ++d) {
      const Look& look = axis.looks[d];
      if (look.axis < 0 || static_cast<std::size_t>(look.axis) >= rank)
        refuse(of.name + " has no axis " + std::to_string(look.axis), std::to_string(rank) + " axes",
               "0 to " + std::to_string(rank - 1));
      if (le(Sym(0), look.step) != Truth::yes || le(Sym(1), look.extent) != Truth::yes)
        refuse("a digit of " + name + " goes backwards, or may have no coordinate",
               to_string(look.extent) + " by " + to_string(look.step),
               "extents of at least 1, steps of at least 0: from the other end on, origin -(extent - 1), and "
               "what it is multiplied by in that order");
      const bool last = d + 1 == axis.looks.size();
      b.leaf(BasicMode<Sym>{last ? ceil_div(axis.extent, before) : look.extent,
                            BasicStride<Sym>(look.step * stride(static_cast<std::size_t>(look.axis)))});
      before = before * look.extent;
    }
    if (axis.looks.size() != 1) b.close(one, axis.looks.size());
  }
  if (axes.size() != 1) b.close(all, axes.size());
  t.place = SymComposedLayout(Swizzle(), offset, SymLayout(std::move(b).finish()));
  t.looks = std::move(axes);
  tensors_.push_back(t);
  return t;
}

Sym Program::devices(int count) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("devices: " + why, std::to_string(count), hint);
  };
  if (count < 2 || count > 64) refuse("that many do not run a program together", "2 to 64");
  if (devices_.count > 0) refuse("there are " + std::to_string(devices_.count) + " already", "once");
  if (!target_->scopes)
    refuse("on " + std::string(target_->name) + " nothing in a store says how far it is seen",
           machine::with(&machine::Target::scopes).names());
  for (const Size& s : sizes_)
    if (s.name == "rank")
      refuse("the program has a size 'rank'", "another name: this is the device's number");
  devices_.count = count;
  devices_.rank = own_symbol(*symbols_, "rank", {Int(0), Int(count - 1)});
  sizes_.push_back({"rank", devices_.rank, {.least = 0, .most = count - 1}});
  return devices_.rank;
}

std::vector<Tensor> Program::peers(const std::string& name, Element element, std::vector<Sym> shape,
                                   std::optional<SymLayout> place) {
  if (devices_.count == 0)
    throw CodegenError("peers: the program runs on one device", name, "k.devices(4) before");
  std::vector<Tensor> out;
  for (int d = 0; d < devices_.count; ++d) {
    out.push_back(global(name + "_" + std::to_string(d), element, shape, place, false));
    out.back().device = tensors_.back().device = d;
  }
  return out;
}

void Program::far(const Tensor& tensor) {
  Tensor& t = tensors_[static_cast<std::size_t>(tensor.id)];
  if (t.space != Space::global || t.output)
    throw CodegenError("far: " + t.name + " is no input in memory", to_string(t.place),
                       "for an output, tiles of fewer rows, whose offsets fit 31 bits");
  if (bits(t.element) < 8)
    throw CodegenError("far: " + t.name + " has elements of " + std::to_string(bits(t.element)) + " bits", "",
                       "elements of 8 bits or more");
  t.far = true;
}

Tensor Program::lds(const std::string& name, Element element, const std::vector<int>& shape,
                    const Swizzle& swizzle, int padding) {
  Tensor t;
  t.id = static_cast<int>(tensors_.size());
  t.name = name;
  t.space = Space::lds;
  t.element = element;
  if (element == Element::i64)
    throw CodegenError("lds: " + name + " is of i64, which memory alone holds", "",
                       "i32, and k.map({x}, integer(x), i32) before the store");
  std::vector<Sym> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = Sym(step);
    step *= shape[i] + (i + 1 == shape.size() ? padding : 0);
    t.shape.insert(t.shape.begin(), Sym(shape[i]));
  }
  TupleBuilder<BasicMode<Sym>> b;
  if (shape.size() == 1) {
    b.leaf(BasicMode<Sym>{t.shape[0], BasicStride<Sym>(strides[0])});
  } else {
    const std::size_t at = b.open();
    for (std::size_t i = 0; i < shape.size(); ++i)
      b.leaf(BasicMode<Sym>{t.shape[i], BasicStride<Sym>(strides[i])});
    b.close(at, shape.size());
  }
  t.place = SymComposedLayout(swizzle, Sym(0), SymLayout(std::move(b).finish()));
  tensors_.push_back(t);
  return t;
}

Tensor Program::lds(const std::string& name, Element element, const std::vector<int>& shape, SymLayout place,
                    const Swizzle& swizzle) {
  Tensor t = lds(name, element, shape);
  t.place = SymComposedLayout(swizzle, Sym(0), std::move(place));
  tensors_.back() = t;
  return t;
}
} // namespace inlay::codegen
