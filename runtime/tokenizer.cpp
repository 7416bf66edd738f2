#include "runtime/tokenizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "platform/error.h"
#include "platform/files.h"
#include "runtime/json_file.h"

namespace dtypecheck::runtime {

static constexpr std::string_view kStart = "<|startoftext|>";
static constexpr std::string_view kEnd = "<|endoftext|>";
static constexpr std::string_view kEndOfWord = "</w>";
static constexpr size_t kMergesLimitBytes = 64 << 20;
static constexpr size_t kTextLimitBytes = 1 << 20;

static std::string utf8_of(int32_t code_point) {
  uint8_t bytes[4];
  const auto size = utf8proc_encode_char(code_point, bytes);
  return {reinterpret_cast<char*>(bytes), static_cast<size_t>(size)};
}

// The symbol that stands for a byte: itself where it is printable in Latin-1, else one above 255,
// so that no symbol is a space or a control character.
static std::array<std::string, 256> make_byte_symbols() {
  std::array<std::string, 256> symbols;
  int32_t next = 256;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    symbols[static_cast<size_t>(byte)] = utf8_of(printable ? byte : next++);
  }
  return symbols;
}

static const std::string& byte_symbol(char byte) {
  static const std::array<std::string, 256> symbols = make_byte_symbols();
  return symbols[static_cast<unsigned char>(byte)];
}

// ---- words

namespace {

enum class LetterKind { kLetter, kDigit, kSpace, kOther };

LetterKind kind_of(int32_t code_point) {
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return LetterKind::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return LetterKind::kDigit;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return LetterKind::kSpace;
    default:
      return (code_point >= 9 && code_point <= 13) || code_point == 0x85 ? LetterKind::kSpace
                                                                         : LetterKind::kOther;
  }
}

std::string canonical(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
  if (size < 0) throw InputError("the text is not UTF-8");
  return {reinterpret_cast<char*>(mapped), static_cast<size_t>(size)};
}

std::vector<int32_t> code_points_in_lower_case(const std::string& text) {
  std::vector<int32_t> out;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code_point;
    const auto size = utf8proc_iterate(at, left, &code_point);
    if (size <= 0) throw InputError("the text is not UTF-8");
    out.push_back(utf8proc_tolower(code_point));
    if (code_point == 0x130) out.back() = 'i', out.push_back(0x307);  // the one that becomes two
    at += size;
    left -= size;
  }
  return out;
}

// Code points that 's, 't, 're … take here; 0 where none of them begins.
size_t contraction_at(const std::vector<int32_t>& text, size_t at) {
  static constexpr std::u32string_view kContractions[] = {U"'s", U"'t",  U"'re", U"'ve",
                                                          U"'m", U"'ll", U"'d"};
  for (const std::u32string_view word : kContractions) {
    if (at + word.size() <= text.size() &&
        std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char32_t a, int32_t b) { return static_cast<int32_t>(a) == b; })) {
      return word.size();
    }
  }
  return 0;
}

// Where the word that begins here ends: a contraction, a run of letters, one digit, or a run of
// anything else but spaces.
size_t word_end(const std::vector<int32_t>& text, size_t at) {
  if (const size_t size = contraction_at(text, at)) return at + size;
  const LetterKind kind = kind_of(text[at]);
  size_t end = at + 1;
  if (kind == LetterKind::kDigit) return end;
  while (end < text.size() && kind_of(text[end]) == kind) ++end;
  return end;
}

}  // namespace

// ---- the tokenizer

void ClipTokenizer::add_merge(const std::string& left, const std::string& right) {
  merge_ranks_.emplace(std::pair(left, right), static_cast<int64_t>(merge_ranks_.size()));
}

// "a b": the space is the separator, as no symbol contains one.
static std::pair<std::string, std::string> split_merge(const std::string& path,
                                                       std::string_view line) {
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size()) {
    throw InputError(
        fmt::format("{}: expected two symbols a merge, got {} bytes without a space "
                    "between them",
                    path, line.size()));
  }
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

static std::unordered_map<std::string, int64_t> read_ids(const JsonObject& file,
                                                         const nlohmann::json& vocabulary) {
  if (!vocabulary.is_object()) file.fail("vocab", "expected an object of tokens and numbers");
  std::unordered_map<std::string, int64_t> ids;
  for (const auto& [token, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) {
      file.fail("vocab", "expected a number from 0 to 2147483647 for each token");
    }
    ids[token] = id.get<int64_t>();
  }
  return ids;
}

void ClipTokenizer::read_vocabulary(const std::string& folder) {
  if (is_file(folder + "/vocab.json")) {
    const JsonObject vocabulary = JsonObject::read(folder + "/vocab.json");
    ids_ = read_ids(vocabulary, vocabulary.json());
    const std::string path = folder + "/merges.txt";
    const std::string text = read_file(path, kMergesLimitBytes);
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      std::string_view line(text.data() + at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || (at == 0 && line.starts_with("#version"))) continue;
      const auto [left, right] = split_merge(path, line);
      add_merge(left, right);
    }
    return;
  }
  if (!is_file(folder + "/tokenizer.json")) {
    throw InputError(fmt::format("{}: has neither vocab.json nor tokenizer.json", folder));
  }
  const JsonObject file = JsonObject::read(folder + "/tokenizer.json");
  const nlohmann::json model = file.json().value("model", nlohmann::json::object());
  if (!model.is_object() || !model.contains("vocab") || !model.contains("merges") ||
      !model["merges"].is_array()) {
    file.fail("model", "expected an object with vocab and merges");
  }
  ids_ = read_ids(file, model["vocab"]);
  for (const nlohmann::json& merge : model["merges"]) {
    if (merge.is_string()) {  // before tokenizers 0.20
      const auto [left, right] = split_merge(file.path(), merge.get<std::string>());
      add_merge(left, right);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      add_merge(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      file.fail("merges", "expected pairs of symbols");
    }
  }
}

