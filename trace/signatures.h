// trace_signatures.h: signature records, and what was noted about them later, to op calls. Private
// to the reader.
//
// A rule wants clear outcomes, so a signature that returned at times and threw at others becomes
// two op calls, the one that returned first. Each further message that it threw with becomes a call
// of its own, up to kMessagesPerSignature: the file does not tell how often which message came, so
// those count 1 and the first message has the rest.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/run.h"
#include "trace/records.h"
#include "trace/tables.h"

namespace dtypecheck::trace {

inline constexpr size_t kMessagesPerSignature = 4;

class SignatureReader {
 public:
  SignatureReader(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                  SiteTable& sites, const FileHeader& header, EndState end, Damage& damage);

  // Ids begin after `first_id`. `merged` processes, from `process` on, made them together; 0: that
  // one alone.
  std::vector<OpCall> read(OpCallId first_id, uint32_t process, size_t merged = 0);
  // After read(): the time line, added to what the run has.
  void read_times(uint32_t process, Run& run);
  void read_health(uint32_t process, Run& run);  // the same

 private:
  struct Signature {
    SignatureRecord record;
    OpCall call;                      // as if it had always returned; origins are signature ids
    std::vector<ThrowRecord> throws;  // with different messages
    size_t returned_calls = 0;        // op calls that it becomes: 0 or 1 …
    size_t threw_calls = 0;           // … and as many as there are messages
    OpCallId first_id = kNoOpCall;    // of these op calls

    OpCallId returned_id() const {
      return first_id;
    }  // what threw gave no tensor, but may stand as the origin of one
    OpCallId threw_id() const {
      return threw_calls == 0 ? first_id : first_id + static_cast<OpCallId>(returned_calls);
    }
  };

  void read_signature(size_t offset);
  bool read_parts(size_t offset, const SignatureRecord& record, OpCall& call);
  bool read_operand(size_t offset, Operand& operand);
  bool read_scalar(size_t offset, ScalarArgument& scalar);
  void read_throws();
  void read_inexact_values();
  OpCallId call_of(uint32_t signature, const char* what);
  void read_non_finite_results();
  void read_gpu_work();
  void read_groups();
  void read_made_by(uint32_t process, size_t merged);
  void read_cast_counters(size_t offset, const SignatureRecord& record, OpCall& call) const;
  std::optional<GpuWorkKind> gpu_kind_of(uint8_t kind, size_t offset);
  Signature* signature_of(uint32_t id, const char* what, size_t offset);
  void count_throws(Signature& signature) const;
  void number(Signature& signature, OpCallId& next_id) const;
  void resolve_origins(std::vector<Operand>& operands);
  OpCallId parent_of(const Signature& child, bool child_threw);
  OpCallId cause_of(const Signature& consequence);
  void add_calls(Signature& signature, std::vector<OpCall>& calls);
  void add_returned_call(const Signature& signature, std::vector<OpCall>& calls);
  void add_threw_call(const Signature& signature, size_t index, std::vector<OpCall>& calls);
  void set_error(const Signature& signature, size_t index, OpCall& call);
  bool take_room(size_t bytes);

  const TraceBytes& bytes_;
  const TraceRecords& records_;
  StringTable& strings_;
  SiteTable& sites_;
  const FileHeader& header_;
  EndState end_;
  Damage& damage_;
  size_t room_bytes_;  // what op calls may still take in memory: a small file must not become a
                       // large run
  std::vector<Signature> signatures_;
  std::unordered_map<uint32_t, size_t> index_of_id_;
};

}  // namespace dtypecheck::trace
