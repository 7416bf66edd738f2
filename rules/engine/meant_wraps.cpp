#include "rules/engine/meant_wraps.h"

#include <algorithm>
#include <regex>
#include <span>

#include "ops/ops.h"

namespace dtypecheck::rules {
namespace {

constexpr int kLinesBehind = 15;

// A function that makes numbers which nobody reads as such.
bool is_of_hash(const std::string& function) {
  static const std::regex kWords("hash|seed|rng|crc|checksum|cipher|crypt|lcg|xorshift|murmur|fnv",
                                 std::regex::icase);
  return std::regex_search(function, kWords);
}

// The statement takes some bits of the result, or chooses between two that wrap.
bool takes_bits(const std::string& text) {
  static const std::regex kOfText(R"((["'])[^"']*\1\s*%?)");
  static const std::regex kMeant(
      R"(\^|>>|%|&\s*\(?(0x|\d|\w*mask)|0x|\.view\(|\bwhere\(|\bminimum\(|astype\([^)]*\bint8\b)",
      std::regex::icase);
  return std::regex_search(std::regex_replace(text, kOfText, ""), kMeant);
}

std::string statement_of(const JudgeOptions& options, const OpCall& call) {
  const SourceLine& at = call.site.line;
  std::string text;
  for (int line = at.line; line <= std::clamp(at.extent.end_line, at.line, at.line + 8); ++line)
    text += options.line_text(at.file, line) + "\n";
  return text;
}

size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// What the statement binds is mapped back by a later one of its block: by its bits, as numbers with
// a sign, by a running sum, or where a mask says that it wrapped.
bool is_mapped_back(const JudgeOptions& options, const OpCall& call) {
  const std::string first = options.line_text(call.site.line.file, call.site.line.line);
  static const std::regex kBinds(R"(^\s*([A-Za-z_]\w*)\s*[-+*]?=(?!=))");
  std::smatch bound;
  if (!std::regex_search(first, bound, kBinds)) return false;
  const std::string name = R"(\b)" + bound[1].str() + R"(\b)";
  const std::regex mapped(name + R"(\s*(\.view\(|\.astype\([^)]*\bint8\b|[&%^]|>>))" + "|" + name +
                          R"(\[[^\]]*(mask|[<>])[^\]]*\]\s*=)" + "|" +
                          R"((cumsum|where|minimum)\(.*)" + name);
  for (int line = call.site.line.line + 1; line <= call.site.line.line + kLinesBehind; ++line) {
    const std::string text = options.line_text(call.site.line.file, line);
    if (indent_of(text) == text.size()) continue;
    if (indent_of(text) < indent_of(first)) return false;
    if (std::regex_search(text, mapped)) return true;
  }
  return false;
}

// A difference that is added again where it came from, and that sum.
bool is_undone(const RunIndex& index, const OpCall& call) {
  const auto is_of = [&](OpCallId id, std::string_view name) {
    const OpCall* other = index.run().call(id);
    return other != nullptr && ops::is_numpy(other->op) &&
           other->op.substr(ops::kNumpy.size()) == name;
  };
  const std::span<const OpCallId> consumers = index.consumers(call);
  if (is_of(call.id, "subtract"))
    return std::ranges::any_of(consumers, [&](OpCallId one) { return is_of(one, "add"); });
  return is_of(call.id, "add") && std::ranges::any_of(call.operands, [&](const Operand& its) {
           return is_of(its.origin, "subtract");
         });
}

// np.diff() and its like are the user's own arithmetic.
bool is_own_line(const Site& site) {
  const bool is_in_numpy = site.inner.file.find("/numpy/lib/") != std::string::npos;
  return site.line.known() && !is_installed(site.line) && (is_users_own(site) || is_in_numpy);
}

}  // namespace

bool wraps_as_meant(const RunIndex& index, const JudgeOptions& options, const OpCall& call) {
  return !is_own_line(call.site) || is_of_hash(call.site.line.function) ||
         takes_bits(statement_of(options, call)) || is_mapped_back(options, call) ||
         is_undone(index, call);
}

}  // namespace dtypecheck::rules
