#include "rules/engine/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "core/precision_words.h"
#include "core/requests.h"
#include "platform/text.h"
#include "rules/engine/formatting.h"
#include "rules/engine/frameworks.h"
#include "rules/engine/source_text.h"

namespace dtypecheck::rules {
namespace {

constexpr int kMostLines = 5000;  // of a file that is searched for where a value was written
constexpr std::string_view kDocstring = "\"\"\"";

size_t places_of(std::string_view text, std::string_view piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size()))
    ++count;
  return count;
}

// The option bf16 and full_bf16 ask for BFloat16, fp16 and use_half for Half.
bool names_dtype(std::string_view name, Dtype dtype) {
  const std::string low = lowered(name);
  const bool is_brain = low.find("bf") != low.npos;
  const bool has_16_bits = low.find("16") != low.npos || low.find("half") != low.npos;
  return has_16_bits && is_brain == (dtype == Dtype::kBFloat16);
}

// One value that a frame held: "args.precision", "16-true".
struct HeldValue {
  std::string name, value;
  const AskingFrame* frame;
  size_t rank = 0;
};

bool is_boolean(std::string_view value) { return value == "True" || value == "False"; }

class Asker {
 public:
  Asker(const RunIndex& index, const JudgeOptions& options, const OpCall& call, Dtype dtype,
        std::string model)
      : run_(index.run()),
        process_(index.run().process_of(call)),
        options_(options),
        dtype_(dtype),
        model_(std::move(model)) {
    words_ = words_of_command(process_);
  }

  std::optional<Asked> of_maker(const OpCall& maker) {
    take(frames_asking(process_, maker, dtype_));
    return ask();
  }

  std::optional<Asked> of_default() {
    take(frames_of_default(process_, dtype_));
    if (!frames_.empty()) return ask();
    return default_in_source();
  }

 private:
  using Find = std::optional<Asked> (Asker::*)(const HeldValue&) const;

  // Which frameworks are here is asked of each setting, and looks through the calls of the run.
  void take(std::vector<AskingFrame> frames) {
    frames_ = std::move(frames);
    std::vector<SourceLine> lines;
    for (const AskingFrame& frame : frames_) lines.push_back(frame.line);
    here_.clear();
    if (!frames_.empty()) here_ = frameworks_of(run_, lines);
  }

  // The place among those that are here of the framework that knows the setting, and what to ask
  // for; behind their end where none does.
  std::pair<size_t, std::string> setting_of(std::string_view name, std::string_view value,
                                            bool is_typed = false) const {
    for (size_t i = 0; i < here_.size(); ++i) {
      for (const FrameworkSetting& setting : here_[i]->settings) {
        if (setting.is_typed && !is_typed) continue;
        const bool is_any = setting.value == "*" && !is_boolean(value) && value != "auto";
        const bool fits = is_any || setting.value == value;
        if (fits && is_same_name(last_name(name), setting.name)) return {i, setting.instead};
      }
    }
    return {here_.size(), ""};
  }
  std::string instead_of(std::string_view name, std::string_view value,
                         bool is_typed = false) const {
    return setting_of(name, value, is_typed).second;
  }

  // What says False and means 16 bits all the same, a framework's table knows: a value is no words
  // for a dtype there.
  bool counts(const HeldValue& one) const {
    const std::string_view name = last_name(one.name);
    if (one.value == "True") return names_dtype(name, dtype_) && !has_choice(name);
    if (one.value == "False" || one.value == "auto")
      return !instead_of(one.name, one.value).empty();
    return !is_configuration(one.value) && precision_in(one.value) == dtype_;
  }

  // full_bf16 is one; is_bf16_supported and use_half_res are none.
  static bool has_choice(std::string_view name) {
    return name.find("support") != name.npos || name.find("avail") != name.npos ||
           name.find("enabled") != name.npos;
  }

  std::vector<HeldValue> candidates() const {
    std::vector<HeldValue> all;
    for (const AskingFrame& frame : frames_)
      for (const auto& [name, value] : frame.said)
        if (HeldValue one{name, value, &frame}; counts(one)) all.push_back(one);
    for (HeldValue& one : all) one.rank = rank(one);
    std::ranges::stable_sort(
        all, [](const HeldValue& a, const HeldValue& b) { return a.rank < b.rank; });
    return all;
  }

  // First what the line that made the dtype stands below, `elif args.full_bf16:`, then what a
  // framework's table has, then what the nearest frame held.
  size_t rank(const HeldValue& one) const {
    const AskingFrame* users = users_line();
    if (users != nullptr && is_below_question(users->line, one)) return 0;
    return 1 + setting_of(one.name, one.value).first;
  }

