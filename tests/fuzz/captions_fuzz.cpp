// Any folder has captioned images or is an InputError, and each image of one has its path in it.
#include "runtime/captions.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFolder given(input, {"metadata.jsonl", "a.png", "a.txt", "b.JPG", "b.txt"});
  for (const auto& [path, caption] : runtime::read_captions(given.path(), ""))
    require(path.starts_with(given.path() + "/"));
}

}  // namespace dtypecheck::fuzz
