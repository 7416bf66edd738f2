// A region of autocast, opened or moved, and Float masters beside it.
#include <fmt/format.h>

#include <algorithm>

#include "core/follow_links.h"
#include "core/requests.h"
#include "rules/cures/cures.h"
#include "rules/engine/asked.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {

contracts::Acceptance under_autocast(const RunIndex& index, const JudgeOptions& options,
                                     const OpCall& call, Dtype dtype) {
  using contracts::Acceptance;
  const std::string device = call.device_type();
  const auto runtime = options.contracts->find(device, index.run().process_of(call).libtorch);
  if (!runtime) return Acceptance::kUnknown;
  Acceptance found = Acceptance::kUnknown;
  follow_links(&call, [&](const OpCall& asked) {
    OpCall under = asked;
    under.autocast.enabled = {{device, dtype}};
    const auto one = options.contracts->ask(*runtime, under, contracts::Mode::kAutocast).acceptance;
    if (one != Acceptance::kUnknown) found = one;
    return found == Acceptance::kAccepts ? nullptr : index.run().call(asked.parent);
  });
  return found;
}

std::optional<Cure> CureProposer::open_autocast(const OpCall& call, Dtype dtype) const {
  const std::string device = call.device_type();
  const auto runtime = options_.contracts->find(device, index_.run().process_of(call).libtorch);
  if (call.autocast.region_for(device) != nullptr || call.autocast.is_inner || is_in_cpp(call))
    return std::nullopt;
  if (runtime && device == "cpu" && dtype == Dtype::kHalf &&
      !options_.contracts->runtimes()[*runtime].has_mode("autocast:Half")) {
    dtype = Dtype::kBFloat16;  // the CPU's autocast learnt Half late
  }
  const auto acceptance = under_autocast(index_, options_, call, dtype);
  if (acceptance == contracts::Acceptance::kRejects) return std::nullopt;
  // In a model's own code the region is around the call of the model, where that is known, or else
  // around the line alone.
  const bool has_caller = call.site.caller.known();
  const bool is_line = is_in_forward(call.site.line) && !has_caller;
  Cure cure =
      cure_of(CureKind::kOpenAutocast, call, is_line ? "" : root_module(call.site.module), dtype);
  if (has_caller) cure.where = call.site.caller;
  cure.text =
      fmt::format("run {} under autocast in {}{}", cure.operand.empty() ? "the line" : cure.operand,
                  dtype_name(dtype), at(cure.where));
  return cure;
}

std::optional<Cure> CureProposer::leave_autocast(const OpCall& call) const {
  const auto* region = call.autocast.region_for(call.device_type());
  if (call.site.phase != Phase::kForward || is_in_cpp(call) || region == nullptr)
    return std::nullopt;
  const bool is_wide = std::none_of(
      call.operands.begin(), call.operands.end(),
      [](const Operand& operand) { return !(operand.dtypes & kLowPrecision).empty(); });
  return rewrite(call, Dtype::kFloat, is_wide ? "autocast off" : "autocast left",
                 "compute it in Float, in a region where autocast is off");
}

std::optional<Cure> CureProposer::leave_autocast_of(const OpCall& cast) const {
  const OpCall* outer = index_.has(cast, ops::kCast) ? index_.run().call(cast.parent) : nullptr;
  const bool is_autocasts = outer != nullptr && outer->autocast.is_wrapper;
  return is_autocasts && is_users_own(outer->site) ? leave_autocast(*outer) : std::nullopt;
}

std::optional<Cure> CureProposer::move_autocast(const OpCall& call) const {
  const OpCall* before = index_.autocast_before(call);
  if (before == nullptr) return std::nullopt;
  const std::string device = call.device_type();
  auto cure = open_autocast(call, before->autocast.region_for(device)->dtype);
  if (!cure) return std::nullopt;
  cure->kind = CureKind::kMoveAutocast;
  cure->operand.clear();
  cure->where = call.site.line;
  cure->text = fmt::format("move the autocast region of {} so that it covers the line{}",
                           place(Site{.line = before->autocast.entered}), at(call.site.line));
  return cure;
}

std::optional<Cure> CureProposer::reopen_autocast(const OpCall& call) const {
  const OpCall* then = index_.autocast_then(call);
  const std::string device = call.device_type();
  if (then == nullptr || is_in_cpp(call) || call.autocast.is_inner ||
      call.autocast.region_for(device) != nullptr)
    return std::nullopt;
  const std::string region = place(Site{.line = then->autocast.entered});
  Cure cure = rewrite(*then, then->autocast.region_for(device)->dtype, "region again", "");
  // A model's own file has no region: the line that called the model is in the script that has one.
  const bool is_callers = call.site.line.file != then->autocast.entered.file &&
                          call.site.caller.file == then->autocast.entered.file;
  cure.where = is_callers ? call.site.caller : call.site.line;
  cure.text = fmt::format("run {} under the autocast region of {} again{}",
                          root_module(call.site.module), region, at(cure.where));
  return cure;
}

bool has_package(const Run& run, uint32_t process, std::string_view name) {
  const std::string folder = fmt::format("/{}/", name);
  return std::any_of(run.calls.begin(), run.calls.end(), [&](const OpCall& call) {
    return call.process == process && call.site.inner.file.find(folder) != std::string::npos;
  });
}

