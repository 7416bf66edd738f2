#include "analyzer/project/fields.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "analyzer/project/tree.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxDepth = 4;  // of fields that are written from fields
constexpr size_t kMaxEntries = 20'000;

std::string resolved(const fs::path& file) {
  std::error_code unknown;
  const fs::path path = fs::weakly_canonical(file, unknown);
  return (unknown ? file.lexically_normal() : path).string();
}

// The sources of the run, and whether they are all of a project's.
class Run {
 public:
  explicit Run(const std::vector<SourceFacts>& all) {
    for (const SourceFacts& facts : all) files_.insert(resolved(facts.file));
  }
  bool is_whole(const std::string& header) {
    const fs::path root = repository_root(fs::absolute(header));
    if (is_in_folder_of_others(fs::absolute(header), root)) return false;
    const auto [at, is_new] = known_.try_emplace(root);
    if (is_new) at->second = holds_all_of(root);
    return at->second;
  }

 private:
  bool holds_all_of(const fs::path& root) const {
    const auto skips = [](const fs::path& folder) {
      return is_skipped_folder(folder) || folders_of_others().contains(folder.filename().string());
    };
    size_t entries = 0;
    bool holds_all = true;
    for_each_file(root, kMaxEntries, skips, [&](const fs::path& file) {
      ++entries;
      holds_all = !is_source(file) || files_.contains(resolved(file));
      return holds_all;
    });
    return holds_all && entries < kMaxEntries;
  }

  std::set<std::string> files_;
  std::map<fs::path, bool> known_;
};

struct Held {
  bool is_known = false;
  bool looked_at = false;
  DtypeSet dtypes;
};

class Fields {
 public:
  explicit Fields(const std::vector<SourceFacts>& all) : run_(all) {
    for (const SourceFacts& facts : all) add(facts);
    for (const SourceFacts& facts : all) add_classes(facts);
  }

  Held held(const std::string& name) {
    const auto [at, is_new] = held_.try_emplace(name);
    if (is_new) at->second = held_by(name, {});
    return at->second;
  }

 private:
  void add(const SourceFacts& facts) {
    is_all_understood_ = is_all_understood_ && facts.parsed;
    casts_modules_ = casts_modules_ || facts.casts_modules;
    open_.insert(facts.open_fields.begin(), facts.open_fields.end());
    methods_.insert(facts.methods.begin(), facts.methods.end());
    for (const FieldWrite& write : facts.field_writes)
      writes_[write.field].push_back(&write.tensor);
  }

  void add_classes(const SourceFacts& facts) {
    for (const ClassOfFields& one : facts.classes) {
      const bool is_in_header = !one.file.empty() || !is_source(facts.file);
      const bool is_hidden =
          !facts.lost.empty() || (is_in_header && !is_all_understood_) ||
          !std::ranges::all_of(one.bodies_elsewhere, [&](const std::string& method) {
            return methods_.contains(method);
          });
      for (const FieldOfClass& field : one.fields) {
        const bool is_cast = field.is_of_module && casts_modules_;
        if (is_hidden || is_cast) open_.insert(field.name);
        if (is_in_header && (field.is_shared || field.is_of_module))
          shared_[field.name] = one.file.empty() ? facts.file : one.file;
        declared_.insert(field.name);
      }
    }
  }

  bool is_open(const std::string& name) {
    const std::string own = "." + name.substr(name.rfind(':') + 1);  // however it is reached
    if (open_.contains(name) || open_.contains(own) || !declared_.contains(name)) return true;
    const auto shared = shared_.find(name);
    return shared != shared_.end() && !run_.is_whole(shared->second);
  }

  // `from`: the fields that this one is asked for, of which it says nothing new.
  Held held_by(const std::string& name, std::vector<std::string> from) {
    const auto writes = writes_.find(name);
    if (writes == writes_.end() || from.size() > kMaxDepth || is_open(name)) return {};
    from.push_back(name);
    Held all;
    for (const TensorFact* write : writes->second) {
      DtypeSet dtypes = write->dtypes;
      bool looked_at = write->looked_at, is_own = false;
      for (const std::string& other : write->fields) {
        is_own = is_own || std::find(from.begin(), from.end(), other) != from.end();
        const Held held = is_own ? Held() : held_by(other, from);
        if (held.is_known && dtypes.intersects(held.dtypes)) dtypes = dtypes & held.dtypes;
        looked_at = looked_at || (held.is_known && held.looked_at);
      }
      if (is_own) continue;
      if (dtypes == kAnyDtype && !looked_at) return {};
      all.is_known = true;
      all.dtypes |= dtypes;
      all.looked_at = all.looked_at || looked_at;
    }
    return all;
  }

  Run run_;
  bool is_all_understood_ = true;
  bool casts_modules_ = false;
  std::set<std::string> open_, methods_, declared_;
  std::map<std::string, std::string> shared_;  // to the header of its class
  std::map<std::string, std::vector<const TensorFact*>> writes_;
  std::map<std::string, Held> held_;
};

// Only what settles the read: of two dtypes, of which one fits, the field may hold either.
void join(TensorFact& tensor, DtypeSet accepts, Fields& fields) {
  for (const std::string& name : tensor.fields) {
    const Held held = fields.held(name);
    const DtypeSet dtypes = tensor.dtypes & held.dtypes;
    if (!held.is_known || dtypes.empty()) continue;
    const bool settles =
        dtypes.single() ||
        (!accepts.empty() && (dtypes.within(accepts) || !dtypes.intersects(accepts)));
    if (held.looked_at)
      tensor.looked_at = true;
    else if (settles)
      tensor.dtypes = dtypes;
  }
}

}  // namespace

void join_fields(std::vector<SourceFacts>& all) {
  const std::vector<SourceFacts> known = all;
  Fields fields(known);
  for (SourceFacts& facts : all) {
    for (Read& read : facts.reads) {
      const TensorFact before = read.tensor;
      join(read.tensor, read.accepts, fields);
      // One dtype is no check that a tensor has that of another one.
      if (read.is_of_other_tensor() && before.is_external()) read.tensor.dtypes = before.dtypes;
    }
    for (OutsideCall& call : facts.outside_calls) {
      for (TensorArgument& argument : call.arguments) join(argument.tensor, {}, fields);
    }
  }
}

}  // namespace dtypecheck::analyzer
