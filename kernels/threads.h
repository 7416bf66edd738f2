// threads.h: where the parts of an operation run. In LibTorch's processes its own threads should
// (set_parallel_for with a function that calls at::parallel_for); else a pool of this library's
// does, as many as the process may use. What is computed is the same to the bit whoever runs it:
// operations are cut into parts by their sizes alone, and what parts add up is added in order.
#pragma once

#include <cstdint>

namespace dtypecheck::kernels {

// About so many numbers make a part worth a thread, where each takes a few cycles.
inline constexpr int64_t kPartNumbers = 1 << 15;

using Part = void (*)(void* context, int64_t index);

// Calls part(context, i) for each i of 0 … parts - 1 in any order, and returns when all have
// returned. Throws what a part threw.
using ParallelFor = void (*)(int64_t parts, Part part, void* context);

void set_parallel_for(ParallelFor run);                  // for all threads; null: the pool again
void in_order(int64_t parts, Part part, void* context);  // a ParallelFor: the calling thread alone

// Calls of a part are not cut again: they run in order, on the part's thread.
void run_parts(int64_t parts, Part part, void* context);

template <class Body>
void for_each_part(int64_t parts, const Body& body) {
  const Part call = [](void* context, int64_t i) { (*static_cast<const Body*>(context))(i); };
  run_parts(parts, call, const_cast<Body*>(&body));
}

}  // namespace dtypecheck::kernels
