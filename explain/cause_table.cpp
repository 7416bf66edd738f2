#include "explain/cause_table.h"

#include <fmt/format.h>

#include "explain/data_file.h"
#include "explain/embedded.h"
#include "platform/error.h"

namespace dtypecheck::explain {
namespace {

// A cure and signs belong to the cause above them.
Cause& cause_above(const Field& field, Fault& fault) {
  if (fault.causes.empty()) field.fail(fmt::format("'{}' stands before any cause", field.key));
  return fault.causes.back();
}

void begin_cause(const Field& field, Fault& fault) {
  if (!fault.causes.empty() && fault.causes.back().cure.empty())
    field.fail("the cause above it has no cure");
  fault.causes.push_back({.cause = field.value});
}

void read_cure(const Field& field, Fault& fault) {
  std::string& cure = cause_above(field, fault).cure;
  if (!cure.empty()) field.fail("the cause above it has a cure already");
  cure = field.value;
}

void read_upgrade(const Field& field, Fault& fault) {
  if (field.value != "yes") field.fail("'upgrade' is 'yes' or is left out");
  cause_above(field, fault).is_upgrade = true;
}

void read_fields(const DataBlock& block, Fault& fault) {
  const auto above = [&](const Field& field) -> Cause& { return cause_above(field, fault); };
  block.read(
      {{"means", kNeeded | kOnce, [&](const Field& field) { fault.meaning = field.value; }},
       {"shown", kNeeded | kOnce, [&](const Field& field) { fault.shown = field.value; }},
       {"asks", kNeeded | kOnce, [&](const Field& field) { fault.asks = field.value; }},
       {"silent", kOnce, [&](const Field& field) { fault.silent = field.number(field.value); }},
       {"cause", kNeeded, [&](const Field& field) { begin_cause(field, fault); }},
       {"cure", kNeeded, [&](const Field& field) { read_cure(field, fault); }},
       {"signs", kMany, [&](const Field& field) { above(field).signs = phrases_in(field); }},
       {"when", kMany, [&](const Field& field) { above(field).when = phrases_in(field); }},
       {"device", kMany, [&](const Field& field) { above(field).device = phrases_in(field); }},
       {"on", kMany,
        [&](const Field& field) {
          above(field).device = phrases_in(field);
          above(field).is_of_device = true;
        }},
       {"of", kMany, [&](const Field& field) { above(field).messages = field.parts(); }},
       {"dtypes", kMany,
        [&](const Field& field) {
          (fault.causes.empty() ? fault.dtypes : fault.causes.back().dtypes) = dtypes_in(field);
        }},
       {"upgrade", kMany, [&](const Field& field) { read_upgrade(field, fault); }},
       {"hides", kMany, [&](const Field& field) { fault.hides.push_back(field.value); }}});
}

}  // namespace

CauseTable read_cause_table(std::string_view text, std::string_view file) {
  CauseTable table;
  for (const DataBlock& block : read_blocks(text, file)) {
    if (block.head.key != "fault") block.head.fail_unknown_key({"fault"});
    Fault& fault = table[static_cast<size_t>(category_in(block.head, block.head.value))];
    if (!fault.meaning.empty())
      block.head.fail(fmt::format("fault '{}' is listed twice", block.head.value));
    read_fields(block, fault);
    if (fault.causes.back().cure.empty()) block.head.fail("its last cause has no cure");
  }
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].meaning.empty())
      throw InputError(fmt::format("{}: no fault '{}'", file, kCategoryNames[i]));
  }
  return table;
}

const Fault& fault_of(Category category) {
  static const CauseTable table =
      read_cause_table(table_text("causes.txt", embedded::kCauses), "causes.txt");
  return table[static_cast<size_t>(category)];
}

}  // namespace dtypecheck::explain
