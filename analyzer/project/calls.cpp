#include "analyzer/project/calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxDepth = 8;  // of wrappers that forward tensors

// What all callers of a function say of one of its parameters.
struct Given {
  bool is_called = false;
  bool is_bound = false;    // what Python gives comes here unchecked
  bool is_checked = false;  // each call knows its dtype, or has looked at it
  bool looked_at = false;
  DtypeSet dtypes;
};

class Calls {
 public:
  Calls(const std::vector<SourceFacts>& all, size_t judged) {
    for (size_t i = 0; i < all.size(); ++i) {
      const SourceFacts& facts = all[i];
      for (const OutsideCall& call : facts.outside_calls) calls_[call.function].push_back(&call);
      for (const PointerUse& use : facts.pointer_uses)
        uses_[{use.function, use.parameter}].push_back(&use);
      bound_.insert(facts.bound.begin(), facts.bound.end());
      if (i < judged) called_.insert(facts.called.begin(), facts.called.end());
    }
  }

  bool is_bound(const std::string& function) const { return bound_.contains(function); }
  bool is_called(const std::string& function) const { return calls_.contains(function); }

  // What a parameter of type void* is cast to, by its function and those that it goes on to; the
  // types of all casts. False: some body was not seen.
  bool casts(const std::string& function, int parameter, std::vector<const PointerUse*>& all,
             size_t depth = 0) const {
    const auto uses = uses_.find({function, parameter});
    if (uses == uses_.end() || depth > kMaxDepth) return false;
    bool is_known = true;
    for (const PointerUse* use : uses->second) {
      if (!use->handed_to.empty())
        is_known = casts(use->handed_to, use->argument, all, depth + 1) && is_known;
      else if (!use->type.empty())
        all.push_back(use);
    }
    return is_known;
  }

  // A function of a header that some file's own code calls is judged there.
  bool is_judged_in_callers(const std::string& function) const {
    return called_.contains(function);
  }

  Given given(const std::string& function, int parameter, size_t depth = 0) const {
    const auto calls = calls_.find(function);
    if (calls == calls_.end() || parameter < 0 || depth > kMaxDepth) return {};
    Given all = {.is_called = true, .is_bound = is_bound(function), .is_checked = true};
    for (const OutsideCall* call : calls->second) add(*call, parameter, depth, all);
    all.is_checked = all.is_checked && !is_bound(function);
    return all;
  }

  // Each call gives both tensors the same dtype.
  bool are_same(const std::string& function, int one, int other, size_t depth = 0) const {
    const auto calls = calls_.find(function);
    if (calls == calls_.end() || one < 0 || other < 0 || is_bound(function) || depth > kMaxDepth)
      return false;
    return std::ranges::all_of(calls->second, [&](const OutsideCall* call) {
      const TensorArgument* a = argument(*call, one);
      const TensorArgument* b = argument(*call, other);
      if (a == nullptr || b == nullptr) return false;
      const bool is_same = a->same_as == b->same_as || (a->tensor.dtypes == b->tensor.dtypes &&
                                                        a->tensor.dtypes.single().has_value());
      return is_same || (call->callers == Callers::kUnseen &&
                         are_same(call->entry, a->parameter, b->parameter, depth + 1));
    });
  }

 private:
  static const TensorArgument* argument(const OutsideCall& call, int position) {
    for (const TensorArgument& one : call.arguments) {
      if (one.position == position) return &one;
    }
    return nullptr;
  }

  void add(const OutsideCall& call, int parameter, size_t depth, Given& all) const {
    const TensorArgument* one = argument(call, parameter);
    if (one == nullptr) {
      all.is_checked = false;
      return;
    }
    if (!one->tensor.is_unchecked()) {
      all.looked_at = all.looked_at || one->tensor.looked_at || !one->tensor.is_external();
      all.dtypes |= one->tensor.dtypes;
      return;
    }
    if (call.callers == Callers::kBound || is_bound(call.entry)) {
      all.is_bound = true;
      all.is_checked = false;
      return;
    }
    const Given above = given(call.entry, one->parameter, depth + 1);
    all.is_bound = all.is_bound || above.is_bound;
    all.is_checked = all.is_checked && above.is_checked;
    all.looked_at = all.looked_at || above.looked_at;
    all.dtypes |= above.dtypes;
  }

  std::map<std::string, std::vector<const OutsideCall*>> calls_;
  std::map<std::pair<std::string, int>, std::vector<const PointerUse*>> uses_;
  std::set<std::string> bound_, called_;
};

