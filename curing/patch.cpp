#include "curing/patch.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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

std::string why_not(const Cure& cure, const Run& run, const Sources& sources) {
  const std::string& file = cure.where.file;
  const OpCall* call = run.call(cure.call);
  if (cure.code.empty()) return "it is told in words alone";
  if (!cure.where.known()) return "the line to change is not known";
  if (call != nullptr && run.process_of(*call).python.empty())
    return "the program is no Python, so its source would have to be built again";
  if (file.starts_with("In [")) return "it is a notebook's cell: change it there";
  if (!is_file(file)) return fmt::format("{} is no file here", file);
  if (sources.line(file, cure.where.line).empty())
    return fmt::format("the run kept no lines of {}", file);
  if (!sources.is_unchanged(file)) return fmt::format("{} has changed since it ran", file);
  return "";
}

}  // namespace

Patch make_patch(const Cure& cure, const Run& run, const Sources& sources) {
  Patch patch{.file = cure.where.file, .reason = why_not(cure, run, sources)};
  if (!patch.reason.empty()) return patch;
  const OpCall* call = run.call(cure.call);
  std::error_code unknown;
  const fs::path near = fs::path(patch.file).lexically_proximate(fs::current_path(unknown));
  const Extent& extent = cure.where.extent;
  const bool is_below = !near.empty() && *near.begin() != "..";
  try {
    const Json answer =
        ask(python_of(run, call), {{"path", patch.file},
                                   {"shown", is_below ? near.string() : patch.file},
                                   {"line", cure.where.line},
                                   {"extent", {extent.column, extent.end_line, extent.end_column}},
                                   {"kind", cure_kind_name(cure.kind)},
                                   {"dtype", name_in_torch(cure.dtype)},
                                   {"replaces", cure.replaces},
                                   {"code", cure.code},
                                   {"op", call == nullptr ? "" : call->short_op()}});
    patch.reason = answer.value("reason", "");
    patch.text = answer.value("text", "");
    patch.diff = answer.value("diff", "");
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

std::string apply(const Patch& patch) {
  const std::string copy = free_name(patch.file);
  try {
    fs::copy_file(patch.file, copy);
  } catch (const fs::filesystem_error& error) {
    throw InputError(fmt::format("{}: no copy could be made, so nothing was changed: {}", copy,
                                 error.code().message()));
  }
  replace_file(patch.file, {patch.text});
  return copy;
}

}  // namespace dtypecheck::curing
