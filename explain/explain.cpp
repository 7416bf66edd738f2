#include "explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/dtype_set.h"
#include "explain/kernel_table.h"
#include "explain/message_table.h"
#include "explain/normal_text.h"
#include "explain/ranking.h"
#include "explain/since.h"
#include "platform/libtorch_version.h"
#include "platform/printable.h"
#include "platform/text.h"

namespace dtypecheck::explain {

static constexpr size_t kInnermost = 4;      // frames that count as the place of an error
static constexpr size_t kNearby = 2000;      // bytes of a long log that count as its surroundings
static constexpr size_t kReport = 16 << 10;  // a text up to this size is about one thing
static constexpr size_t kShownLine = 240;    // bytes; of a longer line the sentence is shown

// "struct c10::Half", "torch.float16", "cudahalftype": the many spellings of one dtype.
static std::optional<Dtype> dtype_of(std::string word) {
  for (std::string_view part :
       {"struct ", "c10::", "at::", "torch::", "torch.cuda.", "torch.", "sparse.", "<class "}) {
    const size_t at = word.find(part);
    if (at != std::string::npos) word.erase(at, part.size());
  }
  for (std::string_view prefix : {"cuda", "cpu", "k"}) {
    if (word.starts_with(prefix) && word.size() > prefix.size() + 2) word.erase(0, prefix.size());
  }
  for (std::string_view suffix : {"tensor", "type", ".", ",", ")"}) {
    if (word.ends_with(suffix)) word.erase(word.size() - suffix.size());
  }
  return parse_dtype_in_words(word);
}

static bool is_dtype_name(std::string_view word) {
  const auto dtype = parse_dtype(word);
  return dtype && dtype_name(*dtype) == word;
}

// Calls named(word) for each word of a sentence of ours.
template <typename Named>
static void for_each_word(std::string_view text, Named&& named) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" ,.;:()/'"), text.size());
    if (end > 0) named(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

static std::vector<std::string> dtypes_in_holes(const Sighting& sighting) {
  std::vector<std::string> dtypes;
  for (const std::string& hole : sighting.holes) {
    if (const auto dtype = dtype_of(hole)) dtypes.push_back(dtype_name(*dtype));
  }
  return dtypes;
}

// Those that the table's spelling names itself come first: "expected scalar type Long but found
// {}".
static std::vector<std::string> dtypes_of(const Sighting& sighting) {
  std::vector<std::string> dtypes;
  for_each_word(messages()[sighting.message].texts[sighting.spelling], [&](std::string_view word) {
    if (is_dtype_name(word)) dtypes.emplace_back(word);
  });
  const std::vector<std::string> holes = dtypes_in_holes(sighting);
  dtypes.insert(dtypes.end(), holes.begin(), holes.end());
  return dtypes;
}

static std::vector<OperandDtype> operands_of(const Sighting& sighting) {
  const auto& names = messages()[sighting.message].operands[sighting.spelling];
  std::vector<OperandDtype> operands;
  for (size_t i = 0; i < std::min(names.size(), sighting.holes.size()); ++i) {
    const auto dtype = dtype_of(sighting.holes[i]);
    if (dtype && !names[i].empty()) operands.push_back({names[i], dtype_name(*dtype)});
  }
  return operands;
}

namespace {

// The dtypes in words of no known message. Certain is what nobody writes who does not mean the
// dtype: "torch.float16", "c10::Half", "BFloat16", "torch.cuda.HalfTensor". "fp16" and "float32"
// name one too, but for values of an option; "float", "half" and "long" may be anything.
struct NamedDtypes {
  std::vector<Dtype> certain, all;
};

void add_once(std::vector<Dtype>& dtypes, Dtype dtype) {
  if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
}

}  // namespace

static NamedDtypes dtypes_in(std::string_view text) {
  const bool names_option = text.find("--") != std::string_view::npos;
  NamedDtypes dtypes;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(" \n\t\r,;()[]{}'\"`=!"), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (word.ends_with('.') || word.ends_with(':')) word.remove_suffix(1);
    const bool is_certain = word.starts_with("torch.") || word.starts_with("c10::") ||
                            word.starts_with("at::") || word == "Half" || word == "BFloat16" ||
                            word.starts_with("Float8_") || word.starts_with("CUDA") ||
                            word.starts_with("kFloat") || word.starts_with("kBFloat") ||
                            word.starts_with("kHalf");
    const bool has_width =
        !names_option && word.find_first_of("0123456789") != std::string_view::npos;
    const auto dtype = is_certain || has_width ? dtype_of(normal_text(word)) : std::nullopt;
    if (dtype) add_once(dtypes.all, *dtype);
    if (dtype && is_certain) add_once(dtypes.certain, *dtype);
  }
  return dtypes;
}

