#include "cures/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/dtype_spellings.h"
#include "core/provenance.h"
#include "cures/ask_python.h"
#include "cures/edit_json.h"
#include "cures/embedded.h"
#include "cures/known_dtypes.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/text.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"

namespace fs = std::filesystem;

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::json;

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
                    const std::string& notebook, bool is_built,
                    const std::map<std::string, std::string>& patched) {
  const std::string& file = cure.where.file;
  const OpCall* call = run.call(cure.call);
  if (!cure.where.known())
    return is_built ? "the line to change is not known: build the program with -g"
                    : "the line to change is not known";
  const bool is_python = call == nullptr || !run.process_of(*call).python.empty();
  if (!is_python && !is_built) return kNotBuilt;
  if (is_cell(file)) {
    const bool is_found = !notebook.empty() && !cell_of(cure, run).empty();
    return is_found ? ""
                    : "it is a cell of a notebook that the command does not name: change it there";
  }
  if (!is_file(file)) return fmt::format("{} is not a file here", file);
  if (sources.line(file, cure.where.line).empty())
    return fmt::format("the trace has no source lines of {}", file);
  const auto text = patched.find(file);
  const bool is_what_ran =
      text == patched.end() ? sources.is_unchanged(file) : sources.is_text_of(file, text->second);
  return is_what_ran ? "" : fmt::format("{} has changed since it ran", file);
}

}  // namespace

// What the diff calls the file: from here, where it is below.
static std::string shown_name(const std::string& file) {
  std::error_code unknown;
  const fs::path near = fs::path(file).lexically_proximate(fs::current_path(unknown));
  const bool is_below = !near.empty() && *near.begin() != "..";
  return is_below ? near.string() : file;
}

// The call, and those around it that have the operand too: the line may call any of them.
static Json calls_of(const Run& run, const OpCall& call, const std::string& operand) {
  const OpCall* at = &call;
  const Operand* its = call.operand(operand);
  std::string name = operand;
  // What an op inside of another made of an operand of that, as mm's transposed weight, is that.
  const auto same_in = [&](const OpCall& outer, const Operand* inner) {
    const Operand* same = same_tensor(outer, *inner);
    for (int steps = 0; same == nullptr && steps < 8; ++steps) {
      const OpCall* origin = run.call(inner->origin);
      if (origin == nullptr || origin->parent == kNoOpCall || origin->operands.empty()) break;
      inner = &origin->operands.front();
      same = same_tensor(outer, *inner);
    }
    return same;
  };
  Json calls = Json::array();
  while (at != nullptr) {
    std::vector<std::string> arguments;
    for (const Operand& one : at->operands) {
      const std::string argument(ops::list_name(one.name));
      const bool is_new =
          std::find(arguments.begin(), arguments.end(), argument) == arguments.end();
      if (one.role != Role::kOut && is_new) arguments.push_back(argument);
    }
    const bool is_python = ops::is_python(at->op);
    const bool meets_number =
        std::any_of(at->operands.begin(), at->operands.end(),
                    [](const Operand& one) { return one.is_wrapped_number; }) ||
        at->scalar("other") != nullptr;
    calls.push_back({{"op", is_python ? at->op : at->short_op()},
                     {"operand", name},
                     {"arguments", arguments},
                     {"meets_number", meets_number}});
    at = its == nullptr ? nullptr : run.call(at->parent);
    its = at == nullptr ? nullptr : same_in(*at, its);
    if (its == nullptr) break;
    name = its->name;
  }
  return calls;
}

// As of one operand, with the names of all, "self,mat2", in each call that has them all.
static Json calls_of_all(const Run& run, const OpCall& call, std::string_view operands) {
  Json calls = calls_of(run, call, std::string(next_piece(operands, ',')));
  while (!operands.empty()) {
    const Json more = calls_of(run, call, std::string(next_piece(operands, ',')));
    if (more.size() < calls.size()) calls.erase(calls.begin() + more.size(), calls.end());
    for (size_t i = 0; i < calls.size(); ++i)
      calls[i]["operand"] =
          calls[i]["operand"].get<std::string>() + "," + more[i]["operand"].get<std::string>();
  }
  return calls;
}

