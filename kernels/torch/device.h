// device.h: tensors on a GPU as kernels/ want them there: on their device, in the order of the
// stream that LibTorch works on, with room that its allocator gives. Compiled without CUDA: what
// there is of that is found in the process.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "kernels/device.h"
#include "kernels/torch/operators.h"

namespace dtypecheck::operators {

// The cudaStream_t of a stream. c10::Stream::native_handle() knows it in late versions only;
// c10::cuda::CUDAStream, which is a c10::Stream and no more, has in all of them a function that
// does.
inline void* cuda_stream(const c10::Stream& stream) {
  using Find = void* (*)(const c10::Stream*);
  static const auto find = [] {
    const char* const name = "_ZNK3c104cuda10CUDAStream6streamEv";
    void* found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
      if (void* const c10_cuda = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD))
        found = dlsym(c10_cuda, name);
    }
    return reinterpret_cast<Find>(found);
  }();
  TORCH_CHECK(find, "the CUDA streams of LibTorch ", TORCH_VERSION, " were not found");
  return find(&stream);
}

// For one operation on tensors that are where `like` is.
class OnDevice {
 public:
  explicit OnDevice(const at::Tensor& like) : options_(like.options().dtype(at::kByte)) {
    if (!like.is_cuda()) return;
    guard_.reset_device(like.device());
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    device_ = {cuda_stream(cuda.getStream(like.device())), room, this};
  }
  OnDevice(const OnDevice&) = delete;
  // Null: the processor.
  const kernels::Device* device() const { return device_.room ? &device_ : nullptr; }

 private:
  // Given back to LibTorch's allocator at the end, which hands it out again in the stream's order.
  static void* room(void* self, size_t bytes) {
    OnDevice& on = *static_cast<OnDevice*>(self);
    on.rooms_.push_back(at::empty({static_cast<int64_t>(bytes)}, on.options_));
    return on.rooms_.back().data_ptr();
  }

  at::TensorOptions options_;
  std::vector<at::Tensor> rooms_;
  c10::OptionalDeviceGuard guard_;
  kernels::Device device_;
};

}  // namespace dtypecheck::operators
