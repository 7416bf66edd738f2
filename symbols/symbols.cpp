#include "symbols/symbols.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbols/debug_file.h"
#include "symbols/source_owner.h"

namespace dtypecheck {
namespace symbols {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The innermost frame that a user can edit; the function alone when there is none.
SourceLine line_of_user(const std::vector<SourceLine>& frames) {
  for (const SourceLine& frame : frames) {
    if (frame.known() && frame.line > 0 && !is_library_source(frame.file)) return frame;
  }
  return {"", 0, frames.back().function};
}

class ElfSymbolizer final : public Symbolizer {
 public:
  SourceLine resolve(const std::string& path, uint64_t begin, uint64_t file_offset,
                     uint64_t address) override try {
    return resolve_at(path, address - begin + file_offset);
  } catch (...) {  // no memory
    return {};
  }

 private:
  SourceLine resolve_at(const std::string& path, uint64_t offset) {
    const std::string name = base_name(path);
    const SourceLine nothing_known = {"", 0, fmt::format("{}+{:#x}", name, offset)};
    DebugFile* file = file_at(path);
    const std::optional<uint64_t> address = file ? file->address_of(offset) : std::nullopt;
    if (!address) return nothing_known;
    // A return address is where the next line may begin; the call is the byte before it.
    const std::vector<SourceLine> frames = file->frames(*address - 1);
    const std::optional<Symbol> symbol = file->symbol(*address - 1);
    SourceLine line = frames.empty() ? SourceLine() : line_of_user(frames);
    if (!line.function.empty()) return line;
    if (!symbol) return line.known() ? line : nothing_known;
    line.function = line.known()
                        ? symbol->name
                        : fmt::format("{}: {}+{:#x}", name, symbol->name, symbol->offset + 1);
    return line;
  }

  DebugFile* file_at(const std::string& path) {
    const auto [place, is_new] = files_.try_emplace(path);
    if (is_new) place->second = DebugFile::open(path);
    return place->second.get();
  }

  std::map<std::string, std::unique_ptr<DebugFile>> files_;
};

}  // namespace
}  // namespace symbols

std::unique_ptr<Symbolizer> make_symbolizer() { return std::make_unique<symbols::ElfSymbolizer>(); }

}  // namespace dtypecheck
