#include "rules/engine/cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/follow_links.h"
#include "platform/text.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

// ", train.py:40", or nothing where the line is not known.
std::string at(const Site& site) {
  const std::string line = place(site);
  return line.empty() ? "" : ", " + line;
}

bool is_below(std::string_view path, std::string_view module) {
  return path == module ||
         (path.starts_with(module) && path.substr(module.size()).starts_with('.'));
}

// No variable held the module, and the trace calls it by its class: "Linear", "Net.fc".
bool is_nameless(const std::string& module) {
  return !module.empty() && std::isupper(static_cast<unsigned char>(module.front())) != 0;
}

// Line and function of a forward pass, which runs inside of its module.
bool is_in_forward(const SourceLine& line) { return line.function.ends_with("forward"); }

Cure cure_of(CureKind kind, const OpCall& call, std::string operand, Dtype dtype) {
  return {.kind = kind,
          .dtype = dtype,
          .call = call.id,
          .operand = std::move(operand),
          .where = call.site.line};
}

// "cast the target, train.py:40: target.float()", or, without code, "cast the target of mse_loss to
// Float, train.py:40: .to(torch.float32)".
void say(Cure& cure, const std::string& what, const std::string& whole, const Site& site,
         const std::string& suffix) {
  cure.text = cure.code.empty() ? fmt::format("cast {} to {}{}: {}", whole, dtype_name(cure.dtype),
                                              at(site), suffix)
                                : fmt::format("cast {}{}: {}", what, at(site), cure.code);
}

std::string short_name(const CodeLine& line, Span text) {
  constexpr size_t kShort = 24;
  const std::string name(line.text_of(text));
  return name.size() <= kShort && name.find('(') == name.npos ? name : "";
}

// "the target"; where LibTorch's name of an operand tells a user nothing, "x2" or "other", what the
// line calls it, or of which op it is.
std::string what_to_cast(const CodeLine& line, Span text, const std::string& noun,
                         const std::string& whole) {
  constexpr std::string_view kVague[] = {"self", "other", "end", "tensor", "real", "imag"};
  const bool is_word = noun.size() > 2 && noun.find_first_of("0123456789[_") == noun.npos &&
                       std::find(std::begin(kVague), std::end(kVague), noun) == std::end(kVague);
  if (is_word) return "the " + noun;
  const std::string name = short_name(line, text);
  return name.empty() ? whole : name;
}

void take(Cure& cure, Patch patch) {
  cure.replaces = std::move(patch.old_text);
  cure.code = std::move(patch.new_text);
}

// A module's parameters are made where its class is, in which the variable that holds it is not
// known. A line that nobody has may be anything.
bool has_variable(const CodeLine& line, const std::string& name) {
  if (line.text.empty() || name.empty()) return true;
  const auto is_part = [&](size_t at) {
    return at < line.text.size() && (std::isalnum(static_cast<unsigned char>(line.text[at])) != 0 ||
                                     line.text[at] == '_' || line.text[at] == '.');
  };
  for (size_t at = line.text.find(name); at != std::string::npos;
       at = line.text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool is_longer = end < line.text.size() && line.text[end] != '.' && is_part(end);
    if ((at == 0 || !is_part(at - 1)) && !is_longer) return true;
  }
  return false;
}

// "nn.Linear(8, 16).to(torch.float32)" where the line makes the module: "self.gate = …" of
// "net.gate".
std::optional<Patch> made_in(const CodeLine& line, const std::string& module, Dtype dtype) {
  const std::string wanted = "self." + module.substr(module.rfind('.') + 1);
  for (const CodeLine::Operation& operation : line.operations) {
    const bool is_it = operation.sign == "=" && line.text_of(operation.left) == wanted &&
                       line.is_primary(operation.right);
    if (is_it) return with_suffix(line, operation.right, cast_suffix(line, dtype));
  }
  return std::nullopt;
}

// "net->to(dtype)": in C++ a module is held by a pointer, a tensor is not.
bool is_module_of_cpp(const CodeLine& line, Span made) {
  return line.is_cpp &&
         std::any_of(line.calls.begin(), line.calls.end(), [&](const CodeLine::Call& call) {
           return call.whole == made && line.text_of(call.callee).ends_with("->to");
         });
}

}  // namespace

std::string cast_suffix(const CodeLine& line, Dtype dtype) {
  if (!line.is_cpp) return fmt::format(".to({})", torch_dtype(dtype));
  const bool is_aten =
      line.text.find("at::") != std::string::npos && line.text.find("torch::") == std::string::npos;
  return fmt::format(".to({}::k{})", is_aten ? "at" : "torch", dtype_name(dtype));
}

