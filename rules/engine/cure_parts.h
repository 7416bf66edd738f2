// cure_parts.h: what the files that write cures share (cures.h); no rule includes it.
#pragma once

#include <string>
#include <string_view>

#include "core/cure.h"
#include "rules/engine/call_text.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {

// ", train.py:40", or nothing where the line is not known.
std::string at(const Site& site);

// Line and function of a forward pass, which runs inside of its module.
bool is_in_forward(const SourceLine& line);

Cure cure_of(CureKind kind, const OpCall& call, std::string operand, Dtype dtype);
void take(Cure& cure, Patch patch);

// "lerp" of "torch.lerp" and of "m.lerp_": they refuse alike.
std::string_view name_of_callee(std::string_view callee);

// The head of a function, at which all of one that is compiled runs.
bool is_head(const CodeLine& line);

// A file that uses tensors of others may have no name "torch": ".float()" needs none. One of which
// no import was kept says nothing.
bool lacks_torch(const LineText& line_text, const std::string& file);

}  // namespace dtypecheck::rules
