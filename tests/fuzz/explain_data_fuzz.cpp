// Any text is one of the tables of explain or an InputError, and so is what asks for a date in one.
#include "explain/cause_table.h"
#include "explain/kernel_table.h"
#include "explain/message_table.h"
#include "explain/signal_table.h"
#include "explain/since.h"
#include "platform/error.h"
#include "target.h"

namespace dtypecheck::fuzz {

template <typename Read>
static void try_to(const Read& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

void test_input(std::string_view input) {
  try_to([&] { explain::read_cause_table(input, "fuzz"); });
  try_to([&] { explain::read_kernel_table(input, "fuzz"); });
  try_to([&] { explain::read_message_table(input, "fuzz"); });
  try_to([&] { explain::read_signal_table(input, "fuzz"); });
  try_to([&] { explain::with_dates(std::string(input)); });
}

}  // namespace dtypecheck::fuzz
