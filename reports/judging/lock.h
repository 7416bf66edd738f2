// lock.h: what each module of a run computes in, as a text that reads well in a code review, is
// kept beside the source, and is compared with later runs:
//
//   # dtypecheck lock 1
//   # LibTorch 2.11.0, cpu
//   unet.down_blocks.{0-2}.attn.{to_k,to_q,to_v}
//     parameters weight=Float
//     forward aten::linear input=BFloat16 weight=BFloat16 -> BFloat16 @cpu autocast BFloat16
//     backward aten::mm self=BFloat16 mat2=BFloat16 -> BFloat16 @cpu
//
// Names of modules (or, outside of modules, FILE:FUNCTION) begin a line, and what they do stands
// below, indented and sorted; modules that do the same stand together, folded as folded_names.h
// has it. A region of torch.compile has lines of the ops in it, with computed=Float where Inductor
// rounds what it stores alone. The operands of a list are one, with all dtypes that they had.
// Order, counts, shapes, steps and lines are left out, and so are the calls inside a call, which
// change from one LibTorch to the next, and what only loads the model.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/run.h"

namespace dtypecheck::judging {

struct LockedTensor {
  std::string name;
  std::string dtypes;  // "Half", "Half|Float"

  auto operator<=>(const LockedTensor&) const = default;
};

struct LockedOp {
  std::string phase;  // "parameters": what the operands are then, and there is no op
  std::string op;
  std::vector<LockedTensor> operands;
  std::string result;    // dtypes; "" without one
  std::string device;    // type alone
  std::string autocast;  // dtype of the region for that device; "" without one
  std::string outcome;   // "threw", "repaired", "served", or ""

  auto operator<=>(const LockedOp&) const = default;
};

inline constexpr const char* kParameters = "parameters";
// The operand of an op that torch.compile fused whose dtype is that of the arithmetic.
inline constexpr const char* kComputed = "computed";

struct Lock {
  std::string runtime;  // "LibTorch 2.11.0, cpu"
  std::map<std::string, std::set<LockedOp>> places;

  bool operator==(const Lock&) const = default;
};

Lock lock_of(const Run& run);
std::string to_text(const LockedOp& op);  // a line, without indent and end
std::string to_text(const Lock& lock);

bool is_lock(std::string_view text);  // by its first line, of whatever version
// `name` stands for the path. Throws InputError: `dtype.lock:3: expected …`.
Lock parse_lock(std::string_view text, const std::string& name);

}  // namespace dtypecheck::judging
