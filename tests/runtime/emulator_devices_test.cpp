// Several devices at once: all-reduce kernels of clang's against plain sums, mutations of them, and every way to pass a value from one
// device to another against LLVM's memory model.
#include "emulator_support.h"

#include <random>
#include <regex>

namespace emulator_devices_test {

using namespace emulator_test;

namespace {

const std::string folder = INLAY_TESTS_DIR "/isa";

std::string source_of(isa::Arch arch) {
  std::string text = read_file(folder + "/all_reduce.gfx942.s");
  return std::regex_replace(text, std::regex("gfx942"), std::string(isa::to_string(arch)));
}

struct Outcome {
  std::vector<std::vector<float>> outputs; ///< by device
  std::vector<Finding> findings;           ///< that are no notes
  LaunchStatistics statistics;
};

struct Case {
  isa::Arch arch = isa::Arch::gfx942;
  unsigned devices = 4, n = 1000, groups = 2, start = 0; ///< start: where the signals should stand
  unsigned ahead = 0;                                    ///< and by how much they stand too high
  bool two_shot = false;
  EmulatorOptions options = {.checks = Checks::all()};
};

float input(unsigned rank, unsigned i) { return static_cast<float>((i * 7 + rank * 13) % 29) / 3; }

Outcome run_case(const Case& c, const std::string& text) {
  EmulatorDevice device(c.arch, c.options);
  const Module module = device.load(CodeObject::parse(isa::assemble_code_object(text, c.arch)));
  const Function function = device.function(module, c.two_shot ? "two_shot" : "one_shot");
  std::vector<DevicePointer> inputs, parts, signals, outputs;
  for (unsigned r = 0; r < c.devices; ++r) {
    std::vector<float> x(c.n);
    for (unsigned i = 0; i < c.n; ++i) x[i] = input(r, i);
    inputs.push_back(upload(device, x));
    parts.push_back(device.allocate((c.n + c.devices - 1) / c.devices * 4));
    signals.push_back(upload(device, std::vector<unsigned>(8 * c.groups, c.start + c.ahead)));
    outputs.push_back(device.allocate(c.n * 4));
    for (const DevicePointer p : {inputs[r], parts[r], signals[r], outputs[r]}) device.place(p, r);
  }
  std::vector<std::vector<std::uint8_t>> arguments;
  for (unsigned r = 0; r < c.devices; ++r) {
    Arguments a;
    const auto table = [&](const std::vector<DevicePointer>& all) {
      for (unsigned k = 0; k < 8; ++k) a.pointer(k < all.size() ? all[k] : 0);
    };
    table(inputs);
    if (c.two_shot) table(parts);
    table(signals);
    a.pointer(outputs[r]);
    for (const unsigned v : {r, c.devices, c.n, c.start, 256 * c.groups}) a.i32(static_cast<std::int32_t>(v));
    arguments.push_back(a.bytes());
  }
  device.launch_on_devices(function, {.grid = {c.groups, 1, 1}, .block = {256, 1, 1}}, arguments);
  Outcome out;
  for (unsigned r = 0; r < c.devices; ++r) out.outputs.push_back(download<float>(device, outputs[r], c.n));
  for (const Finding& f : device.last_launch().findings)
    if (!f.note) out.findings.push_back(f);
  out.statistics = device.last_launch().statistics;
  return out;
}

void check_right(const Case& c, const Outcome& out) {
  for (unsigned i = 0; i < c.n; ++i) {
    float sum = 0;
    for (unsigned r = 0; r < c.devices; ++r) sum += input(r, i);
    for (unsigned r = 0; r < c.devices; ++r)
      if (std::memcmp(&out.outputs[r][i], &sum, 4) != 0)
        FAIL("element " << i << " of device " << r << " is " << out.outputs[r][i] << ", not " << sum);
  }
}

} // namespace

TEST_CASE("devices: clang's all-reduce kernels are right and silent") {
  for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx950}) {
    const std::string text = source_of(arch);
    for (const bool two_shot : {false, true}) {
      for (const auto& [devices, n, groups, start] : {std::array{2U, 1U, 1U, 0U},
                                                      {3U, 1001U, 2U, 40U},
                                                      {8U, 2050U, 3U, 0xfffffffeU},
                                                      {1U, 300U, 1U, 7U}}) {
        const Case c{
            .arch = arch, .devices = devices, .n = n, .groups = groups, .start = start, .two_shot = two_shot};
        const Outcome out = run_case(c, text);
        INFO(devices << " devices, " << n << " elements, " << groups << " workgroups, two-shot " << two_shot
                     << "\n"
                     << all(out.findings));
        CHECK(out.findings.empty());
        check_right(c, out);
        CHECK(out.statistics.workgroups == devices * groups);
      }
    }
  }
}

