// known_dtypes.h: what the run tells of the dtypes of a file's expressions, and of a model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/cure.h"
#include "core/dtype.h"
#include "core/run.h"

namespace dtypecheck::cures {

// "float16" of Half, as torch calls it.
std::string name_in_torch(Dtype dtype);

// [line, column, end line, end column, dtype] of each expression of the file that called an op, the
// dtype "" where that did not always give the same.
nlohmann::json results_in(const Run& run, uint32_t process, const std::string& file);

// {"layers.0.weight": dtype} of the parameters of the model that the call is a part of, by their
// full names.
nlohmann::json parameters_around(const Run& run, const OpCall& call);

// ["unet", "text_encoder"] of the models that have trained parameters in 16 bits, in the order in
// which the process read them.
nlohmann::json models_trained_low(const Run& run, uint32_t process);

// It has one other floating dtype than that, and keeps it in a promotion.
bool is_odd_beside(const Operand& operand, Dtype dtype);

// [line, function] where what the cure's line refuses came in, the line 0 where that is another
// file.
nlohmann::json origins_of(const Cure& cure, const Run& run, const OpCall& call);

// {"file", "line", "extent"} of the lines of a module's forward() that refuse what the cure's line
// gives it.
nlohmann::json lines_called_by(const Cure& cure, const Run& run, const OpCall& call);

}  // namespace dtypecheck::cures
