// fake_cupti.h: what tests tell the libcupti that is none. It speaks the real one's protocol:
// callbacks at launches, buffers asked for and given back, records read out of them.
#pragma once

#include <cstdint>

extern "C" {
// The result that each call of this function will have: "cuptiSubscribe", 39.
void fake_cupti_fail(const char* function, int result);
void fake_cupti_reset();

// A launch in the calling thread, and the record of what it did. Correlation ids count from 1.
void fake_launch(const char* kernel, uint64_t time_ns);
// So many launches of these kernels in turns, and what the recorder's reading of records took in
// all.
void fake_launches(const char* const* kernels, uint32_t count, uint64_t launches);
uint64_t fake_reading_ns();
void fake_cupti_version(uint32_t version);
void fake_copy(uint64_t bytes, uint64_t time_ns);
// A record whose launch no callback saw, one of a kind that nobody knows, and lost ones.
void fake_stray(const char* kernel);
void fake_unknown();
void fake_drop(uint64_t count);
// A kernel that is captured into a graph under `node`, its copy in the executable graph, and the
// launch of that.
void fake_capture(uint64_t node);
void fake_instantiate(uint64_t node, uint64_t copy);
void fake_graph_launch(uint64_t copy, const char* kernel, uint64_t time_ns);

int fake_cupti_calls(const char* function);  // so far
int fake_cupti_buffers();                    // that it holds
}
