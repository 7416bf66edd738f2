// kernel_name.h: what the name of a GPU kernel says of its arithmetic. No counter tells that
// without special rights and a run of its own, and the op's dtype does not: a Half op may be summed
// up in Half, a Float one be multiplied in TF32. The grammar is
// rules/kernel_names/kernel_names.txt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "platform/data_file.h"

namespace dtypecheck::gpu {

// What the name does not say is empty.
struct KernelArithmetic {
  std::string family;            // of names: "xmma", "cutlass 3"
  std::optional<Dtype> in, out;  // in memory: of the first operand, and of the result
  std::optional<Dtype> math;     // what products are made of
  std::optional<Dtype> sum;      // what they are added up in
  bool is_tf32 = false;    // Float that is cut to ten bits of mantissa before it is multiplied
  bool is_product = true;  // of two matrices, or a convolution
  std::optional<bool> tensor_core;
};

// `name` as CUPTI or a profiler has it, mangled or not. Nothing for a name that no form fits, and
// for one that is longer than any kernel's.
std::optional<KernelArithmetic> read_kernel_name(std::string_view name);

// As a person reads it: demangled, without what it returns, and no longer than a line or two.
std::string shown_kernel_name(std::string_view name);

// "TF32 x TF32 + Float, Float to Float, tensor cores"; what is not known is "?".
std::string in_words(const KernelArithmetic& arithmetic);

// A grammar; another one than the embedded is for tests. Throws InputError with file and line.
class KernelNames {
 public:
  static const KernelNames& embedded();
  KernelNames(std::string_view text, std::string_view file);
  ~KernelNames();
  KernelNames(KernelNames&&) noexcept;
  std::optional<KernelArithmetic> read(std::string_view name) const;

 private:
  struct Form;
  struct Tables;
  static Form read_form(const DataBlock& block, const Tables& tables);

  std::unique_ptr<Tables> tables_;  // forms point into it
  std::vector<Form> forms_;
};

}  // namespace dtypecheck::gpu
