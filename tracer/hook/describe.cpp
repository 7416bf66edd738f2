// describe.cpp: cold. A signature seen for the first time becomes a record; from then on it is only
// counted.
//
// Whatever may take the GIL (names of parameters) comes first; the record is then written under a
// lock that nobody waits for with the GIL wanted, so that ids come in order and two threads do not
// write the same signature twice.
#include "tracer/hook/describe.h"

#include <torch/csrc/autograd/variable.h>

#include <cstring>
#include <mutex>
#include <new>

#include "core/dtype_names.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/python_calls.h"
#include "tracer/hook/regions.h"
#include "tracer/hook/requests.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/throws.h"
#include "tracer/python/factories.h"

namespace dtypecheck::tracer {
namespace {

// Functionalities, no backends: a key of one backend would match every tensor of it. A sparse
// tensor has no storage.
constexpr c10::DispatchKeySet kSpecial({c10::DispatchKey::Python,
                                        c10::DispatchKey::FuncTorchBatched,
                                        c10::DispatchKey::FuncTorchGradWrapper,
                                        c10::DispatchKey::NestedTensor, c10::DispatchKey::Sparse});

bool is_undefined(const c10::TensorImpl* impl) {
  return impl == c10::UndefinedTensorImpl::singleton();
}

// The class of the Python object behind a tensor, by its name: plain loads, the object lives as
// long as the tensor.
bool is_fake(const c10::TensorImpl* impl) {
  const void* object = tracer.python ? python_object(impl) : nullptr;
  if (!object) return false;
  const auto* type = *reinterpret_cast<const char* const*>(static_cast<const char*>(object) + 8);
  const char* name = *reinterpret_cast<const char* const*>(type + 24);
  const char* last = std::strrchr(name, '.');
  return std::strcmp(last ? last + 1 : name, "FakeTensor") == 0;
}

TensorKind kind_of(const c10::TensorImpl* impl) {
  const auto keys = impl->key_set();
  if (is_undefined(impl)) return TensorKind::kUndefined;
  if (keys.has(c10::DispatchKey::Python))
    return is_fake(impl) ? TensorKind::kFake : TensorKind::kSubclass;
  if (keys.has(c10::DispatchKey::FuncTorchBatched) ||
      keys.has(c10::DispatchKey::FuncTorchGradWrapper))
    return TensorKind::kFunctorch;
  if (keys.has(c10::DispatchKey::NestedTensor)) return TensorKind::kNested;
  if (impl->has_symbolic_sizes_strides()) return TensorKind::kSymbolic;
  if (impl->layout() != c10::Layout::Strided) return TensorKind::kSparse;
  if (impl->is_quantized()) return TensorKind::kQuantized;
  return impl->is_meta() ? TensorKind::kMeta : TensorKind::kDense;
}

bool can_be_measured(TensorKind kind) {
  return kind == TensorKind::kDense || kind == TensorKind::kMeta || kind == TensorKind::kQuantized;
}

int32_t narrow(int64_t size) { return static_cast<int32_t>(std::min<int64_t>(size, INT32_MAX)); }
uint16_t short_id(uint32_t id) { return id > UINT16_MAX ? 0 : static_cast<uint16_t>(id); }
uint16_t short_size(size_t size) {
  return static_cast<uint16_t>(std::min<size_t>(size, UINT16_MAX));
}

void measure(const c10::TensorImpl* impl, trace::OperandRecord& out) {
  const auto sizes = impl->sizes();
  out.flags |= trace::kOperandHasShape;
  if (sizes.size() > trace::kMaxDims) out.flags |= trace::kOperandShapeCut;
  out.dim_count = static_cast<uint8_t>(std::min<size_t>(sizes.size(), trace::kMaxDims));
  for (int i = 0; i < out.dim_count; ++i) out.shape[i] = narrow(sizes[i]);
  const c10::Device device = impl->device();
  if (device.type() == c10::DeviceType::CUDA) saw_gpu();
  out.device = short_id(intern(c10::DeviceTypeName(device.type(), /*lower_case=*/true)));
  out.device_index = static_cast<int8_t>(device.index());
}

// The size and the dtype are part of it, for a storage's address is used again.
uint64_t storage_key(const c10::TensorImpl* plain) {
  const uint64_t key =
      mix(reinterpret_cast<uint64_t>(plain->unsafe_storage().unsafeGetStorageImpl()),
          reinterpret_cast<uint64_t>(data_of(plain)));
  return mix(key, plain->unsafe_storage().nbytes() << 8 | dtype_of(plain)) | 1;
}

// Of one among others that lie in the same storage, as those of a flat parameter do.
uint64_t view_key(const c10::TensorImpl* plain) {
  return mix(storage_key(plain),
             static_cast<uint64_t>(plain->storage_offset()) << 32 ^ plain->numel()) |
         1;
}

bool fills_storage(const c10::TensorImpl* plain) {
  return plain->numel() * plain->dtype().itemsize() == plain->unsafe_storage().nbytes();
}

bool may_be_parameter(Role role, bool leaf) {
  return leaf || role == Role::kWeight || role == Role::kBias || role == Role::kState;
}

// A fake tensor is a compiler at work: what it makes will run as regions, once its own modules are
// imported.
std::atomic<bool> compiler_seen{false};
void watch_compiler() {
  static std::atomic<bool> watching{false};
  if (compiler_seen.load(std::memory_order_relaxed) && !watching.load(std::memory_order_relaxed))
    watching.store(watch_compiled_regions());
}

trace::OperandRecord describe_tensor(const c10::TensorImpl* impl, Role role) {
  trace::OperandRecord out = {};
  out.list_index = -1;
  out.device_index = -1;
  out.role = static_cast<uint8_t>(role);
  const TensorKind kind = impl ? kind_of(impl) : TensorKind::kUndefined;
  out.kind = static_cast<uint8_t>(kind);
  out.dtype = static_cast<uint8_t>(Dtype::kUndefined);
  if (kind == TensorKind::kUndefined) return out;
  out.dtype = dtype_of(impl);
  if (kind == TensorKind::kFake) compiler_seen.store(true, std::memory_order_relaxed);
  if (impl->requires_grad()) out.flags |= trace::kOperandRequiresGrad;
  const bool leaf = is_leaf(impl);
  if (leaf) out.flags |= trace::kOperandIsLeaf;
  if (const c10::TensorImpl* values = kind == TensorKind::kSparse ? values_of(impl) : nullptr)
    out.origin = find_origin(values);
  if (!can_be_measured(kind)) return out;
  measure(impl, out);
  if (impl->is_wrapped_number()) out.flags |= trace::kOperandIsWrappedNumber;
  if (kind != TensorKind::kDense || !impl->unsafe_storage()) return out;
  out.parameter = parameter_name(impl, may_be_parameter(role, leaf));
  out.origin = find_origin(impl);
  return out;
}

const c10::TensorImpl* tensor_in(const c10::IValue& value) {
  return value.isTensor() ? value.unsafeToTensorImpl() : nullptr;
}

using OperandList = std::vector<trace::OperandRecord>;

// A long list (foreach) is cut, but an element whose dtype was not seen before is never left out.
void add_list(OperandList& out, const std::string& name, Role role, bool is_written,
              Tensors tensors) {
  uint64_t seen = 0;
  for (size_t i = 0; i < tensors.size() && out.size() < trace::kMaxOperands; ++i) {
    const uint64_t bit = tensors[i] ? uint64_t{1} << (dtype_of(tensors[i]) & 63) : 0;
    if (i >= 4 && tensors.size() > 8 && !(bit & ~seen)) continue;
    seen |= bit;
    trace::OperandRecord record = describe_tensor(tensors[i], role);
    record.name = intern(name);
    record.list_index = static_cast<int16_t>(std::min<size_t>(i, INT16_MAX));
    record.list_size = short_size(tensors.size());
    if (is_written) record.flags |= trace::kOperandIsWritten;
    out.push_back(record);
  }
}

std::vector<const c10::TensorImpl*> tensors_in(const c10::IValue& list) {
  std::vector<const c10::TensorImpl*> tensors;
  for (const c10::IValue& element : list.toListRef()) tensors.push_back(tensor_in(element));
  return tensors;
}

OperandList describe_operands(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  OperandList out;
  for (const Argument& argument : op.tensors) {
    const c10::IValue& value = inputs[argument.index];
    if (argument.kind == Argument::Kind::kTensorList) {
      if (value.isList())
        add_list(out, argument.name, static_cast<Role>(argument.role), argument.is_written,
                 tensors_in(value));
      continue;
    }
    if (out.size() == trace::kMaxOperands) break;
    if (!tensor_in(value)) continue;  // None: an optional tensor that was not given
    trace::OperandRecord record =
        describe_tensor(tensor_in(value), static_cast<Role>(argument.role));
    record.name = intern(argument.name);
    if (argument.is_written) record.flags |= trace::kOperandIsWritten;
    out.push_back(record);
  }
  return out;
}

using ScalarList = std::vector<trace::ScalarRecord>;

// x + 1e-8 in Python arrives as a 0-d tensor that was made of the number.
bool is_number(const c10::TensorImpl* impl) {
  return impl && is_plain(impl) && impl->is_wrapped_number() && impl->device().is_cpu() &&
         data_of(impl) &&
         (dtype_of(impl) == static_cast<uint8_t>(Dtype::kDouble) ||
          dtype_of(impl) == static_cast<uint8_t>(Dtype::kLong));
}

double number_in(const c10::TensorImpl* impl) {
  return dtype_of(impl) == static_cast<uint8_t>(Dtype::kDouble)
             ? *static_cast<const double*>(data_of(impl))
             : static_cast<double>(*static_cast<const int64_t*>(data_of(impl)));
}

// visit(argument, number) for what the op on tensors is given: a Scalar, a float, or a tensor that
// Python's number became.
template <typename Visit>
void for_each_number(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs,
                     const Visit& visit) {
  for (const Argument& argument : op.tensors)
    if (const c10::TensorImpl* impl = tensor_in(inputs[argument.index]); is_number(impl))
      visit(argument, number_in(impl));
  for (const Argument& argument : op.numbers) {
    const c10::IValue& value = inputs[argument.index];
    if (value.isDouble() || (value.isInt() && argument.is_scalar))
      visit(argument, value.toScalar().to<double>());
  }
}

ScalarList describe_scalars(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  ScalarList out;
  const auto add = [&](const Argument& argument, double value, bool is_dtype) {
    if (out.size() < trace::kMaxScalars)
      out.push_back({intern(argument.name), is_dtype, {}, value});
  };
  for (const Argument& argument : op.dtypes)
    if (inputs[argument.index].isInt())
      add(argument, static_cast<double>(inputs[argument.index].toInt()), true);
  for_each_number(op, inputs, [&](const Argument& argument, double number) {
    if (number != argument.usual) add(argument, number, false);
  });
  return out;
}

// Of the process group of a collective, "0-2,5"; 0 where it is not known.
uint32_t describe_group(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.group_argument < 0 || !tracer.python) return 0;
  note_world();  // before a forward pass, as where DDP sends the parameters to all ranks
  const c10::IValue& group = inputs[op.group_argument];
  return intern(group.isString() ? python::ranks_of_group(group.toStringRef())
                                 : python::ranks_of_group(process_group_in(group)));
}

struct Description {
  OperandList operands;
  ScalarList scalars;
  uint32_t group = 0, op = 0, overload = 0, site = 0, parent = 0;
  uint8_t phase = 0, autocast = 0;
  uint8_t autocast_cpu = static_cast<uint8_t>(Dtype::kUndefined), autocast_cuda = autocast_cpu;
  uint16_t result_room = 0;
  bool is_cast = false;
};

template <typename T>
char* append(char* at, const std::vector<T>& records) {
  if (!records.empty()) std::memcpy(at, records.data(), records.size() * sizeof(T));
  return at + records.size() * sizeof(T);
}

void write_group(uint32_t signature, uint32_t ranks) {
  auto* record = tracer.file.reserve<trace::GroupRecord>(trace::RecordKind::kGroup);
  if (!record) return;
  record->signature = signature;
  record->ranks = ranks;
  tracer.file.commit(record->header);
}

// With the writing lock held.
trace::SignatureRecord* write(const Description& from) {
  const size_t bytes_behind =
      from.scalars.size() * sizeof(trace::ScalarRecord) +
      (from.operands.size() + from.result_room) * sizeof(trace::OperandRecord);
  const size_t counters = from.is_cast ? sizeof(trace::CastCounters) : 0;
  auto* record = tracer.file.reserve<trace::SignatureRecord>(trace::RecordKind::kSignature,
                                                             (bytes_behind + 7) / 8 * 8 + counters);
  if (!record) return nullptr;
  record->op = from.op;
  record->overload = from.overload;
  record->site = site_id(from.site);
  record->parent = from.parent;
  record->phase = from.phase;
  record->autocast = from.autocast;
  record->autocast_cpu = from.autocast_cpu;
  record->autocast_cuda = from.autocast_cuda;
  record->operand_count = static_cast<uint16_t>(from.operands.size());
  record->scalar_count = static_cast<uint16_t>(from.scalars.size());
  record->result_room = from.result_room;
  record->result_count = 0;
  record->first_step = record->last_step = tracer.current_step();
  record->count = 1;
  record->throws = 0;
  record->flags = from.is_cast ? trace::kSignatureCast : 0;
  record->follows = 0;
  append(append(reinterpret_cast<char*>(record + 1), from.operands), from.scalars);
  tracer.file.commit(record->header);
  if (from.group) write_group(record->id, from.group);
  return record;
}

std::mutex& writing() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// A file that cannot grow, or a table that is full, stays so: a call that has no record is from
// then on only counted as lost.
std::atomic<bool> file_is_full{false};
bool has_room() {
  return tracer.signatures.has_room() && !file_is_full.load(std::memory_order_relaxed);
}

trace::SignatureRecord* lost() {
  if (!tracer.on.load(std::memory_order_relaxed)) return nullptr;  // recording ended meanwhile
  file_is_full.store(true, std::memory_order_relaxed);
  __atomic_fetch_add(&tracer.file.header()->signatures_lost, 1, __ATOMIC_RELAXED);
  return nullptr;
}

trace::SignatureRecord* write_once(uint64_t key, const Description& description) {
  const std::lock_guard<std::mutex> lock(writing());
  if (trace::SignatureRecord* record = tracer.signatures.find(key)) {
    count_call(record);  // another thread was faster
    return record;
  }
  trace::SignatureRecord* record = write(description);
  if (!record) return nullptr;
  tracer.signatures.insert(key, record);
  tracer.new_signatures.fetch_add(1, std::memory_order_relaxed);
  return record;
}

trace::OperandRecord* results_of(trace::SignatureRecord* record) {
  return reinterpret_cast<trace::OperandRecord*>(
      reinterpret_cast<char*>(record + 1) + record->operand_count * sizeof(trace::OperandRecord) +
      record->scalar_count * sizeof(trace::ScalarRecord));
}

void add_result(trace::SignatureRecord* record, uint16_t& count, const c10::TensorImpl* tensor,
                int16_t index, uint16_t size) {
  if (count >= record->result_room) return;
  trace::OperandRecord result = describe_tensor(tensor, Role::kInput);
  result.list_index = index;
  result.list_size = size;
  result.origin = 0;
  results_of(record)[count++] = result;
}

void add_results(trace::SignatureRecord* record, uint16_t& count, Tensors tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    add_result(record, count, tensors[i], static_cast<int16_t>(std::min<size_t>(i, INT16_MAX)),
               short_size(tensors.size()));
}

// Two threads may run the op for the first time at once: one of them writes its results.
bool take_results(trace::SignatureRecord* record) {
  return !(__atomic_fetch_or(&record->flags, trace::kSignatureResultsKnown, __ATOMIC_RELAXED) &
           trace::kSignatureResultsKnown);
}

void finish_results(trace::SignatureRecord* record, uint16_t count) {
  __atomic_store_n(&record->result_count, count, __ATOMIC_RELEASE);
}

trace::OperandRecord describe_local(const python::LocalTensor& local, const std::string& name,
                                    const std::string& dtype) {
  trace::OperandRecord out = {};
  out.name = intern(name);
  out.list_index = -1;
  out.dtype = static_cast<uint8_t>(dtype_of_torch(dtype));
  out.role = static_cast<uint8_t>(ops::role_of_argument(name));
  out.flags = trace::kOperandHasShape;
  if (local.requires_grad) out.flags |= trace::kOperandRequiresGrad;
  if (local.is_leaf && local.requires_grad) out.flags |= trace::kOperandIsLeaf;
  out.dim_count = static_cast<uint8_t>(std::min<size_t>(local.shape.size(), trace::kMaxDims));
  for (int i = 0; i < out.dim_count; ++i) out.shape[i] = narrow(local.shape[i]);
  const size_t colon = local.device.find(':');
  out.device = short_id(intern(local.device.substr(0, colon)));
  out.device_index = colon == std::string::npos
                         ? -1
                         : static_cast<int8_t>(std::atoi(local.device.c_str() + colon + 1));
  out.parameter = local.parameter.empty() ? 0 : intern(local.parameter);
  return out;
}

uint32_t origin_of_local(const void* tensor) {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  return impl && is_plain(impl) && impl->unsafe_storage() ? find_origin(impl) : 0;
}

OperandList describe_locals(const std::vector<python::LocalTensor>& locals) {
  OperandList out;
  for (const python::LocalTensor& local : locals) {
    if (out.size() + 2 > trace::kMaxOperands) break;
    trace::OperandRecord record = describe_local(local, local.name, local.dtype);
    record.origin = origin_of_local(local.impl);
    out.push_back(record);
    if (local.grad_dtype.empty()) continue;
    out.push_back(describe_local(local, local.name + ".grad", local.grad_dtype));
    out.back().origin = origin_of_local(local.grad_impl);
  }
  return out;
}

}  // namespace

