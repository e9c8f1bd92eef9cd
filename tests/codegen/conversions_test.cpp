// Every conversion of the table, compiled by LLVM and run on the emulator: the instruction is the one named (or none of
// that name), and each result is encode(to, decode(from)).
#include "atoms_support.h"

#include <inlay/codegen/emit.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

namespace conversions_test {

using namespace atoms_test;

namespace {

std::string vector_of(int n, const std::string& type) {
  return n == 1 ? type : "<" + std::to_string(n) + " x " + type + ">";
}
// The type of one value in LLVM: narrow floats are bits.
std::string llvm_type(Element e) {
  switch (e) {
  case Element::f64: return "double";
  case Element::f32: return "float";
  case Element::f16: return "half";
  case Element::bf16: return "bfloat";
  default: return "i" + std::to_string(bits(e));
  }
}

int bytes_of(const Conversion& c, Element e) { return std::max(1, bits(e) * c.elements / 8); }
bool is_wide(Element e) { return bits(e) >= 16; }

// define kernel: out[lane] = convert(in[lane]); `declaration` is that of the intrinsic.
std::string kernel_text(const Conversion& c, const std::string& name, std::string& declaration) {
  const int from_bytes = bytes_of(c, c.from), to_bytes = bytes_of(c, c.to);
  std::string body;
  const auto line = [&](const std::string& l) { body += "  " + l + "\n"; };
  const std::string from_vector = vector_of(c.elements, llvm_type(c.from)),
                    to_vector = vector_of(c.elements, llvm_type(c.to));
  // The source: a vector of wide elements, or the bits of narrow ones.
  const bool pairs = c.elements == 2;
  if (is_wide(c.from) || c.elements == 1)
    line("%x = load " + (c.from == Element::i4 ? std::string("i8") : from_vector) +
         ", ptr addrspace(1) %from, align 1");
  else if (pairs) {
    line("%x0 = load i" + std::to_string(8 * from_bytes) + ", ptr addrspace(1) %from, align 1");
    line("%x = zext i" + std::to_string(8 * from_bytes) + " %x0 to i32");
  } else {
    line("%x = load <6 x i32>, ptr addrspace(1) %from, align 1");
  }
  const std::string emitted(c.emitted);
  const auto call = [&](const std::string& result, const std::vector<std::string>& arguments) {
    std::string list, types;
    for (const std::string& a : arguments) {
      list += (list.empty() ? "" : ", ") + a;
      types += (types.empty() ? "" : ", ") + a.substr(0, a.rfind(' '));
    }
    line("%y = call " + result + " @" + emitted + "(" + list + ")");
    declaration = "declare " + result + " @" + emitted + "(" + types + ")\n";
  };
  const auto split = [&](int each, const std::string& type) { // into two halves
    for (int half = 0; half < 2; ++half) {
      if (each == 1) {
        line("%h" + std::to_string(half) + " = extractelement <2 x " + type + "> %x, i32 " +
             std::to_string(half));
        continue;
      }
      std::string mask;
      for (int i = 0; i < each; ++i) // 2xpk16 interleaves
        mask += (i == 0 ? "" : ", ") + ("i32 " + std::to_string(2 * i + half));
      line("%h" + std::to_string(half) + " = shufflevector " + from_vector + " %x, " + from_vector +
           " poison, <" + std::to_string(each) + " x i32> <" + mask + ">");
    }
  };
  std::string result = to_vector; // of %y
  if (!emitted.starts_with("llvm.")) {
    if (c.from == Element::i4) {
      line("%x4 = trunc i8 %x to i4");
      line("%y = sext i4 %x4 to i32");
    } else {
      line("%y = " + emitted + " " + from_vector + " %x to " + to_vector);
    }
  } else if (emitted == "llvm.fptosi.sat") {
    const std::string suffix = "." + llvm_type(c.to) + "." +
                               (c.from == Element::f64   ? "f64"
                                : c.from == Element::f32 ? "f32"
                                                         : "f16");
    line("%y = call " + to_vector + " @llvm.fptosi.sat" + suffix + "(" + from_vector + " %x)");
    declaration = "declare " + to_vector + " @llvm.fptosi.sat" + suffix + "(" + from_vector + ")\n";
  } else if (c.elements == 32) {
    const std::string scale = "float 1.0";
    if (c.from == Element::f32) {
      split(16, "float");
      result = "<6 x i32>";
      call(result, {"<16 x float> %h0", "<16 x float> %h1", scale});
    } else if (is_wide(c.from)) {
      result = "<6 x i32>";
      call(result, {from_vector + " %x", scale});
    } else {
      call(result, {"<6 x i32> %x", scale});
    }
  } else if (is_wide(c.to)) { // from narrow ones: word, [scale], which part
    std::vector<std::string> arguments = {"i32 %x"};
    if (c.scaled) arguments.emplace_back("float 1.0");
    arguments.emplace_back(bits(c.from) == 4 ? "i32 0" : "i1 false");
    call(result, arguments);
  } else { // to narrow ones: old, values, [scale], which part
    const bool words = c.scaled && bits(c.to) == 8;
    result = words ? "<2 x i16>" : "i32";
    std::vector<std::string> arguments;
    if (c.scaled) arguments.push_back(words ? "<2 x i16> zeroinitializer" : "i32 0");
    if (c.from == Element::f32) {
      split(1, "float");
      arguments.insert(arguments.end(), {"float %h0", "float %h1"});
    } else {
      arguments.push_back(from_vector + " %x");
    }
    if (c.scaled)
      arguments.emplace_back("float 1.0");
    else
      arguments.emplace_back("i32 0");
    arguments.emplace_back(c.scaled && bits(c.to) == 4 ? "i32 0" : "i1 false");
    call(result, arguments);
    if (words) line("%w = bitcast <2 x i16> %y to i32");
    const std::string small = "i" + std::to_string(8 * to_bytes);
    line("%z = trunc i32 " + std::string(words ? "%w" : "%y") + " to " + small);
    result = small;
  }
  const bool truncated = body.find("%z = ") != std::string::npos;
  line("store " + result + (truncated ? " %z" : " %y") + ", ptr addrspace(1) %to, align 1");
  return "define amdgpu_kernel void @" + name +
         "(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out) "
         "\"amdgpu-flat-work-group-size\"=\"64,64\" {\n"
         "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n  %group = call i32 "
         "@llvm.amdgcn.workgroup.id.x()\n"
         "  %first = mul i32 %group, 64\n  %item = add i32 %first, %lane\n  %wide = zext i32 %item to i64\n"
         "  %from = getelementptr [" +
         std::to_string(from_bytes) +
         " x i8], ptr addrspace(1) %in, i64 %wide\n"
         "  %to = getelementptr [" +
         std::to_string(to_bytes) + " x i8], ptr addrspace(1) %out, i64 %wide\n" + body + "  ret void\n}\n";
}

std::uint64_t element_at(const std::vector<std::uint8_t>& bytes, std::size_t i, int width) {
  std::uint64_t code = 0;
  for (int b = 0; b < width; ++b) {
    const std::size_t at = i * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
    code |= std::uint64_t{bytes[at / 8] >> at % 8 & 1u} << b;
  }
  return code;
}
void put_element(std::vector<std::uint8_t>& bytes, std::size_t i, int width, std::uint64_t code) {
  for (int b = 0; b < width; ++b) {
    const std::size_t at = i * static_cast<std::size_t>(width) + static_cast<std::size_t>(b);
    bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | (code >> b & 1) << at % 8);
  }
}

// Codes of `from` that matter for `to`: all of a narrow type; of a wide one the numbers of `to`, what lies between them, and
// random ones.
std::vector<std::uint64_t> inputs(Element from, Element to) {
  std::vector<std::uint64_t> codes;
  if (bits(from) <= 16) {
    for (std::uint64_t c = 0; c < std::uint64_t{1} << bits(from); ++c) codes.push_back(c);
    return codes;
  }
  std::mt19937_64 random(8);
  if (bits(to) <= 16)
    for (std::uint64_t c = 0; c < std::uint64_t{1} << bits(to); c += bits(to) == 16 ? 5 : 1) {
      const double x = decode(to, c), y = decode(to, c + 1);
      if (!std::isfinite(x)) continue;
      for (const double v : {x, (x + y) / 2, std::nextafter(static_cast<float>((x + y) / 2), -1e30f) + 0.0,
                             std::nextafter(static_cast<float>((x + y) / 2), 1e30f) + 0.0})
        codes.push_back(encode(from, v));
    }
  for (const double v : {0.0, -0.0, 1e30, -1e30, 0x1p-149, 0x1p-126, 0x1.fffffep127, 2147483647.5,
                         -2147483649.0, 0.5, 1.5, 2.5, -0.5})
    codes.push_back(encode(from, v));
  if (is_floating(from)) {
    codes.push_back(encode(from, std::numeric_limits<double>::infinity()));
    codes.push_back(encode(from, -std::numeric_limits<double>::infinity()));
    codes.push_back(encode(from, NAN));
  }
  const int width = bits(from);
  for (int i = 0; i < 4000; ++i)
    codes.push_back(width == 64 ? random() : random() & ((std::uint64_t{1} << width) - 1));
  for (int i = 0; i < 4000; ++i)
    if (is_floating(from))
      codes.push_back(encode(
          from, std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63 + i % 48 - 24)));
  return codes;
}

} // namespace

