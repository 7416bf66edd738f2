// known_ids.h: the ids that a finding can have: of the rules of a run, and of the checks of source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::judging {

std::vector<std::string> known_ids();
bool is_known_id(std::string_view id);

}  // namespace dtypecheck::judging
