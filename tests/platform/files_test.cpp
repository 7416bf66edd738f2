#include "platform/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "platform/error.h"
#include "platform/output.h"

namespace fs = std::filesystem;
using Catch::Contains;

namespace dtypecheck {

// A folder of its own, gone behind the test.
class Folder {
 public:
  Folder() {
    std::string path = (fs::temp_directory_path() / "dtypecheck-files.XXXXXX").string();
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  fs::path path_;
};

TEST_CASE("a file is read as it is") {
  const Folder folder;
  const std::string bytes("a\0\r\n\xff", 5);
  const std::string path = folder.write("file", bytes);
  CHECK(read_file(path) == bytes);
  CHECK(read_file(path, bytes.size()) == bytes);
  CHECK(read_file_if_any(path) == bytes);
  CHECK(read_given_file(path, "") == bytes);
  CHECK(read_file(folder.write("empty", "")).empty());
}

TEST_CASE("a file above the limit is refused with both sizes") {
  const Folder folder;
  const std::string path = folder.write("file", "12345");
  CHECK_THROWS_WITH(read_file(path, 4), Contains("file: has 5 bytes, expected at most 4"));
  CHECK(read_file_if_any(path, 4) == std::nullopt);
}

TEST_CASE("what is no file is refused, and nobody waits for it") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_file(pipe), Contains("pipe: is not a file"));
  CHECK(read_file_if_any(pipe) == std::nullopt);
  CHECK_THROWS_WITH(read_file(folder.file("")), Contains("is not a file but a folder"));
  CHECK_THROWS_WITH(read_given_file(folder.file(""), "name a file"), Contains("a folder; name a"));
  CHECK_THROWS_WITH(read_file(folder.file("none")), Contains("none: No such file or directory"));
  CHECK(read_file_if_any(folder.file("none")) == std::nullopt);
  CHECK(read_file_if_any("/dev/zero") == std::nullopt);
}

TEST_CASE("files that say they have no bytes are read to their end") {
  const std::string status = read_file("/proc/self/status");
  CHECK(status.starts_with("Name:"));
  CHECK_THROWS_WITH(read_file("/proc/self/status", 10), Contains("more than the 10 bytes"));
}

TEST_CASE("a pipe that the user names is read, up to the limit") {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(200'000, 'x');  // more than a pipe holds
  std::thread writer([&] { std::ofstream(pipe) << text; });
  CHECK(read_given_file(pipe, "") == text);
  writer.join();
  CHECK_THROWS_WITH(read_given_file("/dev/zero", "name another", 1000),
                    Contains("/dev/zero: cannot be read: has more than the 1000 bytes"));
}

TEST_CASE("a file is replaced whole, and keeps its mode") {
  const Folder folder;
  const std::string path = folder.write("file", "old");
  fs::permissions(path, fs::perms(0640));
  replace_file(path, {"new ", "text"});
  CHECK(read_file(path) == "new text");
  CHECK(fs::status(path).permissions() == fs::perms(0640));
  replace_file(folder.file("other"), {"x"}, {.mode = 0600, .syncs = false});
  CHECK(fs::status(folder.file("other")).permissions() == fs::perms(0600));
  CHECK(folder.files() == 2);  // and no draft
}

TEST_CASE("what cannot be replaced is left as it was, with no draft beside it") {
  const Folder folder;
  fs::create_directory(folder.file("folder"));
  CHECK_THROWS_AS(replace_file(folder.file("folder"), {"x"}), OutputError);
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(replace_file(pipe, {"x"}), OutputError);
  CHECK(fs::is_fifo(pipe));
  CHECK_THROWS_WITH(replace_file(folder.file("none/file"), {"x"}),
                    Contains("none/file: cannot be written: No such file or directory"));
  CHECK(folder.files() == 2);
}

TEST_CASE("a link is replaced, not what it points to") {
  const Folder folder;
  const std::string target = folder.write("target", "theirs");
  fs::create_symlink(target, folder.file("link"));
  replace_file(folder.file("link"), {"ours"});
  CHECK(read_file(target) == "theirs");
  CHECK(read_file(folder.file("link")) == "ours");
}

TEST_CASE("threads that write one file leave one of their texts") {
  const Folder folder;
  const std::string path = folder.file("file");
  std::vector<std::thread> writers;
  for (const char c : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&path, text = std::string(100'000, c)] {
      for (int i = 0; i < 20; ++i) replace_file(path, {text}, {.mode = 0600, .syncs = false});
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = read_file(path);
  CHECK(text == std::string(100'000, text.front()));
  CHECK(folder.files() == 1);
}

}  // namespace dtypecheck
