// contracts.h: what an op of LibTorch accepts, on one device in one version. Measured by
// rules/contracts/probe/, kept as text (docs/contracts.md has the format), asked with the op calls
// of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_call.h"

namespace dtypecheck::contracts {

// A LibTorch on a device that a table speaks of.
struct Runtime {
  std::string device;     // "cpu", "cuda"
  std::string version;    // "2.11.0"
  bool measured = false;  // false: read in the source, and reports say so
  std::string modes;      // "plain,grad,backward,autocast:BFloat16"
  // The letters of the dtypes that operands were measured in. With these four alone nothing is said
  // of integers, and those of a call are passed over.
  std::string dtypes = "fhbd";
  std::string line;  // all of it: date, CPU capability, build, Python

  std::string to_string() const;  // "cpu:2.11.0"
  bool has_mode(std::string_view mode) const;
  bool knows_integers() const { return dtypes.size() > 4; }
};

enum class Acceptance : uint8_t { kUnknown, kAccepts, kRejects };

struct Answer {
  Acceptance acceptance = Acceptance::kUnknown;
  std::vector<Dtype> results;  // accepts: one for each tensor it gives back
  std::string message;         // rejects: what LibTorch says to these operands
  std::string error_type;      // rejects: "RuntimeError", "NotImplementedError"

  bool operator==(const Answer&) const = default;
};

// What a runtime does with an op's operands in general. The measurement alone decides: of an op
// that is only an alias of others, and was not measured, nothing is known.
struct Behaviour {
  bool is_known = false;
  // It answers in the promoted dtype of its operands, and refuses no mix of floating dtypes.
  bool promotes = false;
  // Operands of one floating dtype give a (first) result of that dtype.
  bool passes_dtype_on = false;
  // The dtype of its (first) result, whatever the operands are: Long of argmax, Bool of eq.
  std::optional<Dtype> always;
  // The same of the results behind the first: Long of the indices that sort and max(dim) give.
  std::vector<std::optional<Dtype>> others_always;

  std::optional<Dtype> always_in(size_t result) const {
    if (result == 0) return always;
    return result <= others_always.size() ? others_always[result - 1] : std::nullopt;
  }
};

// What a user names: "cuda:2.11", "cpu:1.13.1".
struct Target {
  std::string device;
  std::string version;
};
// Throws InputError where the text is no DEVICE:VERSION.
Target parse_target(std::string_view text);

// Which rows of an op are asked: the op itself, its call with gradients wanted, its backward pass.
enum class Mode : uint8_t { kCall, kAutocast, kBackward };

struct Table;  // table.h

class Contracts {
 public:
  // The tables that dtypecheck ships with, read when first asked for.
  static const Contracts& shipped();

  // A contract file's text; `name` stands for it in messages. Later tables win. Throws InputError
  // with name and line.
  void add(std::string text, const std::string& name);

  const std::vector<Runtime>& runtimes() const { return runtimes_; }
  // Patch versions are not distinguished: 2.11 and 2.11.3 are the 2.11.0 that was measured.
  std::optional<size_t> find(std::string_view device, std::string_view version) const;
  std::optional<size_t> newest(std::string_view device) const;
  // As find(); throws InputError with the list of what is known.
  size_t find_target(const Target& target) const;
  // "cpu: 1.13.1, 2.0.1; cuda: 2.11.0 (read, not measured)"
  std::string list_of_runtimes() const;

  // What the runtime says to this call's operands.
  Answer ask(size_t runtime, const OpCall& call, Mode mode = Mode::kCall) const;

  // The first version of the device, from `version` on, that accepts the call; "" for none known.
  std::string first_accepting(std::string_view device, std::string_view version,
                              const OpCall& call) const;

  // What is known of an op by its name, "aten::add" for all its overloads or "aten::add.Tensor":
  // in a runtime, or in the newest of the CPU's. Found out when first asked for, and kept.
  const Behaviour& behaviour(std::string_view op, size_t runtime) const;
  const Behaviour& behaviour(std::string_view op) const;
  bool promotes(std::string_view op) const { return behaviour(op).promotes; }
  bool passes_dtype_on(std::string_view op) const { return behaviour(op).passes_dtype_on; }

 private:
  struct TableColumn {
    size_t table;
    size_t column;
  };
  std::vector<std::shared_ptr<const Table>> tables_;
  std::vector<Runtime> runtimes_;
  std::vector<TableColumn> places_;  // of each runtime
};

}  // namespace dtypecheck::contracts
