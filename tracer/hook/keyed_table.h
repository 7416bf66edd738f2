// keyed_table.h: hot. 64-bit keys to pointers or numbers; found without a lock, filled once, never
// emptied but by fork. No allocation: the slots are part of the object, and pages that no key fell
// into are never touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtypecheck::tracer {

// Value{} means "absent", so it cannot be stored. A key of 0 is never found.
template <typename Value, size_t kSlots>
class KeyedTable {
  static_assert((kSlots & (kSlots - 1)) == 0, "a power of two");

 public:
  Value find(uint64_t key) const {
    for (size_t i = home(key), probes = 0; probes < kProbes; i = (i + 1) & (kSlots - 1), ++probes) {
      const uint64_t found = slots_[i].key.load(std::memory_order_acquire);
      if (found == key) return slots_[i].value.load(std::memory_order_acquire);
      if (found == 0) return Value{};
    }
    return Value{};
  }

  // False when another thread was faster or there is no room: the caller's value is then of no use.
  bool insert(uint64_t key, Value value) {
    for (size_t i = home(key), probes = 0; probes < kProbes; i = (i + 1) & (kSlots - 1), ++probes) {
      uint64_t found = 0;
      if (slots_[i].key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) {
        slots_[i].value.store(value, std::memory_order_release);
        used_.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      if (found == key) return false;
    }
    return false;
  }

  // False when it is so full that an insert may fail: what is not kept is then not worth working
  // out either.
  bool has_room() const { return used_.load(std::memory_order_relaxed) < kSlots / 4 * 3; }

  // Only while no other thread runs: after fork, in the child.
  void clear() {
    used_.store(0, std::memory_order_relaxed);
    for (Slot& slot : slots_) {
      if (slot.key.load(std::memory_order_relaxed) == 0) continue;
      slot.key.store(0, std::memory_order_relaxed);
      slot.value.store(Value{}, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr size_t kProbes = 64;
  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<Value> value{};
  };
  static size_t home(uint64_t key) { return (key * 0x9E3779B97F4A7C15ull) >> 20 & (kSlots - 1); }

  std::atomic<uint32_t> used_{0};
  Slot slots_[kSlots];
};

// One step of the hash that makes keys; a bijection in either argument. The first is multiplied
// before the second comes in: with a plain exclusive or, the small ids of (file 5, function 6) and
// (file 6, function 5) were one key, and so were op A inside op B and op B inside op A.
inline uint64_t mix(uint64_t h, uint64_t word) {
  h = h * 0xD6E8FEB86659FD93ull + word;
  h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 29);
}

}  // namespace dtypecheck::tracer