c10::optional<double> number_beside(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  c10::optional<double> first;
  for_each_number(op, inputs, [&](const Argument&, double number) {
    if (!first) first = number;
  });
  return first;
}

// A linear layer's weight arrives at addmm transposed, as a view: the storage tells whose it is,
// once the parameter itself was seen as an operand (of aten::linear, in this case).
uint32_t parameter_name(const c10::TensorImpl* impl, bool may_be_parameter) {
  if (!is_plain(impl) || !impl->unsafe_storage()) return 0;
  const uint64_t key = storage_key(impl);
  if (const uint32_t name = tracer.parameters.find(key)) return name;
  const uint64_t own_key = fills_storage(impl) ? key : view_key(impl);
  if (const uint32_t name = tracer.parameters.find(own_key)) return name;
  if (!tracer.python || !may_be_parameter) return 0;
  const std::string name = python::parameter_name(impl);
  if (name.empty()) return 0;
  const uint32_t id = intern(name);
  // While a model is loaded and cast, its parameters still change their storages.
  if (tracer.forward_seen.load(std::memory_order_relaxed)) tracer.parameters.insert(own_key, id);
  return id;
}

uint32_t module_of_parameter(const c10::TensorImpl* impl) {
  if (!tracer.python) return 0;
  const std::string name = python::parameter_name(impl);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? 0 : intern(name.substr(0, dot));
}

