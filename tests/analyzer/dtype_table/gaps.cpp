// A table with Half has BFloat16 beside it, one with Int has Long, and none lacks the Long of another; what refuses a dtype
// by its name, or computes something for it, is no gap.
#include <torch/torch.h>

#include <map>

enum Theirs { kSmall, kWide, kWhole, kWholeWide, kTruth, kNothing };

const std::map<at::ScalarType, Theirs> of_map = {
    {at::kHalf, kSmall},
    // EXPECT warning: this table has Half and no BFloat16, which its project has elsewhere [dtype-table]
    {at::kFloat, kWide},
    {at::kLong, kWholeWide}};

Theirs of_switch(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return kWide;
    case at::kInt: return kWhole;
    // EXPECT note: this table has Int and no Long [dtype-table]
    case at::kHalf: return kSmall;
    case at::kBFloat16: throw 1;
    default: return kNothing;
  }
}

Theirs of_chain(at::ScalarType type) {
  if (type == at::kFloat) {
    return kWide;
  } else if (type == at::kHalf) {
    // EXPECT warning: this table has Half and no BFloat16, which its project has elsewhere [dtype-table]
    // EXPECT note: this table has Half and no Long, which another table of this file has [dtype-table]
    return kSmall;
  }
  return kNothing;
}

at::ScalarType of_theirs(Theirs theirs) {
  switch (theirs) {
    case kSmall: return at::kHalf;
    // EXPECT warning: this table has Half and no BFloat16, which its project has elsewhere [dtype-table]
    case kWide: return at::kFloat;
    case kWholeWide: return at::kLong;
    default: return at::kByte;
  }
}

int64_t run(at::Tensor x);

int64_t computed(at::Tensor x) {
  switch (x.scalar_type()) {
    case at::kInt: return run(x.to(at::kFloat));
    case at::kShort: return run(x);
    default: return 0;
  }
}
