// module_map.h: the model of a run as a tree, with the dtypes of its parts. The page's map and its
// table are made from it.
//
// Modules are known by the paths that op calls and parameters have. What an op call did outside of
// every module is not in the tree.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

// How much of a part is in which dtype: elements of weights; calls of ops that gave an activation
// or a gradient. Autocast's own casts and the calls around them count nowhere.
using Shares = std::map<Dtype, double>;

// And how many bytes its ops gave in which floating dtype, and how long these took in ns, on the
// GPU where its kernels were recorded, else on the CPU in the steps of a timeline.
enum class MapView : uint8_t { kWeights, kActivations, kGradients, kBytes, kTime };
inline constexpr std::array<const char*, 5> kMapViews = {"weights", "activations", "gradients",
                                                         "bytes", "time"};
inline constexpr size_t kDtypeViews = 3;  // of which no amount is reported
using SharesByView = std::array<Shares, kMapViews.size()>;

// The dtype of the greatest share; kUndefined where there is none.
Dtype main_dtype(const Shares& shares);

struct ModuleParameter {
  std::string name;  // its last part: "weight"
  DtypeSet dtypes;
  std::string shape;
  std::string from;  // what gave it its dtype: "load (aten::empty) at train.py:12"; or ""
};

struct ModuleNode {
  // Last part of the path. Neighbours that are alike in all that the map shows are one node with
  // all their names, and stand under the path of the first. Amounts are those of all together, a
  // mark is on each, and the parameters are those of the first.
  std::vector<std::string> names;
  std::string path;
  std::string module_class;
  SharesByView own, all;         // by MapView; all: with its children
  double casts_per_step = 0;     // between floating dtypes, its own
  double casts_before = 0;       // and those before the first step
  bool has_low_norm = false;     // a norm of it ran in Half or BFloat16
  bool is_island = false;        // in other dtypes than most of its model: weights, activations
  std::vector<size_t> findings;  // indices into Report::findings
  uint64_t signatures = 0;       // op calls, its own
  std::vector<ModuleParameter> parameters;
  std::vector<ModuleNode> children;
};

// "attentions.*" of several, "to_k, to_q" of few, or the name.
std::string shown_name(const ModuleNode& node);

// The root has no name, and the models as its children.
ModuleNode module_map(const Report& report);

}  // namespace dtypecheck::reports
