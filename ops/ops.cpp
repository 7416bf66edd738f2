#include "ops/ops.h"

#include <algorithm>
#include <iterator>

namespace dtypecheck {
namespace ops {
namespace {

struct Line {
  std::string_view name;
  uint64_t facts;
  std::string_view alias_of;
};

constexpr Line kLines[] = {
#define OP(name, facts) {#name, facts, ""},
#define ALIAS(name, other) {#name, 0, #other},
#define FAMILY(pattern, facts)
#include "ops/op_list.inc"
#undef OP
#undef ALIAS
#undef FAMILY
};

struct Family {
  std::string_view pattern;
  uint64_t facts;
};

constexpr Family kFamilies[] = {
#define OP(name, facts)
#define ALIAS(name, other)
#define FAMILY(pattern, facts) {pattern, facts},
#include "ops/op_list.inc"
#undef OP
#undef ALIAS
#undef FAMILY
};

constexpr bool is_sorted() {
  for (size_t i = 1; i < std::size(kLines); ++i) {
    if (!(kLines[i - 1].name < kLines[i].name)) return false;
  }
  return true;
}
static_assert(is_sorted(), "op_list.inc: each op has one line, in the order of the names");

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// A pattern has a star at its start, at its end, or at both.
bool fits(std::string_view pattern, std::string_view name) {
  const bool from_start = pattern.front() != '*';
  const bool to_end = pattern.back() != '*';
  if (!from_start) pattern.remove_prefix(1);
  if (!to_end) pattern.remove_suffix(1);
  if (from_start) return starts_with(name, pattern);
  return to_end ? ends_with(name, pattern) : name.find(pattern) != name.npos;
}

const Line* line_of(std::string_view name) {
  const auto line =
      std::lower_bound(std::begin(kLines), std::end(kLines), name,
                       [](const Line& line, std::string_view name) { return line.name < name; });
  return line != std::end(kLines) && line->name == name ? line : nullptr;
}

// The op's own line, or that of the op which it does in place or over lists.
const Line* line_of(const OpName& op) {
  const Line* line = line_of(op.name);
  if (!line && op.foreach && op.in_place) line = line_of(op.name.substr(sizeof "_foreach_" - 1));
  return line ? line : line_of(op.base);
}

bool is_libtorchs(const OpName& op) { return op.name_space.empty() || op.name_space == "aten"; }

}  // namespace

OpName parse_op_name(std::string_view op) {
  OpName parsed;
  const size_t colons = op.find("::");
  if (colons != op.npos) parsed.name_space = op.substr(0, colons);
  parsed.name = colons == op.npos ? op : op.substr(colons + 2);
  parsed.base = parsed.name;
  if (parsed.base.size() > 1 && ends_with(parsed.base, "_") && !ends_with(parsed.base, "__")) {
    parsed.in_place = true;
    parsed.base.remove_suffix(1);
  }
  constexpr std::string_view kForeach = "_foreach_";
  if (starts_with(parsed.base, kForeach)) {
    parsed.foreach = true;
    parsed.base.remove_prefix(kForeach.size());
  }
  return parsed;
}

uint64_t facts_of(std::string_view op) {
  const OpName name = parse_op_name(op);
  if (!is_libtorchs(name)) return 0;
  uint64_t facts = 0;
  for (const Family& family : kFamilies) {
    if (fits(family.pattern, name.name)) facts |= family.facts;
  }
  const Line* line = line_of(name);
  if (line && !line->alias_of.empty()) {
    facts |= kUnrecorded;
    line = line_of(line->alias_of);
  }
  if (line) facts |= line->facts;
  // These speak of the one form only: add_ steps a parameter, addmm_ adds to what it is called on.
  if (!name.in_place) facts &= ~uint64_t{kSteps};
  if (name.in_place) facts &= ~uint64_t{kAddsProduct};
  return facts;
}

std::vector<std::string_view> ops_that_take_no_values() {
  std::vector<std::string_view> names;
  for (const Line& line : kLines)
    if (takes_no_values(line.name)) names.push_back(line.name);
  return names;
}

std::string without_alias(std::string_view op) {
  const OpName name = parse_op_name(op);
  const Line* line = is_libtorchs(name) ? line_of(name) : nullptr;
  if (!line || line->alias_of.empty()) return std::string(op);
  std::string other(op.substr(0, op.size() - name.name.size()));
  other += line->alias_of;
  return name.in_place ? other + '_' : other;
}

bool gives_dtype_to_memory(std::string_view op, std::string_view overload) {
  return (op == "aten::set_" && starts_with(overload, "source_Storage")) ||
         (op == "aten::view" && overload == "dtype") || op == "aten::lift_fresh";
}

Interest interest_in(std::string_view op, std::string_view overload) {
  if (starts_with(op, "profiler::")) return Interest::kNever;
  if (gives_dtype_to_memory(op, overload))
    return op == "aten::set_" ? Interest::kLoading : Interest::kTopLevel;
  const uint64_t facts = facts_of(op);
  if (facts & (kView | kQuestion | kUnrecorded)) return Interest::kNever;
  if (facts & (kFactory | kCopy | kOverwrites | kTopLevel)) return Interest::kTopLevel;
  return Interest::kAlways;
}

}  // namespace ops
}  // namespace dtypecheck
