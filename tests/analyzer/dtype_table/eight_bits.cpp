// Bytes hold what has eight bits, and E4M3 is called so with or without infinities.
#include <torch/torch.h>

enum class Theirs8 { kFP8_E4M3, kUint8, kOther };
Theirs8 of_eight(at::ScalarType type) {
  switch (type) {
    case at::kByte: return Theirs8::kFP8_E4M3;
    case at::ScalarType::Float8_e4m3fnuz: return Theirs8::kFP8_E4M3;
    case at::ScalarType::Float8_e4m3fn: return Theirs8::kUint8;
    case at::ScalarType::Float8_e5m2: return Theirs8::kFP8_E4M3;
    // EXPECT error: kFP8_E4M3 stands for Float8_e5m2, and its name says Float8_e4m3fn [dtype-table]
    default: return Theirs8::kOther;
  }
}