Cure CureProposer::master_weights(const OpCall& call, const Operand* parameter) const {
  Cure cure = cure_of(CureKind::kMasterWeights, call,
                      parameter == nullptr ? "" : root_module(parameter->parameter), Dtype::kFloat);
  cure.text = fmt::format(
      "keep trainable parameters in Float and let autocast lower the compute: cast {} before the "
      "optimizer is made",
      is_in_cpp(call) ? "each with parameter.set_data()"
      : has_package(index_.run(), call.process, "diffusers")
          ? "them with cast_training_params(), diffusers.training_utils,"
          : "the data of each");
  return cure;
}

bool CureProposer::has_frozen(const OpCall& call, const std::string& module) const {
  const std::vector<OpCall>& calls = index_.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.process == call.process &&
           std::any_of(other.operands.begin(), other.operands.end(), [&](const Operand& operand) {
             return is_parameter(operand) && !operand.requires_grad &&
                    operand.dtypes.within(kLowPrecision) &&
                    root_module(operand.parameter) == module;
           });
  });
}

std::vector<Cure> CureProposer::masters_of(const OpCall& call, const Operand* parameter) const {
  std::vector<Cure> cures = {master_weights(call, parameter)};
  const bool has_autocast = index_.autocast_elsewhere(call.process, call.device_type()) != nullptr;
  // What is frozen, as a model below its adapters, stays as it is.
  const bool are_adapters =
      parameter != nullptr && has_frozen(call, root_module(parameter->parameter));
  // A model in Float alone refuses the 16-bit input that it gets: then it is reported in words.
  if (!has_autocast && !are_adapters) cures.front().where = {};
  if (parameter != nullptr && !parameter->parameter.empty()) {
    Cure cure = cast_parameters(call, *parameter, root_module(parameter->parameter), Dtype::kFloat);
    if (has_autocast) cure.kind = CureKind::kMasterWeights;
    const bool is_made_there = cure.where.known() && !(cure.where == call.site.line);
    if (is_made_there) cures.insert(are_adapters ? cures.end() : cures.begin(), cure);
    // A library that loads it may not name it.
    if (!has_autocast && !are_adapters && is_users_own(call.site) && !is_in_cpp(call)) {
      cure.where = call.site.line;
      cure.text = fmt::format("cast {} to Float before the optimizer is made",
                              root_module(parameter->parameter));
      cures.push_back(std::move(cure));
    }
    if (auto kept = keep_dtype(call, *parameter)) cures.insert(cures.begin(), *std::move(kept));
    if (auto asked = ask_otherwise(call, *parameter)) {
      // Where the parameters are cast there, that goes first: it knows them by name. What asked for
      // the dtype of a frozen model asked right.
      const bool is_cast_there = cure.where == asked->where || are_adapters;
      cures.insert(is_cast_there ? cures.end() : cures.begin(), *std::move(asked));
    }
  }
  return cures;
}

// A cast while the model is trained, of all that a pipeline holds, say: at the outermost line that
// hands the dtype on.
std::optional<Cure> CureProposer::keep_dtype(const OpCall& call, const Operand& parameter) const {
  const OpCall* maker = index_.provenance().trace_back(call, parameter).maker;
  const auto dtype = parameter.dtypes.single();
  if (maker == nullptr || !dtype || !index_.has(*maker, ops::kCast) || maker->first_step == 0 ||
      is_in_cpp(*maker))
    return std::nullopt;
  Cure cure = cure_of(CureKind::kRewrite, *maker, "no dtype", Dtype::kFloat);
  cure.where = line_asking(*maker, *dtype);
  cure.text = "leave the dtype out of the cast, which lowers what is trained" + at(cure.where);
  return cure;
}

SourceLine CureProposer::line_asking(const OpCall& maker, Dtype dtype) const {
  SourceLine where = maker.site.line;
  for (const AskingFrame& frame : frames_asking(index_.run().process_of(maker), maker, dtype)) {
    const std::string text = options_.line_text(frame.line.file, frame.line.line);
    if (text.find("dtype=") == text.npos || is_installed(frame.line)) break;
    where = frame.line;
  }
  return where;
}

std::optional<Cure> CureProposer::ask_for(const OpCall& maker, Dtype dtype) const {
  const auto made_in = maker.result_dtype();
  if (!made_in || is_in_cpp(maker)) return std::nullopt;
  Cure cure = cure_of(CureKind::kRewrite, maker, "dtype given", dtype);
  cure.where = line_asking(maker, *made_in);
  if (cure.where == maker.site.line) return std::nullopt;
  cure.text = fmt::format("ask for {}{}", dtype_name(dtype), at(cure.where));
  return cure;
}

// Where a line of the program's own asked for 16 bits, and a library's line or another one made
// them: torch.set_default_dtype(), Fabric(precision="16-true").
std::optional<Cure> CureProposer::ask_otherwise(const OpCall& call,
                                                const Operand& parameter) const {
  const auto asked = who_asked(index_, options_, call, parameter);
  const bool is_python = asked && asked->line.known() && !is_configuration(asked->line.file);
  if (!is_python || is_installed(asked->line)) return std::nullopt;
  Cure cure = cure_of(CureKind::kRewrite, call, "asked", Dtype::kFloat);
  cure.where = asked->line;
  if (asked->is_left_out) cure.operand = "dtype left out";
  cure.text = fmt::format("ask for {} in place of {}{}",
                          asked->instead.empty() ? "Float weights" : asked->instead, asked->what,
                          at(cure.where));
  return cure;
}

}  // namespace dtypecheck::rules
