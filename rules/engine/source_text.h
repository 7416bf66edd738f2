// source_text.h: what rules read in the program's own lines. A report is made where no Python need
// be, so they are read by their brackets and words; what cannot be told so is not said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/line_text.h"
#include "core/site.h"

namespace dtypecheck::rules {

struct TextLine {
  SourceLine line;
  std::string text;  // without a comment
};
// The lines of the file that have the piece, outside of comments.
std::vector<TextLine> lines_with(const LineText& line_text, const std::string& file,
                                 std::string_view piece);

// The condition that the line stands below, "if args.fp16:"; "" where none is kept near it.
std::string question_above(const LineText& line_text, const SourceLine& line);

// The text of the call that begins on the line, as far as it is kept, as one line.
std::string call_at(const LineText& line_text, const SourceLine& line);
// The arguments of the call that opens there; none where it does not close.
std::vector<std::string_view> arguments_of(std::string_view text, size_t opening);
// The call in the text that has this place of it in its name or among its arguments: "m.half()",
// "net().to(device, torch.bfloat16)", and of a long one its name and that argument:
// "torch.nn.Embedding(…, dtype=torch.bfloat16)", or of a chain what follows its last dot.
std::string call_around(std::string_view text, size_t place);

}  // namespace dtypecheck::rules
