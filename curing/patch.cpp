#include "curing/patch.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/dtype_names.h"
#include "curing/embedded.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::curing {
namespace {

using Json = nlohmann::json;

// "float16" of Half, as torch calls it.
std::string name_in_torch(Dtype dtype) {
  const std::string name = torch_dtype(dtype);
  return name.substr(name.find('.') + 1);
}

std::string python_of(const Run& run, const OpCall* call) {
  const std::string recorded = call == nullptr ? "" : run.process_of(*call).executable;
  return is_file(recorded) ? recorded : find_program("python3");
}

// The script reads its question from a file, since its standard input is no pipe of ours.
Json ask(const std::string& python, const Json& question) {
  const TemporaryFolder folder("patch");
  const std::string script = folder.path() + "/patch.py", in = folder.path() + "/question",
                    out = folder.path() + "/answer";
  replace_file(script, {kPatchScript}, {.syncs = false});
  replace_file(in, {question.dump()}, {.syncs = false});
  Environment environment = current_environment();
  for (const char* name : {"LD_PRELOAD", "PYTHONSTARTUP", "PYTHONINSPECT"})
    unset_variable(environment, name);
  const std::vector<std::string> command = {python, "-I", "-B", script, in, out};
  const ChildEnd end = run_child(python, command, environment);
  if (!end.is_success()) throw InputError(fmt::format("{} could not run our script", python));
  return Json::parse(read_file(out));
}

bool is_cell(const std::string& file) { return file.starts_with("In ["); }

// What stood in the cell when it ran; "" where the file is no cell.
std::string cell_of(const Cure& cure, const Run& run) {
  const OpCall* call = run.call(cure.call);
  if (call == nullptr || !is_cell(cure.where.file)) return "";
  const auto& cells = run.process_of(*call).cells;
  const auto cell = cells.find(cure.where.file);
  return cell == cells.end() ? "" : cell->second;
}

// The one that the command reads: "papermill train.ipynb ran.ipynb" writes the other.
std::string notebook_of(const Program& program) {
  std::string_view before;
  for (const std::string& argument : program.command) {
    const bool is_written = std::exchange(before, argument).starts_with("--output");
    const std::string file = (fs::path(program.folder) / argument).lexically_normal();
    if (argument.ends_with(".ipynb") && !is_written && is_file(file)) return file;
  }
  return "";
}

std::string why_not(const Cure& cure, const Run& run, const Sources& sources,
                    const std::string& notebook) {
  const std::string& file = cure.where.file;
  const OpCall* call = run.call(cure.call);
  if (cure.code.empty()) return "it is told in words alone";
  if (!cure.where.known()) return "the line to change is not known";
  if (call != nullptr && run.process_of(*call).python.empty())
    return "the program is no Python, so its source would have to be built again";
  if (is_cell(file)) {
    const bool is_found = !notebook.empty() && !cell_of(cure, run).empty();
    return is_found ? ""
                    : "it is a notebook's cell, and the command names no notebook: change it there";
  }
  if (!is_file(file)) return fmt::format("{} is no file here", file);
  if (sources.line(file, cure.where.line).empty())
    return fmt::format("the run kept no lines of {}", file);
  if (!sources.is_unchanged(file)) return fmt::format("{} has changed since it ran", file);
  return "";
}

}  // namespace

// What the diff calls the file: from here, where it is below.
static std::string shown_name(const std::string& file) {
  std::error_code unknown;
  const fs::path near = fs::path(file).lexically_proximate(fs::current_path(unknown));
  const bool is_below = !near.empty() && *near.begin() != "..";
  return is_below ? near.string() : file;
}

static Json question_of(const Cure& cure, const Run& run, const std::string& path) {
  const OpCall* call = run.call(cure.call);
  const Extent& extent = cure.where.extent;
  return {{"path", path},
          {"shown", shown_name(cure.where.file)},
          {"cell", cell_of(cure, run)},
          {"line", cure.where.line},
          {"extent", {extent.column, extent.end_line, extent.end_column}},
          {"kind", cure_kind_name(cure.kind)},
          {"dtype", name_in_torch(cure.dtype)},
          {"replaces", cure.replaces},
          {"code", cure.code},
          {"op", call == nullptr ? "" : call->short_op()}};
}

Patch make_patch(const std::vector<const Cure*>& cures, const Run& run, const Sources& sources,
                 const Program& program) {
  if (cures.empty()) return {.reason = "it is told in words alone"};
  Json questions = Json::array();
  for (const Cure* cure : cures) {
    const std::string notebook = is_cell(cure->where.file) ? notebook_of(program) : "";
    if (std::string reason = why_not(*cure, run, sources, notebook); !reason.empty())
      return {.reason = std::move(reason)};
    questions.push_back(question_of(*cure, run, notebook.empty() ? cure->where.file : notebook));
  }
  Patch patch;
  try {
    const Json answer = ask(python_of(run, run.call(cures.front()->call)), {{"cures", questions}});
    patch.reason = answer.value("reason", "");
    patch.diff = answer.value("diff", "");
    for (const Json& file : answer.value("files", Json::array()))
      patch.files.push_back({file.at("path"), file.at("text")});
  } catch (const Json::exception& error) {
    patch.reason = fmt::format("its Python answered nonsense: {}", error.what());
  } catch (const InputError& error) {
    patch.reason = error.what();
  }
  return patch;
}

static std::string free_name(const std::string& file) {
  std::string name = file + ".before-cure";
  for (int number = 2; fs::exists(name); ++number)
    name = fmt::format("{}.before-cure{}", file, number);
  return name;
}

std::vector<std::string> apply(const Patch& patch) {
  std::vector<std::string> copies;
  for (const ChangedFile& changed : patch.files) {
    copies.push_back(free_name(changed.file));
    try {
      fs::copy_file(changed.file, copies.back());
    } catch (const fs::filesystem_error& error) {
      throw InputError(fmt::format("{}: no copy could be made, so nothing was changed: {}",
                                   copies.back(), error.code().message()));
    }
  }
  for (const ChangedFile& changed : patch.files) replace_file(changed.file, {changed.text});
  return copies;
}

}  // namespace dtypecheck::curing
