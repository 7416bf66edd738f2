#include "runtime/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <regex>

#include "platform/error.h"

namespace dtypecheck::runtime {

static void load_cuda(const std::string& name) {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) return;
  throw InputError(
      fmt::format("--device {}: this LibTorch comes without CUDA: {}", name, dlerror()));
}

at::Device find_device(const std::string& name) {
  static const std::regex known("cpu|cuda(:[0-9]{1,2})?");
  if (!std::regex_match(name, known)) {
    throw InputError(
        fmt::format("--device {}: expected cpu, cuda, or cuda:1 for the second", name));
  }
  if (name == "cpu") return at::kCPU;
  load_cuda(name);
  if (!at::globalContext().hasCUDA()) {
    throw InputError(fmt::format(
        "--device {}: LibTorch finds no CUDA device here; is there one, and a driver?", name));
  }
  return at::Device(name);
}

}  // namespace dtypecheck::runtime
