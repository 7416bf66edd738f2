#include "core/run.h"

#include <algorithm>
#include <set>

#include "core/enum_names.h"

namespace dtypecheck {

const char* end_state_name(EndState end) {
  return name_of<kLastEndState>(end, {"running", "exited", "replaced"});
}

const std::string& Process::fact(FactKey key, std::string_view rest) const {
  static const std::string kNone;
  const auto found = facts.find(fact_name(key, rest));
  return found == facts.end() ? kNone : found->second;
}

bool Process::ended_badly() const {
  const std::string& status = fact(FactKey::kExitStatus);
  return !fact(FactKey::kUncaught).empty() || (!status.empty() && status != "0");
}

std::vector<std::pair<std::string, std::string>> Process::facts_of(FactKey family) const {
  std::vector<std::pair<std::string, std::string>> all;
  const std::string key = fact_name(family);
  for (auto fact = facts.lower_bound(key); fact != facts.end() && fact->first.starts_with(key);
       ++fact)
    all.emplace_back(fact->first.substr(key.size()), fact->second);
  return all;
}

std::vector<std::string> Run::device_types_of(uint32_t process) const {
  std::set<std::string> types;
  const auto before = [](const OpCall& call, uint32_t index) { return call.process < index; };
  const auto first = std::lower_bound(calls.begin(), calls.end(), process, before);
  for (auto call = first; call != calls.end() && call->process == process; ++call) {
    for (const std::vector<Operand>* tensors : {&call->operands, &call->results}) {
      for (const Operand& tensor : *tensors) {
        if (!tensor.device.type.empty() && tensor.kind != TensorKind::kUndefined) {
          types.insert(tensor.device.type);
        }
      }
    }
  }
  return {types.begin(), types.end()};
}

std::string ranks_text(const Run& run, const std::vector<ProcessRange>& processes) {
  std::set<int> ranks;
  size_t without = 0;
  for (const ProcessRange& range : processes) {
    for (size_t i = range.first; i <= range.last && i < run.processes.size(); ++i) {
      if (run.processes[i].rank < 0) {
        ++without;
      } else {
        ranks.insert(run.processes[i].rank);
      }
    }
  }
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(*first);
    if (*last != *first) text += (*last == *first + 1 ? ", " : "-") + std::to_string(*last);
    first = std::next(last);
  }
  if (!text.empty()) text = (ranks.size() == 1 ? "rank " : "ranks ") + text;
  if (without > 0) {
    text += (text.empty() ? "" : " and ") + std::to_string(without) +
            (without == 1 ? " process" : " processes");
  }
  return text;
}

}  // namespace dtypecheck
