// op_call_fields.h: every field of an op call once, with its key and form in the text of a trace
// (text.h has the grammar), its keys in JSON, and its cell in a table. The JSON report and
// `dump --format jsonl` share the keys; docs/report-schema.json describes those of the report. The
// table is the page's.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/run.h"
#include "trace/text_cursor.h"

namespace dtypecheck::trace {

// Text: "op" and what comes before the keys (the op, operands, numbers, results), and then " KEY
// VALUE" for each field that is not as usual.
void print_op_call(const OpCall& call, std::string& out);
// What stands behind "op". Ids are as they stand there.
OpCall parse_op_call(TextCursor& cursor);
// FILE:LINE [FUNCTION]
void parse_place(TextCursor& cursor, SourceLine& line);

// How a file's path is shown.
using PathText = std::function<std::string(const std::string& file)>;
std::string place_text(const SourceLine& line,
                       const PathText& path);  // "train.py:12"; "" not known

// JSON.
nlohmann::ordered_json line_json(const SourceLine& line, const PathText& path);
nlohmann::ordered_json location_json(const Site& site, uint32_t step, const PathText& path);
// inf and NaN, which JSON does not have, as words.
nlohmann::ordered_json text_or_null(const std::string& text);
nlohmann::ordered_json number_json(double value);
// Adds what a report says of the call that a finding is about; where that is missing it is null, or
// an empty array or object.
void add_call_json(const OpCall& call, nlohmann::ordered_json& json);
void add_no_call_json(nlohmann::ordered_json& json);
// All that is known of the call in one line. Fields that say nothing (null, false, an empty object)
// are left out; operands and results are always there, and so are id, op, outcome, count and
// process. Ids (keys that end in _id) and processes count over the whole run.
std::string op_call_json_line(const OpCall& call, const Run& run);

// A table of op calls for people: the names of its columns, and a call's cell in each, "" where
// there is nothing to say. Which process it was and how often it was called stand beside these.
std::vector<std::string> op_call_columns();
std::vector<std::string> op_call_cells(const OpCall& call, const PathText& path);

}  // namespace dtypecheck::trace
