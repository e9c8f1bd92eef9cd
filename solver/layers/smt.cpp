#include "layers/smt.h"

#include "inlay/solver/error.h"

#include <z3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace inlay::solver::smt {

// SMT-LIB has no negative numerals.
std::string literal(Wide value) { return value < 0 ? "(- " + to_string(-value) + ")" : to_string(value); }

std::string symbol(const std::string& name) {
  // A prime marks the prover's own symbols; SMT-LIB wants |quotes| around it.
  std::string s = "v_" + name;
  for (char c : s)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return "|" + s + "|";
  return s;
}

// Everything is said of the context's own symbols, the user's being polynomials in them: what the substitution expresses need not be
// asserted, and what it does not is residual. A residual condition that has no text is left out, which makes the query weaker in
// the safe direction: unsat without it is unsat with it.
Query::Query(const Context& context) : context_(context) {
  for (std::size_t k = 0; k < context.names().size(); ++k) {
    std::string s = symbol(context.names()[k]);
    declarations_.push_back("(declare-const " + s + " Int)");
    watched_.push_back(s);
    const Bounds& b = context.bounds()[k];
    assertions_.push_back("(>= " + s + " " + literal(b.lower) + ")");
    if (b.upper) assertions_.push_back("(<= " + s + " " + literal(*b.upper) + ")");
  }
  // Only here is a named min told what it is: digits and bounds take it as any number within its bounds.
  for (const Choice& c : context.choices()) {
    std::string a = term(c.a), b = term(c.b);
    if (c.op == Op::div) { // by a divisor of at least 1
      std::string whole = term(c.b * Poly::symbol(c.symbol));
      assertions_.push_back("(and (<= " + whole + " " + a + ") (< " + a + " (+ " + whole + " " + b + ")))");
      continue;
    }
    assertions_.push_back("(= " + term(Poly::symbol(c.symbol)) + " (ite (<= " + a + " " + b + ") " +
                          (c.op == Op::min ? a + " " + b : b + " " + a) + "))");
  }
  for (const FormulaRef& c : context.residual())
    if (auto t = boolean(c, {})) assertions_.push_back(*t);
}

void Query::coordinate(const std::string& name, const std::string& extent) {
  declare(name);
  assertions_.push_back("(>= " + name + " 0)");
  assertions_.push_back("(< " + name + " " + extent + ")");
}

void Query::declare(const std::string& name) {
  declarations_.push_back("(declare-const " + name + " Int)");
  watched_.push_back(name);
}

void Query::define(const std::string& name, const std::string& term) {
  declarations_.push_back("(declare-const " + name + " Int)");
  // A constant and an equation instead of define-fun: models then tell its value, and certificates have no
  // definitions to look into.
  assertions_.push_back("(= " + name + " " + term + ")");
}

std::string Query::term(const Poly& p) const {
  std::string out;
  for (const auto& [m, c] : p.terms()) {
    std::string t;
    if (m.empty()) {
      t = literal(c);
    } else {
      t = c == 1 ? "" : " " + literal(c);
      for (const auto& [s, e] : m)
        for (unsigned k = 0; k < e; ++k) t += " " + symbol(context_.names()[s]);
      bool single = c == 1 && m.size() == 1 && m[0].second == 1;
      t = single ? t.substr(1) : "(*" + t + ")";
    }
    out += " " + t;
  }
  if (out.empty()) return "0";
  return p.terms().size() == 1 ? out.substr(1) : "(+" + out + ")";
}

// Floor division where SMT-LIB's div agrees with it, that is for divisors above 0. Where the context cannot say that a divisor is, "it is 0 or
// less" joins the negated claim: unsat then says that it never is, too.
std::string Query::division(bool quotient, const std::string& a, const std::string& d, bool positive) {
  bool constant = d.find_first_not_of("0123456789") == std::string::npos;
  if (constant && d != "0") return std::string(quotient ? "(div " : "(mod ") + a + " " + d + ")";
  if (!positive)
    goals_.push_back("(<= " + d +
                     " 0)"); // SMT-LIB rounds differently there; a divisor that may be 0 is a finding
  if (!quotient_variables) return std::string(quotient ? "(div " : "(mod ") + a + " " + d + ")";
  // One pair of variables for x / d and x % d: two would only be known to be equal after a proof.
  auto [it, fresh] = quotients_.emplace(a + " / " + d, std::pair<std::string, std::string>{});
  if (fresh) {
    std::string n = std::to_string(quotients_.size());
    it->second = {"q_" + n, "r_" + n};
    declarations_.push_back("(declare-const q_" + n + " Int)");
    declarations_.push_back("(declare-const r_" + n + " Int)");
    std::string sum = "(= " + a + " (+ (* q_" + n + " " + d + ") r_" + n + "))";
    std::string small = "(<= 0 r_" + n + ") (< r_" + n + " " + d + ")";
    // Where d may be 0 or less there is no such r, and asking for one would hide that d is.
    assertions_.push_back(positive ? sum : "(or (<= " + d + " 0) (and " + sum + " " + small + "))");
    if (positive) assertions_.push_back("(and " + small + ")");
  }
  return quotient ? it->second.first : it->second.second;
}