// What stands around a message: all of a short text; of a log the traceback above it, or the lines
// beside it.
static ReadText surroundings(const Sighting& sighting, uint64_t size_bytes) {
  std::string_view before = sighting.before, after = sighting.after;
  if (size_bytes > kReport) {
    const size_t traceback = before.rfind(kTraceback);
    const size_t nearby = before.size() > kNearby ? before.size() - kNearby : 0;
    before.remove_prefix(traceback == std::string_view::npos ? nearby
                                                             : std::min(traceback, nearby));
    after = after.substr(0, kNearby);
  }
  ReadText text(std::string(before) + "\n" + sighting.text + "\n" + std::string(after));
  text.hide(sighting.normal);  // the sentence itself has spoken already
  return text;
}

// Of the traceback that ends in the message; somebody who cut a traceback to a few frames may have
// put the message before them.
static std::vector<TracebackFrame> frames_beside(const Sighting& sighting, uint64_t size_bytes) {
  std::vector<TracebackFrame> frames = frames_of(sighting.before);
  if (!frames.empty() || size_bytes > kReport) return frames;
  return frames_of(sighting.after.substr(0, sighting.after.find(kTraceback)));
}

static std::string innermost(const std::vector<TracebackFrame>& frames) {
  std::string text;
  for (size_t i = frames.size() > kInnermost ? frames.size() - kInnermost : 0; i < frames.size();
       ++i) {
    text += frames[i].file + " " + frames[i].function + " " + frames[i].code + "\n";
  }
  return normal_text(text);
}

namespace {

// What the causes of an error are chosen by, in normal form.
struct Context {
  std::string_view message;  // its id, "words" for a report in words
  std::string sentence;      // of the message
  std::string around;        // what stands around it, and the innermost frames
  std::string environment;
  std::optional<bool> is_older;  // than the kernel that the message misses
};

}  // namespace

static bool is_on_its_device(const Cause& cause, const Context& context) {
  return has_phrase(context.around, cause.device) || has_phrase(context.sentence, cause.device) ||
         has_phrase(context.environment, cause.device);
}

static bool is_in(const std::vector<std::string>& dtypes, std::string_view name) {
  return std::find(dtypes.begin(), dtypes.end(), name) != dtypes.end();
}

// "{half}" in a cause is the 16-bit dtype that the message names.
static std::string with_half(std::string cause, const std::vector<std::string>& dtypes) {
  constexpr std::string_view kMark = "{half}";
  const bool half = is_in(dtypes, "Half"), bfloat16 = is_in(dtypes, "BFloat16");
  const std::string_view named = half == bfloat16 ? "Half or BFloat16" : half ? "Half" : "BFloat16";
  for (size_t at = cause.find(kMark); at != std::string::npos; at = cause.find(kMark, at))
    cause.replace(at, kMark.size(), named);
  return cause;
}

// Of a message that names two dtypes, a cause that tells of another one by its name is not the
// cause.
static bool contradicts(std::string_view cause, const std::vector<std::string>& dtypes) {
  if (dtypes.size() < 2) return false;
  const bool has_half = is_in(dtypes, "Half") || is_in(dtypes, "BFloat16");
  bool names_another = false;
  for_each_word(cause, [&](std::string_view word) {
    const bool is_half = word == "{half}" || word == "half";
    names_another |= is_half ? !has_half : is_dtype_name(word) && !is_in(dtypes, word);
  });
  return names_another;
}

static bool fits(const Cause& cause, const Context& context,
                 const std::vector<std::string>& dtypes) {
  const auto is_named = [&](Dtype dtype) { return is_in(dtypes, dtype_name(dtype)); };
  const bool is_of_message =
      cause.messages.empty() || std::find(cause.messages.begin(), cause.messages.end(),
                                          context.message) != cause.messages.end();
  return is_of_message && !contradicts(cause.cause, dtypes) &&
         (cause.when.empty() || has_phrase(context.around, cause.when) ||
          has_phrase(context.sentence, cause.when)) &&
         (cause.dtypes.empty() || dtypes.empty() || std::ranges::any_of(cause.dtypes, is_named)) &&
         (!cause.is_of_device || is_on_its_device(cause, context)) &&
         !(cause.is_upgrade && context.is_older == false);
}

// What speaks for a cause: its words, each further one less than the one before; its device; that
// it needs a word and has it; that it belongs to this message and hardly to others; a LibTorch
// older than the kernel.
static double weight_of(const Cause& cause, const Context& context) {
  const auto signs = std::ranges::count_if(cause.signs, [&](std::string_view sign) {
    return has_phrase(context.around, sign) || has_phrase(context.sentence, sign);
  });
  double weight = std::log2(1 + static_cast<double>(signs));
  if (is_on_its_device(cause, context)) weight += 2;
  if (!cause.when.empty()) weight += 1;
  if (cause.messages.size() == 1 && context.message != "words") weight += 4;
  if (cause.messages.size() == 2 && context.message != "words") weight += 2;
  return weight;
}