  std::string command_name() const {
    const std::string& script = words_.empty() ? "" : words_.front();
    const std::string name = script.substr(script.rfind('/') + 1);
    return name.empty() ? "the command line" : name + "'s command line";
  }

  // "--precision 16-true", "--precision=16-true", "trainer.precision=16-true", "--full_bf16".
  std::optional<Asked> on_command_line(const HeldValue& one) const {
    const std::string_view name = last_name(one.name);
    for (size_t i = 1; i < words_.size(); ++i) {
      std::string_view value = words_[i];
      const std::string_view option = next_piece(value, '=');
      const bool is_named = is_same_name(last_name(option), name);
      const bool is_next = is_named && option.size() == words_[i].size() &&
                           option.starts_with('-') && i + 1 < words_.size() &&
                           words_[i + 1] == one.value;
      const bool is_flag = is_named && option.size() == words_[i].size() &&
                           option.starts_with('-') && one.value == "True";
      const bool is_pair =
          is_named && option.size() != words_[i].size() && lowered(value) == lowered(one.value);
      if (!is_next && !is_flag && !is_pair) continue;
      const std::string what = is_next ? words_[i] + " " + one.value : words_[i];
      return Asked{what, command_name(), "", {}, /*is_command_line=*/true};
    }
    return std::nullopt;
  }

  // "unet.weight_dtype=BFLOAT_16", of a weight of unet, and a frame held that value.
  std::optional<Asked> of_model(const std::vector<HeldValue>& all) const {
    for (size_t i = 1; i < words_.size() && !model_.empty(); ++i) {
      std::string_view value = words_[i];
      const std::string option(next_piece(value, '='));
      const bool is_models = option.starts_with(model_ + ".") && precision_in(value) == dtype_ &&
                             lowered(option).find("dtype") != std::string::npos;
      const bool is_held = std::ranges::any_of(
          all, [&](const HeldValue& one) { return lowered(one.value) == lowered(value); });
      if (is_models && is_held)
        return Asked{words_[i],
                     command_name(),
                     instead_of(option, value),
                     {},
                     /*is_command_line=*/true};
    }
    return std::nullopt;
  }

  std::optional<Asked> in_environment(const HeldValue& one) const {
    const std::string name = lowered(last_name(one.name));
    for (const auto& [variable, value] : process_.facts_of(FactKey::kEnv)) {
      if (value != one.value) continue;
      const std::string bare = name.starts_with('_') ? name.substr(1) : name;
      if (lowered(variable).ends_with(bare))
        return Asked{variable + "=" + value, "the environment", "", {}};
    }
    return std::nullopt;
  }

  std::optional<Asked> on_line_of(const std::string& file, const HeldValue& one) const {
    const std::string_view name = last_name(one.name);
    bool in_docstring = false;
    for (int number = 1; number < kMostLines; ++number) {
      const std::string line = options_.line_text(file, number);
      const bool is_prose = in_docstring || trimmed(line).starts_with(kDocstring);
      if (places_of(line, kDocstring) % 2 != 0) in_docstring = !in_docstring;
      if (line.empty() || is_prose || !says(line, name, one.value)) continue;
      SourceLine at{.file = file, .line = number};
      const std::string_view value = one.value;
      return Asked{fmt::format("{}={}", name, value), place(Site{.line = at}), "", at};
    }
    return std::nullopt;
  }

  std::optional<Asked> in_configuration(const HeldValue& one) const {
    for (const std::string& file : configuration_files(process_))
      if (auto found = on_line_of(file, one)) return found;
    return std::nullopt;
  }

  static std::set<std::string> own_files(const std::vector<AskingFrame>& frames) {
    std::set<std::string> files;
    for (const AskingFrame& frame : frames)
      if (!is_installed(frame.line)) files.insert(frame.line.file);
    return files;
  }

  std::optional<Asked> in_source(const HeldValue& one) const {
    for (const std::string& file : own_files(frames_))
      if (auto found = on_line_of(file, one)) return found;
    return std::nullopt;
  }

  // Where the text says the dtype; npos where it does not.
  size_t spelled_at(std::string_view text) const {
    constexpr std::string_view kOfHalf[] = {".half()", "torch.half", "\"fp16\""};
    constexpr std::string_view kOfBrain[] = {".bfloat16()", "\"bf16\""};
    const bool is_half = dtype_ == Dtype::kHalf;
    const std::span<const std::string_view> signs =
        is_half ? std::span<const std::string_view>(kOfHalf) : kOfBrain;
    size_t first = text.npos;
    for (const std::string_view sign : signs) first = std::min(first, text.find(sign));
    const auto words = places_of_word(text, is_half ? "float16" : "bfloat16");
    return words.empty() ? first : std::min(first, words.front());
  }
  bool spells(std::string_view text) const { return spelled_at(text) != text.npos; }