// Integers cannot say which bits two numbers share. As a function of which only bounds are known it is weaker than it is, so that what
// follows about it holds, and a model has to be replayed as every model is.
std::string Query::conjunction(const std::string& x, const std::string& y) {
  const std::string &a = std::min(x, y), &b = std::max(x, y); // & commutes
  std::string value = "(b_and " + a + " " + b + ")";
  const std::string declaration = "(declare-fun b_and (Int Int) Int)";
  if (std::find(declarations_.begin(), declarations_.end(), declaration) == declarations_.end())
    declarations_.push_back(declaration);
  std::string bounds = "(=> (and (>= " + a + " 0) (>= " + b + " 0)) (and (>= " + value + " 0) (<= " + value +
                       " " + a + ") (<= " + value + " " + b + ")))";
  if (std::find(assertions_.begin(), assertions_.end(), bounds) == assertions_.end())
    assertions_.push_back(bounds);
  return value;
}

std::string Query::product(const Product& p) {
  const auto& [terms, mask] = p;
  if (terms.empty()) return literal(mask);
  std::string x = *terms.rbegin();
  for (auto t = std::next(terms.rbegin()); t != terms.rend(); ++t) x = conjunction(*t, x);
  if (mask == -1) return x;
  // Of a negative mask the bits that are not in it are the few: x & m = x - (x & ~m).
  if (mask < 0) return "(- " + x + " " + product({terms, ~mask}) + ")";
  return ((mask + 1) & mask) == 0 ? "(mod " + x + " " + literal(mask + 1) + ")"
                                  : conjunction(x, literal(mask));
}

// In each bit x ^ y = x + y - 2 x y and x | y = x + y - x y, and x x = x: every formula of bit operations is one sum of products of bits, the
// same for two that are the same function of their operands' bits. What holds in each bit holds of the numbers, with & for the product.
std::optional<Query::Products> Query::products(const FormulaRef& f,
                                               const std::map<std::string, std::string>& names) {
  constexpr std::size_t most = 64; // twice as many for each operand more of an xor
  if (f->op == Op::bit_and || f->op == Op::bit_or || f->op == Op::bit_xor) {
    auto a = products(f->args[0], names), b = products(f->args[1], names);
    if (!a || !b) return std::nullopt;
    Products both, sum = *a;
    auto put = [](Products& to, const Product& p, Wide times) {
      if (p.first.empty() && p.second == 0) return;
      Wide& n = to[p];
      n += times;
      if (n == 0) to.erase(p);
    };
    for (const auto& [x, n] : *a)
      for (const auto& [y, k] : *b) {
        Product p{x.first, x.second & y.second};
        p.first.insert(y.first.begin(), y.first.end());
        if (p.second != 0) put(both, p, n * k);
      }
    if (f->op == Op::bit_and)
      sum = std::move(both);
    else {
      for (const auto& [y, k] : *b) put(sum, y, k);
      for (const auto& [p, n] : both) put(sum, p, f->op == Op::bit_xor ? -2 * n : -n);
    }
    if (sum.size() > most) return std::nullopt;
    return sum;
  }
  if (auto n = number(f, names)) return *n == 0 ? Products{} : Products{{{{}, *n}, 1}};
  auto t = term(f, names);
  if (!t) return std::nullopt;
  return Products{{{{*t}, -1}, 1}};
}

// What the conditions fix is a number too.
std::optional<Wide> Query::number(const FormulaRef& f,
                                  const std::map<std::string, std::string>& names) const {
  for (const std::string& n : names_of(f))
    if (names.count(n) != 0) return std::nullopt;
  auto p = context_.poly(f);
  return p ? p->constant() : std::nullopt;
}

