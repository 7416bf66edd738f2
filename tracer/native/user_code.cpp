#include "tracer/native/user_code.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/installed.h"

namespace dtypecheck::tracer::native {
namespace {

char g_program[PATH_MAX] = "";  // of /proc/self/exe
bool g_extensions_alone = false;

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Its lines are read from Python's own frames.
bool is_interpreter(const char* program) {
  const char* name = base_name(program);
  return starts_with(name, "python") && (name[6] == 0 || (name[6] >= '2' && name[6] <= '3'));
}

struct Lookup {
  uint64_t address;
  bool is_program;  // it is the first that dl_iterate_phdr names
  Mapping* mapping;
  bool found;
  Owner owner;
};

// By pip or with Python, or made by torch.compile.
bool is_installed(const char* path) {
  return dtypecheck::is_installed(std::string_view(path)) ||
         strstr(path, "/lib-dynload/") != nullptr || strstr(path, "torchinductor") != nullptr;
}

// The name of the program itself is empty, unless the loader was started by hand.
const char* path_of(const dl_phdr_info* info, bool is_program) {
  return is_program && info->dlpi_name[0] == 0 ? g_program : info->dlpi_name;
}

const ElfW(Phdr) * segment_at(const dl_phdr_info* info, uint64_t address) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD &&
        address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      return &segment;
    }
  }
  return nullptr;
}

void describe(const dl_phdr_info* info, const ElfW(Phdr) & segment, bool is_program, Mapping* out) {
  const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
  const uint64_t page_mask = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1;
  out->begin = begin & ~page_mask;
  out->end = (begin + segment.p_memsz + page_mask) & ~page_mask;
  out->file_offset = segment.p_offset & ~page_mask;
  char absolute[PATH_MAX];
  const char* path = path_of(info, is_program);
  if (path[0] != '/' && realpath(path, absolute) != nullptr) path = absolute;
  const size_t length = strlen(path);
  out->path[0] = 0;
  if (length < sizeof out->path) memcpy(out->path, path, length + 1);
}

int look_up(dl_phdr_info* info, size_t, void* argument);

// Stage 2 has no name to know it by: it is the library that this function lies in.
bool is_ours(const dl_phdr_info* info) {
  return segment_at(info, reinterpret_cast<uint64_t>(&look_up)) != nullptr;
}

int look_up(dl_phdr_info* info, size_t, void* argument) {
  Lookup& lookup = *static_cast<Lookup*>(argument);
  const bool is_program = lookup.is_program;
  lookup.is_program = false;
  const ElfW(Phdr)* segment = segment_at(info, lookup.address);
  if (segment == nullptr) return 0;
  lookup.found = true;
  const char* path = path_of(info, is_program);
  const bool is_python =
      is_program ? is_interpreter(path) : starts_with(base_name(path), "libpython");
  const bool is_user = is_program || (!is_ours(info) && is_user_file(path) &&
                                      !(g_extensions_alone && is_installed(path)));
  lookup.owner = is_python ? Owner::kInterpreter : is_user ? Owner::kUser : Owner::kLibrary;
  if (lookup.mapping != nullptr) describe(info, *segment, is_program, lookup.mapping);
  return 1;
}

bool needs_libtorch(const dl_phdr_info* info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = dynamic; entry && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  for (const ElfW(Dyn)* entry = dynamic; names && entry->d_tag != DT_NULL; ++entry) {
    const char* name = names + (entry->d_tag == DT_NEEDED ? entry->d_un.d_val : 0);
    if (starts_with(name, "libtorch") || starts_with(name, "libc10")) return true;
  }
  return false;
}

int find_extension(dl_phdr_info* info, size_t, void* first) {
  bool& is_program = *static_cast<bool*>(first);
  const char* path = info->dlpi_name;
  const bool is_candidate =
      !is_program && path[0] == '/' && is_user_file(path) && !is_installed(path) && !is_ours(info);
  is_program = false;
  return is_candidate && needs_libtorch(info);
}

}  // namespace

void count_extensions_alone() { g_extensions_alone = true; }

bool is_extension_loaded() {
  bool is_program = true;
  return dl_iterate_phdr(find_extension, &is_program) != 0;
}

void learn_program_path() {
  const ssize_t length = readlink("/proc/self/exe", g_program, sizeof g_program - 1);
  g_program[length > 0 ? length : 0] = 0;
}

// A return address may be the first byte after a function that ends with a call.
Owner owner_of(uint64_t return_address) {
  Lookup lookup = {return_address - 1, true, nullptr, false, Owner::kLibrary};
  dl_iterate_phdr(look_up, &lookup);
  return lookup.owner;
}

bool find_mapping(uint64_t address, Mapping* out) {
  Lookup lookup = {address, true, out, false, Owner::kLibrary};
  dl_iterate_phdr(look_up, &lookup);
  return lookup.found;
}

bool is_user_file(const char* path) {
  // A wheel's own folders: whatever lies there is LibTorch's or NVIDIA's.
  static const char* const kFolders[] = {"-packages/torch/", "-packages/nvidia/",
                                         "-packages/triton/"};
  for (const char* folder : kFolders) {
    if (strstr(path, folder) != nullptr) return false;
  }
  // As long as it takes to leave a user's library alone that begins alike (libm.so, libmymodel.so).
  static const char* const kNames[] = {
      // the C and C++ run time
      "ld-linux", "ld-musl", "ld.so", "linux-vdso", "libc.so", "libc-2", "libm.so", "libm-2",
      "libmvec", "libdl.so", "libdl-2", "libpthread", "librt.so", "librt-2", "libgcc_s",
      "libstdc++", "libc++.", "libc++abi", "libunwind.", "libgomp", "libomp.", "libomp5", "libiomp",
      "libtbb", "libasan", "libtsan", "libubsan", "liblsan", "libclang_rt", "libjemalloc",
      "libtcmalloc", "libmimalloc", "libz.so",
      // LibTorch and what it brings
      "libtorch.so", "libtorch_cpu", "libtorch_cuda", "libtorch_hip", "libtorch_xpu",
      "libtorch_python", "libtorch_global_deps", "libtorch_nvshmem", "libtorchvision",
      "libtorchaudio", "libc10", "libcaffe2", "libshm.so", "libfbgemm", "libXNNPACK", "libonnx",
      "libprotobuf", "libsleef", "libkineto", "libgloo", "libtensorpipe", "libmpi.so",
      // GPU
      "libcuda.so", "libcudart", "libcudadebugger", "libcudnn", "libcublas", "libcufft",
      "libcurand", "libcusolver", "libcusparse", "libcupti", "libnccl", "libnvrtc", "libnvJitLink",
      "libnvToolsExt", "libnvshmem", "libamdhip", "libhsa-",
      // maths
      "libmkl", "libdnnl", "libopenblas", "libblas", "liblapack", "libgfortran", "libquadmath",
      // Python, whose lines are read from its own frames, and us
      "libpython", "libdtypecheck"};
  const char* name = base_name(path);
  for (const char* known : kNames) {
    if (starts_with(name, known)) return false;
  }
  return true;
}

}  // namespace dtypecheck::tracer::native
