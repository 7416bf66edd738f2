// fields.h: where fields of a project's classes that hold a tensor or a dtype are written.
//
// Each use of such a field is a read, a write of a value, or neither to be sure: a reference or an
// address of it is handed out, and it is open. Functions that write are walked through once more,
// each by itself, so that what a field holds does not depend on who calls them.
#pragma once

#include <clang/AST/ASTContext.h>

#include <string>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// How other files know a field; "" where it is not followed.
std::string field_name(const clang::FieldDecl* field, const clang::ASTContext& context);

}  // namespace dtypecheck::analyzer