bool is_plain(const c10::TensorImpl* impl) {
  return !is_undefined(impl) && !impl->key_set().has_any(kSpecial) &&
         !impl->has_symbolic_sizes_strides() && !impl->is_meta();
}

bool is_leaf(const c10::TensorImpl* impl) {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl->autograd_meta());
  return meta && meta->requires_grad_ && !meta->grad_fn_;
}

// A wrapper has the keys of what it wraps, and is none.
const c10::TensorImpl* values_of(const c10::TensorImpl* sparse) {
  const c10::DispatchKeySet wrapped =
      kSpecial.remove(c10::DispatchKey::Sparse).add(c10::DispatchKey::Functionalize);
  const auto keys = sparse->key_set();
  if (!keys.has(c10::DispatchKey::Sparse) || keys.has_any(wrapped) || sparse->is_meta())
    return nullptr;
  const at::Tensor values = static_cast<const at::SparseTensorImpl*>(sparse)->values();
  const c10::TensorImpl* impl = values.unsafeGetTensorImpl();  // the sparse one keeps it alive
  return is_plain(impl) && impl->unsafe_storage() ? impl : nullptr;
}

const void* data_of(const c10::TensorImpl* plain) { return plain->unsafe_storage().data(); }

uint32_t intern(const std::string& text) {
  return text.empty() ? 0 : tracer.file.intern(text.data(), text.size());
}
uint32_t intern(const char* text) {
  return *text ? tracer.file.intern(text, std::strlen(text)) : 0;
}

