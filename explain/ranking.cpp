#include "explain/ranking.h"

#include <algorithm>
#include <cmath>

#include "explain/kernel_table.h"
#include "explain/normal_text.h"
#include "explain/signal_table.h"

namespace dtypecheck::explain {

static constexpr double kFrameWeight =
    1.2;  // the frames that threw say more than prose around them
static constexpr double kProseThreshold = 1.5;  // below it words alone are no answer
static constexpr double kNamed = 2.2;           // from here on a signal names the op that failed
static constexpr size_t kLeastAnswers = 3;
static constexpr double kCircumstance = 0.5;

static bool has_any(std::string_view text, const std::vector<std::string_view>& phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return has_phrase(text, phrase); });
}

static void add_signals(Scores& told, Family family, std::string_view text, double factor) {
  for (const Signal& signal : signals()) {
    if (!(signal.families & static_cast<unsigned>(family))) continue;
    if (!signal.beside.empty() && !has_any(text, signal.beside)) continue;
    // Each further phrase of a signal adds less than the one before.
    double worth = signal.weight * factor;
    for (std::string_view phrase : signal.phrases) {
      if (!has_phrase(text, phrase)) continue;
      told[static_cast<size_t>(signal.category)] += worth;
      worth *= 0.35;
    }
  }
}

// Autocast and a plain mismatch are what there is to say when nothing more is known: where the op
// or its kind is named, they are the circumstances in which it failed.
static void defer_to_the_named(Scores& told) {
  using enum Category;
  double named = 0;
  for (Category category :
       {kExtension, kNorm, kBackward, kAttention, kPromotion, kCompile, kIndexPut})
    named = std::max(named, told[static_cast<size_t>(category)]);
  if (named < kNamed) return;
  for (Category category : {kAutocast, kInputWeight})
    told[static_cast<size_t>(category)] *= kCircumstance;
}

static Ranking ranked(const Scores& scores) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  Ranking ranking;
  double sum = 0;
  for (size_t i : order) {
    ranking.categories.push_back(static_cast<Category>(i));
    sum += std::exp(scores[i] - scores[order[0]]);
  }
  if (!order.empty()) ranking.confidence = std::round(100 / sum) / 100;
  return ranking;
}

// The commonest faults behind messages of a kind.
static std::vector<Category> usual_faults(Family family, bool is_silent) {
  using enum Category;
  switch (family) {
    case Family::kKernel:
      return {kCpuHalf, kLibraryLimits, kExtension};
    case Family::kOptimizer:
      return {kOptimizerState, kGradScaler, kLoading};
    case Family::kValues:
      return {kOverflowNan, kOptimizerState, kAutocast};
    case Family::kProse:
      if (is_silent) return {kOverflowNan, kOptimizerState, kAutocast};
      return {kInputWeight, kAutocast, kLibraryLimits};
    case Family::kMismatch:
      return {kInputWeight, kAutocast, kExtension};
    case Family::kOwn:
      return {kInputWeight, kAutocast, kPromotion};
  }
  return {};
}

// A first answer may be wrong, so there are always others to try.
static Ranking with_others(Ranking ranking, Family family, bool is_silent) {
  for (Category category : usual_faults(family, is_silent)) {
    std::vector<Category>& known = ranking.categories;
    if (known.size() >= kLeastAnswers) break;
    if (std::find(known.begin(), known.end(), category) == known.end()) known.push_back(category);
  }
  return ranking;
}

// Typed pointers name dtypes as ScalarType does (Float, Half). torch.where of LibTorch up to 1.11
// has the same sentence and names them as C++ does.
static bool is_said_by_where(const Message& message, const Sighting& sighting) {
  if (std::string_view(message.id) != "scalar-type") return false;
  for (std::string_view name : {"type float", "type double", "type c10::", "type long long"}) {
    if (sighting.sentence.find(name) != std::string::npos) return true;
  }
  return false;
}

Ranking rank(const Message& message, const Sighting& sighting, std::string_view surroundings,
             std::string_view innermost) {
  Scores scores{};
  for (const auto& [category, weight] : message.leans)
    scores[static_cast<size_t>(category)] += weight;
  if (message.family == Family::kKernel && sighting.holes.size() == 2) {
    const KernelVerdict verdict = judge_kernel(sighting.holes[0], sighting.holes[1]);
    scores[static_cast<size_t>(verdict.category)] += verdict.weight;
  }
  if (is_said_by_where(message, sighting)) scores[static_cast<size_t>(Category::kPromotion)] += 4;
  Scores told{};
  add_signals(told, message.family, surroundings, 1);
  add_signals(told, message.family, innermost, kFrameWeight);
  defer_to_the_named(told);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += told[i];
  return with_others(ranked(scores), message.family, false);
}

// How common each of them is among faults that raise nothing, for when little else is said.
static constexpr std::pair<Category, double> kSilentFaults[] = {
    {Category::kOverflowNan, 0.8},
    {Category::kOptimizerState, 0.5},
    {Category::kAutocast, 0.5},
    {Category::kLoading, 0.3},
};

bool is_silent_fault(std::string_view text) {
  return has_any(text, silence_words()) && has_any(text, dtype_names());
}

Ranking rank_prose(std::string_view text) {
  if (!has_any(text, complaint_words()) || !has_any(text, dtype_words())) return {};
  Scores scores{};
  const bool is_silent = is_silent_fault(text);
  if (is_silent) {
    for (const auto& [category, weight] : kSilentFaults)
      scores[static_cast<size_t>(category)] = weight;
  }
  add_signals(scores, Family::kProse, text, 1);
  defer_to_the_named(scores);
  const bool is_known =
      is_silent || *std::max_element(scores.begin(), scores.end()) >= kProseThreshold;
  return is_known ? with_others(ranked(scores), Family::kProse, is_silent) : Ranking{};
}

}  // namespace dtypecheck::explain
