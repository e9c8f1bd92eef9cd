// Machine code with a number of the field for every element, and the emulator with small integers.
#include <inlay/validate/values_at_sizes.h>

#include "code_run.h"
#include "expression_values.h"
#include "matrix_words.h"
#include "numeric_access.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/error.h>
#include <inlay/runtime/emulator.h>
#include <inlay/runtime/kernarg.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace inlay::kernels::validate {
namespace {

using runtime::Argument;
using runtime::Extent3;
using runtime::symbolic::Flow;
using runtime::symbolic::FlowAccess;
using runtime::symbolic::FlowAdd;
using runtime::symbolic::FlowMatrix;
using runtime::symbolic::FlowOptions;
using MachineVerdict = runtime::symbolic::Verdict;
using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr i64 most_elements = i64{1} << 26; ///< of a tensor, with its gaps

/// A tensor at these sizes.
struct Placed {
  const TensorClaim* claim = nullptr;
  Element element = Element::f32;
  std::vector<i64> extents;
  std::vector<i64> offsets;           ///< by coordinate, the last fastest
  std::vector<i64> elements;          ///< by offset: the coordinate's number, or -1 for a gap
  std::vector<i64> indices;           ///< by offset, of a table
  std::vector<Number> numbers, reals; ///< by offset: what is loaded, in the field and in runs
  std::vector<std::uint8_t> bytes;
  u64 address = 0;
  std::size_t argument = 0; ///< of its pointer among the arguments, in bytes
  bool added = false;       ///< to by atomics: zeros before the launch

  [[nodiscard]] std::span<std::byte> memory() { return std::as_writable_bytes(std::span(bytes)); }
  /// The coordinate with that number, the last index fastest.
  [[nodiscard]] std::vector<i64> coordinate(i64 number) const {
    std::vector<i64> at(extents.size());
    for (std::size_t k = at.size(); k-- > 0; number /= extents[k]) at[k] = number % extents[k];
    return at;
  }
  /// Where it lies; nothing outside. Requires: as many indices as extents.
  [[nodiscard]] std::optional<std::size_t> offset(std::span<const i64> at) const {
    i64 n = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (at[k] < 0 || at[k] >= extents[k]) return std::nullopt;
      n = n * extents[k] + at[k];
    }
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(n)]);
  }
};

struct StoredElement {
  std::optional<Number> value;
  std::string missing;
  int adds = 0; ///< 0: stored
  std::size_t instruction = 0;
  unsigned wave = 0, lane = 0;
  u64 workgroup = 0;
};

/// Where buffers are put in turn.
constexpr unsigned placements = 3;

/// What all workgroups do.
struct Stored {
  std::vector<std::map<i64, StoredElement>> elements; ///< by tensor, by offset
  struct Readers {
    u64 workgroup = 0;       ///< the first
    std::uint32_t waves = 0; ///< of it, a bit each
    bool more = false;       ///< other workgroups too
  };
  std::vector<std::map<i64, Readers>> read; ///< by tensor that has a value
  std::string problem;                      ///< why values are not followed
  struct Wrong {
    std::size_t instruction = 0;
    unsigned wave = 0, lane = 0;
    std::string text;
  };
  std::optional<Wrong> wrong;                   ///< a store beside the elements
  std::vector<std::pair<Domain, Number>> taken; ///< of what it takes a reciprocal, a root or a logarithm
};

/// What an element is in the field, and in runs: -3 to 3, or a power of two where it is an exponent.
Number number_of(int tensor, i64 offset) {
  return random_of(0x51e0U + static_cast<u64>(tensor), static_cast<u64>(offset));
}
double real_of(int tensor, Element element, i64 offset) {
  constexpr double numbers[] = {-3, -2, -1, 1, 2, 3};
  const double n = numbers[random_of(0xda7aU + static_cast<u64>(tensor), static_cast<u64>(offset)) % 6];
  return element == Element::e8m0 ? std::exp2(n) : n;
}

class Client : public runtime::symbolic::FlowClient {
public:
  Client(const std::vector<Placed>& tensors, const std::vector<bool>& has_value,
         const codegen::Target& target, const Flow& flow, ValuesOfWords& values, Stored& out, u64 workgroup,
         std::map<const codegen::Atom*, MatrixProduct>& products)
      : tensors_(tensors), has_value_(has_value), target_(target), flow_(flow), t_(flow.terms()),
        values_(values), out_(out), workgroup_(workgroup), products_(products) {}

  void load(const FlowAccess& access, std::vector<std::array<Word, 64>>& words) override {
    each_numeric_lane(t_, access, [&](unsigned l, u64 address, u64 room) {
      if (access.typed) return; // what a format makes of the bytes is not said
      const unsigned width = std::min(4U, access.bytes);
      for (unsigned k = 0; k < words.size(); ++k) {
        if (room < 4 * k + width) {
          words[k][l] = t_.constant(0);
          continue;
        }
        words[k][l] = word(address + 4 * k, width, access.wave);
      }
    });
  }

