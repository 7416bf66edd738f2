// each_fact.h: what a file would say that has one of each fact, as the parsing process answers it.
#pragma once

#include <string>

namespace dtypecheck::analyzer {

std::string each_fact();

}  // namespace dtypecheck::analyzer
