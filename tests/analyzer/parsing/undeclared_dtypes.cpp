// What a library that is not there calls its dtypes tells as much as one that is.
#include <torch/torch.h>

void run(at::Tensor x, theirs::data_type type) {
  theirs::set(at::kFloat, type);
  if (theirs::data_type::bf16 == type) {
    theirs::run<at::BFloat16>(x);
  } else if (theirs::data_type::f16 == type) {
    theirs::run<at::BFloat16>(x);
    // EXPECT warning: type is Half here, and is called BFloat16 [dtype-branch]
  }
}
