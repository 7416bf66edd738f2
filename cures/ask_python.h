// ask_python.h: questions that a script of ours answers, run by the program's own Python.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/run.h"

namespace dtypecheck::cures {

// The interpreter that made the call; where it is not known or gone, the one on the PATH.
std::string python_of(const Run& run, const OpCall* call);

// Runs the first of the scripts (name and text), which may import the others, as
// `python -I SCRIPT QUESTION ANSWER`, with the question in a file, and returns what it wrote.
// Throws InputError where the interpreter could not run it.
std::string ask_python(const std::string& python,
                       const std::vector<std::pair<std::string, std::string_view>>& scripts,
                       const std::string& question);

// [[word, dtype, "any", "compute" or "weights", families], …]: the rows of
// core/precision_words.inc.
nlohmann::json precisions_as_json();

}  // namespace dtypecheck::cures
