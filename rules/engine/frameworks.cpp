#include "rules/engine/frameworks.h"

#include <algorithm>

#include "platform/data_file.h"
#include "platform/text.h"
#include "rules/embedded.h"

namespace dtypecheck::rules {
namespace {

constexpr std::string_view kFile = "rules/data/frameworks.txt";
constexpr std::string_view kSign = " = ";

std::string_view next_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(kSign));
  rest.remove_prefix(std::min(rest.size(), part.size() + kSign.size()));
  return part;
}

// "precision 16-true = bf16-mixed": the two words before the first sign, and what stands between
// signs.
std::vector<std::string> split(const Field& field, size_t least, size_t most) {
  std::vector<std::string> out;
  std::string_view rest = field.value, head = next_part(rest);
  while (!head.empty()) out.emplace_back(next_piece(head, ' '));
  if (out.size() != 2) field.fail("expected two words before the first =");
  while (!rest.empty()) out.emplace_back(next_part(rest));
  if (out.size() < 2 + least) field.fail("expected more behind =");
  if (out.size() > 2 + most) field.fail("expected no further =");
  return out;
}

Framework framework_in(const DataBlock& block) {
  if (block.head.key != "framework") block.head.fail_unknown_key({"framework"});
  Framework framework{.name = block.head.value};
  block.read(
      {{"read", kNeeded | kOnce, [&](const Field& field) { framework.read = field.value; }},
       {"files", kNeeded | kOnce, [&](const Field& field) { framework.files = field.parts(); }},
       {"run", kOnce, [&](const Field& field) { framework.run = field.parts(); }},
       {"setting", kMany,
        [&](const Field& field) {
          const auto parts = split(field, 1, 2);
          framework.settings.push_back(
              {parts[0], parts[1], parts[2], parts.size() > 3 ? parts[3] : ""});
        }},
       {"option", kMany,
        [&](const Field& field) {
          const auto parts = split(field, 1, 1);
          framework.settings.push_back({parts[0], parts[1], parts[2], parts[2], true});
        }},
       {"default", kMany, [&](const Field& field) {
          const auto parts = split(field, 2, 2);
          framework.defaults.push_back({parts[0], parts[1], parts[2], parts[3]});
        }}});
  return framework;
}

}  // namespace

static bool has_part(const std::vector<std::string>& parts, std::string_view path) {
  return std::ranges::any_of(parts,
                             [&](const std::string& part) { return path.find(part) != path.npos; });
}

bool Framework::has_file(std::string_view path) const { return has_part(files, path); }

std::vector<Framework> read_frameworks(std::string_view text) {
  std::vector<Framework> all;
  for (const DataBlock& block : read_blocks(text, kFile)) all.push_back(framework_in(block));
  return all;
}

std::vector<const Framework*> frameworks_of(const Run& run, const std::vector<SourceLine>& lines) {
  std::vector<const Framework*> here;
  for (const Framework& framework : frameworks()) {
    const auto is_its = [&](const SourceLine& line) {
      return framework.has_file(line.file) || has_part(framework.run, line.file);
    };
    if (std::ranges::any_of(lines, is_its) ||
        std::ranges::any_of(run.calls, [&](const OpCall& call) {
          return is_its(call.site.inner) || is_its(call.site.line);
        }))
      here.push_back(&framework);
  }
  return here;
}

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = read_frameworks(embedded::kFrameworks);
  return all;
}

}  // namespace dtypecheck::rules
