#include "tracer/keep_going/kernels.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tracer/hook/tracer.h"
#include "tracer/keep_going/python_side.h"

extern char** environ;

namespace dtypecheck::tracer::keep_going {
namespace {

// clang-format off
constexpr KernelForm kForms[] = {
    {"aten::linear",            "dtypecheck::linear",      3},
    {"aten::matmul",            "dtypecheck::matmul",      2},
    {"aten::mm",                "dtypecheck::matmul",      2},
    {"aten::bmm",               "dtypecheck::matmul",      2},
    {"aten::addmm",             "dtypecheck::matmul",      0, KernelForm::kAddsProduct},
    {"aten::conv2d",            "dtypecheck::conv2d",      7},
    {"aten::rms_norm",          "dtypecheck::rms_norm",    4},
    {"aten::native_layer_norm", "dtypecheck::native_norm", 0, KernelForm::kLayerNorm},
    {"aten::native_group_norm", "dtypecheck::native_norm", 0, KernelForm::kGroupNorm},
};
// clang-format on

bool is_there() {
  return c10::Dispatcher::singleton().findSchema({"dtypecheck::native_norm", ""}).has_value();
}

// What build-hook --operators prints, a path a line; empty where it has said on stderr why there is
// none.
std::vector<std::string> ask_for_libraries(const char* exe, bool of_cuda) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> environment;
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) environment.push_back(*variable);
  environment.push_back(nullptr);
  const char* arguments[] = {exe,
                             "build-hook",
                             "--operators",
                             "--libtorch",
                             tracer.stage1->libtorch_path,
                             of_cuda ? "--cuda" : nullptr,
                             nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, exe, &actions, nullptr, const_cast<char**>(arguments),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got; error == 0 && (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0)
      said.append(buffer, static_cast<size_t>(got));
    else if (errno != EINTR)
      break;
  }
  close(ends[0]);
  if (error != 0) return {};
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::vector<std::string> lines;
  for (size_t first = 0, end; (end = said.find('\n', first)) != std::string::npos; first = end + 1)
    lines.push_back(said.substr(first, end - first));
  return lines;
}

// What an op without arguments says.
bool says(const char* name) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
  torch::jit::Stack stack;
  if (op) op->callBoxed(&stack);
  return !stack.empty() && stack[0].toBool();
}

bool load() {
  if (!is_there()) {
    const char* exe = std::getenv("DTYPECHECK_EXE");
    const auto paths = exe ? ask_for_libraries(exe, false) : std::vector<std::string>();
    const std::string path = paths.empty() ? "" : paths[0];
    // LibTorch's symbols are global since stage 1 came.
    if (path.empty() || !dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const char* why = path.empty() ? nullptr : dlerror();
      tracer.stage1->complain(
          (std::string("--fix: no kernels for this LibTorch, so LibTorch's own ops are used") +
           (why ? std::string(": ") + why : ""))
              .c_str());
      return false;
    }
  }
  // A processor without vectors that convert Half would run the plain references.
  return is_there() && says("dtypecheck::has_vectors");
}

