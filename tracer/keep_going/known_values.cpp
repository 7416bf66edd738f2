#include "tracer/keep_going/known_values.h"

#include <ATen/SparseTensorImpl.h>
#include <ATen/core/stack.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "tracer/hook/pretended.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/op_facts.h"
#include "tracer/keep_going/quiet.h"

namespace dtypecheck::tracer::keep_going {
namespace {

using at::Tensor;
using c10::IValue;

constexpr int64_t kComputed = 1 << 16;       // elements: up to here values are computed
constexpr int64_t kComputedBools = 1 << 24;  // masks decide sizes, and cost little
constexpr int64_t kFilledBytes = 1 << 20;    // up to here a neutral number is written
constexpr int64_t kLeftOut = 1 << 20;        // elements: above, a CPU tensor is not filled

// By the address of their memory. Pretended memory is handed on by LibTorch's allocator, and each
// op that writes says anew whether it is known.
struct KnownStorages {
  std::mutex mutex;
  std::unordered_set<const void*> addresses;
};
KnownStorages* known_storages = new KnownStorages;

const void* bytes_address(const Tensor& tensor) { return tensor.storage().data_ptr().get(); }

// What can be looked at as memory: no tensor of Python's, none that is quantized or lazily negated.
bool is_plain_memory(const Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return tensor.layout() == at::kStrided && !tensor.is_quantized() && tensor.has_storage() &&
         !impl->is_python_dispatch() && !tensor.is_conj() && !tensor.is_neg() &&
         !impl->key_set().has_any(c10::functorch_transforms_ks);
}

bool is_known(const Tensor& tensor) {
  if (!tensor.is_cuda() || tensor.numel() == 0) return true;
  const std::lock_guard<std::mutex> lock(known_storages->mutex);
  return known_storages->addresses.count(bytes_address(tensor)) != 0;
}

void set_known(const std::vector<Tensor>& tensors, bool is) {
  const std::lock_guard<std::mutex> lock(known_storages->mutex);
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_cuda()) continue;
    is ? void(known_storages->addresses.insert(bytes_address(tensor)))
       : void(known_storages->addresses.erase(bytes_address(tensor)));
  }
}

Tensor on_host(const Tensor& tensor) {
  if (!tensor.is_cuda()) return tensor;
  auto* begin = static_cast<char*>(const_cast<void*>(bytes_address(tensor))) +
                tensor.storage_offset() * static_cast<int64_t>(tensor.element_size());
  return at::from_blob(begin, tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU));
}

IValue on_host(const IValue& value) {
  if (value.isTensor())
    return value.toTensor().defined() ? IValue(on_host(value.toTensor())) : value;
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector())
      list.push_back(tensor.defined() ? on_host(tensor) : tensor);
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<c10::optional<Tensor>> list;
    for (const IValue& element : value.toListRef())
      list.push_back(element.isTensor() && element.toTensor().defined()
                         ? c10::optional<Tensor>(on_host(element.toTensor()))
                         : c10::optional<Tensor>());
    return list;
  }
  if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::DeviceType::CPU);
  if (value.isGenerator()) return IValue();  // one of the GPU's
  return value;
}

struct PretendedCall {
  const c10::OperatorHandle& op;
  c10::DispatchKeySet below;
  torch::jit::Stack* stack;
  ThreadState* state;
  RunOp* run_op;
  const OpFacts& facts;
  const std::string& name;

  bool has_cuda = false, is_plain = true, is_known = true, needs_grad = false;
  int64_t largest = 0;  // elements of the largest operand, of a sparse one those that it has

  PretendedCall(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                torch::jit::Stack* arguments_on_top, ThreadState* thread, RunOp* run_it)
      : op(handle),
        below(keys),
        stack(arguments_on_top),
        state(thread),
        run_op(run_it),
        facts(facts_of(handle)),
        name(handle.schema().name()) {
    for (const IValue& value : arguments())
      if (value.isDevice() && value.toDevice().is_cuda()) has_cuda = true;
    for (const TensorArgument& argument : facts.tensors) {
      for_each_defined(arguments()[argument.index],
                       [&](const Tensor& tensor) { look_at(tensor, argument.gives_values); });
      if (argument.is_out || !argument.gives_values) continue;
      if (argument.is_written && facts.overwrites) continue;
      for_each_defined(arguments()[argument.index], [&](const Tensor& tensor) {
        is_known = is_known && (!is_plain_memory(tensor) || keep_going::is_known(tensor));
      });
    }
  }

