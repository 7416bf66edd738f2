// times_text.h: the time line of a run in the text form of a trace; text.h has the grammar.
#pragma once

#include <string>

#include "core/run.h"
#include "trace/text_cursor.h"

namespace dtypecheck::trace {

// A line each, without its newline.
std::string to_text(const OpTime& time);
std::string to_text(const GpuTime& time);

// What stands behind "time" and "gpu-time". Ids are as they stand there.
OpTime parse_op_time(TextCursor& cursor);
GpuTime parse_gpu_time(TextCursor& cursor);

GpuWorkKind parse_gpu_kind(TextCursor& cursor);  // kernel, copy or fill

}  // namespace dtypecheck::trace
