#include "explain/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "explain/cause_table.h"
#include "explain/normal_text.h"
#include "explain/signal_table.h"

namespace dtypecheck::explain {

// The frames that threw say more than prose around them.
static constexpr double kFrameWeight = 1.2;
static constexpr double kFurtherWord = 0.35;    // of a signal, beside what the one before it added
static constexpr double kProseThreshold = 0.9;  // below it words alone are no answer
static constexpr double kNamed = 2.2;           // from here on a signal names the op that failed
static constexpr double kCircumstance = 0.5;    // what is left of autocast where the op is named
static constexpr double kAside = 0.4;           // of what stands around a sentence that says it all
static constexpr size_t kLeastAnswers = 3;

namespace {

// A phrase that stands in the text.
struct Word {
  const Signal* signal;
  std::string_view phrase;
  std::vector<Span> places;
};

bool holds(const Span& outer, const Span& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end &&
         outer.end - outer.begin > inner.end - inner.begin;
}

bool overlap(const Span& a, const Span& b) { return a.begin < b.end && b.begin < a.end; }

// What is read for signals.
struct Text {
  std::string_view words;
  unsigned families = 0;                               // signals beside one of these speak
  const std::vector<std::string>& dtypes = kNoDtypes;  // that the message names

  static inline const std::vector<std::string> kNoDtypes;
};

bool can_speak(const Signal& signal, const Text& text) {
  const auto is_named = [&](Dtype dtype) {
    return std::find(text.dtypes.begin(), text.dtypes.end(), dtype_name(dtype)) !=
           text.dtypes.end();
  };
  return (signal.families & text.families) && std::ranges::all_of(signal.dtypes, is_named) &&
         (signal.near.empty() || has_phrase(text.words, signal.near));
}

std::vector<Word> words_in(const Text& text) {
  std::vector<Word> words;
  for (const Signal& signal : signal_table().signals) {
    if (!can_speak(signal, text)) continue;
    for (std::string_view phrase : signal.words) {
      std::vector<Span> places = places_of(text.words, phrase);
      if (!places.empty()) words.push_back({&signal, phrase, std::move(places)});
    }
  }
  return words;
}

// "no half vae" is neither "no half" nor "vae".
void drop_parts_of_longer(std::vector<Word>& words) {
  const std::vector<Word> all = words;
  for (Word& word : words) {
    std::erase_if(word.places, [&](const Span& place) {
      return std::ranges::any_of(all, [&](const Word& other) {
        return std::ranges::any_of(other.places,
                                   [&](const Span& longer) { return holds(longer, place); });
      });
    });
  }
  std::erase_if(words, [](const Word& word) { return word.places.empty(); });
}

// For one category a place speaks once, for the signal that weighs most; each further word of a
// signal adds less than the one before.
void add_signals(Scores& scores, std::vector<Sign>& signs, const Text& text, double factor) {
  std::vector<Word> words = words_in(text);
  drop_parts_of_longer(words);
  std::ranges::stable_sort(
      words, [](const Word& a, const Word& b) { return a.signal->weight > b.signal->weight; });
  std::array<std::vector<Span>, kCategoryCount> taken;
  std::map<const Signal*, double> worth_of;
  for (const Word& word : words) {
    const auto category = static_cast<size_t>(word.signal->category);
    std::vector<Span>& of_category = taken[category];
    const bool is_counted = std::ranges::all_of(word.places, [&](Span place) {
      return std::ranges::any_of(of_category, [&](Span other) { return overlap(place, other); });
    });
    if (is_counted) continue;
    of_category.insert(of_category.end(), word.places.begin(), word.places.end());
    double& worth = worth_of.emplace(word.signal, word.signal->weight * factor).first->second;
    scores[category] += worth;
    signs.push_back({word.signal->category, worth, std::string(word.phrase), word.signal->line});
    worth *= kFurtherWord;
  }
}

}  // namespace

// Autocast and a plain mismatch are what there is to say when nothing more is known: where the op
// or its kind is named, they are the circumstances in which it failed.
static bool names_the_op(const Scores& scores) {
  using enum Category;
  const auto is_named = [&](Category category) {
    return scores[static_cast<size_t>(category)] >= kNamed;
  };
  constexpr Category kOps[] = {kExtension, kNorm,    kBackward, kAttention,
                               kPromotion, kCompile, kIndexPut};
  return std::ranges::any_of(kOps, is_named);
}

static void make_circumstances(Scores& scores) {
  for (Category category : {Category::kAutocast, Category::kInputWeight})
    scores[static_cast<size_t>(category)] *= kCircumstance;
}

static void defer_to_the_named(Scores& scores) {
  if (names_the_op(scores)) make_circumstances(scores);
}

static Ranking ranked(const Scores& scores, const Calibration& calibration) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  Ranking ranking{.scores = scores};
  if (order.empty()) return ranking;
  const auto beside_the_first = [&](double score) {
    return std::exp((score - scores[order[0]]) / calibration.temperature);
  };
  double sum = beside_the_first(calibration.unlisted);
  for (size_t i : order) {
    ranking.categories.push_back(static_cast<Category>(i));
    sum += beside_the_first(scores[i]);
  }
  const double trust = calibration.trust;
  if (order.size() > 1)
    ranking.second = std::round(100 * trust * beside_the_first(scores[order[1]]) / sum) / 100;
  ranking.confidence = std::round(100 * (trust / sum + (1 - trust) * calibration.usually)) / 100;
  return ranking;
}

