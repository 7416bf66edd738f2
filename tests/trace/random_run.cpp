#include "random_run.h"

#include <fmt/format.h>

#include <limits>

namespace dtypecheck::test {
namespace {

class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : engine_(seed) {}

  Run make() {
    Run run;
    run.values_checked = coin();
    const size_t process_count = 1 + below(3);
    call_count_ = below(12);
    for (size_t i = 0; i < process_count; ++i) run.processes.push_back(process());
    for (size_t i = 0; i < call_count_; ++i) {
      run.calls.push_back(call(static_cast<OpCallId>(i + 1)));
      run.calls.back().process = static_cast<uint32_t>(i * process_count / call_count_);
    }
    for (uint32_t i = 0; i < process_count && call_count_ > 0; ++i) {
      run.times.push_back({1, i, 1, 2, number(), number()});
      run.health.push_back(
          {i, HealthRole::kState, Dtype::kHalf, text(), any_id(), {{3, 0.5, 0, 1}}});
      run.health_steps.push_back({i, 3, 1, 2, 65536});
      run.gpu_times.push_back({any_id(), i, GpuWorkKind::kCopy, text(), 1, 7, number(), number()});
    }
    return run;
  }

 private:
  size_t below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(engine_);
  }
  bool coin() { return below(2) == 1; }
  bool rarely() { return below(8) == 0; }

  uint64_t number() {
    return coin() ? below(4) : std::uniform_int_distribution<uint64_t>()(engine_);
  }
  double real() {
    const double values[] = {0,
                             1,
                             -1,
                             1e-8,
                             0.1,
                             1365,
                             65504,
                             1e308,
                             5e-324,
                             -0.25,
                             std::numeric_limits<double>::infinity()};
    return values[below(std::size(values))];
  }

  std::string any_bytes() {
    std::string text;
    for (size_t i = below(6); i > 0; --i) text += static_cast<char>(below(256));
    return text;
  }

  std::string text() {
    const char* words[] = {"",         "train.py", "a b",     "unet.conv_in.weight",
                           "step",     "at",       "->",      "\"",
                           "\\",       "a\nb",     "none",    "x=y",
                           "Half",     "#",        "weight",  "tensors[0]",
                           "[0]",      "a:=1",     "(a)",     "wrapper",
                           "<module>", "\xc3\xa4", "\xff",    "C:\\x:3",
                           "op",       "a,b",      "@cuda:0", "running_mean",
                           "state",    "\x1b[31m", "é\xcc",   "process",
                           "step_1",   "exp_avgs", "id",      "operator()"};
    return rarely() ? any_bytes() : words[below(std::size(words))];
  }

  template <typename Enum>
  Enum up_to(Enum last) {
    return static_cast<Enum>(below(static_cast<size_t>(last) + 1));
  }

  Dtype dtype() { return static_cast<Dtype>(below(64)); }

  Operand operand(std::string name) {
    Operand o;
    o.name = std::move(name);
    o.role = up_to(kLastRole);
    for (size_t i = below(3); i > 0; --i) o.dtypes |= dtype();
    if (coin()) o.device = {text(), static_cast<int>(below(4)) - 1};
    o.has_shape = coin();
    for (size_t i = o.has_shape ? below(4) : 0; i > 0; --i) {
      o.shape.push_back(static_cast<int64_t>(number()));
    }
    o.kind = up_to(kLastTensorKind);
    o.requires_grad = coin();
    o.is_leaf = o.requires_grad && coin();
    o.is_written = rarely();
    o.is_wrapped_number = rarely();
    if (coin()) o.parameter = text();
    if (coin()) o.origin = any_id();
    return o;
  }

  OpCallId any_id() { return static_cast<OpCallId>(below(call_count_ + 1)); }

  void add_operands(std::vector<Operand>& operands) {
    for (size_t i = below(4); i > 0; --i) {
      const std::string name = text();
      if (coin()) {
        operands.push_back(operand(name));
        continue;
      }
      for (size_t k = 0, length = 1 + below(3); k < length; ++k) {
        operands.push_back(operand(fmt::format("{}[{}]", name, k + (rarely() ? 1 : 0))));
      }
    }
  }

