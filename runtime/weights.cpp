#include "runtime/weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "platform/error.h"

namespace dtypecheck::runtime {

at::Tensor tensor_of(const std::shared_ptr<const SafetensorsFile>& file,
                     const StoredTensor& stored) {
  const auto dtype = static_cast<at::ScalarType>(stored.dtype);  // the numbers are LibTorch's own
  if (stored.bytes.empty()) return at::empty(stored.shape, dtype);
  void* data = const_cast<std::byte*>(stored.bytes.data());  // a private mapping may be written to
  const auto keep = [file](void*) {};
  const bool aligned = reinterpret_cast<uintptr_t>(data) % at::elementSize(dtype) == 0;
  if (aligned) return at::from_blob(data, stored.shape, keep, dtype);
  at::Tensor copy = at::empty(stored.shape, dtype);
  std::memcpy(copy.data_ptr(), data, stored.bytes.size());
  return copy;
}

void save_tensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> kept;
  std::vector<StoredTensor> stored;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().cpu().contiguous());
    const at::Tensor& t = kept.back();
    stored.push_back({name,
                      static_cast<Dtype>(t.scalar_type()),
                      t.sizes().vec(),
                      {static_cast<const std::byte*>(t.data_ptr()), t.nbytes()}});
  }
  write_safetensors(path, stored, metadata);
}

Weights::Weights(const std::string& folder, const std::string& stem, const PartPolicy& policy,
                 at::Generator* invented)
    : where_(folder), stem_(stem), invented_(invented), policy_(policy) {
  if (invented_) return;
  for (const auto& file : open_weights(folder, stem)) {
    for (const StoredTensor& tensor : file->tensors()) {
      if (!places_.emplace(tensor.name, StoredAt{file, &tensor}).second) {
        throw InputError(fmt::format("{}: {} is in two files", where_, tensor.name));
      }
    }
  }
}

void Weights::set_optional_prefix(const std::string& prefix) {
  const auto found = places_.lower_bound(prefix);
  const bool is_there = found != places_.end() && found->first.starts_with(prefix);
  prefix_ = is_there || invented_ ? prefix : "";
}

// Norms near the identity, small biases, and the rest so that what goes in comes out as large.
at::Tensor Weights::invent(const std::string& name, const std::vector<int64_t>& shape) {
  at::Tensor tensor = at::randn(shape, *invented_, at::kFloat);
  if (shape.size() == 1) {
    tensor = tensor * 0.05 + (name.ends_with(".weight") ? 1 : 0);
  } else {
    tensor = tensor / std::sqrt(static_cast<double>(tensor[0].numel()));
  }
  return invented_tensors_[prefix_ + name] = tensor;
}

at::Tensor Weights::take(const std::string& name, std::vector<int64_t> shape,
                         at::ScalarType dtype) {
  if (invented_) return invent(name, shape).to(policy_.device, dtype);
  const auto found = places_.find(prefix_ + name);
  if (found == places_.end()) {
    throw InputError(fmt::format("{}: {} is missing, expected with shape [{}]", where_,
                                 prefix_ + name, fmt::join(shape, ", ")));
  }
  const StoredTensor& stored = *found->second.tensor;
  if (stored.shape != shape) {
    throw InputError(fmt::format("{}: {} has shape [{}], its config asks for [{}]", where_, name,
                                 fmt::join(stored.shape, ", "), fmt::join(shape, ", ")));
  }
  if (!kFloating.contains(stored.dtype)) {
    throw InputError(fmt::format("{}: {} is {}, expected a floating dtype", where_, name,
                                 dtype_name(stored.dtype)));
  }
  used_.insert(found->first);
  const at::Tensor mapped = tensor_of(found->second.file, stored);
  taken_.emplace_back(found->first, dtype == kAsStored ? mapped : mapped.to(policy_.device, dtype));
  if (!taken_.back().second.is_same(mapped)) found->second.file->release(stored);
  return taken_.back().second;
}

Linear Weights::linear(const std::string& name, int64_t in, int64_t out, bool has_bias,
                       const PartPolicy& policy) {
  Linear layer{take(name + ".weight", {out, in}, policy.stored), {}, policy.computes(), {}};
  if (has_bias) layer.bias = take(name + ".bias", {out}, policy.stored);
  return layer;
}

Linear Weights::linear(const std::string& name, int64_t in, int64_t out, bool has_bias) {
  return linear(name, in, out, has_bias, policy_);
}

Conv2d Weights::conv(const std::string& name, int64_t in, int64_t out, int64_t size,
                     int64_t stride) {
  return {take(name + ".weight", {out, in, size, size}, policy_.stored),
          take(name + ".bias", {out}, policy_.stored), policy_.computes(), stride, size / 2};
}

LayerNorm Weights::layer_norm(const std::string& name, int64_t width, double eps) {
  return {take(name + ".weight", {width}, policy_.norm),
          take(name + ".bias", {width}, policy_.norm), eps, policy_.norms(), policy_.computes()};
}

GroupNorm Weights::group_norm(const std::string& name, int64_t groups, int64_t channels,
                              double eps) {
  return {take(name + ".weight", {channels}, policy_.norm),
          take(name + ".bias", {channels}, policy_.norm),
          groups,
          eps,
          policy_.norms(),
          policy_.computes()};
}

RmsNorm Weights::rms_norm(const std::string& name, int64_t width, double eps) {
  return {take(name + ".weight", {width}, policy_.norm), eps, policy_.norms(), policy_.computes(),
          policy_.fused_norm};
}

at::Tensor Weights::embedding(const std::string& name, int64_t rows, int64_t width,
                              bool is_token_table) {
  const at::ScalarType dtype =
      is_token_table ? policy_.table.value_or(policy_.stored) : policy_.stored;
  return take(name + ".weight", {rows, width}, dtype);
}

void Weights::require_all_used() {
  if (invented_) {
    save_tensors(where_ + "/" + stem_ + ".safetensors", invented_tensors_, {{"format", "pt"}});
  }
  for (const auto& [name, place] : places_) {
    if (used_.contains(name)) continue;
    throw InputError(
        fmt::format("{}: {} belongs to no layer that its config asks for; are weights "
                    "and config of the same model?",
                    where_, name));
  }
}

}  // namespace dtypecheck::runtime