// Autocast makes Half and BFloat16 alone: a Double that met a Float is none of its.
static bool is_of_dtypes(const Fault& fault, const std::vector<std::string>& dtypes) {
  const auto is_named = [&](Dtype dtype) {
    return std::find(dtypes.begin(), dtypes.end(), dtype_name(dtype)) != dtypes.end();
  };
  return fault.dtypes.empty() || dtypes.empty() || std::ranges::any_of(fault.dtypes, is_named);
}

static void drop_of_other_dtypes(Scores& scores, const std::vector<std::string>& dtypes) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!is_of_dtypes(fault_of(static_cast<Category>(i)), dtypes)) scores[i] = 0;
  }
}

// A first answer may be wrong, so there are always others to try.
static Ranking with_others(Ranking ranking, Family family, const std::vector<std::string>& dtypes) {
  for (Category category : signal_table().usual_of(family)) {
    std::vector<Category>& known = ranking.categories;
    if (known.size() >= kLeastAnswers) break;
    const bool is_new = std::find(known.begin(), known.end(), category) == known.end();
    if (is_new && is_of_dtypes(fault_of(category), dtypes)) known.push_back(category);
  }
  return ranking;
}

static Ranking with_signs(Ranking ranking, std::vector<Sign> signs) {
  ranking.signs = std::move(signs);
  return ranking;
}

// torch.where of LibTorch up to 1.11 has the sentence of typed pointers, and names dtypes as C++
// does (float), not as ScalarType does (Float).
static void add_spellings(Scores& scores, const Message& message, std::string_view sentence) {
  for (const Spelling& spelling : message.spelled) {
    const bool is_there = std::ranges::any_of(spelling.words, [&](const std::string& words) {
      return sentence.find(words) != std::string_view::npos;
    });
    if (is_there) scores[static_cast<size_t>(spelling.category)] += spelling.weight;
  }
}

