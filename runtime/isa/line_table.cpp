// .debug_line through LLVM's DWARF reader; only the rows are kept.
#include <inlay/runtime/isa/line_table.h>

#include <algorithm>
#include <map>

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugLine.h>
#include <llvm/Support/MemoryBuffer.h>

namespace inlay::runtime::isa {

std::string to_string(const SourceLine& s) {
  return s.file + ":" + std::to_string(s.line) + (s.column == 0 ? "" : ":" + std::to_string(s.column));
}

LineTable LineTable::read(const CodeObject& object) {
  LineTable out;
  if (object.relocatable()) return out;
  // Only the sections of line tables: damage elsewhere has nothing to say here, and nothing is decompressed.
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> sections;
  for (const Section& s : object.sections()) {
    if (s.bytes.empty() || (s.name != ".debug_line" && s.name != ".debug_line_str" && s.name != ".debug_str"))
      continue;
    const llvm::StringRef bytes(reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size());
    sections.try_emplace(s.name.substr(1), llvm::MemoryBuffer::getMemBuffer(bytes, s.name, false));
  }
  if (!sections.contains("debug_line")) return out;
  const auto ignore = [](llvm::Error e) { llvm::consumeError(std::move(e)); };
  const auto context = llvm::DWARFContext::create(sections, 8, true, ignore, ignore);
  const llvm::DWARFObject& dwarf = context->getDWARFObj();
  llvm::DWARFDataExtractor data(dwarf, dwarf.getLineSection(), context->isLittleEndian(), 8);
  llvm::DWARFUnitVector no_units;
  llvm::DWARFDebugLine::SectionParser parser(data, *context,
                                             llvm::make_range(no_units.begin(), no_units.end()));
  std::map<std::string, std::uint32_t> numbers;
  while (!parser.done()) {
    const auto table = parser.parseNext(ignore, ignore);
    using Kind = llvm::DILineInfoSpecifier::FileLineInfoKind;
    std::map<std::uint64_t, std::uint32_t> known; // file of this table -> files_
    for (const auto& row : table.Rows) {
      const auto [at, fresh] = known.try_emplace(row.File, 0);
      if (fresh) {
        std::string name;
        if (!table.getFileNameByIndex(row.File, "", Kind::RawValue, name)) name = "?";
        for (char& c : name) { // goes to terminals and JSON
          if (c < 0x20 || c > 0x7e) c = '?';
        }
        const auto [number, unseen] =
            numbers.try_emplace(name, static_cast<std::uint32_t>(out.files_.size()));
        if (unseen) out.files_.push_back(name);
        at->second = number->second;
      }
      out.rows_.push_back({row.Address.Address, at->second, row.EndSequence ? 0 : row.Line,
                           row.EndSequence ? 0U : std::uint32_t{row.Column}});
    }
  }
  std::stable_sort(out.rows_.begin(), out.rows_.end(),
                   [](const Row& a, const Row& b) { return a.address < b.address; });
  return out;
}

std::optional<SourceLine> LineTable::at(std::uint64_t address) const {
  // The last row at or below the address: of several rows at one address the last holds.
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), address,
                                      [](std::uint64_t a, const Row& r) { return a < r.address; });
  if (after == rows_.begin()) return std::nullopt;
  const Row& r = *std::prev(after);
  if (r.line == 0) return std::nullopt;
  return SourceLine{files_[r.file], r.line, r.column};
}

} // namespace inlay::runtime::isa