void free_describe() {
  new (&writing()) std::mutex;
  expect_room();
}

void expect_room() { file_is_full.store(false); }

void watch_python() {
  watch_factories();
  watch_numpy();
  watch_default_dtype();
}

// That of the operand in the widest floating dtype, which the result has as a rule, or this call.
static uint32_t maker_of_result(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const OpInfo& op = *frame.op;
  const auto here = static_cast<uint32_t>(mix(frame.site, op.number)) | 1;
  const bool asks = std::any_of(op.dtypes.begin(), op.dtypes.end(), [&](const Argument& argument) {
    return inputs[argument.index].isInt();
  });
  if (op.converts || asks) return here;
  uint32_t maker = 0;
  int widest = -1;
  for (const Argument& argument : op.tensors) {
    const c10::TensorImpl* impl = plain_tensor_in(inputs[argument.index]);
    if (!impl) continue;
    const bool is_floating = impl->dtype().isScalarType() &&
                             c10::isFloatingType(c10::typeMetaToScalarType(impl->dtype()));
    const int width = is_floating ? static_cast<int>(impl->dtype().itemsize()) : 0;
    if (width > widest) widest = width, maker = maker_of(impl);
  }
  return maker == 0 ? here : maker;
}

trace::SignatureRecord* describe(ThreadState* state, uint64_t key, const Frame& frame,
                                 const Frame* parent, c10::ArrayRef<const c10::IValue> inputs,
                                 const AutocastBits& autocast, bool inner) {
  if (!has_room()) return lost();
  BusyScope busy(state);
  watch_compiler();
  watch_python();
  note_request(frame, inputs, autocast.any());
  Description description;
  try {
    description.operands = describe_operands(*frame.op, inputs);
    description.scalars = describe_scalars(*frame.op, inputs);
    description.group = describe_group(*frame.op, inputs);
  } catch (
      ...) {  // an exotic tensor that would not be described: the call is recorded without the rest
  }
  description.op = intern(frame.op->name);
  description.overload = intern(frame.op->overload);
  const bool is_here = !parent && frame.phase != static_cast<uint8_t>(Phase::kBackward);
  description.site = is_here ? with_caller_of_now(frame.site) : frame.site;
  description.parent = parent && parent->signature ? parent->signature->id : 0;
  description.phase = frame.phase;
  description.autocast = static_cast<uint8_t>(autocast.on | (inner ? trace::kAutocastInner : 0) |
                                              autocast.region << trace::kAutocastSiteShift);
  description.autocast_cpu = autocast.cpu;
  description.autocast_cuda = autocast.cuda;
  description.result_room = frame.op->result_room;
  description.is_cast = frame.op->converts;
  if (inner && parent && parent->signature) note_wrapper(parent->signature);
  trace::SignatureRecord* record = write_once(key, description);
  if (!record) return lost();
  maker_by(record->id).store(maker_of_result(frame, inputs), std::memory_order_relaxed);
  return record;
}

