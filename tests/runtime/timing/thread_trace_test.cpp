// Thread traces: what the model writes and reads again is the model, and what does not fit is said.
#include "timing_support.h"

#include <inlay/runtime/timing/thread_trace.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace thread_trace_test {

using namespace timing_test;

namespace {

const std::string loop_body = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    s_movk_i32 s3, 20
    s_waitcnt lgkmcnt(0)
    loop:
    v_add_u32 v2, v1, v1
    global_load_dwordx4 v[4:7], v1, s[4:5]
    v_mov_b32 v15, 0
    ds_read_b128 v[8:11], v1
    v_exp_f32 v3, v2
    v_mov_b32 v12, 0
    ds_write_b128 v1, v[8:11]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_barrier
    s_mov_b32 s6, 0
    ds_read_b32 v13, v1
    s_load_dwordx2 s[8:9], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_load_dwordx2 s[8:9], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    ds_read_b32 v14, v1
    s_waitcnt lgkmcnt(0)
    s_sub_u32 s3, s3, 1
    s_cmp_lg_u32 s3, 0
    s_cbranch_scc1 loop
    s_endpgm
)";

struct Exported {
  Trace trace;
  TimingReport report;
  ChipTime chip;
  std::string folder;
  explicit Exported(const Parameters& p, const std::string& name, const std::string& body = loop_body)
      : trace(record(body, {.arch = p.arch(), .block = 256, .lds = 65536})),
        report(analyse(trace, trace.program.instructions.front().address, p, {}, false)),
        folder((std::filesystem::temp_directory_path() / ("inlay_trace_test_" + name)).string()) {
    report.kernel = "k";
    const ChipPlan c = plan(p, 1, 1, 4);
    const UnitQueue q = heaviest(c, {}).front();
    chip = extrapolate(c, q, q.workgroups, report.unit);
    write_thread_trace(report, trace.program, folder, 2000);
  }
  ~Exported() { std::filesystem::remove_all(folder); }
};

void change(const std::string& file, const std::function<void(nlohmann::json&)>& f) {
  nlohmann::json j = nlohmann::json::parse(std::ifstream(file));
  f(j);
  std::ofstream(file) << j;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

} // namespace

TEST_CASE("a modelled unit written as a thread trace and read again is the model") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const Exported x(Parameters::of(arch), isa::to_string(arch).data());
    const ThreadTrace m = read_thread_trace(x.folder);
    CHECK(m.kernel == "k");
    CHECK(m.waves.size() == 4);
    CHECK(m.all_waves == 4);
    CHECK(m.mhz == Approx(2000).epsilon(0.01));
    const AgainstTrace a = compare_with_trace(x.report, x.trace, x.chip, m);
    CHECK(a.launch_measured <= a.launch_modelled);
    CHECK(a.launch_measured > 0.9 * a.launch_modelled);
    REQUIRE(a.instructions.size() == x.trace.program.instructions.size());
    for (const InstructionClocks& i : a.instructions) {
      INFO(i.text);
      CHECK(i.measured == Approx(i.modelled).margin(0.01));
    }
    CHECK(a.misplaced == Approx(0).margin(1e-6));
    CHECK(a.kinds_off == Approx(0).margin(1e-6));
    CHECK(a.rank == Approx(1));
    REQUIRE(a.loops.size() == 1);
    CHECK(a.loops[0].trips == Approx(20));
    CHECK(a.loops[0].measured ==
          Approx(a.loops[0].modelled).epsilon(0.2)); // the model leaves out the first and the last
    REQUIRE(a.measured_waves.size() == a.modelled_waves.size());
    CHECK(to_text(a).find("instructions that differ most") != std::string::npos);
    CHECK(nlohmann::json::parse(to_json(a))["instructions"].size() == a.instructions.size());
    CHECK(to_html(a, x.report, x.trace, m).find("<canvas") != std::string::npos);
    CHECK(nlohmann::json::parse(to_perfetto(x.report, x.trace.program))["traceEvents"].size() > 100);
  }
}

