// weights.h: the weights of one part of a model, handed out by name and checked against the shapes
// that its config asks for.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/policy.h"
#include "runtime/safetensors.h"

namespace dtypecheck::runtime {

// A view of the file where it can be (same dtype, aligned); it keeps the file mapped.
at::Tensor tensor_of(const std::shared_ptr<const SafetensorsFile>& file,
                     const StoredTensor& stored);

// Saves what is on the CPU and contiguous, sorted by name.
void save_tensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors,
                  const std::map<std::string, std::string>& metadata);

class Weights {
 public:
  // folder/stem.safetensors and so on, as open_weights has it. With `invented` there are none yet:
  // they are drawn from it, and require_all_used writes the file.
  Weights(const std::string& folder, const std::string& stem, const PartPolicy& policy,
          at::Generator* invented = nullptr);

  // A prefix that some writers put before all names and others do not. Before "": no prefix is
  // looked for any more.
  void set_optional_prefix(const std::string& prefix);
  // Tensors that older writers saved and that are no weights.
  void ignore(const std::string& name) { used_.insert(prefix_ + name); }

  // What Linear, Conv2d and so on are made of; `name` without ".weight". Throws InputError when a
  // tensor is missing or of another shape or not of a floating dtype.
  Linear linear(const std::string& name, int64_t in, int64_t out, bool has_bias = true);
  // Under another policy than the rest.
  Linear linear(const std::string& name, int64_t in, int64_t out, bool has_bias,
                const PartPolicy& policy);
  Conv2d conv(const std::string& name, int64_t in, int64_t out, int64_t size, int64_t stride = 1);
  LayerNorm layer_norm(const std::string& name, int64_t width, double eps);
  GroupNorm group_norm(const std::string& name, int64_t groups, int64_t channels, double eps);
  RmsNorm rms_norm(const std::string& name, int64_t width, double eps);
  // The policy's table dtype is for the token table; other tables are stored as the rest.
  at::Tensor embedding(const std::string& name, int64_t rows, int64_t width,
                       bool is_token_table = false);

  // Everything that was handed out so far, by its name in the file.
  const std::vector<std::pair<std::string, at::Tensor>>& taken() const { return taken_; }

  // Throws InputError when the file has tensors that nobody asked for: then it is another model's.
  void require_all_used();
  const PartPolicy& policy() const { return policy_; }

 private:
  struct StoredAt {
    std::shared_ptr<const SafetensorsFile> file;
    const StoredTensor* tensor;
  };
  at::Tensor invent(const std::string& name, const std::vector<int64_t>& shape);
  at::Tensor take(const std::string& name, std::vector<int64_t> shape, at::ScalarType dtype);

  std::string where_, stem_, prefix_;
  at::Generator* invented_;
  std::map<std::string, at::Tensor> invented_tensors_;
  PartPolicy policy_;
  std::map<std::string, StoredAt> places_;
  std::set<std::string> used_;
  std::vector<std::pair<std::string, at::Tensor>> taken_;
};

}  // namespace dtypecheck::runtime