void describe_results(ThreadState* state, trace::SignatureRecord* record,
                      const std::vector<c10::IValue>& outputs) {
  if (!take_results(record)) return;
  BusyScope busy(state);
  uint16_t count = 0;
  try {
    for (const c10::IValue& value : outputs) {
      if (!value.isList()) {
        add_result(record, count, tensor_in(value), -1, 0);
        continue;
      }
      add_results(record, count, tensors_in(value));
    }
  } catch (...) {
  }
  finish_results(record, count);
}

trace::SignatureRecord* describe_region(uint64_t key, const std::string& name, const Frame& frame,
                                        const Frame* parent, Tensors inputs) {
  Description description;
  add_list(description.operands, "inputs", Role::kInput, false, inputs);
  description.op = intern(std::string(ops::kCompiled) + name);
  description.site = frame.site;
  description.parent = parent && parent->signature ? parent->signature->id : 0;
  description.phase = frame.phase;
  description.result_room = trace::kMaxResults;
  trace::SignatureRecord* record = has_room() ? write_once(key, description) : nullptr;
  if (!record) return lost();
  __atomic_fetch_or(&record->flags, trace::kSignatureInCompiled, __ATOMIC_RELAXED);
  return record;
}

void describe_region_results(trace::SignatureRecord* record, Tensors outputs) {
  if (!take_results(record)) return;
  uint16_t count = 0;
  add_results(record, count, outputs);
  finish_results(record, count);
}