// Those for a GPU are a library of their own, which nvcc may have to compile.
bool load_for_gpu() {
  if (says("dtypecheck::has_device_kernels")) return true;
  const char* exe = std::getenv("DTYPECHECK_EXE");
  const auto paths = exe ? ask_for_libraries(exe, true) : std::vector<std::string>();
  if (paths.size() == 2 && !dlopen(paths[1].c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const char* why = dlerror();
    tracer.stage1->complain(
        (std::string("--fix: no kernels for the GPU, so LibTorch's own ops are used there: ") +
         (why ? why : paths[1]))
            .c_str());
  }
  return says("dtypecheck::has_device_kernels");
}

// At the first call that they are for; what a program loads itself is taken.
template <bool (*kLoad)()>
bool are_loaded(ThreadState* state) {
  static const bool loaded = [state] {
    const BusyScope ours(state);
    return kLoad();
  }();
  return loaded;
}

// Products on a GPU are LibTorch's own whichever way, with the casts that --fix makes.
bool is_norm(const KernelForm& form) { return std::strstr(form.kernel, "norm") != nullptr; }

bool is_on_gpu(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().is_cuda();
}

bool is_for_kernels(const c10::IValue& value, bool on_gpu) {
  if (!value.isTensor()) return true;
  const at::Tensor& t = value.toTensor();
  if (!t.defined()) return true;
  const c10::ScalarType type = t.scalar_type();
  return (on_gpu ? t.is_cuda() : t.device().is_cpu()) && t.layout() == c10::Layout::Strided &&
         !t.unsafeGetTensorImpl()->is_wrapped_number() &&
         (type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16 ||
          type == c10::ScalarType::Float);
}

bool is_one(const c10::IValue& value) { return value.isScalar() && value.toScalar().equal(1); }

bool adds_rows(const Call& call) {
  const auto& given = call.arguments;
  const at::Tensor &added = given[0].toTensor(), &right = given[2].toTensor();
  return added.defined() && added.dim() == 1 && right.dim() == 2 &&
         added.size(0) == right.size(1) && is_one(given[3]) && is_one(given[4]);
}

// native_norm's kinds.
constexpr int64_t kRowsNorm = 0, kGroupsNorm = 1;

// False: what is asked for the operator does not do.
bool arguments_of(const Call& call, const KernelForm& form, torch::jit::Stack& stack) {
  const auto& given = call.arguments;
  switch (form.how) {
    case KernelForm::kSame:
      stack.assign(given.begin(), given.begin() + form.taken);
      return true;
    case KernelForm::kAddsProduct:
      if (!adds_rows(call)) return false;
      stack = {given[1], given[2], given[0]};
      return true;
    case KernelForm::kLayerNorm: {  // input, normalized_shape, weight, bias, eps
      const at::Tensor& x = given[0].toTensor();
      int64_t cols = 1;
      for (const int64_t size : given[1].toIntVector()) cols *= size;
      const auto flat = [](const c10::IValue& t) {
        return t.isTensor() && t.toTensor().defined() ? c10::IValue(t.toTensor().reshape(-1)) : t;
      };
      if (x.numel() == 0) return false;
      stack = {x.reshape({x.numel() / cols, cols}),
               flat(given[2]),
               flat(given[3]),
               kRowsNorm,
               int64_t{1},
               given[4],
               false};
      return true;
    }
    case KernelForm::kGroupNorm:  // input, weight, bias, N, C, HxW, group, eps
      if (given[0].toTensor().numel() == 0) return false;
      stack = {given[0], given[1], given[2], kGroupsNorm, given[6], given[7], false};
      return true;
  }
  return false;
}

// As LibTorch's norms give them.
void shape_results(const Call& call, const KernelForm& form, torch::jit::Stack& results) {
  if (form.how != KernelForm::kLayerNorm && form.how != KernelForm::kGroupNorm) return;
  const at::Tensor& x = call.arguments[0].toTensor();
  std::vector<int64_t> sizes = x.sizes().vec();
  results[0] = results[0].toTensor().view(sizes);
  if (form.how == KernelForm::kLayerNorm) {
    const size_t normalized = call.arguments[1].toIntVector().size();
    std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized), sizes.end(), 1);
  } else {
    sizes = {x.size(0), call.arguments[6].toInt()};
  }
  for (size_t i = 1; i < 3; ++i) results[i] = results[i].toTensor().view(sizes);
}

// Those that only the operator has.
void add_defaults(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  for (size_t i = stack.size(); i < schema.arguments().size(); ++i)
    stack.push_back(*schema.arguments()[i].default_value());
}

}  // namespace

const KernelForm* kernel_form(const c10::FunctionSchema& schema) {
  if (!schema.overload_name().empty()) return nullptr;
  for (const KernelForm& form : kForms)
    if (schema.name() == form.op) return &form;
  return nullptr;
}

bool serve_by_kernels(Call& call) {
  const KernelForm* form = call.facts.kernel;
  if (!form || call.below.has(c10::DispatchKey::Python) ||
      call.below.has_any(c10::autocast_dispatch_keyset))
    return false;
  // The engine casts a gradient to what it belongs to by itself, and is to have all digits.
  if (call.mix.is_mixed() && call.is_called_by_engine()) return false;
  const bool on_gpu = is_norm(*form) && !call.arguments.empty() && is_on_gpu(call.arguments[0]);
  for (const c10::IValue& argument : call.arguments)
    if (!is_for_kernels(argument, on_gpu)) return false;
  if (!are_loaded<load>(call.state) || (on_gpu && !are_loaded<load_for_gpu>(call.state)))
    return false;
  torch::jit::Stack stack;
  if (!arguments_of(call, *form, stack)) return false;
  const auto op = c10::Dispatcher::singleton().findSchema({form->kernel, ""});
  if (!op) return false;
  add_defaults(op->schema(), stack);
  try {
    op->callBoxed(&stack);
    shape_results(call, *form, stack);
  } catch (const c10::Error&) {
    return false;  // LibTorch's own words for what is wrong
  }
  call.put_back(stack);
  return true;
}

}  // namespace dtypecheck::tracer::keep_going