TEST_CASE("devices: neither threads nor hostile schedules change a bit") {
  const std::string text = source_of(isa::Arch::gfx942);
  for (const bool two_shot : {false, true}) {
    Case c{.devices = 4, .n = 1500, .groups = 3, .two_shot = two_shot};
    const Outcome plain = run_case(c, text);
    c.options.threads = 4;
    const Outcome threads = run_case(c, text);
    CHECK((threads.outputs == plain.outputs));
    CHECK(threads.statistics.instructions == plain.statistics.instructions);
    c.options = {.stress = true};
    for (c.options.seed = 1; c.options.seed < 4; ++c.options.seed)
      CHECK(run_case(c, text).outputs == plain.outputs);
  }
}

TEST_CASE("devices: what is left out of an all-reduce is found") {
  struct Mutation {
    const char* name;
    const char* from;
    const char* to;
    int which; ///< of the occurrences in the kernel, from 0; -1 all of them
    bool two_shot;
    const char* says;
  };
  // The barrier of workgroups (s_barrier) before signals, the scopes of release, acquire, and signals, one at a time.
  const std::vector<Mutation> all_of_them = {
      {"release of device scope", "buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1", -1, true, "buffer_wbl2 sc0 sc1"},
      {"no release", "buffer_wbl2 sc0 sc1", "s_nop 0", -1, true, "buffer_wbl2 sc0 sc1"},
      {"no release before the parts are read", "buffer_wbl2 sc0 sc1", "s_nop 0", 1, true,
       "buffer_wbl2 sc0 sc1"},
      {"acquire of device scope", "buffer_inv sc0 sc1", "buffer_inv sc1", -1, true, "buffer_inv sc0 sc1"},
      {"no acquire", "buffer_inv sc0 sc1", "s_nop 0", -1, true, "buffer_inv sc0 sc1"},
      {"no acquire before the parts are read", "buffer_inv sc0 sc1", "s_nop 0", 1, true,
       "buffer_inv sc0 sc1"},
      {"signals of device scope", "off sc0 sc1", "off sc1", -1, true, "both have to be of system scope"},
      {"a signal read at device scope", "(global_load_dword v[0-9]+, v\\[[0-9]+:[0-9]+\\], off) sc0 sc1",
       "$1 sc1", 1, true, "both have to be of system scope"},
      {"a signal stored at device scope", "(global_store_dword v\\[[0-9]+:[0-9]+\\], v[0-9]+, off) sc0 sc1",
       "$1 sc1", 1, true, "both have to be of system scope"},
      {"no s_barrier before the second signal", "s_barrier", "s_nop 0", 2, true,
       "nothing that it has read with system scope"},
      {"no s_barrier after the second signal", "s_barrier", "s_nop 0", 3, true, ""},
      {"no s_barrier before the last signal", "s_barrier", "s_nop 0", 4, true,
       "is done: its launch may end before"},
      {"one-shot: release of device scope", "buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1", -1, false,
       "what its stream has stored before this launch"},
      {"one-shot: no acquire", "buffer_inv sc0 sc1", "s_nop 0", -1, false,
       "what its stream has stored before this launch"},
      {"one-shot: no s_barrier before the last signal", "s_barrier", "s_nop 0", 2, false,
       "is done: its launch may end before, and its stream overwrite the byte"},
      {"one-shot: no s_barrier after the first signal", "s_barrier", "s_nop 0", 1, false,
       "nothing that it has read says that this launch has begun there"},
  };
  for (const Mutation& m : all_of_them) {
    std::string text = source_of(isa::Arch::gfx942);
    const std::size_t middle = text.find("two_shot:\n");
    const std::size_t begin = m.two_shot ? middle : 0, end = m.two_shot ? text.size() : middle;
    const std::string before = text.substr(0, begin), after = text.substr(end);
    std::string kernel = text.substr(begin, end - begin), changed;
    int n = 0;
    const std::regex from(m.from);
    std::sregex_iterator at(kernel.begin(), kernel.end(), from);
    std::size_t done = 0;
    for (; at != std::sregex_iterator(); ++at, ++n) {
      const auto place = static_cast<std::size_t>(at->position());
      changed += kernel.substr(done, place - done);
      changed += m.which == -1 || m.which == n ? at->format(m.to) : at->str();
      done = place + static_cast<std::size_t>(at->length());
    }
    changed += kernel.substr(done);
    INFO(m.name);
    REQUIRE(changed != kernel);
    Outcome out;
    try {
      out =
          run_case({.devices = 4, .n = 3000, .groups = 2, .two_shot = m.two_shot}, before + changed + after);
    } catch (const ExecutionError& e) {
      FAIL(e.what());
    }
    INFO(all(out.findings));
    REQUIRE(!out.findings.empty());
    CHECK(std::any_of(out.findings.begin(), out.findings.end(), [&](const Finding& f) {
      return f.kind == FindingKind::races && f.device && f.message.find(m.says) != std::string::npos;
    }));
  }
}

