// device.h: where an operation runs whose numbers are in the memory of a GPU. Its arguments have a
// `device`, null where they are in the processor's; all their pointers are of one kind.
#pragma once

#include <cstddef>

namespace dtypecheck::kernels {

struct Device {
  void* stream = nullptr;  // a cudaStream_t of the current device; work is queued there, and the
                           // processor waits for none of it
  // So many bytes of the device's memory, aligned to 16, that may go once what is queued when the
  // operation returns is done.
  void* (*room)(void* context, size_t bytes) = nullptr;
  void* context = nullptr;
};

// The library of the kernels for a GPU is loaded.
bool has_device_kernels();

}  // namespace dtypecheck::kernels
