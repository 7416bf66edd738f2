// mix_case.h: a mix whose cures are looked for, and what proposes each of them.
#pragma once

#include <optional>
#include <vector>

#include "rules/cures/cures.h"
#include "rules/engine/mix.h"

namespace dtypecheck::rules {

struct MixCase {
  MixCase(const RunIndex& index, const JudgeOptions& options, const OpCall& call, const Mix& mix,
          const Provenance& source)
      : index(index),
        options(options),
        propose(index, options),
        call(call),
        odd(mix.odd),
        other(mix.other),
        source(source) {}

  // Once, and no cast to 8 bits, which would need a scale, or to a side that has too few digits.
  void add(std::optional<Cure> cure);

  const RunIndex& index;
  const JudgeOptions& options;
  const CureProposer propose;
  const OpCall& call;
  const Side& odd;
  const Side& other;
  const Provenance& source;  // where the odd side's dtype came from
  std::vector<Cure> cures;   // the likeliest first
};

// It came out of a region, which then ended too early.
bool was_lowered_by_autocast(const MixCase& m, const Side& side);
// An inner op of a recurrent layer gets the two hidden states apart, the layer as a pair.
bool is_recurrent_state(const Operand& operand);
void open_autocast(MixCase& m);

// mix_casts.cpp
bool is_written(const MixCase& m, const Side& side);
void cast_side(MixCase& m, const Side& side, Dtype dtype);
void cast_hidden(MixCase& m, Dtype dtype);
void cast_what_is_drawn(MixCase& m);
void cast_for_layers(MixCase& m);
void cast_all_odd(MixCase& m);
void cast_for_written(MixCase& m);
void cast_at_caller(MixCase& m);

// mix_origins.cpp
void raise_defaults(MixCase& m);
void make_in_double(MixCase& m);
// Lines of the program's own lower what was made so wide, or the line makes others of it as well.
bool is_meant_wide(const MixCase& m);
void cast_array_in_double(MixCase& m);
void cast_at_promotion(MixCase& m);
void cast_promoted_input(MixCase& m);
void cast_at_last_promotion(MixCase& m);
void cast_at_maker(MixCase& m);
void cast_other_at_maker(MixCase& m);
void cast_data_in_double(MixCase& m);
void cast_other_sixteen_bits(MixCase& m);

// mix_weights.cpp
bool is_models_dtype(const MixCase& m, const Side& side);
void cast_parameter(MixCase& m, const Side& side, Dtype dtype);
void cast_model(MixCase& m, const Side& side, Dtype dtype);
void cast_lone_parameter(MixCase& m);
void cast_changed_parameter(MixCase& m);
void cast_odd_parameter(MixCase& m);
void cast_weights_beside_cast(MixCase& m);
void register_buffer(MixCase& m, const OpCall& reader, const Operand& read, bool is_sure);
void raise_written_table(MixCase& m);
void serve_low_input(MixCase& m);

}  // namespace dtypecheck::rules