// The operand that the cure is about; of a module's input the one that meets the wanted dtype.
static const Operand* operand_of(const Cure& cure, const OpCall& call) {
  if (const Operand* named = call.operand(cure.operand.substr(0, cure.operand.find(','))))
    return named;
  const auto odd =
      std::find_if(call.operands.begin(), call.operands.end(),
                   [&](const Operand& operand) { return is_odd_beside(operand, cure.dtype); });
  return odd == call.operands.end() ? nullptr : &*odd;
}

static void add_operand(const Cure& cure, const Run& run, const OpCall& call, Json& question) {
  const Operand* operand = operand_of(cure, call);
  const bool is_of_all =
      cure.kind == CureKind::kCastOperand && cure.operand.find(',') != std::string::npos;
  question["calls"] = is_of_all ? calls_of_all(run, call, cure.operand)
                                : calls_of(run, call, operand == nullptr ? "" : operand->name);
  if (ops::is_numpy(call.op) && call.result_dtype())
    question["narrow"] = name_in_torch(*call.result_dtype());
  if (operand == nullptr && call.result_dtype())
    question["from"] = name_in_torch(*call.result_dtype());
  const OpCall* cast = operand == nullptr ? &call : run.call(operand->origin);
  const auto casts_there = [&](const OpCall& one) {
    return (ops::facts_of(one.op) & ops::kCast) != 0 && !one.operands.empty() &&
           one.process == call.process && one.site.line == cure.where;
  };
  if (cure.kind == CureKind::kCastParameters ||
      cure.kind == CureKind::kMasterWeights) {  // by any parameter of the module
    const auto found = std::find_if(run.calls.begin(), run.calls.end(), casts_there);
    cast = found == run.calls.end() ? nullptr : &*found;
  }
  const bool is_cast = cast != nullptr && casts_there(*cast);
  if (const auto was = is_cast ? cast->operands.back().dtypes.single() : std::nullopt)
    question["was"] = name_in_torch(*was);  // before the line cast it
  if (operand == nullptr) return;
  if (cure.kind == CureKind::kCastAndBack)
    for (const Operand& result : call.results)
      question["gives_floats"].push_back(result.is_floating());
  if (const auto dtype = operand->dtypes.single()) question["from"] = name_in_torch(*dtype);
  for (const Operand& other : call.operands) {
    const bool is_other = other.dtypes == DtypeSet(cure.dtype) && other.name != operand->name;
    if (is_other && rules::is_weight(other)) question["meets_parameter"] = true;
    if (is_other) question["others"].push_back(calls_of(run, call, other.name));
  }
  if (cure.kind == CureKind::kMasterWeights)
    question["trained"] = models_trained_low(run, call.process);
  if (cure.kind == CureKind::kCastDrawn) {
    for (const Dtype dtype : rules::drawn_with(run, call, *operand))
      question["drawn"].push_back(name_in_torch(dtype));
  }
  const OpCall* origin = run.call(operand->origin);
  if (origin == nullptr) {  // a loader's worker may have made it
    const Provenance provenance = ProvenanceIndex(run).trace_back(call, *operand);
    if (provenance.is_from_worker && !provenance.is_probable)
      origin = provenance.steps.front().call;
  }
  if (origin == nullptr) return;
  const bool is_near = origin->site.line.file == cure.where.file;
  const std::string& function = origin->site.line.function;
  question["origin"] = {is_near ? origin->site.line.line : 0,
                        function.substr(function.rfind('.') + 1)};
}

