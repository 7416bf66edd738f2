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

void read_field(const Field& field, Fault& fault) {
  if (field.key == "means") {
    fault.meaning = field.value;
  } else if (field.key == "shown") {
    fault.shown = field.value;
  } else if (field.key == "asks") {
    fault.asks = field.value;
  } else if (field.key == "silent") {
    fault.silent = field.number(field.value);
  } else if (field.key == "cause") {
    if (!fault.causes.empty() && fault.causes.back().cure.empty())
      field.fail("the cause above it has no cure");
    fault.causes.push_back({.cause = field.value});
  } else if (field.key == "cure") {
    if (!cause_above(field, fault).cure.empty())
      field.fail("the cause above it has a cure already");
    fault.causes.back().cure = field.value;
  } else if (field.key == "signs") {
    cause_above(field, fault).signs = phrases_in(field);
  } else if (field.key == "when") {
    cause_above(field, fault).when = phrases_in(field);
  } else if (field.key == "device") {
    cause_above(field, fault).device = phrases_in(field);
  } else if (field.key == "on") {
    cause_above(field, fault).device = phrases_in(field);
    fault.causes.back().is_of_device = true;
  } else if (field.key == "of") {
    cause_above(field, fault).messages = field.parts();
  } else if (field.key == "dtypes") {
    (fault.causes.empty() ? fault.dtypes : fault.causes.back().dtypes) = dtypes_in(field);
  } else if (field.key == "upgrade") {
    if (field.value != "yes") field.fail("'upgrade' is 'yes' or is left out");
    cause_above(field, fault).is_upgrade = true;
  } else if (field.key == "hides") {
    fault.hides.push_back(field.value);
  } else {
    field.fail_unknown_key({"means", "shown", "asks", "silent", "cause", "cure", "signs", "when",
                            "device", "on", "of", "dtypes", "upgrade", "hides"});
  }
}

}  // namespace

CauseTable read_cause_table(std::string_view text, std::string_view file) {
  CauseTable table;
  for (const Block& block : read_blocks(text, file)) {
    if (block.head.key != "fault") block.head.fail_unknown_key({"fault"});
    Fault& fault = table[static_cast<size_t>(category_in(block.head, block.head.value))];
    if (!fault.meaning.empty())
      block.head.fail(fmt::format("fault '{}' is listed twice", block.head.value));
    for (const Field& field : block.fields) read_field(field, fault);
    block.require({"means", "shown", "asks", "cause", "cure"});
    block.allow_once({"means", "shown", "asks", "silent"});
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
