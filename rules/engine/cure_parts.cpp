#include "rules/engine/cure_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/provenance.h"
#include "platform/text.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {

std::string at(const Site& site) {
  const std::string line = place(site);
  return line.empty() ? "" : ", " + line;
}

bool is_in_forward(const SourceLine& line) { return line.function.ends_with("forward"); }

Cure cure_of(CureKind kind, const OpCall& call, std::string operand, Dtype dtype) {
  return {.kind = kind,
          .dtype = dtype,
          .call = call.id,
          .operand = std::move(operand),
          .where = call.site.line};
}

void take(Cure& cure, Patch patch) {
  cure.replaces = std::move(patch.old_text);
  cure.code = std::move(patch.new_text);
}

std::string_view name_of_callee(std::string_view callee) {
  callee.remove_prefix(callee.find_last_of(".:>") + 1);
  return callee.substr(0, callee.find_last_not_of('_') + 1);
}

bool is_head(const CodeLine& line) {
  const std::string_view text = trimmed(line.text);
  return text.starts_with("def ") || text.starts_with("async def ");
}

// The line gives the file the name "torch": "import torch", and not "import torch.nn as nn".
static bool binds_torch(std::string_view line) {
  constexpr std::string_view kImport = "import ", kFrom = "from ", kAs = " as ";
  line = trimmed(line.substr(0, line.find('#')));
  const bool is_from = line.starts_with(kFrom);
  if (!is_from && !line.starts_with(kImport)) {
    const std::vector<size_t> places = places_of_word(line, "torch");
    return std::any_of(places.begin(), places.end(),
                       [&](size_t at) { return line.substr(at).starts_with("torch."); });
  }
  const size_t names = line.find(kImport);
  if (names == line.npos) return false;
  for (std::string_view rest = line.substr(names + kImport.size()); !rest.empty();) {
    const std::string_view name = trimmed(next_piece(rest, ','));
    const size_t as = name.find(kAs);
    const std::string_view bound = as == name.npos ? name : trimmed(name.substr(as + kAs.size()));
    const bool is_package = !is_from && as == name.npos && bound.starts_with("torch.");
    if (bound == "torch" || is_package) return true;
  }
  return false;
}

bool lacks_torch(const LineText& line_text, const std::string& file) {
  constexpr int kHead = 80;
  bool imports = false;
  for (int number = 1; line_text && number <= kHead; ++number) {
    const std::string text = line_text(file, number);
    imports |= text.starts_with("import ") || text.starts_with("from ");
    if (binds_torch(text)) return false;
  }
  return imports;
}

}  // namespace dtypecheck::rules
