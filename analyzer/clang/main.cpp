// dtypecheck-analyzer: parses one source file and prints its facts as JSON. A process of its own
// for each file: what crashes Clang or takes all memory costs that file.
//   dtypecheck-analyzer [--with-pch PCH] [--join TEXT] FILE CLANG_ARGUMENT…
//   dtypecheck-analyzer --stand-by PCH FILE CLANG_ARGUMENT…      prints a line each time that it is
//                                                                asked by a byte (fork_server.h)
//   dtypecheck-analyzer --make-pch PCH FILE CLANG_ARGUMENT…      prints what it was made of
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "analyzer/clang/parse_file.h"

namespace dtypecheck::analyzer {
namespace {

// A file whose parse wants more memory than this fails alone, before the machine runs out of it.
void limit_memory() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#ifndef DTYPECHECK_SANITIZED  // its shadow is address space, too
  const rlimit memory = {6UL << 30, 6UL << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
}

std::string text_of(const PchParts& parts) {
  if (parts.hash.empty()) return "";
  std::string text = "pch\t" + parts.hash + "\n";
  for (const std::string& folder : parts.folders) text += "folder\t" + folder + "\n";
  for (const std::string& file : parts.files) text += "file\t" + file + "\n";
  return text;
}

std::string answer(std::vector<std::string> words) {
  std::string option, pch;
  const bool has_option =
      words[0] == "--with-pch" || words[0] == "--make-pch" || words[0] == "--stand-by";
  if (words.size() > 2 && has_option) {
    option = words[0];
    pch = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  std::string joined;
  if (words.size() > 2 && words[0] == "--join") {
    joined = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  const std::string file = words.front();
  words.erase(words.begin());
  if (option == "--make-pch") return text_of(make_pch(file, words, pch));
  const bool waits = option == "--stand-by";
  const SourceFacts facts = parse_file(file, words, pch, waits, joined);
  if (waits && !facts.parsed) return "";
  return facts_to_json(facts) + (waits ? "\n" : "");
}

}  // namespace
}  // namespace dtypecheck::analyzer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(
        "usage: dtypecheck-analyzer [--with-pch PCH | --stand-by PCH | --make-pch PCH] "
        "[--join TEXT] FILE CLANG_ARGUMENT...\n",
        stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody reads the answer once the caller is gone
  dtypecheck::analyzer::limit_memory();
  const std::string text = dtypecheck::analyzer::answer({argv + 1, argv + argc});
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 && !text.empty() ? 0 : 2;
}
