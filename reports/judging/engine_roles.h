// engine_roles.h: compares a trainer with the engine that generates with the same model. Their ops,
// phases and modules differ, but the dtypes of what both have must agree: the weights, what a layer
// and a norm compute in, keys, values and their cache, the softmax over the logits, the sampler. A
// lock of these alone, so that two compare.
#pragma once

#include <utility>

#include "reports/judging/lock.h"

namespace dtypecheck::judging {

// What lock_diff.h says of the two is of roles: "forward norm result: Float → BFloat16". Modules
// are named as in `trainer`, whatever holds the model there and there, and what one of the two
// packs (qkv_proj) as its parts. A name that both have is left as it is.
std::pair<Lock, Lock> roles_of(const Lock& trainer, const Lock& engine);

}  // namespace dtypecheck::judging
