// Any folder is a tokenizer or an InputError, and a tokenizer gives as many tokens as it says for
// any text.
#include "runtime/tokenizer.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFolder given(input,
                          {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"});
  const runtime::ClipTokenizer tokenizer(given.path());
  const size_t at = input.find("== text\n");
  const std::string_view text = at == input.npos ? "a Photo of 12 cats'll" : input.substr(at + 8);
  const std::vector<int64_t> ids = tokenizer.encode(text);
  require(static_cast<int64_t>(ids.size()) == tokenizer.length());
  for (const int64_t id : ids) require(id >= 0);
}

}  // namespace dtypecheck::fuzz
