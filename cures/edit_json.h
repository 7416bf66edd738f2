// edit_json.h: edits as the scripts answer them and as cure.json keeps them:
// [{"path", "line", "column", "old", "new", "step"}, …].
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/edit.h"

namespace dtypecheck::cures {

std::vector<SourceEdit> edits_of(const nlohmann::json& json);  // throws nlohmann's exceptions
nlohmann::json json_of(const std::vector<SourceEdit>& edits);

}  // namespace dtypecheck::cures
