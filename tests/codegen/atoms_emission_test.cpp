// What LLVM selects for each atom: one kernel an atom, made of nothing but the emission that the table names.
#include <catch2/catch.hpp>
#include <inlay/codegen/atoms.h>
#include <inlay/codegen/emit.h>
#include <inlay/codegen/error.h>

#include <map>
#include <sstream>

namespace atoms_emission_test {

using namespace inlay::codegen;

namespace {

bool is_intrinsic(const Emission& e) { return e.name.starts_with("llvm."); }
// `i32 4` has its value; `<4 x i32>`, `ptr addrspace(8)` and `i32` have none.
bool is_constant(const std::string& operand) {
  return (operand.starts_with("i32 ") || operand.starts_with("i1 ")) &&
         operand.find('x') == std::string::npos;
}

// A kernel that does with the atom's emission what a builder would: values come from memory (or a lane's number), results
// go to memory where they are used.
class KernelText {
public:
  explicit KernelText(const Atom& atom, const std::string& name) : atom_(atom) {
    const Emission& e = atom.emission;
    std::string body;
    std::vector<std::string> given;
    for (const std::string& operand : e.operands)
      given.push_back(is_constant(operand) ? operand : value(operand));
    const std::string list = [&] {
      std::string all;
      for (const std::string& g : given) all += (all.empty() ? "" : ", ") + g;
      return all;
    }();
    const std::string result = e.result == "void" ? "" : "%r = ";
    const std::string not_private =
        atom.destination.addressing == Addressing::flat ? ", !noalias.addrspace !1" : "";
    if (is_intrinsic(e)) {
      line(result + "call " + e.result + " @" + e.name + "(" + list + ")");
      std::string types;
      for (const std::string& operand : e.operands) {
        const std::string type = is_constant(operand) ? operand.substr(0, operand.find(' ')) : operand;
        types += (types.empty() ? "" : ", ") + type;
        const bool fixed = is_constant(operand) && !e.name.starts_with("llvm.amdgcn.mfma.scale") &&
                           !e.name.starts_with("llvm.amdgcn.update.dpp");
        if (fixed) types += " immarg";
      }
      declaration = "declare " + e.result + " @" + e.name + "(" + types + ")";
    } else if (atom.parts == 2) { // at a distance that only this atom's immediates hold
      const std::string pointer = given.back(), distance = std::to_string(7 * atom.immediate.unit);
      line("%second = getelementptr i8, " + pointer + ", i32 " + distance);
      const std::string align = ", align " + std::to_string(atom.alignment);
      if (e.name == "load") {
        line("%r0 = load " + e.result + ", " + pointer + align);
        line("%r1 = load " + e.result + ", ptr addrspace(3) %second" + align);
        line("%r = add " + e.result + " %r0, %r1");
      } else {
        line("store " + given[0] + ", " + pointer + align);
        line("store " + given[0] + ", ptr addrspace(3) %second" + align);
      }
    } else if (e.name == "load") {
      line(result + "load " + e.result + ", " + list + ", align " + std::to_string(atom.alignment));
    } else if (e.name == "store") {
      line("store " + list + ", align " + std::to_string(atom.alignment));
    } else if (e.name == "cmpxchg") {
      line("%both = cmpxchg " + list + " syncscope(\"agent\") monotonic monotonic" + not_private);
      line("%r = extractvalue { " + e.result + ", i1 } %both, 0");
    } else { // atomicrmw: native only where the memory is known to be local and coarse
      line(result + e.name + " " + list +
           " syncscope(\"agent\") monotonic, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0, "
           "!amdgpu.ignore.denormal.mode !0" +
           not_private);
    }
    const bool keeps = atom.kind != Atom::Kind::atomic || atom.returns;
    if (!result.empty() && keeps) {
      std::string type = e.result;
      if (type.starts_with("{")) { // of a swap
        line("%r0 = extractvalue " + type + " %r, 0");
        line("%r1 = extractvalue " + type + " %r, 1");
        line("%sum = add i32 %r0, %r1");
        line("store i32 %sum, ptr addrspace(1) %out");
      } else if (type == "i8" || type == "i16") {
        line("%wide = " + std::string(atom.sign_extends ? "sext " : "zext ") + type + " %r to i32");
        line("store i32 %wide, ptr addrspace(1) %out");
      } else {
        line("store " + type + " %r, ptr addrspace(1) %out");
      }
    }
    text = "define amdgpu_kernel void @" + name +
           "(ptr addrspace(1) noalias %in, ptr addrspace(1) noalias %out, i64 %uniform) {\n"
           "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n"
           "  %wide_lane = zext i32 %lane to i64\n"
           "  %here = getelementptr [256 x i8], ptr addrspace(1) %in, i64 %wide_lane\n" +
           text_ + "  ret void\n}\n";
  }

  std::string text, declaration;

private:
  void line(const std::string& l) { text_ += "  " + l + "\n"; }
  std::string fresh() { return "%v" + std::to_string(next_++); }

