// check_model.h: whether a folder is a model that can be trained, without training it. No LibTorch
// in here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

struct CheckedPart {
  std::string name;
  size_t tensors;
  uint64_t numbers, size_bytes;
  std::vector<std::string> dtypes;  // that the file has
};

// Reads configs, tokenizers and schedule, and maps the weights: every tensor that a config asks
// for is there in its shape, there is none beside them, and the parts fit each other. With `values`
// every number is read too. Throws InputError that names what is not so.
std::vector<CheckedPart> check_model(const std::string& model, bool values);

}  // namespace dtypecheck::runtime
