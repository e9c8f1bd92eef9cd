// `inlay prove`, `recheck` and `search`: exit statuses, text and JSON, and a witness that `inlay eval` confirms.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace prove_test {

namespace {
const std::string tiled = "((128,m),(128,n)):((1,128),(128*m,16384*m))", plain = "(128*m,128*n):(1,128*m)";
} // namespace

TEST_CASE("prove: the C tile, proved and refuted") {
  Ran yes = inlay_command({"prove", "equal", tiled, plain});
  CHECK(yes.exit == 0);
  CHECK(yes.out == "equal: proved (normal form)\n");
  Ran no = inlay_command({"prove", "equal", "((128,m),(128,n)):((1,128),(128*m,16385*m))", plain, "--json"});
  CHECK(no.exit == 1);
  auto j = nlohmann::json::parse(no.out);
  CHECK(j["property"] == "equal");
  CHECK(j["verdict"] == "refuted");
  CHECK(j["time_us"].is_number());
  CHECK(j["certificate"].is_null());
  const auto& w = j["witness"];
  CHECK(w["index"] == 16384);
  // `inlay eval` gives the witness's values at its index with its symbols filled in.
  auto filled = [&](std::string text) {
    for (const auto& [name, value] : w["symbols"].items()) {
      std::string number = value.dump();
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += number.size())
        text.replace(at, 1, number);
    }
    // eval takes numbers: multiply the products out.
    for (std::size_t star; (star = text.find('*')) != std::string::npos;) {
      std::size_t left = star, right = star + 1;
      while (left > 0 && std::isdigit(static_cast<unsigned char>(text[left - 1]))) --left;
      while (right < text.size() && std::isdigit(static_cast<unsigned char>(text[right]))) ++right;
      long product =
          std::stol(text.substr(left, star - left)) * std::stol(text.substr(star + 1, right - star - 1));
      text.replace(left, right - left, std::to_string(product));
    }
    return text;
  };
  auto value = [&](const std::string& layout) {
    return inlay_command({"eval", filled(layout), "--at", w["index"].dump()}).out;
  };
  CHECK(value("((128,m),(128,n)):((1,128),(128*m,16385*m))").find(w["lhs"].dump()) != std::string::npos);
  CHECK(value(plain).find(w["rhs"].dump()) != std::string::npos);
}

TEST_CASE("prove: facts, formulas, undecided, bad input") {
  CHECK(inlay_command({"prove", "aligned", "(M,K):(2*K,16)", "16", "--where", "K % 8 == 0"}).exit == 0);
  CHECK(inlay_command({"prove", "aligned", "(M,K):(2*K,16)", "16"}).exit == 1);
  CHECK(inlay_command({"prove", "equal", "(r,c) -> r*128 + (c ^ (r%8)*16)", "Sw<3,4,3> o 0 o (M,128):(128,1)",
                       "--domain", "(M,128)"})
            .exit == 0);
  CHECK(inlay_command({"prove", "conflict-free", "Sw<3,4,3> o 0 o ((16,4)):((128,16))", "--access",
                       "ds_read_b128", "--arch", "gfx942"})
            .exit == 0);
  CHECK(inlay_command(
            {"prove", "coalesced", "((8,8),8):((8,K),1)", "--element-bytes", "2", "--where", "K % 64 == 0"})
            .exit == 0);
  CHECK(inlay_command({"prove", "coalesced", "((4,16),8):((8,K),1)", "--element-bytes", "2", "--where",
                       "K % 64 == 0", "--lines", "15"})
            .exit == 1);
  // A misspelt name limits nothing; what an equation names is a definition.
  const auto noted = [](const std::string& where) {
    const Ran ran = inlay_command({"prove", "injective", "(M,K):(ld,1)", "--where", where});
    return (ran.out + ran.err).find("the symbol q occurs in one condition, and nowhere") != std::string::npos;
  };
  CHECK(noted("q >= K && ld >= K"));
  CHECK(!noted("ld >= K"));
  CHECK(!noted("ld >= K && K == 8 * q"));
  CHECK(!noted("q >= K && ld >= q"));
  Ran open = inlay_command({"prove", "injective", "(i * 7919) % 1000003", "--domain", "1000003", "--limit",
                            "1000", "--steps", "0"});
  CHECK(open.exit == 3);
  CHECK(open.out.find("1000") != std::string::npos); // the limit is named
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"prove", "equal", "((((", "1:0"},
           {"prove", "equal", "4:1"},
           {"prove", "shiny", "4:1"},
           {"prove", "equal", "M:1", "M:1", "--where", "M % 4 == 0 && M == 6"},
           {"prove", "equal", "M:1", "M:1", "--where", "Q % 4 == 0"},
           {"prove", "equal", "i / 0", "i", "--domain", "8"},
           {"prove", "equal", "i", "i"},
           {"prove", "conflict-free", "64:4"},
           {"prove", "conflict-free", "64:4", "--access", "ds_read_b128", "--arch", "gfx1100"},
           {"prove", "coalesced", "(64,16):(16,1)", "--element-bytes", "2"},
           {"prove", "coalesced", "64:4", "--arch", "gfx1100"},
           {"recheck", "/nonexistent/certificate"}}) {
    Ran r = inlay_command(bad);
    CAPTURE(bad, r.err);
    CHECK(r.exit == 2);
    CHECK(r.err.find("error") != std::string::npos);
  }
  const Ran below = inlay_command({"prove", "injective", "4:1", "--limit", "-1"});
  CHECK(below.exit == 2);
  CHECK(below.err == "error: --limit: -1 is less than 0\n  hint   inlay prove --help\n");
}

