#include <inlay/codegen/program.h>

#include "thread_value.h"

#include "integer_sums.h"
#include "lane_exchange.h"
#include "lds_place.h"
#include "words.h"
#include <inlay/machine/target.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>
#include <inlay/machine/lds.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace inlay::codegen {
namespace {

/// A size that may be 0 is how far rows are apart, say, and no part of an extent: all that is proved is proved of extents from 1 on.
void refuse_empty(const std::vector<Size>& sizes, Sym extent, const std::string& what) {
  const std::vector<AtomId> all = inlay::symbols(extent);
  for (const Size& s : sizes)
    if (s.facts.least == 0 && s.name != "rank" &&
        std::find(all.begin(), all.end(), *s.symbol.as_atom()) != all.end())
      throw CodegenError(what + ": the size " + s.name + ", which may be 0, is part of an extent",
                         "extent " + to_string(extent),
                         "a size from 1 on; what may be 0 stands in strides, (m,n):(n+" + s.name + ",1)");
}

// What follows a formula goes down into it: deeper, a formula ends the stack.
void check_depth(const char* operation, Expr e, const std::string& line) {
  constexpr int deepest = 1000;
  std::vector<int> depth(static_cast<std::size_t>(e.id) + 1, 1); // arguments are made before what takes them
  for (int id = 0; id <= e.id; ++id)
    for (const int a : e.arena->node(id).args)
      depth[static_cast<std::size_t>(id)] =
          std::max(depth[static_cast<std::size_t>(id)], depth[static_cast<std::size_t>(a)] + 1);
  if (depth.back() > deepest)
    throw CodegenError(std::string(operation) + ": a formula " + std::to_string(depth.back()) +
                           " levels deep, of at most " + std::to_string(deepest),
                       line, "several maps, each of what the one before it gives");
}

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
} // namespace

Program::Program(std::string name, const Target& target, int threads, std::source_location where)
    : name_(std::move(name)), target_(&target), threads_(threads), where_(where) {
  check_name("kernel", name_);
  if (threads < 1 || threads > target.max_workgroup_size || threads % target.wave_size != 0)
    throw CodegenError("workgroup size out of range", "size   " + std::to_string(threads),
                       "a multiple of " + std::to_string(target.wave_size) + " up to " +
                           std::to_string(target.max_workgroup_size) + " on " + std::string(target.name));
}

// ------------------------------------------------------------------------------------- sizes, grid, tensors

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
  const Sym symbol = symbols_->symbol(name, {whole(facts.least + facts.multiple - 1), whole(facts.most)});
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
  if (!tickets_.empty() || !turns_.empty() || !devices_.flags.empty())
    throw CodegenError("grid axis " + std::to_string(axis) +
                           " is declared after a ticket, a turn or a meeting",
                       tensor(!tickets_.empty() ? tickets_[0].tensor
                              : !turns_.empty() ? turns_[0].tensor
                                                : devices_.flags[0])
                           .name,
                       "the whole grid first");
  const Sym symbol = symbols_->symbol("wg_" + std::string(1, "xyz"[axis]), tile_numbers(extent, tile));
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
  const Sym number = symbols_->symbol("_share_of", {Int(0), Int(Shares::most_steps)}); // Shares::number
  tile_map_ = codegen::tile_map(tile_map_ ? tile_map_->order : TileOrder(), *symbols_, tiles_x, tiles_y,
                                x.symbol, y.symbol, number);
  shares_ = codegen::shares(workers, *symbols_, tile_map_->tiles, extent, tile);
  return {shares_->begin, shares_->count};
}

void Program::persistent(int workers) {
  if (grid_.size() == 1 && grid_[0].axis < 2) (void)workgroups(1 - grid_[0].axis, Sym(1), 1);
  (void)share(workers, Sym(1), 1);
}

Sym Program::value(const Tensor& table, Sym at) {
  if (table.element != Element::i32 || table.shape.size() != 1 || table.space != Space::global ||
      table.output)
    throw CodegenError("value: " + table.name + " is no input of i32 with one axis");
  for (const Entry& v : values_)
    if (v.tensor == table.id && v.at == at) return v.symbol;
  const Sym symbol = symbols_->symbol("_value" + std::to_string(values_.size()) + "_" + table.name,
                                      {Int(0), Int(INT32_MAX)});
  values_.push_back({symbol, table.id, at});
  return symbol;
}

Sym Program::uniform(const Tensor& table, Sym at, std::source_location where) {
  if (table.element != Element::i32 || table.shape.size() != 1 || table.space != Space::global)
    throw CodegenError("uniform: " + table.name + " is not a table of i32 with one axis");
  if (table.output)
    throw CodegenError("uniform: " + table.name +
                       " is an output: what it holds is not there before the launch");
  if (table.device >= 0)
    throw CodegenError(
        "uniform: " + table.name +
            " is in the memory of a peer, and a number of the workgroup is read before devices meet",
        "line   " + std::to_string(where.line()), "a table of this device's own");
  for (const AtomId atom : inlay::symbols(at))
    if (std::find(trips_.begin(), trips_.end(), atom) != trips_.end())
      throw CodegenError("uniform: " + Words(*this)(to_string(at)) +
                             " moves with a loop, and a number of the workgroup is read once",
                         "table  " + table.name + ", line " + std::to_string(where.line()),
                         "in the loop k.load(k.tile(" + table.name + ", {1}, {" +
                             Words(*this)(to_string(at)) +
                             "}), tv without its axes, 1), and a view through what that gives");
  const Sym symbol =
      // The low line: "_t0" and "_at0" are a loop's and a position's, whatever a table is called.
      symbols_->symbol("_" + table.name + "_" + std::to_string(uniforms_.size()), {Int(0), Int(INT32_MAX)});
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
  if (table.element != Element::i32 || table.space != Space::global || table.output)
    refuse(table.name + " is no table of pages", to_string(table.element),
           "an input of i32, [sequences, pages of a sequence]");
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
               "extents of at least 1, steps of at least 0");
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
  devices_.rank = symbols_->symbol("rank", {Int(0), Int(count - 1)});
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

// ------------------------------------------------------------------------------------------- the specification

Expr Program::operator()(const Tensor& tensor, std::initializer_list<Index> index) {
  if (index.size() != tensor.shape.size())
    throw CodegenError("specification: " + tensor.name + " has " + std::to_string(tensor.shape.size()) +
                       " axes and is read with " + std::to_string(index.size()) + " indices");
  std::vector<Sym> at;
  std::vector<int> through;
  for (const Index& i : index) at.push_back(i.at), through.push_back(i.through);
  return expressions_->load(tensor.id, std::move(at), std::move(through));
}

Sym Program::entry(const Tensor& table, const std::vector<Sym>& at) {
  if (at.size() != table.shape.size() || table.element != Element::i32 || table.space != Space::global)
    throw CodegenError("specification: " + table.name + " is no table of i32 with " +
                           std::to_string(at.size()) + (at.size() == 1 ? " axis" : " axes"),
                       "it has " + std::to_string(table.shape.size()) + " of " + to_string(table.element),
                       "at(" + table.name + ", ...) with a number for each axis");
  Sym number = at[0];
  for (std::size_t axis = 1; axis < at.size(); ++axis) number = number * table.shape[axis] + at[axis];
  return number;
}