// The causes of the first category that fit.
static void add_causes(const Context& context, Explanation& out) {
  const Fault& fault = fault_of(out.categories.front());
  std::copy_if(fault.causes.begin(), fault.causes.end(), std::back_inserter(out.causes),
               [&](const Cause& cause) { return fits(cause, context, out.dtypes); });
  std::ranges::stable_sort(out.causes, [&](const Cause& a, const Cause& b) {
    return weight_of(a, context) > weight_of(b, context);
  });
  for (Cause& cause : out.causes) {
    cause.cause = with_half(with_dates(cause.cause), out.dtypes);
    cause.cure = with_dates(cause.cure);
  }
  for (const std::string& remedy : fault.hides) out.hides.push_back(with_dates(remedy));
}

static void take(const Ranking& ranking, Explanation& out) {
  out.categories = ranking.categories;
  out.confidence = ranking.confidence;
  out.second = ranking.second;
  out.scores = ranking.scores;
  out.signs = ranking.signs;
}

// Whether the text's LibTorch has not yet the kernel that it misses; nothing where one of the two
// is not known.
static std::optional<bool> is_older(std::string_view torch_version,
                                    const std::optional<KernelReading>& kernel) {
  const auto version = parse_minor(torch_version);
  const auto since = kernel ? parse_minor(kernel->since.first) : std::nullopt;
  if (!version || !since) return std::nullopt;
  return *version < *since;
}

static Explanation explain(const Sighting& sighting, uint64_t size_bytes,
                           std::string_view torch_version) {
  const Message& message = messages()[sighting.message];
  Explanation out{.message = sighting.sentence,
                  .line = sighting.line,
                  .count = sighting.count,
                  .is_symptom = message.is_symptom,
                  .dtypes = dtypes_of(sighting),
                  .operands = operands_of(sighting),
                  .meaning = with_dates(message.meaning),
                  .versions = with_dates(message.versions),
                  .frames = frames_beside(sighting, size_bytes)};
  for (const std::string& op : message.ops) out.ops.push_back(with_dates(op));
  std::optional<KernelReading> kernel;
  if (message.family == Family::kKernel) {
    kernel = judge_kernel(sighting.holes[0], sighting.holes[1], dtype_of(sighting.holes[1]));
    out.ops.push_back(printable(kernel->op) + ": " + out.dtypes.back());  // the log's own name
    out.versions = kernel->since.sentence;
    out.is_missing_kernel = true;
  }
  const Evidence evidence{message,
                          sighting,
                          out.dtypes,
                          kernel,
                          surroundings(sighting, size_bytes),
                          innermost(out.frames)};
  take(rank(evidence), out);
  add_causes({message.id, sighting.normal, evidence.surroundings.words() + " " + evidence.innermost,
              evidence.surroundings.environment(), is_older(torch_version, kernel)},
             out);
  return out;
}

// A sentence of that form about something else than a dtype ("not implemented for 'Windows'").
static bool is_about_dtypes(const Sighting& sighting) {
  const Message& message = messages()[sighting.message];
  if (message.family == Family::kKernel)
    return sighting.holes.size() == 2 && dtype_of(sighting.holes[1]).has_value();
  return message.least_dtypes == 0 || dtypes_in_holes(sighting).size() >= message.least_dtypes;
}

// "RuntimeError: …" in the text's lines, the last one; empty where there is none.
static std::string_view last_error_line(std::string_view text) {
  std::string_view found;
  while (!text.empty()) {
    const std::string_view line = next_piece(text, '\n');
    if (line.find("Error") != std::string_view::npos ||
        line.find("Exception") != std::string_view::npos)
      found = line;
  }
  return found;
}

// An error that is in no table, whose line names dtypes or is put as errors about dtypes are.
static std::optional<Explanation> explain_unknown(std::string_view text) {
  const std::string_view line = last_error_line(text);
  const std::string line_text = normal_text(line);
  const NamedDtypes named = dtypes_in(line);
  const UnknownKind* kind = unknown_kind_of(line_text, named.certain.size(), named.all.size());
  const std::vector<Dtype>& dtypes = kind && kind->least_named > 0 ? named.all : named.certain;
  if (!kind || (dtypes.empty() && !speaks_of_dtypes(line_text))) return std::nullopt;
  const bool is_certain = !dtypes.empty() || (!kind->words.empty() && names_dtypes(line_text));
  const ReadText read(text);
  std::vector<TracebackFrame> frames = frames_of(text);
  Explanation out;
  for (Dtype dtype : dtypes) out.dtypes.push_back(dtype_name(dtype));
  const Ranking ranking = rank_unknown(*kind, read, innermost(frames), out.dtypes, is_certain);
  if (ranking.categories.empty()) return std::nullopt;
  out.message = line;
  out.line = 1 + static_cast<uint64_t>(
                     std::count(text.begin(), text.begin() + (line.data() - text.data()), '\n'));
  out.meaning = dtypes.empty() ? "This message is not known."
                               : fmt::format("This message is not known. It names {}.",
                                             fmt::join(out.dtypes, " and "));
  out.frames = std::move(frames);
  take(ranking, out);
  add_causes({"words", "", read.words() + " " + innermost(out.frames), read.environment(), {}},
             out);
  return out;
}