TEST_CASE("clocks that a trace has at an instruction are compared there") {
  const Exported x(Parameters::of(isa::Arch::gfx950), "one");
  change(x.folder + "/se0_sm0_sl0_wv0.json", [](nlohmann::json& j) {
    auto& rows = j["wave"]["instructions"];
    rows.back()[3] = rows.back()[3].get<unsigned>() + 4000;
  });
  const AgainstTrace a = compare_with_trace(x.report, x.trace, x.chip, read_thread_trace(x.folder));
  const InstructionClocks& last = a.instructions.back();
  CHECK(last.text.starts_with("s_endpgm"));
  CHECK(last.measured == Approx(last.modelled + 1000)); // of four waves one
  CHECK(a.misplaced > 0.01);
}

TEST_CASE("traces that are none, or of another kernel, are one message") {
  const Exported x(Parameters::of(isa::Arch::gfx950), "bad");
  const Exported other(Parameters::of(isa::Arch::gfx950), "other",
                       "v_mov_b32 v1, 0\n" + times(80, "v_add_u32 v1, v1, v0") + "s_endpgm\n");
  CHECK(error_of([&] { (void)read_thread_trace("/nowhere"); }).find("hint") != std::string::npos);
  CHECK(error_of([&] {
          (void)compare_with_trace(other.report, other.trace, other.chip, read_thread_trace(x.folder));
        }).find("the trace is of another kernel: at +0x0") != std::string::npos);
  change(x.folder + "/se0_sm0_sl0_wv0.json",
         [](nlohmann::json& j) { j["wave"]["instructions"][0][4] = 9999; });
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("line 9999 of a code of") !=
        std::string::npos);
  change(x.folder + "/code.json", [](nlohmann::json& j) { j["code"][1] = {"s_nop 0"}; });
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("lacks number 5") != std::string::npos);
  std::ofstream(x.folder + "/code.json") << "{";
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("is no JSON") != std::string::npos);
}

TEST_CASE("what a damaged trace lacks is said, not compared") {
  const std::string wave = "se0_sm0_sl0_wv0.json";
  struct Row {
    std::string file;
    std::function<void(nlohmann::json&)> damage;
    const char* says;
  };
  const std::vector<Row> rows = {
      {wave, [](auto& j) { j["wave"]["instructions"][2][0] = 1e300; }, "number 0 of a row is too large"},
      {wave, [](auto& j) { j["wave"]["instructions"][2][2] = 1ULL << 32; }, "number 2 of a row is too large"},
      {wave,
       [](auto& j) {
         j["wave"]["instructions"][2] = {1, 2};
       },
       "a row lacks number 2"},
      {wave, [](auto& j) { j["wave"]["instructions"] = nlohmann::json::array(); }, "without instructions"},
      {wave, [](auto& j) { j["wave"]["begin"] = 4000000000U; }, "ends before it begins"},
      {wave, [](auto& j) { j["wave"]["end"] = -1; }, "a row lacks number 1"},
      {wave, [](auto& j) { j["wave"].erase("end"); }, "lacks wave.begin"},
      {"occupancy.json", [](auto& j) { j = nlohmann::json::object(); }, "no begin of a wave with an end"},
      {"occupancy.json", [](auto& j) { j = nlohmann::json::array(); }, "no begin of a wave with an end"},
      {"occupancy.json",
       [](auto& j) {
         std::erase_if(j["0"].template get_ref<nlohmann::json::array_t&>(),
                       [](const auto& e) { return e[4] == 0; });
       },
       "no begin of a wave with an end"},
      {"occupancy.json",
       [](auto& j) {
         std::erase_if(j["0"].template get_ref<nlohmann::json::array_t&>(),
                       [](const auto& e) { return e[4] == 1; });
       },
       "no begin of a wave with an end"},
      {"occupancy.json", [](auto& j) { j["1"] = j["0"]; }, "no real time of a shader engine"},
      {"realtime.json", [](auto& j) { j["SE0"][0] = "x"; }, "a row lacks number 0"},
  };
  for (const Row& r : rows) {
    INFO(r.file << ": " << r.says);
    const Exported x(Parameters::of(isa::Arch::gfx950), "damaged");
    change(x.folder + "/" + r.file, r.damage);
    CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find(r.says) != std::string::npos);
  }
  // One engine needs no real time: the launch's clocks are the same, only its MHz are not known.
  const Exported x(Parameters::of(isa::Arch::gfx950), "one_engine");
  const double clocks = read_thread_trace(x.folder).clocks;
  change(x.folder + "/realtime.json", [](auto& j) { j.erase("SE0"); });
  CHECK(read_thread_trace(x.folder).clocks == clocks);
  CHECK(read_thread_trace(x.folder).mhz == 0);
}

