#include "trace/sources.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "platform/error.h"

namespace fs = std::filesystem;
using namespace dtypecheck;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("sources_test." + std::to_string(::getpid()));
  Folder() { fs::create_directory(path); }
  ~Folder() { fs::remove_all(path); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

Run run_with_call_at(const std::string& file, int line) {
  Run run;
  run.processes.emplace_back();
  OpCall call;
  call.id = 1;
  call.site.line = {file, line, "main"};
  run.calls = {call};
  return run;
}

const auto kLater = fs::file_time_type::max();

}  // namespace

TEST_CASE("lines around the op calls come back from the folder as they stood") {
  const Folder folder;
  std::string text;
  for (int i = 1; i <= 40; ++i) text += "\tline " + std::to_string(i) + "\r\n";
  const std::string file = folder.write("train.py", text);
  Sources::of_run(run_with_call_at(file, 20), kLater).write(folder.path);

  const Sources sources = Sources::read(folder.path);
  CHECK(sources.line(file, 20) == "\tline 20");
  CHECK(sources.line(file, 15) == "\tline 15");
  CHECK(sources.line(file, 25) == "\tline 25");
  CHECK(sources.line(file, 14).empty());
  CHECK(sources.line(file, 26).empty());
  CHECK(sources.line("other.py", 20).empty());
}

TEST_CASE("a source is known to be what ran until it changes") {
  const Folder folder;
  const std::string file = folder.write("train.py", "x = 1\n");
  const Sources sources = Sources::of_run(run_with_call_at(file, 1), kLater);
  CHECK(sources.is_unchanged(file));
  CHECK_FALSE(sources.is_unchanged((folder.path / "other.py").string()));
  folder.write("train.py", "x = 2\n");
  CHECK_FALSE(sources.is_unchanged(file));
  CHECK(sources.line(file, 1) == "x = 1");
  fs::remove(file);
  CHECK_FALSE(sources.is_unchanged(file));
}

TEST_CASE("what was written after the run began is not taken for what ran") {
  const Folder folder;
  const std::string file = folder.write("train.py", "x = 1\n");
  const auto before = fs::last_write_time(file) - std::chrono::seconds(1);
  const Sources sources = Sources::of_run(run_with_call_at(file, 1), before);
  CHECK(sources.line(file, 1).empty());
  CHECK_FALSE(sources.is_unchanged(file));
  sources.write(folder.path);
  CHECK_FALSE(fs::exists(folder.path / "sources.json"));
}

TEST_CASE("a source that is not UTF-8 is kept all the same") {
  const Folder folder;
  const std::string file = folder.write("train.py", "x = '\xe4'\n");
  Sources::of_run(run_with_call_at(file, 1), kLater).write(folder.path);
  CHECK(Sources::read(folder.path).line(file, 1).starts_with("x = '"));
}

TEST_CASE("a folder's damaged lines are refused with their name") {
  for (const char* text : {"", "[]", "{", R"({"files": 1})", R"({"files": [{"path": 1}]})",
                           R"({"files": [{"path": "a", "hash": "xyz", "lines": {}}]})",
                           R"({"files": [{"path": "a", "hash": "00", "lines": {"one": "x"}}]})",
                           R"({"files": [{"path": "a", "hash": "00", "lines": {"1": 2}}]})"}) {
    CHECK_THROWS_WITH(Sources::parse(text, "run/sources.json"),
                      Catch::Contains("run/sources.json: are no source lines of a run"));
  }
  CHECK_NOTHROW(Sources::parse(R"({"files": []})", "x"));
  CHECK(Sources::read(Folder().path / "none").line("a", 1).empty());
}

TEST_CASE("a merged trace has the lines of its runs beside it") {
  const Folder folder;
  const std::string file = folder.write("train.py", "first\nsecond\n");
  const std::string trace = folder.write("all.dtrace", "");
  Sources::of_run(run_with_call_at(file, 2), kLater).write(trace);
  CHECK(fs::exists(trace + ".sources.json"));
  CHECK(Sources::read(trace).line(file, 2) == "second");
  CHECK(Sources::read(folder.write("other.dtrace", "")).line(file, 2).empty());
  // Merged anew from runs that kept none.
  Sources().write(trace);
  CHECK_FALSE(fs::exists(trace + ".sources.json"));
}