  c10::ArrayRef<IValue> arguments() const { return torch::jit::last(*stack, facts.argument_count); }
  void run() { run_op(op, below, stack, state); }

  // On the host; empty where the CPU cannot do it.
  torch::jit::Stack host_results(c10::ArrayRef<IValue> values) const {
    const Quiet quiet(state);
    torch::jit::Stack host;
    for (const IValue& value : values) host.push_back(on_host(value));
    try {
      op.callBoxed(&host);
    } catch (...) {
      host.clear();
    }
    return host;
  }

 private:
  void look_at(const Tensor& tensor, bool gives_values) {
    const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!is_plain_memory(tensor)) {
      is_plain = false;
      if (tensor.is_sparse() && !impl->is_python_dispatch())
        largest = std::max(largest, static_cast<const at::SparseTensorImpl*>(impl)->nnz());
      return;
    }
    has_cuda = has_cuda || tensor.is_cuda();
    needs_grad = needs_grad || tensor.requires_grad();
    if (gives_values) largest = std::max(largest, tensor.numel());
  }
};

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* candidate) { return name == candidate; });
}

// Ops whose results have a size that depends on values, and no gradient. The GPU's answer would be
// read from memory that it has not written.
bool has_size_of_values(const PretendedCall& call) {
  return is_one_of(call.name, {"aten::nonzero", "aten::_unique2", "aten::unique_dim",
                               "aten::unique_consecutive", "aten::bincount"}) ||
         (call.name == "aten::repeat_interleave" && call.op.schema().overload_name() == "Tensor");
}

// What an op's own code reads back from the GPU is how many there are of what it has found among
// its elements, or where it has found one: the last place is possible as both. Ops that read for
// the program read what lies there.
int64_t most_it_may_read(const PretendedCall& call) {
  return is_one_of(call.name, {"aten::copy_", "aten::_local_scalar_dense"}) ? 0 : call.largest - 1;
}

Tensor on_gpu(const Tensor& host, c10::Device device) {
  const Tensor dense = host.contiguous();
  Tensor result = at::empty(dense.sizes(), dense.options().device(device));
  if (dense.numel() > 0) on_host(result).copy_(dense);
  return result;
}

bool answer_from_host(PretendedCall& call) {
  if (!call.has_cuda || !call.is_plain || call.largest > kComputedBools) return false;
  c10::Device device(c10::DeviceType::CUDA, 0);
  for (const IValue& value : call.arguments())
    for_each_defined(value, [&](const Tensor& tensor) {
      if (tensor.is_cuda()) device = tensor.device();
    });
  torch::jit::Stack results = call.host_results(call.arguments());
  if (results.empty()) return false;
  const Quiet quiet(call.state);
  torch::jit::drop(*call.stack, call.facts.argument_count);
  for (const IValue& value : results) {
    const Tensor result = on_gpu(value.toTensor(), device);
    set_known({result}, true);
    call.stack->push_back(result);
  }
  return true;
}

// The kernel's word for it; what it does not tell counts as untouched.
bool is_touched(const Tensor& tensor) {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62;
  constexpr int kLooks = 16;
  const int pages = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pages < 0) return false;
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data_ptr());
  int touched = 0;
  for (int i = 0; i < kLooks; ++i) {
    uint64_t page = 0;
    const uint64_t at = (begin + bytes / kLooks * i) / page_bytes * sizeof page;
    if (::pread(pages, &page, sizeof page, static_cast<off_t>(at)) == sizeof page &&
        (page & (kPresent | kSwapped)))
      ++touched;
  }
  ::close(pages);
  return touched > kLooks / 2;
}

// A copy of memory that nobody has looked at yet, as of a file that is mapped.
bool copies_untouched(const PretendedCall& call) {
  if (call.name != "aten::copy_") return false;
  const Tensor& source = call.arguments()[1].toTensor();
  return source.is_cpu() && source.is_non_overlapping_and_dense() && !is_touched(source);
}