namespace {
bool is_short(Element e) { return e == Element::f32 || e == Element::f16 || e == Element::bf16; }
// What an integer is made of is exact: `holds(operand, whole)` says whether it is a whole number, or one that was not rounded.
void check_integers(const std::string& operation, Expr e,
                    const std::function<bool(const ExprNode&, bool whole)>& holds) {
  (void)e.arena->rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::word && !holds(e.arena->node(n.args[0]), true))
      throw CodegenError(
          operation + ": integer(x) is of an operand of i32, of one of i8 as an input has it, or of an index",
          "", "truncated(x) of other numbers");
    if (n.fn == Fn::float_bits && !holds(e.arena->node(n.args[0]), false))
      throw CodegenError(operation + ": float_bits(x) is of f32, f16 or bf16 as an input has it: what is "
                                     "computed is rounded otherwise",
                         "", "the fragment that `load` gives from an input");
    return std::nullopt;
  });
}
} // namespace

Expr Program::in_memory(Expr e) const {
  return expressions_->rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn == Fn::load && tensor(n.tensor).space == Space::window) {
      const Tensor& w = tensor(n.tensor);
      const std::vector<Sym> at = w.seen(n.index);
      Expr x = expressions_->load(w.of, at, {});
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (!w.leaves(axis)) continue;
        x = inside(at[axis], w.of_shape[axis], x, 0);
        x = inside(Sym(0) - at[axis], Sym(1), x, 0); // not negative
      }
      return x;
    }
    if (n.fn != Fn::load || tensor(n.tensor).space != Space::paged) return std::nullopt;
    const Tensor &table = tensor(tensor(n.tensor).table), &cache = tensor(tensor(n.tensor).cache);
    const auto axes = static_cast<std::ptrdiff_t>(table.shape.size());
    std::vector<Sym> entry_at(n.index.begin(), n.index.begin() + axes);
    const Sym position = entry_at.back();
    entry_at.back() = floor_div(position, cache.shape[1]);
    std::vector<Sym> at{entry(table, entry_at), floor_mod(position, cache.shape[1])};
    at.insert(at.end(), n.index.begin() + axes, n.index.end());
    std::vector<int> through(at.size(), -1);
    through[0] = table.id;
    return expressions_->load(cache.id, std::move(at), std::move(through));
  });
}

Expr Program::fold(Monoid monoid, Sym extent, const std::function<Expr(Sym)>& body) {
  refuse_empty(sizes_, extent, "fold");
  const Sym k = symbols_->symbol("_fold" + std::to_string(loops_++), {Int(0), std::nullopt});
  return expressions_->fold(monoid, k, extent, body(k));
}

Expr Program::sum(Sym extent, Sym begin, Sym end, const std::function<Expr(Sym)>& body) {
  for (const Sym& s : {extent, begin, end}) refuse_empty(sizes_, s, "sum");
  const Sym k = symbols_->symbol("_fold" + std::to_string(loops_++), {Int(0), std::nullopt});
  const std::pair<Sym, Sym> part[] = {{begin, end}};
  return expressions_->partial_fold(Monoid::sum, k, extent, part, body(k));
}

void Program::computes(const Tensor& tensor, const std::function<Expr(const std::vector<Sym>&)>& body) {
  if (specification(tensor))
    throw CodegenError("computes: it is said already what " + tensor.name + " is", "",
                       "one formula, k.computes, k.scatters or k.puts, for each output");
  Specification s;
  s.tensor = tensor.id;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    s.coordinate.push_back(symbols_->symbol(tensor.name + "_" + std::to_string(i), {Int(0), std::nullopt}));
  s.value = body(s.coordinate);
  if (s.value.arena != expressions_.get())
    throw CodegenError(
        "computes: " + tensor.name +
            (s.value.arena ? " is said by another program's formula" : " is said by no formula"),
        "", "a formula of its coordinates, of this program's tensors");
  check_depth("computes", s.value, "output " + tensor.name);
  if (is_integer(s.value)) {
    if (tensor.element != Element::i32)
      throw CodegenError("computes: an integer, and " + tensor.name + " is " + to_string(tensor.element), "",
                         "an output of i32, or to_number(w)");
    s.value = to_number(s.value);
  }
  check_integers("computes", s.value, [&](const ExprNode& n, bool whole) {
    if (n.fn == Fn::number) return whole;
    if (n.fn != Fn::load) return false;
    const Element e = this->tensor(n.tensor).element;
    return whole ? e == Element::i32 || e == Element::i8 : is_short(e);
  });
  specifications_.push_back(std::move(s));
}

namespace {
// Who names rows: what the table holds is there before the launch, and nobody changes it.
void check_names(const std::string& operation, const Tensor& table) {
  if (table.element != Element::i32 || table.shape.size() != 1 || table.space != Space::global)
    throw CodegenError(operation + ": rows are named by a table of i32 with one axis",
                       "given  " + table.name + " " + to_string(table.element) + " with " +
                           std::to_string(table.shape.size()) + " axes");
  if (table.output)
    throw CodegenError(operation + ": " + table.name + " is an output, and what names rows is not written",
                       "", "k.input(\"" + table.name + "\", Element::i32, ..)");
}
} // namespace

void Program::scatters(const Tensor& tensor, const Tensor& table,
                       const std::function<Expr(const std::vector<Sym>&)>& body) {
  check_names("scatters", table);
  computes(tensor, body);
  specifications_.back().table = table.id;
}

void Program::puts(const Tensor& tensor, const Tensor& table,
                   const std::function<Expr(const std::vector<Sym>&)>& body) {
  check_names("puts", table);
  if (!tensor.in_place)
    throw CodegenError("puts: " + tensor.name +
                           " is no inout, and a row of it that no entry names keeps what it held",
                       "", "k.inout(\"" + tensor.name + "\", ..)");
  computes(tensor, body);
  specifications_.back().table = table.id;
  specifications_.back().replaces = true;
}

const Program::Specification* Program::specification(const Tensor& tensor) const {
  for (const Specification& s : specifications_)
    if (s.tensor == tensor.id) return &s;
  return nullptr;
}

std::vector<Sym> Program::shape(const Specification& specification) const {
  std::vector<Sym> out = tensor(specification.tensor).shape;
  if (specification.table >= 0) out[0] = tensor(specification.table).shape[0];
  return out;
}

// ---------------------------------------------------------------------------------------------------- operations

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

namespace {
// Fragments and tensors are numbers of one program; those of another one would be taken for some of this one's.
void check_own(const std::vector<Fragment>& all, const Fragment& f, const char* operation,
               const std::source_location& where) {
  const auto n = static_cast<std::size_t>(f.id);
  if (f.id >= 0 && n < all.size() && all[n].element == f.element && all[n].tv == f.tv) return;
  throw CodegenError(std::string(operation) + ": its fragment is not one of this program's",
                     "line   " + std::to_string(where.line()), "what k.load, k.map or k.zeros of it gave");
}
void check_own(const std::vector<Tensor>& all, const Tensor& t, const char* operation) {
  const auto n = static_cast<std::size_t>(t.id);
  if (t.id >= 0 && n < all.size() && all[n].name == t.name && all[n].element == t.element) return;
  throw CodegenError(std::string(operation) + ": the tensor '" + t.name + "' is not one of this program's",
                     "", "what k.input, k.output or k.lds of it gave");
}
} // namespace

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
void check_vector(const Layout& tv, int vector, const char* what) {
  const auto values = tv.mode(1).size().value();
  if (vector < 1 || values % vector != 0)
    throw CodegenError(std::string(what) + ": the vectors do not divide a thread's values",
                       "tv     " + to_string(tv) + ", vectors of " + std::to_string(vector));
}
} // namespace

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
} // namespace

