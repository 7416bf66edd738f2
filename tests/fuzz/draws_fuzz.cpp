// Any bytes are recorded draws or none, and what is told of one lies in them.
#include "target.h"
#include "trace/draws.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const std::string bytes(input);
  std::vector<trace::Draw> draws;
  if (!trace::parse_draws(bytes, &draws)) return;
  for (const trace::Draw& draw : draws) {
    const uint64_t size = draw.header.count * draw.header.item_bytes;
    if (draw.numbers < bytes.data() || size > bytes.size() ||
        draw.numbers - bytes.data() > static_cast<std::ptrdiff_t>(bytes.size() - size))
      __builtin_trap();
  }
}

}  // namespace dtypecheck::fuzz
