// lint_pages.h: what `lint` tells of its checks: --list-checks and --explain.
#pragma once

#include <string>

namespace dtypecheck::cli {

int list_checks();
int explain_check(const std::string& id);  // throws InputError where there is none of that name

}  // namespace dtypecheck::cli
