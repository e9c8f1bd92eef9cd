// `choose`: what `auto` means. A choice is a function of what is asked, no form is longer than what stands without sizes, what is given
// stays, and the cache answers what was chosen.
#include <inlay/kernels/choose.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/model_form.h>
#include <inlay/kernels/workers.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace choose_test {

using namespace inlay::kernels;
using Catch::Matchers::Contains;

namespace {

/// A directory of its own for choices, while it lives.
struct Directory {
  std::filesystem::path path;
  Directory() {
    path =
        std::filesystem::temp_directory_path() / ("inlay_choices_" + std::to_string(std::random_device{}()));
    ::setenv("INLAY_CACHE_DIR", path.c_str(), 1);
    forget();
  }
  ~Directory() {
    ::unsetenv("INLAY_CACHE_DIR");
    std::filesystem::remove_all(path);
    forget();
  }
};

ChooseOptions uncached() {
  ChooseOptions how;
  how.cache = false;
  return how;
}

double clocks_of(const std::string& kernel, const Flags& flags) {
  const auto k = find_kernel(kernel);
  return model(k->build(flags, {}), k->sizes(flags)).clocks;
}

} // namespace

TEST_CASE("options: a row says everything, and only options that change speed are auto") {
  for (const auto& kernel : registry()) {
    INFO(kernel->name());
    for (const FlagHelp& f : kernel->flags()) {
      INFO(f.name);
      CHECK(!f.help.empty());
      CHECK(f.help.find('\n') == std::string::npos);
      CHECK(!f.range.empty());
      CHECK(f.speed == (f.fallback == "auto"));
      CHECK((f.unchosen.empty() || f.speed));
    }
  }
  const auto gemm = find_kernel("gemm");
  CHECK_THROWS_WITH(gemm->forms({{"tiles", "1x1x1"}}), Contains("unknown option '--tiles'") &&
                                                           Contains("did you mean --tile? --arch") &&
                                                           Contains("--tile,"));
  CHECK_THROWS_WITH(gemm->forms({{"tile", "1x1"}}),
                    Contains("gemm: --tile '1x1' is not of the form 128x128x64"));
  CHECK_THROWS_WITH(gemm->forms({{"m", "0"}}), Contains("is not a number from 1 to 16777216"));
  CHECK_THROWS_WITH(gemm->forms({{"scales", "maybe"}}), Contains("is not yes or no"));
  CHECK_THROWS_WITH(gemm->forms({{"direct", "c"}}), Contains("is none of none, a, b"));
}

TEST_CASE("choose: options answer to their former names") {
  const auto gemm = find_kernel("gemm");
  CHECK(gemm->renamed(
            {{"transfer", "yes"}, {"direct", "a"}, {"parts", "stored"}, {"stream-k", "304"}, {"m", "64"}}) ==
        Flags{{"direct-to-lds", "yes"},
              {"direct-to-vgpr", "a"},
              {"split-k-fixup", "yes"},
              {"stream-k-workgroups", "304"},
              {"m", "64"}});
  CHECK(gemm->renamed({{"parts", "added"}}) == Flags{{"split-k-fixup", "no"}});
  CHECK(gemm->renamed({{"transfer", "yes"}, {"direct-to-lds", "auto"}}) == Flags{{"direct-to-lds", "yes"}});
  CHECK(gemm->renamed({{"transfer", "auto"}, {"direct-to-lds", "no"}}) == Flags{{"direct-to-lds", "no"}});
  CHECK_THROWS_WITH(gemm->renamed({{"transfer", "yes"}, {"direct-to-lds", "no"}}), Contains("given twice"));
  // What is fixed by a former name is fixed.
  const auto forms = gemm->forms({{"transfer", "no"}});
  REQUIRE(!forms.empty());
  CHECK(forms.size() == gemm->forms({{"direct-to-lds", "no"}}).size());
  for (const Form& f : forms) CHECK(f.options.at("direct-to-lds") == "no");
  CHECK(gemm->forms({{"direct-to-lds", "yes"}}).size() != forms.size());
}