// A function that the program calls, and no op of the dispatcher: "python::torch.tensor".
static void place_python_call(ThreadState* state, const char* function, const Frame& frame,
                              Description& description) {
  const Frame* parent = state->innermost();
  description.op = intern(std::string(ops::kPython) + function);
  description.site = frame.site;
  description.parent = parent && parent->signature ? parent->signature->id : 0;
  description.phase = frame.phase;
  description.result_room = 1;
}

trace::OperandRecord describe_result(ThreadState* state, const c10::TensorImpl* result) {
  const BusyScope busy(state);
  trace::OperandRecord out = describe_tensor(result, Role::kInput);
  out.origin = 0;
  return out;
}

trace::SignatureRecord* describe_factory(ThreadState* state, uint64_t key, const char* function,
                                         const python::Source& source, const Frame& frame,
                                         const trace::OperandRecord& result) {
  if (!has_room()) return lost();
  const BusyScope busy(state);
  watch_python();
  Description description;
  const Dtype dtype = dtype_of_torch(source.dtype);
  if (dtype != Dtype::kUndefined)
    description.scalars.push_back(
        {intern(source.type), /*is_dtype=*/1, {}, static_cast<double>(dtype)});
  place_python_call(state, function, frame, description);
  trace::SignatureRecord* record = write_once(key, description);
  if (!record) return lost();
  if (!take_results(record)) return record;
  *results_of(record) = result;
  finish_results(record, 1);
  return record;
}

