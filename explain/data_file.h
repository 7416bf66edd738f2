// data_file.h: what the tables in explain/data/ hold beside text: phrases and categories. How they
// are written is platform/data_file.h's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype_set.h"
#include "explain/category.h"
#include "platform/data_file.h"

namespace dtypecheck::explain {

// "a | b | c" in normal form, as phrases are compared. Throw InputError with file and line where
// one of them is listed twice, and where no category is called so.
std::vector<std::string> phrases_in(const Field& field);
Category category_in(const Field& field, std::string_view name);
std::vector<Category> categories_in(const Field& field);  // "a | b"

// "Half | BFloat16". Throws InputError with file and line where one is no dtype.
std::vector<Dtype> dtypes_in(const Field& field);

// The text of a table: the embedded one, or, for bench/, the file of that name in the folder that
// the environment variable DTYPECHECK_EXPLAIN_TABLES names. Throws InputError if the folder lacks
// it.
std::string_view table_text(const char* name, std::string_view embedded);

}  // namespace dtypecheck::explain
