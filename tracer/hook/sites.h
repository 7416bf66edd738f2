// sites.h: where an op was called, as the id of a site record.
#pragma once

#include <cstdint>

#include "tracer/hook/thread_state.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {

// A site as the hot path carries it: the record's id, and in the highest bits whether it lies
// inside an nn.Module, in a method of an optimizer, in the closure that one was given.
constexpr uint32_t kSiteInModule = 1u << 31;
constexpr uint32_t kSiteInOptimizer = 1u << 30;
constexpr uint32_t kSiteInClosure = 1u << 29;
inline uint32_t site_id(uint32_t site) { return site & (kSiteInClosure - 1); }
inline bool site_in_module(uint32_t site) { return (site & kSiteInModule) != 0; }

// Hot when the site was seen before; else it is resolved and written down. 0 when nothing is known.
uint32_t site_here(ThreadState* state, Expected* expected = nullptr);

// The line that called the module or extension which this thread is in now, as a line's id; 0:
// none.
uint32_t caller_here();

// Cold. Calls of one line in one module have one site, of the first of them: that of an op call of
// this thread, with the line that called the module or function now.
uint32_t with_caller_of_now(uint32_t site);

// Writes down where Python called what refused its arguments outside of every op; the inner line is
// that of the extension, if one throws.
uint32_t write_refusal_site(const python::Site& site);

// The name of the module that a site lies in, as a string's id; 0: outside of modules.
uint32_t module_of_site(uint32_t id);

// In a forked child: nothing was written yet.
void forget_sites();

}  // namespace dtypecheck::tracer
