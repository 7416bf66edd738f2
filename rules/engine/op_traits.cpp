#include "rules/engine/op_traits.h"

#include <string>
#include <unordered_map>

namespace dtypecheck::rules {
namespace {

struct Traits {
  uint32_t traits;
  const char* names;  // base names, separated by spaces
};

// Measured on LibTorch 2.11: the promoting ops answer a Half and a Float operand in Float, raise
// for no pair of floating dtypes, and let 0-d tensors and numbers adapt.
constexpr Traits kTable[] = {
    {kPromotes,
     "add sub rsub mul div true_divide subtract multiply divide pow float_power floor_divide "
     "remainder fmod where cat concat concatenate stack hstack vstack dstack column_stack addcmul "
     "addcdiv maximum minimum fmax fmin clamp clamp_min clamp_max atan2 arctan2 copysign hypot "
     "xlogy logaddexp logaddexp2 outer ger addr slice_scatter select_scatter diagonal_scatter"},
    {kCasts, "to _to_copy type_as copy _autocast_to_reduced_precision _autocast_to_full_precision"},
    {kIsView,
     "view _unsafe_view reshape _reshape_alias transpose t permute expand expand_as select slice "
     "narrow unsqueeze squeeze flatten unflatten contiguous detach alias clone as_strided chunk "
     "split unbind movedim swapaxes view_as reshape_as lift_fresh"},
    {kIsNorm,
     "layer_norm native_layer_norm group_norm native_group_norm batch_norm native_batch_norm "
     "_native_batch_norm_legit _native_batch_norm_legit_no_training _batch_norm_with_update "
     "_batch_norm_impl_index instance_norm rms_norm _fused_rms_norm"},
    {kIsLoss,
     "mse_loss huber_loss l1_loss smooth_l1_loss kl_div cross_entropy_loss nll_loss "
     "nll_loss_forward nll_loss_nd nll_loss2d binary_cross_entropy "
     "binary_cross_entropy_with_logits cosine_similarity cosine_embedding_loss "
     "hinge_embedding_loss margin_ranking_loss triplet_margin_loss soft_margin_loss "
     "gaussian_nll_loss poisson_nll_loss dist pairwise_distance"},
    {kLossRefusesBackward, "mse_loss huber_loss"},
    {kReduces, "pow square abs mean sum nansum norm linalg_vector_norm"},
    {kUpdates,
     "add sub mul div addcmul addcdiv lerp _fused_adam _fused_adamw _fused_sgd _fused_adagrad"},
    {kDivides, "div true_divide divide addcdiv reciprocal"},
    {kIsSubtraction, "sub subtract rsub"},
    {kScales, "mul div"},
    {kAddsScalar, "add sub rsub clamp_min maximum"},
    {kIsFactory,
     "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize "
     "full full_like new_full zeros ones zeros_like ones_like new_zeros new_ones scalar_tensor "
     "arange linspace logspace eye fill zero set"},
    {kIsMask, "masked_fill where triu tril index_fill masked_scatter fill full full_like"},
    {kScalesGradients, "_amp_non_finite_check_and_unscale _amp_update_scale"},
};

std::unordered_map<std::string, uint32_t> make_table() {
  std::unordered_map<std::string, uint32_t> table;
  for (const Traits& entry : kTable) {
    std::string_view rest = entry.names;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      table[std::string(rest.substr(0, end))] |= entry.traits;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return table;
}

uint32_t base_traits(const OpName& name) {
  static const auto table = make_table();
  const auto found = table.find(std::string(name.base));
  return found == table.end() ? 0 : found->second;
}

}  // namespace

OpName parse_op_name(std::string_view op) {
  OpName parsed;
  const size_t colons = op.find("::");
  if (colons != op.npos) parsed.name_space = op.substr(0, colons);
  parsed.name = colons == op.npos ? op : op.substr(colons + 2);
  parsed.base = parsed.name;
  if (parsed.base.size() > 1 && parsed.base.ends_with('_') && !parsed.base.ends_with("__")) {
    parsed.in_place = true;
    parsed.base.remove_suffix(1);
  }
  constexpr std::string_view kForeach = "_foreach_";
  if (parsed.base.starts_with(kForeach)) {
    parsed.foreach = true;
    parsed.base.remove_prefix(kForeach.size());
  }
  return parsed;
}

uint32_t op_traits(std::string_view op) {
  const OpName name = parse_op_name(op);
  if (name.name_space != "aten") return 0;
  uint32_t traits = base_traits(name);
  if (name.name.find("_amp_") == 0) traits |= kScalesGradients;
  if (name.base.ends_with("_backward")) traits |= kIsBackward;
  if (!name.in_place) traits &= ~uint32_t{kUpdates};
  if (name.in_place)
    traits &= ~uint32_t{kPromotes};  // the result keeps the dtype of what is written
  return traits;
}

}  // namespace dtypecheck::rules
