// folded_names.h: many dotted names in few, and back, with nothing lost:
//   unet.down_blocks.0.attn.to_k    unet.down_blocks.0.attn.to_q
//   unet.down_blocks.1.attn.to_k    unet.down_blocks.1.attn.to_q
// are unet.down_blocks.{0,1}.attn.{to_k,to_q}. What stands first, the model, is never folded.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::judging {

// Names that hold what folding needs ("{", ",", a space) stay alone.
std::vector<std::string> fold_names(const std::set<std::string>& names);

// All that a folded name stands for. Throws InputError for one that is none, or stands for more
// than a model has modules.
std::vector<std::string> unfold_name(std::string_view folded);

// The same names for people: a part that stands for all that there are among `all` is "*".
std::vector<std::string> starred_names(const std::set<std::string>& names,
                                       const std::set<std::string>& all);

}  // namespace dtypecheck::judging