CodeLine CureWriter::line_of(const OpCall& call) const {
  return CodeLine::at(options_.line_text, call.site.line);
}

std::string CureWriter::name_in_line(const OpCall& call, const Operand& operand) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  return found ? short_name(line, found->text.front()) : "";
}

// Of the smallest call that has the span for an argument.
static std::string callee_of(const CodeLine& line, Span argument) {
  const CodeLine::Call* found = nullptr;
  for (const CodeLine::Call& call : line.calls) {
    const bool is_it = std::any_of(call.arguments.begin(), call.arguments.end(),
                                   [&](const auto& given) { return given.value == argument; });
    if (is_it) found = &call;
  }
  return found == nullptr ? "" : std::string(line.text_of(found->callee));
}

// "lerp" of "torch.lerp" and of "m.lerp_": they refuse alike.
static std::string_view name_of_callee(std::string_view callee) {
  callee.remove_prefix(callee.find_last_of(".:>") + 1);
  return callee.substr(0, callee.find_last_not_of('_') + 1);
}

// Behind a line that died: what the next ones of the block call alike would die there.
constexpr int kLinesBelow = 10;

bool CureWriter::is_read_again(const OpCall& call, const Operand& operand) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  if (!found) return false;
  if (stands_again(line, found->text)) return true;
  const std::string callee = callee_of(line, found->text.front());
  const std::string name(line.text_of(found->text.front()));
  SourceLine below = call.site.line;
  below.extent = {};
  const size_t indent = line.text.find_first_not_of(" \t");
  for (int i = 0; i < kLinesBelow && !callee.empty(); ++i) {
    ++below.line;
    const CodeLine next = CodeLine::at(options_.line_text, below);
    const size_t begin = next.text.find_first_not_of(" \t");
    if (begin == next.text.npos) continue;
    if (begin < indent) break;
    for (const CodeLine::Call& other : next.calls) {
      const auto is_it = [&](const CodeLine::Argument& a) { return next.text_of(a.value) == name; };
      const bool reads = std::any_of(other.arguments.begin(), other.arguments.end(), is_it);
      if (reads && name_of_callee(next.text_of(other.callee)) == name_of_callee(callee))
        return true;
    }
  }
  return false;
}

bool CureWriter::is_made_for_more(const OpCall& call, const Operand& operand,
                                  const OpCall* maker) const {
  return maker != nullptr && maker->site.line.file == call.site.line.file &&
         is_read_again(call, operand);
}

// An op that the line calls may compute with what another op inside of it made: cross_entropy's
// nll_loss gets what its log_softmax gave. Then it is what that was given.
std::optional<CureWriter::Found> CureWriter::find(const CodeLine& line, const OpCall& call,
                                                  const Operand& operand) const {
  if (line.text.empty() || !is_users_own(call.site)) return std::nullopt;
  std::vector<const OpCall*> around = {&call};
  follow_links(index_.run().call(call.parent), [&](const OpCall& outer) {
    around.push_back(&outer);
    return index_.run().call(outer.parent);
  });
  std::vector<const Operand*> names = {&operand};
  const Provenance way = index_.provenance().of(call, operand);
  for (const ProvenanceStep& step : way.steps) {
    if (step.giver == nullptr || step.call->parent == kNoOpCall) break;
    names.push_back(step.giver);
  }
  for (const OpCall* outer : around) {
    for (const Operand* name : names) {
      const Operand* same =
          outer == &call ? (name == &operand ? name : nullptr) : same_tensor(*outer, *name);
      if (same == nullptr) continue;
      if (auto text = operand_text(line, *outer, *same); !text.empty())
        return Found{outer, same, std::move(text)};
      break;
    }
  }
  return std::nullopt;
}

// The tensor was not made by an op inside of the module, so that what it is called with decides.
bool CureWriter::is_from_outside(const OpCall& call, const Operand& operand,
                                 std::string_view module) const {
  if (is_parameter(operand)) return false;
  const OpCall* origin = index_.run().call(operand.origin);
  return origin == nullptr || origin->process != call.process ||
         !is_below(origin->site.module, module);
}

