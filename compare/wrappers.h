// wrappers.h: names of modules and weights that two runs have in common, though one of them wraps
// its model: DistributedDataParallel calls it "module", torch.compile "_orig_mod", and the variable
// that holds it may have another name as well.
#pragma once

#include <string>

#include "trace/digests.h"

namespace dtypecheck::compare {

// "model.module.net._orig_mod.up" is "model.net.up". "module" stands behind the model alone.
std::string without_wrappers(const std::string& name);

// Takes what wraps modules from the names of both. Where each run has one model that the other has
// not, the second's gets the name of the first's.
void unify_names(DigestedProcess& a, DigestedProcess& b);

}  // namespace dtypecheck::compare