TEST_CASE("each conversion is the instruction it is said to be, and rounds and saturates as said") {
  using namespace emulator_test;
  for (const Target& target : Target::all()) {
    std::string module =
        "declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n";
    std::map<std::string, std::string> declarations, texts;
    std::vector<const Conversion*> all;
    for (const Conversion& c : conversions()) {
      if (!c.targets.contains(target)) continue;
      std::string declaration;
      const std::string name = "k" + std::to_string(all.size());
      texts[name] = kernel_text(c, name, declaration);
      module += texts[name];
      declarations[declaration] = declaration;
      all.push_back(&c);
    }
    for (const auto& [d, text] : declarations) module += text;
    const Emitted emitted = emit(IrModule::parse(module), target);
    // The machine code of each kernel.
    std::map<std::string, std::string> code;
    std::istringstream lines(emitted.assembly);
    std::string current;
    for (std::string l; std::getline(lines, l);) {
      if (l.starts_with("k") && l.find(':') != std::string::npos) current = l.substr(0, l.find(':'));
      if (l.find("s_endpgm") != std::string::npos) current.clear();
      if (!current.empty()) code[current] += l + "\n";
    }
    std::vector<std::uint8_t> object(emitted.hsaco.size());
    std::memcpy(object.data(), emitted.hsaco.data(), object.size());
    EmulatorDevice device(arch_of(target), {.threads = 1});
    const rt::CodeObject parsed = rt::CodeObject::parse(object);
    const rt::Module loaded = device.load(parsed);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const Conversion& c = *all[n];
      const std::string name = "k" + std::to_string(n);
      INFO(target.name << ": " << to_string(c.from) << " -> " << to_string(c.to) << " by " << c.instruction
                       << "\n"
                       << code[name]);
      if (c.hardware()) CHECK(code[name].find(std::string(c.instruction)) != std::string::npos);
      if (!c.hardware()) CHECK(code[name].find("v_cvt_") == std::string::npos);
      std::vector<std::uint64_t> codes = inputs(c.from, c.to);
      const std::size_t group = static_cast<std::size_t>(64 * c.elements);
      while (codes.size() % group != 0) codes.push_back(0);
      const int from_width = c.from == Element::i4 ? 8 : bits(c.from), to_width = bits(c.to);
      std::vector<std::uint8_t> in(codes.size() * static_cast<std::size_t>(from_width) / 8),
          out(codes.size() * static_cast<std::size_t>(to_width) / 8 + 8);
      for (std::size_t i = 0; i < codes.size(); ++i) put_element(in, i, from_width, codes[i]);
      const rt::DevicePointer from = upload(device, in), to = upload(device, out);
      device.launch(device.function(loaded, name),
                    {.grid = {static_cast<unsigned>(codes.size() / group)}, .block = {64}},
                    Arguments().pointer(from).pointer(to).bytes());
      REQUIRE(device.last_launch().findings.empty());
      out = download<std::uint8_t>(device, to, out.size());
      int wrong = 0;
      for (std::size_t i = 0; i < codes.size() && wrong < 5; ++i) {
        const double value = decode(c.from, codes[i]);
        const std::uint64_t got = element_at(out, i, to_width);
        const std::uint64_t want = encode(c.to, value, c.overflow, c.rounding);
        if (got == want ||
            (is_floating(c.to) && std::isnan(decode(c.to, got)) && std::isnan(decode(c.to, want))))
          continue;
        ++wrong;
        INFO("code " << codes[i] << " is " << value << ", converted " << got << " (" << decode(c.to, got)
                     << "), expected " << want << " (" << decode(c.to, want) << ")");
        CHECK(false);
      }
      device.release(from);
      device.release(to);
    }
  }
}

} // namespace conversions_test