TEST_CASE("options: auto is what stands without sizes where nobody chooses") {
  const auto gemm = find_kernel("gemm");
  Flags named, automatic;
  for (const FlagHelp& f : gemm->flags())
    if (f.speed) named[f.name] = f.unchosen, automatic[f.name] = "auto";
  named["tile"] = "128x128x64";
  const Artifact plain = gemm->build({}, {});
  CHECK(gemm->build(named, {}).hsaco == plain.hsaco);
  CHECK(gemm->build(automatic, {}).hsaco == plain.hsaco);
  named["tile"] = "64x64x64";
  CHECK(gemm->build(named, {}).hsaco != plain.hsaco);
}

TEST_CASE(
    "choose: the same every time, what is given stays, and no form is longer than the one without sizes") {
  const Directory directory;
  for (const auto& [kernel, asked] :
       {std::pair<std::string, Flags>{"gemm", {{"m", "512"}, {"n", "512"}, {"k", "512"}}},
        {"gemm", {{"arch", "gfx950"}, {"dtype", "fp8"}, {"m", "16"}, {"n", "1024"}, {"k", "2048"}}},
        {"gemm", {{"m", "300"}, {"n", "500"}, {"k", "264"}, {"waves", "2x2"}, {"transfer", "no"}}},
        {"preshuffle_gemm", {{"m", "256"}, {"n", "512"}, {"k", "512"}}},
        {"softmax", {{"m", "1000"}, {"n", "4096"}}}}) {
    INFO(kernel << " " << words(asked));
    const auto k = find_kernel(kernel);
    ChooseOptions fresh;
    fresh.cache = false;
    fresh.in_full = 3, fresh.few = 0;
    const Choice c = choose(*k, asked, fresh);
    REQUIRE(c.from == Choice::From::model);
    CHECK(choose(*k, asked, fresh).options == c.options);
    const Flags all = with(asked, c);
    for (const auto& [name, value] : asked) CHECK(all.at(name) == value);
    CHECK(clocks_of(kernel, all) == Approx(c.clocks));
    CHECK(c.clocks <= clocks_of(kernel, asked) * 1.001);
    CHECK_THAT(c.why, Contains("modelled clocks"));
    REQUIRE(c.ranking.size() > 1);
    for (const Ranked& r : c.ranking)
      if (r.modelled) CHECK(r.modelled->clocks >= c.clocks);
  }
}

TEST_CASE("choose: what was built with its claims is handed out once, and forms as close as the last are "
          "modelled") {
  const Directory directory;
  const auto kernel = find_kernel("gemm");
  const Flags asked = {
      {"dtype", "fp8"}, {"m", "64"}, {"n", "256"}, {"k", "512"}}; // of which the table has no row
  ChooseOptions how;
  how.in_full = 1, how.as_close = 0;
  const Choice one = choose(*kernel, asked, how);
  CHECK(one.modelled == 1);
  REQUIRE(one.built);
  CHECK(one.built->proofs.proved() > 0);
  CHECK(one.built->hsaco == kernel->build(with(asked, one), {}).hsaco);
  CHECK(build(*kernel, asked, one, {}).hsaco == one.built->hsaco);
  const Choice kept = choose(*kernel, asked, how);
  CHECK_FALSE(kept.built);
  CHECK(build(*kernel, asked, kept, {}).hsaco == one.built->hsaco);
  how.as_close = 3;
  const Choice more = choose(*kernel, asked, how);
  const std::vector<Form> forms = kernel->forms(asked);
  std::size_t close = 1;
  while (close < 4 && forms.at(close).clocks <= 1.1 * forms[0].clocks) ++close;
  REQUIRE(close > 1);
  CHECK(more.modelled == close);
  CHECK(more.clocks <= one.clocks);
}