void Program::copy(const View& from, const Tensor& to, const Layout& tv, int vector, Where where) {
  check_vector(tv, vector, "copy");
  check_moved("copy", tensor_name(from.tensor), tensor(from.tensor).element, to, where);
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
  if (const Tensor& t = tensor(from.tensor); t.space == Space::paged)
    throw CodegenError("transfer: " + t.name + " is paged, and its rows lie anywhere",
                       "line   " + std::to_string(where.line()), "copy, through registers");
  const int bytes = vector * bits(to.element) / 8;
  const auto& widths = target_->lds_dma_bytes;
  if (std::find(widths.begin(), widths.end(), bytes) == widths.end())
    throw CodegenError("transfer: no instruction moves that many bytes a lane to LDS",
                       std::to_string(bytes) + " bytes on " + std::string(target_->name),
                       "4 bytes, 16 on " + machine::moving_to_lds(16).names() +
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

namespace {
// Arithmetic is f32: what is read becomes that, and a result is rounded from it. A copy of the same element is neither.
void check_elements(const char* operation, const Target& target, const std::vector<Element>& from, Element to,
                    const std::source_location& where) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw CodegenError(std::string(operation) + ": " + what, "line   " + std::to_string(where.line()), hint);
  };
  const auto among = [](Element e, std::initializer_list<Element> those) {
    return std::find(those.begin(), those.end(), e) != those.end();
  };
  const std::string of_target = float8_names(target);
  for (const Element e : from)
    if (!among(e, {Element::f32, Element::f16, Element::bf16, Element::i32, Element::i8}) &&
        !is_float8(target, e))
      refuse("no conversion of " + to_string(e) + " to f32, in which it computes",
             "operands of f32, f16, bf16, i32, i8, " + of_target);
  if (!among(to, {Element::f32, Element::f16, Element::bf16, Element::i8}) && !is_float8(target, to))
    refuse("no conversion of f32, in which it computes, to " + to_string(to),
           "f32, f16, bf16, i8, " + of_target +
               (to == Element::i32 ? "; i32 of integers: truncated(x), truncated(nearest(x))" : ""));
}

std::string as_text(double value) {
  Expressions x;
  return to_string(x.constant(value), [](int) { return std::string(); });
}
// As few digits as read back the same number.
std::string digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
// Every number is one that f32 has: 1e300 would be infinite, and 1e-300 would be 0.
void check_constant(const char* operation, double value, const std::source_location& where) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(value) || (std::isfinite(value) && (!std::isfinite(narrow) || (value != 0 && narrow == 0))))
    throw CodegenError(std::string(operation) + ": " + as_text(value) +
                           " is no number of f32, in which it computes",
                       "line   " + std::to_string(where.line()),
                       "what has been multiplied out, between 1.5e-45 and 3.4e38, or INFINITY");
}
// Also on the way no number that is made of constants alone passes what f32 holds.
void check_constants(const char* operation, Expr map, const std::source_location& where) {
  constexpr double least = std::numeric_limits<float>::min();
  std::unordered_map<int, std::optional<double>> known;
  const auto value_of = [&](auto&& self, Expr e) -> std::optional<double> {
    if (const auto at = known.find(e.id); at != known.end()) return at->second;
    const ExprNode n = e.node();
    if (n.fn == Fn::constant || n.fn == Fn::inside) check_constant(operation, n.value, where);
    const auto refuse = [&](const std::string& what) {
      throw CodegenError(std::string(operation) + ": " + what, "line   " + std::to_string(where.line()),
                         "what has been multiplied out, between 1.2e-38 and 3.4e38");
    };
    std::vector<double> x;
    for (const int a : n.args)
      if (const auto v = self(self, Expr{e.arena, a}); v && std::isfinite(*v)) x.push_back(*v);
    const auto last = n.args.empty() ? std::nullopt : known.at(n.args.back());
    // 1 / x, log(x), 1 / sqrt(x) of a number that hardware may take for 0.
    const bool takes = n.fn == Fn::div || n.fn == Fn::power || n.fn == Fn::log || n.fn == Fn::log2;
    if (takes && last && *last != 0 && std::abs(*last) < least)
      refuse(to_string(e, [](int) { return std::string("x"); }) + " takes " + as_text(*last) +
             ", which f32 may flush to 0");
    std::optional<double> out;
    if (n.fn == Fn::constant) out = n.value;
    const bool folds = takes || n.fn == Fn::add || n.fn == Fn::mul || n.fn == Fn::sub || n.fn == Fn::exp ||
                       n.fn == Fn::exp2 || n.fn == Fn::max || n.fn == Fn::min;
    if (folds && x.size() == n.args.size()) {
      out = function_value(n, x);
      const bool nowhere = takes && !std::isfinite(*out); // log(0): a claim says so
      const double size = std::abs(*out);
      if (!nowhere && (!std::isfinite(static_cast<float>(*out)) || (size != 0 && size < least)))
        refuse(to_string(e, [](int) { return std::string("x"); }) + " is " + as_text(*out) +
               ", which f32, in which it computes, does not hold");
    }
    return known[e.id] = out;
  };
  (void)value_of(value_of, map);
}

// Literals that a map may come to are numbers of what it gives.
void check_literals(Expr map, Element to, const std::source_location& where) {
  const auto look = [&](auto&& self, Expr e) -> void {
    const ExprNode n = e.node();
    const auto arg = [&](std::size_t i) { self(self, Expr{e.arena, n.args[i]}); };
    if ((n.fn == Fn::constant || n.fn == Fn::inside) && !holds(to, n.value))
      throw CodegenError("map: it may come to " + as_text(n.value) + ", and " + to_string(to) +
                             " has no such number",
                         "line   " + std::to_string(where.line()),
                         "a result of f32, or a number up to " + as_text(largest_finite(to)));
    if (n.fn == Fn::inside) arg(0);
    if (n.fn == Fn::max || n.fn == Fn::min) arg(0), arg(1);
    if (n.fn == Fn::select) arg(2), arg(3);
    if (n.fn == Fn::choose) arg(1), arg(2);
  };
  look(look, map);
}

void check_map(const MapOp& m, const Target& target, const std::vector<Fragment>& fragments, Element to,
               const std::source_location& where) {
  check_constants("map", m.map, where);
  if (to != Element::i32) check_literals(m.map, to, where);
  std::vector<Element> from;
  for (const int f : m.from) from.push_back(fragments[static_cast<std::size_t>(f)].element);
  const bool first = m.map.node().fn == Fn::parameter && m.map.node().tensor == 0;
  const bool alike = std::all_of(from.begin(), from.end(), [&](Element e) { return e == to; });
  if (alike && (first || (to == Element::i32 && adds_operands(m.map)))) return;
  const bool integer = to == Element::i32 && m.map.node().fn == Fn::to_number;
  check_elements("map", target, from, integer ? Element::f32 : to, where);
}
} // namespace

namespace {
// Of `exact`: a fragment, or ~fragment where something was made of its elements' codes. What is i32 stays a whole number.
void takes_codes(Expr map, const std::vector<int>& from, const std::vector<Fragment>& fragments,
                 std::vector<int>& exact) {
  (void)map.arena->rewrite(map, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::float_bits && n.fn != Fn::word) return std::nullopt;
    const ExprNode& x = map.arena->node(n.args[0]);
    if (x.fn != Fn::parameter) return std::nullopt;
    const int f = from[static_cast<std::size_t>(x.tensor)];
    if (fragments[static_cast<std::size_t>(f)].element != Element::i32) exact.push_back(~f);
    return std::nullopt;
  });
}
// A fragment is no longer what its input has; in a loop what was made of its codes is made of them again.
void changes(int fragment, std::vector<int>& exact, const std::source_location& where) {
  if (std::erase(exact, fragment) == 0) return;
  if (std::find(exact.begin(), exact.end(), ~fragment) != exact.end())
    throw CodegenError(
        "r" + std::to_string(fragment) + " is changed, and float_bits or integer took it as its input has it",
        "line   " + std::to_string(where.line()), "map it to another fragment, and change that one");
}
} // namespace

