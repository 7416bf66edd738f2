// codes.h: the numbers that stand in a trace. C++17 and plain, because the tracer is compiled as
// the LibTorch that it goes into asks for; everything else about them (names, sets) is in the
// headers that include this one.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "ops/role.h"

namespace dtypecheck {

// What a GPU did for an op.
enum class GpuWorkKind : uint8_t { kKernel = 1, kCopy = 2, kFill = 3 };
constexpr GpuWorkKind kLastGpuWorkKind = GpuWorkKind::kFill;

enum class Phase : uint8_t {
  kUnknown = 0,
  kLoad = 1,
  kForward = 2,
  kBackward = 3,
  kOptimizer = 4,
  kData = 5
};
constexpr Phase kLastPhase = Phase::kData;

// What became of a result that is far from what it would be: how far it went.
enum class Arrival : uint8_t {
  kUnknown = 0,
  kLoss = 1,     // backward() is called on what came of it
  kRead = 2,     // the program reads a number of it
  kKept = 3,     // a tensor of which nothing more is computed
  kLost = 4,     // an op of which no other result is known
  kProduct = 5,  // an op that multiplies it, perhaps with weights, behind which it was near again;
                 // gives way to any other of the same op call
};
constexpr Arrival kLastArrival = Arrival::kProduct;

// Which numbers of a module are followed over a run.
enum class HealthRole : uint8_t { kActivation = 1, kGradient = 2, kWeight = 3, kState = 4 };
constexpr HealthRole kLastHealthRole = HealthRole::kState;

// What is special about a tensor. Only kDense has a dtype, a device and a shape that could be read
// in full.
enum class TensorKind : uint8_t {
  kDense = 0,
  kUndefined = 1,  // an omitted optional tensor
  kSubclass = 2,   // __torch_dispatch__ subclass: dtype as its wrapper says
  kFake = 3,       // FakeTensor: a compiler is tracing, nothing is computed
  kSymbolic = 4,   // symbolic sizes
  kNested = 5,
  kSparse = 6,
  kQuantized = 7,
  kMeta = 8,
  kFunctorch = 9,  // vmap/grad wrapper
};
constexpr TensorKind kLastTensorKind = TensorKind::kFunctorch;

// How a process ended, as far as its trace tells.
enum class EndState : uint8_t {
  kRunning = 0,   // no end was recorded: killed, os._exit, or still running
  kExited = 1,    // went through exit()
  kReplaced = 2,  // exec() put another program in its place
};
constexpr EndState kLastEndState = EndState::kReplaced;

}  // namespace dtypecheck