std::optional<Cure> CureWriter::cast_module_input(const OpCall& call, const Operand& operand,
                                                  Dtype dtype, const std::string& noun,
                                                  const CodeLine& line) const {
  if (call.site.module.empty()) return std::nullopt;
  // What an op inside of a recurrent layer has for its input may be the layer's hidden state.
  const OpCall* layer = &call;
  const Operand* its = &operand;
  follow_links(index_.run().call(call.parent), [&](const OpCall& around) -> const OpCall* {
    const bool is_one = around.site.module == call.site.module;
    const Operand* same = is_one ? same_tensor(around, *its) : nullptr;
    if (same == nullptr) return nullptr;
    layer = &around;
    its = same;
    return index_.run().call(around.parent);
  });
  const auto input = module_input(line, *layer, *its);
  std::string module = input ? input->module : call.site.module;
  // The line calls the whole model; what a library casts in it, it casts to what it is called with.
  if (!input && !is_in_forward(call.site.line)) module = root_module(module);
  if (is_users_own(call.site) && !is_from_outside(call, operand, module)) return std::nullopt;
  // An index or a mask beside it is none of its input; both hidden states are one argument.
  const bool is_one_of_several = (input && !input->is_only) || !operand.is_floating();
  Cure cure = is_one_of_several ? cure_of(CureKind::kCastOperand, *layer,
                                          std::string(list_name(its->name)), dtype)
                                : cure_of(CureKind::kCastModuleInput, call, module, dtype);
  const std::string suffix = cast_suffix(line, dtype);
  if (input) take(cure, with_suffix(line, input->argument, suffix));
  // A line of the module's own, which calls it no more.
  const bool is_inside = !input && call.site.line.function == call.site.module_class + ".forward";
  if (is_inside && !line.text.empty()) cure.where = {};
  const std::string what = is_one_of_several && input
                               ? fmt::format("the {} of {}",
                                             !input->keyword.empty()        ? input->keyword
                                             : list_name(its->name) == "hx" ? "hidden state"
                                                                            : noun,
                                             module)
                               : fmt::format("what {} is called with", module);
  say(cure, what, what, Site{.line = cure.where}, suffix);
  return cure;
}

std::optional<Cure> CureWriter::cast_operand(const OpCall& call, const Operand& operand,
                                             Dtype dtype, const std::string& noun) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  if (!found) {
    if (auto cure = cast_module_input(call, operand, dtype, noun, line)) return cure;
    if (!line.text.empty() && line.calls.empty() && line.operations.empty() &&
        line.subscripts.empty()) {
      return std::nullopt;  // "def forward(self, x):", of a compiled function
    }
    // In a library, or between two layers of one: there is no line of the user's to cast it at.
    if (!is_users_own(call.site) && call.site.line.known()) return std::nullopt;
    if (!call.site.module.empty() && !is_in_forward(call.site.line)) return std::nullopt;
  }
  Cure cure = found ? cure_of(CureKind::kCastOperand, *found->call, found->operand->name, dtype)
                    : cure_of(CureKind::kCastOperand, call, operand.name, dtype);
  const std::string suffix = cast_suffix(line, dtype);
  if (found) take(cure, with_suffix(line, found->text, suffix));
  const std::string whole = fmt::format("the {} of {}", noun, call.short_op());
  say(cure, found ? what_to_cast(line, found->text.front(), noun, whole) : "the " + noun, whole,
      call.site, suffix);
  return cure;
}

std::optional<Cure> CureWriter::cast_result(const OpCall& maker, Dtype dtype) const {
  if (!is_users_own(maker.site)) return std::nullopt;
  const CodeLine line = line_of(maker);
  Cure cure = cure_of(CureKind::kCastResult, maker, "", dtype);
  const auto made = line.text.empty() ? std::nullopt : made_text(line, maker);
  const auto asked = maker.result_dtype();
  const auto other = made && asked ? other_dtype(line, *asked, dtype) : std::nullopt;
  if (!made && index_.has(maker, ops::kUninitialized)) return std::nullopt;
  const std::string suffix = cast_suffix(line, dtype);
  if (other) {
    take(cure, *other);
  } else if (made && is_module_of_cpp(line, *made)) {
    return std::nullopt;  // Module::to() gives nothing that could be cast again
  } else if (made) {
    take(cure, with_suffix(line, *made, suffix));
  }
  say(cure, "it where it is made", "what " + maker.short_op() + " makes", maker.site, suffix);
  return cure;
}

Cure CureWriter::cast_output(const OpCall& call, const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastResult, call, "", dtype);
  cure.where = {};
  cure.text = fmt::format("cast what {} gives to {}: {}", module.empty() ? call.short_op() : module,
                          dtype_name(dtype), to_dtype(call, dtype));
  return cure;
}

