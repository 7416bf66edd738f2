// factories.h: what Python makes tensors of (python/factories.h), as op calls.
#pragma once

namespace dtypecheck {
namespace tracer {

// Cold; called until it is done, which is once torch is imported.
void watch_factories();

}  // namespace tracer
}  // namespace dtypecheck
