// expected.h: hot. Training repeats itself: what came after an op call in the last step comes after
// it in this one.
//
// The table of signatures, its records and the table of sites are spread over megabytes, and each
// lookup of a step falls out of the cache before the next step comes. So each thread keeps, for
// each signature, what followed it last time, finds it there without a table, and meanwhile has the
// processor fetch what the one after that will need. A guess is only that: keys are compared.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "core/trace_format.h"

namespace dtypecheck {
namespace tracer {

struct Expected {
  uint64_t key;
  uint64_t site_key;  // of the walk; 0 where the op has its place from what it was called by
  trace::SignatureRecord* signature;
  uint32_t id;  // the signature's, which is in the record, too, but that may be far
  uint32_t site;
};

// One a thread, made of zeros; pages of signatures that never were are never touched.
class Expectations {
 public:
  static Expectations* make() {
    return static_cast<Expectations*>(std::calloc(1, sizeof(Expectations)));
  }

  Expected& after_last() { return expected_[last_]; }

  void came(uint32_t id) {
    last_ = id < kRoom ? id : 0;
    const Expected& next = expected_[last_];
    if (!next.signature) return;
    __builtin_prefetch(&next.signature->count, 1);
    __builtin_prefetch(&expected_[next.id], 1);
  }

  static void correct(Expected& guess, uint64_t key, trace::SignatureRecord* signature) {
    guess.key = key;
    guess.signature = signature;
    guess.id = signature->id < kRoom ? signature->id : 0;
  }

 private:
  static constexpr uint32_t kRoom = 1 << 16;
  uint32_t last_;
  Expected expected_[kRoom];
};

}  // namespace tracer
}  // namespace dtypecheck
