// The seeded-bug suite: each case of defects/cases.txt with its defect is caught by the sanitizer it names, at the site it
// names; its sound twin is silent.
#include "emulator_support.h"

#include <algorithm>
#include <map>

namespace emulator_defects_test {

using namespace emulator_test;

namespace {

struct Case {
  std::string name;
  std::map<std::string, std::string> fields;
  std::string body;
};

std::vector<Case> read_cases() {
  std::istringstream in(read_file(std::string(INLAY_TESTS_DIR) + "/runtime/defects/cases.txt"));
  std::vector<Case> cases;
  bool in_body = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), {}, {}});
      in_body = false;
    } else if (cases.empty()) {
      continue;
    } else if (line == "---") {
      in_body = true;
    } else if (in_body) {
      cases.back().body += line + "\n";
    } else if (const std::size_t colon = line.find(": "); colon != std::string::npos) {
      cases.back().fields[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return cases;
}

/// Marks the site: the address of the label is found through a symbol.
std::string body_of(const Case& c, bool defective) {
  std::string out;
  std::istringstream in(c.body);
  for (std::string line; std::getline(in, line);) {
    const bool bad = line.starts_with("bad|");
    const bool good = line.starts_with("good|");
    if ((bad && !defective) || (good && defective)) continue;
    if (bad) line = line.substr(4);
    if (good) line = line.substr(5);
    out += line + "\n";
  }
  return out;
}

LaunchResult run_case(const Case& c, bool defective, std::vector<std::uint64_t>& sites) {
  const auto field = [&](const std::string& key, const std::string& otherwise) {
    const auto at = c.fields.find(key);
    return at == c.fields.end() ? otherwise : at->second;
  };
  std::string arguments_text = field("args", "in:256 out:256");
  if (defective) arguments_text = field("bad_args", arguments_text);
  const unsigned block = static_cast<unsigned>(std::stoul(field("block", "64")));
  KernelOptions options;
  options.lds = static_cast<unsigned>(std::stoul(field("lds", "0")));
  options.scratch = static_cast<unsigned>(std::stoul(field("scratch", "0")));
  std::string text;
  if (field("bare", "no") != "yes") {
    text = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";
  }
  text += body_of(c, defective);
  if (field("bare", "no") != "yes") text += "s_endpgm\n";
  // Local labels become symbols when they are typed as functions.
  std::string extra = "\n.text\n";
  for (const char* label : {"site", "site2"}) {
    if (text.find(std::string(label) + ":") != std::string::npos) {
      extra += std::string(".globl ") + label + "\n.type " + label + ",@function\n";
    }
  }
  options.extra = "";
  const auto object = kernel(text + extra, isa::Arch::gfx942, options);
  const CodeObject code = CodeObject::parse(object);
  for (const Symbol& s : code.symbols()) {
    if (s.name == "site" || s.name == "site2") sites.push_back(s.address);
  }
  EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all()});
  Arguments arguments;
  std::istringstream list(arguments_text);
  for (std::string one; list >> one;) {
    const std::size_t colon = one.find(':');
    const std::size_t bytes = std::stoul(one.substr(colon + 1));
    const DevicePointer p = device.allocate(bytes);
    if (one.substr(0, colon) != "out") {
      std::vector<std::uint8_t> filled(bytes);
      for (std::size_t i = 0; i < bytes; ++i) filled[i] = static_cast<std::uint8_t>(i / 4 % 8);
      device.copy_in(p, filled);
    }
    arguments.pointer(p);
  }
  const Module module = device.load(code);
  device.launch(device.function(module, "k"), {.grid = {1}, .block = {block}}, arguments.bytes());
  return device.last_launch();
}

} // namespace