TEST_CASE("model: workgroups that wait for one another share lines with those of all XCDs") {
  // 258 workgroups, more than the model looks at where they are apart: seen from one XCD alone, each line would come from memory for
  // each XCD, and the launch take twice its clocks.
  const Flags flags = {{"arch", "gfx942"},
                       {"dtype", "bf16"},
                       {"m", "256"},
                       {"n", "4096"},
                       {"k", "4096"},
                       {"tile", "96x96x64"},
                       {"waves", "2x2"},
                       {"direct-to-lds", "yes"},
                       {"n-multiple", "8"},
                       {"split", "2048"},
                       {"split-k-fixup", "yes"}};
  const auto gemm = find_kernel("gemm");
  CHECK(model_form(*gemm, flags, {}, false).clocks < 45'000);
}

TEST_CASE("model: a matrix that is loaded once counts by what the whole of K loads, not by a short sum") {
  // Of K = 128 most lines are the residual's, which no two units share; with all lines from memory the launch would take half as long again.
  const auto gemm = find_kernel("gemm");
  for (const char* added : {"residual", "beta"}) {
    Flags flags = {{"arch", "gfx950"}, {"dtype", "bf16"},      {"m", "4096"},    {"n", "4096"},
                   {"k", "4096"},      {"tile", "256x256x32"}, {"waves", "2x4"}, {"direct-to-lds", "yes"},
                   {"n-multiple", "8"}};
    const double without = model_form(*gemm, flags, {}, false).clocks;
    flags[added] = "yes";
    const double with = model_form(*gemm, flags, {}, false).clocks;
    CAPTURE(added, without, with);
    CHECK(with > without);
    CHECK(with < 1.2 * without);
  }
}

TEST_CASE("choose: products of every type have forms for one row") {
  for (const char* kernel : {"gemm", "preshuffle_gemm"})
    for (const char* type : {"f16", "bf16", "fp8", "bf8", "i8", "fp4", "mxfp6"}) {
      if (std::string(type) == "mxfp6" && std::string(kernel) != "gemm") continue;
      INFO(kernel << " " << type);
      CHECK_FALSE(find_kernel(kernel)
                      ->forms({{"arch", "gfx950"}, {"dtype", type}, {"m", "1"}, {"n", "512"}, {"k", "4096"}})
                      .empty());
    }
}

TEST_CASE("choose: nothing to choose where everything is given or a kernel has one form") {
  const auto gemm = find_kernel("gemm");
  Flags all;
  for (const FlagHelp& f : gemm->flags())
    if (f.speed) all[f.name] = f.unchosen;
  all["tile"] = "64x64x64";
  ChooseOptions fresh;
  fresh.cache = false;
  CHECK(choose(*gemm, all, fresh).from == Choice::From::nothing);
  CHECK(choose(*find_kernel("vector_add"), {}, fresh).from == Choice::From::nothing);
  Choice other;
  other.options = {{"tile", "1x1x1"}, {"m", "4"}};
  CHECK(with({{"tile", "auto"}, {"m", "3"}}, other) == Flags{{"tile", "1x1x1"}, {"m", "3"}});
}

TEST_CASE("choose: every kernel has forms where options change only speed, and says why where there is "
          "nothing to choose") {
  std::size_t with_forms = 0;
  for (const auto& kernel : registry()) {
    INFO(kernel->name());
    const std::vector<FlagHelp> flags = kernel->flags();
    const bool any = std::any_of(flags.begin(), flags.end(), [](const FlagHelp& f) { return f.speed; });
    CHECK(any == !kernel->forms({}).empty());
    with_forms += any ? 1 : 0;
    if (!any) CHECK_THAT(choose(*kernel, {}, uncached()).why, Contains("no option changes only speed"));
    // A form names options that change only speed, and no others.
    for (const Form& form : kernel->forms({}))
      for (const auto& [option, value] : form.options)
        CHECK(std::any_of(flags.begin(), flags.end(),
                          [&, name = option](const FlagHelp& f) { return f.name == name && f.speed; }));
  }
  CHECK(with_forms > 40);
  CHECK_THAT(choose(*find_kernel("softmax"),
                    {{"threads", "64"}, {"vectors", "2"}, {"vector", "0"}, {"stream", "no"}}, uncached())
                 .why,
             Contains("is given"));
}

TEST_CASE("choose: one form is built with its claims and not modelled") {
  const auto kernel = find_kernel("transpose");
  const std::map<std::string, std::string> given = {{"tile", "64"}};
  REQUIRE(kernel->forms(given).size() == 1);
  const Choice c = choose(*kernel, given, uncached());
  CHECK(c.from == Choice::From::model);
  CHECK(c.modelled == 0);
  CHECK(c.clocks == 0);
  REQUIRE(c.built);
  CHECK(c.built->proofs.proved() > 0);
  CHECK_THAT(c.why, Contains("the one form for these sizes"));
}

TEST_CASE("choose: forms of products for which LDS has no room are no forms") {
  const auto gemm = find_kernel("gemm");
  // Two stages are all of gfx942's LDS, and the last workgroup of a tile has a word of it.
  Flags flags = {{"arch", "gfx942"},
                 {"m", "1024"},
                 {"n", "1280"},
                 {"k", "8192"},
                 {"waves", "2x2"},
                 {"split", "2752"},
                 {"split-k-fixup", "yes"},
                 {"direct-to-lds", "yes"}};
  for (const char* tile : {"96x160x64", "64x192x64"}) {
    flags["tile"] = tile;
    CHECK(gemm->forms(flags).empty());
    CHECK_THROWS_WITH(gemm->build(flags, {}),
                      Contains("take 65536 bytes of LDS, and gfx942 has room for 65532"));
  }
  flags["tile"] = "96x128x64";
  CHECK_FALSE(gemm->forms(flags).empty());
  CHECK(gemm->build(flags, {}).proofs.proved() > 0);
  flags["split"] = "0", flags["split-k-fixup"] = "no", flags["tile"] = "96x160x64";
  CHECK(gemm->build(flags, {}).proofs.proved() > 0);
  // Lanes exchange results only of powers of two; others are stored as they are, and not by way of LDS.
  for (const char* waves : {"1x4", "2x2", "2x4"})
    CHECK(gemm->build({{"arch", "gfx950"},
                       {"dtype", "fp4"},
                       {"tile", "192x256x256"},
                       {"waves", waves},
                       {"direct-to-lds", "yes"}},
                      {})
              .proofs.proved() > 0);
}

TEST_CASE(
    "choose: parts of K are added by atomics only for who asks for that, of a result that can be added to") {
  const auto gemm = find_kernel("gemm");
  Flags asked = {{"arch", "gfx950"}, {"dtype", "bf16"}, {"out", "f32"},
                 {"m", "32"},        {"n", "128"},      {"k", "6144"}};
  const auto with_parts = [&](const Flags& flags) {
    std::set<std::string> how;
    for (const Form& form : gemm->forms(flags))
      if (form.options.at("split") != "0") how.insert(form.options.at("split-k-fixup"));
    return how;
  };
  CHECK(with_parts(asked) == std::set<std::string>{"yes"});
  const Choice stored = choose(*gemm, asked, uncached());
  asked["split-k-fixup"] = "no";
  CHECK(with_parts(asked) == std::set<std::string>{"no"});
  const Choice added = choose(*gemm, asked, uncached());
  CHECK(added.options.at("split") != "0");
  CHECK(added.clocks < stored.clocks); // by what the last workgroup of a tile does otherwise
  const Check check = [&] {
    const Flags all = with(asked, added);
    const Problem problem = gemm->problem(all, 1);
    const Artifact built = gemm->build(all, {});
    const auto device = open_device("emulator", built.arch, {});
    return problem.check(run(*device, built, problem));
  }();
  INFO(check.message);
  CHECK(check.ok);
  for (const auto& [name, value] : {std::pair{"bias", "yes"},
                                    {"row-bias", "yes"},
                                    {"residual", "yes"},
                                    {"activation", "relu"},
                                    {"beta", "yes"},
                                    {"deterministic", "yes"},
                                    {"amax", "yes"}}) {
    Flags no = asked;
    no[name] = value;
    INFO(name);
    CHECK(with_parts(no).empty());
    CHECK(!gemm->forms(no).empty());
  }
}

TEST_CASE("choose: parts are added to a C of 16 bits two at a time, at most eight of them, and the bound "
          "counts how often it is rounded") {
  struct Row {
    const char *kernel, *arch, *type;
    Flags more;
  };
  for (const auto& [name, arch, type, more] :
       {Row{"preshuffle_gemm", "gfx942", "i8", {{"scales", "yes"}, {"out", "bf16"}}},
        Row{"gemm", "gfx950", "bf16", {}}, Row{"gemm", "gfx942", "f16", {{"alpha", "yes"}}}}) {
    INFO(name << " " << arch << " " << type);
    const auto kernel = find_kernel(name);
    Flags asked = {{"arch", arch}, {"dtype", type}, {"m", "32"}, {"n", "128"}, {"k", "5120"}};
    asked.insert(more.begin(), more.end());
    const auto of_parts = [&](const Flags& flags) {
      std::map<std::string, std::int64_t> most; // by what joins them
      for (const Form& form : kernel->forms(flags))
        if (const std::int64_t each = std::stoll(form.options.at("split")); each > 0) {
          std::int64_t& parts = most[form.options.at("split-k-fixup")];
          parts = std::max(parts, (5120 + each - 1) / each);
        }
      return most;
    };
    CHECK(of_parts(asked).count("no") == 0);
    Flags added = asked;
    added["split-k-fixup"] = "no";
    CHECK(of_parts(added) == std::map<std::string, std::int64_t>{{"no", 8}});
    for (const char* what : {"yes", "batch"}) {
      Flags same = added;
      same["deterministic"] = what;
      INFO(what);
      CHECK(of_parts(same).empty());
    }
    Flags odd = added;
    odd["n"] = name == std::string("gemm") ? "127" : "48";
    CHECK(of_parts(odd).count("no") == (name == std::string("gemm") ? 0U : 1U));
    // As many roundings in the bound as there are parts, and the same C of zeros gives it.
    const Choice choice = choose(*kernel, added, uncached());
    REQUIRE(choice.options.at("split") != "0");
    const Flags all = with(added, choice);
    const Problem problem = kernel->problem(all, 1);
    const Artifact built = kernel->build(all, {});
    const auto device = open_device("emulator", built.arch, {});
    const Check check = problem.check(run(*device, built, problem));
    INFO(check.message);
    CHECK(check.ok);
    CHECK_THAT(check.bound, Contains("2 parts u"));
    Flags refused = all;
    refused["deterministic"] = "yes";
    CHECK_THROWS_WITH(
        kernel->build(refused, {}),
        Contains("deterministic is refuted") &&
            Contains(std::string("added by atomics of ") + (type == std::string("f16") ? "f16" : "bf16")));
  }
}

TEST_CASE("choose: where there are few forms all are modelled, whatever their bounds say") {
  const Directory directory;
  const auto kernel = find_kernel("rmsnorm");
  const Flags asked = {{"arch", "gfx942"}, {"dtype", "bf16"}, {"m", "200"}, {"n", "4096"}};
  ChooseOptions how;
  how.cache = false;
  const std::vector<Form> forms = kernel->forms(asked);
  REQUIRE(forms.size() <= how.few);
  const Choice all = choose(*kernel, asked, how);
  CHECK(all.modelled == forms.size());
  how.few = forms.size() - 1;
  CHECK(choose(*kernel, asked, how).modelled < forms.size());
  how.few = 0, how.in_full = forms.size(),
  how.as_close = 0; // one after the other, in the order of the bounds
  CHECK(choose(*kernel, asked, how).options == all.options);
}

TEST_CASE("choose: the directory and memory have what was chosen; a damaged entry is none") {
  const Directory directory;
  const auto kernel = find_kernel("softmax");
  const Flags asked = {{"m", "100"}, {"n", "512"}};
  ChooseOptions how;
  how.in_full = 2, how.few = 0;
  const Choice first = choose(*kernel, asked, how);
  REQUIRE(first.from == Choice::From::model);
  CHECK(choose(*kernel, asked, how).from == Choice::From::memory);
  forget();
  const Choice again = choose(*kernel, asked, how);
  CHECK(again.from == Choice::From::disk);
  CHECK(again.options == first.options);
  CHECK(again.why == first.why);
  // Other options, other sizes and another way to model are other questions.
  CHECK(choose(*kernel, {{"m", "101"}, {"n", "512"}}, how).from == Choice::From::model);
  how.in_full = 1;
  CHECK(choose(*kernel, asked, how).from == Choice::From::model);
  how.in_full = 2;
  for (const auto& e : std::filesystem::recursive_directory_iterator(directory.path))
    if (e.is_regular_file()) std::filesystem::resize_file(e.path(), std::filesystem::file_size(e.path()) - 2);
  forget();
  CHECK(choose(*kernel, asked, how).from == Choice::From::model);
  // What tuning found is what is chosen from then on.
  Choice tuned = first;
  tuned.options["threads"] = "1024";
  remember(*kernel, asked, tuned, how);
  forget();
  CHECK(choose(*kernel, asked, how).options.at("threads") == "1024");
  // From memory in microseconds: the best of many, since others are at work.
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 2000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Choice c = choose(*kernel, asked, how);
    best = std::min(
        best, std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin));
  }
  CHECK(best < std::chrono::microseconds(10));
}

