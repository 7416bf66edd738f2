// Any text is a lock or an InputError, and what was read is written so that it reads back as the
// same.
#include <cstdlib>

#include "reports/judging/lock_diff.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const judging::Lock lock = judging::parse_lock(input, "lock");
  const std::string text = judging::to_text(lock);
  if (judging::to_text(judging::parse_lock(text, "again")) != text) std::abort();
  judging::to_text(judging::diff_locks(lock, lock, "a", "b"), "a", "b", true);
}

}  // namespace dtypecheck::fuzz