std::optional<std::string> Query::boolean(const FormulaRef& f,
                                          const std::map<std::string, std::string>& names) {
  auto infix = [&](const char* op) -> std::optional<std::string> {
    auto a = term(f->args[0], names), b = term(f->args[1], names);
    if (!a || !b) return std::nullopt;
    return std::string("(") + op + " " + *a + " " + *b + ")";
  };
  switch (f->op) {
  case Op::lt: return infix("<");
  case Op::le: return infix("<=");
  case Op::gt: return infix(">");
  case Op::ge: return infix(">=");
  case Op::eq: return infix("=");
  case Op::ne: {
    auto t = infix("=");
    if (!t) return std::nullopt;
    return "(not " + *t + ")";
  }
  case Op::logical_and:
  case Op::logical_or: {
    auto a = boolean(f->args[0], names), b = boolean(f->args[1], names);
    if (!a || !b) return std::nullopt;
    return std::string(f->op == Op::logical_and ? "(and " : "(or ") + *a + " " + *b + ")";
  }
  case Op::logical_not: {
    auto a = boolean(f->args[0], names);
    if (!a) return std::nullopt;
    return "(not " + *a + ")";
  }
  default: {
    auto t = term(f, names);
    if (!t) return std::nullopt;
    return "(not (= " + *t + " 0))";
  }
  }
}

// User's symbols as the polynomials that the conditions made of them: divisibility is then in the coefficients, where solvers see it.
std::optional<std::string> Query::term(const FormulaRef& f, const std::map<std::string, std::string>& names) {
  if (f->op == Op::integer) return literal(f->value);
  if (f->op == Op::name) {
    if (auto it = names.find(f->name); it != names.end()) return it->second;
    return term(context_.user(f->name));
  }
  if (is_condition(f->op)) {
    auto b = boolean(f, names);
    if (!b) return std::nullopt;
    return "(ite " + *b + " 1 0)";
  }
  if (f->op == Op::select) {
    auto c = boolean(f->args[0], names);
    auto a = term(f->args[1], names), b = term(f->args[2], names);
    if (!c || !a || !b) return std::nullopt;
    return "(ite " + *c + " " + *a + " " + *b + ")";
  }
  if (f->op == Op::bit_and || f->op == Op::bit_or || f->op == Op::bit_xor) {
    auto sum = products(f, names);
    if (!sum) return std::nullopt;
    std::string text;
    for (const auto& [p, n] : *sum)
      text += n == 1 ? " " + product(p) : " (* " + literal(n) + " " + product(p) + ")";
    if (sum->empty()) return "0";
    return sum->size() == 1 ? text.substr(1) : "(+" + text + ")";
  }
  std::vector<std::string> args;
  for (const FormulaRef& a : f->args) {
    auto t = term(a, names);
    if (!t) return std::nullopt;
    args.push_back(*t);
  }
  switch (f->op) {
  case Op::neg: return "(- " + args[0] + ")";
  case Op::add: return "(+ " + args[0] + " " + args[1] + ")";
  case Op::sub: return "(- " + args[0] + " " + args[1] + ")";
  case Op::mul: return "(* " + args[0] + " " + args[1] + ")";
  case Op::div:
  case Op::mod: {
    auto names_in = names_of(f->args[1]);
    bool symbols =
        std::none_of(names_in.begin(), names_in.end(), [&](const auto& n) { return names.count(n) != 0; });
    auto d = symbols ? context_.poly(f->args[1]) : std::nullopt;
    return division(f->op == Op::div, args[0], args[1], d && context_.positive(*d));
  }
  case Op::min: return "(ite (<= " + args[0] + " " + args[1] + ") " + args[0] + " " + args[1] + ")";
  case Op::max: return "(ite (>= " + args[0] + " " + args[1] + ") " + args[0] + " " + args[1] + ")";
  case Op::shl:
  case Op::shr: {
    auto s = number(f->args[1], names);
    if (!s || *s < 0 || *s > 60) return std::nullopt;
    // A shift by a symbol is a power, which linear integers do not have: no term.
    std::string power = literal(Wide{1} << static_cast<int>(*s));
    return f->op == Op::shl ? "(* " + args[0] + " " + power + ")" : "(div " + args[0] + " " + power + ")";
  }
  default: return std::nullopt;
  }
}