  void store(const FlowAccess& access, const std::vector<std::array<Word, 64>>& words) override {
    each_numeric_lane(t_, access, [&](unsigned l, u64 address, u64 room) {
      const int tensor = home(address);
      if (tensor < 0) return; // memory of which nothing is claimed
      const Placed& p = tensors_[static_cast<std::size_t>(tensor)];
      const auto size = static_cast<unsigned>(bits(p.element));
      const auto fail = [&](const std::string& text) {
        if (!out_.wrong) out_.wrong = Stored::Wrong{access.instruction, access.wave, l, text};
      };
      const u64 first = (address - p.address) * 8;
      if (access.typed || size > 32 || first % size != 0 || (8 * access.bytes) % size != 0) {
        problem(access, "stores " + std::to_string(access.bytes) + " bytes at byte " +
                            std::to_string(first / 8) + " of " + p.claim->argument +
                            ", which are not elements of " + to_string(p.element));
        return;
      }
      for (unsigned bit = 0; bit < 8 * access.bytes; bit += size) {
        if (room < bit / 32 * 4 + std::min(4U, access.bytes)) continue;
        const auto offset = static_cast<i64>((first + bit) / size);
        if (offset >= static_cast<i64>(p.elements.size()) ||
            p.elements[static_cast<std::size_t>(offset)] < 0) {
          fail("stores at element " + std::to_string(offset) + " of " + p.claim->argument +
               ", which is the place of no coordinate");
          continue;
        }
        values_.forget_missing();
        const auto v = values_.read(words[bit / 32][l], p.element, bit % 32 / size);
        StoredElement now{v, v ? "" : values_.missing(), 0, access.instruction, access.wave, l, workgroup_};
        auto& all = out_.elements[static_cast<std::size_t>(tensor)];
        const auto was = all.find(offset);
        if (access.adds != FlowAdd::none) {
          now.adds = was == all.end() ? 1 : was->second.adds + 1;
          if (was != all.end()) {
            if (was->second.adds == 0)
              problem(access, "stores and adds to an element of " + p.claim->argument);
            now.value = v && was->second.value ? std::optional(add(*v, *was->second.value)) : std::nullopt;
            if (!was->second.value) now.missing = was->second.missing;
          }
        } else if (was != all.end() && (was->second.adds != 0 || was->second.value != v)) {
          problem(access, "stores an element of " + p.claim->argument + " again, with another value");
        }
        all[offset] = std::move(now);
      }
    });
  }

  void matrix(FlowMatrix& x) override {
    const auto& i = flow_.instruction(x.instruction);
    if (empties(t_, i, x)) return;
    const codegen::Atom* atom = matrix_atom(target_, i);
    if (atom == nullptr) {
      if (unread.empty()) unread = "'" + i.text + "' is no product that is followed";
      return;
    }
    auto f = products_.find(atom);
    if (f == products_.end()) f = products_.try_emplace(atom, *atom->mma).first;
    std::string why;
    if (!multiply_words(x, i, *atom, f->second, values_, why) && unread.empty())
      unread = why.empty() ? "'" + i.text + "' is no product that is followed" : why;
  }

  std::optional<bool> decide(Word) override { return std::nullopt; }

  std::string unread; ///< the first matrix product of what has no value

private:
  void problem(const FlowAccess& access, const std::string& text) {
    if (out_.problem.empty()) out_.problem = located(flow_.instruction(access.instruction)) + " " + text;
  }
  /// The tensor in whose memory an address is.
  [[nodiscard]] int home(u64 address) const {
    for (std::size_t k = 0; k < tensors_.size(); ++k)
      if (address >= tensors_[k].address && address - tensors_[k].address < tensors_[k].bytes.size())
        return static_cast<int>(k);
    return -1;
  }
  /// The word that lies there; 0 for what nothing is known of.
  Word word(u64 address, unsigned bytes, unsigned wave) {
    const int tensor = home(address);
    if (tensor < 0) return 0;
    const Placed& p = tensors_[static_cast<std::size_t>(tensor)];
    const u64 first = (address - p.address) * 8;
    if (!p.indices.empty()) {
      std::uint32_t w = 0;
      for (unsigned b = 0; b < bytes && first / 8 + b < p.bytes.size(); ++b)
        w |= std::uint32_t{p.bytes[first / 8 + b]} << (8 * b);
      return t_.constant(w);
    }
    const auto size = static_cast<unsigned>(bits(p.element));
    if (size > 32 || 32 % size != 0 || first % size != 0 || 8 * bytes < size) return values_.anything();
    std::vector<Number> numbers(32 / size, 0);
    for (unsigned e = 0; e * size < 8 * bytes; ++e) {
      const auto offset = static_cast<i64>(first / size) + e;
      numbers[e] = offset < static_cast<i64>(p.numbers.size()) ? p.numbers[static_cast<std::size_t>(offset)]
                                                               : number_of(tensor, offset);
      if (has_value_[static_cast<std::size_t>(tensor)]) {
        if (out_.elements[static_cast<std::size_t>(tensor)].contains(offset) && out_.problem.empty())
          out_.problem = "element " + std::to_string(offset) + " of " + p.claim->argument +
                         " is loaded after it has been stored, which is not followed";
        Stored::Readers& by = out_.read[static_cast<std::size_t>(tensor)]
                                  .try_emplace(offset, Stored::Readers{workgroup_})
                                  .first->second;
        by.more = by.more || by.workgroup != workgroup_;
        by.waves |= 1U << wave;
      }
    }
    return values_.word(p.element, numbers);
  }