// Signals that an earlier launch has left too high make nobody wait: the sum is of inputs that may not be there.
TEST_CASE("devices: stale signals are no barrier") {
  const Outcome out = run_case({.devices = 2, .ahead = 5}, source_of(isa::Arch::gfx942));
  INFO(all(out.findings));
  CHECK(all(out.findings).find("nothing that it has read says that this launch has begun there") !=
        std::string::npos);
}

// Device 0 stores a value and raises a flag in memory of device 1, device 1 reads the flag until it is raised and then the value. All
// ways to write the four instructions: in order exactly as LLVM's memory model (gfx942) has it.
TEST_CASE("devices: one value passed on, in all scopes") {
  struct Way {
    const char* text;
    bool right;
  };
  // What lies in the memory is the writer's own: only the flag is a peer's.
  const std::vector<Way> releases = {{"", false},
                                     {"s_waitcnt vmcnt(0)", false},
                                     {"buffer_wbl2 sc1\ns_waitcnt vmcnt(0)", false},
                                     {"buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)", true}};
  const std::vector<Way> raises = {
      {"global_store_dword v1, v2, s[6:7]", false},     {"global_store_dword v1, v2, s[6:7] sc0", false},
      {"global_store_dword v1, v2, s[6:7] sc1", false}, {"global_store_dword v1, v2, s[6:7] sc0 sc1", true},
      {"global_atomic_add v1, v2, s[6:7]", false},      {"global_atomic_add v1, v2, s[6:7] sc1", true}};
  const std::vector<Way> polls = {{"global_load_dword v3, v1, s[6:7]", false},
                                  {"global_load_dword v3, v1, s[6:7] sc1", false},
                                  {"global_load_dword v3, v1, s[6:7] sc0 sc1", true},
                                  {"global_atomic_add v3, v1, v1, s[6:7] sc0", false},
                                  {"global_atomic_add v3, v1, v1, s[6:7] sc0 sc1", true}};
  const std::vector<Way> acquires = {
      {"", false}, {"buffer_inv sc0", false}, {"buffer_inv sc1", false}, {"buffer_inv sc0 sc1", true}};
  unsigned right = 0;
  for (const Way& release : releases)
    for (const Way& raise : raises)
      for (const Way& poll : polls)
        for (const Way& acquire : acquires) {
          const std::string body =
              std::string("s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s8, s[0:1], 0x10\n"
                          "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nv_cmp_eq_u32 vcc, 0, v0\n"
                          "s_and_b64 exec, exec, vcc\ns_waitcnt lgkmcnt(0)\n"
                          "s_cmp_lg_u32 s8, 0\ns_cbranch_scc1 read\n"
                          "global_store_dword v1, v2, s[4:5]\n") +
              release.text + "\n" + raise.text + "\ns_waitcnt vmcnt(0)\ns_endpgm\nread:\n" + poll.text +
              "\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\n"
              "s_cbranch_scc1 read\n" +
              acquire.text +
              "\ns_waitcnt vmcnt(0)\nglobal_load_dword v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
              "s_endpgm\n";
          EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all(), .streams = false});
          const auto value = upload(device, std::vector<unsigned>{0}),
                     flag = upload(device, std::vector<unsigned>{0});
          device.place(value, 0);
          device.place(flag, 1);
          const Module module = device.load(CodeObject::parse(kernel(body, isa::Arch::gfx942)));
          std::vector<std::vector<std::uint8_t>> arguments;
          for (int r = 0; r < 2; ++r)
            arguments.push_back(Arguments().pointer(value).pointer(flag).i32(r).bytes());
          device.launch_on_devices(device.function(module, ""), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                                   arguments);
          std::string said;
          for (const Finding& f : device.last_launch().findings)
            if (!f.note) said += to_string(f);
          const bool should = release.right && raise.right && poll.right && acquire.right;
          right += should ? 1 : 0;
          INFO(release.text << " / " << raise.text << " / " << poll.text << " / " << acquire.text << "\n"
                            << said);
          CHECK(said.empty() == should);
        }
  CHECK(right == 4);
}

