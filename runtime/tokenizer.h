// tokenizer.h: CLIP's byte-pair tokenizer (Radford et al. 2021, section 2.4; Sennrich et al. 2016).
// Text is put in canonical form and lower case, cut into words, each word is written in 256 symbols
// that stand for bytes, and the pair of neighbours that was merged first in training is merged
// first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dtypecheck::runtime {

class ClipTokenizer {
 public:
  // vocab.json and merges.txt of the folder, or its tokenizer.json; and tokenizer_config.json.
  // Throws InputError.
  explicit ClipTokenizer(const std::string& folder);

  // Start token, the words, end token, padded (or cut, keeping the end token) to length().
  std::vector<int64_t> encode(std::string_view text) const;
  int64_t length() const { return length_; }

 private:
  void read_vocabulary(const std::string& folder);
  void add_merge(const std::string& left, const std::string& right);
  int64_t id_of(const std::string& token) const;
  void append_text(std::string_view text, std::vector<int64_t>& ids) const;
  void append_word(std::string_view word, std::vector<int64_t>& ids) const;

  std::unordered_map<std::string, int64_t> ids_;
  std::map<std::pair<std::string, std::string>, int64_t> merge_ranks_;
  int64_t start_, end_, pad_, unknown_, length_;
};

// vocab.json, merges.txt and tokenizer_config.json that know every byte and no word.
void write_byte_tokenizer(const std::string& folder);

}  // namespace dtypecheck::runtime
