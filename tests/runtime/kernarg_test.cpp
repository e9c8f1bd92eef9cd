#include "image.h"

#include <catch2/catch.hpp>
#include <inlay/runtime/kernarg.h>

namespace kernarg_test {

using namespace inlay::runtime;
using image::argument;

namespace {

Kernel kernel_with(const nlohmann::json& args, std::uint32_t bytes) {
  image::KernelImage k;
  k.kernarg = bytes;
  k.metadata = {{".kernarg_segment_size", bytes}, {".args", args}, {".max_flat_workgroup_size", 256}};
  return CodeObject::parse(image::build({k})).kernels()[0];
}

LaunchGeometry geometry(Extent3 grid, Extent3 block, std::uint32_t lds = 0) {
  LaunchGeometry g;
  g.grid = grid, g.block = block, g.dynamic_lds = lds;
  return g;
}

template <class T>
T at(const std::vector<std::uint8_t>& b, std::size_t offset) {
  T v;
  REQUIRE(offset + sizeof v <= b.size());
  std::memcpy(&v, b.data() + offset, sizeof v);
  return v;
}

std::string why(const Kernel& k, const std::vector<Argument>& a) {
  try {
    (void)pack_arguments(k, a, {});
    return "";
  } catch (const ArgumentError& e) {
    return e.what();
  }
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("visible arguments in order, hidden ones from the geometry") {
  const auto k =
      kernel_with({argument(0, 8, "global_buffer", "x"), argument(8, 4, "by_value", "n"),
                   argument(16, 8, "by_value", "d"), argument(24, 4, "hidden_block_count_x"),
                   argument(28, 4, "hidden_block_count_y"), argument(32, 4, "hidden_block_count_z"),
                   argument(36, 2, "hidden_group_size_x"), argument(38, 2, "hidden_group_size_y"),
                   argument(40, 2, "hidden_group_size_z"), argument(42, 2, "hidden_remainder_x"),
                   argument(44, 8, "hidden_global_offset_x"), argument(52, 2, "hidden_grid_dims"),
                   argument(56, 4, "hidden_dynamic_lds_size"), argument(60, 8, "hidden_hostcall_buffer")},
                  68);
  CHECK(signature(k) == "(ptr x, 4 bytes n, 8 bytes d)");
  const auto b =
      pack_arguments(k, std::vector{Argument::pointer(0xabcdef), Argument::i32(-7), Argument::f64(0.5)},
                     geometry({5, 6, 7}, {32, 4, 2}, 1024));
  CHECK(b.size() == 68);
  CHECK(at<std::uint64_t>(b, 0) == 0xabcdef);
  CHECK(at<std::int32_t>(b, 8) == -7);
  CHECK(at<std::uint32_t>(b, 12) == 0);
  CHECK(at<double>(b, 16) == 0.5);
  CHECK((at<std::uint32_t>(b, 24) == 5 && at<std::uint32_t>(b, 28) == 6 && at<std::uint32_t>(b, 32) == 7));
  CHECK((at<std::uint16_t>(b, 36) == 32 && at<std::uint16_t>(b, 38) == 4 && at<std::uint16_t>(b, 40) == 2));
  CHECK(at<std::uint16_t>(b, 42) == 0);
  CHECK(at<std::uint64_t>(b, 44) == 0);
  CHECK(at<std::uint16_t>(b, 52) == 3);
  CHECK(at<std::uint32_t>(b, 56) == 1024);
  CHECK(at<std::uint64_t>(b, 60) == 0);
  CHECK(at<std::uint16_t>(
            pack_arguments(k, std::vector{Argument::pointer(1), Argument::i32(1), Argument::f64(1)},
                           geometry({5, 1, 1}, {64, 1, 1})),
            52) == 1);
}

TEST_CASE("padding words of hand-written kernels are not asked for") {
  nlohmann::json named = nlohmann::json::array(), bare = nlohmann::json::array();
  const char* names[] = {"D", "A", "B", "M"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const bool pointer = i < 3;
    named.push_back(argument(16 * i, pointer ? 8 : 4, pointer ? "global_buffer" : "by_value", names[i]));
    bare.push_back(argument(16 * i, pointer ? 8 : 4, pointer ? "global_buffer" : "by_value"));
    for (std::uint32_t o = pointer ? 8 : 4; o < 16; o += 4) {
      named.push_back(argument(16 * i + o, 4, "by_value", "pad"));
      bare.push_back(argument(16 * i + o, 4, "by_value"));
    }
  }
  CHECK(signature(kernel_with(named, 64)) == "(ptr D, ptr A, ptr B, 4 bytes M)");
  CHECK(signature(kernel_with(bare, 64)) == "(ptr, ptr, ptr, 4 bytes)");
  // Four plain values side by side are four arguments.
  CHECK(signature(
            kernel_with({argument(0, 4, "by_value"), argument(4, 4, "by_value"), argument(8, 4, "by_value"),
                         argument(12, 4, "by_value"), argument(16, 4, "by_value")},
                        20)) == "(4 bytes, 4 bytes, 4 bytes, 4 bytes, 4 bytes)");
}

TEST_CASE("a compiler's kernel without names is not one of 16-byte slots") {
  // f(float*, int, int, struct of 16 bytes, float*, int, int): a structure is in no slot.
  CHECK(signature(kernel_with({argument(0, 8, "global_buffer"), argument(8, 4, "by_value"),
                               argument(12, 4, "by_value"), argument(16, 16, "by_value"),
                               argument(32, 8, "global_buffer"), argument(40, 4, "by_value"),
                               argument(44, 4, "by_value")},
                              48)) == "(ptr, 4 bytes, 4 bytes, 16 bytes, ptr, 4 bytes, 4 bytes)");
  const nlohmann::json twice = {argument(0, 8, "global_buffer"), argument(8, 4, "by_value"),
                                argument(12, 4, "by_value"),     argument(16, 8, "global_buffer"),
                                argument(24, 4, "by_value"),     argument(28, 4, "by_value")};
  // What the runtime fills in is a compiler's.
  nlohmann::json hidden = twice;
  hidden.push_back(argument(32, 4, "hidden_block_count_x"));
  CHECK(signature(kernel_with(hidden, 36)) == "(ptr, 4 bytes, 4 bytes, ptr, 4 bytes, 4 bytes)");
  // Otherwise it is declared as two padded slots are; as many as are given tell.
  const auto k = kernel_with(twice, 32);
  CHECK(declared_arguments(k).size() == 6);
  CHECK(visible_arguments(k, 6).size() == 6);
  CHECK(visible_arguments(k, 2).size() == 2);
  const auto b = pack_arguments(k,
                                std::vector{Argument::pointer(0x11), Argument::i32(2), Argument::i32(3),
                                            Argument::pointer(0x44), Argument::i32(5), Argument::i32(6)},
                                {});
  CHECK(b.size() == 32);
  CHECK((at<std::uint64_t>(b, 0) == 0x11 && at<std::int32_t>(b, 8) == 2 && at<std::int32_t>(b, 12) == 3));
  CHECK((at<std::uint64_t>(b, 16) == 0x44 && at<std::int32_t>(b, 24) == 5 && at<std::int32_t>(b, 28) == 6));
  const auto slots = pack_arguments(k, std::vector{Argument::pointer(0x11), Argument::pointer(0x44)}, {});
  CHECK((at<std::uint64_t>(slots, 0) == 0x11 && at<std::uint64_t>(slots, 8) == 0));
  CHECK(at<std::uint64_t>(slots, 16) == 0x44);
  CHECK(says(why(k, {Argument::pointer(1), Argument::i32(7), Argument::i32(7)}),
             "3 were given, 2 are needed, or 6 with what else it declares"));
}

TEST_CASE("wrong number, size and kind name the signature") {
  const auto k = kernel_with({argument(0, 8, "global_buffer", "x"), argument(8, 4, "by_value", "n")}, 16);
  CHECK(says(why(k, {Argument::pointer(1)}),
             "1 were given, 2 are needed\n  hint   expected (ptr x, 4 bytes n)"));
  CHECK(says(why(k, {Argument::pointer(1), Argument::i64(7)}),
             "number 1, i64:7, is 8 bytes, but the kernel takes 4"));
  CHECK(says(why(k, {Argument::i64(1), Argument::i32(7)}), "takes a pointer"));
  CHECK(says(why(k, {Argument::pointer(1), Argument::pointer(2)}), "number 1"));
  CHECK(why(k, {Argument::pointer(1), Argument::f32(7)}).empty());
}

TEST_CASE("a kernel without metadata takes its arguments one after the other") {
  image::KernelImage image;
  image.kernarg = 24;
  const auto k = CodeObject::parse(image::build({image})).kernels()[0];
  const auto b =
      pack_arguments(k, std::vector{Argument::i32(3), Argument::pointer(0x55), Argument::i32(4)}, {});
  CHECK(b.size() == 24);
  CHECK((at<std::int32_t>(b, 0) == 3 && at<std::uint64_t>(b, 8) == 0x55 && at<std::int32_t>(b, 16) == 4));
  CHECK(says(why(k, std::vector(4, Argument::u64(1))), "32 bytes were given"));
}

TEST_CASE("geometry is checked against the kernel and the device") {
  auto k = kernel_with(nlohmann::json::array(), 16);
  CHECK_NOTHROW(check_geometry(k, geometry({9, 1, 1}, {256, 1, 1}), 65536));
  CHECK_THROWS_AS(check_geometry(k, geometry({0, 1, 1}, {256, 1, 1}), 65536), ArgumentError);
  CHECK_THROWS_AS(check_geometry(k, geometry({1, 1, 1}, {257, 1, 1}), 65536), ArgumentError);
  CHECK_THROWS_AS(check_geometry(k, geometry({1, 1, 1}, {64, 1, 1}, 65537), 65536), ArgumentError);
  // 2^32 - 1 work-items along an axis, 65535 workgroups along y and z.
  CHECK_NOTHROW(check_geometry(k, geometry({16777215, 65535, 65535}, {256, 1, 1}), 65536));
  CHECK_THROWS_WITH(check_geometry(k, geometry({16777216, 1, 1}, {256, 1, 1}), 65536),
                    Catch::Contains("4294967296 work-items") && Catch::Contains("at most 16777215"));
  CHECK_NOTHROW(check_geometry(k, geometry({INT32_MAX, 1, 1}, {1, 256, 1}), 65536));
  CHECK_THROWS_AS(check_geometry(k, geometry({0x80000000U, 1, 1}, {1, 1, 1}), 65536), ArgumentError);
  CHECK_THROWS_WITH(check_geometry(k, geometry({1, 65536, 1}, {64, 1, 1}), 65536),
                    Catch::Contains("65536 workgroups along y"));
  CHECK_THROWS_WITH(check_geometry(k, geometry({1, 1, 65536}, {64, 1, 1}), 65536),
                    Catch::Contains("65536 workgroups along z"));
  k.required_workgroup = {64, 4, 1};
  CHECK_THROWS_WITH(check_geometry(k, geometry({1, 1, 1}, {256, 1, 1}), 65536),
                    Catch::Contains("--block 64,4,1"));
}

} // namespace kernarg_test