static Json question_of(const Finding& finding, const Cure& cure, const Run& run,
                        const std::string& path) {
  const Extent& extent = cure.where.extent;
  Json question = {{"path", path},
                   {"file", cure.where.file},
                   {"cell", cell_of(cure, run)},
                   {"line", cure.where.line},
                   {"extent", {extent.column, extent.end_line, extent.end_column}},
                   {"kind", cure_kind_name(cure.kind)},
                   {"dtype", name_in_torch(cure.dtype)},
                   {"from", ""},
                   {"operand", cure.operand},
                   {"module", ""},
                   {"module_class", ""},
                   {"calls", Json::array()}};
  if (is_cpp_file(cure.where.file)) question["cpp"] = dtype_name(cure.dtype);
  const OpCall* call = run.call(cure.call);
  if (call == nullptr) return question;
  question["module"] = call->site.module;
  question["module_class"] = call->site.module_class;
  question["is_origin"] = !(call->site.line == cure.where);
  question["device"] = call->device_type();
  question["optimizers"] = run.process_of(*call).fact(FactKey::kOptimizer);
  if (cure.kind == CureKind::kMasterWeights)
    question["has_diffusers"] = rules::has_package(run, call->process, "diffusers");
  for (const Operand& operand : call->operands) {
    const auto dtype = operand.dtypes.single();
    if (ops::is_python(call->op) && dtype)
      question["variables"][operand.name] = name_in_torch(*dtype);
  }
  for (const ScalarArgument& scalar : call->scalars) {
    if (!scalar.dtype && scalar.name != "dim" && !question.contains("value"))
      question["value"] = scalar.value;
  }
  add_operand(cure, run, *call, question);
  if (cure.kind == CureKind::kCastModuleInput)
    question["inner"] = lines_called_by(cure, run, *call);
  if (cure.kind == CureKind::kCastModuleInput || cure.kind == CureKind::kCastOperand)
    question["origins"] = origins_of(cure, run, *call);
  if (const SourceLine& region = call->autocast.entered; region.file == cure.where.file)
    question["region"] = region.line;
  // What a factory's result meets later says the dtype better than a constant.
  const OpCall* use = cure.kind == CureKind::kCastResult ? run.call(finding.call) : nullptr;
  if (use == nullptr || use == call || use->site.line.file != cure.where.file) return question;
  Json there = {{"line", use->site.line.line}, {"extent", {0, 0, 0}},
                {"others", Json::array()},     {"meets_parameter", false},
                {"module", use->site.module},  {"module_class", use->site.module_class}};
  std::string read = finding.odd_operand;
  for (const Operand& operand : use->operands)
    if (operand.origin == cure.call) read = operand.name;
  add_operand({.kind = CureKind::kCastOperand,
               .dtype = cure.dtype,
               .operand = read,
               .where = use->site.line},
              run, *use, there);
  question["use"] = std::move(there);
  return question;
}

// What is known of all cures of the file, and of all of the model.
static void add_dtypes(const Cure& cure, const Run& run, Json& question) {
  const OpCall* call = run.call(cure.call);
  if (call == nullptr) return;
  Json &results = question["results"], &models = question["parameters"];
  if (const std::string& file = cure.where.file; !results.contains(file))
    results[file] = results_in(run, call->process, file);
  if (const std::string root = rules::root_module(call->site.module); !models.contains(root))
    models[root] = parameters_around(run, *call);
}

// The tables of ops/python_names.inc, and the names of factories, dtypes and precisions.
static void add_tables(Json& question) {
  for (const char* table : {"names", "signs", "dimension_first", "first_only"})
    question[table] = Json::array();
#define PYTHON_NAME(op, name) question["names"].push_back({#op, #name});
#define SIGN(sign, op) question["signs"].push_back({sign, #op});
#define DIMENSION_FIRST(op) question["dimension_first"].push_back(#op);
#define FIRST_ONLY(op) question["first_only"].push_back(#op);
#include "ops/python_names.inc"
#undef PYTHON_NAME
#undef SIGN
#undef DIMENSION_FIRST
#undef FIRST_ONLY
  question["precisions"] = precisions_as_json();
  question["factories"] = ops::ops_that_take_no_values();
  for (const DtypeNames& names : kDtypeNames) {
    question["dtypes"][names.torch] = names.torch;
    if (names.shorter != nullptr) question["dtypes"][names.shorter] = names.torch;
    if (const std::string method = cast_method(names); !method.empty())
      question["cast_methods"][method] = names.torch;
    const std::string of_c10 =
        names.kind == DtypeKind::kFloating ? fmt::format("at::{}", names.name) : "";
    const std::string type = names.cpp == nullptr ? of_c10 : names.cpp;
    if (!type.empty() && names.kind != DtypeKind::kComplex)
      question["cpp_types"][names.name] = type;
  }
}

