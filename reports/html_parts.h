// html_parts.h: the sections of the page, each readable without a script, and what they share.
#pragma once

#include <string>

#include "reports/html_writer.h"
#include "reports/module_map.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// Each writes nothing where there is nothing of its kind.

// The first causes in a line or two each, in the order in which to fix them, with links.
void write_causes(const Report& report, HtmlWriter& html);

// A card for each cause, the cards of its consequences inside it. A page with thousands of findings
// would not open: after the first few hundred it says how many are left to the other formats.
void write_findings(const Report& report, HtmlWriter& html);

// In a card: the op call, each operand with the way that its dtype came.
void write_call(const Report& report, HtmlWriter& html, const Finding& finding, const OpCall& call);
// With a link to the table of op calls, which a page about source does not have.
void write_op_name(const Report& report, HtmlWriter& html, const OpCall& call);
void write_part(HtmlWriter& html, const char* classes, const std::string& text);

// The dtypes of the model's parts: a table, and the same as data, of which the page's script draws
// a picture.
void write_map(const Report& report, const ModuleNode& root, HtmlWriter& html);

// The map of the run's health (trace --health): a row a module, a line over the steps for each kind
// of its numbers.
void write_health(const Report& report, HtmlWriter& html);

// What ran in which step, by phase: where something new appeared, and where it failed. A table that
// the style sheet makes a strip of; long runs have several steps in a column. A trace has no time
// of a step: what it knows is the first and last one of each op call.
void write_steps(const Report& report, HtmlWriter& html);

// The cast bill: what the casts of a step cost, by line and by module, and whose they are.
void write_casts(const Report& report, HtmlWriter& html);

// What autocast decided for which op.
void write_autocast(const Report& report, HtmlWriter& html);

// The first op calls as a table, in whose place the page's script puts one of all of them.
void write_op_call_rows(const Report& report, HtmlWriter& html);

// {"size": rows, "strings": […], "columns": {name: […] or one number for all}, "classes": {dtype:
// class}}: a row is one signature, its texts are indices into strings, for they repeat much. Valid
// UTF-8, and printable.
std::string op_calls_json(const Report& report);

// The id that a finding has in the page: for links.
std::string finding_anchor(const Report& report, const Finding& finding);

// Of a module in the map, as the page's script reads it behind '#'.
std::string module_link(const std::string& module);

// Which colour a dtype has, as a class of the style sheet.
const char* dtype_class(DtypeSet dtypes);

}  // namespace dtypecheck::reports
