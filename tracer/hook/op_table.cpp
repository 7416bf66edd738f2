// op_table.cpp: schemas to OpInfo. The table's key is the address of the name inside the
// FunctionSchema: stable and unique for each overload (two overloads share the text, not the
// address).
#include "tracer/hook/op_table.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "ops/arguments.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {
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

// Of what the op is given: that it writes an argument and reads nothing of it, the schema says.
Role role_of(const Argument& argument, const c10::Argument& schema) {
  if (argument.is_written && schema.kwarg_only()) return Role::kOut;
  return ops::role_of_argument(argument.name);
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

void add_argument(OpInfo& op, uint16_t index, const c10::Argument& schema) {
  Argument argument;
  argument.index = index;
  argument.name = ops::shown_argument(op.name, schema.name());
  argument.is_written = schema.alias_info() && schema.alias_info()->isWrite();
  argument.role = static_cast<uint8_t>(role_of(argument, schema));
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

// c10d::allreduce_(Tensor[] tensors, ProcessGroup process_group, …), and
// _c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name)
bool is_process_group(const OpInfo& op, const c10::Argument& schema) {
  if (op.name.find("c10d") == std::string::npos) return false;
  return schema.name() == "group_name" ||
         schema.type()->str().find("c10d.ProcessGroup") != std::string::npos;
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

bool adds(const OpInfo& op) {
  return op.tensors.size() == 2 && op.overload.find("out") == std::string::npos &&
         (op.name == "aten::add" || op.name == "aten::add_");
}

bool is_mul_or_lerp(const OpInfo& op) {
  constexpr std::string_view kNames[] = {"aten::mul",           "aten::mul_",
                                         "aten::lerp",          "aten::lerp_",
                                         "aten::_foreach_mul_", "aten::_foreach_lerp_"};
  return std::find(std::begin(kNames), std::end(kNames), op.name) != std::end(kNames) &&
         op.overload.find("out") == std::string::npos;
}

const OpInfo* learn(const c10::FunctionSchema* schema, const char* text) {
  OpInfo* op = make_op();  // lives as long as the process
  op->text = text;
  op->name = schema->name();
  op->overload = schema->overload_name();
  op->interest = ops::interest_in(op->name, op->overload);
  op->argument_count = static_cast<uint16_t>(schema->arguments().size());
  for (size_t i = 0; i < schema->arguments().size(); ++i) {
    add_argument(*op, static_cast<uint16_t>(i), schema->arguments()[i]);
    if (is_process_group(*op, schema->arguments()[i])) op->group_argument = static_cast<int>(i);
  }
  set_key_arguments(*op);
  op->may_return_first =
      !op->tensors.empty() && !ops::gives_dtype_to_memory(op->name, op->overload);
  for (const auto& result : schema->returns())
    op->result_room += is_tensor(result.type()) ? 1 : is_tensor_list(result.type()) ? 4 : 0;
  if (op->result_room > trace::kMaxResults) op->result_room = trace::kMaxResults;
  if (op->tensors.empty() && op->result_room == 0) op->interest = Interest::kNever;
  const uint64_t facts = ops::facts_of(op->name);
  op->speaks_for_inner = (facts & ops::kGrouped) != 0;
  op->converts = (facts & ops::kCast) != 0 && !op->speaks_for_inner;
  op->may_begin_backward = op->name == "aten::ones_like";
  op->adds = adds(*op);
  op->normalizes = op->name == "aten::_softmax" || op->name == "aten::_log_softmax";
  op->reduces = (facts & (ops::kReduces | ops::kLoss | ops::kMultiplies)) != 0 || op->normalizes;
  op->reads_values = op->converts || op->may_begin_backward || op->adds || op->reduces;
  op->reads_results = op->converts || op->reduces;
  op->reads_number = op->name == "aten::_local_scalar_dense" && op->tensors.size() == 1;
  op->updates_scale = op->name == "aten::_amp_update_scale_";
  op->takes_share = is_mul_or_lerp(*op);
  op->is_keyed_further = op->converts || op->takes_share || op->group_argument >= 0;
  op->may_call_anything = op->name.rfind("aten::", 0) != 0;
  op->makes_garbage = (facts & ops::kUninitialized) != 0;
  op->is_loss = (facts & ops::kLoss) != 0;
  if (op->is_hidden()) hide(*schema);
  return op;
}

KeyedTable<Caller*, 1 << 13> callers;

// The loader goes through all of LibTorch's names for one: a millisecond.
constexpr uint32_t kCallsUntilCertain = 64;

constexpr char kFunctionPrefix[] = "_ZN2at4_ops";

// "_ZN2at4_ops10add_Tensor4callE…" is the function of aten::add.Tensor.
std::string function_prefix(const std::string& op, const std::string& overload) {
  const size_t name_space = op.find("::");
  std::string name = op.substr(name_space == std::string::npos ? 0 : name_space + 2);
  if (!overload.empty()) name += "_" + overload;
  return kFunctionPrefix + std::to_string(name.size()) + name + "4callE";
}

const char* symbol_at(const void* address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_sname ? info.dli_sname : "";
}

bool is_function_of(const OpInfo& op, const void* address) {
  const std::string prefix = function_prefix(op.name, op.overload);
  return std::strncmp(symbol_at(address), prefix.c_str(), prefix.size()) == 0;
}

const OpInfo* find_op(const c10::FunctionSchema& schema) {
  const char* text = schema.name().c_str();
  const uint64_t key = reinterpret_cast<uint64_t>(text);
  if (const OpInfo* op = table.find(key)) return op;
  const OpInfo* op = learn(&schema, text);
  if (table.insert(key, op)) return op;
  const OpInfo* faster = table.find(key);  // another thread learned it too
  return faster ? faster : op;
}

// Who called the op with arguments of their own: the autograd engine, or an op that was called by
// its name.
bool hands_on(const char* symbol) {
  return std::strncmp(symbol, "_ZN5torch8autograd6Engine", 25) == 0 ||
         std::strstr(symbol, "invokeOperatorFromPython") || std::strstr(symbol, "callBoxed");
}

}  // namespace

CalledOp find_outermost_op(const uint64_t* addresses, int count) {
  std::string outermost;
  std::vector<std::string> inner;
  for (int i = 0; i < count; ++i) {
    // A call that does not return is the last thing in its function.
    const char* symbol = symbol_at(reinterpret_cast<const void*>(addresses[i] - 1));
    if (hands_on(symbol)) return {};
    if (std::strncmp(symbol, kFunctionPrefix, sizeof kFunctionPrefix - 1) != 0) continue;
    if (!outermost.empty()) inner.push_back(outermost);
    outermost = symbol;
  }
  if (outermost.empty()) return {};
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const std::string prefix = function_prefix(name.name, name.overload_name);
    if (name.name.compare(0, 6, "aten::") != 0 || outermost.compare(0, prefix.size(), prefix) != 0)
      continue;
    const auto handle = dispatcher.findSchema(name);
    const bool is_repeated = std::find(inner.begin(), inner.end(), outermost) != inner.end();
    if (handle) return {find_op(handle->schema()), &handle->schema(), is_repeated};
  }
  return {};
}

Caller* find_caller(const void* address) {
  return callers.find(reinterpret_cast<uint64_t>(address));
}

void note_caller(const void* address, const OpInfo& op) {
  if (callers.has_room())  // what another thread notes at this moment is the same
    callers.insert(reinterpret_cast<uint64_t>(address), new Caller(op));
}

void Caller::count(const void* address, uint32_t calls) {
  if (calls < kCallsUntilCertain)
    calls_.store(calls + 1, std::memory_order_relaxed);
  else
    calls_.store(is_function_of(*op_, address) ? kCertain : kNotSaid, std::memory_order_relaxed);
}

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
  const auto schema = fn.operator_schema();
  const OpInfo* op = schema ? learn(&*schema, name) : nullptr;
  if (!op || table.insert(key, op)) return op;
  const OpInfo* faster = table.find(key);  // another thread learned it too
  return faster ? faster : op;
}

}  // namespace dtypecheck::tracer
