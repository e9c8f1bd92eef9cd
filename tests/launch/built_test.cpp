// What `build` writes: manifests against the launch contract of the same kernel, and as exec, time and validate take them.
#include "build_manifest.h"
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <inlay/kernels/build.h>
#include <nlohmann/json.hpp>
#include <random>

namespace built_test {

using namespace inlay;

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("inlay-built-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The plan of either, or that it is refused.
template <class Plan>
std::optional<Plan> plan_or_nothing(const std::function<Plan()>& make) {
  try {
    return make();
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

} // namespace

TEST_CASE("manifests of all kernels say what their contracts say", "[manifest]") {
  std::size_t empty = 0;
  for (const auto& kernel : kernels::registry()) {
    CAPTURE(kernel->name());
    std::mt19937_64 random(1); // the same draws whatever other kernels there are
    const auto artifact = kernel->build({}, {});
    const auto written = cli::manifest_of(artifact, "k.hsaco", cli::with_fallbacks(*kernel, {}));
    const auto m = launch::Manifest::parse(written.text());
    CHECK(m == written);
    const auto& c = artifact.contract;
    REQUIRE(m.sizes.size() == c.sizes.size());
    REQUIRE(m.arguments.size() == c.arguments.size());
    std::size_t planned = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<std::int64_t> values;
      launch::Sizes sizes;
      for (const auto& s : c.sizes) {
        // Edges first, then sizes of which most are allowed, then any.
        std::int64_t v = round == 0 ? s.least : round == 1 ? s.multiple : 0;
        if (round >= 2) {
          const auto wide = round % 4 == 0   ? std::uint64_t{1} << (random() % 33)
                            : round % 4 == 1 ? std::uint64_t{100} // of which most products are small enough
                                             : std::uint64_t{5000};
          v = static_cast<std::int64_t>(random() % wide);
          if (round % 3 != 0) v = v / s.multiple * s.multiple;
          if (s.most < 64) v %= s.most + 2; // the number of a device
        }
        if (static_cast<std::size_t>(round) == 2 + values.size()) v = 0; // each size in turn
        values.push_back(v);
        sizes[s.name] = v;
      }
      const auto ours = plan_or_nothing<launch::LaunchPlan>([&] { return m.plan(sizes); });
      const auto theirs = plan_or_nothing<kernels::LaunchPlan>([&] { return c.plan(values); });
      CAPTURE(values);
      REQUIRE(ours.has_value() == theirs.has_value());
      if (!ours) continue;
      empty += ours->nothing();
      ++planned;
      CHECK(ours->grid == theirs->grid);
      CHECK(m.block == theirs->block);
      CHECK(m.lds == theirs->dynamic_lds);
      for (std::size_t i = 0; i < m.arguments.size(); ++i) {
        const auto& a = theirs->arguments[i];
        REQUIRE((m.arguments[i].kind == launch::Argument::Kind::buffer) == (a.buffer >= 0));
        if (a.buffer >= 0) {
          const auto& b = c.buffers[static_cast<std::size_t>(a.buffer)];
          CHECK(m.arguments[i].name == b.name);
          CHECK(m.arguments[i].output == b.output);
          if (b.bytes(values) < INT64_MAX / 16)
            CHECK(std::max<std::int64_t>(1, m.arguments[i].bytes(ours->sizes)) == b.bytes(values));
        } else {
          const auto bytes = m.bytes_of(i, ours->sizes);
          REQUIRE(bytes.size() == a.scalar.size());
          CHECK(
              std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const std::uint8_t*>(a.scalar.data())));
        }
      }
    }
    CHECK(planned >= 5);
  }
  CHECK(empty > 20); // sizes of 0 that leave nothing to write
}

TEST_CASE("a kernel that was built runs by its manifest: exec, time, validate, inspect, bundle",
          "[manifest]") {
  const Folder f;
  REQUIRE(inlay_command({"build", "softmax", "-o", f.file("")}).exit == 0);
  const auto manifest = f.file("softmax.json");
  const auto m = launch::Manifest::read(manifest);
  std::vector<std::string> sizes;
  for (const auto& s : m.sizes) {
    sizes.push_back("--size");
    sizes.push_back(s.name + "=" + std::to_string(s.name == m.sizes[0].name ? 4 : 128));
  }
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), sizes.begin(), sizes.end());
    return inlay_command(words);
  };
  const auto ran = with({"exec", manifest, "--json"});
  CAPTURE(ran.out, ran.err);
  REQUIRE(ran.exit == 0);
  // The softmax of zeros is 1/columns.
  const auto j = nlohmann::json::parse(ran.out);
  REQUIRE(j.at("outputs").size() == 1);
  CHECK(j.at("outputs")[0].at("values")[0].get<double>() == Approx(1.0 / 128).epsilon(0.01));
  CHECK(says(j.at("geometry_from").dump(), "by the manifest"));
  const auto timed = with({"time", manifest, "--json", "--quick"});
  REQUIRE(timed.exit == 0);
  CHECK(nlohmann::json::parse(timed.out).at("geometry") == j.at("geometry"));
  CHECK(inlay_command({"validate", manifest}).exit ==
        inlay_command({"validate", f.file("softmax.hsaco")}).exit);
  CHECK(inlay_command({"inspect", manifest}).exit == 0);
  CHECK(says(inlay_command({"exec", manifest, "--size", "nosuch=3"}).err, "there is no size 'nosuch'"));
  CHECK(says(inlay_command({"exec", manifest, "--size", "m"}).err, "not NAME=NUMBER"));
  CHECK(says(inlay_command({"exec", f.file("softmax.hsaco"), "--size", "m=1"}).err,
             "belongs to a launch manifest"));
  CHECK(says(with({"exec", manifest, "--arg", "nosuch=zeros:4"}).err, "no argument 'nosuch'"));
  // A buffer that is too small for the sizes is found.
  CHECK(with({"exec", manifest, "--arg", m.arguments[0].name + "=out:64"}).exit == 1);
  REQUIRE(inlay_command({"bundle", manifest, "-o", f.file("k.inlay")}).exit == 0);
  const auto listed = inlay_command({"bundle", f.file("k.inlay"), "--json"});
  CHECK(nlohmann::json::parse(listed.out).at("kernels")[0].at("kernel") == m.kernel);
  CHECK(inlay_command({"bundle", manifest, manifest}).exit == 2);
}

} // namespace built_test
