// check.h: what a check of source is, and the list of all of them. A check is one file in checks/
// and one line in check_list.inc; it sees the facts of a file and nothing of Clang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/facts.h"
#include "core/doc.h"
#include "core/finding.h"

namespace dtypecheck::analyzer {

struct Check;

struct ReadGroup;

// Collects findings about one file.
class CheckFindings {
 public:
  Finding& add(const Check& check, Severity severity, const Place& place,
               const std::string& function, std::string message);
  // About the first read of the group, with the others as further places.
  Finding& add(const Check& check, Severity severity, const ReadGroup& group, std::string message);
  std::vector<Finding> ordered();  // in the order of their lines

 private:
  std::vector<Finding> findings_;
};

// What one decision of the author covers, as a rule: findings of a check that are alike there are
// reported as one, with the others as places of it (reports/judging/lint_report.h).
enum class Scope : uint8_t {
  kPlace,
  kFunction,  // the type that a kernel sums up in
  kFile,      // a habit: which dtypes its dispatches have, whether its functions check
};

struct Check {
  Doc doc;
  void (*check)(const SourceFacts& facts, CheckFindings& out);
  Scope scope = Scope::kPlace;
};

#define CHECK(name) extern const Check name;
#include "analyzer/check_list.inc"
#undef CHECK

const std::vector<const Check*>& all_checks();  // in the order of check_list.inc

std::vector<Finding> judge(const SourceFacts& facts);

// The reads of one function that have one fault in common are one finding: the first is where it
// stands, the others are further places of it.
struct ReadGroup {
  const Read* first;
  std::vector<const Read*> all;
};
std::vector<ReadGroup> by_function(const std::vector<const Read*>& reads);
// "points, mask and 3 more", each name once.
std::string names_of(const ReadGroup& group);
// "float", or "fixed types" where they are several.
std::string types_of(const ReadGroup& group);
// The dtype that all of them read; none where they are several.
std::optional<Dtype> one_dtype_of(const ReadGroup& group);
bool is_one_name(const ReadGroup& group);
inline const char* is_or_are(const ReadGroup& group) { return is_one_name(group) ? "is" : "are"; }

// The cure of unchecked reads: a TORCH_CHECK of each tensor, one for all its reads where one can
// stand before them. Nothing is added where one of them has no such place, or no name that can be
// written there, or is read as two dtypes.
void add_dtype_checks(Finding& finding, const ReadGroup& group);
// The same of reads in a dispatch: each tensor is compared with the dispatched one.
void add_checks_of_equality(Finding& finding, const ReadGroup& group);
// Memory that the caller lends, by its name: the op writes it before it reads it.
bool is_lent(const Read* read);
// Statistics and masters, by their name: Float whatever the model is in.
bool is_float_by_design(const std::string& name);
// The cure of a text that stands in the source as such; nothing is added where it does not.
void add_replacement(Finding& finding, const Place& place, const std::string& old_text,
                     const std::string& new_text);

// A further place of a finding.
void add_place(Finding& finding, const Place& place, std::string note);
// Where the tensor was made, where it is handed on to what reads it, where its pointer is cast.
void add_places(Finding& finding, const Read& read);

// "Half or BFloat16"
std::string dtypes_text(DtypeSet dtypes);
// The same of what a chain of questions leaves: "of any dtype but Half".
std::string left_over_text(DtypeSet dtypes);
// Where the checks in the source left few dtypes, and the read accepts none or not all of them.
void add_known_mismatch(const Check& check, const Read& read, CheckFindings& out);

}  // namespace dtypecheck::analyzer
