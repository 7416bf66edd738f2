// facts.h: what the trace says of the program beside its op calls.
#pragma once

#include <string>
#include <string_view>

#include "core/process_facts.h"

namespace dtypecheck::tracer {

void write_fact(FactKey key, const std::string& value);
void write_fact(FactKey family, std::string_view rest, const std::string& value);
void write_facts_at_start();  // command line, executable, environment
void note_facts();  // what Python objects hold once training runs; after a step, written when it
                    // changed
// Which rank this is and of how many, by torch.distributed: a program may start its ranks itself,
// and then no variable of the environment says it.
void note_world();
void write_kills();   // at the end: which processes this one ended
void forget_facts();  // in a forked child: none was written yet

}  // namespace dtypecheck::tracer