TEST_CASE("an export does not leave waves of another trace beside its own") {
  const Exported x(Parameters::of(isa::Arch::gfx950), "again");
  write_thread_trace(x.report, x.trace.program, x.folder, 2000); // the same once more
  CHECK(read_thread_trace(x.folder).waves.size() == 4);
  std::ofstream(x.folder + "/se3_sm0_sl0_wv0.json") << "{}";
  CHECK(error_of([&] {
          write_thread_trace(x.report, x.trace.program, x.folder, 2000);
        }).find("se3_sm0_sl0_wv0.json") != std::string::npos);
}

namespace {

/// Numbers as the raw files and the decoder's records have them, one after the other.
struct Raw {
  std::string bytes;
  template <class... T>
  Raw& put(T... values) {
    (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return *this;
  }
  Raw& occupancy(std::uint64_t time, bool begins) {
    return put(std::uint64_t{0}, std::uint64_t{3}, time, std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2},
               std::uint8_t{0}, std::uint32_t{begins});
  }
  Raw& instruction(unsigned stall, int duration, std::int64_t time, std::uint64_t address,
                   std::uint64_t object = 3) {
    return put(std::uint32_t{6 | stall << 8}, duration, time, address, object);
  }
  Raw& wave(unsigned simd, std::int64_t begin, std::int64_t end, std::uint64_t instructions) {
    return put(std::uint8_t{1}, static_cast<std::uint8_t>(simd), std::uint8_t{4}, std::uint8_t{0}, 0, 0, 0,
               begin, end, std::uint64_t{0}, instructions, std::uint64_t{0}, std::uint64_t{0});
  }
};

/// A folder as rocprofv3 leaves it, of a kernel of four instructions and another that nobody ran.
struct RawFolder {
  std::string folder = (std::filesystem::temp_directory_path() / "inlay_raw_trace_test").string();
  std::uint64_t entry = 0;
  RawFolder() {
    std::filesystem::create_directories(folder);
    const auto code =
        kernel("v_mov_b32 v1, 0\nv_add_u32 v2, v1, v1\ns_nop 0\ns_endpgm\n", isa::Arch::gfx950, {});
    entry = CodeObject::parse(code).kernels()[0].address;
    write("12_code_object_id_3.out", {code.begin(), code.end()});
    for (unsigned engine : {0U, 1U}) write_engine(engine, true);
  }
  /// One wave of it; `ends`: whether its end is among the events.
  void write_engine(unsigned engine, bool ends) const {
    const std::uint64_t zero = 5000 + 100000 * engine;  // engines count from different clocks
    const std::uint64_t from = zero + 40 + 60 * engine; // and have their first wave at different times
    Raw r;
    r.put(std::uint64_t{ends ? 2U : 1U}).occupancy(from, true);
    if (ends) r.occupancy(from + 300, false);
    r.put(std::uint64_t{2}, std::int64_t(zero), std::uint64_t{70}, std::uint64_t{0},
          std::int64_t(zero + 2000), std::uint64_t{170}, std::uint64_t{0});
    r.put(std::uint64_t{100000000}, std::uint64_t{1});
    const auto at = static_cast<std::int64_t>(from);
    r.wave(2, at, at + 300, 4);
    r.instruction(0, 4, at + 30, entry)
        .instruction(8, 12, at + 34, entry + 4)
        .instruction(0, 4, at + 50, 0x9999, 8)
        .instruction(200, 204, at + 60, entry + 12);
    write("12_34_shader_engine_" + std::to_string(engine) + "_7.att", r.bytes);
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  }
  ~RawFolder() { std::filesystem::remove_all(folder); }
};

} // namespace