// The same where flag and value lie in memory that no L2 keeps: device scope is enough, and nothing has to be written back.
TEST_CASE("devices: stores of system scope have to have arrived before the flag") {
  const std::string data = "global_store_dword v1, v2, s[4:5] sc0 sc1\n", wait = "s_waitcnt vmcnt(0)\n",
                    flag = "global_store_dword v1, v2, s[6:7] sc0 sc1\n",
                    plain = "buffer_inv sc0 sc1\nglobal_load_dword v4, v1, s[4:5]\n",
                    scoped = "global_load_dword v4, v1, s[4:5] sc0 sc1\n";
  struct Case {
    std::string writes, reads;
    std::size_t races, notes;
  };
  for (const Case& c :
       {Case{data + wait + flag, plain, 0, 0},
        {data + flag, plain, 1, 0},
        {data + wait + flag, scoped, 0, 0},
        {data + flag, scoped, 0, 1},
        {data + wait + flag + "global_store_dword v1, v2, s[6:7] offset:4 sc0 sc1\n", plain, 0, 0}}) {
    const std::string body =
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s8, s[0:1], 0x10\nv_mov_b32 v1, 0\nv_mov_b32 v2, "
        "1\n"
        "v_cmp_eq_u32 vcc, 0, v0\ns_and_b64 exec, exec, vcc\ns_waitcnt lgkmcnt(0)\ns_cmp_lg_u32 s8, 0\n"
        "s_cbranch_scc1 read\n" +
        c.writes + wait + "s_endpgm\nread:\nglobal_load_dword v3, v1, s[6:7] sc0 sc1\n" + wait +
        "v_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 read\n" + c.reads + wait +
        "s_endpgm\n";
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all(), .streams = false});
    const auto value = upload(device, std::vector<unsigned>{0}),
               flags = upload(device, std::vector<unsigned>{0, 0});
    device.place(value, 0);
    device.place(flags, 1);
    const Module module = device.load(CodeObject::parse(kernel(body, isa::Arch::gfx942)));
    std::vector<std::vector<std::uint8_t>> arguments;
    for (int r = 0; r < 2; ++r) arguments.push_back(Arguments().pointer(value).pointer(flags).i32(r).bytes());
    device.launch_on_devices(device.function(module, ""), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                             arguments);
    std::size_t races = 0, notes = 0;
    std::string said;
    for (const Finding& f : device.last_launch().findings) {
      (f.note ? notes : races) += 1;
      said += to_string(f);
    }
    INFO(c.writes << c.reads << said);
    CHECK(races == c.races);
    CHECK(notes == c.notes);
  }
}