TEST_CASE("model_form: clocks of a launch of the proved kernel, from the directory the second time; a "
          "damaged entry is none") {
  const Directory directory;
  const auto kernel = find_kernel("gemm");
  const Flags flags = {{"m", "64"}, {"n", "64"}, {"k", "128"}, {"tile", "64x64x64"}, {"direct-to-lds", "no"}};
  CHECK(model_form(*kernel, flags, {}, false).clocks == Approx(clocks_of("gemm", flags)));
  CHECK(!std::filesystem::exists(directory.path / "choices"));
  const double first = model_form(*kernel, flags, {}).clocks;
  std::vector<std::filesystem::path> kept;
  for (const auto& e : std::filesystem::directory_iterator(directory.path / "choices"))
    if (e.is_regular_file()) kept.push_back(e.path());
  REQUIRE(kept.size() == 1);
  // What stands there is what is answered, if it is whole.
  std::ifstream in(kept[0]);
  std::string key, form;
  REQUIRE((std::getline(in, key) && std::getline(in, form)));
  const auto put = [&](const std::string& rest) {
    std::ofstream(kept[0]) << key << "\n" << form << "\n" << rest;
  };
  put("7 1 1 2 3 4 5 lds\nend\n");
  CHECK(model_form(*kernel, flags, {}).clocks == 7);
  CHECK(model_form(*kernel, flags, {}).bound == "lds");
  put("7 1 1 2 3 4 5 lds\n");
  CHECK(model_form(*kernel, flags, {}).clocks == first);
  put("7 1\nend\n");
  CHECK(model_form(*kernel, flags, {}).clocks == first);
  // Flags of another form, and `auto`.
  Flags other = flags;
  other["tile"] = "128x64x64";
  CHECK(model_form(*kernel, other, {}).clocks != first);
  other = flags;
  other["pingpong"] = "auto";
  put("9 1 1 2 3 4 5 -\nend\n");
  CHECK(model_form(*kernel, other, {}).clocks == 9);
  other["tile"] = "96x96x20";
  CHECK_THROWS_WITH(model_form(*kernel, other, {}), Contains("tile_k = 20"));
  CHECK_THROWS_WITH(model_form(*kernel, other, {}), Contains("tile_k = 20"));
  // What is built for its clocks has no claims; what is built after that has them.
  CHECK(kernel->build(flags, {}).proofs.proved() > 10);
}

