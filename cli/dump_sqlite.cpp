#include "cli/dump_sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/temporary_file.h"
#include "platform/error.h"
#include "platform/utf8.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::cli {

namespace {

// What a view adds is what nearly every question joins. op_calls.json is the JSON line of the call:
// nothing that is known is missing.
constexpr const char* kSchema = R"(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES ('format', 'dtypecheck'), ('schema', '1');
CREATE TABLE processes (id INTEGER PRIMARY KEY, file TEXT, host TEXT, pid INTEGER, parent_pid INTEGER,
  rank INTEGER, command TEXT, executable TEXT, libtorch TEXT, python TEXT, devices TEXT,
  "end" TEXT, signal INTEGER, started_ns INTEGER, ended_ns INTEGER, steps INTEGER, steps_traced INTEGER,
  events INTEGER, lost INTEGER, damaged TEXT);
CREATE TABLE facts (process INTEGER, name TEXT, value TEXT);
CREATE TABLE op_calls (id INTEGER PRIMARY KEY, process INTEGER, op TEXT, overload TEXT, outcome TEXT,
  error TEXT, error_type TEXT, file TEXT, line INTEGER, function TEXT, inner_file TEXT, inner_line INTEGER,
  inner_function TEXT, module TEXT, module_class TEXT, phase TEXT, first_step INTEGER, last_step INTEGER,
  count INTEGER, throws INTEGER, autocast TEXT, autocast_call TEXT, parent INTEGER, follows INTEGER,
  compiled INTEGER, group_ranks TEXT, json TEXT);
CREATE TABLE tensors (op_call INTEGER, is_result INTEGER, position INTEGER, name TEXT, role TEXT,
  dtype TEXT, kind TEXT, shape TEXT, device TEXT, parameter TEXT, origin INTEGER, requires_grad INTEGER,
  is_leaf INTEGER, is_written INTEGER, is_number INTEGER);
CREATE TABLE scalars (op_call INTEGER, name TEXT, value REAL, dtype TEXT);
CREATE TABLE made_by (op_call INTEGER, first INTEGER, last INTEGER, least INTEGER, most INTEGER);
CREATE TABLE gpu_work (op_call INTEGER, kind TEXT, name TEXT, device INTEGER, count INTEGER,
  time_ns INTEGER, bytes INTEGER);
CREATE INDEX tensors_of ON tensors (op_call);
CREATE INDEX op_calls_of ON op_calls (module);
CREATE VIEW operands AS SELECT * FROM tensors WHERE NOT is_result;
CREATE VIEW results AS SELECT * FROM tensors WHERE is_result;
)";

// Recorded bytes are any; a reader of the database expects UTF-8.
std::string valid(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    out += point.valid ? text.substr(at, point.length) : std::string_view("\uFFFD");
    at += point.length;
  }
  return out;
}

std::optional<int64_t> known(OpCallId id) {
  return id == kNoOpCall ? std::nullopt : std::optional<int64_t>(id);
}

class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fail();
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() const {
    throw InputError(fmt::format("{}: the database cannot be written: {}", path_,
                                 handle_ ? sqlite3_errmsg(handle_) : "out of memory"));
  }
  sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// Rows of one table.
