#include <inlay/algebra/print.h>
#include <inlay/algebra/value.h>

namespace inlay {
namespace {

[[noreturn]] void refuse(const Value& v, const char* wanted) {
  std::string text = to_string(v);
  // A value may be a list of thousands; the error has to stay readable.
  if (text.size() > 120) text = text.substr(0, 120) + "...";
  throw LayoutError(
      {"argument", "argument", std::string("expected ") + wanted, {{"found", text}}, "", {}, ""});
}

template <class Leaf, class Convert>
void flatten_into(TupleBuilder<Leaf>& out, const Value& v, const Convert& convert, std::size_t depth) {
  const List* list = v.get<List>();
  if (!list) {
    out.leaf(convert(v));
    return;
  }
  // Before going deeper: a million parentheses are refused, and no stack runs out.
  if (depth >= max_depth) detail::throw_limit("depth", depth + 1, max_depth);
  if (list->size() > max_rank) detail::throw_limit("rank", list->size(), max_rank);
  const std::size_t at = out.open();
  for (const Value& e : *list) flatten_into(out, e, convert, depth + 1);
  out.close(at, list->size());
}

template <class Leaf, class Convert>
Tuple<Leaf> tuple_from(const Value& v, const Convert& convert) {
  TupleBuilder<Leaf> b;
  flatten_into(b, v, convert, 0);
  return std::move(b).finish();
}

Value listed(TupleView<Int> t) {
  if (t.is_leaf()) return t.leaf();
  List list;
  for (TupleView<Int> e : t) list.push_back(listed(e));
  return list;
}

} // namespace

Value::Value(const IntTuple& t) : Value(listed(t.view())) {}

Int Value::as_int() const {
  if (const Int* n = get<Int>()) return *n;
  refuse(*this, "an integer");
}

IntTuple Value::as_tuple() const {
  return tuple_from<Int>(*this, [](const Value& e) -> Int {
    if (const Int* n = e.get<Int>()) return *n;
    refuse(e, "a tuple of integers");
  });
}

Coordinate Value::as_coordinate() const {
  return tuple_from<CoordinateLeaf>(*this, [](const Value& e) -> CoordinateLeaf {
    if (const Int* n = e.get<Int>()) return {*n, false};
    if (e.get<Free>()) return {0, true};
    refuse(e, "a coordinate of integers and _");
  });
}

Layout Value::as_layout() const {
  if (const Layout* l = get<Layout>()) return *l;
  if (const ComposedLayout* c = get<ComposedLayout>(); c && c->is_plain()) return c->inner();
  refuse(*this, "a layout");
}

ComposedLayout Value::as_composed() const {
  if (const Layout* l = get<Layout>()) return {Swizzle(), 0, *l};
  if (const ComposedLayout* c = get<ComposedLayout>()) return *c;
  refuse(*this, "a layout or a composed layout");
}

CoordSwizzle Value::as_coord_swizzle() const {
  if (const CoordSwizzle* s = get<CoordSwizzle>()) return *s;
  refuse(*this, "a coordinate swizzle, CS<3,0,[0],0,[1]>");
}
Swizzle Value::as_swizzle() const {
  if (const Swizzle* s = get<Swizzle>()) return *s;
  const List* l = get<List>();
  if (!l || l->size() != 3) refuse(*this, "a swizzle");
  int field[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const Int n = (*l)[i].as_int();
    // Checked here, as the constructor takes plain ints and 2^32 + 3 would arrive there as 3.
    if (abs(n) > 62) refuse(*this, "a swizzle of fields within 62 bits");
    field[i] = static_cast<int>(n.value());
  }
  return {field[0], field[1], field[2]};
}

namespace {
Tile tile_of(const Value& v, std::size_t depth) {
  if (depth >= max_depth) detail::throw_limit("depth", depth + 1, max_depth);
  if (v.get<Free>()) return Tile::keep();
  if (const Layout* l = v.get<Layout>()) return Tile(*l);
  if (const Int* n = v.get<Int>()) return Tile(*n);
  const List* list = v.get<List>();
  if (!list) refuse(v, "a tile: a layout, an integer, _ or a list of them");
  if (list->size() > max_rank) detail::throw_limit("rank", list->size(), max_rank);
  std::vector<Tile> entries;
  for (const Value& e : *list) entries.push_back(tile_of(e, depth + 1));
  return Tile::by_mode(entries);
}
} // namespace

Tile Value::as_tile() const { return tile_of(*this, 0); }

const Record& Value::as_record() const {
  if (const Record* r = get<Record>()) return *r;
  refuse(*this, "a record");
}
const Value& Value::operator[](const char* name) const {
  for (const auto& [key, value] : as_record())
    if (key == name) return value;
  throw LayoutError(
      {"argument", "argument", std::string("the record has no '") + name + "'", {}, "", {}, ""});
}

std::string to_string(const Value& v) {
  struct Text {
    std::string operator()(Free) const { return "_"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(Int n) const { return to_string(n); }
    std::string operator()(const Layout& l) const { return to_string(l); }
    std::string operator()(const ComposedLayout& l) const { return to_string(l); }
    std::string operator()(const Swizzle& s) const { return to_string(s); }
    std::string operator()(const NestedLayout& l) const { return to_string(l); }
    std::string operator()(const CoordSwizzle& s) const { return to_string(s); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const List& list) const {
      std::string out = "(";
      for (const Value& e : list) out += (out.size() > 1 ? "," : "") + to_string(e);
      return out + ")";
    }
    std::string operator()(const Record& record) const {
      std::string out = "{";
      for (const auto& [name, value] : record)
        out += (out.size() > 1 ? ", " : "") + name + ": " + to_string(value);
      return out + "}";
    }
  };
  return std::visit(Text{}, v.data());
}

Value nested(const Value& outer, const IntTuple& offset, const Value& inner) {
  using Step = NestedLayout::Step;
  // What a function does after its innermost layout.
  const auto steps_of = [](const Value& v) -> std::vector<Step> {
    if (const NestedLayout* n = v.get<NestedLayout>()) return n->steps();
    const ComposedLayout* c = v.get<ComposedLayout>();
    if (!c || c->is_plain()) return {};
    NestedLayout::Map map;
    std::visit([&](const auto& m) { map = m; }, c->outer());
    return {Step{map, c->offset()}};
  };
  const auto innermost = [](const Value& v) -> Layout {
    if (const NestedLayout* n = v.get<NestedLayout>()) return n->inner();
    return v.as_composed().inner();
  };
  std::vector<Step> steps = steps_of(outer);
  if (const Swizzle* s = outer.get<Swizzle>()) {
    steps.push_back({*s, offset});
  } else if (const CoordSwizzle* cs = outer.get<CoordSwizzle>()) {
    steps.push_back({*cs, offset});
  } else {
    steps.push_back({innermost(outer), offset});
  }
  for (Step& s : steps_of(inner)) steps.push_back(std::move(s));
  const Layout last = innermost(inner);
  if (steps.size() != 1 || !offset.is_leaf() || outer.get<CoordSwizzle>())
    return NestedLayout(std::move(steps), last);
  if (const Swizzle* s = outer.get<Swizzle>()) return ComposedLayout(*s, offset.leaf(), last);
  return ComposedLayout(outer.as_layout(), offset.leaf(), last);
}

std::optional<ComposedLayout> as_function(const Value& v) {
  if (const Layout* l = v.get<Layout>()) return ComposedLayout(Swizzle(), 0, *l);
  if (const ComposedLayout* c = v.get<ComposedLayout>()) return *c;
  const List* pair = v.get<List>();
  if (!pair || pair->size() != 2) return std::nullopt;
  const Layout* l = (*pair)[0].get<Layout>();
  const Int* offset = (*pair)[1].get<Int>();
  if (!l || !offset) return std::nullopt;
  return ComposedLayout(Swizzle(), *offset, *l);
}

} // namespace inlay
