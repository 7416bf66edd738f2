#include "cli/pretended_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "platform/error.h"
#include "platform/install_paths.h"

namespace dtypecheck::cli {

namespace {

struct PretendedDevice {
  const char *key, *short_name, *name;
  int sm, multiprocessors;
  double memory_gb;
  int shared_kb, l2_mb, bus_bits;

  std::string capability() const { return fmt::format("sm_{}", sm); }
};
constexpr PretendedDevice kDevices[] = {
#define DEVICE(...) {__VA_ARGS__},
#include "tracer/pretended/devices.inc"
#undef DEVICE
};

}  // namespace

std::vector<std::string> pretended_gpus() {
  std::vector<std::string> keys;
  for (const PretendedDevice& device : kDevices) keys.emplace_back(device.key);
  return keys;
}

std::vector<std::string> pretended_capabilities() {
  std::vector<std::string> found;
  for (const PretendedDevice& device : kDevices)
    if (found.empty() || found.back() != device.capability()) found.push_back(device.capability());
  return found;
}

std::string pretended_gpu_of(const std::string& capability) {
  for (const PretendedDevice& device : kDevices)
    if (device.capability() == capability) return device.key;
  return "";
}

static void add_preload_behind(Environment& environment, const std::string& library,
                               const std::string& link_folder) {
  const std::string path = preloadable(library, link_folder);
  for (std::string& entry : environment) {
    if (!entry.starts_with("LD_PRELOAD=")) continue;
    entry = fmt::format("{}:{}", entry, path);
    return;
  }
  environment.push_back("LD_PRELOAD=" + path);
}

// A library of the user's that is preloaded comes before the pretended ones, and would answer in
// their place.
static void refuse_other_drivers() {
  const char* preload = std::getenv("LD_PRELOAD");
  std::string_view rest = preload ? preload : "";
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(": ");
    const std::string_view path = rest.substr(0, end);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (const char* stem : {"libcuda.", "libcudart", "libnvidia-ml."})
      if (name.starts_with(stem))
        throw InputError(fmt::format(
            "LD_PRELOAD: {} would answer before the pretended GPU; leave it out", path));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
}

void pretend_gpu(Environment& environment, const std::string& gpu, unsigned count, uint64_t bytes,
                 const std::string& link_folder) {
  refuse_other_drivers();
  const std::string libraries = pretended_folder();
  add_preload_behind(environment, libraries + "/libcuda.so.1", link_folder);
  add_preload_behind(environment, libraries + "/libnvidia-ml.so.1", link_folder);
  const char* search = std::getenv("LD_LIBRARY_PATH");  // for who looks before it opens
  set_variable(environment, "LD_LIBRARY_PATH",
               search && *search ? fmt::format("{}:{}", libraries, search) : libraries);
  set_variable(environment, "DTYPECHECK_PRETENDED_GPU", gpu);
  set_variable(environment, "DTYPECHECK_PRETENDED_GPUS", std::to_string(count));
  if (bytes > 0) set_variable(environment, "DTYPECHECK_PRETENDED_BYTES", std::to_string(bytes));
  unset_variable(environment, "CUDA_VISIBLE_DEVICES");  // it is about the GPUs of this machine
  // cuDNN's graphs of engines are asked for things that only it knows; its older functions are not.
  set_variable(environment, "TORCH_CUDNN_V8_API_DISABLED", "1");
}

}  // namespace dtypecheck::cli
