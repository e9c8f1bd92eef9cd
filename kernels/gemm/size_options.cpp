// The options of a GEMM that say its sizes, and where rows lie.
#include "asked.h"

#include <sstream>

namespace inlay::kernels {
namespace {

/// The type of C that is meant where none is named.
Element usual_result(const GemmAsked& asked) {
  return asked.in == Element::i8 && !asked.weighted() ? Element::i32
         : codegen::bits(asked.in) <= 8               ? Element::bf16
         : asked.in == Element::xf32                  ? Element::f32
                                                      : asked.in;
}

/// The pad of a matrix, a size of the launch where it is not `no`.
ReadsGemm pad(bool GemmSpec::Padded::*there, std::int64_t GemmPads::*pad) {
  return {"no, or 0 to " + std::to_string(most_asked),
          [=](GemmAsked& asked, const std::string& text) -> std::string {
            asked.padded.*there = text != "no";
            if (text == "no") return {};
            const auto number = number_in(text, 0, most_asked);
            if (!number) return "is neither no nor a number from 0 to " + std::to_string(most_asked);
            asked.pads.*pad = *number;
            return {};
          }};
}

/// Sizes of many products: `300,0,17` of m alone, `300x128x256,17x64x512`.
ReadsGemm groups() {
  return {"no, or M,M,.. or MxNxK,MxNxK,..", [](GemmAsked& asked, const std::string& text) -> std::string {
            if (text == "no") return {};
            std::istringstream in(text);
            for (std::string one; std::getline(in, one, ',');) {
              std::array<std::int64_t, 3> sizes{0, asked.n, asked.k};
              std::istringstream parts(one);
              std::size_t count = 0;
              for (std::string part; std::getline(parts, part, 'x'); ++count)
                if (const auto n = number_in(part, count == 2 ? 1 : 0, most_asked); n && count < sizes.size())
                  sizes[count] = *n;
                else
                  return "has '" + one + "', which is neither M nor MxNxK";
              const GemmSpec::Own own = count == 3 ? GemmSpec::Own::all : GemmSpec::Own::m;
              if (count == 2 || (asked.own != GemmSpec::Own::none && asked.own != own))
                return "has '" + one + "': M of all groups, or MxNxK of all";
              asked.own = own, asked.groups.push_back(sizes);
            }
            const auto [m, n, k] = largest_of(asked.groups);
            if (m == 0 || n == 0) return "has no group with rows and columns";
            asked.m = m, asked.n = n, asked.k = k;
            return {};
          }};
}

} // namespace

std::vector<Option<GemmAsked>> options_of_sizes(bool pre) {
  return {
      {"pad-a", pad(&GemmSpec::Padded::a, &GemmPads::a), "no",
       "elements between rows of A, a size of the launch: lda is k and these", "", "a multiple of 16 bytes"},
      {"pad-b", pad(&GemmSpec::Padded::b, &GemmPads::b), "no",
       "elements between rows of B, a size of the launch: ldb is k and these", "", "a multiple of 16 bytes"},
      {"pad-c", pad(&GemmSpec::Padded::c, &GemmPads::c), "no",
       "with --beta yes: elements between rows of C: ldc is n and these", "", "a multiple of n-multiple"},
      {"pad-d", pad(&GemmSpec::Padded::d, &GemmPads::d), "no",
       "elements between rows of the result, a size of the launch: ldd is n and these", "",
       "a multiple of n-multiple; what lies there stays"},
      {"out",
       ReadsGemm::parsed(&GemmAsked::out, "f32, f16, bf16, fp8, bf8, i32",
                         [](const GemmAsked& asked, const std::string& text) {
                           return text.empty()
                                      ? usual_result(asked)
                                      : codegen::parse_element(text, codegen::Target::named(asked.arch));
                         }),
       "", "element type of C", "",
       "f32 or that of A and B (default), f64 of f64; of fp8, bf8, fp4, mx.., and of i8 with scales: f32, "
       "f16, "
       "bf16 "
       "(default); of i8: i32; fp8 and bf8 where nothing is added by atomics"},
      {"m", ReadsGemm::number(&GemmAsked::m, 1, most_asked), "256", "rows of A and C"},
      {"n", ReadsGemm::number(&GemmAsked::n, 1, most_asked), "256",
       pre ? "rows of B, columns of C, a multiple of 16" : "rows of B, columns of C"},
      {"k", ReadsGemm::number(&GemmAsked::k, 1, most_asked), "256",
       pre ? "columns of A and B, a multiple of 32 (8-bit: 64; fp4, mx..: 256)"
           : "columns of A and B, a multiple of 8 (f64: 2; f32: 4; 8-bit: 16; fp4, mx..: 256)"},
      {"groups", groups(), "no", "many products in one launch, by tables of pointers: their m, or m, n and k",
       "",
       "A, B, C and whatever else there is are tables of 64-bit pointers then, a_at, b_at, .., and own "
       "sizes are in tables, "
       "m_of, ..; m, n and k are the largest\n"
       "a group of 0 rows or columns is nothing to do; without split and stream-k-workgroups"}};
}

} // namespace inlay::kernels