TEST_CASE("raw traces are read by the decoder's library, where there is one") {
  const RawFolder x;
  ::setenv("INLAY_TRACE_DECODER", INLAY_FAKE_TRACE_DECODER, 1);
  const ThreadTrace t = read_thread_trace(x.folder);
  CHECK(t.kernel == "k");
  REQUIRE(t.code.size() == 5);
  CHECK(t.code[0].text == "; k");
  CHECK(t.code[2].text == "v_add_u32_e32 v2, v1, v1");
  CHECK(t.code[2].address == x.entry + 4);
  CHECK(t.all_waves == 2);
  CHECK(t.mhz == Approx(2000)); // 2000 clocks in 100 ticks of 10 ns
  CHECK(t.clocks == 360);       // from 40 to 400 after each engine's first real time
  CHECK(t.begins == std::vector<std::uint32_t>{0});
  REQUIRE(t.waves.size() == 2);
  const TracedWave& w = t.waves[1];
  CHECK(w.engine == 1);
  CHECK(w.simd == 2);
  CHECK(w.slot == 4);
  CHECK(w.begin == 0);
  CHECK(w.end == 300);
  REQUIRE(w.instructions.size() == 3); // one is of code that is not there
  const TracedInstruction& second = w.instructions[1];
  CHECK(second.at == 34);
  CHECK(second.stall == 8);
  CHECK(second.duration == 12);
  CHECK(second.line == 2);
  CHECK(w.instructions[2].stall == 200);
  CHECK(w.instructions[2].line == 4);

  ::setenv("INLAY_TRACE_DECODER", "/nowhere/decoder.so", 1);
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("/nowhere/decoder.so cannot be opened") !=
        std::string::npos);
  ::setenv("INLAY_TRACE_DECODER", INLAY_FAKE_TRACE_DECODER, 1);
  for (unsigned engine : {0U, 1U}) x.write_engine(engine, false);
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("no begin of a wave with an end") !=
        std::string::npos);
  x.write("12_34_shader_engine_0_7.att", "short");
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("the decoder says 4") != std::string::npos);
  x.write("12_34_shader_engine_0_8.att", "short");
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("traces of 2 dispatches") !=
        std::string::npos);
  std::filesystem::remove(x.folder + "/12_34_shader_engine_0_8.att");
  std::filesystem::remove(x.folder + "/12_code_object_id_3.out");
  CHECK(error_of([&] { (void)read_thread_trace(x.folder); }).find("no *_code_object_id_*.out") !=
        std::string::npos);
}

