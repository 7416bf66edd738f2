#include "tracer/keep_going/op_facts.h"

#include <algorithm>
#include <string>

#include "ops/arguments.h"
#include "ops/ops.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/keep_going/kernels.h"

namespace dtypecheck::tracer::keep_going {
namespace {

KeyedTable<const OpFacts*, 1 << 13> facts_table;

bool is_tensor_type(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  if (const auto optional = type->cast<c10::OptionalType>())
    return is_tensor_type(optional->getElementType());
  const auto list = type->cast<c10::ListType>();
  return list && is_tensor_type(list->getElementType());
}

// addmm and its like begin with what is added to the product; their input comes second.
int activation_of(uint32_t op, const c10::FunctionSchema& schema) {
  if (op & ops::kAddsProduct) return 1;
  if (!(op & ops::kBackward)) return -1;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const std::string& argument = schema.arguments()[i].name();
    if (argument == "input" || argument == "self") return static_cast<int>(i);
  }
  return -1;
}

bool same_set(const c10::Argument& argument, const c10::Argument& result) {
  const auto* a = argument.alias_info();
  const auto* r = result.alias_info();
  if (!a || !r || !a->isWrite()) return false;
  return std::any_of(r->beforeSets().begin(), r->beforeSets().end(),
                     [a](const auto& set) { return a->beforeSets().count(set) > 0; });
}

// An alias that is not written: a view, or the tensor itself where nothing had to be done.
bool returns_a_view(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const c10::Argument& result) {
                       return result.alias_info() && !result.alias_info()->isWrite();
                     });
}

// An extension's schema may keep to itself what it writes, and a cast copy of that would be lost.
// LibTorch's own schemas do not, but for those that give a tensor another memory.
bool says_all(const c10::FunctionSchema& schema, uint32_t known) {
  const std::string& name = schema.name();
  const bool is_libtorchs = name.compare(0, 6, "aten::") == 0;
  return (is_libtorchs || name.compare(0, 13, "torchvision::") == 0) && name != "aten::set_" &&
         name != "aten::set_data" && !(known & (ops::kQuestion | ops::kView | ops::kFactory));
}

void learn_arguments(const c10::FunctionSchema& schema, OpFacts& facts) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.name() == "dtype") facts.asked_dtype = static_cast<int>(i);
    if (!is_tensor_type(argument.type())) continue;
    TensorArgument tensor;
    tensor.index = static_cast<uint16_t>(i);
    tensor.is_written = argument.alias_info() && argument.alias_info()->isWrite();
    tensor.is_out = tensor.is_written && argument.kwarg_only();
    const uint32_t known = ops::argument_facts(argument.name());
    tensor.is_undeclared = !tensor.is_written && (known & ops::kWrittenSilently) != 0;
    tensor.is_fixed = (known & ops::kOwnDtype) != 0;
    tensor.names = known & (ops::kIndex | ops::kCondition | ops::kLabels);
    tensor.gives_values =
        !ops::takes_no_values(schema.name()) && !(facts.casts && argument.name() == "other");
    tensor.is_mask = argument.name().find("mask") != std::string::npos;
    facts.chooses |= tensor.names != 0;
    facts.tensors.push_back(tensor);
    for (size_t r = 0; r < schema.returns().size(); ++r)
      if (same_set(argument, schema.returns()[r]))
        facts.written_results.push_back({static_cast<uint16_t>(r), static_cast<uint16_t>(i)});
  }
}

bool only_draws(const std::string& name) {
  const std::string_view base = ops::parse_op_name(name).base;
  for (const char* one : {"bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal",
                          "random", "randperm", "uniform"})
    if (base == one) return true;
  return false;
}

const OpFacts* learn_facts(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  auto* facts = new OpFacts;  // as long as the process
#if DTYPECHECK_TORCH_AT_LEAST(2, 0)
  facts->draws = op.hasTag(at::Tag::nondeterministic_seeded);
#endif
  facts->argument_count = static_cast<uint16_t>(schema.arguments().size());
  facts->result_count = static_cast<uint16_t>(schema.returns().size());
  facts->is_view = returns_a_view(schema);
  const uint64_t known = ops::facts_of(schema.name());
  facts->only_first_result = (known & ops::kStatistics) != 0;
  facts->overwrites = (known & ops::kOverwrites) != 0;
  facts->casts = (known & ops::kCast) != 0;
  facts->multiplies = (known & ops::kMultiplies) != 0;
  facts->can_be_served = says_all(schema, known);
  facts->kernel = kernel_form(schema);
  facts->activation = activation_of(known, schema);
  learn_arguments(schema, *facts);
  facts->only_draws = only_draws(schema.name()) && facts->written_results.size() == 1;
  return facts;
}

}  // namespace

const OpFacts& facts_of(const c10::OperatorHandle& op) {
  const auto schema_key = reinterpret_cast<uint64_t>(&op.schema());
  if (const OpFacts* known = facts_table.find(schema_key)) return *known;
  const OpFacts* facts = learn_facts(op);
  if (facts_table.insert(schema_key, facts)) return *facts;
  const OpFacts* faster = facts_table.find(schema_key);
  return faster ? *faster : *facts;
}

}  // namespace dtypecheck::tracer::keep_going