// Weights that were read from a file or are drawn at random, cast and copied, at their full size:
// all of it in place, so that leaving it out leaves a tensor of the right dtype.
bool is_left_out(const PretendedCall& call) {
  const c10::FunctionSchema& schema = call.op.schema();
  if (call.has_cuda || !call.is_plain || call.largest <= kLeftOut || call.name.back() != '_')
    return false;
  if (call.facts.written_results.size() != 1 || call.facts.written_results[0].argument != 0 ||
      schema.returns().size() != 1)
    return false;
  const Tensor& self = call.arguments()[0].toTensor();
  return self.is_cpu() && self.numel() > kLeftOut && self.is_floating_point() &&
         !(self.requires_grad() && c10::GradMode::is_enabled()) &&
         !is_one_of(call.name, {"aten::resize_", "aten::set_", "aten::detach_"}) &&
         (call.op.hasKernelForDispatchKey(c10::DispatchKey::CPU) || copies_untouched(call));
}

void leave_out(PretendedCall& call) {
  const IValue self = call.arguments()[0];
  torch::jit::drop(*call.stack, call.facts.argument_count);
  call.stack->push_back(self);
}

// A GradScaler's question. It is answered with no, and what comes of that is known.
constexpr const char* kFoundInf = "found_inf";

// A step is not skipped, and a check for NaN finds none: of what no one knows the usual is taken.
double neutral(const std::string& op, const std::string& written, const Tensor& tensor) {
  if (written == kFoundInf) return 0;
  if (is_one_of(op, {"aten::isfinite", "aten::all", "aten::_is_all_true"})) return 1;
  return tensor.is_floating_point() ? 1 : 0;
}

struct Written {
  std::vector<Tensor> tensors;
  std::vector<std::string> names;  // of the argument; empty of a result
  bool is_plain = true, has_cuda = false, is_bool = true, returned = false;
  int64_t largest = 0;

  void add(const Tensor& tensor, const std::string& name) {
    tensors.push_back(tensor);
    names.push_back(name);
    if (!is_plain_memory(tensor)) is_plain = false;
    has_cuda = has_cuda || tensor.is_cuda();
    is_bool = is_bool && tensor.scalar_type() == at::kBool;
    largest = std::max(largest, tensor.numel());
  }
};

Written written_by(const PretendedCall& call, const std::vector<IValue>& arguments) {
  Written written;
  for (const IValue& value : torch::jit::last(*call.stack, call.facts.result_count))
    for_each_defined(value, [&](const Tensor& tensor) { written.add(tensor, ""); });
  written.returned = !written.tensors.empty();
  if (written.returned) return written;
  for (const TensorArgument& argument : call.facts.tensors)
    if (argument.is_written)
      for_each_defined(arguments[argument.index], [&](const Tensor& tensor) {
        written.add(tensor, call.op.schema().arguments()[argument.index].name());
      });
  return written;
}

bool share_memory(const Written& written, const std::vector<IValue>& arguments) {
  bool shares = false;
  for (const IValue& value : arguments)
    for_each_defined(value, [&](const Tensor& tensor) {
      for (const Tensor& result : written.tensors)
        if (result.storage().nbytes() && bytes_address(result) == bytes_address(tensor))
          shares = true;
    });
  return shares;
}

bool compute(const PretendedCall& call, const std::vector<IValue>& arguments,
             const Written& written, bool in_place) {
  const torch::jit::Stack results = call.host_results(arguments);
  if (results.empty() && call.facts.result_count > 0) return false;
  if (in_place || !written.returned) return true;
  const Quiet quiet(call.state);
  size_t next = 0;
  for (const IValue& value : results)
    for_each_defined(value, [&](const Tensor& result) {
      if (next >= written.tensors.size()) return;
      const Tensor& into = written.tensors[next++];
      if (!into.is_cuda() || into.sizes() != result.sizes()) return;
      on_host(into).copy_(result);
    });
  return true;
}

bool any_tensor(const Tensor&) { return true; }

void fill_with_neutral(const PretendedCall& call, const Written& written,
                       bool (*is_wanted)(const Tensor&) = any_tensor) {
  const Quiet quiet(call.state);
  for (size_t i = 0; i < written.tensors.size(); ++i) {
    const Tensor& tensor = written.tensors[i];
    const auto bytes = tensor.numel() * static_cast<int64_t>(tensor.element_size());
    const int64_t most = tensor.scalar_type() == at::kBool ? kComputedBools : kFilledBytes;
    if (!tensor.is_cuda() || bytes > most || !tensor.is_non_overlapping_and_dense()) continue;
    if (!is_wanted(tensor)) continue;
    on_host(tensor).fill_(neutral(call.name, written.names[i], tensor));
    if (written.names[i] == kFoundInf) set_known({tensor}, true);
  }
}