  std::string value(const std::string& type) {
    const std::string v = fresh(), at = v + "_at";
    if (type == "ptr addrspace(8)") { // one descriptor for the wave
      line(v + " = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %in, i16 0, "
               "i64 65536, i32 "
               "159744)");
    } else if (type == "ptr addrspace(3)") {
      const bool whole_wave = atom_.forced_place();
      line(v + " = getelementptr [64 x i8], ptr addrspace(3) @block, i32 " + (whole_wave ? "0" : "%lane"));
    } else if (type == "ptr addrspace(4)") {
      line(v + " = inttoptr i64 %uniform to ptr addrspace(4)");
    } else if (type == "ptr") { // could be anywhere: LLVM must not infer an address space
      line(at + " = load i64, ptr addrspace(1) %here");
      line(v + " = inttoptr i64 " + at + " to ptr");
    } else if (type == "ptr addrspace(1)") {
      line(v + " = getelementptr i8, ptr addrspace(1) %here, i64 1024");
    } else if (type == "<4 x i32>" && atom_.emission.name.starts_with("llvm.amdgcn.s.buffer")) {
      line(at + " = inttoptr i64 %uniform to ptr addrspace(4)");
      line(v + " = load <4 x i32>, ptr addrspace(4) " + at);
    } else {
      line(at + " = getelementptr i8, ptr addrspace(1) %here, i64 " + std::to_string(32 * next_));
      line(v + " = load volatile " + type + ", ptr addrspace(1) " + at);
      const bool scalar = atom_.source.uniform() || atom_.name == "v_writelane_b32" ||
                          (atom_.name == "v_readlane_b32" && next_ > 1);
      if (scalar && type == "i32") {
        line(v + "_u = call i32 @llvm.amdgcn.readfirstlane.i32(i32 " + v + ")");
        return type + " " + v + "_u";
      }
    }
    return type + " " + v;
  }

  const Atom& atom_;
  std::string text_;
  int next_ = 0;
};

// The assembly of each function.
std::map<std::string, std::string> functions_of(const std::string& assembly) {
  std::map<std::string, std::string> out;
  std::istringstream lines(assembly);
  std::string current;
  for (std::string l; std::getline(lines, l);) {
    if (l.starts_with("k") && l.find(':') != std::string::npos && l.find(' ') == std::string::npos)
      current = l.substr(0, l.find(':'));
    if (l.find(".end_amdhsa_kernel") != std::string::npos || l.find("s_endpgm") != std::string::npos)
      current.clear();
    if (!current.empty()) out[current] += l + "\n";
  }
  return out;
}

// Whether the text has that instruction: the mnemonic as a whole word (encodings may follow), with the modifiers.
bool has_instruction(const std::string& text, const Atom& atom) {
  const std::string mnemonic(atom.mnemonic());
  std::istringstream lines(text);
  for (std::string l; std::getline(lines, l);) {
    std::istringstream words(l.substr(0, l.find(';')));
    std::string first, word, rest;
    words >> first;
    for (const char* suffix : {"_e32", "_e64"})
      if (first.ends_with(suffix)) first.resize(first.size() - 4);
    std::vector<std::string> wanted;
    std::istringstream modifiers(atom.name.substr(mnemonic.size()));
    for (std::string m; modifiers >> m;) wanted.push_back(m);
    std::vector<std::string> there;
    while (words >> word) there.push_back(word);
    if (first != mnemonic) continue;
    bool all = true;
    for (const std::string& m : wanted) all = all && std::find(there.begin(), there.end(), m) != there.end();
    // What the name does not say must not be there.
    for (const std::string& t : there)
      for (const char* modifier : {"cbsz:", "blgp:", "lds", "sc0", "glc"})
        if (t.starts_with(modifier) && std::find(wanted.begin(), wanted.end(), t) == wanted.end())
          all = false;
    if (all) return true;
  }
  return false;
}

} // namespace

TEST_CASE("LLVM selects the named instruction for each atom's emission, on each of its targets") {
  for (const Target& target : Target::all()) {
    std::string module =
        "@block = internal addrspace(3) global [16384 x i8] poison, align 16\n"
        "declare i32 @llvm.amdgcn.workitem.id.x()\n"
        "declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)\n";
    std::map<std::string, const Atom*> kernels;
    std::map<std::string, std::string> sources, declarations;
    declarations["llvm.amdgcn.readfirstlane.i32"] = "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)";
    for (const Atom* atom : Atom::on(target)) {
      REQUIRE_FALSE(atom->emission.name.empty());
      const std::string name = "k" + std::to_string(kernels.size());
      const KernelText text(*atom, name);
      kernels[name] = atom;
      sources[name] = text.text;
      module += text.text;
      if (!text.declaration.empty()) declarations[atom->emission.name] = text.declaration;
    }
    for (const auto& [name, declaration] : declarations) module += declaration + "\n";
    module += "!0 = !{}\n!1 = !{i32 5, i32 6}\n";
    const Emitted emitted = emit(IrModule::parse(module), target);
    const auto functions = functions_of(emitted.assembly);
    for (const auto& [name, atom] : kernels) {
      const auto found = functions.find(name);
      const std::string text = found == functions.end() ? "" : found->second;
      INFO(target.name << ": " << atom->name << "\n" << sources.at(name) << text);
      CHECK(has_instruction(text, *atom));
    }
  }
}

} // namespace atoms_emission_test