TEST_CASE("the folder that rocprofv3 wrote is taken as it is") {
  namespace fs = std::filesystem;
  const RawFolder raw;
  const Exported decoded(Parameters::of(isa::Arch::gfx950), "inside");
  const fs::path top = fs::temp_directory_path() / "inlay_rocprofv3_output_test";
  fs::remove_all(top);
  fs::create_directories(top / "host");
  std::ofstream(top / "stats_12_34_dispatch_7.csv") << "Codeobj,Vaddr\n";
  fs::copy(raw.folder, top / "host", fs::copy_options::recursive);
  ::setenv("INLAY_TRACE_DECODER", INLAY_FAKE_TRACE_DECODER, 1);
  CHECK(read_thread_trace(top.string()).all_waves == 2);
  // What rocprofv3 has decoded itself needs no decoder.
  ::setenv("INLAY_TRACE_DECODER", "/nowhere/decoder.so", 1);
  fs::copy(decoded.folder, top / "host" / "ui_output_agent_34_dispatch_7", fs::copy_options::recursive);
  CHECK(read_thread_trace(top.string()).all_waves == 4);
  CHECK(read_thread_trace((top / "host").string()).all_waves == 4);
  fs::copy(decoded.folder, top / "host" / "ui_output_agent_34_dispatch_8", fs::copy_options::recursive);
  const std::string several = error_of([&] { (void)read_thread_trace(top.string()); });
  CHECK(several.find("has 2 traces") != std::string::npos);
  CHECK(several.find("ui_output_agent_34_dispatch_8\n  hint") != std::string::npos);
  fs::remove_all(top);
}

TEST_CASE("traces of the model give back the numbers that it ran with") {
  const Parameters built_in = Parameters::of(isa::Arch::gfx950);
  const std::vector<std::pair<const char*, double>> numbers = {
      {"valu_to_memory_clk", 16}, {"mfma_to_memory_clk", 20}, {"salu_to_memory_clk", 24},
      {"salu_to_branch_clk", 12}, {"branch_taken_clk", 28},   {"scalar_hit_clk", 56},
      {"issue:v_exp_", 16},       {"issue:ds_write_b128", 24}};
  Parameters changed = built_in;
  for (const auto& [name, value] : numbers) changed = changed.with(name, value, "test");
  for (const Parameters* truth : std::initializer_list<const Parameters*>{&built_in, &changed}) {
    const Exported x(*truth, "calibrate");
    std::vector<TracedNumber> fitted;
    const Parameters p = calibrate_from_traces(built_in, {read_thread_trace(x.folder)}, fitted);
    for (const auto& [name, value] : numbers) {
      INFO(name);
      const auto of = [&](const Parameters& q) {
        const std::string n = name;
        return n.starts_with("issue:") ? double{1} * q.issue_clocks(n.substr(6)) : q[n];
      };
      CHECK(of(p) == of(*truth));
    }
  }
  // What is hardly seen keeps its number.
  const Exported x(changed, "few");
  std::vector<TracedNumber> fitted;
  CHECK(calibrate_from_traces(built_in, {read_thread_trace(x.folder)}, fitted,
                              100000)["valu_to_memory_clk"] == built_in["valu_to_memory_clk"]);
}

TEST_CASE("how far apart instructions are is the commonest, or what was known if it is less and seen") {
  const auto fitted_to = [](double known, std::initializer_list<std::pair<unsigned, std::uint32_t>> pairs) {
    ThreadTrace t;
    t.code = {
        {"; k", 0}, {"v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 0}, {"ds_read_b32 v1, v2", 8}};
    TracedWave w;
    std::uint32_t at = 0;
    for (const auto& [n, apart] : pairs)
      for (unsigned i = 0; i < n; ++i, at += 1000) {
        w.instructions.push_back({at, 0, 4, 1});
        w.instructions.push_back({at + apart, 0, 4, 2});
      }
    t.waves = {w};
    std::vector<TracedNumber> fitted;
    const Parameters p = Parameters::of(isa::Arch::gfx950).with("mfma_to_memory_clk", known, "test");
    return calibrate_from_traces(p, {t}, fitted)["mfma_to_memory_clk"];
  };
  CHECK(fitted_to(8, {{20, 8}, {90, 24}}) == 8);   // others are in the way of most
  CHECK(fitted_to(8, {{4, 8}, {90, 24}}) == 24);   // accidents
  CHECK(fitted_to(32, {{20, 8}, {90, 24}}) == 24); // never so far apart
  CHECK(fitted_to(24, {{60, 8}, {50, 24}}) == 8);
}

} // namespace thread_trace_test
