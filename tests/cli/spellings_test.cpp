// What the command line understands: symbols in `eval`, instructions by name, CuTe's and Triton's spellings; and what it says to a name that is
// nearly right.
#include "inlay_command.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/symbolic.h>
#include <nlohmann/json.hpp>

namespace spellings_test {

using namespace inlay;
using inlay::cli::Exit;
using Json = nlohmann::json;

namespace {

std::string eval(const std::string& text) {
  const Ran ran = inlay_command({"eval", text});
  return ran.exit == Exit::yes ? ran.out.substr(0, ran.out.size() - 1) : "error: " + ran.err;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("eval of symbols gives the layout and what it needs") {
  CHECK(eval("composition((4096,8192):(1,4096), (32,n,8,128):(1@0,8@1,1@1,32@0))")
            .rfind("(32,n,8,128):(1,32768,4096,32)", 0) == 0);
  CHECK(eval("logical_divide((128*m,64*k):(64*k,1), <128,64>)") == "((128,m),(64,k)):((64*k,8192*k),(1,64))");
  CHECK(eval("composition((m,n):(1,ld), 96:1)") == "96:1\n  needs  96 <= m");
  CHECK(eval("composition(Swizzle<3,4,3>{}, (8,n):(n,1))") == "Sw<3,4,3> o 0 o (8,n):(n,1)");
  const Json j = Json::parse(inlay_command({"eval", "composition((m,n):(1,ld), 96:1)", "--json"}).out);
  CHECK(j["result"] == "96:1");
  CHECK(j["needs"] == Json::array({"96 <= m"}));
  CHECK(has(eval("size((M,4):(1,M))"), "symbols belong"));
  CHECK(inlay_command({"eval", "composition((m,n):(1,m), 96)(1"}).exit == Exit::bad_input);
  // Numbers stay exact: an operation that fails on them is no matter of symbols.
  CHECK(has(eval("composition((6,2):(8,2), 5:3)"), "does not divide"));
}

// Instances of a symbolic result are the results of the instances, where its conditions hold.
TEST_CASE("a symbolic result at numbers is the result of the numbers") {
  const char* const texts[] = {"composition((4096,8192):(1,4096), (32,n,8,128):(1@0,8@1,1@1,32@0))",
                               "logical_divide((128*n,64):(64,1), <128,64>)",
                               "composition((n,8):(1,n), (n,4):(1,n))",
                               "logical_divide((8*n,n):(n,1), <8,_>)", "coalesce((n,4):(1,n))"};
  for (const char* text : texts) {
    SymContext context;
    const std::string symbolic = eval(text);
    const std::string layout = symbolic.substr(0, symbolic.find('\n'));
    const SymLayout l = parse_sym_layout(context, layout);
    int compared = 0;
    for (std::int64_t n : {1, 2, 3, 4, 8, 16, 64}) {
      std::string at = text;
      for (std::size_t k = 0; (k = at.find('n', k)) != std::string::npos; ++k) {
        const auto letter = [&](std::size_t i) {
          return i < at.size() && (std::isalnum(static_cast<unsigned char>(at[i])) || at[i] == '_');
        };
        if (!letter(k + 1) && (k == 0 || !letter(k - 1))) at.replace(k, 1, std::to_string(n));
      }
      for (std::size_t k = 0; (k = at.find('*')) != std::string::npos;) { // products of numbers
        std::size_t from = k, to = k + 1;
        while (from > 0 && std::isdigit(static_cast<unsigned char>(at[from - 1]))) --from;
        while (to < at.size() && std::isdigit(static_cast<unsigned char>(at[to]))) ++to;
        at.replace(from, to - from,
                   std::to_string(std::stoll(at.substr(from)) * std::stoll(at.substr(k + 1))));
      }
      const std::string want = eval(at);
      if (has(want, "error")) continue; // a condition that does not hold there
      Assignment values;
      values.set(*context.find("n"), Int(n));
      const Layout got = instantiate(l, values);
      const Layout exact = parse_layout(want);
      INFO(text << " at n = " << n << ": " << want);
      REQUIRE(got.size() == exact.size());
      for (Int i = 0; i < got.size() && i < 3000; i += 1) REQUIRE(got(i) == exact(i));
      ++compared;
    }
    CHECK(compared >= 3);
  }
}

TEST_CASE("parts of swizzled tensors are what a slice of a divide is") {
  const std::string t = "Sw<4,0,4> o 0 o (64,16):(16,1)";
  CHECK(eval("slice(((1,1),_), zipped_divide(" + t + ", <8,8>))") == "Sw<4,0,4> o 17 o ((8,2)):((128,8))");
  CHECK(eval("local_partition(" + t + ", (8,8):(8,1), 9)") == "Sw<4,0,4> o 17 o (8,2):(128,8)");
  CHECK(eval("slice((_,(3,1)), zipped_divide(" + t + ", <8,8>))") == "Sw<4,0,4> o 392 o ((8,8)):((16,1))");
  CHECK(eval("local_tile(" + t + ", <8,8>, (3,1))") == "Sw<4,0,4> o 392 o (8,8):(16,1)");
  // Values of all threads against the plain tensor's, swizzled by hand.
  for (int thread : {0, 1, 9, 63}) {
    for (const char* call : {"tiled_copy_partition(2, (8,8):(8,1), (1,2):(0,1), ",
                             "tv_partition(<8,8>, (64,1):(1,0), ", "local_partition("}) {
      const std::string rest = std::string(call) == "local_partition(" ? ", (8,8):(8,1), " : ", ";
      const std::string plain =
          eval(call + std::string("(64,16):(16,1)") + rest + std::to_string(thread) + ")");
      const std::string got = eval(call + t + rest + std::to_string(thread) + ")");
      INFO(call << thread << ": " << plain << " and " << got);
      const std::size_t comma = plain.rfind(',');
      CHECK(got == "Sw<4,0,4> o " + plain.substr(comma + 1, plain.size() - comma - 2) + " o " +
                       plain.substr(1, comma - 1));
    }
  }
  CHECK(eval("recast_layout(Sw<3,4,3> o 0 o (8,64):(64,1), 8, 16)") ==
        eval("upcast(Sw<3,4,3> o 0 o (8,64):(64,1), 2)"));
  CHECK(eval("recast_layout(Sw<3,3,3> o 0 o (8,64):(64,1), 16, 8)") ==
        eval("downcast(Sw<3,3,3> o 0 o (8,64):(64,1), 2)"));
}

TEST_CASE("matrix instructions have their names in expressions") {
  std::ifstream file(std::string(INLAY_TESTS_DIR) + "/golden/atoms.json");
  const Json atoms = Json::parse(file);
  int compared = 0;
  for (const auto& [name, atom] : atoms.items()) {
    if (name.rfind("SM", 0) != 0 || !atom.contains("A")) continue;
    const std::string tv = eval("tiled_mma(" + name + ", (1,1,1):(1,1,1), <_,_,_>)");
    for (const char* operand : {"A", "B", "C"}) {
      INFO(name << " " << tv);
      // The thread-value layout of one atom is the atom's.
      const std::size_t at = tv.find(std::string(operand) + "_TV: ");
      REQUIRE(at != std::string::npos);
      const std::size_t end = std::min(tv.find(", B_TV", at), std::min(tv.find(", C_TV", at), tv.size() - 1));
      const Layout got = parse_layout(tv.substr(at + 6, end - at - 6)),
                   want = parse_layout(atom[operand].get<std::string>());
      if (name.rfind("SM70", 0) == 0) continue; // its threads are spread over the warp
      REQUIRE(got.size() == want.size());
      for (Int i = 0; i < got.size(); i += 1) REQUIRE(got(i) == want(i));
    }
    ++compared;
  }
  CHECK(compared >= 7);
  CHECK(has(eval("tiled_mma(v_mfma_f32_32x32x8_f16, (2,2):(2,1), <_,_,_>)"), "tile_mnk: (64,64,8)"));
  CHECK(eval("tiled_mma(mfma_32x32x8, (2,2):(2,1), <_,_,_>)") ==
        eval("tiled_mma(mfma_f32_32x32x8_f16, (2,2):(2,1), <_,_,_>)"));
  CHECK(has(eval("tiled_mma(SM80_16x8x16_F32F16F16F32_XX, (2,2):(2,1), <_,_,_>)"), "is not a value"));
}

TEST_CASE("CuTe's spellings are read") {
  CHECK(eval("Swizzle<3,4,3>") == "Sw<3,4,3>");
  CHECK(eval("Swizzle<3,4,3>{}") == "Sw<3,4,3>");
  CHECK(eval("composition(Swizzle<3,4,3>, (8,64):(64,1))") == "Sw<3,4,3> o 0 o (8,64):(64,1)");
  CHECK(eval("composition(Swizzle<3,4,3>{}, _8{}, (8,64):(64,1))") == "Sw<3,4,3> o 8 o (8,64):(64,1)");
  CHECK(eval("make_layout(make_shape(_8,Int<64>{}), make_stride(64,_1{}))") == "(8,64):(64,1)");
  CHECK(eval("Layout<Shape<_8,_64>,Stride<_64,_1>>{}") == "(8,64):(64,1)");
  CHECK(eval("Layout<Shape<Shape<_2,_4>,_8>>") == "((2,4),8):((1,2),8)");
  CHECK(eval("logical_divide((8,6):(1,8), make_tile(4,3))") == eval("logical_divide((8,6):(1,8), <4,3>)"));
  CHECK(eval("make_layout((8,4), LayoutRight{})") == "(8,4):(4,1)");
  CHECK(eval("make_layout(make_shape(8,4), LayoutLeft{})") == "(8,4):(1,8)");
  CHECK(eval("make_layout((8,(2,3)), LayoutRight)") == "(8,(2,3)):(6,(3,1))");
  CHECK(eval("group_modes<0,2>((2,3,4):(1,2,6))") == "((2,3),4):((1,2),6)");
  CHECK(eval("take<1,3>((2,3,4):(1,2,6))") == "(3,4):(2,6)");
  CHECK(eval("get<1,0>((2,(3,5),4):(1,(2,30),6))") == "3:2");
  CHECK(eval("select<2,0>((2,3,4):(1,2,6))") == "(4,2):(6,1)");
  CHECK(eval("make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, "
             "Layout<Shape<_32,_8>,Stride<_8,_1>>{}, "
             "Layout<Shape<_1,_8>>{})") == eval("make_tiled_copy(8, (32,8):(8,1), (1,8):(0,1))"));
  CHECK(eval("Copy_Atom<DefaultCopy<uint32_t>, float_e4m3_t>") == "4");
  for (const char* wrong :
       {"Copy_Atom<UniversalCopy<uint16_t>, float>{}", "Copy_Atom<UniversalCopy<uint128_t>, half>{}",
        "Copy_Atom<UniversalCopy<uint128_t>>", "make_layout((8,4), A)", "group_modes<0>((2,3,4))",
        "get<7>((2,3))", "make_layout(LayoutRight{}, (8,4))"}) {
    INFO(wrong);
    CHECK(inlay_command({"eval", wrong}).exit == 2);
  }
}

TEST_CASE("Triton's layouts are proved about") {
  const std::string linear = "#ttg.linear<{register = [[1, 0], [2, 0], [8, 0], [16, 0]], lane = [[0, 1], [0, "
                             "2], [0, 4], [0, 8], [0, 16], "
                             "[4, 0]], warp = [], block = []}>";
  CHECK(inlay_command({"prove", "covers", linear, "1024"}).exit == Exit::yes);
  CHECK(inlay_command({"prove", "equal", linear, "((32,2),(4,4)):((32,4),(1,8))"}).exit == Exit::yes);
  CHECK(inlay_command({"prove", "equal", "linear_layout(((32,2),(4,4)):((32,4),(1,8)), (32,32))", linear})
            .exit == Exit::yes);
  CHECK(inlay_command({"prove", "equal",
                       "tensor<32x32xf32, #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = "
                       "[32, 32, 8], isTransposed = "
                       "false}>>",
                       linear})
            .exit == Exit::yes);
  CHECK(inlay_command({"prove", "bijective",
                       "!ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, "
                       "order = [1, 0]}>, #smem>"})
            .exit == Exit::yes);
  CHECK(inlay_command({"prove", "covers", linear, "1025"}).exit == Exit::no);
}

TEST_CASE("thread-value pictures of tiled copies and products, and tiles of a divide") {
  const Ran copy = inlay_command({"draw", "make_tiled_copy(2, (4,2):(2,1), (1,2):(0,1))", "--tv"});
  CHECK(copy.exit == Exit::yes);
  CHECK(has(copy.out, "8 threads of 2 values on a tile (4,4)"));
  const Ran mma =
      inlay_command({"draw", "tiled_mma(mfma_32x32x8, (1,1):(1,1), <_,_,_>)", "--tv", "--svg", "-"});
  CHECK(mma.exit == Exit::yes);
  CHECK(has(mma.out, "A_TV"));
  const std::string divide = inlay_command({"draw", "zipped_divide((8,6):(1,8), <4,3>)", "--svg", "-"}).out;
  CHECK(has(divide, "<path class=\"o\""));
  CHECK_FALSE(has(inlay_command({"draw", "(8,6):(1,8)", "--svg", "-"}).out, "<path class=\"o\""));
  CHECK(inlay_command({"draw", "(4,8):(8,1)", "--tv", "--tile", "(4,8)"}).exit == Exit::yes);
}

TEST_CASE("names that are nearly right") {
  const auto err = [](const std::vector<std::string>& words) {
    const Ran ran = inlay_command(words);
    CHECK(ran.exit == Exit::bad_input);
    return ran.err;
  };
  CHECK(has(err({"prove", "injectiv", "4:1"}), "did you mean injective?"));
  CHECK(has(err({"prove", "injective", "4:1", "--stepz", "1"}), "did you mean --steps?"));
  CHECK(has(err({"fuzz", "coalese"}), "did you mean"));
  CHECK(has(err({"evla", "4:1"}), "did you mean inlay eval?"));
  CHECK(has(inlay_command({"search", "swizzle", "--help"}).out, "bytes, not elements"));
#ifdef INLAY_CLI_KERNELS
  CHECK(has(err({"run", "flash-attention"}), "did you mean flash_attention?"));
  CHECK(has(err({"run", "rmsnrom"}), "did you mean rmsnorm?"));
  CHECK(has(err({"run", "gemm", "--tiles", "4"}), "did you mean --tile? --arch"));
  CHECK(has(err({"run", "softmax", "--thread", "64"}), "did you mean --threads?"));
  CHECK(has(err({"run", "gemm", "--validte"}), "did you mean --validate? a kernel's options"));
  CHECK(has(err({"run", "gemm", "--chek", "all"}), "did you mean --check? --arch")); // the command's own
  CHECK(has(err({"run", "rms_norm", "--help"}), "did you mean rmsnorm?"));
  const std::string several = err({"run", "attention"});
  CHECK(has(several,
            "did you mean flash_attention, varlen_attention, attention_blocks, attention_backward_delta, "
            "attention_backward_dq or attention_backward_dkv? inlay kernels lists all"));
  CHECK(!has(several, "vector_add"));
  CHECK(has(err({"run", "nothing_like_it"}), "vector_add")); // then all are named
  CHECK(has(err({"run", "rmsnorm", "--seed", "many"}), "--seed cannot be 'many'"));
  // Data that no machine has: what they take, and what there is.
  for (const std::vector<std::string>& huge :
       {std::vector<std::string>{"run", "gemm", "--m", "1000000", "--n", "1000000", "--k", "64"},
        {"run", "softmax", "--m", "16777216", "--n", "65536"},
        {"run", "cumsum", "--n", "1000000", "--m", "1000000"}}) {
    const Ran ran = inlay_command(huge);
    CHECK(ran.exit == Exit::bad_input);
    CHECK(has(ran.err, " TB of memory ("));
    CHECK(has(ran.err, " are free\n  hint   smaller sizes"));
    CHECK(!has(ran.err, "internal"));
  }
  CHECK(has(err({"run", "flash_attention", "--head-dim", "80"}), "'80' is none of 64, 128"));
  CHECK(has(err({"run", "flash_attention", "--queries", "131073"}), "1 to 131072"));
  CHECK(has(err({"run", "flash_attention", "--heads", "3", "--group", "2"}),
            "heads = 3 is not a multiple of 2\n  hint   2 or 4; "));
  CHECK(has(err({"tune", "gemm", "--vary", "tile="}), "not of the form NAME=VALUE|VALUE"));
  CHECK(has(err({"build", "rmsnorm", "--arch", "gfx943"}), "did you mean gfx942? gfx942 (MI300X, MI325X)"));
  CHECK(has(err({"build", "rmsnorm", "--arch=MI300Y"}), "did you mean MI300X?"));
  for (const char* yes : {"yes", "true", "1"})
    CHECK(inlay_command({"build", "gemm", "--deterministic", yes, "--no-validate", "--program"}).exit ==
          Exit::yes);
  CHECK(has(err({"build", "gemm", "--deterministic", "maybe"}), "'maybe' is none of no, yes, batch"));
  CHECK(inlay_command({"build", "flash_attention", "--causal", "true", "--no-validate", "--program"}).out ==
        inlay_command({"build", "flash_attention", "--causal", "1", "--no-validate", "--program"}).out);
  CHECK(has(err({"search", "swizle"}), "did you mean swizzle? inlay search --help"));
  const Ran part =
      inlay_command({"search", "swizzle", "--tile", "8191", "--view", "ds_read_b128 ((16,4)):((128,16))"});
  CHECK(part.exit == Exit::no);
  CHECK(has(part.out, " is, of a tile of 8192 bytes; it does not permute 8191\n"));
  CHECK(
      has(inlay_command({"search", "swizzle", "--tile", "8192", "--view", "ds_read_b128 ((16,4)):((128,16))"})
              .out,
          " is conflict-free on gfx942"));
  CHECK(has(err({"inspect", "/usr"}), "'/usr' is a directory"));
  CHECK(!has(err({"search"}), "did you mean"));
  CHECK(has(err({"run", "softmax", "--dtype", "f61"}), "hint"));
#endif
#ifdef INLAY_CLI_CODEGEN
  CHECK(inlay_command({"atoms", "--arch", "MI300X", "--kind", "mma"}).out ==
        inlay_command({"atoms", "--arch", "gfx942", "--kind", "mma"}).out);
  CHECK(inlay_command({"atoms", "--arch=mi355x", "--kind", "mma"}).exit == Exit::yes);
  CHECK(has(err({"atoms", "--arch", "MI100"}), "gfx942 (MI300X, MI325X)"));
#endif
}

} // namespace spellings_test
