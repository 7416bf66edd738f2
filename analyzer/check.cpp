#include "analyzer/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "platform/text.h"

namespace dtypecheck::analyzer {

static constexpr size_t kNamesShown = 3;

const std::vector<const Check*>& all_checks() {
  static const std::vector<const Check*> checks = {
#define CHECK(name) &name,
#include "analyzer/check_list.inc"
#undef CHECK
  };
  return checks;
}

Finding& CheckFindings::add(const Check& check, Severity severity, const Place& place,
                            const std::string& function, std::string message) {
  Finding finding;
  finding.rule = check.doc.id;
  finding.severity = severity;
  finding.message = std::move(message);
  finding.why = check.doc.why;
  finding.fix = check.doc.fix;
  finding.site.line = {place.file, place.line, function};
  finding.site.inner = finding.site.line;
  finding.column = place.column;
  finding.end_column = place.end_column;
  findings_.push_back(std::move(finding));
  return findings_.back();
}

Finding& CheckFindings::add(const Check& check, Severity severity, const ReadGroup& group,
                            std::string message) {
  const Read& first = *group.first;
  Finding& finding = add(check, severity, first.place, first.function, std::move(message));
  std::set<std::pair<Place, std::string>> seen;  // a macro's text is read at each of its uses
  for (const Read* read : group.all) {
    const bool is_in_macro = read->in_macro.line > 0;
    const Place& place = is_in_macro ? read->in_macro : read->place;
    const std::string name = read->type.empty()
                                 ? read->tensor.name
                                 : fmt::format("{} as {}", read->tensor.name, read->type);
    if ((read != group.first || is_in_macro) && seen.emplace(place, name).second)
      add_place(finding, place, name);
    add_places(finding, *read);
  }
  return finding;
}

void add_place(Finding& finding, const Place& place, std::string note) {
  finding.places.push_back({{place.file, place.line, finding.site.line.function},
                            place.column,
                            place.end_column,
                            std::move(note)});
}

void add_places(Finding& finding, const Read& read) {
  // A line that is listed already is not listed again.
  const auto add = [&](const Place& place, std::string note) {
    const auto is_here = [&](const SourceLine& other) {
      return other.file == place.file && other.line == place.line;
    };
    const bool is_listed = is_here(finding.site.line) ||
                           std::ranges::any_of(finding.places, [&](const NotedPlace& other) {
                             return is_here(other.line);
                           });
    if (place.line > 0 && !is_listed) add_place(finding, place, std::move(note));
  };
  const std::string& name = read.tensor.name;
  const auto dtype = read.tensor.dtypes.single();
  add(read.cast, fmt::format("the cast to {}", read.type));
  add(read.tensor.place,
      dtype ? fmt::format("{} is made {}", name, dtype_name(*dtype)) : name + " is made");
  if (read.tensor.is_external()) add(read.given, name + " is given");
}

std::vector<Finding> CheckFindings::ordered() {
  std::ranges::stable_sort(findings_, [](const Finding& a, const Finding& b) {
    return std::tie(a.site.line.file, a.site.line.line, a.column) <
           std::tie(b.site.line.file, b.site.line.line, b.column);
  });
  return std::move(findings_);
}

std::vector<Finding> judge(const SourceFacts& facts) {
  CheckFindings findings;
  for (const Check* check : all_checks()) check->check(facts, findings);
  return findings.ordered();
}

std::vector<ReadGroup> by_function(const std::vector<const Read*>& reads) {
  std::vector<ReadGroup> groups;
  for (const Read* read : reads) {
    const auto group = std::ranges::find_if(groups, [&](const ReadGroup& other) {
      return other.first->function == read->function &&
             other.first->place.file == read->place.file &&
             other.first->in_dispatch == read->in_dispatch &&
             other.first->dispatched.name == read->dispatched.name;
    });
    if (group == groups.end()) {
      groups.push_back({read, {read}});
    } else {
      group->all.push_back(read);
      if (read->place < group->first->place) group->first = read;
    }
  }
  return groups;
}

static std::vector<std::string> distinct_names(const ReadGroup& group) {
  std::vector<std::string> names;
  for (const Read* read : group.all) {
    const std::string& name = read->tensor.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string names_of(const ReadGroup& group) {
  const std::vector<std::string> names = distinct_names(group);
  if (names.size() == 1) return names.front();
  const bool all = names.size() <= kNamesShown;
  const size_t listed = all ? names.size() - 1 : kNamesShown - 1;
  const std::string head =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + listed, ", "));
  return all ? fmt::format("{} and {}", head, names.back())
             : fmt::format("{} and {} more", head, names.size() - listed);
}

bool is_one_name(const ReadGroup& group) { return distinct_names(group).size() == 1; }

void add_replacement(Finding& finding, const Place& place, const std::string& old_text,
                     const std::string& new_text) {
  if (place.line > 0) {
    finding.edits.push_back({place.file, place.line, place.column, old_text, new_text});
  }
}

// x, params.weight: what can be written a second time.
static bool is_plain_name(std::string name) {
  constexpr std::string_view kOfOptional = ".value()";
  if (name.ends_with(kOfOptional)) name.resize(name.size() - kOfOptional.size());
  return !name.empty() &&
         std::ranges::all_of(name, [](unsigned char c) { return is_of_name(c) || c == '.'; });
}

// "": none can be written.
static std::string check_of_dtype(const Read& read) {
  const auto dtype = read.accepts.single();
  if (!dtype) return "";
  return fmt::format(
      "TORCH_CHECK({0}.scalar_type() == at::k{1}, \"{0} must be {1}, got \", "
      "{0}.scalar_type());",
      read.tensor.name, dtype_name(*dtype));
}

static std::string check_of_equality(const Read& read) {
  if (!is_plain_name(read.dispatched.name)) return "";
  return fmt::format(
      "TORCH_CHECK({0}.scalar_type() == {1}.scalar_type(), \"{0} must have the dtype of {1}, got "
      "\", {0}.scalar_type());",
      read.tensor.name, read.dispatched.name);
}

namespace {

struct WrittenCheck {
  Place begin, end;
  std::string name, check;
  std::vector<OuterSite> outer;  // inner first
};

bool is_within(const WrittenCheck& check, const OuterSite& site) {
  return site.begin <= check.begin && check.begin < site.end;
}

// One check before the if … else … in place of the same at the head of each branch. False: not each
// has it, or something else is asked of the tensor there.
bool join_branches(std::vector<WrittenCheck>& written, const WrittenCheck& one) {
  const OuterSite site = one.outer.front();
  if (!is_within(one, site)) return false;  // no parse says so, but facts are not trusted
  std::set<int> branches;
  for (const WrittenCheck& other : written) {
    if (other.name != one.name || !is_within(other, site)) continue;
    if (other.check != one.check) return false;
    const bool is_of_branch = !other.outer.empty() && other.outer.front().begin == site.begin &&
                              other.outer.front().branches == site.branches;
    if (is_of_branch) branches.insert(other.outer.front().branch);
  }
  if (static_cast<int>(branches.size()) != site.branches) return false;
  WrittenCheck joined = {
      site.begin, site.end, one.name, one.check, {one.outer.begin() + 1, one.outer.end()}};
  std::erase_if(written, [&](const WrittenCheck& other) {
    return other.name == joined.name && is_within(other, site);
  });
  written.push_back(std::move(joined));
  return true;
}

void join_all_branches(std::vector<WrittenCheck>& written) {
  for (bool joins = true; joins;) {
    joins = false;
    for (size_t i = 0; i < written.size() && !joins; ++i)
      joins = !written[i].outer.empty() && join_branches(written, WrittenCheck(written[i]));
  }
}

}  // namespace

static void add_checks(Finding& finding, const ReadGroup& group,
                       std::string (*check_of)(const Read& read)) {
  std::vector<const Read*> reads = group.all;
  // The outermost first, so that one inside of it is covered.
  std::ranges::stable_sort(reads, [](const Read* a, const Read* b) {
    return a->check_at != b->check_at ? a->check_at < b->check_at : a->checked_to > b->checked_to;
  });
  std::vector<WrittenCheck> written;
  for (const bool has_site : {true, false}) {
    for (const Read* read : reads) {
      if ((read->check_at.line > 0) != has_site) continue;
      const std::string check = check_of(*read);
      if (check.empty() || !is_plain_name(read->tensor.name)) return;
      const Place& at = has_site ? read->check_at : read->place;
      const auto covers = std::ranges::find_if(written, [&](const WrittenCheck& other) {
        return other.name == read->tensor.name && other.begin <= at && at < other.end;
      });
      const bool is_covered = covers != written.end();
      if (is_covered ? covers->check != check : !has_site) return;
      if (!is_covered)
        written.push_back({at, read->checked_to, read->tensor.name, check, read->outer});
    }
  }
  join_all_branches(written);
  for (const WrittenCheck& one : written) {
    const std::string indent(static_cast<size_t>(one.begin.column) - 1, ' ');
    const std::string further(
        static_cast<size_t>(std::max(0, one.begin.end_column - one.begin.column)), ' ');
    finding.edits.push_back({one.begin.file, one.begin.line, one.begin.column, "",
                             further + one.check + "\n" + indent});
  }
}

void add_dtype_checks(Finding& finding, const ReadGroup& group) {
  add_checks(finding, group, check_of_dtype);
}

void add_checks_of_equality(Finding& finding, const ReadGroup& group) {
  add_checks(finding, group, check_of_equality);
}

bool is_lent(const Read* read) {
  const std::string& name = read->tensor.name;
  for (const char* word : {"temp", "tmp", "workspace", "scratch", "buffer"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

bool is_float_by_design(const std::string& name) {
  for (const char* word : {"running_", "moving_", "master", "momentum", "exp_avg"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

std::string types_of(const ReadGroup& group) {
  const std::string& type = group.first->type;
  const bool is_one =
      std::ranges::all_of(group.all, [&](const Read* read) { return read->type == type; });
  return is_one ? type : "fixed types";
}

std::optional<Dtype> one_dtype_of(const ReadGroup& group) {
  DtypeSet dtypes;
  for (const Read* read : group.all) dtypes |= read->accepts;
  return dtypes.single();
}

std::string dtypes_text(DtypeSet dtypes) {
  if (dtypes == kFloating) return "of any floating dtype";
  if (dtypes == kIntegral || dtypes == (kIntegral | Dtype::kBool)) return "of any integral dtype";
  std::string text = dtypes.to_string();
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at)) {
    text.replace(at, 1, " or ");
  }
  return text;
}

std::string left_over_text(DtypeSet dtypes) {
  if (dtypes.size() <= kNarrowed) return dtypes_text(dtypes);
  const DtypeSet gone = kAnyDtype - dtypes;
  return gone.empty() ? "of any dtype" : "of any dtype but " + dtypes_text(gone);
}

void add_known_mismatch(const Check& check, const Read& read, CheckFindings& out) {
  const DtypeSet dtypes = read.tensor.dtypes;
  const bool is_narrowed = !read.tensor.looked_at && dtypes.size() <= kNarrowed;
  if (!is_narrowed || read.accepts.empty() || dtypes.within(read.accepts)) return;
  const bool is_surely = !dtypes.intersects(read.accepts);
  if (read.ignores_dispatch && !is_surely) {
    // Its other cases throw.
    out.add(check, Severity::kError, read.place, read.function,
            fmt::format("this dispatches on {0}, but always reads {0} as {1}", read.tensor.name,
                        read.type));
    return;
  }
  Finding& finding =
      out.add(check, is_surely ? Severity::kError : Severity::kWarning, read.place, read.function,
              fmt::format("{} {} {} here and is read as {}", read.tensor.name,
                          is_surely ? "is" : "may be", dtypes_text(dtypes), read.type));
  add_places(finding, read);
}

}  // namespace dtypecheck::analyzer
