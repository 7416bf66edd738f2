#include "kernels/group_norm/group_norm.h"

#include "kernels/norm_arguments.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void group_norm_bfloat16(const GroupNorm&);
void group_norm_backward_bfloat16(const GroupNormBackward&);
void group_norm_vectors(const GroupNorm&);
void group_norm_backward_vectors(const GroupNormBackward&);

template <>
DeviceVariant<GroupNorm>::Run DeviceVariant<GroupNorm>::run = nullptr;
template <>
DeviceVariant<GroupNormBackward>::Run DeviceVariant<GroupNormBackward>::run = nullptr;

static constexpr Variant<GroupNorm> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(GroupNorm)  //
    {"bfloat16", in_bfloat16, group_norm_bfloat16},
    {"vectors", vectors, group_norm_vectors},
    {"ref", always, group_norm_ref},
};
static constexpr Variant<GroupNormBackward> kBackwardVariants[] = {
    DTYPECHECK_GRID_VARIANT(GroupNormBackward)  //
    {"bfloat16", in_bfloat16, group_norm_backward_bfloat16},
    {"vectors", vectors, group_norm_backward_vectors},
    {"ref", always, group_norm_backward_ref},
};

std::span<const Variant<GroupNorm>> group_norm_variants() { return kVariants; }
std::span<const Variant<GroupNormBackward>> group_norm_backward_variants() {
  return kBackwardVariants;
}

template <class Arguments>
static void require_shape(const Arguments& a, const char* name) {
  require(a.samples >= 0 && a.channels >= 1 && a.spatial >= 1, name,
          "samples of 0 or more, channels and spatial of 1 or more");
  require(a.groups >= 1 && a.channels % a.groups == 0, name, "groups that divide the channels");
}

void group_norm(const GroupNorm& a) {
  const char* const name = "group_norm";
  require_shape(a, name);
  require_norm(a, name, a.samples == 0);
  require_numbers(a.beta, name, "beta", /*optional=*/true);
  run_first(group_norm_variants(), a);
}

void group_norm_backward(const GroupNormBackward& a) {
  const char* const name = "group_norm_backward";
  require_shape(a, name);
  require_norm_backward(a, name, a.samples == 0);
  require_numbers(Input{a.mean}, name, "mean", a.samples == 0);
  require_numbers(a.dbeta, name, "dbeta", /*optional=*/true);
  require_numbers(a.beta, name, "beta", /*optional=*/true);
  run_first(group_norm_backward_variants(), a);
}

}  // namespace dtypecheck::kernels