void Program::store(const Fragment& from, const View& to, int vector, Where where) {
  check_own(fragments_, from, "store", where);
  check_vector(from.tv, vector, "store");
  if (const Tensor& t = tensor(to.tensor); t.space == Space::window)
    throw CodegenError("store: " + t.name + " is a window, and is read only",
                       "line   " + std::to_string(where.line()), "an output of its own");
  if (tensor(to.tensor).space == Space::paged)
    throw CodegenError("store: " + tensor(to.tensor).name + " is paged, and is read only",
                       "line   " + std::to_string(where.line()),
                       "an output, or rows of its cache where a table names them: k.puts(..)");
  if (const Tensor& t = tensor(to.tensor); t.space == Space::lds)
    check_moved("store", "r" + std::to_string(from.id), from.element, t, where);
  else if (t.element != from.element)
    check_elements("store", *target_, {from.element}, t.element, where);
  CopyOp c;
  c.from_fragment = from.id;
  c.to = to;
  c.tv = from.tv;
  c.vector = vector;
  append(c, where);
}

void Program::add(const Fragment& from, const View& to, Where where) {
  check_own(fragments_, from, "add", where);
  const Element element = tensor(to.tensor).element;
  if (tensor(to.tensor).space == Space::lds)
    throw CodegenError("add: " + tensor_name(to.tensor) + " is in LDS, and atomics are those of memory",
                       "line   " + std::to_string(where.line()),
                       "k.fold across lanes and waves, or a fragment that k.update adds to");
  const bool pairs = element == Element::f16 || element == Element::bf16;
  if (!pairs && element != Element::f32 && element != Element::i32)
    throw CodegenError("add: " + tensor_name(to.tensor) + " is " + to_string(element) +
                           ", which no atomic adds",
                       "line   " + std::to_string(where.line()), "f32, i32, f16 or bf16");
  if (element != from.element) check_elements("add", *target_, {from.element}, element, where);
  (void)Atom::atomic(*target_, Addressing::descriptor, Combine::add, element, pairs);
  CopyOp c;
  c.vector = pairs ? 2 : 1;
  check_vector(from.tv, c.vector, "add");
  c.from_fragment = from.id;
  c.to = to;
  c.tv = from.tv;
  c.combine = Monoid::sum;
  append(c, where);
}

Fragment Program::zeros(Element element, const Layout& tv, std::vector<int> extents, Where where) {
  const Fragment f = fragment(element, of_role(tv, where), std::move(extents));
  append(FillOp{f.id, 0}, where);
  return f;
}

Fragment Program::full(double value, const Layout& tv, std::vector<int> extents, Where where) {
  check_constant("full", value, where);
  const Fragment f = fragment(Element::f32, of_role(tv, where), std::move(extents));
  append(FillOp{f.id, value}, where);
  return f;
}

namespace {
void check_products(const Fragment& acc, const Fragment& a, const Fragment& b, const MmaTiling& tiling,
                    const std::source_location& where) {
  const Mma& mma = tiling.mma();
  for (const auto& [what, of, wanted] :
       {std::tuple("A", &a, mma.a_element), std::tuple("B", &b, mma.b_element),
        std::tuple("the accumulator", &acc, mma.c_element)})
    if (of->element != wanted)
      throw CodegenError("mma: " + std::string(what) + " holds " + to_string(of->element) + ", and " +
                             tiling.atom->name + " takes " + to_string(wanted),
                         "line   " + std::to_string(where.line()),
                         "an instruction for " + to_string(of->element) + ", or k.map(.., " +
                             to_string(wanted) + ")");
}
} // namespace

void Program::mma(const Fragment& acc, const Fragment& a, const Fragment& b, const MmaTiling& mma,
                  Where where) {
  if (mma.mma().scaled)
    throw CodegenError("mma: " + mma.atom->name + " multiplies by scales, and there are none",
                       "line   " + std::to_string(where.line()),
                       "mma(acc, a, a_scales, b, b_scales, tiling)");
  for (const Fragment* f : {&acc, &a, &b}) check_own(fragments_, *f, "mma", where);
  check_products(acc, a, b, mma, where);
  changes(acc.id, exact_, where);
  append(MmaOp{acc.id, a.id, b.id, mma}, where);
}

void Program::mma(const Fragment& acc, const Fragment& a, const Fragment& a_scales, const Fragment& b,
                  const Fragment& b_scales, const MmaTiling& mma, Where where) {
  if (!mma.mma().scaled || a_scales.element != Element::e8m0 || b_scales.element != Element::e8m0)
    throw CodegenError("mma: scales are e8m0, of an instruction that takes some",
                       mma.atom->name + ", " + to_string(a_scales.element) + " and " +
                           to_string(b_scales.element) + ", line " + std::to_string(where.line()));
  for (const Fragment* f : {&acc, &a, &a_scales, &b, &b_scales}) check_own(fragments_, *f, "mma", where);
  check_products(acc, a, b, mma, where);
  changes(acc.id, exact_, where);
  append(MmaOp{acc.id, a.id, b.id, mma, a_scales.id, b_scales.id}, where);
}

namespace {
const Fragment& widest(const std::vector<Fragment>& from) {
  if (from.empty()) throw CodegenError("map: no operands");
  return *std::max_element(from.begin(), from.end(),
                           [](const auto& a, const auto& b) { return a.values() < b.values(); });
}
} // namespace

Expr Program::checked(Expr map, const std::vector<int>& from, Element to, const Where& where) const {
  const std::string line = "line   " + std::to_string(where.line());
  if (map.arena != expressions_.get())
    throw CodegenError(map.arena ? "map: its expression is another program's" : "map: it gives no expression",
                       line, "a formula of its operands, as `return v[0] + v[1];`");
  check_depth("map", map, line);
  if (is_integer(map)) {
    if (to != Element::i32)
      throw CodegenError("map: the result is an integer, and " + to_string(to) + " is asked for", line,
                         "Element::i32, or to_number(w)");
    map = to_number(map);
  }
  try {
    check_integers("map", map, [&](const ExprNode& n, bool whole) {
      if (n.fn == Fn::number) return whole;
      if (n.fn != Fn::parameter) return false;
      const int f = from[static_cast<std::size_t>(n.tensor)];
      const Element e = fragment(f).element;
      const bool exact = std::find(exact_.begin(), exact_.end(), f) != exact_.end();
      return whole ? e == Element::i32 || (e == Element::i8 && exact) : is_short(e) && exact;
    });
  } catch (const CodegenError& e) {
    throw CodegenError(e.what(), line);
  }
  return map;
}

Fragment Program::map(const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, Element element,
                      Where where) {
  return map(widest(from).tv, from, body, element, where);
}

Fragment Program::map(const Layout& tv, const std::vector<Fragment>& from,
                      const std::function<Expr(const std::vector<Expr>&)>& body, Element element,
                      Where where) {
  std::vector<Expr> parameters;
  MapOp m;
  for (std::size_t i = 0; i < from.size(); ++i) {
    check_own(fragments_, from[i], "map", where);
    parameters.push_back(expressions_->parameter(static_cast<int>(i)));
    m.from.push_back(from[i].id);
  }
  m.map = checked(body(parameters), m.from, element, where);
  check_map(m, *target_, fragments_, element, where);
  takes_codes(m.map, m.from, fragments_, exact_);
  const Fragment f = fragment(element, of_role(tv, where), widest(from).extents);
  m.to = f.id;
  append(m, where);
  return f;
}

