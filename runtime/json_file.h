// json_file.h: JSON files of a model folder, and what is expected to stand in them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

// A text of an untrusted file for a message: short, and in ASCII.
std::string shown_text(const std::string& text);

// An object of a file, whose errors name both: `unet/config.json: in_channels: expected …, got …`.
class JsonObject {
 public:
  // Throws InputError when the file is no JSON object.
  static JsonObject read(const std::string& path);

  bool has(const std::string& key) const;  // there, and not null
  int64_t integer(const std::string& key, int64_t least, int64_t most) const;
  int64_t integer_or(const std::string& key, int64_t otherwise, int64_t least, int64_t most) const;
  double number(const std::string& key) const;
  double number_or(const std::string& key, double otherwise) const;
  bool boolean_or(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key) const;
  std::string text_or(const std::string& key, const std::string& otherwise) const;
  std::vector<int64_t> integers(const std::string& key, int64_t least, int64_t most) const;
  std::vector<std::string> texts(const std::string& key) const;
  // An object within this one; errors name both.
  JsonObject object(const std::string& key) const;
  // What is in the object and not in the list is refused by name.
  void require_known(const std::vector<std::string>& keys) const;
  // What this runtime does not know how to do otherwise; absent counts as `supported`.
  void require(const std::string& key, const nlohmann::json& supported) const;

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;
  const nlohmann::json& json() const { return json_; }
  const std::string& path() const { return path_; }

 private:
  JsonObject(std::string path, nlohmann::json json)
      : path_(std::move(path)), json_(std::move(json)) {}
  const nlohmann::json& at(const std::string& key) const;
  int64_t checked(const std::string& key, const nlohmann::json& value, int64_t least,
                  int64_t most) const;

  std::string path_;
  nlohmann::json json_;
};

}  // namespace dtypecheck::runtime
