// option_text.h: what DTYPECHECK_OPTIONS says (tracer/protocol.md): names, some with a value behind
// a "=", parted by commas.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace dtypecheck::tracer {

// Whether `name` is among the options; `value` is what stands behind its "=", or "".
inline bool read_option(const char* options, const char* name, std::string* value = nullptr) {
  const std::string all = std::string(",") + options + ",";
  const std::string wanted = std::string(",") + name;
  size_t at = all.find(wanted);
  while (at != all.npos && all[at + wanted.size()] != ',' && all[at + wanted.size()] != '=')
    at = all.find(wanted, at + 1);
  if (at == all.npos) return false;
  at += wanted.size();
  if (value) *value = all[at] == '=' ? all.substr(at + 1, all.find(',', at) - at - 1) : "";
  return true;
}

// "timeline=3" is 3; 0 where there is none.
inline uint32_t number_of_option(const char* options, const char* name) {
  std::string value;
  read_option(options, name, &value);
  return static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
}

// "1+2+90-100": steps, and ranges of them with both ends.
class StepList {
 public:
  StepList() = default;
  explicit StepList(const std::string& text) {
    const char* at = text.c_str();
    while (*at) {
      const auto first = number(at);
      ranges_.emplace_back(first, *at == '-' ? number(++at) : first);
      at += *at == '+';
    }
  }
  bool empty() const { return ranges_.empty(); }
  bool contains(uint32_t step) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [step](const auto& range) {
      return range.first <= step && step <= range.second;
    });
  }

 private:
  // A text that no command of ours wrote ends here.
  static uint32_t number(const char*& at) {
    char* end = nullptr;
    const auto value = static_cast<uint32_t>(std::strtoul(at, &end, 10));
    at = end == at || (*end != '-' && *end != '+') ? at + std::strlen(at) : end;
    return value;
  }

  std::vector<std::pair<uint32_t, uint32_t>> ranges_;
};

}  // namespace dtypecheck::tracer