TEST_CASE("devices: uncached memory needs no more than device scope") {
  struct Way {
    const char* raise;
    const char* poll;
    const char* acquire;
    bool right;
  };
  for (const Way& way :
       {Way{"sc1", "sc1", "buffer_inv sc1", true}, Way{"sc0 sc1", "sc0 sc1", "buffer_inv sc0 sc1", true},
        Way{"", "sc1", "buffer_inv sc1", false}, Way{"sc1", "", "buffer_inv sc1", false},
        Way{"sc1", "sc1", "", false}}) {
    for (const bool uncached : {true, false}) {
      const bool should = way.right && (uncached || std::string(way.raise) == "sc0 sc1");
      const std::string body =
          std::string(
              "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s8, s[0:1], 0x10\nv_mov_b32 v1, 0\nv_mov_b32 "
              "v2, 1\n"
              "v_cmp_eq_u32 vcc, 0, v0\ns_and_b64 exec, exec, vcc\ns_waitcnt lgkmcnt(0)\ns_cmp_lg_u32 s8, 0\n"
              "s_cbranch_scc1 read\nglobal_store_dword v1, v2, s[4:5]\n") +
          (uncached ? "" : "buffer_wbl2 sc0 sc1\n") +
          "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7] " + way.raise +
          "\ns_endpgm\nread:\nglobal_load_dword v3, v1, s[6:7] " + way.poll +
          "\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 read\n" +
          way.acquire +
          "\ns_waitcnt vmcnt(0)\nglobal_load_dword v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\ns_endpgm\n";
      EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all(), .streams = false});
      const auto value = upload(device, std::vector<unsigned>{0}),
                 flag = upload(device, std::vector<unsigned>{0});
      device.place(value, 0, uncached);
      device.place(flag, 1, uncached);
      const Module module = device.load(CodeObject::parse(kernel(body, isa::Arch::gfx942)));
      std::vector<std::vector<std::uint8_t>> arguments;
      for (int r = 0; r < 2; ++r)
        arguments.push_back(Arguments().pointer(value).pointer(flag).i32(r).bytes());
      device.launch_on_devices(device.function(module, ""), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                               arguments);
      std::string said;
      for (const Finding& f : device.last_launch().findings)
        if (!f.note) said += to_string(f);
      INFO(way.raise << " / " << way.poll << " / " << way.acquire << ", uncached " << uncached << "\n"
                     << said);
      CHECK(said.empty() == should);
    }
  }
}