TEST_CASE("in_processes: answers by job, a job that dies costs its own, and it stops when told") {
  std::vector<std::string> answers(8, "none");
  in_processes(
      8, 3,
      [](std::size_t i) {
        if (i == 3) std::raise(SIGKILL);
        if (i == 5) throw std::runtime_error("no");
        return std::string(i * 3000, 'a') + std::to_string(i);
      },
      [&](std::size_t i, std::optional<std::string> answer) {
        answers[i] = answer.value_or("lost");
        return true;
      });
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(answers[i] == (i == 3 || i == 5 ? "lost" : std::string(i * 3000, 'a') + std::to_string(i)));
  std::size_t heard = 0;
  in_processes(
      100, 2, [](std::size_t) { return std::string("x"); },
      [&](std::size_t, std::optional<std::string>) { return ++heard < 5; });
  CHECK(heard < 12);
  heard = 0;
  in_processes(
      100, 1, [](std::size_t) { return std::string("x"); },
      [&](std::size_t, std::optional<std::string>) { return ++heard < 5; });
  CHECK(heard == 5);
}

TEST_CASE("choose: the shipped table names kernels, sizes and options that there are") {
  for (const TableRow& row : shipped_table()) {
    INFO(row.kernel << " " << row.arch << " " << row.dtype << " " << words(row.options));
    const auto kernel = find_kernel(row.kernel);
    REQUIRE(row.sizes.size() == kernel->size_names().size());
    Flags flags = row.options;
    flags["arch"] = row.arch, flags["dtype"] = row.dtype;
    for (std::size_t i = 0; i < row.sizes.size(); ++i)
      flags[kernel->size_names()[i]] = std::to_string(row.sizes[i]);
    CHECK_NOTHROW(kernel->sizes(flags));
    CHECK(!kernel->forms(flags).empty());
    CHECK(nearest(row.kernel, row.arch, row.dtype, row.sizes)->sizes == row.sizes);
  }
  CHECK(nearest("gemm", "gfx908", "f16", {1, 1, 1}) == nullptr);
}

