#include "reports/source_lines.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

namespace dtypecheck::reports {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// A folder with project/train.py and, beside the project, secret.txt.
class Folder {
 public:
  Folder() : root_(fs::temp_directory_path() / ("source_lines." + std::to_string(getpid()))) {
    fs::create_directories(project());
    std::ofstream(project() / "train.py") << "import torch\n\n  emb = emb.to(dtype)  \n";
    std::ofstream(root_ / "secret.txt") << "secret\n";
  }
  ~Folder() { fs::remove_all(root_); }
  fs::path project() const { return root_ / "project"; }
  fs::path secret() const { return root_ / "secret.txt"; }

 private:
  fs::path root_;
};

fs::file_time_type now() { return fs::file_time_type::clock::now() + 1h; }

}  // namespace

TEST_CASE("a line of a file below the folder is quoted, by any spelling of its path") {
  const Folder folder;
  const LineText text = source_lines_below(folder.project(), now());
  CHECK(text("train.py", 3) == "  emb = emb.to(dtype)  ");
  CHECK(text((folder.project() / "train.py").string(), 1) == "import torch");
}

TEST_CASE("what is not there is not said") {
  const Folder folder;
  const LineText text = source_lines_below(folder.project(), now());
  for (const int line : {-1, 0, 2, 4, 1000000}) CHECK(text("train.py", line).empty());
  CHECK(text("other.py", 1).empty());
  CHECK(text("", 1).empty());
  CHECK(source_lines_below(folder.project() / "gone", now())("train.py", 1).empty());
}

TEST_CASE("a file that changed after the run is not quoted") {
  const Folder folder;
  const auto changed_at = fs::last_write_time(folder.project() / "train.py");
  CHECK(source_lines_below(folder.project(), changed_at - 1s)("train.py", 1).empty());
  CHECK(source_lines_below(folder.project(), changed_at)("train.py", 1) == "import torch");
}

TEST_CASE("a trace cannot make a report quote files outside of the folder, or what is no file") {
  const Folder folder;
  fs::create_symlink(folder.secret(), folder.project() / "link.py");
  const LineText text = source_lines_below(folder.project(), now());
  CHECK(text(folder.secret().string(), 1).empty());
  CHECK(text("../secret.txt", 1).empty());
  CHECK(text("link.py", 1).empty());
  CHECK(text("/dev/zero", 1).empty());
  CHECK(text(".", 1).empty());
}

}  // namespace dtypecheck::reports
