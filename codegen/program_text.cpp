// Program: as text, one operation a line.
#include <inlay/codegen/program.h>

#include <inlay/algebra/print.h>

#include <algorithm>

namespace inlay::codegen {
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
  if (waves_per_simd_ > 0)
    out += "  limit   room for " + std::to_string(waves_per_simd_) + " waves on a SIMD\n";
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
             (t.device >= 0 ? ", of device " + std::to_string(t.device) : "") +
             (t.addresses >= 0 ? ", of problem wg_z at " + name(t.addresses) + "[wg_z]" : "") + "\n";
  for (const Problems::Own& own : problems_.sizes)
    out += "  own     " + to_string(own.size) + " = " + name(own.table) + "[wg_z] of problem wg_z < " +
           to_string(problems_.count) + ", at most what the launch says\n";
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
    return s + ")" + (v.cache == CachePolicy{} ? "" : ", " + to_string(v.cache)) + "]";
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
               std::to_string(m->mma.waves_m) + " x " + std::to_string(m->mma.waves_n) +
               (m->mma.copies > 1 ? " x " + std::to_string(m->mma.copies) + " copies" : "");
      } else if (const auto* z = std::get_if<FillOp>(&op.what)) {
        out += "fill    r" + std::to_string(z->to) + " = " +
               to_string(expressions_->constant(z->value), name) + " " + to_string(fragment(z->to).tv);
      } else if (const auto* f = std::get_if<MapOp>(&op.what)) {
        out += "map     r" + std::to_string(f->to) + " = " + to_string(f->map, name) + " of";
        for (const int i : f->from) out += " r" + std::to_string(i);
        if (f->nan == Nan::any) out += ", a NaN becomes anything";
        if (!f->math.contract) out += ", products and sums rounded each";
        if (!f->math.approximate) out += ", quotients and roots rounded correctly";
        if (f->math.reassociate) out += ", by halves";
      } else if (const auto* d = std::get_if<FoldOp>(&op.what)) {
        out += "fold    r" + std::to_string(d->to) + " = " + to_string(d->monoid) + " of r" +
               std::to_string(d->from) + " along axis " + std::to_string(d->axis);
        if (d->prefix >= 0) out += ", and r" + std::to_string(d->prefix) + " up to each element";
      } else if (const auto* q = std::get_if<TopOp>(&op.what)) {
        out += "top     r" + std::to_string(q->to) + " = " +
               (q->place       ? "place of "
                : q->of_beside ? "what is beside "
                               : "") +
               "number " + std::to_string(q->rank) + " of the " + std::to_string(q->count) +
               " greatest of r" + std::to_string(q->from) + " along";
        for (const int axis : q->axes) out += " axis " + std::to_string(axis);
        if (q->beside >= 0) out += ", beside r" + std::to_string(q->beside);
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
    if (t.space == Space::global && t.addresses < 0) tensors.push_back({&t, nullptr});
  for (const Size& s : program.sizes()) sizes.push_back({nullptr, &s});
  const int room = std::max(program.target().preloaded_dwords - static_cast<int>(sizes.size()), 0) / 2;
  const auto first = std::min(tensors.size(), static_cast<std::size_t>(room));
  const bool asked_first = std::ranges::all_of(program.uniforms(), [&](const Uniform& u) {
    return std::any_of(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(first),
                       [&](const KernelArgument& a) { return a.tensor->id == u.tensor; });
  });
  const auto before = asked_first ? first : tensors.size();
  std::vector<KernelArgument> out(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(before));
  out.insert(out.end(), sizes.begin(), sizes.end());
  out.insert(out.end(), tensors.begin() + static_cast<std::ptrdiff_t>(before), tensors.end());
  return out;
}

} // namespace inlay::codegen
