#include "runtime/json_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/json.h"

namespace dtypecheck::runtime {

JsonObject JsonObject::read(const std::string& path) {
  const auto watch = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > kMostJsonDepth) {
      throw InputError(
          fmt::format("{}: lists and objects more than {} deep", path, kMostJsonDepth));
    }
    return true;
  };
  nlohmann::json json = nlohmann::json::parse(read_file(path), watch, /*allow_exceptions=*/false);
  if (!json.is_object()) throw InputError(fmt::format("{}: expected a JSON object", path));
  return {path, std::move(json)};
}

// Values come from untrusted files: short, and in ASCII.
static std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::string shown_text(const std::string& text) { return shown(text); }

void JsonObject::fail(const std::string& key, const std::string& problem) const {
  throw InputError(fmt::format("{}: {}: {}", path_, key, problem));
}

bool JsonObject::has(const std::string& key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

const nlohmann::json& JsonObject::at(const std::string& key) const {
  if (!has(key)) fail(key, "is missing");
  return *json_.find(key);
}

int64_t JsonObject::checked(const std::string& key, const nlohmann::json& value, int64_t least,
                            int64_t most) const {
  const bool fits =
      value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX : value.is_number_integer();
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most) {
    fail(key,
         fmt::format("expected a whole number from {} to {}, got {}", least, most, shown(value)));
  }
  return value.get<int64_t>();
}

int64_t JsonObject::integer(const std::string& key, int64_t least, int64_t most) const {
  return checked(key, at(key), least, most);
}

int64_t JsonObject::integer_or(const std::string& key, int64_t otherwise, int64_t least,
                               int64_t most) const {
  return has(key) ? integer(key, least, most) : otherwise;
}

double JsonObject::number(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (!value.is_number()) fail(key, fmt::format("expected a number, got {}", shown(value)));
  return value.get<double>();
}

double JsonObject::number_or(const std::string& key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

bool JsonObject::boolean_or(const std::string& key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_boolean()) {
    fail(key, fmt::format("expected true or false, got {}", shown(at(key))));
  }
  return at(key).get<bool>();
}

std::string JsonObject::text(const std::string& key) const {
  if (!at(key).is_string()) fail(key, fmt::format("expected a text, got {}", shown(at(key))));
  return at(key).get<std::string>();
}

std::string JsonObject::text_or(const std::string& key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::vector<int64_t> JsonObject::integers(const std::string& key, int64_t least,
                                          int64_t most) const {
  if (!at(key).is_array()) fail(key, fmt::format("expected a list, got {}", shown(at(key))));
  std::vector<int64_t> values;
  for (const nlohmann::json& value : at(key)) values.push_back(checked(key, value, least, most));
  return values;
}

std::vector<std::string> JsonObject::texts(const std::string& key) const {
  if (!at(key).is_array()) fail(key, fmt::format("expected a list, got {}", shown(at(key))));
  std::vector<std::string> values;
  for (const nlohmann::json& value : at(key)) {
    if (!value.is_string()) fail(key, fmt::format("expected texts, got {}", shown(value)));
    values.push_back(value.get<std::string>());
  }
  return values;
}

JsonObject JsonObject::object(const std::string& key) const {
  if (!at(key).is_object()) fail(key, fmt::format("expected an object, got {}", shown(at(key))));
  return {path_ + ": " + key, at(key)};
}

void JsonObject::require_known(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : json_.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    throw InputError(fmt::format("{}: unknown key {}; expected some of {}", path_, shown_text(key),
                                 fmt::join(keys, ", ")));
  }
}

void JsonObject::require(const std::string& key, const nlohmann::json& supported) const {
  const auto found = json_.find(key);
  if (found == json_.end() || *found == supported) return;
  fail(key, fmt::format("this runtime knows {}, got {}", shown(supported), shown(*found)));
}

}  // namespace dtypecheck::runtime
