// requests.h: who asked for 16 bits, as the tracer wrote it down (tracer/hook/requests.h): the
// frames around a cast or a factory, and what their variables said of a precision.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/precision_words.h"
#include "core/run.h"

namespace dtypecheck {

struct AskingFrame {
  SourceLine line;
  std::vector<std::pair<std::string, std::string>> said;  // "args.precision", "16-true"
};

// Of the line where the call made this dtype, or where the default dtype was set; innermost first.
std::vector<AskingFrame> frames_asking(const Process& process, const OpCall& maker, Dtype dtype);
std::vector<AskingFrame> frames_of_default(const Process& process, Dtype dtype);
std::vector<AskingFrame> all_asking_frames(const Process& process);

// The words of the program's command line, as Python has them; of no Python program none.
std::vector<std::string> words_of_command(const Process& process);

// Configuration files that the command line or a variable of those frames names, as paths.
std::vector<std::string> configuration_files(const Process& process);

std::string_view last_name(std::string_view name);  // "precision" of "cfg.trainer.precision"
// "--mixed-precision" and "mixed_precision" are one name.
bool is_same_name(std::string_view a, std::string_view b);
// The line gives the name this value: `precision: 16-true`, `--precision", default="16-true"`.
bool says(std::string_view line, std::string_view name, std::string_view value);

}  // namespace dtypecheck