TEST_CASE("certificates through the command line") {
  std::string file = "prove_test.cert.smt2";
  REQUIRE(inlay_command({"prove", "equal", tiled, plain, "--cert", file}).exit == 0);
  Ran accepted = inlay_command({"recheck", file});
  CHECK(accepted.exit == 0);
  CHECK(accepted.out.find("accepted: equal (normal form), Z3: unsat") == 0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  std::string bad = text.str();
  bad.replace(bad.find("128"), 3, "129");
  CHECK(inlay_command({"recheck", "-"}, bad).exit == 1);
  CHECK(inlay_command({"recheck", "-"}, text.str()).exit == 0);
  CHECK(inlay_command({"recheck", "-"}, "").exit == 2);
}

TEST_CASE("prove: what is wrong with a question is said in one message") {
  struct Bad {
    std::vector<std::string> arguments;
    int exit;
    const char* says;
  };
  for (const Bad& bad : std::vector<Bad>{
           {{"equal", "M:1", "M:1", "--where", "M % 4 == 0 && M == 6"},
            2,
            "the conditions contradict each other"},
           {{"equal", "M:1", "M:1", "--where", "M > 5", "--where", "M < 3"}, 2, "M >= 6 && M <= 2"},
           {{"equal", "M:1", "M:1", "--where", "M*M == 2"}, 2, "no value satisfies them"},
           {{"equal", "M:1", "M:1", "--where", "Q % 4 == 0"}, 2, "the question's symbols are: M"},
           {{"equal", "M:1", "M:1", "--where", "M % 0 == 0"}, 2, "error: "},
           {{"equal", "i / 0", "i", "--domain", "8"}, 2, "division by zero"},
           {{"equal", "i/(M-1)", "i/(M-1)", "--domain", "8"}, 2, "division by zero"},
           {{"within", "i % (M-1)", "100", "--domain", "8"}, 2, "guard the divisor"},
           // Options that may be repeated take one value: what follows is an argument.
           {{"within", "i + M", "--domain", "8", "--where", "M < 3", "9"}, 1, "outside [0, 9)"},
           {{"injective", "M - 1:1"}, 2, "say with --where what keeps it positive"},
           {{"injective", "(i*7919) % 1000003", "--domain", "1000003", "--limit", "1000", "--steps", "0"},
            3,
            "enumeration of more than 1000 indices (the limit; --limit N raises it)"},
           {{"covers", "(i*i) % 1099511627791", "1099511627776", "--domain", "1099511627776", "--steps", "0",
             "--limit", "4096"},
            3,
            "enumeration of more than 4096 indices"},
           {{"injective", "4:1", "--limit", "99999999999"}, 2, "more than 67108864 indices"},
           {{"coalesced", "(64,16):(16,1)", "--element-bytes", "2"},
            2,
            "one instruction moves 1, 2, 4, 8, 12 or 16 bytes a lane"},
           {{"coalesced", "(M,4):(4,1)"}, 2, "counts lanes and has to be a number up to 64, not M"},
           {{"coalesced", "64:4", "--arch", "gfx1100"}, 2, "gfx942 (MI300X"},
           {{"conflict-free", "64:4", "--access", "ds_read_b128", "--arch", "gfx1100"}, 2, "gfx942 (MI300X"},
           {{"conflict-free", "64:128*k", "--access", "ds_read_b32", "--where", "k*k > 100000"},
            1,
            "32-way conflict"}}) {
    std::vector<std::string> command{"prove"};
    command.insert(command.end(), bad.arguments.begin(), bad.arguments.end());
    Ran r = inlay_command(command);
    CAPTURE(bad.arguments, r.out, r.err);
    CHECK(r.exit == bad.exit);
    CHECK((bad.exit == 2 ? r.err : r.out).find(bad.says) != std::string::npos);
    CHECK((bad.exit == 2) == (r.err.find("error: ") == 0));
  }
}

TEST_CASE("search") {
  Ran r = inlay_command({"search", "swizzle", "--arch", "gfx942", "--tile", "8192", "--view",
                         "ds_read_b128 ((16,4),(2,4)):((128,16),(64,2048))", "--view",
                         "ds_write_b128 ((8,8),8):((16,128),1024)", "--json"});
  CHECK(r.exit == 0);
  bool found = false;
  auto parsed = nlohmann::json::parse(r.out);
  for (const auto& c : parsed["found"]) found |= c["swizzle"] == "Sw<3,4,3>";
  CHECK(found);
  for (const auto& c : parsed["found"])
    for (const auto& proof : c["proofs"]) CHECK(proof["verdict"] == "proved");
  // What gfx950 needs instead: its other lane groups allow more.
  Ran other = inlay_command({"search", "swizzle", "--arch", "gfx950", "--tile", "8192", "--all", "--view",
                             "ds_read_b128 ((16,4),(2,4)):((128,16),(64,2048))", "--view",
                             "ds_write_b128 ((8,8),8):((16,128),1024)"});
  CHECK(other.exit == 0);
  CHECK(other.out.find("is conflict-free on gfx950 for 2 views (proved)") != std::string::npos);
  CHECK(other.out.find("Sw<3,4,4>") != std::string::npos);
  CHECK(r.out.find("Sw<3,4,4>") == std::string::npos);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"search", "vector", "(K,M):(1,K)", "--where", "K % 8 == 0", "--json"},
           {"search", "tiler", "--rows", "128", "--columns", "64", "--json"}}) {
    auto j = nlohmann::json::parse(inlay_command(command).out);
    auto proofs = j.contains("found") ? j["found"][0]["proofs"] : j["proofs"];
    CHECK(proofs.size() == 2);
    for (const auto& proof : proofs) CHECK(proof["verdict"] == "proved");
  }
  CHECK(inlay_command({"search", "padding", "--row-bytes", "128", "--rows", "64", "--view",
                       "ds_read_b128 ((16,4)):((ld,16))"})
            .out.find("ld = 160") == 0);
  CHECK(inlay_command({"search", "vector", "(K,M):(1,K)", "--where", "K % 8 == 0"}).out.find("8 elements") ==
        0);
  CHECK(inlay_command({"search", "tiler", "--rows", "7", "--columns", "64"}).exit == 1);
  CHECK(inlay_command({"search", "swizzle", "--tile", "8192"}).exit == 2);
  CHECK(inlay_command({"search", "swizzle", "--tile", "8192", "--view", "nonsense"}).exit == 2);
}

} // namespace prove_test
