// room.h: memory that a thread keeps for its next operation: fresh pages cost more than what is
// done with them. Not cleared; of a whole cache line.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace dtypecheck::kernels {

class Room {
 public:
  float* reserve(size_t floats) {
    if (floats > size_) {
      numbers_.reset();
      size_ = 0;
      numbers_.reset(static_cast<float*>(::operator new(floats * sizeof(float), kAlignment)));
      size_ = floats;
    }
    return numbers_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<float, Free> numbers_;
  size_t size_ = 0;
};

}  // namespace dtypecheck::kernels