std::string Query::text(bool with_model) const {
  std::string out;
  for (const std::string& c : comments_) out += "; " + c + "\n";
  out += "(set-logic ALL)\n";
  for (const std::string& d : declarations_) out += d + "\n";
  for (const std::string& a : assertions_) out += "(assert " + a + ")\n";
  if (goals_.size() == 1) out += "(assert " + goals_[0] + ")\n";
  if (goals_.size() > 1) {
    out += "(assert (or";
    for (const std::string& g : goals_) out += " " + g;
    out += "))\n";
  }
  out += "(check-sat)\n";
  if (with_model && !watched_.empty()) {
    out += "(get-value (";
    for (std::size_t k = 0; k < watched_.size(); ++k) out += (k ? " " : "") + watched_[k];
    out += "))\n";
  }
  return out;
}

namespace {

// "((v_a 3) (|v_b'| (- 4)))" in the order asked.
std::map<std::string, Wide> read_model(const std::string& text, const std::vector<std::string>& watched) {
  std::map<std::string, Wide> model;
  std::size_t at = 0;
  for (const std::string& name : watched) {
    // From where the last one was found: the answer is in the order in which they were asked for.
    at = text.find("(" + name + " ", at);
    if (at == std::string::npos) return {};
    at += name.size() + 2;
    bool negative = false;
    // `(- 4)` and `-4` are both written by solvers: a sign anywhere before the digits.
    while (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at])))
      negative |= text[at++] == '-';
    Wide value = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
      value = add(multiply(value, 10), text[at++] - '0');
    model[name] = negative ? -value : value;
  }
  return model;
}

// "unsat" counts only when no error was reported before it: after an assertion that was not understood it would be about less than was
// asked, and so would "sat". An error after the answer is that of the model's query.
Result read(const std::string& output, const std::string& solver, const std::vector<std::string>& watched) {
  Result r;
  r.solver = solver;
  std::size_t error = output.find("(error");
  std::size_t unsat = output.find("unsat"), sat = output.find("sat");
  if (unsat != std::string::npos && unsat == (sat == std::string::npos ? unsat : sat - 2) &&
      (error == std::string::npos || error > unsat)) {
    r.answer = Answer::unsat;
  } else if (sat == 0 && error == std::string::npos) {
    r.answer = Answer::sat;
    try {
      r.model = read_model(output, watched);
    } catch (const Overflow&) {
      r.answer = Answer::unknown;
    }
  }
  return r;
}

