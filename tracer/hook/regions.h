// regions.h: a torch.compile region is one op call: "compiled::inductor_forward_0" with its inputs
// and results.
#pragma once

namespace dtypecheck::tracer {

// Cold. True once regions are seen.
bool watch_compiled_regions();

}  // namespace dtypecheck::tracer
