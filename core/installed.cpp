// installed.cpp: `pip install --target DIR` makes no folder of a known name. There DIR/*.dist-info
// lists, in its RECORD, each file that was put into DIR; of an editable install it stands elsewhere
// than the sources, which are the user's. Asked by the tracer for each code object that it meets,
// without the GIL: a folder is read once, and without a lock, for a forked child may ask as well.
#include "core/installed.h"

#include <dirent.h>
#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "platform/hash.h"

namespace dtypecheck {
namespace {

constexpr int kMostEntries = 1 << 14;  // a folder of more is one of data

struct Folder {
  uint64_t path;
  std::vector<uint64_t> files;  // relative to it; by their hashes, in order
  const Folder* next;
};
std::atomic<const Folder*> folders{
    nullptr};  // never freed; where two threads ask, one is there twice

// Lines of a RECORD are "package/file.py,sha256=…,1234".
void add_recorded(const std::string& file, std::vector<uint64_t>& files) {
  const std::unique_ptr<FILE, int (*)(FILE*)> record(std::fopen(file.c_str(), "re"), std::fclose);
  if (!record) return;
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, record.get()) > 0) {
    const std::string_view text(line);
    files.push_back(fnv1a(text.substr(0, text.find(','))));
  }
  std::free(line);
}

std::vector<uint64_t> files_installed_in(const std::string& folder) {
  constexpr std::string_view kEnding = ".dist-info";
  std::vector<uint64_t> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return files;
  const dirent* entry = readdir(entries.get());
  for (int i = 0; entry && i < kMostEntries; ++i, entry = readdir(entries.get())) {
    const std::string_view name(entry->d_name);
    if (name.size() > kEnding.size() && name.substr(name.size() - kEnding.size()) == kEnding)
      add_recorded(folder + "/" + entry->d_name + "/RECORD", files);
  }
  std::sort(files.begin(), files.end());
  return files;
}

const Folder& read_once(std::string_view path) {
  const uint64_t hash = fnv1a(path);
  for (const Folder* folder = folders.load(); folder; folder = folder->next)
    if (folder->path == hash) return *folder;
  auto* made = new Folder{hash, files_installed_in(std::string(path)), folders.load()};
  while (!folders.compare_exchange_weak(made->next, made)) {
  }
  return *made;
}

std::size_t begin_by_record(std::string_view path) {
  for (std::size_t at = path.rfind('/'); at != path.npos && at > 0; at = path.rfind('/', at - 1)) {
    const std::vector<uint64_t>& files = read_once(path.substr(0, at)).files;
    if (std::binary_search(files.begin(), files.end(), fnv1a(path.substr(at + 1)))) return at + 1;
  }
  return path.npos;
}

}  // namespace

std::size_t begin_in_packages(std::string_view path) {
  const std::size_t begin = begin_in_named_folder(path);
  if (begin != path.npos || path.empty() || path.front() != '/') return begin;
  const int error = errno;  // the traced program's
  std::size_t found = path.npos;
  try {
    found = begin_by_record(path);
  } catch (...) {  // no memory
  }
  errno = error;
  return found;
}

}  // namespace dtypecheck