TEST_CASE("choose: what says the sizes of a kernel are options of it") {
  // Else nobody can give them all, and auto never chooses.
  for (const auto& kernel : registry()) {
    std::set<std::string> options;
    for (const FlagHelp& option : kernel->flags()) options.insert(option.name);
    for (const std::string& size : kernel->size_names()) {
      INFO(kernel->name() << " --" << size);
      CHECK(options.contains(size));
    }
  }
}

TEST_CASE("forms: what a build refuses is no form") {
  const auto of = [](const std::string& kernel, const Flags& asked) {
    return find_kernel(kernel)->forms(asked);
  };
  const Flags large = {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}, {"pingpong", "yes"}};
  const auto with_more = [](Flags flags, const Flags& more) {
    flags.insert(more.begin(), more.end());
    return flags;
  };
  // Ping-pong has all operands by LDS, and two rows and columns of matrix instructions or more for each of 2 x 4 waves.
  CHECK(of("preshuffle_gemm", with_more({{"dtype", "fp8"}}, large)).empty());
  CHECK(of("gemm", with_more({{"dtype", "i8"}, {"tile", "32x128x128"}}, large)).empty());
  CHECK(of("gemm", with_more({{"dtype", "i8"}, {"tile", "64x64x128"}}, large)).empty());
  CHECK(
      of("gemm", with_more({{"arch", "gfx950"}, {"dtype", "fp4"}, {"tile", "128x128x256"}}, large)).empty());
  for (const Flags& asked :
       {with_more({{"dtype", "i8"}, {"tile", "64x128x128"}}, large),
        with_more({{"arch", "gfx950"}, {"dtype", "fp4"}, {"tile", "256x256x256"}}, large),
        Flags{{"arch", "gfx950"}, {"m", "4096"}}}) {
    const std::string kernel = asked.contains("pingpong") ? "gemm" : "block_scale_gemm";
    const auto forms = of(kernel, asked);
    INFO(kernel << " " << words(asked));
    REQUIRE(!forms.empty());
    for (const Form& f : forms) CHECK_NOTHROW(find_kernel(kernel)->build(with_more(asked, f.options), {}));
  }
  // What is refused in any form has none.
  CHECK(of("kv_write", {{"dtype", "f16"}}).empty());
  CHECK(!of("kv_write", {{"dtype", "f16"}, {"kv-dtype", "f16"}}).empty());
}

} // namespace choose_test
