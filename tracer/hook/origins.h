// origins.h: hot. Which signature gave a tensor its dtype, by the identity of its storage.
//
// A view shares its base's storage, so views need no entry of their own, but for one in another
// dtype, as view_as_real() gives. A storage's address is
// used again as soon as it is freed; a digest of the data pointer and the dtype is kept beside it
// and must agree, so that what an untracked creation (numpy, mmap'ed files) put at the same address
// is not given a wrong origin.
//
// Four ways a set, which is a cache line. In a full set the way of the youngest signature makes
// room. Training makes its activations anew in each step, and their entries with them; parameters
// are made once, before, by signatures whose ids are smaller, and are asked for as long as the
// program runs. Taking turns would lose a part of them in the first step.
//
// Threads may write one entry at once: a checksum tells a torn entry, which counts as unknown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtypecheck::tracer {

class Origins {
 public:
  void set(const void* storage, const void* data, uint8_t dtype, uint32_t signature) {
    Set& set = sets_[index_of(storage)];
    Way* entry = nullptr;
    for (Way& way : set.ways) {
      if (way.what.load(std::memory_order_relaxed) >> kDigestBits != word(storage)) continue;
      if (entry) way.what.store(0, std::memory_order_relaxed);  // of a view in another dtype
      if (!entry) entry = &way;
    }
    write(entry ? *entry : way_for_new(set), what_of(storage, data, dtype), signature);
  }

  // A view in another dtype than its base: the base keeps its own origin.
  void set_view(const void* storage, const void* data, uint8_t dtype, uint32_t signature) {
    Set& set = sets_[index_of(storage)];
    const uint64_t what = what_of(storage, data, dtype);
    for (Way& way : set.ways)
      if (way.what.load(std::memory_order_relaxed) == what) return write(way, what, signature);
    write(way_for_new(set), what, signature);
  }

  // The signature, or 0.
  uint32_t find(const void* storage, const void* data, uint8_t dtype) const {
    const uint64_t what = what_of(storage, data, dtype);
    for (const Way& way : sets_[index_of(storage)].ways) {
      if (way.what.load(std::memory_order_relaxed) != what) continue;
      const uint64_t value = way.value.load(std::memory_order_relaxed);
      const auto signature = static_cast<uint32_t>(value >> 32);
      return static_cast<uint32_t>(value) == check_of(what, signature) ? signature : 0;
    }
    return 0;
  }

  // Only while no other thread runs: after fork the ids of the parent's file mean nothing.
  void clear() {
    for (Set& set : sets_)
      for (Way& way : set.ways) way.what.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kWays = 4, kSets = 1 << 13;
  static constexpr int kDigestBits =
      20;  // an address has 48 bits, the lowest four of which are zero
  struct Way {
    std::atomic<uint64_t> what{0}, value{0};
  };
  struct alignas(64) Set {
    Way ways[kWays];
  };
  static void write(Way& way, uint64_t what, uint32_t signature) {
    way.what.store(what, std::memory_order_relaxed);
    way.value.store(uint64_t{signature} << 32 | check_of(what, signature),
                    std::memory_order_relaxed);
  }
  static uint64_t word(const void* storage) {
    return reinterpret_cast<uint64_t>(storage) << 16 >> kDigestBits;
  }
  static uint64_t what_of(const void* storage, const void* data, uint8_t dtype) {
    const uint64_t digest =
        (reinterpret_cast<uint64_t>(data) + dtype) * 0x9E3779B97F4A7C15ull >> (64 - kDigestBits);
    return word(storage) << kDigestBits | digest;
  }
  static uint32_t check_of(uint64_t what, uint32_t signature) {
    return static_cast<uint32_t>((what ^ signature) * 0xD6E8FEB86659FD93ull >> 32);
  }
  static size_t index_of(const void* storage) {
    return (reinterpret_cast<uint64_t>(storage) >> 4) * 0x9E3779B97F4A7C15ull >> 40 & (kSets - 1);
  }

  // An empty way, or that of the youngest signature. Two threads may choose the same one.
  static Way& way_for_new(Set& set) {
    Way* chosen = &set.ways[0];
    uint64_t youngest = 0;
    for (Way& way : set.ways) {
      if (way.what.load(std::memory_order_relaxed) == 0) return way;
      const uint64_t value = way.value.load(std::memory_order_relaxed);
      if (value < youngest) continue;
      youngest = value;
      chosen = &way;
    }
    return *chosen;
  }

  Set sets_[kSets];
};

}  // namespace dtypecheck::tracer