void Program::update(const Fragment& to, const std::vector<Fragment>& from,
                     const std::function<Expr(const std::vector<Expr>&)>& body, Where where) {
  MapOp m;
  check_own(fragments_, to, "update", where);
  m.to = to.id;
  m.from.push_back(to.id);
  for (const Fragment& f : from) check_own(fragments_, f, "update", where), m.from.push_back(f.id);
  std::vector<Expr> parameters;
  for (std::size_t i = 0; i < m.from.size(); ++i)
    parameters.push_back(expressions_->parameter(static_cast<int>(i)));
  m.map = checked(body(parameters), m.from, to.element, where);
  check_map(m, *target_, fragments_, to.element, where);
  takes_codes(m.map, m.from, fragments_, exact_);
  changes(to.id, exact_, where);
  append(m, where);
}

Fragment Program::relayout(const Fragment& from, const Layout& wanted, Element element, Nan nan,
                           Where where) {
  check_own(fragments_, from, "relayout", where);
  const Layout tv = of_role(wanted, where);
  const Fragment to = fragment(element, tv, from.extents);
  bool here = true; // each thread has the elements that it wants
  const std::size_t axes = from.extents.size();
  std::vector<std::vector<int>> has, wants;
  for (std::size_t axis = 0; axis < axes; ++axis)
    has.push_back(coordinates(from.tv, axis)), wants.push_back(coordinates(tv, axis));
  for (int t = 0; t < threads_ && here; ++t) {
    std::set<std::vector<int>> mine;
    const auto at = [&](const std::vector<std::vector<int>>& of, int values, int v) {
      std::vector<int> c;
      for (const std::vector<int>& column : of) c.push_back(column[static_cast<std::size_t>(t * values + v)]);
      return c;
    };
    for (int v = 0; v < from.values(); ++v) mine.insert(at(has, from.values(), v));
    for (int v = 0; v < to.values() && here; ++v) here = mine.contains(at(wants, to.values(), v));
  }
  if (here) {
    const MapOp m{to.id, {from.id}, expressions_->parameter(0), nan};
    check_map(m, *target_, fragments_, element, where);
    append(m, where);
    return to;
  }
  // Lanes exchange words: what is narrower moves in its own type, what is wider is rounded after.
  if (auto exchanged = lane_exchanges(from, to, *target_)) {
    exchanged->nan = nan;
    check_map({to.id, {from.id}, expressions_->parameter(0), nan}, *target_, fragments_, element, where);
    append(*std::move(exchanged), where);
    return to;
  }
  // Through LDS, in the type that is wanted: fewer bytes, and the write rounds.
  Fragment rounded = from;
  if (from.element != element)
    rounded = map(
        {from}, [](const std::vector<Expr>& x) { return x[0]; }, element, where);
  const auto place =
      axes <= 2 && bits(element) <= 32
          ? place_without_conflicts(
                bits(element), from.extents[0], axes == 2 ? from.extents[1] : 1, rounded.tv, tv,
                static_cast<int>(
                    machine::lds_service(machine::find_target(target_->name)->arch, false, 4).banks))
          : std::nullopt;
  const Tensor tile = lds("relayout" + std::to_string(to.id), element, from.extents,
                          place ? place->first : Swizzle(), place ? place->second : 0);
  store(rounded, whole(tile), 1, where);
  CopyOp c;
  c.from = whole(tile);
  c.to_fragment = to.id;
  c.tv = tv;
  append(c, where);
  return to;
}

Sym Program::position(int axis) const {
  return symbols_->symbol(position_name(axis), {Int(0), std::nullopt});
}

void Program::check(const std::vector<Fragment>& from,
                    const std::function<Expr(const std::vector<Expr>&)>& body, const std::string& text,
                    Where where) {
  const Fragment holds = map(
      from,
      [&](const std::vector<Expr>& x) {
        const Expr e = body(x);
        return is_integer(e) ? e : truncated(e);
      },
      Element::i32, where);
  append(CheckOp{holds.id, static_cast<int>(assertions_.size())}, where);
  assertions_.push_back({text, where});
}

void Program::print(const std::string& text, const std::vector<Fragment>& from,
                    const std::function<std::vector<Expr>(const std::vector<Expr>&)>& values,
                    const std::function<Expr(const std::vector<Expr>&)>& when, Where where) {
  std::size_t places = 0;
  for (std::size_t at = 0; (at = text.find("{}", at)) != text.npos; at += 2) ++places;
  const std::string line = "\nline   " + std::to_string(where.line());
  if (std::any_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~' || c == '\\'; }))
    throw CodegenError("print: its text is a line of ASCII without a backslash", "text   " + text + line,
                       "a line's end is added");
  if (from.empty())
    throw CodegenError("print: of no fragment", "text   " + text + line,
                       "k.print(\"tile {}\", {bm}) of numbers");
  // The condition is a map, and so is each value that is no element as it is.
  const auto element_of = [&](Expr e) {
    const ExprNode& n = e.node();
    return n.fn == Fn::parameter ? &from[static_cast<std::size_t>(n.tensor)] : nullptr;
  };
  const auto as_integer = [&](Expr e) {
    const Fragment* const f = element_of(e);
    return is_integer(e) ? e : f && f->element == Element::i32 ? codegen::integer(e) : truncated(e);
  };
  std::vector<Expr> shown;
  for (std::size_t i = 0; i < from.size(); ++i) shown.push_back(expressions_->parameter(static_cast<int>(i)));
  if (values) shown = values(shown);
  if (shown.size() != places || places > 16)
    throw CodegenError("print: a value for each {}, at most 16",
                       "text   " + text + "\nvalues " + std::to_string(shown.size()) + " for " +
                           std::to_string(places) + " {}" + line,
                       "k.print(\"x is {}\", {x})");
  PrintOp op;
  op.line = static_cast<int>(prints_.size());
  if (when || shown.empty())
    op.when =
        map(
            from,
            [&](const std::vector<Expr>& x) { return when ? as_integer(when(x)) : expressions_->integer(1); },
            Element::i32, where)
            .id;
  for (const Expr& e : shown) {
    const Fragment* const f = element_of(e);
    const bool as_it_is =
        f && f->tv == from[0].tv && (f->element == Element::i32 || f->element == Element::f32);
    op.values.push_back(as_it_is ? f->id
                                 : map(
                                       from, [&](const std::vector<Expr>&) { return e; },
                                       is_integer(e) ? Element::i32 : Element::f32, where)
                                       .id);
  }
  append(std::move(op), where);
  prints_.push_back({text, where});
}

void Program::print(const std::string& text, const std::vector<Sym>& values, Where where) {
  // One element, which all threads hold: the first of them prints it.
  const int threads = role_.all() ? threads_ : role_.count * target_->wave_size;
  const Fragment one = full(0, thread_value({{threads, 0, -1}}, {{1, 0, -1}}), {1}, where);
  print(
      text, {one},
      [&](const std::vector<Expr>&) {
        std::vector<Expr> out;
        for (const Sym& s : values) out.push_back(codegen::integer(expressions_->number(s)));
        return out;
      },
      {}, where);
}

Fragment Program::fill(const Fragment& from, int axis, Sym origin, Sym bound, double beyond, Where where) {
  if (from.element == Element::i32)
    throw CodegenError("fill: its fragment holds i32, and what it fills in is a number of f32",
                       "line   " + std::to_string(where.line()),
                       "k.map with choose(less_unsigned(.., ..), integer(x), ..), which gives an i32");
  if (rounded(from.element, beyond) != beyond)
    throw CodegenError("fill: " + as_text(beyond) + " is no number of " + to_string(from.element) +
                           ", which its fragment holds",
                       "line   " + std::to_string(where.line()),
                       "the nearest that it has is " + digits(rounded(from.element, beyond)) +
                           (from.element == Element::f32 ? "" : "; a k.map before it gives f32"));
  return map(
      {from},
      [&](const std::vector<Expr>& x) { return inside(origin + position(axis), bound, x[0], beyond); },
      from.element, where);
}

Fragment Program::fold(Monoid monoid, const Fragment& from, int axis, Where where) {
  check_own(fragments_, from, "fold", where);
  if (axis < 0 || static_cast<std::size_t>(axis) >= from.extents.size())
    throw CodegenError("fold: the tile has no axis " + std::to_string(axis));
  // The result keeps every mode of the threads and, of the values, those that do not move along the axis.
  std::vector<int> extents = from.extents;
  extents[static_cast<std::size_t>(axis)] = 1;
  const Fragment f = fragment(Element::f32, without_axis(from.tv, static_cast<std::size_t>(axis)), extents);

  // Waves that differ only along the axis exchange their parts through LDS: one word a wave and value.
  FoldOp op{f.id, from.id, monoid, axis, -1};
  const std::vector<int> column = coordinates(from.tv, static_cast<std::size_t>(axis));
  const int waves = threads_ / target_->wave_size, values = from.values();
  bool crosses = false;
  for (int w = 1; w < waves; ++w)
    crosses = crosses || column[static_cast<std::size_t>(w * target_->wave_size * values)] != column[0];
  if (crosses && !role_.all())
    throw CodegenError("roles: a fold over several waves inside of a role is not generated",
                       "role   " + role_name_ + ", line " + std::to_string(where.line()),
                       "rows inside of one wave each");
  if (crosses) {
    const Tensor parts = lds("fold" + std::to_string(f.id), Element::f32, {f.values(), waves});
    op.exchange = parts.id;
  }
  append(op, where);
  return f;
}

namespace {
// No operations but roles that have none.
bool idle(const std::vector<Op>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const Op& op) {
    const auto* roles = std::get_if<RolesOp>(&op.what);
    return roles != nullptr && std::all_of(roles->roles.begin(), roles->roles.end(),
                                           [](const RolesOp::Role& r) { return r.body.empty(); });
  });
}
} // namespace