Cure CureWriter::cast_parameters(const OpCall& call, const Operand& operand,
                                 const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastParameters, call, module, dtype);
  const Provenance source = index_.provenance().of(call, operand);
  const OpCall* maker = source.maker;
  const bool is_told =
      maker != nullptr && maker->site.line.known() && !is_installed(maker->site.line);
  const CodeLine line = CodeLine::at(options_.line_text, is_told ? maker->site.line : SourceLine());
  auto other = is_told ? other_dtype(line, *operand.dtypes.single(), dtype) : std::nullopt;
  if (!other && is_told) other = made_in(line, module, dtype);
  if (is_told) cure.where = maker->site.line;
  const CodeLine use = line_of(call);
  bool is_shown = is_told;
  if (!other && !has_variable(is_told ? line : use, root_module(module))) {
    is_shown =
        is_users_own(call.site) && !use.text.empty() && has_variable(use, root_module(module));
    cure.where = is_shown ? call.site.line : SourceLine();
  }
  const std::string since = is_shown ? at(Site{.line = cure.where}) : "";
  if (other) {
    take(cure, *other);
    cure.text = fmt::format("make {} {}{}: {}", module.empty() ? "the module" : module,
                            dtype_name(dtype), since, cure.code);
  } else if (module.empty() || is_nameless(module) || is_in_cpp(call)) {
    cure.text = fmt::format("cast {} to {}{}: {}",
                            module.empty() ? "the module that holds the parameter" : module,
                            dtype_name(dtype), since,
                            is_in_cpp(call) ? "->" + to_dtype(call, dtype).substr(1)
                                            : fmt::format(".to(dtype={})", torch_dtype(dtype)));
  } else {
    cure.code = fmt::format("{}.to(dtype={})", python_path(module), torch_dtype(dtype));
    cure.text = fmt::format("cast {} to {}{}: {}", module, dtype_name(dtype), since, cure.code);
  }
  return cure;
}

// at::autocast has a pair of functions for each device before LibTorch 2.4, and from then on one
// pair that takes the device.
static std::string autocast_in_cpp(const Process& process, const std::string& device, Dtype dtype) {
  const auto newer = [](const std::string& version) {
    const size_t dot = version.find('.');
    return dot != version.npos &&
           std::pair(std::atoi(version.c_str()), std::atoi(version.c_str() + dot + 1)) >=
               std::pair(2, 4);
  };
  std::string upper = device;
  std::transform(upper.begin(), upper.end(), upper.begin(), ::toupper);
  if (process.libtorch.empty() || newer(process.libtorch)) {
    return fmt::format(
        "at::autocast::set_autocast_dtype(at::k{0}, at::k{1}); "
        "at::autocast::set_autocast_enabled(at::k{0}, true);",
        upper, dtype_name(dtype));
  }
  return device == "cpu" ? fmt::format(
                               "at::autocast::set_autocast_cpu_dtype(at::k{}); "
                               "at::autocast::set_cpu_enabled(true);",
                               dtype_name(dtype))
                         : fmt::format(
                               "at::autocast::set_autocast_gpu_dtype(at::k{}); "
                               "at::autocast::set_enabled(true);",
                               dtype_name(dtype));
}

std::optional<Cure> CureWriter::open_autocast(const OpCall& call, Dtype dtype) const {
  const std::string device = call.device_type();
  const Process& process = index_.run().process_of(call);
  const auto runtime = options_.contracts->find(device, process.libtorch);
  if (call.autocast.region_for(device) != nullptr || call.autocast.is_inner) return std::nullopt;
  if (runtime && device == "cpu" && dtype == Dtype::kHalf &&
      !options_.contracts->runtimes()[*runtime].has_mode("autocast:Half")) {
    dtype = Dtype::kBFloat16;  // the CPU's autocast learnt Half late
  }
  // Autocast casts where it sees the outermost call that it knows.
  bool is_refused = false, is_accepted = false;
  follow_links(&call, [&](const OpCall& asked) {
    OpCall under = asked;
    under.autocast.enabled = {{device, dtype}};
    const auto verdict =
        runtime ? options_.contracts->ask(*runtime, under, contracts::Mode::kAutocast).verdict
                : contracts::Verdict::kUnknown;
    is_accepted |= verdict == contracts::Verdict::kAccepts;
    is_refused |= verdict == contracts::Verdict::kRejects;
    return index_.run().call(asked.parent);
  });
  if (is_refused && !is_accepted) return std::nullopt;
  // In a forward pass the line is one of the module's own, and the region is around no more.
  const bool is_in_module = is_in_forward(call.site.line);
  Cure cure = cure_of(CureKind::kOpenAutocast, call,
                      is_in_module ? "" : root_module(call.site.module), dtype);
  cure.code = is_in_cpp(call) ? autocast_in_cpp(process, device, dtype)
                              : fmt::format("with torch.autocast(\"{}\", dtype={}):", device,
                                            torch_dtype(dtype));
  // All of a compiled function runs at the line that begins it, around which no region can be.
  const std::string text(trimmed(line_of(call).text));
  const bool is_head = text.starts_with("def ") || text.starts_with("async def ");
  if (is_head) cure.where = {};
  cure.text = fmt::format("run {} under autocast{}: {}",
                          !cure.operand.empty() ? cure.operand
                          : is_head             ? "what calls the function"
                                                : "the line",
                          at(call.site), cure.code);
  return cure;
}

