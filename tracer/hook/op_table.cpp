// op_table.cpp: schemas to OpInfo. The table's key is the address of the name inside the
// FunctionSchema: stable and unique for each overload (two overloads share the text, not the
// address).
#include "tracer/hook/op_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "tracer/hook/keyed_table.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck {
namespace tracer {
namespace {

KeyedTable<const OpInfo*, 1 << 14> table;

// Side by side, so that a number is an address. Those that find no room have the number 0.
constexpr size_t kNumbered = 1 << 14;
alignas(OpInfo) unsigned char numbered[kNumbered][sizeof(OpInfo)];
std::atomic<size_t> next_number{1};

OpInfo* make_op() {
  const size_t number = next_number.fetch_add(1);
  if (number >= kNumbered) return new OpInfo;
  OpInfo* op = new (numbered[number]) OpInfo;
  op->number = static_cast<uint16_t>(number);
  return op;
}

const std::set<std::string>& views_and_questions() {
  static const std::set<std::string>* names = new std::set<std::string>{
      "as_strided", "as_strided_", "view", "_unsafe_view", "reshape", "_reshape_alias", "t", "t_",
      "transpose", "transpose_", "permute", "movedim", "moveaxis", "swapaxes", "swapdims", "expand",
      "expand_as", "view_as", "select", "slice", "narrow", "unsqueeze", "unsqueeze_", "squeeze",
      "squeeze_", "flatten", "unflatten", "detach", "detach_", "alias", "unbind", "split",
      "split_with_sizes", "chunk", "tensor_split", "diagonal", "unfold", "numpy_T", "mT", "mH",
      "adjoint", "matrix_H", "resolve_conj", "resolve_neg", "conj", "_conj", "real", "imag",
      "view_as_real", "view_as_complex", "_neg_view", "lift", "lift_fresh", "result_type",
      "can_cast", "promote_types", "item", "_local_scalar_dense", "is_nonzero", "equal", "numel",
      "sym_size", "sym_numel", "sym_stride", "sym_storage_offset", "stride", "is_same_size",
      "is_floating_point", "is_signed", "is_contiguous", "is_pinned", "pin_memory", "_pin_memory",
      "record_stream", "requires_grad_", "retain_grad", "retains_grad", "data",
      "_has_compatible_shallow_copy_type", "_version", "output_nr", "is_leaf", "is_inference",
      "_nested_tensor_size", "_cufft_get_plan_cache_size", "_debug_has_internal_overlap",
      "set_data", "_use_cudnn_ctc_loss", "_use_miopen_ctc_loss", "cudnn_is_acceptable",
      "_is_zerotensor", "resize_", "set_", "_fused_sdp_choice", "_assert_async", "_assert_scalar",
      "broadcast_tensors", "broadcast_to", "atleast_1d", "atleast_2d", "atleast_3d", "squeeze_copy",
      "infer_size", "values", "indices", "_values", "_indices", "sparse_dim", "dense_dim",
      "is_coalesced", "hsplit", "vsplit", "dsplit", "ravel",
      // Wrappers around cat, native_layer_norm, _to_copy, copy_, which are recorded: a cast that
      // does nothing is no event.
      "concat", "concatenate", "layer_norm", "group_norm", "to", "type_as",
      "_autocast_to_reduced_precision", "_autocast_to_full_precision"};
  return *names;
}

const std::set<std::string>& allocations_and_fills() {
  static const std::set<std::string>* names = new std::set<std::string>{
      "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
      "fill_", "zero_", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like",
      "new_zeros", "new_ones", "new_full", "copy_", "clone", "contiguous", "scalar_tensor",
      "arange", "linspace", "_efficientzerotensor", "rand", "randn", "randint", "randperm",
      "uniform_", "normal_", "random_", "bernoulli_", "eye", "resize_as_", "tril", "triu",
      "tril_indices", "triu_indices", "_foreach_zero_", "is_any_true", "is_all_true", "_copy_from",
      // Wrappers: what they call says the same again.
      "matmul", "convolution", "_convolution", "rand_like", "randn_like", "randint_like", "isnan",
      "isinf", "isfinite"};
  return *names;
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string bare_name(const std::string& name) {
  const size_t colons = name.find("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

Interest interest_in(const std::string& name) {
  if (starts_with(name, "profiler::")) return Interest::kNever;
  if (!starts_with(name, "aten::")) return Interest::kAlways;
  const std::string bare = bare_name(name);
  if (views_and_questions().count(bare)) return Interest::kNever;
  if (allocations_and_fills().count(bare)) return Interest::kTopLevel;
  return Interest::kAlways;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Role role_of(const std::string& name) {
  if (name == "out" || starts_with(name, "out")) return Role::kOut;
  if (name == "weight" || name == "weights" || starts_with(name, "w_")) return Role::kWeight;
  if (name == "bias" || starts_with(name, "b_")) return Role::kBias;
  if (starts_with(name, "running_") || contains(name, "exp_avg") || contains(name, "state") ||
      contains(name, "momentum_buffer"))
    return Role::kState;
  return Role::kInput;
}

bool is_tensor_list(const c10::TypePtr& type) {
  const auto list = type->cast<c10::ListType>();
  if (!list) {
    const auto optional = type->cast<c10::OptionalType>();
    return optional && is_tensor_list(optional->getElementType());
  }
  const auto element = list->getElementType();
  if (element->isSubtypeOf(*c10::TensorType::get())) return true;
  const auto optional = element->cast<c10::OptionalType>();
  return optional && optional->getElementType()->isSubtypeOf(*c10::TensorType::get());
}

bool is_tensor(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && optional->getElementType()->isSubtypeOf(*c10::TensorType::get());
}

bool is_scalar(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::NumberType) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && is_scalar(optional->getElementType());
}

// The schema's name, but for addmm and its like: their `self` is what is added to the product,
// which people call the bias.
std::string argument_name(const OpInfo& op, uint16_t index, const std::string& name) {
  const std::string bare = bare_name(op.name);
  const bool adds_product = bare == "addmm" || bare == "addmv" || bare == "baddbmm" ||
                            bare == "addbmm" || bare == "_addmm_activation";
  return adds_product && index == 0 ? "bias" : name;
}

void add_argument(OpInfo& op, uint16_t index, const c10::Argument& schema) {
  Argument argument;
  argument.index = index;
  argument.name = argument_name(op, index, schema.name());
  argument.role = static_cast<uint8_t>(role_of(argument.name));
  argument.is_written = schema.alias_info() && schema.alias_info()->isWrite();
  argument.is_scalar = is_scalar(schema.type());
  const auto& usual = schema.default_value();
  argument.usual = usual && usual->isScalar() ? usual->toScalar().to<double>() : std::nan("");
  if (is_tensor(schema.type()) || is_tensor_list(schema.type())) {
    argument.kind =
        is_tensor(schema.type()) ? Argument::Kind::kTensor : Argument::Kind::kTensorList;
    if (op.tensors.empty()) op.writes_first_tensor = argument.is_written;
    op.tensors.push_back(argument);
  } else if (argument.name == "dtype" || argument.name == "out_dtype" ||
             argument.name == "output_dtype") {
    argument.kind = Argument::Kind::kDtype;
    op.dtypes.push_back(argument);
  } else {
    argument.kind = Argument::Kind::kNumber;
    op.numbers.push_back(argument);
  }
}

struct Hidden {
  std::mutex mutex;
  std::vector<bool*> flags;
  bool allowed = true;
};
Hidden& hidden() {
  static auto* all = new Hidden;
  return *all;
}

// Another thread may read the flag at this moment; either value is right for it.
void hide(const c10::FunctionSchema& schema) {
  const auto op = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (!op) return;
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  if (!hidden().allowed) return;
  auto* flag = const_cast<bool*>(&access::is_observed(*op));
  hidden().flags.push_back(flag);
  *flag = false;
}

void set_key_arguments(OpInfo& op) {
  std::vector<KeyArgument> all;
  for (const std::vector<Argument>* arguments : {&op.tensors, &op.dtypes})
    for (const Argument& argument : *arguments)
      all.push_back({argument.index, static_cast<uint16_t>(argument.kind)});
  const bool few = all.size() <= sizeof op.few_arguments / sizeof op.few_arguments[0];
  KeyArgument* room = few ? op.few_arguments : new KeyArgument[all.size()];
  std::copy(all.begin(), all.end(), room);
  op.key_arguments = room;
  op.key_tensors = static_cast<uint16_t>(op.tensors.size());
  op.key_dtypes = static_cast<uint16_t>(op.dtypes.size());
}

const OpInfo* learn(const at::RecordFunction& fn) {
  const auto schema = fn.operator_schema();
  if (!schema) return nullptr;
  OpInfo* op = make_op();  // lives as long as the process
  op->text = fn.name();
  op->name = schema->name();
  op->overload = schema->overload_name();
  op->interest = interest_in(op->name);
  op->argument_count = static_cast<uint16_t>(schema->arguments().size());
  for (size_t i = 0; i < schema->arguments().size(); ++i)
    add_argument(*op, static_cast<uint16_t>(i), schema->arguments()[i]);
  set_key_arguments(*op);
  for (const auto& result : schema->returns())
    op->result_room += is_tensor(result.type()) ? 1 : is_tensor_list(result.type()) ? 4 : 0;
  if (op->result_room > trace::kMaxResults) op->result_room = trace::kMaxResults;
  if (op->tensors.empty() && op->result_room == 0) op->interest = Interest::kNever;
  const std::string bare = bare_name(op->name);
  op->converts = bare == "_to_copy" || bare == "copy_";
  op->speaks_for_inner = starts_with(bare, "_foreach_") || starts_with(bare, "_fused_");
  op->may_call_anything = !starts_with(op->name, "aten::");
  op->makes_garbage = starts_with(bare, "empty") || starts_with(bare, "new_empty");
  if (op->interest == Interest::kNever) hide(*schema);
  return op;
}

}  // namespace

void free_op_table() { new (&hidden().mutex) std::mutex; }

void show_hidden_ops() {
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  hidden().allowed = false;
  for (bool* flag : hidden().flags) *flag = true;
  hidden().flags.clear();
}

const OpInfo* op_of(uint16_t number) { return reinterpret_cast<OpInfo*>(numbered[number]); }

const OpInfo* find_op(const at::RecordFunction& fn, const OpInfo* guess) {
  const char* name = fn.name();
  if (guess->text == name) return guess;
  const uint64_t key = reinterpret_cast<uint64_t>(name);
  if (const OpInfo* op = table.find(key)) return op;
  // The engine's records are strings of a moment: their address says nothing, so they never enter
  // the table.
  if (std::strncmp(name, "autograd::", 10) == 0) return nullptr;
  const OpInfo* op = learn(fn);
  if (!op || table.insert(key, op)) return op;
  const OpInfo* faster = table.find(key);  // another thread learned it too
  return faster ? faster : op;
}

}  // namespace tracer
}  // namespace dtypecheck