void Program::loop(Sym extent, int tile, Pipeline pipeline, const std::function<void(Sym)>& body,
                   Where where) {
  if (tile < 1) throw CodegenError("loop: a tile of " + std::to_string(tile));
  refuse_empty(sizes_, extent, "loop");
  if (!role_.all())
    throw CodegenError("roles: a loop inside of a role is not generated",
                       "role   " + role_name_ + ", line " + std::to_string(where.line()),
                       "the roles inside of the loop");
  if (pipeline.ring < 1 || pipeline.ring > 8 || pipeline.distance < 0 || pipeline.distance > 8)
    throw CodegenError("loop: a pipeline of distance " + std::to_string(pipeline.distance) + " over " +
                           std::to_string(pipeline.ring) + " stages",
                       "", "distance 0 to 8, ring 1 to 8");
  LoopOp l;
  l.t = symbols_->symbol("_t" + std::to_string(loops_++), tile_numbers(extent, tile));
  trips_.push_back(*l.t.as_atom());
  l.extent = extent;
  l.tile = tile;
  l.pipeline = pipeline;
  std::vector<Op> ops;
  open_.push_back(&ops);
  ++loops_open_;
  body(l.t);
  --loops_open_;
  open_.pop_back();
  if (idle(ops))
    throw CodegenError("loop: it does nothing",
                       "over   " + to_string(extent) + ", line " + std::to_string(where.line()));
  l.body = std::move(ops);
  append(std::move(l), where);
}

void Program::loop(Sym begin, Sym end, int tile, Pipeline pipeline, const std::function<void(Sym)>& body,
                   Where where) {
  if (begin == Sym(0)) return loop(end, tile, pipeline, body, where);
  // Where it is known to be 0 or more, it is written so that no part of an address is negative.
  const auto from = [&](Sym at, bool positive) {
    const Sym first = floor_div(at, Sym(tile));
    if (!(Sym(tile) * first == at))
      throw CodegenError("loop: it begins inside of a tile",
                         "begin  " + to_string(at) + ", tiles of " + std::to_string(tile) + ", line " +
                             std::to_string(where.line()),
                         "a number of whole tiles");
    const auto two = least_of(end);
    loop(
        two ? min(two->first - at, two->second - at) : end - at, tile, pipeline,
        [&](Sym t) { body(t + (positive ? max(Sym(0), first) : first)); }, where);
  };
  const auto atom = begin.as_atom();
  if (!atom || symbols_->atom(*atom).kind != AtomKind::max) return from(begin, false);
  // max(0, x) is x where it is more.
  const auto& two = symbols_->atom(*atom).operands;
  const Sym x = two[two[0] == Sym(0) ? 1 : 0];
  if (!(two[0] == Sym(0) || two[1] == Sym(0)))
    throw CodegenError("loop: it begins at the greater of two",
                       "begin  " + to_string(begin) + ", line " + std::to_string(where.line()),
                       "max(0, a number of whole tiles)");
  if_less(
      Sym(0), x, [&] { from(x, true); }, [&] { loop(end, tile, pipeline, body, where); }, where);
}

const GridAxis& Program::axis(int number) const {
  return *std::find_if(grid_.begin(), grid_.end(), [&](const GridAxis& g) { return g.axis == number; });
}
Sym Program::count(int axis) const {
  const GridAxis& g = this->axis(axis);
  return ceil_div(g.extent, Sym(g.tile));
}

