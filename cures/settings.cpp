#include "cures/settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/dtype_names.h"
#include "core/precision_words.h"
#include "core/shell_words.h"
#include "cures/ask_python.h"
#include "cures/edit_json.h"
#include "cures/embedded.h"
#include "platform/child.h"
#include "platform/error.h"
#include "rules/engine/frameworks.h"

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::json;

std::string prompt_of(const Program& program) {
  std::string prompt;
  for (const auto& [name, value] : program.environment)
    prompt += fmt::format("{}={} ", name, quoted_word(value));
  for (size_t i = 0; i < program.command.size(); ++i)
    prompt += (i == 0 ? "" : " ") + quoted_word(program.command[i]);
  return prompt;
}

Setting setting_of(const Json& json, const Program& program) {
  Setting setting{json.at("text"), Dtype::kFloat, program, {}, ""};
  if (const auto dtype = parse_dtype(json.at("dtype").get<std::string>())) setting.dtype = *dtype;
  if (!json.at("command").is_null()) setting.program.command = json.at("command");
  for (const auto& [name, value] : json.at("environment").items())
    setting.program.environment[name] = value;
  setting.patch.edits = edits_of(json.at("edits"));
  for (SourceEdit& edit : setting.patch.edits) edit.step = -1;  // it is never left out
  if (setting.patch.edits.empty()) setting.prompt = prompt_of(setting.program);
  return setting;
}

}  // namespace

std::vector<Setting> settings_of(const Program& program, const Run& run) {
  const bool is_python = !run.processes.empty() && !run.processes.front().python.empty();
  if (!is_python || run.calls.empty()) return {};
  Json environment = Json::object();
  for (const std::string& variable : current_environment()) {
    const size_t sign = variable.find('=');
    if (sign != variable.npos) environment[variable.substr(0, sign)] = variable.substr(sign + 1);
  }
  for (const auto& [name, value] : program.environment) environment[name] = value;
  Json advice = Json::array();
  for (const rules::Framework* framework : rules::frameworks_of(run))
    for (const rules::FrameworkSetting& one : framework->settings)
      if (!one.arguments.empty())
        advice.push_back({{"name", one.name}, {"value", one.value}, {"arguments", one.arguments}});
  std::vector<Setting> settings;
  try {
    const Json question = {{"command", program.command},
                           {"folder", program.folder},
                           {"environment", environment},
                           {"advice", advice},
                           {"precisions", precisions_as_json()},
                           {"precision_names", kPrecisionNames},
                           {"configuration", kConfigurationEndings}};
    const std::string text = question.dump(-1, ' ', false, Json::error_handler_t::replace);
    const Json answer = Json::parse(ask_python(python_of(run, &run.calls.front()),
                                               {{"settings.py", embedded::kSettingsScript}}, text));
    for (const Json& one : answer.at("settings")) settings.push_back(setting_of(one, program));
  } catch (const Json::exception&) {
    return {};  // nothing is known of the settings
  } catch (const InputError&) {
    return {};
  }
  return settings;
}

}  // namespace dtypecheck::cures
