// Writes the first inputs of the trace reader's fuzz target: make_seeds FOLDER. Run it when the
// trace format changes.
#include <cstdio>
#include <string>

#include "trace/builder.h"

namespace dtypecheck::test {

static std::string empty_trace() {
  const TemporaryFolder folder;
  const auto file = new_trace_file();
  if (file->create(folder.path().c_str(), "h", 1, -1) != 0) return "";
  file->finish(1);
  return read_bytes(file->path());
}

static void write_seeds(const std::string& folder) {
  const std::string sample = sample_trace();
  write_bytes(folder + "/sample", sample);
  write_bytes(folder + "/empty", empty_trace());
  write_bytes(folder + "/cut", sample.substr(0, sample.size() * 2 / 3));
  write_bytes(folder + "/no_header", sample.substr(trace::kHeaderBytes));
}

}  // namespace dtypecheck::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "make_seeds: expected one folder, got %d arguments\n", argc - 1);
    return 2;
  }
  dtypecheck::test::write_seeds(argv[1]);
  return 0;
}