class Rows {
 public:
  Rows(Database& database, const char* table, int columns) : database_(database) {
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (int i = 1; i < columns; ++i) sql += ",?";
    if (sqlite3_prepare_v2(database.handle(), (sql + ")").c_str(), -1, &statement_, nullptr) !=
        SQLITE_OK)
      database.fail();
  }
  ~Rows() { sqlite3_finalize(statement_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  template <typename... Values>
  void add(const Values&... values) {
    int column = 0;
    (bind(++column, values), ...);
    if (sqlite3_step(statement_) != SQLITE_DONE) database_.fail();
    sqlite3_reset(statement_);
  }

 private:
  // "" is what is not known.
  void bind(int column, const std::string& text) {
    if (text.empty()) {
      sqlite3_bind_null(statement_, column);
      return;
    }
    const std::string safe = valid(text);
    sqlite3_bind_text(statement_, column, safe.data(), static_cast<int>(safe.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int column, const char* text) { bind(column, std::string(text)); }
  void bind(int column, double value) { sqlite3_bind_double(statement_, column, value); }
  void bind(int column, std::nullopt_t) { sqlite3_bind_null(statement_, column); }
  template <typename Integer>
    requires std::is_integral_v<Integer>
  void bind(int column, Integer value) {
    sqlite3_bind_int64(statement_, column, static_cast<sqlite3_int64>(value));
  }
  template <typename Value>
  void bind(int column, const std::optional<Value>& value) {
    if (value.has_value()) {
      bind(column, *value);
    } else {
      bind(column, std::nullopt);
    }
  }

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

void write_processes(const Run& run, Database& database) {
  Rows processes(database, "processes", 20), facts(database, "facts", 3);
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& p = run.processes[i];
    std::optional<int> rank;
    if (p.rank >= 0) rank = p.rank;
    processes.add(i, p.file, p.host, p.pid, p.parent_pid, rank, p.command, p.executable, p.libtorch,
                  p.python, fmt::format("{}", fmt::join(p.devices, ",")), end_state_name(p.end),
                  p.signal, p.started_unix_ns, p.ended_unix_ns, p.steps, p.steps_traced, p.events,
                  p.signatures_lost, p.damaged);
    for (const auto& [name, value] : p.facts) facts.add(i, name, value);
  }
}

std::string autocast_text(const AutocastState& state) {
  std::string text;
  for (const AutocastState::Region& region : state.enabled)
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : ",", region.device, dtype_name(region.dtype));
  return text;
}

class OpCallRows {
 public:
  OpCallRows(const Run& run, Database& database)
      : run_(run),
        op_calls_(database, "op_calls", 27),
        tensors_(database, "tensors", 15),
        scalars_(database, "scalars", 4),
        made_by_(database, "made_by", 5),
        gpu_work_(database, "gpu_work", 7) {}

  void add(const OpCall& call) {
    const SourceLine &line = call.site.line, &inner = call.site.inner;
    op_calls_.add(call.id, call.process, call.op, call.overload, outcome_name(call.outcome),
                  call.error, call.error_type, line.file, line.line, line.function, inner.file,
                  inner.line, inner.function, call.site.module, call.site.module_class,
                  phase_name(call.site.phase), call.first_step, call.last_step, call.count,
                  call.throws, autocast_text(call.autocast),
                  call.autocast.is_wrapper ? "wrapper"
                  : call.autocast.is_inner ? "inner"
                                           : "",
                  known(call.parent), known(call.follows), call.in_compiled_region, call.group,
                  trace::op_call_json_line(call, run_));
    for (const bool is_result : {false, true}) {
      const auto& tensors = is_result ? call.results : call.operands;
      for (size_t i = 0; i < tensors.size(); ++i) add(call.id, is_result, i, tensors[i]);
    }
    for (const ScalarArgument& scalar : call.scalars) {
      const bool is_dtype = scalar.dtype.has_value();
      scalars_.add(call.id, scalar.name,
                   is_dtype ? std::nullopt : std::optional<double>(scalar.value),
                   is_dtype ? dtype_name(*scalar.dtype) : "");
    }
    for (const ProcessRange& range : call.made_by)
      made_by_.add(call.id, range.first, range.last, range.least, range.most);
    if (call.made_by.empty())
      made_by_.add(call.id, call.process, call.process, call.count, call.count);
    for (const GpuWork& work : call.gpu) {
      constexpr const char* kKinds[] = {"", "kernel", "copy", "fill"};
      gpu_work_.add(call.id, kKinds[static_cast<size_t>(work.kind)], work.name, work.device,
                    work.count, work.time_ns, work.bytes);
    }
  }

 private:
  void add(OpCallId call, bool is_result, size_t position, const Operand& tensor) {
    tensors_.add(call, is_result, position, tensor.name, role_name(tensor.role),
                 tensor.dtypes.empty() ? "" : tensor.dtypes.to_string(),
                 tensor_kind_name(tensor.kind), shape_text(tensor), tensor.device.to_string(),
                 tensor.parameter, known(tensor.origin), tensor.requires_grad, tensor.is_leaf,
                 tensor.is_written, tensor.is_wrapped_number);
  }

  const Run& run_;
  Rows op_calls_, tensors_, scalars_, made_by_, gpu_work_;
};

}  // namespace

void write_sqlite(const Run& run, std::ostream& out) {
  const TemporaryFile file;  // SQLite wants one of its own, with a name
  {
    Database database(file.path());
    database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    database.run(kSchema);
    write_processes(run, database);
    OpCallRows rows(run, database);
    for (const OpCall& call : run.calls) rows.add(call);
    database.run("COMMIT");
  }
  out << std::ifstream(file.path(), std::ios::binary).rdbuf();
}

}  // namespace dtypecheck::cli
