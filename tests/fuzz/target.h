// target.h: what each fuzz target is: it takes any bytes, and InputError is an answer to them; any
// other exception, a crash, a hang and more memory than a desktop has are faults. A target is a
// file NAME_fuzz.cpp that defines test_input(), and a folder corpus/NAME of first inputs.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

namespace dtypecheck::fuzz {

void test_input(std::string_view input);

// libFuzzer reports an abort with the input that led to it.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// The input for a reader that wants the path of a file.
class GivenFile {
 public:
  explicit GivenFile(std::string_view input) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    require(file_ >= 0 &&
            ::write(file_, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  }
  ~GivenFile() { ::close(file_); }
  GivenFile(const GivenFile&) = delete;
  GivenFile& operator=(const GivenFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

// The input for a reader that wants a folder: "== vocab.json" begins a file. Other names than the
// given ones are no files.
class GivenFolder {
 public:
  GivenFolder(std::string_view input, std::initializer_list<std::string_view> names) {
    std::filesystem::remove_all(path());
    std::filesystem::create_directory(path());
    for (const std::string_view name : names) {
      const std::string head = "== " + std::string(name) + "\n";
      const size_t begin = input.find(head);
      if (begin == input.npos) continue;
      const std::string_view rest = input.substr(begin + head.size());
      std::ofstream(path() + "/" + std::string(name), std::ios::binary)
          << rest.substr(0, rest.find("== "));
    }
  }
  ~GivenFolder() { std::filesystem::remove_all(path()); }
  GivenFolder(const GivenFolder&) = delete;
  GivenFolder& operator=(const GivenFolder&) = delete;
  static std::string path() {
    const auto all = std::filesystem::temp_directory_path();
    return (all / ("dtypecheck-fuzz." + std::to_string(::getpid()))).string();
  }
};

}  // namespace dtypecheck::fuzz
