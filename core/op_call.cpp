#include "core/op_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/enum_names.h"

namespace dtypecheck {

const char* role_name(Role role) {
  return name_of<kLastRole>(role, {"input", "weight", "bias", "state", "out"});
}

const char* tensor_kind_name(TensorKind kind) {
  return name_of<kLastTensorKind>(kind, {"dense", "undefined", "subclass", "fake", "symbolic",
                                         "nested", "sparse", "quantized", "meta", "functorch"});
}

const char* arrival_name(Arrival arrival) {
  return name_of<kLastArrival>(arrival, {"unknown", "loss", "read", "kept", "lost", "product"});
}

const char* gpu_work_name(GpuWorkKind kind) {
  return name_of<kLastGpuWorkKind>(kind, {"", "kernel", "copy", "fill"});
}

const char* outcome_name(Outcome outcome) {
  return name_of<kLastOutcome>(outcome, {"returned", "threw", "repaired", "served"});
}

std::string Device::to_string() const {
  return index < 0 ? type : type + ":" + std::to_string(index);
}

const AutocastState::Region* AutocastState::region_for(const std::string& device_type) const {
  const auto region = std::find_if(enabled.begin(), enabled.end(),
                                   [&](const Region& r) { return r.device == device_type; });
  return region == enabled.end() ? nullptr : &*region;
}

bool is_parameter(const Operand& operand) {
  return !operand.parameter.empty() && !operand.name.starts_with("grad") &&
         !operand.name.ends_with(".grad");
}

bool was_computed(const OpCall& call) {
  const auto is_real = [](const Operand& operand) {
    return operand.kind != TensorKind::kFake && operand.kind != TensorKind::kMeta &&
           operand.device.type != "meta";
  };
  return std::all_of(call.operands.begin(), call.operands.end(), is_real) &&
         std::all_of(call.results.begin(), call.results.end(), is_real);
}

double element_count(const Operand& operand) {
  double count = 1;
  for (const int64_t size : operand.shape) count *= static_cast<double>(size);
  return count;
}

std::string shape_text(const Operand& operand) {
  return operand.has_shape ? fmt::format("[{}]", fmt::join(operand.shape, ", ")) : "";
}

DtypeSet OpCall::floating_dtypes() const {
  DtypeSet all;
  for (const Operand& operand : operands) {
    if (operand.is_floating() && operand.promotes()) all |= operand.dtypes;
  }
  return all;
}

std::optional<Dtype> OpCall::result_dtype() const {
  return results.empty() ? std::nullopt : results.front().dtypes.single();
}

const Operand* OpCall::operand(const std::string& name) const {
  const auto found = std::find_if(operands.begin(), operands.end(),
                                  [&](const Operand& operand) { return operand.name == name; });
  return found == operands.end() ? nullptr : &*found;
}

const Operand* OpCall::first_operand_in(DtypeSet dtypes) const {
  const auto found = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
    return operand.dtypes.within(dtypes);
  });
  return found == operands.end() ? nullptr : &*found;
}

const ScalarArgument* OpCall::scalar(const std::string& name) const {
  const auto found =
      std::find_if(scalars.begin(), scalars.end(),
                   [&](const ScalarArgument& scalar) { return scalar.name == name; });
  return found == scalars.end() ? nullptr : &*found;
}

std::string OpCall::device_type() const {
  const auto defined = std::find_if(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.kind != TensorKind::kUndefined && !operand.device.type.empty();
  });
  return defined == operands.end() ? "cpu" : defined->device.type;
}

std::string OpCall::short_op() const {
  const size_t colons = op.find("::");
  return colons == std::string::npos ? op : op.substr(colons + 2);
}

static const NonFinite* first_of(const OpCall& call, bool nan) {
  const auto found = std::find_if(
      call.non_finite.begin(), call.non_finite.end(),
      [&](const NonFinite& what) { return what.is_nan == nan && !what.is_loss && !what.is_read; });
  return found == call.non_finite.end() ? nullptr : &*found;
}

const NonFinite* OpCall::first_inf() const { return first_of(*this, false); }
const NonFinite* OpCall::first_nan() const { return first_of(*this, true); }

const Operand* same_tensor(const OpCall& call, const Operand& operand) {
  const Operand* found = nullptr;
  for (const Operand& other : call.operands) {
    const bool is_same = other.dtypes == operand.dtypes && other.origin == operand.origin &&
                         other.parameter == operand.parameter;
    if (!is_same) continue;
    if (other.name == operand.name) return &other;
    if (found != nullptr) return nullptr;
    found = &other;
  }
  return found;
}

}  // namespace dtypecheck
