// health.h: the health of a run (trace --health) in one of its traces, and in the text form.
// Private to the reader and to the text form.
#pragma once

#include <functional>
#include <string>

#include "core/run.h"
#include "trace/records.h"
#include "trace/tables.h"
#include "trace/text_cursor.h"

namespace dtypecheck::trace {

void read_health(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                 const std::function<OpCallId(uint32_t signature)>& call_of, Damage& damage,
                 uint32_t process, Run& run);

std::string to_text(const HealthRow& row);
std::string to_text(const HealthStep& step);
HealthRow parse_health_row(TextCursor& cursor);    // behind "health"
HealthStep parse_health_step(TextCursor& cursor);  // behind "health-step"

}  // namespace dtypecheck::trace