trace::SignatureRecord* describe_numpy(ThreadState* state, uint64_t key,
                                       const python::WrappedCall& call, const Frame& frame) {
  if (!has_room()) return lost();
  const BusyScope busy(state);
  const std::vector<python::LocalTensor> arrays = python::arrays_of(call);
  Description description;
  for (const python::LocalTensor& array : arrays) {
    description.operands.push_back(describe_local(array, array.name, array.dtype));
    trace::OperandRecord& operand = description.operands.back();
    operand.role = static_cast<uint8_t>(Role::kInput);
    operand.origin = tracer.origins.find(array.memory, array.memory, operand.dtype);
  }
  trace::OperandRecord result = description.operands.back();
  result.dtype = static_cast<uint8_t>(dtype_of_torch(call.dtype));
  result.origin = 0;
  description.operands.pop_back();
  place_python_call(state, call.function, frame, description);
  trace::SignatureRecord* record = write_once(key, description);
  if (!record) return lost();
  if (arrays.back().memory)
    tracer.origins.set(arrays.back().memory, arrays.back().memory, result.dtype, record->id);
  if (!take_results(record)) return record;
  *results_of(record) = result;
  finish_results(record, 1);
  return record;
}

static trace::SignatureRecord* write_outside_of_ops(ThreadState* state, Description& description) {
  const bool in_forward = site_in_module(description.site) || !tracer.trained.load();
  description.phase = static_cast<uint8_t>(in_forward ? Phase::kForward : Phase::kOptimizer);
  const AutocastBits autocast = autocast_bits(state);
  description.autocast =
      static_cast<uint8_t>(autocast.on | autocast.region << trace::kAutocastSiteShift);
  description.autocast_cpu = autocast.cpu;
  description.autocast_cuda = autocast.cuda;
  const std::lock_guard<std::mutex> lock(writing());
  return write(description);
}

trace::SignatureRecord* describe_data_read(ThreadState* state) {
  Description description;
  description.op = intern(std::string(ops::kDataRead));
  description.site = site_here(state);
  return description.site == 0 ? nullptr : write_outside_of_ops(state, description);
}

trace::SignatureRecord* describe_refusal(ThreadState* state, const python::Refusal& refusal,
                                         bool repaired) {
  Description description;
  description.operands = describe_locals(refusal.tensors);
  description.op = intern(std::string(ops::kPython) + refusal.function);
  description.site = write_refusal_site(refusal.site);
  trace::SignatureRecord* record = write_outside_of_ops(state, description);
  if (!record) return nullptr;
  if (repaired)
    __atomic_fetch_or(&record->flags, trace::kSignatureRepaired, __ATOMIC_RELAXED);
  else
    record->throws = 1;
  write_throw(record, refusal.message.c_str(), refusal.type.c_str());
  return record;
}

SequenceRing* make_sequence_ring(ThreadState* state) {
  auto* ring = new (std::nothrow) SequenceRing;
  if (ring) state->sequences.store(ring, std::memory_order_release);
  return ring;
}

}  // namespace dtypecheck::tracer
