// autocast_regions.cpp: a stack a thread, of numbers that the file's header gives meaning.
#include "tracer/hook/autocast_regions.h"

#include <cstring>

#include "tracer/hook/sites.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {
namespace {

// 0 when there is no room for another one.
uint8_t number_of(uint32_t site) {
  uint32_t* sites = tracer.file.header()->autocast_sites;
  for (uint32_t i = 0; i < trace::kMaxAutocastSites; ++i) {
    uint32_t found = 0;
    if (__atomic_compare_exchange_n(&sites[i], &found, site, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        found == site)
      return static_cast<uint8_t>(i + 1);
  }
  return 0;
}

}  // namespace

void on_autocast(int entered) {
  ThreadState* state = entered ? thread_state() : existing_thread_state();
  if (!state || state->busy) return;
  if (!entered) {
    if (state->region_depth > 0) --state->region_depth;
    return;
  }
  const uint32_t site = tracer.is_on() ? site_id(site_here(state)) : 0;
  state->regions[state->region_depth++ % ThreadState::kMaxRegions] = site ? number_of(site) : 0;
}

void forget_autocast_regions() {
  for (ThreadState* state = first_thread_state(); state; state = state->next)
    std::memset(state->regions, 0, sizeof state->regions);
}

}  // namespace dtypecheck::tracer