Ranking rank(const Evidence& evidence) {
  const Message& message = evidence.message;
  Scores scores{};
  for (const auto& [category, weight] : message.leans)
    scores[static_cast<size_t>(category)] += weight;
  if (const auto& kernel = evidence.kernel)
    scores[static_cast<size_t>(kernel->category)] += kernel->weight;
  add_spellings(scores, message, evidence.sighting.sentence);
  const bool says_it_all = message.family == Family::kOwn;
  const unsigned family = bit_of(says_it_all ? Family::kMismatch : message.family) |
                          (message.is_vague ? bit_of(Family::kProse) : 0);
  const double factor = says_it_all ? kAside : 1;
  Scores of_frames{}, of_words{};
  std::vector<Sign> signs;
  const ReadText& around = evidence.surroundings;
  add_signals(of_words, signs, {around.words(), family, evidence.dtypes}, factor);
  if (says_it_all)
    add_signals(of_words, signs, {around.words(), bit_of(Family::kOwn), evidence.dtypes}, 1);
  add_signals(of_frames, signs, {evidence.innermost, family, evidence.dtypes},
              factor * kFrameWeight);
  for (Category category : message.never)
    of_words[static_cast<size_t>(category)] = of_frames[static_cast<size_t>(category)] = 0;
  for (Scores* part : {&scores, &of_words, &of_frames})
    drop_of_other_dtypes(*part, evidence.dtypes);
  // LibTorch's own kernels are no extension's, whatever uses them.
  if (evidence.kernel && evidence.kernel->weight > kUnknownKernel) {
    constexpr auto kOwner = static_cast<size_t>(Category::kExtension);
    of_words[kOwner] = of_frames[kOwner] = 0;
  }
  // Words may be about something else, the frames are where it failed.
  if (names_the_op(of_frames)) make_circumstances(scores);
  for (size_t i = 0; i < scores.size(); ++i) of_words[i] += of_frames[i];
  defer_to_the_named(of_words);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += of_words[i];
  return with_signs(
      with_others(ranked(scores, signal_table().of_messages), message.family, evidence.dtypes),
      std::move(signs));
}

bool names_dtypes(std::string_view text) { return has_phrase(text, signal_table().dtype_names); }

bool is_silent_fault(std::string_view text) {
  return has_phrase(text, signal_table().silence_words) && names_dtypes(text);
}

bool speaks_of_dtypes(std::string_view text) {
  return has_phrase(text, signal_table().dtype_words);
}

Ranking rank_prose(const ReadText& read) {
  const std::string& text = read.words();
  if (!has_phrase(text, signal_table().complaint_words) || !speaks_of_dtypes(text)) return {};
  Scores scores{};
  const bool is_silent = is_silent_fault(text);
  if (is_silent) {
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] = fault_of(static_cast<Category>(i)).silent;
  }
  std::vector<Sign> signs;
  add_signals(scores, signs, {text, bit_of(Family::kProse)}, 1);
  defer_to_the_named(scores);
  const bool is_known =
      is_silent || *std::max_element(scores.begin(), scores.end()) >= kProseThreshold;
  if (!is_known) return {};
  return with_signs(
      with_others(ranked(scores, signal_table().of_words), Family::kProse, Text::kNoDtypes),
      std::move(signs));
}

const UnknownKind* unknown_kind_of(std::string_view line, size_t certain, size_t named) {
  for (const UnknownKind& kind : unknown_kinds()) {
    if (certain >= kind.least_dtypes && named >= kind.least_named &&
        (kind.words.empty() || has_phrase(line, kind.words)))
      return &kind;
  }
  return nullptr;
}

Ranking rank_unknown(const UnknownKind& kind, const ReadText& text, std::string_view innermost,
                     const std::vector<std::string>& dtypes, bool is_certain) {
  Scores from_signals{};
  std::vector<Sign> signs;
  add_signals(from_signals, signs, {text.words(), bit_of(Family::kProse) | bit_of(kind.family)}, 1);
  add_signals(from_signals, signs, {innermost, bit_of(kind.family)}, kFrameWeight);
  const bool is_known =
      is_certain || *std::max_element(from_signals.begin(), from_signals.end()) >= kProseThreshold;
  if (!is_known) return {};
  Scores scores = from_signals;
  for (const auto& [category, weight] : kind.leans) scores[static_cast<size_t>(category)] += weight;
  drop_of_other_dtypes(scores, dtypes);
  defer_to_the_named(scores);
  return with_signs(with_others(ranked(scores, signal_table().of_words), kind.family, dtypes),
                    std::move(signs));
}

}  // namespace dtypecheck::explain