TEST_CASE("seeded defects are caught at their site, their twins are silent") {
  const std::vector<Case> cases = read_cases();
  REQUIRE(cases.size() >= 40);
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      std::vector<std::uint64_t> sites;
      const LaunchResult bad = run_case(c, true, sites);
      REQUIRE(!sites.empty());
      INFO("defective:\n" << all(bad.findings));
      const bool caught = std::any_of(bad.findings.begin(), bad.findings.end(), [&](const Finding& f) {
        return to_string(f.kind) == c.fields.at("kind") &&
               std::find(sites.begin(), sites.end(), f.address) != sites.end();
      });
      CHECK(caught);
      std::vector<std::uint64_t> unused;
      const LaunchResult good = run_case(c, false, unused);
      INFO("sound twin:\n" << all(good.findings));
      CHECK(good.findings.empty());
    }
  }
}

TEST_CASE("padding that is copied is a note, everything else that is stored undefined a defect") {
  const std::string start = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 3, v0\nv_mov_b32 v4, 5\n",
                    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)\n", first = "ds_write_b8 v1, v4\n",
                    second = "ds_write_b32 v1, v4 offset:4\n",
                    read = wait + "ds_read_b64 v[6:7], v1\n" + wait,
                    store = "global_store_dwordx2 v1, v[6:7], s[4:5]\n";
  struct Stored {
    std::string name, text;
    bool defect, note;
  };
  const std::vector<Stored> cases = {
      {"{char, int}", first + second + read + store, false, true},
      {"{short, int}", "ds_write_b16 v1, v4\n" + second + read + store, false, true},
      {"moved",
       first + second + read + "v_mov_b32 v8, v6\nv_mov_b32 v9, v7\nv_mov_b32 v6, v8\nv_mov_b32 v7, v9\n" +
           store,
       false, true},
      {"to LDS and back",
       first + second + read + "ds_write_b64 v1, v[6:7] offset:512\n" + wait +
           "ds_read_b64 v[6:7], v1 offset:512\n" + wait + store,
       false, true},
      {"chosen", first + second + read + "s_mov_b64 s[10:11], 3\nv_cndmask_b32 v6, 0, v6, s[10:11]\n" + store,
       false, true},
      {"through scratch",
       wait + "scratch_store_byte off, v4, off\nscratch_store_dword off, v4, off offset:4\n" + wait +
           "scratch_load_dwordx2 v[6:7], off, off\n" + wait + store,
       false, true},
      {"computed with", first + second + read + "v_add_u32 v6, 1, v6\n" + store, true, false},
      {"half of it never written, computed with",
       "ds_write_b16 v1, v4\n" + second + read + "v_add_u32 v6, 1, v6\n" + store, true, false},
      {"the low half of the computed",
       "ds_write_b16 v1, v4\n" + second + read + "v_add_u32 v6, 1, v6\n" +
           "global_store_short v1, v6, s[4:5]\n",
       false, false},
      {"a word that nothing wrote", first + read + store, true, false},
      {"the other word that nothing wrote", second + read + store, true, false},
      {"a byte that nothing wrote", second + read + "global_store_byte v1, v6, s[4:5]\n", true, false},
      {"a half beside what nothing wrote", first + read + "global_store_short v1, v6, s[4:5]\n", false, true},
      {"a register", wait + "v_lshlrev_b32 v6, 8, v20\nv_mov_b32 v7, v4\n" + store, true, false},
      {"a register through LDS", "v_lshlrev_b32 v6, 8, v20\nds_write_b32 v1, v6\n" + second + read + store,
       true, false},
  };
  for (const Stored& c : cases) {
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::parse("uninit")});
    const DevicePointer out = upload(device, std::vector<std::uint32_t>(256));
    const auto findings =
        run(device, kernel(start + c.text + "s_endpgm\n", isa::Arch::gfx942, {.lds = 1024, .scratch = 64}),
            {.grid = {1}, .block = {64}}, Arguments().pointer(out).bytes())
            .findings;
    INFO(c.name << "\n" << all(findings));
    CHECK(std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return !f.note; }) ==
          c.defect);
    CHECK(std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.note; }) == c.note);
  }
}

} // namespace emulator_defects_test
