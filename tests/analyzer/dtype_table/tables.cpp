#include <torch/torch.h>

#include <map>
#include <string>
#include <unordered_map>

enum Theirs { kInt8, kUint8, kInt32, kInt64, kFP16, kBF16, kFloat32, kOther };

Theirs of_switch(at::ScalarType type) {
  switch (type) {
    case at::kChar: return kUint8;
    // EXPECT error: kUint8 stands for Char, and its name says Byte [dtype-table]
    case at::kByte: return kUint8;
    case at::kBool: return kUint8;
    case at::kHalf: return kBF16;
    // EXPECT error: kBF16 stands for Half, and its name says BFloat16 [dtype-table]
    case at::kBFloat16: return kBF16;
    case at::kLong: return kInt32;
    case at::kDouble: return kFloat32;
    case at::kInt: return kInt32;
    default: return kOther;
  }
}

const std::map<Theirs, at::ScalarType> of_theirs = {
    {kFP16, at::kBFloat16},
    // EXPECT error: kFP16 stands for BFloat16, and its name says Half [dtype-table]
    {kInt64, at::kLong}, {kFloat32, at::kFloat}};
const std::unordered_map<std::string, at::ScalarType> of_names = {
    {"float32", at::kFloat}, {"torch.float16", at::kHalf}, {"int", at::kLong}, {"float", at::kDouble},
    // EXPECT warning: this table has Half and no BFloat16, which its project has elsewhere [dtype-table]
    {"int64", at::kInt}};
// EXPECT error: int64 stands for Int, and its name says Long [dtype-table]

at::ScalarType chosen(const std::string& name) {
  at::ScalarType type = name == "float64" ? at::kFloat : at::kHalf;
  // EXPECT error: float64 stands for Float, and its name says Double [dtype-table]
  if (name == "uint8") type = at::kByte;
  if (name == "half") {
    type = at::kHalf;
  }
  return type;
}

std::string message(at::ScalarType type) {
  if (type == at::kHalf) return "half is not served, cast to float32";
  return type == at::kFloat ? "float32" : "other";
}

namespace dnnl {
enum class data_type { f16, bf16, f32, f64, s32, tf32 };
}

dnnl::data_type of_dnnl(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return dnnl::data_type::f32;
    case at::kBFloat16: return dnnl::data_type::f16;
    // EXPECT error: f16 stands for BFloat16, and its name says Half [dtype-table]
    case at::kHalf: return dnnl::data_type::f16;
    case at::kLong: return dnnl::data_type::s32;
    default: return dnnl::data_type::tf32;
  }
}

// A project's own dtypes beside a library's.
enum class Ours { kFloat16, kBFloat16, kFloat32 };
Theirs of_ours(Ours ours) {
  switch (ours) {
    case Ours::kFloat16: return kFP16;
    case Ours::kBFloat16: return kFP16;
    // EXPECT error: kFP16 stands for BFloat16, and its name says Half [dtype-table]
    case Ours::kFloat32: return kBF16;
  }
  return kOther;
}