std::pair<int, int> Program::counters(const std::string& what, const std::string& name, Sym number,
                                      const std::string& why, const Where& where) {
  const auto refuse = [&](const std::string& error, const std::string& hint) {
    throw CodegenError(what + ": " + error, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", why);
  if (shares_)
    refuse("workgroups have shares of tiles, and no grid axis counts these", "parts that are added");
  const auto of =
      std::find_if(grid_.begin(), grid_.end(), [&](const GridAxis& g) { return g.symbol == number; });
  if (of == grid_.end())
    refuse("no grid axis counts " + Words(*this)(to_string(number)), "what k.workgroups gave");
  const int along = of->axis;
  std::vector<Sym> groups;
  for (const GridAxis& g : grid_)
    if (g.axis != along) groups.push_back(count(g.axis));
  if (groups.empty()) groups.push_back(Sym(1));
  return {along, output(name, Element::i32, groups).id};
}

Sym Program::ticket(const std::string& name, Sym number, Where where) {
  const auto [axis, tensor] = counters("ticket", name, number, "every workgroup draws once", where);
  const GridAxis& of = this->axis(axis);
  const int id = static_cast<int>(tickets_.size());
  Ticket t;
  t.tensor = tensor;
  t.exchange = lds("ticket" + std::to_string(id), Element::i32, {1}).id;
  t.axis = axis;
  t.symbol = symbols_->symbol("_" + name + std::to_string(id), tile_numbers(of.extent, of.tile));
  tickets_.push_back(t);
  append(TicketOp{id}, where);
  return t.symbol;
}

void Program::await(const std::string& name, Sym number, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("await: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (std::any_of(turns_.begin(), turns_.end(), [&](const Turn& t) { return tensor(t.tensor).name == name; }))
    refuse("it has waited for this turn", "a workgroup has one turn of a name");
  const auto [axis, id] = counters("await", name, number, "every workgroup waits once", where);
  if (tile_map_ && axis != 2)
    refuse("workgroups begin in another order than that of " + to_string(number),
           "no order_tiles, or an axis that it leaves as it is");
  turns_.push_back({id, axis});
  append(AwaitOp{static_cast<int>(turns_.size()) - 1}, where);
}

void Program::signal(const std::string& name, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("signal: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", "every workgroup signals once");
  const auto of = std::find_if(turns_.begin(), turns_.end(),
                               [&](const Turn& t) { return tensor(t.tensor).name == name; });
  if (of == turns_.end()) refuse("it is not this workgroup's turn", "k.await(\"" + name + "\", ...) before");
  const int turn = static_cast<int>(of - turns_.begin());
  each_op(body_, [&](const Op& op) {
    if (const auto* s = std::get_if<SignalOp>(&op.what); s && s->turn == turn)
      refuse("the turn was passed on", "a workgroup signals once");
  });
  append(SignalOp{turn}, where);
}

void Program::meet(const std::string& name, Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("meet: " + why, name + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0 || branches_open_ > 0 || !role_.all())
    refuse("it stands in a loop, a branch or a role", "all workgroups of all devices meet as often");
  if (devices_.count == 0) refuse("the program runs on one device", "k.devices(4) before");
  if (shares_ || tile_map_)
    refuse("workgroups of one number have shares of tiles, or other tiles", "a workgroup for each tile");
  if (grid_.empty()) refuse("the program has no grid", "k.workgroups before");
  if (!devices_.flags.empty() && devices_.name != name)
    refuse("the devices' flags are '" + devices_.name + "'", "one name for all meetings");
  if (devices_.flags.empty()) {
    devices_.name = name;
    std::vector<Sym> shape;
    for (const GridAxis& g : grid_) shape.push_back(count(g.axis));
    shape.push_back(Sym(devices_.count));
    for (int d = 0; d < devices_.count; ++d) {
      devices_.flags.push_back(global(name + "_" + std::to_string(d), Element::i32, shape, {}, true).id);
      tensors_.back().device = d;
    }
  }
  append(MeetOp{}, where);
}

void Program::if_less(Sym a, Sym b, const std::function<void()>& then, const std::function<void()>& otherwise,
                      Where where) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError(
        "if_less: " + why,
        Words(*this)(to_string(a) + " < " + to_string(b)) + ", line " + std::to_string(where.line()), hint);
  };
  if (loops_open_ > 0) refuse("a branch inside a loop is not generated", "two loops, one after the other");
  if (!role_.all()) refuse("a branch inside of a role is not generated", "the roles inside of the branch");
  for (const Sym& s : {a, b})
    for (const AtomId atom : inlay::symbols(s)) {
      const auto is = [&](const auto& x) { return *x.symbol.as_atom() == atom; };
      if (std::none_of(sizes_.begin(), sizes_.end(), is) && std::none_of(grid_.begin(), grid_.end(), is) &&
          std::none_of(uniforms_.begin(), uniforms_.end(), is) &&
          std::none_of(tickets_.begin(), tickets_.end(), is))
        refuse("a workgroup has no " + Words(*this)(symbols_->atom(atom).name),
               "sizes, numbers of workgroups, uniforms and tickets decide");
    }
  IfOp op{{a, b}, {}, {}};
  for (const auto& [ops, body] : {std::pair(&op.then, &then), std::pair(&op.otherwise, &otherwise)}) {
    if (!*body) continue;
    open_.push_back(ops);
    ++branches_open_;
    (*body)();
    --branches_open_;
    open_.pop_back();
  }
  append(std::move(op), where);
}

void Program::roles(const std::vector<Role>& roles, Where where) {
  const int waves = threads_ / target_->wave_size;
  const auto refuse = [&](const std::string& why, const std::string& what, const std::string& hint) {
    throw CodegenError("roles: " + why, what + ", line " + std::to_string(where.line()), hint);
  };
  if (!role_.all()) refuse("they stand inside of a role", "role   " + role_name_, "one list of roles");
  int sum = 0;
  std::string text;
  for (const Role& r : roles) {
    text += (text.empty() ? "" : " + ") + std::to_string(r.waves);
    if (r.waves < 1) refuse("a role has no waves", r.name + " " + std::to_string(r.waves), "at least 1");
    sum += r.waves;
  }
  if (sum != waves)
    refuse("they are not the waves of the workgroup", text + " of " + std::to_string(waves),
           std::to_string(threads_) + " work-items are " + std::to_string(waves) + " waves");
  RolesOp op;
  int first = 0;
  for (const Role& r : roles) {
    // Then every group of that many waves is like the role, and addresses need not know which one it is.
    if (waves % r.waves != 0 || first % r.waves != 0)
      refuse("the waves of " + r.name + " are not one of equal groups",
             std::to_string(r.waves) + " from wave " + std::to_string(first) + " on, of " +
                 std::to_string(waves),
             "numbers of waves that divide the workgroup's, the larger roles first");
    op.roles.push_back({r.name, {first, r.waves}, {}});
    first += r.waves;
  }
  for (std::size_t n = 0; n < roles.size(); ++n) {
    if (!roles[n].body) continue;
    std::vector<Op> ops;
    open_.push_back(&ops);
    role_ = roles.size() == 1 ? Waves{} : op.roles[n].waves;
    role_name_ = roles[n].name;
    roles[n].body();
    role_ = {};
    open_.pop_back();
    op.roles[n].body = std::move(ops);
  }
  append(std::move(op), where);
}

void each_op(const std::vector<Op>& ops, const std::function<void(const Op&)>& f) {
  for (const Op& op : ops) {
    f(op);
    if (const auto* l = std::get_if<LoopOp>(&op.what)) each_op(l->body, f);
    if (const auto* i = std::get_if<IfOp>(&op.what)) each_op(i->then, f), each_op(i->otherwise, f);
    if (const auto* r = std::get_if<RolesOp>(&op.what))
      for (const RolesOp::Role& role : r->roles) each_op(role.body, f);
  }
}

// --------------------------------------------------------------------------------------------------------- text

namespace {

std::string line_of(const std::source_location& where) {
  const std::string file = where.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

} // namespace

std::string Program::text() const {
  std::string out =
      name_ + " on " + std::string(target_->name) + ", " + std::to_string(threads_) + " work-items\n";
  const auto name = [&](int id) { return tensor(id).name; };
  for (const Size& s : sizes_)
    out += "  size    " + s.name + " in " + std::to_string(s.facts.least) + ".." +
           std::to_string(s.facts.most) +
           (s.facts.multiple > 1 ? ", a multiple of " + std::to_string(s.facts.multiple) : "") + "\n";
  for (const GridAxis& g : grid_)
    out += "  grid    " + to_string(g.symbol) + " < ceil(" + to_string(g.extent) + " / " +
           std::to_string(g.tile) + ")\n";
  if (tile_map_)
    for (const TileMap::Definition& d : tile_map_->definitions())
      out += "  order   " + to_string(d.symbol) + " = " + to_string(d.value) + "\n";
  if (shares_)
    out += "  shares  " + std::to_string(shares_->workers) + " workgroups, " +
           (shares_->whole_tiles()
                ? "tile by tile"
                : "trips of " + std::to_string(shares_->tile) + " over " + to_string(shares_->extent)) +
           "\n";
  for (const Uniform& u : uniforms_)
    out += "  uniform " + to_string(u.symbol) + " = " + tensor(u.tensor).name + "[" + to_string(u.at) + "]\n";
  for (const Entry& v : values_)
    out += "  value   " + to_string(v.symbol) + " = " + tensor(v.tensor).name + "[" + to_string(v.at) + "]\n";
  for (const Tensor& t : tensors_)
    if (t.space == Space::paged)
      out += "  paged   " + t.name + " " + to_string(t.element) + ": " + name(t.cache) + " in pages of " +
             to_string(tensor(t.cache).shape[1]) + ", by " + name(t.table) + "\n";
    else if (t.space == Space::window) {
      out += "  window  " + t.name + " " + to_string(t.element) + " " + to_string(t.place) + ": " +
             name(t.of) + " from (";
      for (std::size_t i = 0; i < t.look_origin.size(); ++i)
        out += (i ? "," : "") + to_string(t.look_origin[i]);
      out += ")\n";
    } else
      out += std::string(t.space == Space::lds ? "  lds     "
                         : t.in_place          ? "  inout   "
                         : t.output            ? "  output  "
                                               : "  input   ") +
             t.name + " " + to_string(t.element) + " " + to_string(t.place) + (t.far ? ", far" : "") +
             (t.device >= 0 ? ", of device " + std::to_string(t.device) : "") + "\n";
  for (const Specification& s : specifications_) {
    out += "  spec    " + tensor(s.tensor).name + "(";
    for (std::size_t i = 0; i < s.coordinate.size(); ++i) {
      const std::string at = to_string(s.coordinate[i]);
      out += (i ? ", " : "") + (i == 0 && s.table >= 0 ? name(s.table) + "[" + at + "]" : at);
    }
    out += (s.table >= 0 && !s.replaces ? ") += " : ") = ") + to_string(s.value, name) + "\n";
  }
  const auto view = [&](const View& v, const Layout& tv) {
    std::string s =
        tensor(v.tensor).name + "[" + to_string(v.plain() ? tv : v.partition(tv).where) + " from (";
    for (std::size_t i = 0; i < v.origin.size(); ++i)
      s += (i ? "," : "") + (!v.rows.empty() && v.rows[i] >= 0 ? "r" + std::to_string(v.rows[i]) + "[]"
                                                               : to_string(v.origin[i]));
    return s + ")]";
  };
  const auto print = [&](auto&& self, const std::vector<Op>& ops, const std::string& indent) -> void {
    for (const Op& op : ops) {
      out += indent;
      if (const auto* c = std::get_if<CopyOp>(&op.what)) {
        out += "copy    ";
        out += c->from ? view(*c->from, c->tv) : "r" + std::to_string(c->from_fragment);
        out += c->combine ? " +> " : " -> ";
        out += c->to ? view(*c->to, c->tv) : "r" + std::to_string(c->to_fragment);
        out += ", " + std::to_string(c->vector) + " at a time";
      } else if (const auto* m = std::get_if<MmaOp>(&op.what)) {
        const auto operand = [](int values, int scales) {
          return "r" + std::to_string(values) + (scales < 0 ? "" : " r" + std::to_string(scales));
        };
        out += "mma     r" + std::to_string(m->acc) + " += " + operand(m->a, m->a_scales) + " x " +
               operand(m->b, m->b_scales) + ", " + m->mma.atom->name + ", waves " +
               std::to_string(m->mma.waves_m) + " x " + std::to_string(m->mma.waves_n);
      } else if (const auto* z = std::get_if<FillOp>(&op.what)) {
        out += "fill    r" + std::to_string(z->to) + " = " +
               to_string(expressions_->constant(z->value), name) + " " + to_string(fragment(z->to).tv);
      } else if (const auto* f = std::get_if<MapOp>(&op.what)) {
        out += "map     r" + std::to_string(f->to) + " = " + to_string(f->map, name) + " of";
        for (const int i : f->from) out += " r" + std::to_string(i);
        if (f->nan == Nan::any) out += ", a NaN becomes anything";
      } else if (const auto* d = std::get_if<FoldOp>(&op.what)) {
        out += "fold    r" + std::to_string(d->to) + " = " + to_string(d->monoid) + " of r" +
               std::to_string(d->from) + " along axis " + std::to_string(d->axis);
      } else if (const auto* x = std::get_if<RelayoutOp>(&op.what)) {
        out += "relay   r" + std::to_string(x->to) + " = r" + std::to_string(x->from) + " as " +
               to_string(fragment(x->to).tv) + ", exchanging";
        for (const LaneExchange& e : x->exchanges)
          out += " lane^" + std::to_string(e.lane) + "/value^" + std::to_string(e.value);
      } else if (const auto* n = std::get_if<TicketOp>(&op.what)) {
        const Ticket& t = tickets_[static_cast<std::size_t>(n->ticket)];
        out += "ticket  " + to_string(t.symbol) + " of " + tensor(t.tensor).name + ", " +
               to_string(axis(t.axis).symbol) + " < " + to_string(count(t.axis));
      } else if (const auto* y = std::get_if<AwaitOp>(&op.what)) {
        const Turn& turn = turns_[static_cast<std::size_t>(y->turn)];
        out += "await   " + tensor(turn.tensor).name + " = " + to_string(axis(turn.axis).symbol);
      } else if (const auto* g = std::get_if<SignalOp>(&op.what)) {
        const Turn& turn = turns_[static_cast<std::size_t>(g->turn)];
        out += "signal  " + tensor(turn.tensor).name + " = " + to_string(axis(turn.axis).symbol) +
               " + 1, or 0 after the last";
      } else if (std::holds_alternative<MeetOp>(op.what)) {
        out += "meet    " + std::to_string(devices_.count) + " devices by " + devices_.name + "[";
        for (const GridAxis& of : grid_) out += to_string(of.symbol) + ", ";
        out += to_string(devices_.rank) + "]";
      } else if (const auto* k = std::get_if<CheckOp>(&op.what)) {
        out += "check   r" + std::to_string(k->of) + ": " +
               assertions_[static_cast<std::size_t>(k->assertion)].text;
      } else if (const auto* shown = std::get_if<PrintOp>(&op.what)) {
        out += "print   \"" + prints_[static_cast<std::size_t>(shown->line)].text + "\" of";
        for (const int v : shown->values) out += " r" + std::to_string(v);
        if (shown->when >= 0) out += " where r" + std::to_string(shown->when);
      } else if (const auto* l = std::get_if<LoopOp>(&op.what)) {
        out += "loop    " + to_string(l->t) + " < ceil(" + to_string(l->extent) + " / " +
               std::to_string(l->tile) + "), distance " + std::to_string(l->pipeline.distance) + ", ring " +
               std::to_string(l->pipeline.ring);
        if (l->pipeline.distance > 0 && l->pipeline.ring == 1)
          out += " (one stage: the default order loads nothing ahead)";
        out += "   ; " + line_of(op.where) + "\n";
        self(self, l->body, indent + "  ");
        continue;
      } else if (const auto* b = std::get_if<IfOp>(&op.what)) {
        out += "if      " + to_string(b->condition.a) + " < " + to_string(b->condition.b) + "   ; " +
               line_of(op.where) + "\n";
        self(self, b->then, indent + "  ");
        if (!b->otherwise.empty()) out += indent + "else\n";
        self(self, b->otherwise, indent + "  ");
        continue;
      } else if (const auto* all = std::get_if<RolesOp>(&op.what)) {
        out += "roles   ; " + line_of(op.where) + "\n";
        for (const RolesOp::Role& r : all->roles) {
          out += indent + "  " + r.name + ", waves " + std::to_string(r.waves.first) + " to " +
                 std::to_string(r.waves.first + r.waves.count - 1) + "\n";
          self(self, r.body, indent + "    ");
        }
        continue;
      }
      out += "   ; " + line_of(op.where) + "\n";
    }
  };
  print(print, body_, "  ");
  return out;
}

std::vector<KernelArgument> arguments_of(const Program& program) {
  std::vector<KernelArgument> tensors, sizes;
  for (const Tensor& t : program.tensors())
    if (t.space == Space::global) tensors.push_back({&t, nullptr});
  for (const Size& s : program.sizes()) sizes.push_back({nullptr, &s});
  const int room = std::max(program.target().preloaded_dwords - static_cast<int>(sizes.size()), 0) / 2;
  const auto before =
      program.uniforms().empty() ? std::min(tensors.size(), static_cast<std::size_t>(room)) : tensors.size();
  std::vector<KernelArgument> out(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(before));
  out.insert(out.end(), sizes.begin(), sizes.end());
  out.insert(out.end(), tensors.begin() + static_cast<std::ptrdiff_t>(before), tensors.end());
  return out;
}

} // namespace inlay::codegen