static Json ask(const std::string& python, const Json& question) {
  return Json::parse(ask_python(python,
                                {{"write_cure.py", embedded::kWriteCureScript},
                                 {"casts.py", embedded::kCastsScript},
                                 {"cpp_source.py", embedded::kCppSourceScript},
                                 {"demerits.py", embedded::kDemeritsScript},
                                 {"modules.py", embedded::kModulesScript},
                                 {"operands.py", embedded::kOperandsScript},
                                 {"source.py", embedded::kSourceScript},
                                 {"statement.py", embedded::kStatementScript},
                                 {"syntax.py", embedded::kSyntaxScript},
                                 {"wanted_dtype.py", embedded::kWantedDtypeScript}},
                                question.dump()));
}

Demerits& Demerits::operator+=(const Demerits& other) {
  dead += other.dead;
  doubled += other.doubled;
  literals += other.literals;
  integers += other.integers;
  avoidable += other.avoidable;
  return *this;
}

Demerits Patch::demerits() const {
  Demerits all;
  for (const auto& [step, its] : by_step) all += its;
  return all;
}

// On top of the base, in one text.
static Patch patch_of(const Json& way, const Patch& base, int fewest_literals) {
  Patch patch = base;
  const int step = base.last_step() + 1;
  std::vector<SourceEdit> edits = edits_of(way.at("edits"));
  for (SourceEdit& edit : edits) edit.step = step;
  auto files = by_file(base.edits);
  for (auto& [file, then] : by_file(edits))
    files[file] = joined(read_file(file), files[file], then);
  patch.edits.clear();
  for (auto& [file, all] : files) patch.edits.insert(patch.edits.end(), all.begin(), all.end());
  patch.words = way.value("words", "");
  const Json& counted = way.at("demerits");
  const int literals = counted.at("literals");
  patch.by_step[step] = {counted.at("dead"), counted.at("doubled"), literals,
                         counted.at("integers"),
                         std::max<int>(literals - fewest_literals, counted.at("low"))};
  return patch;
}

static std::vector<Patch> patches_of(const Json& answer, const Patch& base) {
  if (answer.contains("reason")) return {{.reason = answer.at("reason"), .was_sought = true}};
  int fewest = INT_MAX;
  for (const Json& way : answer.at("ways"))
    fewest = std::min(fewest, way.at("demerits").at("literals").get<int>());
  std::vector<Patch> patches;
  for (const Json& way : answer.at("ways")) patches.push_back(patch_of(way, base, fewest));
  return patches;
}