  const std::vector<Placed>& tensors_;
  const std::vector<bool>& has_value_;
  const codegen::Target& target_;
  const Flow& flow_;
  Terms& t_;
  ValuesOfWords& values_;
  Stored& out_;
  u64 workgroup_;
  std::map<const codegen::Atom*, MatrixProduct>& products_;
};

/// One line of sizes.
class AtSizes {
public:
  AtSizes(const runtime::CodeObject& object, const runtime::Kernel& kernel, const Claims& claims,
          const SizesClaim& sizes, const ValueOptions& options)
      : object_(object), kernel_(kernel), claims_(claims), sizes_(sizes), options_(options),
        target_(codegen::Target::named(object.arch())), device_(runtime::isa::parse_arch(object.arch())) {}

  std::vector<ClaimResult> run() {
    for (const auto& [name, value] : sizes_) {
      i64 n = 0;
      const auto [p, error] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (error == std::errc() && p == value.data() + value.size()) context_.define(name, Sym(n));
      text_ += (text_.empty() ? "" : ", ") + name + " = " + value;
    }
    place();
    read_values();
    launch_geometry();
    u64 groups = geometry_.grid.count();
    Stored stored;
    stored.elements.resize(tensors_.size());
    stored.read.resize(tensors_.size());
    const bool all = groups <= options_.max_workgroups;
    if (!all)
      stored.problem = "at these sizes there are " + std::to_string(groups) + " workgroups; at most " +
                       std::to_string(options_.max_workgroups) + " are followed";
    for (u64 g = 0; all && g < groups && stored.problem.empty() && !stored.wrong; ++g) follow(g, stored);
    for (unsigned k = 1; all && k < placements && stored.problem.empty() && !stored.wrong; ++k)
      elsewhere(k, groups, stored);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      Placed& p = tensors_[t];
      p.added = std::any_of(stored.elements[t].begin(), stored.elements[t].end(),
                            [](const auto& e) { return e.second.adds != 0; });
      if (p.added) std::fill(p.reals.begin(), p.reals.end(), RealArithmetic::number(0));
      for (const auto& [offset, readers] : stored.read[t]) {
        const auto at = stored.elements[t].find(offset);
        if (at == stored.elements[t].end() || !stored.problem.empty()) continue;
        const bool by_others = readers.more || readers.workgroup != at->second.workgroup;
        if (by_others || readers.waves != 1U << at->second.wave)
          stored.problem = "element " + std::to_string(offset) + " of " + p.claim->argument +
                           " is loaded by one " + (by_others ? "workgroup" : "wave") +
                           " and stored by another";
      }
    }
    if (stored.wrong) return {refuted_by(*stored.wrong)};
    const std::string fault = options_.runs ? emulate() : "";
    std::vector<ClaimResult> out;
    for (std::size_t v = 0; v < claims_.values.size(); ++v) out.push_back(compare(v, stored, fault));
    return out;
  }

