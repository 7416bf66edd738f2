// captions.h: the images of a folder and what is said of each.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck::runtime {

struct CaptionedImage {
  std::string path, caption;
};

// All images of the folder, by name. The caption is `prompt` unless that is empty; else that of
// metadata.jsonl ({"file_name": "a.png", "text": "a photo of …"} a line), which then also says
// which images there are; else that of a.txt beside a.png. Throws InputError where there is none.
std::vector<CaptionedImage> read_captions(const std::string& folder, const std::string& prompt);

}  // namespace dtypecheck::runtime
