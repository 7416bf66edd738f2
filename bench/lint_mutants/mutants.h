// Included before each program that bench/lint_mutants.py compiles: which mutant is meant, and what
// its run says. On stderr, a line each:
//   mutant reached               its place was run
//   mutant threw OPS: ADDRESS…   an exception leaves these ops, from these frames of the program
//   mutant saw VALUE DTYPE       a number that a loss gave
#pragma once

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace mutants {

inline long from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

inline thread_local bool is_main_thread = false;
inline thread_local std::vector<std::string> running;
inline long ops = 0, seen = 0;

inline void show(const at::Tensor& result) {
  if (!result.defined() || result.numel() != 1 || !result.is_floating_point()) return;
  if (!result.device().is_cpu() || ++seen > 200) return;
  double value = 0;
  switch (result.scalar_type()) {
    case at::kFloat:
      value = *result.const_data_ptr<float>();
      break;
    case at::kDouble:
      value = *result.const_data_ptr<double>();
      break;
    case at::kHalf:
      value = *result.const_data_ptr<at::Half>();
      break;
    case at::kBFloat16:
      value = *result.const_data_ptr<at::BFloat16>();
      break;
    default:
      return;
  }
  std::fprintf(stderr, "mutant saw %.6g %s\n", value, at::toString(result.scalar_type()));
}

inline std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& op) {
  if (is_main_thread) running.push_back(op.name());
  return nullptr;
}

// A program ends after so many ops of its own: what it trains does not matter here.
inline void end(const at::RecordFunction& op, at::ObserverContext*) {
  static const long most = from_environment("MUTANT_OPS", 3000);
  if (!is_main_thread || running.empty()) return;
  running.pop_back();
  if (!running.empty()) return;
  // Of others some are memory that nobody reads.
  const std::string name = op.name();
  const bool is_loss =
      name.find("loss") != std::string::npos || name.find("entropy") != std::string::npos;
  for (const c10::IValue& result : op.outputs()) {
    if (result.isTensor() && is_loss) show(result.toTensor());
  }
  if (++ops < most) return;
  std::cout.flush();
  std::fflush(nullptr);
  _exit(0);
}

inline bool watch() {
  is_main_thread = true;
  torch::manual_seed(1);
  at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  return true;
}
inline const bool is_watched = watch();

}  // namespace mutants

inline bool mutant(long number) {
  static const long meant = mutants::from_environment("MUTANT", -1);
  if (number != meant) return false;
  static const bool is_said = std::fputs("mutant reached\n", stderr) >= 0;
  return is_said;
}

// Stands in for the library's own, which it calls.
extern "C" __attribute__((weak, noreturn)) void __cxa_throw(void* thrown, std::type_info* type,
                                                            void (*destroy)(void*)) {
  if (mutants::is_main_thread) {
    std::string text = "mutant threw";
    for (const std::string& op : mutants::running) text += " " + op;
    void* frames[200];
    const int count = backtrace(frames, 200);
    text += ":";
    for (int i = 1; i < count; ++i) {  // the first is this function's own
      Dl_info info;
      if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
      if (std::string(info.dli_fname).find(".so") != std::string::npos) continue;
      char address[32];
      std::snprintf(address, sizeof address, " %p", frames[i]);
      text += address;
    }
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  using Throw = void (*)(void*, std::type_info*, void (*)(void*));
  reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"))(thrown, type, destroy);
  __builtin_unreachable();
}
