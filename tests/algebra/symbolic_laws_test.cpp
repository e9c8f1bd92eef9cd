// The symbolic domain against the plain one: an operation on symbols, instantiated, is the operation on the instances,
// wherever its obligations hold; and where it refuses, no instance (with extents above 1) is accepted.
#include <catch2/catch.hpp>

#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>
#include <inlay/algebra/symbolic.h>

#include <functional>
#include <random>

namespace symbolic_laws_test {

using namespace inlay;

namespace {

bool holds(const Claim& c, const Assignment& at) {
  const Int a = evaluate(c.operands[0], at);
  const Int b = evaluate(c.operands[1], at);
  switch (c.kind) {
  case ClaimKind::equal: return a == b;
  case ClaimKind::less_equal: return a <= b;
  case ClaimKind::divides: return a != 0 && floor_mod(b, a) == 0;
  default: return false;
  }
}

struct Case {
  const char* name;
  std::function<SymLayout(const SymLayout&, const SymLayout&)> symbolic;
  std::function<Layout(const Layout&, const Layout&)> plain;
};

const Case cases[] = {
    {"coalesce", [](const SymLayout& a, const SymLayout&) { return coalesce(a); },
     [](const Layout& a, const Layout&) { return coalesce(a); }},
    {"composition", [](const SymLayout& a, const SymLayout& b) { return composition(a, b); },
     [](const Layout& a, const Layout& b) { return composition(a, b); }},
    {"complement", [](const SymLayout& a, const SymLayout& b) { return complement(a, b.size()); },
     [](const Layout& a, const Layout& b) { return complement(a, b.size()); }},
    {"logical_divide", [](const SymLayout& a, const SymLayout& b) { return logical_divide(a, SymTile(b)); },
     [](const Layout& a, const Layout& b) { return logical_divide(a, Tile(b)); }},
    {"zipped_divide by mode",
     [](const SymLayout& a, const SymLayout& b) {
       return zipped_divide(a, SymTile::by_mode({SymTile(b.modes()[0].extent)}));
     },
     [](const Layout& a, const Layout& b) {
       return zipped_divide(a, Tile::by_mode({Tile(b.modes()[0].extent)}));
     }},
    {"logical_product", [](const SymLayout& a, const SymLayout& b) { return logical_product(a, SymTile(b)); },
     [](const Layout& a, const Layout& b) { return logical_product(a, Tile(b)); }},
    // An inverse may differ off the image: compare what it inverts.
    {"left_inverse", [](const SymLayout& a, const SymLayout&) { return composition(left_inverse(a), a); },
     [](const Layout& a, const Layout&) { return composition(left_inverse(a), a); }},
    {"upcast", [](const SymLayout& a, const SymLayout&) { return upcast(a, Sym(2)); },
     [](const Layout& a, const Layout&) { return upcast(a, 2); }},
    {"blocked_product", [](const SymLayout& a, const SymLayout& b) { return blocked_product(a, b); },
     [](const Layout& a, const Layout& b) { return blocked_product(a, b); }},
};

bool same_function(const Layout& x, const Layout& y) {
  if (x.size() != y.size()) return false;
  for (Int i = 0; i < x.size() && i < 3000; i += 1)
    if (x(i) != y(i)) return false;
  return true;
}

} // namespace

TEST_CASE("symbolic operations are the plain ones at every instance") {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const Case& c : cases) {
    int compared = 0;
    int obliged = 0;
    int refused = 0;
    for (int round = 0; round < 400; ++round) {
      SymContext ctx;
      const Sym symbols[] = {ctx.symbol("m"), ctx.symbol("n"), ctx.symbol("k", {Int(2), std::nullopt})};
      const auto extent = [&]() -> Sym {
        switch (pick(5)) {
        case 0: return symbols[pick(3)];
        case 1: return (1 << pick(3)) * symbols[pick(3)];
        default: return 1 + pick(6);
        }
      };
      const auto layout = [&](bool small) {
        TupleBuilder<BasicMode<Sym>> b;
        const std::size_t rank = 1 + static_cast<std::size_t>(pick(small ? 2 : 3));
        Sym next = pick(4) == 0 ? Sym(2) : Sym(1);
        std::vector<BasicMode<Sym>> modes;
        for (std::size_t i = 0; i < rank; ++i) {
          const Sym e = small && pick(2) ? Sym(1 + pick(8)) : extent();
          modes.push_back({e, BasicStride<Sym>(pick(8) == 0 ? Sym(0) : next)});
          next = next * e + (pick(6) == 0 ? Sym(1) : Sym(0));
        }
        if (pick(3) == 0) std::reverse(modes.begin(), modes.end());
        const std::size_t at = b.open();
        for (const auto& m : modes) b.leaf(m);
        b.close(at, rank);
        return SymLayout(std::move(b).finish());
      };
      const SymLayout a = layout(false);
      const SymLayout b = layout(true);
      std::optional<SymLayout> r;
      try {
        r = c.symbolic(a, b);
      } catch (const LayoutError&) {
        ++refused;
      }
      const std::vector<Obligation> obligations = ctx.take_obligations();
      obliged += !obligations.empty();
      for (int trial = 0; trial < 12; ++trial) {
        Assignment at;
        at.set(symbols[0], 1 + pick(6));
        at.set(symbols[1], 1 + pick(6));
        at.set(symbols[2], 2 + pick(5));
        bool all = true;
        for (const Obligation& o : obligations) all = all && holds(o.claim, at);
        if (!all) continue;
        const Layout x = instantiate(a, at);
        const Layout y = instantiate(b, at);
        INFO(c.name << " " << to_string(a) << ", " << to_string(b) << " at m=" << evaluate(symbols[0], at)
                    << " n=" << evaluate(symbols[1], at) << " k=" << evaluate(symbols[2], at));
        std::string refusal;
        std::optional<Layout> plain;
        try {
          plain = c.plain(x, y);
        } catch (const LayoutError& e) {
          refusal = e.what();
        }
        if (!r) { // a definite no, but for extents that degenerate to 1
          if (evaluate(symbols[0], at) > 1 && evaluate(symbols[1], at) > 1) REQUIRE_FALSE(plain.has_value());
          continue;
        }
        INFO("symbolic " << to_string(*r) << ", plain " << (plain ? to_string(*plain) : refusal));
        REQUIRE(plain.has_value());
        REQUIRE(same_function(instantiate(*r, at), *plain));
        ++compared;
      }
    }
    INFO(c.name << ": " << compared << " compared, " << obliged << " obliged, " << refused << " refused");
    CHECK(compared > 500);
  }
}