private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("claims: " + what + "\n  sizes  " + text_);
  }
  /// f(), whose errors are about that line of the claims.
  template <class F>
  auto told(const std::string& line, F f) {
    try {
      return f();
    } catch (const LayoutError& e) {
      fail(line + ": " + e.what());
    } catch (const codegen::CodegenError& e) {
      fail(line + ": " + e.what());
    }
  }
  i64 number(std::string_view formula, const std::string& of) {
    const Sym s = told(of, [&] { return parse_sym(context_, formula, UnknownSymbol::refuse); });
    if (const auto c = s.constant()) return c->value();
    fail(of + ": '" + std::string(formula) + "' is no number at these sizes");
  }

  void place() {
    for (const TensorClaim& c : claims_.tensors) {
      Placed p;
      p.claim = &c;
      const std::string line = "tensor " + c.argument;
      told(line, [&] { place(p, line); });
      const auto tensor = static_cast<int>(tensors_.size());
      const i64 below = c.below.empty() ? 0 : number(c.below, line);
      if (!c.below.empty() && (!is_integer(p.element) || bits(p.element) < 8 || below < 1))
        fail(line + ": a table holds integers below a number that is at least 1");
      p.bytes.resize((p.elements.size() * static_cast<std::size_t>(bits(p.element)) + 7) / 8);
      for (std::size_t o = 0; o < p.elements.size(); ++o) {
        const auto offset = static_cast<i64>(o);
        if (below > 0) {
          p.indices.push_back(
              static_cast<i64>(random_of(0x7ab1eU + static_cast<u64>(tensor), o) % static_cast<u64>(below)));
          p.numbers.push_back(of_integer(p.indices.back()));
        } else {
          p.numbers.push_back(number_of(tensor, offset));
        }
        const double real =
            below > 0 ? static_cast<double>(p.indices.back()) : real_of(tensor, p.element, offset);
        p.reals.push_back(RealArithmetic::number(real));
        put_code(p.memory(), o, p.element,
                 below > 0 ? static_cast<u64>(p.indices.back()) : encode(p.element, real));
      }
      tensors_.push_back(std::move(p));
    }
  }
  /// Where the elements of a tensor lie. Errors: also the algebra's.
  void place(Placed& p, const std::string& line) {
    p.element = codegen::parse_element(p.claim->element, target_);
    if (is_pointer(p.element)) fail(line + ": elements that are pointers");
    const SymLayout formulas = parse_sym_layout(context_, p.claim->place, UnknownSymbol::refuse);
    for (const auto& leaf : formulas.modes())
      if (!leaf.extent.constant() || !leaf.stride.scale.constant() || leaf.stride.is_basis())
        fail(line + ": '" + p.claim->place + "' has extents or strides that are no numbers at these sizes");
    const Layout layout = parse_layout(to_string(formulas));
    i64 count = 1;
    for (const auto& leaf : layout.modes()) {
      if (leaf.stride.scale < Int(0) || leaf.extent > Int(most_elements / count))
        fail(line + ": a negative stride, or more than " + std::to_string(most_elements) + " elements in '" +
             p.claim->place + "'");
      count *= leaf.extent.value();
    }
    if (layout.cosize() > Int(most_elements)) fail(line + ": '" + p.claim->place + "' is too large");
    std::vector<Layout> modes;
    for (std::size_t m = 0; m < layout.rank(); ++m) {
      modes.push_back(layout.mode(m));
      p.extents.push_back(modes.back().size().value());
    }
    p.elements.assign(static_cast<std::size_t>(layout.cosize().value()), -1);
    for (i64 flat = 0; flat < count; ++flat) {
      i64 offset = 0;
      const std::vector<i64> at = p.coordinate(flat);
      for (std::size_t m = 0; m < at.size(); ++m) offset += modes[m](Int(at[m])).value();
      p.offsets.push_back(offset);
      p.elements[static_cast<std::size_t>(offset)] = flat;
    }
  }

  void read_values() {
    const auto tensor = [&](std::string_view name) {
      for (std::size_t t = 0; t < tensors_.size(); ++t)
        if (tensors_[t].claim->argument == name) return static_cast<int>(t);
      return -1;
    };
    has_value_.resize(tensors_.size());
    for (const ValueClaim& v : claims_.values) {
      const int of = tensor(v.argument);
      has_value_[static_cast<std::size_t>(of)] = true;
      output_.push_back(of);
      const Placed& p = tensors_[static_cast<std::size_t>(of)];
      if (p.extents.size() != v.coordinate.size())
        fail("value " + v.argument + ": " + std::to_string(v.coordinate.size()) +
             " indices, and the layout '" + p.claim->place + "' has " + std::to_string(p.extents.size()) +
             " modes");
      if (std::count_if(p.elements.begin(), p.elements.end(), [](i64 e) { return e >= 0; }) !=
          static_cast<std::ptrdiff_t>(p.offsets.size()))
        fail("value " + v.argument + ": two coordinates have one place in '" + p.claim->place + "'");
      std::vector<Sym> coordinate;
      values_.push_back(told("value " + v.argument, [&] {
        for (const std::string& c : v.coordinate) {
          if (const auto known = context_.find(c); known && known->constant())
            fail("value " + v.argument + ": '" + c + "' is a size");
          coordinate.push_back(context_.symbol(c, Interval{Int(0), std::nullopt}));
        }
        return codegen::parse_expression(arena_, context_, v.value, tensor);
      }));
      coordinates_.push_back(std::move(coordinate));
    }
  }

  /// Whether a value says something of what was there before.
  [[nodiscard]] bool is_read(int tensor) const {
    const std::function<bool(codegen::Expr)> reads = [&](codegen::Expr e) {
      const codegen::ExprNode& n = e.node();
      return (n.fn == codegen::Fn::load && n.tensor == tensor) ||
             std::any_of(n.args.begin(), n.args.end(), [&](int a) {
               return reads({e.arena, a});
             });
    };
    return std::any_of(values_.begin(), values_.end(), reads);
  }

  void launch_geometry() {
    Extent3 block = options_.block;
    if (block.x == 0) {
      const auto& r = kernel_.required_workgroup;
      if (r.empty())
        fail("how many work-items a workgroup has is not said: the kernel requires no size\n  hint   --block "
             "X,Y,Z");
      block = {r[0], r.size() > 1 ? r[1] : 1, r.size() > 2 ? r[2] : 1};
    }
    geometry_.block = block;
    geometry_.dynamic_lds = options_.dynamic_lds;
    std::uint32_t* along[] = {&geometry_.grid.x, &geometry_.grid.y, &geometry_.grid.z};
    for (unsigned d = 0; d < 3; ++d) {
      if (claims_.grid[d].empty()) continue;
      const i64 n = number(claims_.grid[d], "grid");
      if (n < 1 || n > (1 << 24)) fail("grid: " + std::to_string(n) + " workgroups along " + "xyz"[d]);
      *along[d] = static_cast<std::uint32_t>(n);
    }
    std::vector<Argument> arguments;
    const auto given = [&](const std::string& name) -> const std::string* {
      for (const auto& [n, v] : sizes_)
        if (n == name) return &v;
      return nullptr;
    };
    for (const runtime::KernelArgument& a : visible_arguments(kernel_)) {
      const std::string name = a.label();
      Argument out;
      out.spelled = name;
      out.is_pointer = a.pointer();
      out.bytes.resize(a.size);
      const auto put = [&](const void* from, std::size_t size) {
        std::memcpy(out.bytes.data(), from, std::min<std::size_t>(size, out.bytes.size()));
      };
      const std::string* value = given(name);
      Placed* tensor = nullptr;
      for (Placed& p : tensors_)
        if (p.claim->argument == name) tensor = &p;
      if (tensor != nullptr) {
        if (value != nullptr) fail("'" + name + "' is a tensor, and has a number too");
        buffers_.push_back(std::make_unique<runtime::Buffer>(device_, tensor->bytes.size()));
        tensor->address = buffers_.back()->address();
        tensor->argument = a.offset;
        put(&tensor->address, 8);
      } else if (value != nullptr) {
        i64 whole = 0;
        const auto [p, error] = std::from_chars(value->data(), value->data() + value->size(), whole);
        if (error == std::errc() && p == value->data() + value->size() && a.size <= 8) {
          put(&whole, 8);
        } else if (a.size == 4 || a.size == 8) {
          const double real = std::stod(*value);
          const auto single = static_cast<float>(real);
          if (a.size == 4)
            put(&single, 4);
          else
            put(&real, 8);
        } else {
          fail("'" + name + " = " + *value + "' for an argument of " + std::to_string(a.size) + " bytes");
        }
      } else if (a.pointer() || (a.size == 8 && a.kind.empty())) {
        buffers_.push_back(std::make_unique<runtime::Buffer>(device_, 65536));
        device_.fill(buffers_.back()->address(), 0, 65536);
        const u64 address = buffers_.back()->address();
        put(&address, 8);
        untold_[address] = name;
      } else {
        fail("no number for the argument '" + name + "' (" + std::to_string(a.size) + " bytes)");
      }
      arguments.push_back(std::move(out));
    }
    for (const Placed& p : tensors_)
      if (p.address == 0) fail("'" + p.claim->argument + "' is no argument that a launch gives");
    try {
      check_geometry(kernel_, geometry_, device_.info().lds_bytes);
      segment_ = pack_arguments(kernel_, arguments, geometry_);
    } catch (const runtime::ArgumentError& e) {
      fail(e.what());
    }
  }

  /// The same with the buffers at other addresses, multiples of 4: what is stored may not depend on where they lie.
  void elsewhere(unsigned place, u64 groups, Stored& stored) {
    const auto segment = segment_;
    std::vector<u64> addresses;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      Placed& p = tensors_[t];
      addresses.push_back(p.address);
      // Each bit is 0 in one of two places; bits 40 to 46 keep buffers apart.
      const u64 any = random_of(0xadd4e55U, t) & 0x7ffffffffcULL;
      p.address = (u64{t + 1} << 40) | (place % 2 == 1 ? any : any ^ 0x7ffffffffcULL);
      std::memcpy(segment_.data() + p.argument, &p.address, sizeof p.address);
    }
    Stored there;
    there.elements.resize(tensors_.size());
    there.read.resize(tensors_.size());
    for (u64 g = 0; g < groups && there.problem.empty() && !there.wrong; ++g) follow(g, there);
    segment_ = segment;
    for (std::size_t t = 0; t < tensors_.size(); ++t) tensors_[t].address = addresses[t];
    stored.wrong = there.wrong;
    stored.problem = there.problem;
    stored.taken.insert(stored.taken.end(), there.taken.begin(), there.taken.end());
    for (std::size_t t = 0; t < tensors_.size() && stored.problem.empty() && !stored.wrong; ++t) {
      const auto same = [](const auto& a, const auto& b) {
        return a.first == b.first && a.second.value == b.second.value && a.second.adds == b.second.adds;
      };
      if (!std::equal(stored.elements[t].begin(), stored.elements[t].end(), there.elements[t].begin(),
                      there.elements[t].end(), same))
        stored.problem = "what is stored to " + tensors_[t].claim->argument + " depends on where buffers lie";
    }
  }

  void follow(u64 group, Stored& out) {
    const Extent3& grid = geometry_.grid;
    const u64 id[3] = {group % grid.x, group / grid.x % grid.y, group / grid.x / grid.y};
    FlowOptions o;
    o.block = geometry_.block;
    o.dynamic_lds = geometry_.dynamic_lds;
    o.arguments = segment_;
    o.heads = false;
    o.reals = false; // what is made of sizes alone is made as the machine does: divisions by v_rcp
    for (unsigned d = 0; d < 3; ++d)
      o.values[std::string("workgroup_") + "xyz"[d]] = static_cast<std::uint32_t>(id[d]);
    Flow flow(object_, kernel_, o);
    const codegen::Program nothing("values", target_, 64);
    Formulas formulas(nothing, flow.terms());
    ValuesOfWords values(flow, formulas);
    values.take_any_rounding();
    ExtendedArithmetic extended(values.extremes());
    values.compute_with(extended);
    Client client(tensors_, has_value_, target_, flow, values, out, group, products_);
    Flow::Stop stop = Flow::Stop::head;
    try {
      while (stop == Flow::Stop::head) stop = flow.run(client);
    } catch (const std::exception& e) {
      if (out.problem.empty()) out.problem = e.what();
      return;
    }
    if (unread_.empty()) unread_ = client.unread;
    for (const auto& t : extended.unsaid()) out.taken.push_back(t);
    for (const Element e : values.narrowed())
      if (out.problem.empty() &&
          std::none_of(tensors_.begin(), tensors_.end(), [&](const Placed& p) { return p.element == e; }))
        out.problem = "its instructions convert to " + to_string(e) + ", of which no tensor is";
    if (stop == Flow::Stop::ended || !out.problem.empty()) return;
    out.problem = stop == Flow::Stop::failed ? flow.why()
                                             : "a branch depends on " + flow.terms().text(flow.question(), 4);
  }

  /// Runs the launch; what went wrong, or nothing.
  std::string emulate() {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      Placed& p = tensors_[t];
      // What is added to begins at 0; what is said whatever was there, with what no value is by chance.
      const bool anything = has_value_[t] && !is_read(static_cast<int>(t));
      for (std::size_t k = 0; (p.added || anything) && k < p.elements.size(); ++k)
        put_code(p.memory(), k, p.element, p.added ? 0 : encode(p.element, largest_finite(p.element)));
      device_.copy_in(p.address, p.bytes);
    }
    try {
      const auto module = device_.load(object_);
      device_.launch(device_.function(module, kernel_.name), geometry_, segment_);
    } catch (const std::exception& e) {
      return e.what();
    }
    for (const runtime::Finding& f : device_.last_launch().findings)
      if (!f.note && f.kind == runtime::FindingKind::bounds) {
        fault_ = f;
        return f.message;
      }
    for (Placed& p : tensors_) device_.copy_out(p.bytes, p.address);
    return {};
  }

  [[nodiscard]] ClaimResult result(const std::string& argument) const {
    ClaimResult r;
    r.claim = "value " + argument;
    return r;
  }
  void locate(ClaimResult& r, std::size_t instruction, unsigned wave, unsigned lane) {
    const auto& section = object_.sections()[kernel_.section];
    if (!program_)
      program_ =
          runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object_.arch()));
    const auto& i = program_->instructions.at(instruction);
    r.address = i.address;
    r.instruction = i.text;
    r.wave = wave;
    r.lane = lane;
  }
  ClaimResult refuted_by(const Stored::Wrong& w) {
    ClaimResult r = result(claims_.values[0].argument);
    r.verdict = MachineVerdict::refuted;
    locate(r, w.instruction, w.wave, w.lane);
    r.message = w.text + "; for " + text_;
    return r;
  }

  /// The pointer of which nothing is claimed from which that address was made, as it seems: nothing else lies between.
  [[nodiscard]] std::string untold_at(u64 address) const {
    auto above = untold_.upper_bound(address);
    if (above == untold_.begin()) return {};
    --above;
    for (const Placed& p : tensors_)
      if (p.address > above->first && p.address <= address) return {};
    return above->second;
  }

  /// Whether one order of the waves stands for all of them: for all sizes, or at least for these.
  bool ordered() {
    if (options_.ordered) return true;
    if (!ordered_here_) {
      runtime::symbolic::OrderOptions o;
      o.block = geometry_.block;
      o.dynamic_lds = geometry_.dynamic_lds;
      o.arguments = segment_;
      const auto report = check_order(object_, kernel_, o);
      ordered_here_ = report.verdict == MachineVerdict::validated;
      if (!*ordered_here_ && !report.undecided.empty())
        why_unordered_ = " (" + *report.undecided.begin() + ")";
    }
    return *ordered_here_;
  }

  ClaimResult compare(std::size_t which, const Stored& stored, const std::string& fault) {
    const Placed& p = tensors_[static_cast<std::size_t>(output_[which])];
    ClaimResult r = result(p.claim->argument);
    if (!fault.empty()) {
      by_fault(r, fault);
    } else {
      told(r.claim, [&] {
        std::string most_off;
        const bool refuted = options_.runs && in_run(which, stored, r, most_off);
        const std::string open = refuted ? "" : in_field(which, stored);
        if (refuted) return;
        if (open.empty()) return by_field(r, p);
        r.message = (most_off.empty() ? "validated on a run only (" : "not shown (a run of ") +
                    std::to_string(p.offsets.size()) + " elements, small integers): " + open + most_off;
      });
    }
    r.message += "; for " + text_;
    return r;
  }
  void by_fault(ClaimResult& r, const std::string& fault) const {
    r.message = "the run ends: " + fault;
    if (const auto name = untold_at(fault_ ? fault_->memory_address : 0); !name.empty()) {
      r.message += "; memory of " + name + ", of which no tensor is said, was taken as 65536 bytes";
      return;
    }
    r.verdict = MachineVerdict::refuted;
    if (!fault_) return;
    r.address = fault_->address;
    r.instruction = fault_->disassembly;
    r.wave = fault_->wave;
    r.lane = fault_->lane;
  }
  void by_field(ClaimResult& r, const Placed& p) {
    const bool in_order = ordered();
    r.verdict = in_order ? MachineVerdict::validated : MachineVerdict::undecided;
    r.message = "all " + std::to_string(p.offsets.size()) + " elements, of " +
                std::to_string(geometry_.grid.count()) +
                " workgroups, for all values of what is loaded, buffers at three places" +
                (p.added ? " (added by atomics to zeros)" : "") +
                (options_.ordered ? ""
                 : in_order       ? ", the order of waves validated for these sizes"
                            : ", in one order of the waves: their order is not validated" + why_unordered_);
  }

  /// The expression of a value, elements being these of each tensor.
  ExpressionValues expression(std::size_t which, Arithmetic& arithmetic,
                              std::vector<Number> Placed::*numbers) {
    const auto offset = [this, which](int of, std::span<const i64> at) {
      const Placed& t = tensors_[static_cast<std::size_t>(of)];
      if (at.size() != t.extents.size())
        fail("value " + claims_.values[which].argument + ": '" + t.claim->argument + "' has " +
             std::to_string(t.extents.size()) + " indices");
      return t.offset(at);
    };
    const auto value = [this, offset, numbers](int of, std::span<const i64> at) -> std::optional<Number> {
      const auto o = offset(of, at);
      return o ? std::optional((tensors_[static_cast<std::size_t>(of)].*numbers)[*o]) : std::nullopt;
    };
    const auto index = [this, offset](int of, i64 at) -> std::optional<i64> {
      const Placed& t = tensors_[static_cast<std::size_t>(of)];
      const auto o = offset(of, {&at, 1});
      if (o && t.indices.empty()) fail("'" + t.claim->argument + "' is no table: its line has no 'below'");
      return o ? std::optional(t.indices[*o]) : std::nullopt;
    };
    return {values_[which], coordinates_[which], arithmetic, {value, index}};
  }
  /// `c(3,5)`: the element with that number.
  static std::string element(const Placed& p, std::size_t number) {
    std::string s;
    for (const i64 i : p.coordinate(static_cast<i64>(number)))
      s += (s.empty() ? "(" : ",") + std::to_string(i);
    return p.claim->argument + s + ")";
  }

  /// Why the field does not say that what is stored is the value; empty: it does.
  std::string in_field(std::size_t which, const Stored& stored) {
    if (!stored.problem.empty()) return stored.problem;
    const runtime::FloatMode& mode = kernel_.descriptor.mode;
    if (mode.round_32 != 0 || mode.round_16_64 != 0 || mode.denorm_16_64 != 3 || mode.fp16_overflow)
      return "its waves begin in another MODE than to round to nearest, keep subnormals of f16 and overflow "
             "to infinity";
    const Placed& p = tensors_[static_cast<std::size_t>(output_[which])];
    const auto& all = stored.elements[static_cast<std::size_t>(output_[which])];
    Extremes extremes;
    ExtendedArithmetic field(extremes);
    ExpressionValues values = expression(which, field, &Placed::numbers);
    for (std::size_t n = 0; n < p.offsets.size(); ++n) {
      const i64 offset = p.offsets[n];
      const auto found = all.find(offset);
      const auto wanted = values.at(p.coordinate(static_cast<i64>(n)));
      if (!wanted) return values.missing() + " has no number in the field";
      if (found == all.end()) {
        // What nobody stores stays what it was.
        if (p.added || *wanted != p.numbers[static_cast<std::size_t>(offset)])
          return "nothing stores " + element(p, n);
        continue;
      }
      if (!found->second.value)
        return element(p, n) + ": " + (unread_.empty() ? found->second.missing : unread_);
      if (*found->second.value != *wanted) return element(p, n) + ": the numbers of the field differ";
    }
    for (const auto& [domain, x] : stored.taken) field.machine_takes(domain, x);
    if (const auto open = field.unsaid(); !open.empty())
      return unsaid_text(open.front().first, "the expression does");
    return {};
  }

  /// Whether the run refutes the value, and how. `most_off`: what roundings do not explain, and may be something else.
  bool in_run(std::size_t which, const Stored& stored, ClaimResult& r, std::string& most_off) {
    const Placed& p = tensors_[static_cast<std::size_t>(output_[which])];
    RealArithmetic real;
    ExpressionValues values = expression(which, real, &Placed::reals);
    std::vector<Number> all;
    double largest = 0;
    for (std::size_t n = 0; n < p.offsets.size(); ++n) {
      all.push_back(values.at(p.coordinate(static_cast<i64>(n))).value_or(RealArithmetic::number(NAN)));
      const double wanted = std::fabs(RealArithmetic::real(all.back()));
      if (std::isfinite(wanted)) largest = std::max(largest, wanted);
    }
    for (std::size_t n = 0; n < p.offsets.size(); ++n) {
      const double wanted = RealArithmetic::real(all[n]);
      const double got = decode(p.element, code_at(std::as_bytes(std::span(p.bytes)),
                                                   static_cast<std::size_t>(p.offsets[n]), p.element));
      const double rounding = CodeRun::rounding(p.element, all[n]);
      const double rounds = 4 * RealArithmetic::error(all[n]) + (std::isfinite(rounding) ? rounding : 0);
      if (std::isnan(wanted) || !std::isfinite(rounds)) continue;
      if (std::isfinite(wanted) && std::fabs(wanted) > largest_finite(p.element)) continue;
      const double off = std::fabs(got - wanted);
      if (got == wanted || off <= rounds) continue;
      if (off <= rounds + claims_.within.value_or(0x1p-7) * largest) {
        if (!claims_.within && most_off.empty())
          most_off = "; " + element(p, n) + " is " + std::to_string(got) + " in it and the expression " +
                     std::to_string(wanted) + ", which f32 and " + to_string(p.element) +
                     " do not explain ('within 0' takes it for wrong)";
        continue;
      }
      r.verdict = MachineVerdict::refuted;
      const auto& elements = stored.elements[static_cast<std::size_t>(output_[which])];
      const auto found = elements.find(p.offsets[n]);
      if (found != elements.end()) {
        locate(r, found->second.instruction, found->second.wave, found->second.lane);
        const u64 g = found->second.workgroup;
        r.message = "workgroup (" + std::to_string(g % geometry_.grid.x) + "," +
                    std::to_string(g / geometry_.grid.x % geometry_.grid.y) + "," +
                    std::to_string(g / geometry_.grid.x / geometry_.grid.y) + ") stores ";
      } else if (stored.problem.empty()) {
        r.message = "nothing is stored; there is ";
      } else {
        r.message = "a run with small integers leaves ";
      }
      r.message += std::to_string(got) + " at " + element(p, n) + ", the expression is " +
                   std::to_string(wanted) + " there";
      return true;
    }
    return false;
  }

  const runtime::CodeObject& object_;
  const runtime::Kernel& kernel_;
  const Claims& claims_;
  const SizesClaim& sizes_;
  ValueOptions options_;
  const codegen::Target& target_;
  runtime::EmulatorDevice device_;
  SymContext context_;
  codegen::Expressions arena_;
  std::string text_;
  std::vector<Placed> tensors_;
  std::vector<bool> has_value_;
  std::vector<int> output_; ///< by value
  std::vector<codegen::Expr> values_;
  std::vector<std::vector<Sym>> coordinates_;
  std::vector<std::unique_ptr<runtime::Buffer>> buffers_;
  std::map<u64, std::string> untold_; ///< pointers of which nothing is claimed, by address
  std::vector<std::uint8_t> segment_;
  runtime::LaunchGeometry geometry_;
  std::map<const codegen::Atom*, MatrixProduct> products_;
  std::string unread_;
  std::optional<bool> ordered_here_;
  std::string why_unordered_;
  std::optional<runtime::Finding> fault_;
  std::optional<runtime::isa::Program> program_;
};

} // namespace

std::vector<ClaimResult> check_values(const runtime::CodeObject& object, const runtime::Kernel& kernel,
                                      const Claims& claims, const ValueOptions& options) {
  check_names(kernel, claims);
  std::vector<ClaimResult> out;
  for (const SizesClaim& sizes : claims.sizes)
    for (ClaimResult& r : AtSizes(object, kernel, claims, sizes, options).run()) out.push_back(std::move(r));
  return out;
}

} // namespace inlay::kernels::validate
