#include "cures/ask_python.h"

#include <fmt/format.h>

#include "core/dtype_set.h"
#include "core/enum_names.h"
#include "core/precision_words.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"

namespace dtypecheck::cures {

std::string python_of(const Run& run, const OpCall* call) {
  const bool is_python = call != nullptr && !run.process_of(*call).python.empty();
  const std::string recorded = is_python ? run.process_of(*call).executable : "";
  return is_file(recorded) ? recorded : find_program("python3");
}

// By files, since our standard input is the user's.
std::string ask_python(const std::string& python,
                       const std::vector<std::pair<std::string, std::string_view>>& scripts,
                       const std::string& question) {
  const TemporaryFolder folder("question");
  const std::string in = folder.path() + "/question", out = folder.path() + "/answer";
  for (const auto& [name, text] : scripts)
    replace_file(folder.path() + "/" + name, {text}, {.syncs = false});
  replace_file(in, {question}, {.syncs = false});
  Environment environment = current_environment();
  for (const char* name : {"LD_PRELOAD", "PYTHONSTARTUP", "PYTHONINSPECT"})
    unset_variable(environment, name);
  const std::vector<std::string> command = {
      python, "-I", "-B", folder.path() + "/" + scripts.front().first, in, out};
  const ChildEnd end = run_child(python, command, environment);
  if (!end.is_success()) throw InputError(fmt::format("{} could not run our script", python));
  return read_file(out);
}

nlohmann::json precisions_as_json() {
  nlohmann::json rows = nlohmann::json::array();
  for (const PrecisionWord& one : kPrecisionWords) {
    const char* use = name_of<PrecisionUse::kWeights>(one.use, {"any", "compute", "weights"});
    rows.push_back({one.word, dtype_name(one.dtype), use, one.families});
  }
  return rows;
}

}  // namespace dtypecheck::cures
