#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/dump.h"
#include "platform/error.h"
#include "platform/temporary_folder.h"
#include "platform/text.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::cli {

namespace {

// A row for each JSON object `of` a source. Its fields are columns,
// "inner_line=location.inner.line" by another name; with "?" one that is left out is 0, with "#" it
// is a list of numbers, and with
// "!" it has a value for each key. Before them stand columns that are no fields of the object.
struct Table {
  const char* name;
  const char* source;
  const char* of;
  const char* before;
  const char* fields;
};

// What a view adds is what nearly every question joins. op_calls.json is the JSON line of the call:
// nothing that is known is missing.
constexpr const char* kTensor =
    "name role dtype kind shape# device parameter origin=origin_id requires_grad? is_leaf=leaf? "
    "is_written=written? is_number=wrapped_number?";
constexpr Table kTables[] = {
    {"processes", "process_lines", "process_lines.json", "",
     "id file host pid parent_pid rank command executable libtorch python devices end signal "
     "started_ns ended_ns steps steps_traced events lost damaged"},
    {"facts", "process_lines, json_each(process_lines.json, '$.facts')", "value",
     "json_extract(process_lines.json, '$.id') AS process, ", "name=[0] value=[1]"},
    {"op_calls", "call_lines", "call_lines.json", "",
     "id process op overload outcome error error_type file=location.file line=location.line "
     "function=location.function inner_file=location.~file inner_line=location.~line "
     "inner_function=location.~function module=location.module "
     "module_class=location.module_class phase=location.phase first_step=location.step last_step "
     "count throws? autocast! autocast_call parent=parent_id follows=follows_id compiled? "
     "group_ranks=group json="},
    {"operands", "op_calls, json_each(op_calls.json, '$.operands')", "value",
     "op_calls.id AS op_call, 0 AS is_result, key AS position, ", kTensor},
    {"results", "op_calls, json_each(op_calls.json, '$.results')", "value",
     "op_calls.id AS op_call, 1 AS is_result, key AS position, ", kTensor},
    {"made_by", "op_calls, json_each(op_calls.json, '$.made_by')", "value",
     "op_calls.id AS op_call, ", "first last least most"},
    {"gpu_work", "op_calls, json_each(op_calls.json, '$.gpu')", "value", "op_calls.id AS op_call, ",
     "kind name device count time_ns bytes"},
};
constexpr const char* kMore = R"(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES ('format', 'dtypecheck'), ('schema', '1');
INSERT INTO made_by SELECT id, process, process, count, count FROM op_calls
  WHERE json_extract(json, '$.made_by') IS NULL;
CREATE TABLE scalars AS SELECT op_calls.id AS op_call, key AS name,
  CASE WHEN type <> 'text' THEN value WHEN value LIKE '%inf' THEN replace(value, 'inf', '9e999') + 0 END AS value,
  CASE WHEN type = 'text' AND value NOT IN ('inf', '-inf', 'nan') THEN value END AS dtype
  FROM op_calls, json_each(op_calls.json, '$.scalars');
CREATE VIEW tensors AS SELECT * FROM operands UNION ALL SELECT * FROM results;
CREATE INDEX op_calls_by_id ON op_calls (id);
CREATE INDEX op_calls_of ON op_calls (module);
CREATE INDEX operands_of ON operands (op_call);
CREATE INDEX results_of ON results (op_call);
)";

// "" is what is not known.
std::string column(std::string_view field, const std::string& of) {
  const char last = field.back();
  const bool is_marked = last == '?' || last == '#' || last == '!';
  if (is_marked) field.remove_suffix(1);
  std::string_view path = field;
  const std::string_view name = next_piece(path, '=');
  if (field.find('=') == field.npos) path = name;
  std::string where = fmt::format("'${}{}'", path.empty() || path.front() == '[' ? "" : ".", path);
  if (const size_t at = where.find('~'); at != where.npos)
    where.replace(
        at, 1,
        fmt::format("' || iif(json_type({}, '$.location.inner') = 'object', 'inner.', '') "
                    "|| '",
                    of));
  const std::string value = fmt::format("json_extract({}, {})", of, where);
  if (last == '?') return fmt::format("ifnull({}, 0) AS \"{}\"", value, name);
  if (last == '#') return fmt::format("replace({}, ',', ', ') AS \"{}\"", value, name);
  if (last == '!')
    return fmt::format(
        "(SELECT group_concat(key || ':' || value) FROM json_each({}, {})) AS \"{}\"", of, where,
        name);
  return fmt::format("nullif({}, '') AS \"{}\"", value, name);
}

std::string creation(const Table& table) {
  std::string columns;
  for (std::string_view rest = table.fields; !rest.empty();)
    columns += (columns.empty() ? "" : ", ") + column(next_piece(rest, ' '), table.of);
  return fmt::format("CREATE TABLE {} AS SELECT {}{} FROM {}", table.name, table.before, columns,
                     table.source);
}

class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fail();
  }
  ~Database() {
    sqlite3_finalize(statement_);
    sqlite3_close(handle_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  // Of what add() fills.
  void begin_lines(const std::string& table) {
    run(fmt::format("CREATE TEMP TABLE {} (json TEXT)", table));
    sqlite3_finalize(statement_);
    const std::string sql = fmt::format("INSERT INTO {} VALUES (?)", table);
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) fail();
  }
  void add(const std::string& line) {
    sqlite3_bind_text(statement_, 1, line.data(), static_cast<int>(line.size()), SQLITE_TRANSIENT);
    if (sqlite3_step(statement_) != SQLITE_DONE) fail();
    sqlite3_reset(statement_);
  }

 private:
  [[noreturn]] void fail() const {
    throw InputError(fmt::format("{}: the database cannot be written: {}", path_,
                                 handle_ ? sqlite3_errmsg(handle_) : "out of memory"));
  }

  std::string path_;
  sqlite3* handle_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

std::string process_line(const Process& p, size_t id) {
  using Json = nlohmann::ordered_json;
  Json json = {{"id", id},
               {"file", p.file},
               {"host", p.host},
               {"pid", p.pid},
               {"parent_pid", p.parent_pid},
               {"rank", p.rank < 0 ? Json() : Json(p.rank)},
               {"command", p.command},
               {"executable", p.executable},
               {"libtorch", p.libtorch},
               {"python", p.python},
               {"devices", fmt::format("{}", fmt::join(p.devices, ","))},
               {"end", end_state_name(p.end)},
               {"signal", p.signal},
               {"started_ns", p.started_unix_ns},
               {"ended_ns", p.ended_unix_ns},
               {"steps", p.steps},
               {"steps_traced", p.steps_traced},
               {"events", p.events},
               {"lost", p.signatures_lost},
               {"damaged", p.damaged},
               {"facts", Json::array()}};
  for (const auto& [name, value] : p.facts) json["facts"].push_back(Json::array({name, value}));
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

void write_sqlite(const Run& run, std::ostream& out) {
  const TemporaryFolder folder("dump");  // SQLite wants a file of its own, with a name
  const std::string file = folder.path() + "/run.db";
  {
    Database database(file);
    database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    database.begin_lines("process_lines");
    for (size_t i = 0; i < run.processes.size(); ++i)
      database.add(process_line(run.processes[i], i));
    database.begin_lines("call_lines");
    for (const OpCall& call : run.calls) database.add(trace::op_call_json_line(call, run));
    for (const Table& table : kTables) database.run(creation(table));
    database.run(kMore);
    database.run("COMMIT");
  }
  out << std::ifstream(file, std::ios::binary).rdbuf();
}

}  // namespace dtypecheck::cli