  SourceLine line() {
    return coin() ? SourceLine{} : SourceLine{text(), static_cast<int>(below(99)), text()};
  }

  Site site() {
    Site s;
    s.line = line();
    s.inner = coin() ? s.line : line();
    s.module = text();
    s.module_class = text();
    s.phase = up_to(kLastPhase);
    return s;
  }

  AutocastState autocast() {
    AutocastState state;
    for (size_t i = below(3); i > 0; --i) state.enabled.push_back({text(), dtype()});
    state.is_wrapper = coin();
    state.is_inner = coin();
    if (coin()) state.entered = line();
    return state;
  }

  std::string op() {
    const char* ops[] = {"aten::addmm", "aten::add_", "python::A.b.<locals>.c",
                         "compiled::f", "",           "a.b",
                         "aten::a.b",   "x y"};
    return coin() ? ops[below(std::size(ops))] : text();
  }

  void set_outcome(OpCall& c) {
    c.outcome = up_to(kLastOutcome);
    if (c.outcome == Outcome::kReturned) return;
    c.error = text();
    c.error_type = text();
    c.throws = number();
  }

  OpCall call(OpCallId id) {
    OpCall c;
    c.id = id;
    c.op = op();
    if (coin()) c.overload = text();
    add_operands(c.operands);
    for (size_t i = below(3); i > 0; --i) c.results.push_back(operand(""));
    for (size_t i = below(3); i > 0; --i) {
      c.scalars.push_back(coin() ? ScalarArgument{text(), real(), std::nullopt}
                                 : ScalarArgument{text(), 0, dtype()});
    }
    c.site = site();
    if (coin()) c.autocast = autocast();
    c.parent = any_id();
    if (rarely()) c.follows = any_id();
    c.count = number();
    set_outcome(c);
    c.first_step = static_cast<uint32_t>(number());
    c.last_step = coin() ? c.first_step : static_cast<uint32_t>(number());
    for (const bool is_nan : {false, true}) {
      if (!rarely()) continue;
      NonFinite& found = c.non_finite.emplace_back(NonFinite{.is_nan = is_nan});
      found.operands_were_finite = coin();
      found.operands_had_no_nan = found.operands_were_finite || coin();
      found.is_loss = coin();
      found.step = static_cast<uint32_t>(number());
      found.order = static_cast<uint32_t>(1 + below(9));
    }
    if (coin()) c.inexact = InexactValue{real(), real()};
    if (c.inexact && coin()) {
      c.inexact->arrival = static_cast<Arrival>(1 + below(5));
      c.inexact->off = real();
    }
    for (size_t i = below(3); i > 0; --i) {
      GpuWork& work = c.gpu.emplace_back();
      work.kind = static_cast<GpuWorkKind>(1 + below(3));
      if (coin()) work.name = text();
      work.device = static_cast<int>(below(8));
      work.count = number();
      work.time_ns = number();
      work.bytes = number();
    }
    if (coin()) c.cast = CastWork{number(), number(), number()};
    c.in_compiled_region = rarely();
    if (rarely()) c.group = text();
    return c;
  }

  Process process() {
    Process p;
    p.file = text();
    p.host = text();
    p.pid = static_cast<int64_t>(number());
    p.parent_pid = static_cast<int64_t>(number());
    p.rank = static_cast<int>(below(4)) - 1;
    p.command = text();
    p.executable = text();
    p.libtorch = text();
    p.python = text();
    for (size_t i = below(3); i > 0; --i) p.devices.push_back(text());
    p.end = up_to(kLastEndState);
    p.started_unix_ns = static_cast<int64_t>(number());
    p.ended_unix_ns = static_cast<int64_t>(number());
    p.damaged = text();
    p.events = number();
    p.steps = number();
    p.steps_traced = number();
    p.signatures_lost = number();
    for (size_t i = below(3); i > 0; --i) p.facts[text()] = text();
    return p;
  }

  std::mt19937 engine_;
  size_t call_count_ = 0;
};

}  // namespace

Run random_run(unsigned seed) { return RandomRun(seed).make(); }

}  // namespace dtypecheck::test
