#include "explain/data_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "explain/normal_text.h"
#include "platform/files.h"

namespace dtypecheck::explain {

std::vector<std::string> phrases_in(const Field& field) {
  std::vector<std::string> phrases = field.parts();
  for (std::string& phrase : phrases) {
    phrase = normal_text(phrase);
    if (std::count(phrases.begin(), phrases.end(), phrase) > 1)
      field.fail(fmt::format("'{}' is listed twice", phrase));
  }
  return phrases;
}

Category category_in(const Field& field, std::string_view name) {
  for (size_t i = 0; i < kCategoryCount; ++i) {
    if (kCategoryNames[i] == name) return static_cast<Category>(i);
  }
  field.fail(fmt::format("unknown category '{}', expected one of {}", name,
                         fmt::join(kCategoryNames, ", ")));
}

std::vector<Category> categories_in(const Field& field) {
  std::vector<Category> categories;
  for (const std::string& part : field.parts()) categories.push_back(category_in(field, part));
  return categories;
}

std::vector<Dtype> dtypes_in(const Field& field) {
  std::vector<Dtype> dtypes;
  for (const std::string& name : field.parts()) {
    const auto dtype = parse_dtype(name);
    if (!dtype) field.fail(fmt::format("'{}' is no dtype", name));
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::string_view table_text(const char* name, std::string_view embedded) {
  const char* folder = std::getenv("DTYPECHECK_EXPLAIN_TABLES");
  if (folder == nullptr) return embedded;
  static std::map<std::string, std::string> texts;
  return texts.emplace(name, read_file(fmt::format("{}/{}", folder, name))).first->second;
}

}  // namespace dtypecheck::explain
