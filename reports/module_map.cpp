#include "reports/module_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/cast_bill.h"
#include "ops/ops.h"
#include "reports/formatting.h"

namespace dtypecheck::reports {

namespace {

// A part is an island where so little of its model is in its dtype.
constexpr double kIslandShare = 0.25;
// Modules are not nested deeper, but a trace may say anything: such a path is taken as one name.
constexpr std::ptrdiff_t kMaxDepth = 64;

Shares& shares(SharesByView& views, MapView view) { return views[static_cast<size_t>(view)]; }

// Where no size is known a tensor counts as one element.
double elements(const Operand& tensor) {
  const double count = element_count(tensor);
  return count > 0 && std::isfinite(count) ? count : 1;
}

std::pair<std::string, std::string> split_at_last_dot(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_cast(const OpCall& call) { return (ops::facts_of(call.op) & ops::kCast) != 0; }

const Operand* first_floating(const std::vector<Operand>& tensors) {
  for (const Operand& tensor : tensors) {
    if (tensor.kind != TensorKind::kUndefined && tensor.is_floating()) return &tensor;
  }
  return nullptr;
}

class MapBuilder {
 public:
  explicit MapBuilder(const Report& report) : report_(report) { nodes_.push_back({}); }

  ModuleNode build() {
    find_times();
    for (const OpCall& call : report_.run.calls) add(call);
    for (const Cast& cast : casts_of(report_.run)) add(cast);
    for (size_t i = 0; i < report_.findings.size(); ++i) add(report_.findings[i], i);
    return grown(0);
  }

 private:
  struct Flat {
    ModuleNode node;
    std::vector<size_t> children;
  };

  // Of "unet.conv_in"; its ancestors are made with it.
  size_t at(const std::string& path) {
    if (path.empty()) return 0;
    const auto [found, is_new] = index_.emplace(path, 0);
    if (!is_new) return found->second;
    const bool is_path = std::count(path.begin(), path.end(), '.') < kMaxDepth;
    const auto [above, name] = is_path ? split_at_last_dot(path) : std::pair(std::string(), path);
    const size_t parent = at(above);
    const size_t index = nodes_.size();
    index_[path] = index;
    nodes_.push_back({});
    nodes_.back().node.names = {name};
    nodes_.back().node.path = path;
    nodes_[parent].children.push_back(index);
    return index;
  }

  void add(const OpCall& call) {
    for (const Operand& operand : call.operands) add_parameter(call, operand);
    if (call.site.module.empty()) return;
    ModuleNode& node = nodes_[at(call.site.module)].node;
    ++node.signatures;
    if (!call.site.module_class.empty()) node.module_class = call.site.module_class;
    add_costs(call, node);
    if (is_cast(call)) return;  // counted by add(cast)
    if (call.autocast.is_wrapper) return;
    const Operand* result = first_floating(call.results);
    if (result == nullptr) return;
    const bool is_gradient = call.site.phase == Phase::kBackward;
    if (is_gradient || call.site.phase == Phase::kForward) {
      const MapView view = is_gradient ? MapView::kGradients : MapView::kActivations;
      add_share(node, view, *result, static_cast<double>(call.count));
    }
    const Operand* input = first_floating(call.operands);
    node.has_low_norm =
        node.has_low_norm || ((ops::facts_of(call.op) & ops::kNorm) != 0 && input != nullptr &&
                              input->dtypes.within(kLowPrecision));
  }

  // What a call around others gives is theirs, and so is its time on the CPU.
  void add_costs(const OpCall& call, ModuleNode& node) {
    const bool is_outer = call.parent == kNoOpCall;
    for (const Operand& result : call.results) {
      if (!is_outer || result.kind == TensorKind::kUndefined || !result.is_floating()) continue;
      const auto dtype = result.dtypes.single();
      if (!dtype || (ops::facts_of(call.op) & ops::kView) != 0) continue;
      const double bytes = elements(result) * static_cast<double>(dtype_size_bytes(*dtype));
      if (bytes > 0)
        add_share(node, MapView::kBytes, result, bytes * static_cast<double>(call.count));
    }
    double ns = 0;
    for (const GpuWork& work : call.gpu) ns += static_cast<double>(work.time_ns);
    const auto timed = cpu_ns_.find(call.id);
    if (!has_gpu_ && is_outer && timed != cpu_ns_.end()) ns = timed->second;
    const Operand* result = first_floating(call.results);
    if (ns > 0 && result != nullptr) add_share(node, MapView::kTime, *result, ns);
  }

  void find_times() {
    for (const OpCall& call : report_.run.calls) has_gpu_ = has_gpu_ || !call.gpu.empty();
    for (const OpTime& time : report_.run.times)
      cpu_ns_[time.call] += static_cast<double>(time.time_ns);
  }

  static void add_share(ModuleNode& node, MapView view, const Operand& tensor, double amount) {
    if (const auto dtype = tensor.dtypes.single()) shares(node.own, view)[*dtype] += amount;
  }

  void add(const Cast& cast) {
    const std::string& module = cast.call->site.module;
    const bool is_floating =
        kFloating.contains(cast.change.from) && kFloating.contains(cast.change.to);
    if (module.empty() || !is_floating) return;
    ModuleNode& node = nodes_[at(module)].node;
    (cast.is_once ? node.casts_before : node.casts_per_step) += cast.cost.casts;
  }

  void add_parameter(const OpCall& call, const Operand& operand) {
    if (!is_parameter(operand) || operand.kind == TensorKind::kUndefined) return;
    if (!parameters_.insert(operand.parameter + '\n' + operand.dtypes.to_string()).second) return;
    const auto [module, name] = split_at_last_dot(operand.parameter);
    if (module.empty()) return;
    ModuleNode& node = nodes_[at(module)].node;
    add_share(node, MapView::kWeights, operand, elements(operand));
    node.parameters.push_back(
        {name, operand.dtypes, shape_text(operand), from_text(call, operand)});
  }

  std::string from_text(const OpCall& call, const Operand& operand) const {
    const Provenance provenance = report_.provenance.trace_back(call, operand);
    if (provenance.steps.empty()) return "";
    const ProvenanceStep& step = provenance.steps.back();
    const std::string line = place(step.call->site.line);
    return line.empty() ? step_name(step) : fmt::format("{} at {}", step_name(step), line);
  }

  void add(const Finding& finding, size_t index) {
    if (finding.site.module.empty()) return;
    nodes_[at(finding.site.module)].node.findings.push_back(index);
  }

  ModuleNode grown(size_t index) {
    ModuleNode node = std::move(nodes_[index].node);
    node.all = node.own;
    for (const size_t child : nodes_[index].children) {
      node.children.push_back(grown(child));
      for (size_t view = 0; view < kMapViews.size(); ++view) {
        for (const auto& [dtype, amount] : node.children.back().all[view])
          node.all[view][dtype] += amount;
      }
    }
    return node;
  }

  const Report& report_;
  std::vector<Flat> nodes_;
  std::unordered_map<std::string, size_t> index_;  // by path
  std::unordered_map<OpCallId, double> cpu_ns_;    // of the steps of a timeline
  bool has_gpu_ = false;                           // kernels of a GPU were recorded
  std::set<std::string> parameters_;               // name and dtype: those that were counted
};

bool is_island_in(const Shares& own, const Shares& model) {
  const Dtype dtype = main_dtype(own);
  if (dtype == Dtype::kUndefined) return false;
  double all = 0;
  for (const auto& [other, amount] : model) all += amount;
  return model.at(dtype) < kIslandShare * all;
}

// Gradients are in the dtypes of weights and activations, and say nothing more.
void mark_islands(ModuleNode& node, const ModuleNode& model) {
  for (const MapView view : {MapView::kWeights, MapView::kActivations}) {
    const auto at = static_cast<size_t>(view);
    const bool is_part = node.children.empty();
    node.is_island = node.is_island || (is_part && is_island_in(node.own[at], model.all[at]));
  }
  for (ModuleNode& child : node.children) mark_islands(child, model);
}

// What two parts must have alike to be shown as one.
std::string kind_of(const Report& report, const ModuleNode& node) {
  std::string kind = fmt::format("{}|{}{}{}|", node.module_class, node.has_low_norm,
                                 node.casts_per_step > 0, node.is_island);
  for (size_t view = 0; view < kDtypeViews; ++view) {
    for (const auto& [dtype, amount] : node.own[view]) kind += dtype_name(dtype) + ' ';
    kind += '|';
  }
  std::set<std::string> rules;
  for (const size_t index : node.findings) rules.insert(report.findings[index].rule);
  for (const std::string& rule : rules) kind += rule + ' ';
  for (const ModuleNode& child : node.children) {
    kind += fmt::format("({}:{})", fmt::join(child.names, ","), kind_of(report, child));
  }
  return kind;
}

void merge(ModuleNode& into, ModuleNode&& other) {
  into.names.insert(into.names.end(), other.names.begin(), other.names.end());
  into.findings.insert(into.findings.end(), other.findings.begin(), other.findings.end());
  into.signatures += other.signatures;
  into.casts_per_step += other.casts_per_step;
  into.casts_before += other.casts_before;
  for (size_t view = 0; view < kMapViews.size(); ++view) {
    for (const auto& [dtype, amount] : other.own[view]) into.own[view][dtype] += amount;
    for (const auto& [dtype, amount] : other.all[view]) into.all[view][dtype] += amount;
  }
  for (size_t i = 0; i < into.children.size() && i < other.children.size(); ++i) {
    ModuleNode& child = into.children[i];
    const std::vector<std::string> names = child.names;  // those of one of them stand for all
    merge(child, std::move(other.children[i]));
    child.names = names;
  }
}

// Children first, so that blocks are compared folded.
void fold(const Report& report, ModuleNode& node, bool is_root = true) {
  for (ModuleNode& child : node.children) fold(report, child, false);
  if (is_root) return;  // models stay apart
  std::vector<ModuleNode> kept;
  std::unordered_map<std::string, size_t> by_kind;
  for (ModuleNode& child : node.children) {
    const auto [found, is_new] = by_kind.emplace(kind_of(report, child), kept.size());
    if (is_new) {
      kept.push_back(std::move(child));
    } else {
      merge(kept[found->second], std::move(child));
    }
  }
  node.children = std::move(kept);
}

bool has_findings(const ModuleNode& node) {
  return !node.findings.empty() || std::ranges::any_of(node.children, has_findings);
}

uint64_t signatures(const ModuleNode& node) {
  uint64_t all = node.signatures;
  for (const ModuleNode& child : node.children) all += signatures(child);
  return all;
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Dtype main_dtype(const Shares& shares) {
  const auto most =
      std::max_element(shares.begin(), shares.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == shares.end() ? Dtype::kUndefined : most->first;
}

std::string shown_name(const ModuleNode& node) {
  constexpr size_t kFewNames = 4;
  if (node.names.size() <= 1) return node.names.empty() ? "" : node.names.front();
  if (std::ranges::all_of(node.names, is_number)) return "*";
  if (node.names.size() <= kFewNames) return joined(node.names, ", ");
  return fmt::format("{}, … {}", node.names.front(), node.names.back());
}

ModuleNode module_map(const Report& report) {
  ModuleNode root = MapBuilder(report).build();
  for (ModuleNode& model : root.children) mark_islands(model, model);
  fold(report, root);
  // What has findings first, and then what does most.
  const auto rank = [](const ModuleNode& model) {
    return std::pair(!has_findings(model), -static_cast<double>(signatures(model)));
  };
  std::ranges::stable_sort(root.children,
                           [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return root;
}

}  // namespace dtypecheck::reports
