// Any bytes give an answer, however they are cut, and nothing of them comes out that could repaint
// a terminal.
#include "explain/answer.h"
#include "platform/printable.h"
#include "target.h"

namespace dtypecheck::fuzz {

static std::string answers_to(std::string_view log, size_t cut) {
  explain::LogScanner scanner;
  scanner.feed(log.substr(0, cut));
  scanner.feed(log.substr(std::min(cut, log.size())));
  scanner.finish();
  const explain::Answer answer = explain::explain(scanner);
  return explain::to_text(answer, {}) + explain::to_text(answer, {.all = true}) +
         explain::to_json(answer);
}

// The first byte says where the log is cut, the rest is the log.
void test_input(std::string_view input) {
  if (input.empty()) return;
  const std::string answers =
      answers_to(input.substr(1), static_cast<unsigned char>(input[0]) * size_t{16});
  for (std::string_view rest = answers; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    require(printable(line) == line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
}

}  // namespace dtypecheck::fuzz