std::optional<Cure> CureWriter::move_autocast(const OpCall& call) const {
  const OpCall* before = index_.autocast_before(call);
  if (before == nullptr || is_in_cpp(call)) return std::nullopt;
  const std::string device = call.device_type();
  auto cure = open_autocast(call, before->autocast.region_for(device)->dtype);
  if (!cure) return std::nullopt;
  const std::string opens(trimmed(CodeLine::at(options_.line_text, before->autocast.entered).text));
  const bool is_block = opens.starts_with("with ") && opens.ends_with(':');
  if (!is_block || opens.find('\n') != opens.npos) return std::nullopt;
  cure->kind = CureKind::kMoveAutocast;
  cure->operand.clear();
  cure->code = opens;
  cure->text = fmt::format("let the autocast of {} take in the line{}: {}",
                           place(Site{.line = before->autocast.entered}), at(call.site), opens);
  return cure;
}

bool CureWriter::has_framework(const OpCall& call, std::string_view name) const {
  const std::string folder = fmt::format("/{}/", name);
  const std::vector<OpCall>& calls = index_.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.process == call.process && other.site.inner.file.find(folder) != std::string::npos;
  });
}

Cure CureWriter::master_weights(const OpCall& call) const {
  Cure cure = cure_of(CureKind::kMasterWeights, call, "", Dtype::kFloat);
  cure.where = {};
  if (is_in_cpp(call)) {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: cast each with "
        "parameter.set_data(parameter.to(torch::kFloat)) before the optimizer is made";
  } else if (has_framework(call, "diffusers")) {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: "
        "cast_training_params(model, dtype=torch.float32), diffusers.training_utils, before the "
        "optimizer is made";
  } else {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: "
        "p.data = p.data.to(torch.float32) for each trainable p before the optimizer is made";
  }
  return cure;
}

std::vector<Cure> CureWriter::masters_of(const OpCall& call, const Operand* parameter) const {
  std::vector<Cure> cures;
  if (parameter != nullptr && is_in_cpp(call)) {
    const OpCall* maker = index_.provenance().of(call, *parameter).maker;
    auto cure = maker == nullptr ? std::nullopt : cast_result(*maker, Dtype::kFloat);
    const bool is_lowered = cure && index_.has(*maker, ops::kCast) && !cure->replaces.empty();
    if (is_lowered) {
      cure->text =
          fmt::format("keep trainable parameters in Float{}: {}", at(maker->site), cure->code);
      cures.push_back(*std::move(cure));
    }
  }
  const bool has_autocast = index_.autocast_elsewhere(call.process, call.device_type()) != nullptr;
  if (parameter != nullptr && !parameter->parameter.empty()) {
    Cure cure = cast_parameters(call, *parameter, root_module(parameter->parameter), Dtype::kFloat);
    if (has_autocast) {
      cure.kind = CureKind::kMasterWeights;
      cure.operand.clear();
    } else {
      cure.text += fmt::format(", and open autocast to compute in {}", dtype_word(*parameter));
    }
    if (!cure.replaces.empty()) cures.push_back(std::move(cure));
  }
  cures.push_back(master_weights(call));
  return cures;
}

Cure CureWriter::rewrite(const OpCall& call, Dtype dtype, Patch patch,
                         const std::string& what) const {
  Cure cure = cure_of(CureKind::kSetting, call, "", dtype);
  take(cure, std::move(patch));
  cure.text = fmt::format("{}{}: {}", what, at(call.site), cure.code);
  return cure;
}

}  // namespace dtypecheck::rules
