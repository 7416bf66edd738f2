// builder.h: writes traces with the product's own writer, for tests and for the fuzz target's
// first inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/files.h"
#include "trace/writer.h"

namespace dtypecheck::test {

struct CloseTrace {
  void operator()(trace::TraceFile* file) const {
    file->close();
    delete file;
  }
};
using OwnedTraceFile = std::unique_ptr<trace::TraceFile, CloseTrace>;
inline OwnedTraceFile new_trace_file() { return OwnedTraceFile(new trace::TraceFile()); }

struct OperandSpec {
  const char* name;
  uint8_t dtype;
  std::vector<int64_t> shape;
  uint8_t flags = 0;
  const char* parameter = "";
  uint32_t origin = 0;
  int16_t list_index = -1;
  uint8_t role = 0;
  uint8_t kind = 0;
};

struct SignatureSpec {
  const char* op;
  const char* overload = "";
  std::vector<OperandSpec> operands;
  std::vector<OperandSpec> results;
  uint16_t result_room = 1;
  uint32_t site = 0;
  uint32_t parent = 0;
  uint64_t count = 1;
  uint64_t throws = 0;
  uint8_t autocast = 0;
  uint32_t flags = 0;
  uint32_t follows = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(trace::TraceFile& file) : file_(file) {}

  uint32_t string(const std::string& text) { return file_.intern(text.data(), text.size()); }
  uint32_t line(const std::string& path, int line, const std::string& function);
  uint32_t address(uint64_t address, uint32_t caller = 0);
  uint32_t site(uint32_t line, uint32_t inner, const std::string& module,
                const std::string& module_class);
  // 0 when the file had no room.
  uint32_t signature(const SignatureSpec& spec);
  void threw(uint32_t signature, const std::string& message, const std::string& type,
             uint32_t step = 0);
  void fact(const std::string& key, const std::string& value);
  void mapping(uint64_t begin, uint64_t end, uint64_t file_offset, const std::string& path);
  void inexact(uint32_t signature, double from, double to);
  void non_finite(uint32_t signature, uint32_t flags);
  // Of a signature with kSignatureCast, which is followed by its counters.
  void cast_work(uint32_t elements, uint32_t timed, uint32_t time_ns);
  void gpu_work(uint32_t signature, uint8_t kind, const std::string& name, uint64_t time_ns);
  void group(uint32_t signature, const std::string& ranks);
  uint32_t health_row(const std::string& name, uint32_t signature, uint8_t role, uint8_t dtype);
  void health_sample(uint32_t step, const std::vector<trace::HealthPoint>& points);
  void op_time(uint32_t signature, uint64_t begin_unix_ns, uint64_t time_ns);
  void gpu_time(uint32_t signature, uint8_t kind, const std::string& name, uint64_t begin_unix_ns);

 private:
  trace::OperandRecord operand(const OperandSpec& spec);

  // As reserve() leaves it but for what the record has. Its id, where it has one.
  template <typename Record>
  uint32_t add(trace::RecordKind kind, Record record);

  trace::TraceFile& file_;
  trace::SignatureRecord* last_ = nullptr;
};

// A trace with every kind of record in it, finished; about 2 kB.
std::string sample_trace();

}  // namespace dtypecheck::test