  // The user's own line says the dtype itself: .half(), torch_dtype=torch.float16.
  std::optional<Asked> in_words() const {
    for (const AskingFrame& frame : frames_) {
      if (is_installed(frame.line)) continue;
      const std::string text = call_at(options_.line_text, frame.line);
      if (!spells(text)) continue;
      return Asked{call_around(text, spelled_at(text)), place(Site{.line = frame.line}), "",
                   frame.line};
    }
    return std::nullopt;
  }

  bool is_below_question(const SourceLine& line, const HeldValue& one) const {
    return !places_of_word(question_above(options_.line_text, line), last_name(one.name)).empty();
  }

  std::optional<Asked> in_default_of_framework() const {
    for (const Framework& framework : frameworks()) {
      for (const AskingFrame& frame : frames_) {
        if (!framework.has_file(frame.line.file)) continue;
        for (const FrameworkDefault& one : framework.defaults) {
          if (!frame.line.function.ends_with(one.function)) continue;
          const AskingFrame* caller = users_line();
          if (caller == nullptr ||
              call_at(options_.line_text, caller->line).find(one.name) != std::string::npos)
            continue;
          return Asked{
              .what = fmt::format("{}() without {}=, which {}", one.function, one.name, one.what),
              .where = place(Site{.line = caller->line}),
              .instead = one.instead,
              .line = caller->line,
              .is_left_out = true};
        }
      }
    }
    return std::nullopt;
  }

  const AskingFrame* users_line() const {
    for (const AskingFrame& frame : frames_)
      if (!is_installed(frame.line)) return &frame;
    return nullptr;
  }

  std::optional<Asked> found_by(Find find, const HeldValue& one) const {
    auto found = (this->*find)(one);
    const bool is_typed = find == &Asker::on_command_line;
    if (found) found->instead = instead_of(one.name, one.value, is_typed);
    return found;
  }

  std::optional<Asked> ask() const {
    const std::vector<HeldValue> all = candidates();
    if (auto words = in_words()) {
      for (const HeldValue& one : all) {
        if (!is_below_question(words->line, one)) continue;
        for (const Find find :
             {&Asker::on_command_line, &Asker::in_environment, &Asker::in_configuration})
          if (auto found = found_by(find, one)) return found;
      }
      for (const HeldValue& one : all)
        if (words->instead.empty()) words->instead = instead_of(one.name, one.value);
      return words;
    }
    if (auto found = of_model(all)) return found;
    for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && all[end].rank == all[begin].rank) ++end;
      for (const Find find : {&Asker::on_command_line, &Asker::in_environment,
                              &Asker::in_configuration, &Asker::in_source})
        for (size_t i = begin; i < end; ++i)
          if (auto found = found_by(find, all[i])) return found;
    }
    if (auto found = in_default_of_framework()) return found;
    if (all.empty()) return std::nullopt;
    const HeldValue& one = all.front();
    return Asked{fmt::format("{}={}", last_name(one.name), one.value),
                 place(Site{.line = one.frame->line}), instead_of(one.name, one.value),
                 one.frame->line};
  }

  // set_default_dtype() ran before the first op did.
  std::optional<Asked> default_in_source() const {
    std::optional<Asked> found;
    for (const std::string& file : own_files(all_asking_frames(process_))) {
      for (const auto& [line, text] : lines_with(options_.line_text, file, "set_default_dtype(")) {
        if (!spells(text)) continue;
        if (found) return std::nullopt;  // which of them it was is not known
        found = Asked{std::string(trimmed(text)), place(Site{.line = line}), "", line};
      }
    }
    return found;
  }

  const Run& run_;
  const Process& process_;
  const JudgeOptions& options_;
  Dtype dtype_;
  std::string model_;  // "unet" of the parameter unet.conv_in.weight; "" where it has no name
  std::vector<std::string> words_;
  std::vector<AskingFrame> frames_;
  std::vector<const Framework*> here_;  // in the order of the table
};

}  // namespace

std::optional<Asked> who_asked(const RunIndex& index, const JudgeOptions& options,
                               const OpCall& reader, const Operand& operand) {
  const auto dtype = operand.dtypes.single();
  if (!dtype || !kLowPrecision.contains(*dtype)) return std::nullopt;
  const Provenance provenance = index.provenance().trace_back(reader, operand);
  if (provenance.maker == nullptr) return std::nullopt;
  Asker asker(index, options, reader, *dtype, root_module(operand.parameter));
  if (index.is_unasked(provenance.maker)) {
    if (auto found = asker.of_default()) return found;
  }
  return asker.of_maker(*provenance.maker);
}

std::string asked_text(const Asked& asked) {
  return asked.where.empty() ? asked.what : fmt::format("{} ({})", asked.what, asked.where);
}

}  // namespace dtypecheck::rules