static Answer explain_prose(const LogScanner& scanner) {
  Answer answer;
  const ReadText read(scanner.short_text());
  const std::string& text = read.words();
  for (const OtherError& other : other_errors()) {
    const bool named = std::ranges::any_of(other.texts, [&](std::string_view phrase) {
      return text.find(phrase) != std::string::npos;
    });
    if (!named) continue;
    answer.other_error = other.what;
    break;
  }
  const bool is_another = answer.other_error == "another error";
  if (!answer.other_error.empty() && !is_another && !is_silent_fault(text)) return answer;
  std::optional<Explanation> unknown = explain_unknown(scanner.short_text());
  const Ranking ranking = scanner.size_bytes() > kReport ? Ranking{} : rank_prose(read);
  if (unknown) {
    answer.errors.push_back(std::move(*unknown));
  } else if (!ranking.categories.empty()) {
    Explanation& out = answer.errors.emplace_back();
    take(ranking, out);
    out.meaning = fault_of(out.categories.front()).meaning;
    add_causes({"words", "", text, read.environment(), {}}, out);
  }
  if (!answer.errors.empty()) answer.other_error.clear();
  return answer;
}

// A message that the beginning of the text has cut, and that stands whole below: the title of a
// paste, of which the first letters are lost.
static bool is_cut(const Sighting& sighting, const std::vector<Sighting>& all) {
  return sighting.begin == 0 && std::ranges::any_of(all, [&](const Sighting& other) {
           return other.message == sighting.message &&
                  other.normal.size() > sighting.normal.size() &&
                  other.normal.ends_with(sighting.normal);
         });
}

// Of two messages that share a place the one that the table has first is meant: it says more.
static std::vector<const Sighting*> distinct(const std::vector<Sighting>& sightings) {
  std::vector<const Sighting*> in_table_order, out;
  for (const Sighting& sighting : sightings) in_table_order.push_back(&sighting);
  std::ranges::stable_sort(
      in_table_order, [](const Sighting* a, const Sighting* b) { return a->message < b->message; });
  for (const Sighting* sighting : in_table_order) {
    const auto overlaps = [&](const Sighting* other) {
      return other->begin < sighting->end && sighting->begin < other->end;
    };
    if (is_about_dtypes(*sighting) && !is_cut(*sighting, sightings) &&
        std::ranges::none_of(out, overlaps))
      out.push_back(sighting);
  }
  std::ranges::stable_sort(
      out, [](const Sighting* a, const Sighting* b) { return a->begin < b->begin; });
  return out;
}

static bool stands_alone(const Sighting& sighting, const std::vector<const Sighting*>& all) {
  const auto on_its_line = [&](const Sighting* other) { return other->line == sighting.line; };
  return sighting.text.size() <= kShownLine && std::ranges::count_if(all, on_its_line) == 1;
}

// What was run, by the traceback: the script whose module level is its outermost frame.
static std::string command_of(const std::vector<Explanation>& errors) {
  for (const Explanation& error : errors) {
    if (error.frames.empty()) continue;
    const TracebackFrame& outermost = error.frames.front();
    if (outermost.function == "<module>" && !is_library(outermost) &&
        outermost.file.find(' ') == std::string::npos)
      return "python " + outermost.file;
  }
  return "";
}

Answer explain(const LogScanner& scanner) {
  Answer answer;
  const std::vector<const Sighting*> sightings = distinct(scanner.sightings());
  for (const Sighting* sighting : sightings) {
    answer.errors.push_back(explain(*sighting, scanner.size_bytes(), scanner.torch_version()));
    if (stands_alone(*sighting, sightings)) answer.errors.back().message = sighting->text;
  }
  if (answer.errors.empty()) answer = explain_prose(scanner);
  std::ranges::stable_sort(answer.errors, [](const Explanation& a, const Explanation& b) {
    return a.is_symptom < b.is_symptom;
  });
  answer.torch_version = scanner.torch_version();
  answer.command = scanner.command().empty() ? command_of(answer.errors) : scanner.command();
  answer.size_bytes = scanner.size_bytes();
  return answer;
}

}  // namespace dtypecheck::explain