std::vector<std::vector<Patch>> make_patches(const std::vector<std::vector<Part>>& lists,
                                             const Run& run, const Sources& sources,
                                             const Program& program, const Patch& base,
                                             bool counts_demerits) {
  std::vector<std::vector<Patch>> all(lists.size());
  const auto refuse = [&](size_t i, std::string reason) {
    all[i] = std::vector<Patch>(1);
    all[i].front().reason = std::move(reason);
  };
  const auto refuse_rest = [&](const std::string& reason) {
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].empty()) refuse(i, reason);
  };
  try {
    const auto texts = texts_of(base);
    Json question = {{"questions", Json::array()},
                     {"counts_demerits", counts_demerits},
                     {"base", Json::array()},
                     {"results", Json::object()},
                     {"parameters", Json::object()}};
    for (const auto& [file, text] : texts)
      question["base"].push_back({{"path", file}, {"text", text}});
    std::vector<size_t> asked;
    for (size_t i = 0; i < lists.size(); ++i) {
      Json cures = Json::array();
      if (lists[i].empty()) refuse(i, "no edit is known for it, only its description");
      for (const auto& [finding, cure] : lists[i]) {
        const std::string notebook = is_cell(cure->where.file) ? notebook_of(program) : "";
        std::string reason = why_not(*cure, run, sources, notebook, !program.build.empty(), texts);
        if (!reason.empty()) refuse(i, std::move(reason));
        if (!all[i].empty()) break;
        const std::string& path = notebook.empty() ? cure->where.file : notebook;
        cures.push_back(question_of(*finding, *cure, run, path));
        add_dtypes(*cure, run, question);
      }
      if (!all[i].empty()) continue;
      question["questions"].push_back(std::move(cures));
      asked.push_back(i);
    }
    if (asked.empty()) return all;
    add_tables(question);
    const Part& first = lists[asked.front()].front();
    const Json answers =
        ask(program.python.empty() ? python_of(run, run.call(first.second->call)) : program.python,
            question);
    for (size_t i = 0; i < asked.size(); ++i) all[asked[i]] = patches_of(answers.at(i), base);
  } catch (const Json::exception& error) {
    refuse_rest(fmt::format("the answer of its Python is not JSON: {}", error.what()));
  } catch (const InputError& error) {
    refuse_rest(error.what());
  }
  return all;
}

std::map<std::string, std::string> texts_of(const Patch& patch) {
  std::map<std::string, std::string> texts;
  for (const auto& [file, edits] : by_file(patch.edits)) {
    auto text = edited(read_file(file), edits);
    if (!text) throw InputError(fmt::format("{} has changed since it ran", file));
    texts[file] = *std::move(text);
  }
  return texts;
}

std::string diff_of(const std::vector<SourceEdit>& edits,
                    const std::map<std::string, std::string>& copies) {
  std::string diff;
  for (const auto& [file, its] : by_file(edits)) {
    const auto copy = copies.find(file);
    diff +=
        unified_diff(shown_name(file), read_file(copy == copies.end() ? file : copy->second), its);
  }
  return diff;
}

std::vector<SourceEdit> edits_of(const Json& json) {
  std::vector<SourceEdit> edits;
  for (const Json& edit : json)
    edits.push_back({edit.at("path"), edit.at("line"), edit.at("column"), edit.at("old"),
                     edit.at("new"), edit.value("step", 0)});
  return edits;
}

Json json_of(const std::vector<SourceEdit>& edits) {
  Json json = Json::array();
  for (const SourceEdit& edit : edits)
    json.push_back({{"path", edit.file},
                    {"line", edit.line},
                    {"column", edit.column},
                    {"old", edit.old_text},
                    {"new", edit.new_text},
                    {"step", edit.step}});
  return json;
}

std::vector<std::pair<int, Patch>> shorter_patches(const Patch& patch) {
  std::vector<std::pair<int, Patch>> shorter;
  for (const auto& [step, demerits] : patch.by_step) {
    if (patch.by_step.size() < 2) break;
    Patch one{.edits = {}, .by_step = patch.by_step, .reason = ""};
    one.by_step.erase(step);
    for (const auto& [file, edits] : by_file(patch.edits)) {
      const auto is_import = [](const SourceEdit& edit) {
        return edit.new_text == "import torch\n";
      };
      std::vector<SourceEdit> kept = edits;
      std::erase_if(kept,
                    [&](const SourceEdit& edit) { return edit.step == step && !is_import(edit); });
      if (!std::all_of(kept.begin(), kept.end(), is_import))
        one.edits.insert(one.edits.end(), kept.begin(), kept.end());
    }
    if (one.edits.size() < patch.edits.size()) shorter.emplace_back(step, std::move(one));
  }
  return shorter;
}

}  // namespace dtypecheck::cures
