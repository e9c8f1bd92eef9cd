// Attention's gradients, from the forward pass on: four launches over tensors as torch has them, against loops written out here, and
// the same bits again.
#include "../../kernels/attention/backward.h"

#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

namespace backward_test {

using namespace inlay;
using namespace inlay::kernels;
using inlay::codegen::decode;
using inlay::codegen::encode;

namespace {

using Numbers = std::vector<double>;

Bytes bytes_of(const Numbers& values, Element element) {
  Bytes out;
  for (const double v : values) {
    const std::uint64_t code = encode(element, v);
    for (int byte = 0; byte < codegen::bits(element) / 8; ++byte)
      out.push_back(static_cast<std::byte>(code >> (8 * byte)));
  }
  return out;
}
Numbers numbers_of(const Bytes& bytes, Element element) {
  Numbers out;
  const std::size_t size = static_cast<std::size_t>(codegen::bits(element)) / 8;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::uint64_t code = 0;
    for (std::size_t byte = 0; byte < size; ++byte)
      code |= std::to_integer<std::uint64_t>(bytes[at + byte]) << (8 * byte);
    out.push_back(decode(element, code));
  }
  return out;
}

// That of all elements no one is further off than a hundredth of the largest.
void near(const Bytes& bytes, Element element, const Numbers& wanted) {
  const Numbers got = numbers_of(bytes, element);
  REQUIRE(got.size() == wanted.size());
  double largest = 0;
  for (const double v : wanted) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    REQUIRE(std::abs(got[i] - wanted[i]) <= 0.01 * largest);
  }
}

} // namespace

TEST_CASE("attention_backward: gradients from the forward pass on, and the same bits again") {
  struct Case {
    const char* arch;
    Element type;
    int head_dim, group;
    bool causal;
    std::int64_t queries, keys;
  };
  for (const Case& c : {Case{"gfx942", Element::f16, 64, 4, true, 70, 90},
                        {"gfx950", Element::bf16, 128, 2, false, 37, 45}}) {
    const std::int64_t B = 2, SQ = c.queries, SK = c.keys, H = 2 * c.group, HK = 2, D = c.head_dim;
    INFO(c.arch);
    AttentionSpec forward;
    AttentionBackward s{
        .arch = c.arch, .type = c.type, .head_dim = c.head_dim, .group = c.group, .causal = c.causal};
    forward.arch = c.arch, forward.type = c.type, forward.head_dim = c.head_dim, forward.group = c.group;
    forward.causal = c.causal;
    std::mt19937 random(3);
    std::uniform_real_distribution<double> number(-1, 1);
    const auto drawn = [&](std::int64_t rows) {
      Numbers values;
      for (std::int64_t i = 0; i < rows * D; ++i)
        values.push_back(decode(c.type, encode(c.type, 1.5 * number(random))));
      return values;
    };
    const Numbers q = drawn(B * SQ * H), k = drawn(B * SK * HK), v = drawn(B * SK * HK),
                  g = drawn(B * SQ * H);
    const auto device = open_device("emulator", c.arch);
    auto& options = dynamic_cast<runtime::EmulatorDevice&>(*device).options();
    options.checks = runtime::Checks::all();
    const auto room = [](std::size_t n, std::size_t size) { return Bytes(n * size, std::byte{0xff}); };
    const auto logs = static_cast<std::size_t>(B * H * SQ);
    const Bytes of_q = bytes_of(q, c.type), of_k = bytes_of(k, c.type), of_v = bytes_of(v, c.type),
                of_g = bytes_of(g, c.type);
    const auto o_lse = run(*device, build(flash_attention_program(forward)),
                           {room(q.size(), 2), room(logs, 4), of_q, of_k, of_v}, {B, SQ, SK, H});
    const auto rows = run(*device, build(attention_delta_program(s)),
                          {room(logs, 4), room(logs, 4), o_lse[0], of_g, o_lse[1]}, {B, SQ, H});
    const Artifact for_q = build(attention_backward_program(s, false)),
                   for_k = build(attention_backward_program(s, true));
    std::vector<Bytes> results;
    for (const bool stress : {false, true}) {
      options.stress = stress;
      const auto dq =
          run(*device, for_q, {room(q.size(), 2), of_q, of_k, of_v, of_g, rows[1], rows[0]}, {B, SQ, SK, H});
      const auto dkv = run(*device, for_k,
                           {room(k.size(), 2), room(k.size(), 2), of_q, of_k, of_v, of_g, rows[1], rows[0]},
                           {B, SQ * c.group, SK, HK});
      const std::vector<Bytes> now{dq[0], dkv[0], dkv[1]};
      if (stress) CHECK(now == results);
      results = now;
    }

    Numbers dq(q.size()), dk(k.size()), dv(k.size());
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t i = 0; i < SQ; ++i) {
          const auto query = static_cast<std::size_t>(((b * SQ + i) * H + h) * D);
          const auto key = [&](std::size_t j) {
            return static_cast<std::size_t>(((b * SK + static_cast<std::int64_t>(j)) * HK + h / c.group) * D);
          };
          const auto dot = [&](const Numbers& x, std::size_t x0, const Numbers& y, std::size_t y0) {
            double sum = 0;
            for (std::size_t d = 0; d < static_cast<std::size_t>(D); ++d) sum += x[x0 + d] * y[y0 + d];
            return sum;
          };
          Numbers p, dp;
          double sum = 0, mean = 0;
          const auto seen = static_cast<std::size_t>(c.causal ? std::min(SK, i + 1) : SK);
          for (std::size_t j = 0; j < seen; ++j) {
            p.push_back(std::exp(dot(q, query, k, key(j)) / std::sqrt(D)));
            dp.push_back(dot(g, query, v, key(j)));
            sum += p.back();
          }
          for (double& x : p) x /= sum;
          for (std::size_t j = 0; j < p.size(); ++j) mean += p[j] * dp[j];
          for (std::size_t j = 0; j < p.size(); ++j) {
            const double ds = p[j] * (dp[j] - mean) / std::sqrt(D);
            for (std::size_t d = 0; d < static_cast<std::size_t>(D); ++d) {
              dq[query + d] += ds * k[key(j) + d];
              dk[key(j) + d] += ds * q[query + d];
              dv[key(j) + d] += p[j] * g[query + d];
            }
          }
        }
    near(results[0], c.type, dq), near(results[1], c.type, dk), near(results[2], c.type, dv);
  }
}

} // namespace backward_test