// Random programs of three devices, a wave each: stores and loads of shared words, flags that are released and acquired. A race is two
// accesses to one word, one of them a store, that neither the program's order nor a chain of flags orders: said exactly then.
TEST_CASE("devices: random programs race where the definition says so") {
  struct Step {
    unsigned device = 0, word = 0;
    enum { store, load, set, wait } what = store;
  };
  constexpr unsigned devices = 3, words = 2, most_flags = 8;
  std::mt19937 random(36);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  unsigned racy = 0, silent = 0;
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<Step> steps;
    unsigned flags = 0;
    for (unsigned n = 6 + below(14); n != 0; --n) {
      Step s{below(devices), below(words), Step::store};
      const unsigned kind = below(10);
      if (kind < 2 && flags < most_flags) {
        s = {s.device, flags++, Step::set};
      } else if (kind < 7 && flags > 0) {
        s = {s.device, below(flags), Step::wait};
      } else if (kind % 2 == 0) {
        s.what = Step::load;
      }
      steps.push_back(s);
    }
    // The definition: a step comes after those of its device, and after the one that has set the flag that it waits for.
    std::vector<std::vector<bool>> before(steps.size(), std::vector<bool>(steps.size()));
    bool race = false;
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const bool edge =
            steps[k].device == steps[i].device ||
            (steps[i].what == Step::wait && steps[k].what == Step::set && steps[k].word == steps[i].word);
        if (!edge) continue;
        before[i][k] = true;
        for (std::size_t j = 0; j < k; ++j) before[i][j] = before[i][j] || before[k][j];
      }
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        race = race || (!before[i][k] && steps[i].what <= Step::load && steps[k].what <= Step::load &&
                        steps[i].word == steps[k].word &&
                        (steps[i].what == Step::store || steps[k].what == Step::store));
    (race ? racy : silent) += 1;

    std::string body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dword s8, s[0:1], 0x10\nv_mov_b32 v1, "
                       "0\nv_mov_b32 v2, 1\n"
                       "v_cmp_eq_u32 vcc, 0, v0\ns_and_b64 exec, exec, vcc\ns_waitcnt lgkmcnt(0)\n";
    for (unsigned d = 0; d < devices; ++d) {
      const std::string end = "device" + std::to_string(d);
      body += "s_cmp_lg_u32 s8, " + std::to_string(d) + "\ns_cbranch_scc1 " + end + "\n";
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].device != d) continue;
        const std::string data = " s[4:5] offset:" + std::to_string(4 * steps[i].word),
                          flag = " s[6:7] offset:" + std::to_string(4 * steps[i].word) + " sc0 sc1\n";
        switch (steps[i].what) {
        case Step::store: body += "global_store_dword v1, v2," + data + "\n"; break;
        case Step::load: body += "global_load_dword v3, v1," + data + "\ns_waitcnt vmcnt(0)\n"; break;
        case Step::set:
          body += "buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2," + flag;
          break;
        case Step::wait:
          body += "wait" + std::to_string(i) + ":\nglobal_load_dword v3, v1," + flag +
                  "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 wait" +
                  std::to_string(i) + "\nbuffer_inv sc0 sc1\n";
          break;
        }
      }
      body += end + ":\n";
    }
    EmulatorDevice device(isa::Arch::gfx942, {.checks = Checks::all(), .streams = false});
    const auto data = upload(device, std::vector<unsigned>(words)),
               flag = upload(device, std::vector<unsigned>(most_flags));
    device.place(data, below(devices));
    device.place(flag, below(devices));
    const Module module = device.load(CodeObject::parse(kernel(body + "s_endpgm\n", isa::Arch::gfx942)));
    std::vector<std::vector<std::uint8_t>> arguments;
    for (unsigned r = 0; r < devices; ++r)
      arguments.push_back(Arguments().pointer(data).pointer(flag).i32(static_cast<int>(r)).bytes());
    device.launch_on_devices(device.function(module, ""), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                             arguments);
    std::string said;
    for (const Finding& f : device.last_launch().findings)
      if (!f.note) said += to_string(f);
    INFO("round " << round << "\n" << body << said);
    REQUIRE(said.empty() != race);
  }
  CHECK(racy > 50);
  CHECK(silent > 20);
}

TEST_CASE("devices: what cannot be launched is refused") {
  const auto object = kernel("s_endpgm", isa::Arch::gfx90a);
  const std::vector<std::vector<std::uint8_t>> two(2);
  EmulatorDevice old(isa::Arch::gfx90a, {});
  const Function f = old.function(old.load(CodeObject::parse(object)), "");
  CHECK_THROWS_WITH(old.launch_on_devices(f, {}, two), Catch::Contains("system scope"));
  EmulatorDevice device(isa::Arch::gfx942, {});
  const Function g =
      device.function(device.load(CodeObject::parse(kernel("s_endpgm", isa::Arch::gfx942))), "");
  CHECK_THROWS_WITH(device.launch_on_devices(g, {}, {}), Catch::Contains("1 to 64"));
  CHECK_THROWS_WITH(device.place(1, 0), Catch::Contains("not the start of an allocation"));
}

// A device waits for what no other one does: the launch ends, and says who waits.
TEST_CASE("devices: a deadlock over devices is said") {
  const std::string body =
      "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\nread:\n"
      "global_load_dword v3, v1, s[4:5] sc0 sc1\ns_waitcnt vmcnt(0)\n"
      "v_readfirstlane_b32 s9, v3\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 read\ns_endpgm\n";
  EmulatorDevice device(isa::Arch::gfx942, {});
  const auto flag = upload(device, std::vector<unsigned>{0});
  const Function f = device.function(device.load(CodeObject::parse(kernel(body, isa::Arch::gfx942))), "");
  const std::vector<std::vector<std::uint8_t>> arguments(2, Arguments().pointer(flag).bytes());
  CHECK_THROWS_WITH(device.launch_on_devices(f, {.grid = {2, 1, 1}, .block = {64, 1, 1}}, arguments),
                    Catch::Contains("a deadlock: 4 workgroups wait") && Catch::Contains("of device 1"));
}

} // namespace emulator_devices_test
