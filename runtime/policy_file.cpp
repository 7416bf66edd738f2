// A dtype policy in JSON: a named one, and what is to be otherwise.
//
//   {"base": "fp16-mixed",
//    "text_encoders": {"stored": "float16", "compute": "float16", "norm": "float32",
//                      "table": null, "casts": true, "attention": "fused", "rms_norm": "plain"},
//    "vae": {…}, "unet": {…}, "t5": {…},
//    "trained": {"stored": "float32", "master": null, "saved": "float32", "unscaled": "float32",
//                "state": "float32", "rounding": "nearest"},
//    "scale_loss": true}
#include <fmt/format.h>

#include "core/dtype_names.h"
#include "core/dtype_set.h"
#include "runtime/json_file.h"
#include "runtime/policy.h"

namespace dtypecheck::runtime {

namespace {

// LibTorch's numbers of dtypes are ours.
at::ScalarType dtype_of(const JsonObject& from, const std::string& key) {
  const std::string name = from.text(key);
  const Dtype dtype = dtype_of_torch(name);
  if ((kLowPrecision | Dtype::kFloat).contains(dtype)) return static_cast<at::ScalarType>(dtype);
  from.fail(key, fmt::format("expected float32, bfloat16 or float16, got {}", shown_text(name)));
}

void read_dtype(const JsonObject& from, const std::string& key, at::ScalarType& dtype) {
  if (from.json().contains(key)) dtype = dtype_of(from, key);
}

// null says that there is none.
void read_dtype(const JsonObject& from, const std::string& key,
                std::optional<at::ScalarType>& dtype) {
  if (!from.json().contains(key)) return;
  dtype = from.has(key) ? std::optional(dtype_of(from, key)) : std::nullopt;
}

// One of two words.
void read_word(const JsonObject& from, const std::string& key, const std::string& no,
               const std::string& yes, bool& value) {
  if (!from.json().contains(key)) return;
  const std::string word = from.text(key);
  if (word != no && word != yes) {
    from.fail(key, fmt::format("expected {} or {}, got {}", no, yes, shown_text(word)));
  }
  value = word == yes;
}

void read_part(const JsonObject& policy, const std::string& name, PartPolicy& part) {
  if (!policy.has(name)) return;
  const JsonObject from = policy.object(name);
  from.require_known({"stored", "compute", "norm", "table", "casts", "attention", "rms_norm"});
  read_dtype(from, "stored", part.stored);
  read_dtype(from, "compute", part.compute);
  read_dtype(from, "norm", part.norm);
  read_dtype(from, "table", part.table);
  part.casts = from.boolean_or("casts", part.casts);
  read_word(from, "attention", "plain", "fused", part.fused_attention);
  read_word(from, "rms_norm", "plain", "fused", part.fused_norm);
}

void read_trained(const JsonObject& policy, TrainedPolicy& trained) {
  if (!policy.has("trained")) return;
  const JsonObject from = policy.object("trained");
  from.require_known({"stored", "master", "saved", "unscaled", "state", "rounding"});
  read_dtype(from, "stored", trained.stored);
  read_dtype(from, "master", trained.master);
  read_dtype(from, "saved", trained.saved);
  read_dtype(from, "unscaled", trained.unscaled);
  read_dtype(from, "state", trained.state);
  read_word(from, "rounding", "nearest", "stochastic", trained.stochastic_rounding);
}

}  // namespace

const char* dtype_name_of(at::ScalarType dtype) {
  const DtypeNames* names = names_of(static_cast<Dtype>(dtype));
  return names == nullptr ? c10::toString(dtype) : names->torch;
}

DtypePolicy read_policy(const std::string& path) {
  const JsonObject from = JsonObject::read(path);
  from.require_known({"base", "text_encoders", "vae", "unet", "t5", "trained", "scale_loss"});
  const std::string base = from.text_or("base", "fp32");
  if (is_policy_file(base)) from.fail("base", "expected a named policy, not another file");
  DtypePolicy policy = find_policy(base);
  policy.name = path;
  read_part(from, "text_encoders", policy.text_encoders);
  read_part(from, "vae", policy.vae);
  read_part(from, "unet", policy.unet);
  read_part(from, "t5", policy.t5);
  read_trained(from, policy.trained);
  policy.scale_loss = from.boolean_or("scale_loss", policy.scale_loss);
  return policy;
}

}  // namespace dtypecheck::runtime