int64_t ClipTokenizer::id_of(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

// A special token stands as a text, or as an object with its text under "content".
static std::string special_token(const JsonObject& config, const std::string& key,
                                 std::string_view otherwise) {
  const auto found = config.json().find(key);
  if (found != config.json().end() && found->is_object()) {
    const auto content = found->find("content");
    if (content == found->end() || !content->is_string()) config.fail(key, "has no content");
    return content->get<std::string>();
  }
  return config.text_or(key, std::string(otherwise));
}

ClipTokenizer::ClipTokenizer(const std::string& folder) {
  read_vocabulary(folder);
  const JsonObject config = JsonObject::read(folder + "/tokenizer_config.json");
  length_ = config.integer_or("model_max_length", 77, 2, 1 << 16);
  const auto special = [&](const std::string& key, std::string_view otherwise) {
    const std::string token = special_token(config, key, otherwise);
    const int64_t id = id_of(token);
    if (id < 0) config.fail(key, "is not in the vocabulary");
    return id;
  };
  start_ = special("bos_token", kStart);
  end_ = special("eos_token", kEnd);
  pad_ = special("pad_token", kEnd);
  unknown_ = special("unk_token", kEnd);
}

std::vector<int64_t> ClipTokenizer::encode(std::string_view text) const {
  if (text.size() > kTextLimitBytes) {
    throw InputError(
        fmt::format("a text of {} bytes, expected at most {}", text.size(), kTextLimitBytes));
  }
  std::vector<int64_t> ids = {start_};
  while (!text.empty()) {  // the two tokens may be written in the text
    const size_t start = text.find(kStart), end = text.find(kEnd);
    const size_t at = std::min({start, end, text.size()});
    append_text(text.substr(0, at), ids);
    if (at == text.size()) break;
    ids.push_back(start < end ? start_ : end_);
    text.remove_prefix(at + (start < end ? kStart : kEnd).size());
  }
  const auto longest = static_cast<size_t>(length_);
  ids.resize(std::min(ids.size(), longest - 1));
  ids.push_back(end_);
  ids.resize(longest, pad_);
  return ids;
}

void ClipTokenizer::append_text(std::string_view text, std::vector<int64_t>& ids) const {
  const std::vector<int32_t> points = code_points_in_lower_case(canonical(text));
  for (size_t at = 0, end; at < points.size(); at = end) {
    end = word_end(points, at);
    if (kind_of(points[at]) == LetterKind::kSpace) continue;
    std::string word;
    for (size_t i = at; i < end; ++i) word += utf8_of(points[i]);
    append_word(word, ids);
    if (ids.size() >= static_cast<size_t>(length_)) return;  // the rest is cut off anyway
  }
}

void ClipTokenizer::append_word(std::string_view word, std::vector<int64_t>& ids) const {
  // A word longer than this cannot fit whole; merging its symbols takes quadratic time.
  static constexpr size_t kLongestWordBytes = 4096;
  std::vector<std::string> symbols;
  for (const char byte : word.substr(0, kLongestWordBytes)) symbols.push_back(byte_symbol(byte));
  symbols.back() += kEndOfWord;
  while (symbols.size() > 1) {
    size_t best = 0;
    int64_t best_rank = INT64_MAX;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = merge_ranks_.find({symbols[i], symbols[i + 1]});
      if (found == merge_ranks_.end() || found->second >= best_rank) continue;
      best = i;
      best_rank = found->second;
    }
    if (best_rank == INT64_MAX) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  for (const std::string& symbol : symbols) {
    const int64_t id = id_of(symbol);
    ids.push_back(id < 0 ? unknown_ : id);
  }
}

void write_byte_tokenizer(const std::string& folder) {
  nlohmann::json vocabulary = nlohmann::json::object();
  const auto add = [&](const std::string& token) { vocabulary.emplace(token, vocabulary.size()); };
  for (const char* ending : {"", kEndOfWord.data()}) {
    for (int byte = 0; byte < 256; ++byte) add(byte_symbol(static_cast<char>(byte)) + ending);
  }
  add(std::string(kStart));
  add(std::string(kEnd));
  const nlohmann::json config = {{"tokenizer_class", "CLIPTokenizer"},
                                 {"model_max_length", 77},
                                 {"bos_token", kStart},
                                 {"eos_token", kEnd},
                                 {"unk_token", kEnd},
                                 {"pad_token", kEnd}};
  replace_file(folder + "/vocab.json", {vocabulary.dump()});
  replace_file(folder + "/merges.txt", {"#version: 0.2\n"});
  replace_file(folder + "/tokenizer_config.json", {config.dump()});
}

}  // namespace dtypecheck::runtime