// The untyped pointer is cast to one type in the function that it goes to. Where that casts it to
// several, it decides by something else.
void follow(Read& read, const Calls& calls) {
  std::vector<const PointerUse*> casts;
  const bool is_known = calls.casts(read.handed_to, read.argument, casts);
  DtypeSet accepts;
  for (const PointerUse* cast : casts) {
    if (cast->accepts.empty()) return;
    accepts |= cast->accepts;
  }
  const bool is_one = std::ranges::all_of(
      casts, [&](const PointerUse* cast) { return cast->accepts == casts.front()->accepts; });
  if (casts.empty() || !is_one) {
    if (is_known || !casts.empty()) read.tensor.looked_at = true;
    return;
  }
  read.how = ReadAs::kCast;
  read.type = casts.front()->type;
  read.accepts = accepts;
  read.cast = casts.front()->place;
}

void join(Read& read, const Calls& calls) {
  if (read.how == ReadAs::kHandedOn && read.argument >= 0) follow(read, calls);
  if (read.entry.empty() || read.callers == Callers::kBound) return;
  const Given given = calls.given(read.entry, read.parameter);
  if (calls.is_bound(read.entry) || given.is_bound) read.callers = Callers::kBound;
  if (given.is_checked && given.is_called && read.tensor.is_unchecked()) {
    read.tensor.dtypes = given.dtypes;
    read.tensor.looked_at = given.looked_at;
  }
  if (read.is_of_other_tensor()) {
    read.has_dispatched_dtype =
        calls.are_same(read.entry, read.parameter, read.dispatched_parameter);
  }
}

}  // namespace

std::string plain_name(const std::string& function) {
  const std::string path = function.substr(0, function.rfind('/'));
  const size_t last = path.rfind("::");
  return last == path.npos ? path : path.substr(last + 2);
}

std::string scope_name(const std::string& function) {
  const size_t last = function.rfind("::");
  return last == function.npos ? "" : plain_name(function.substr(0, last));
}

void join_calls(std::vector<SourceFacts>& all, size_t judged) {
  const std::vector<SourceFacts> known = all;  // what is said of callers, before it is mended
  const Calls calls(known, judged);
  for (SourceFacts& facts : all) {
    std::erase_if(facts.reads, [&](const Read& read) {
      return read.place.file != facts.file && read.callers == Callers::kUnseen &&
             read.parameter >= 0 && calls.is_judged_in_callers(read.entry);
    });
    for (Read& read : facts.reads) join(read, calls);
  }
}

UnseenFunctions unseen_functions(const std::vector<SourceFacts>& all) {
  const Calls calls(all, all.size());
  UnseenFunctions unseen;
  const auto want_callers = [&](const std::string& function) {
    if (!function.empty() && !calls.is_bound(function) && !calls.is_called(function))
      unseen.named.insert(plain_name(function));
  };
  std::set<std::string> asked;
  for (const SourceFacts& facts : all) {
    for (const Read& read : facts.reads) {
      std::vector<const PointerUse*> casts;
      if (!read.tensor.is_undetermined()) continue;
      if (read.how == ReadAs::kHandedOn && read.argument >= 0 &&
          !calls.casts(read.handed_to, read.argument, casts))
        unseen.named.insert(plain_name(read.handed_to));
      if (read.callers == Callers::kBound) continue;
      asked.insert(read.entry);
      want_callers(read.entry);
    }
  }
  for (const SourceFacts& facts : all) {
    for (const OutsideCall& call : facts.outside_calls) {
      const bool is_open = call.callers == Callers::kUnseen && asked.contains(call.function);
      if (is_open) want_callers(call.entry);
    }
  }
  // The bodies of a model's functions say what becomes of it, and of what it is given; each model
  // has a forward(), so the class is looked for.
  std::set<std::string> defined;
  for (const SourceFacts& facts : all) defined.insert(facts.defined.begin(), facts.defined.end());
  for (const SourceFacts& facts : all) {
    for (const std::string& function : facts.module_functions) {
      const std::string scope = scope_name(function);
      if (!defined.contains(function))
        unseen.bodies.insert(scope.empty() ? plain_name(function) : scope);
    }
  }
  for (std::set<std::string>* names : {&unseen.named, &unseen.bodies}) names->erase("");
  return unseen;
}

}  // namespace dtypecheck::analyzer
