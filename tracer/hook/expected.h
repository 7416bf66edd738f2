// expected.h: hot. Training repeats itself: what came after an op call in the last step comes after
// it in this one.
//
// The table of signatures, its records and the table of sites are spread over megabytes, and each
// lookup of a step falls out of the cache before the next step comes. So each thread keeps, for
// each signature, what followed it last time, finds it there without a table, and meanwhile has the
// processor fetch what the one after that will need. A guess is only that: keys are compared.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "trace/format.h"
#include "tracer/hook/op_table.h"

namespace dtypecheck::tracer {

struct Expected {
  uint64_t key;
  uint64_t site_key;  // of the walk; 0 where the op has its place from what it was called by
  trace::SignatureRecord* signature;
  uint16_t id;  // the signature's, which is in the record, too, but that may be far
  uint16_t op;  // the op's number
  uint32_t site;
};

// One a thread. Its table is made of zeros; pages of signatures that never were are never touched.
class Expectations {
 public:
  bool make_table() {
    void* room = mmap(nullptr, kRoom * sizeof(Expected), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    table_ = guess_ = static_cast<Expected*>(room);
    return true;
  }

  // From another thread too: a guess that was zeroed is one that is wrong.
  void forget() {
    if (table_) madvise(table_, kRoom * sizeof(Expected), MADV_DONTNEED);
  }

  bool has_table() const { return table_; }
  Expected& guess() { return *guess_; }
  const OpInfo* next_op() const { return op_of(next_op_); }

  // The guess at the last call has become what that call really was. From here on the guess is what
  // came after such a call the last time; it is fetched, and so is what its own successor will
  // need.
  void advance(const Expected& call) {
    guess_ = &table_[call.id];
    const Expected& next = *guess_;
    next_op_ = next.op;
    next_signature_ = next.signature;
    fetch_next();
    __builtin_prefetch(&table_[next.id], 1);
  }

  // Again when an op ends: meanwhile it filled the caches with what is its own.
  void fetch_next() const {
    __builtin_prefetch(guess_, 1);
    __builtin_prefetch(op_of(next_op_));
    __builtin_prefetch(next_signature_, 1);
  }

  static void correct(Expected& guess, uint64_t key, trace::SignatureRecord* signature,
                      uint16_t op) {
    guess.key = key;
    guess.signature = signature;
    guess.id = static_cast<uint16_t>(signature->id < kRoom ? signature->id : 0);
    guess.op = op;
  }

 private:
  static constexpr uint32_t kRoom = 1 << 16;
  Expected* table_ = nullptr;  // by the id of a signature: what came after it
  Expected* guess_ = nullptr;
  trace::SignatureRecord* next_signature_ = nullptr;
  uint16_t next_op_ = 0;
};

}  // namespace dtypecheck::tracer
