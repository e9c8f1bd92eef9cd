// .debug_line through LLVM's DWARF reader; only the rows are kept.
#include <inlay/runtime/isa/line_table.h>
#include <inlay/runtime/isa/source_files.h>

#include <algorithm>
#include <map>
#include <set>

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugLine.h>
#include <llvm/Support/MemoryBuffer.h>

namespace inlay::runtime::isa {

std::string to_string(const SourceLine& s) {
  return s.file + ":" + std::to_string(s.line) + (s.column == 0 ? "" : ":" + std::to_string(s.column));
}

namespace {

using Table = llvm::DWARFDebugLine::LineTable;
using Kind = llvm::DILineInfoSpecifier::FileLineInfoKind;

/// f of each line table of a linked code object.
template <class F>
void each_table(const CodeObject& object, F&& f) {
  if (object.relocatable()) return;
  // Only the sections of line tables: damage elsewhere has nothing to say here, and nothing is decompressed.
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> sections;
  for (const Section& s : object.sections()) {
    if (s.bytes.empty() || (s.name != ".debug_line" && s.name != ".debug_line_str" && s.name != ".debug_str"))
      continue;
    const llvm::StringRef bytes(reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size());
    sections.try_emplace(s.name.substr(1), llvm::MemoryBuffer::getMemBuffer(bytes, s.name, false));
  }
  if (!sections.contains("debug_line")) return;
  const auto ignore = [](llvm::Error e) { llvm::consumeError(std::move(e)); };
  const auto context = llvm::DWARFContext::create(sections, 8, true, ignore, ignore);
  const llvm::DWARFObject& dwarf = context->getDWARFObj();
  llvm::DWARFDataExtractor data(dwarf, dwarf.getLineSection(), context->isLittleEndian(), 8);
  llvm::DWARFUnitVector no_units;
  llvm::DWARFDebugLine::SectionParser parser(data, *context,
                                             llvm::make_range(no_units.begin(), no_units.end()));
  while (!parser.done()) f(parser.parseNext(ignore, ignore));
}

/// A file's name or path, as it may go to terminals and JSON.
std::string file_of(const Table& table, std::uint64_t index, Kind kind) {
  std::string name;
  if (!table.getFileNameByIndex(index, "", kind, name)) name = "?";
  for (char& c : name)
    if (c < 0x20 || c > 0x7e) c = '?';
  return name;
}

} // namespace

LineTable LineTable::read(const CodeObject& object) {
  LineTable out;
  std::map<std::string, std::uint32_t> numbers;
  each_table(object, [&](const Table& table) {
    std::map<std::uint64_t, std::uint32_t> known; // file of this table -> files_
    for (const auto& row : table.Rows) {
      const auto [at, fresh] = known.try_emplace(row.File, 0);
      if (fresh) {
        const std::string name = file_of(table, row.File, Kind::RawValue);
        const auto [number, unseen] =
            numbers.try_emplace(name, static_cast<std::uint32_t>(out.files_.size()));
        if (unseen) out.files_.push_back(name);
        at->second = number->second;
      }
      out.rows_.push_back({row.Address.Address, at->second, row.EndSequence ? 0 : row.Line,
                           row.EndSequence ? 0U : std::uint32_t{row.Column}});
    }
  });
  std::stable_sort(out.rows_.begin(), out.rows_.end(),
                   [](const Row& a, const Row& b) { return a.address < b.address; });
  return out;
}

std::map<std::string, std::string> source_files(const CodeObject& object) {
  std::map<std::string, std::string> out;
  each_table(object, [&](const Table& table) {
    std::set<std::uint64_t> indices;
    for (const auto& row : table.Rows) indices.insert(row.File);
    for (const std::uint64_t index : indices) {
      const std::string path = file_of(table, index, Kind::AbsoluteFilePath);
      const auto [at, fresh] = out.try_emplace(file_of(table, index, Kind::RawValue), path);
      if (!fresh && at->second != path) at->second.clear();
    }
  });
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
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