bool writes_any(const OpFacts& facts) {
  return std::any_of(facts.tensors.begin(), facts.tensors.end(),
                     [](const TensorArgument& argument) { return argument.is_written; });
}

bool only_makes_room(const std::string& name) {
  return name.compare(0, 11, "aten::empty") == 0 || name.compare(0, 15, "aten::new_empty") == 0;
}

// NCCL's stand-in has moved the values in memory already.
bool is_collective(const std::string& name) {
  return name.compare(0, 6, "c10d::") == 0 || name.compare(0, 18, "_c10d_functional::") == 0;
}

void call_and_follow(PretendedCall& call) {
  const std::vector<IValue> arguments = call.arguments().vec();
  call.state->in_pretended_call = true;
  struct End {
    ThreadState* state;
    ~End() { state->in_pretended_call = false; }
  } end{call.state};
  call.run();

  const Written written = written_by(call, arguments);
  if (!written.is_plain || !written.has_cuda || only_makes_room(call.name)) return;
  if (is_collective(call.name)) return set_known(written.tensors, call.is_known);
  const bool shares = share_memory(written, arguments), writes = writes_any(call.facts);
  if (shares && !writes) return;  // it gave back what it was given
  const bool asks_for_faults =
      is_one_of(call.name, {"aten::isfinite", "aten::isnan", "aten::isinf"});
  const int64_t limit = written.is_bool ? kComputedBools : kComputed;
  const bool is_computed = (call.is_known || (asks_for_faults && call.largest <= kComputed)) &&
                           call.largest <= limit && written.largest <= limit &&
                           compute(call, arguments, written, shares && writes);
  // Up to LibTorch 2.2 a CPU has no GradScaler: no step is skipped, and the scale stays.
  if (!is_computed && call.is_known && call.name == "aten::_amp_update_scale_") return;
  set_known(written.tensors, is_computed || asks_for_faults);
  if (!is_computed) fill_with_neutral(call, written);
}

// An op that calls others may ask what they gave: did it converge, are all of them right.
bool may_be_asked(const Tensor& tensor) {
  constexpr int64_t kAsked = 1 << 10;  // elements: one of each matrix of a batch
  return tensor.is_cuda() && tensor.numel() <= kAsked &&
         c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

// What it gives is written when the outermost call ends, but what that may ask for. Until then it
// is not known, though another tensor that was may have lain there.
void call_inside(PretendedCall& call) {
  const std::vector<IValue> arguments = call.arguments().vec();
  call.run();
  const Written written = written_by(call, arguments);
  if (!written.returned || !written.is_plain || share_memory(written, arguments)) return;
  set_known(written.tensors, false);
  if (only_makes_room(call.name) ||
      std::none_of(written.tensors.begin(), written.tensors.end(), may_be_asked))
    return;
  if (call.is_known && std::max(call.largest, written.largest) <= kComputed &&
      compute(call, arguments, written, false))
    return set_known(written.tensors, true);
  fill_with_neutral(call, written, may_be_asked);
}

}  // namespace

void call_on_pretended_gpu(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                           torch::jit::Stack* stack, ThreadState* state, RunOp* run_op) {
  PretendedCall call(op, below, stack, state, run_op);
  const CountReadBack count(most_it_may_read(call));
  if (is_left_out(call)) return leave_out(call);
  const bool may_answer = !call.needs_grad || call.name == "aten::nonzero";
  if (may_answer && has_size_of_values(call) && answer_from_host(call)) return;
  if (!call.has_cuda || !call.is_plain || call.facts.is_view) return call.run();
  if (state->in_pretended_call) return call_inside(call);
  call_and_follow(call);
}

bool has_known_values(const c10::TensorImpl* impl) {
  if (!tracer.options.pretended || !impl->device().is_cuda() || !impl->has_storage()) return false;
  const std::lock_guard<std::mutex> lock(known_storages->mutex);
  return known_storages->addresses.count(impl->storage().data_ptr().get()) != 0;
}

void forget_known_values() { known_storages = new KnownStorages; }

}  // namespace dtypecheck::tracer::keep_going