TEST_CASE("obligations say what was assumed") {
  SymContext ctx;
  const auto layout = [&](const char* t) { return parse_sym_layout(ctx, t); };
  CHECK(to_string(composition(layout("(m,n):(1,m)"), layout("96:1"))) ==
        "96:1"); // coalesced: nothing is open
  CHECK(ctx.obligations().empty());
  CHECK(to_string(composition(layout("(m,n):(n,1)"), layout("96:1"))) == "96:n");
  std::vector<Obligation> o = ctx.take_obligations();
  REQUIRE(o.size() == 1);
  CHECK(to_string(o[0].claim) == "96 <= m");
  CHECK(o[0].operation == "composition");
  CHECK(o[0].operands[0].second == "(m,n):(n,1)");

  // By substitution nothing is left open.
  CHECK(to_string(composition(layout("(128*m,n):(1,128*m)"), layout("96:1"))) == "96:1");
  CHECK(to_string(logical_divide(layout("(128*m,64*k):(64*k,1)"),
                                 SymTile::by_mode({SymTile(Sym(128)), SymTile(Sym(64))}))) ==
        "((128,m),(64,k)):((64*k,8192*k),(1,64))");
  CHECK(ctx.obligations().empty());

  // A constant extent is divided; a definite no is an error at once.
  CHECK(to_string(composition(layout("(4,n):(1,100)"), layout("m:1"))) == "(4,m/4):(1,100)");
  o = ctx.take_obligations();
  REQUIRE(o.size() == 1);
  CHECK(to_string(o[0].claim) == "4 divides m");
  CHECK_THROWS_AS(composition(layout("(4,n):(1,100)"), layout("6*m:3")), LayoutError);

  FactProver facts;
  ctx.restrict(*ctx.symbol("m").as_atom(), {Int(96), std::nullopt});
  CHECK(to_string(composition(layout("(m,n):(n,1)"), layout("96:1"))) == "96:n");
  CHECK(undischarged(ctx.obligations(), facts).empty());
}

} // namespace symbolic_laws_test
