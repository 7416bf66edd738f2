// origins.h: hot. Which signature gave a tensor its dtype, by the identity of its storage.
//
// A view shares its base's storage, so views need no entry of their own. A storage's address is used again as soon as it is
// freed; the data pointer and the dtype are kept beside it and must agree, so that what an untracked creation
// (numpy, mmap'ed files) put at the same address is not given a wrong origin. Four ways a set, round-robin eviction.
// Threads may write one entry at once: a checksum tells a torn entry, which counts as unknown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtypecheck {
namespace tracer {

class Origins {
 public:
  void set(const void* storage, const void* data, uint8_t dtype, uint32_t signature) {
    Entry* set = set_of(storage);
    const uint64_t key = reinterpret_cast<uint64_t>(storage);
    Entry* entry = nullptr;
    for (size_t way = 0; way < kWays && !entry; ++way)
      if (set[way].storage.load(std::memory_order_relaxed) == key) entry = &set[way];
    if (!entry) entry = &set[turn_.fetch_add(1, std::memory_order_relaxed) & (kWays - 1)];
    const uint64_t address = reinterpret_cast<uint64_t>(data);
    const uint64_t value = uint64_t{signature} << 8 | dtype;
    entry->storage.store(key, std::memory_order_relaxed);
    entry->data.store(address, std::memory_order_relaxed);
    entry->value.store(value, std::memory_order_relaxed);
    entry->check.store(key ^ address ^ value, std::memory_order_relaxed);
  }

  // The signature, or 0.
  uint32_t find(const void* storage, const void* data, uint8_t dtype) const {
    const Entry* set = set_of(storage);
    const uint64_t key = reinterpret_cast<uint64_t>(storage);
    for (size_t way = 0; way < kWays; ++way) {
      if (set[way].storage.load(std::memory_order_relaxed) != key) continue;
      const uint64_t address = set[way].data.load(std::memory_order_relaxed);
      const uint64_t value = set[way].value.load(std::memory_order_relaxed);
      if (set[way].check.load(std::memory_order_relaxed) != (key ^ address ^ value)) return 0;
      if (address != reinterpret_cast<uint64_t>(data) || (value & 0xff) != dtype) return 0;
      return static_cast<uint32_t>(value >> 8);
    }
    return 0;
  }

  // Only while no other thread runs: after fork the ids of the parent's file mean nothing.
  void clear() {
    for (Entry& entry : entries_) entry.storage.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kWays = 4, kSets = 1 << 13;
  struct Entry {
    std::atomic<uint64_t> storage{0}, data{0}, value{0}, check{0};
  };
  static size_t index_of(const void* storage) {
    return ((reinterpret_cast<uint64_t>(storage) >> 4) * 0x9E3779B97F4A7C15ull >> 40 & (kSets - 1)) * kWays;
  }
  Entry* set_of(const void* storage) { return &entries_[index_of(storage)]; }
  const Entry* set_of(const void* storage) const { return &entries_[index_of(storage)]; }

  std::atomic<uint32_t> turn_{0};
  Entry entries_[kSets * kWays];
};

}  // namespace tracer
}  // namespace dtypecheck