std::string find_program(const char* name) {
  const char* path = std::getenv("PATH");
  std::string dirs = path ? path : "/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= dirs.size();) {
    std::size_t end = std::min(dirs.find(':', begin), dirs.size());
    std::string file = dirs.substr(begin, end - begin) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

// The program's output on this input, reading and writing at once so that neither side can block the other.
std::string filter(const std::vector<std::string>& command, const std::string& input) {
  int to[2], from[2];
  // Close-on-exec, or a solver started by another thread at the same moment would inherit the pipe and keep it open.
  if (pipe2(to, O_CLOEXEC) != 0) return {};
  if (pipe2(from, O_CLOEXEC) != 0) {
    close(to[0]), close(to[1]);
    return {};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  // What a solver says beside its answer would stand between the user's own lines.
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  std::string output;
  if (!failed) {
    std::thread writer([&] {
      // SIGPIPE would end this process if the solver went away: block it in this thread only.
      sigset_t pipe_signal;
      sigemptyset(&pipe_signal);
      sigaddset(&pipe_signal, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
      std::size_t done = 0;
      while (done < input.size()) {
        ssize_t n = write(to[1], input.data() + done, input.size() - done);
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
      }
      close(to[1]);
    });
    std::array<char, 4096> buffer;
    ssize_t n;
    // An answer is a line and a model; 16 MiB are a solver gone wrong, and no reason to fill the memory.
    while ((n = ::read(from[0], buffer.data(), buffer.size())) > 0 && output.size() < (std::size_t{1} << 24))
      output.append(buffer.data(), static_cast<std::size_t>(n));
    writer.join();
    int status = 0;
    waitpid(pid, &status, 0);
  } else {
    close(to[1]);
  }
  close(from[0]);
  return output;
}

void ignore_error(Z3_context, Z3_error_code) {} // the text says "(error", which read() looks for

} // namespace

namespace {

// What one way of searching gives up on another often finds at once: a remap of eight XCDs is shown injective in 0.1 s
// without relevancy, and in no time that anybody waited with it. Parameters of the tactic, not options of Z3: those are
// the process's.
constexpr std::array<const char*, 2> ways{"", " :relevancy 0"};

Result z3_once(const std::string& text, const std::vector<std::string>& watched, std::uint64_t steps,
               const char* way, const std::atomic<bool>* cancel) {
  // Beyond this Z3 gives up on a query; the setting is the process's, for all contexts.
  static std::once_flag memory;
  std::call_once(memory, [] { Z3_global_param_set("memory_max_size", "2048"); });
  Z3_config config = Z3_mk_config();
  Z3_context context = Z3_mk_context(config);
  Z3_set_error_handler(context, ignore_error);
  // The older of Z3's arithmetic solvers: the newer one (6, the default) spends minutes in Horner's scheme, tangent lemmas,
  // nlsat or Groebner bases without counting a step, on questions as small as 'disjoint (n,n):(1,n) 64 o (m+n,m+1):(1,m+n)';
  // this one keeps to its steps, about six million of them a second, and decides nearly the same (of 1500 random questions
  // 51 with 6, 43 with 2, at 20,000 steps).
  // The query's own text stays as it is shown and certified; the tactic is how this solver is asked, not
  // what.
  std::string script = text;
  std::string tactic =
      "(check-sat-using (then simplify propagate-values solve-eqs (using-params smt :arith.solver 2 "
      ":random_seed 0" +
      std::string(way) + ")))";
  if (std::size_t at = script.find("(check-sat)"); at != std::string::npos) script.replace(at, 11, tactic);
  {
    // The limit is read by this context while the option is set, but the option belongs to the process.
    static std::mutex options;
    std::lock_guard lock(options);
    Z3_eval_smtlib2_string(context, ("(set-option :rlimit " + std::to_string(steps) + ")").c_str());
  }
  // Steps are the only budget. Nobody looks at a clock, unless somebody may want to cancel: a verdict must not depend on how
  // busy the machine is.
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::thread watcher;
  if (cancel)
    watcher = std::thread([&] {
      std::unique_lock lock(mutex);
      // Polled, as the flag is the caller's and tells nobody when it changes; 20 ms are what a cancelled
      // proof may take longer.
      while (!done.wait_for(lock, std::chrono::milliseconds(20), [&] { return finished; }))
        if (*cancel) Z3_interrupt(context);
    });
  std::string output = Z3_eval_smtlib2_string(context, script.c_str());
  if (cancel) {
    {
      std::lock_guard lock(mutex);
      finished = true;
    }
    done.notify_one();
    watcher.join();
  }
  Z3_del_context(context);
  Z3_del_config(config);
  return read(output, "Z3", watched);
}

} // namespace

Result z3(const std::string& text, const std::vector<std::string>& watched, std::uint64_t steps,
          const std::atomic<bool>* cancel) {
  Result r;
  for (const char* way : ways) {
    r = z3_once(text, watched, steps, way, cancel);
    if (r.answer != Answer::unknown || (cancel && *cancel)) break;
  }
  return r;
}

bool cvc5_installed() { return !find_program("cvc5").empty(); }

// A program and no library: it is there or it is not, and what it does to its memory or its limits stays its own.
Result cvc5(const std::string& text, const std::vector<std::string>& watched, std::uint64_t steps) {
  std::string program = find_program("cvc5");
  if (program.empty()) return {Answer::unknown, "cvc5", {}};
  std::string options = "(set-option :produce-models true)\n";
  return read(
      filter({program, "--lang=smt2", "--seed=0", "--rlimit=" + std::to_string(steps)}, options + text),
      "cvc5", watched);
}

// A second solver is no second opinion here but a second chance; second opinions are the checker's (certificate.cpp).
Result portfolio(const Query& query, std::uint64_t steps, const std::atomic<bool>* cancel) {
  Result first = z3(query.text(true), query.watched(), steps, cancel);
  if (first.answer != Answer::unknown || (cancel && *cancel)) return first;
  // A step of cvc5 is about a hundred times as long as one of Z3.
  return cvc5(query.text(true), query.watched(), steps / 100);
}

} // namespace inlay::solver::smt
