#include "runtime/captions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/json.h"
#include "runtime/image.h"
#include "runtime/json_file.h"

namespace dtypecheck::runtime {

namespace fs = std::filesystem;

static constexpr size_t kMetadataLimitBytes = 256 << 20;
static constexpr size_t kCaptionLimitBytes = 1 << 20;

static std::vector<std::string> image_names(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (has_image_name(name)) names.push_back(name);
  }
  if (error) throw InputError(fmt::format("{}: {}", folder, error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

static std::vector<CaptionedImage> read_metadata(const std::string& folder,
                                                 const std::string& path) {
  std::vector<CaptionedImage> images;
  std::istringstream lines(read_file(path, kMetadataLimitBytes));
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const nlohmann::json row = nlohmann::json::parse(line, is_shallow, false);
    for (const char* key : {"file_name", "text"}) {
      if (!row.is_object() || !row.contains(key) || !row[key].is_string()) {
        throw InputError(
            fmt::format("{}:{}: expected an object with a text {}", path, number, key));
      }
    }
    const std::string image = folder + "/" + row["file_name"].get<std::string>();
    if (!is_file(image)) {  // now, not after the hours it may take to come to it
      throw InputError(
          fmt::format("{}:{}: {} is not there; correct file_name", path, number, image));
    }
    images.push_back({image, row["text"].get<std::string>()});
  }
  return images;
}

static std::string caption_beside(const std::string& image) {
  const std::string path = fs::path(image).replace_extension(".txt").string();
  if (!is_file(path)) {
    throw InputError(fmt::format("{}: has no caption; give --prompt, or write {} or metadata.jsonl",
                                 image, path));
  }
  std::string text = read_file(path, kCaptionLimitBytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::vector<CaptionedImage> read_captions(const std::string& folder, const std::string& prompt) {
  std::vector<CaptionedImage> images;
  const std::string metadata = folder + "/metadata.jsonl";
  if (prompt.empty() && is_file(metadata)) {
    images = read_metadata(folder, metadata);
  } else {
    for (const std::string& name : image_names(folder)) {
      const std::string path = folder + "/" + name;
      images.push_back({path, prompt.empty() ? caption_beside(path) : prompt});
    }
  }
  if (images.empty()) {
    throw InputError(fmt::format("{}: has no images; expected .jpg, .jpeg or .png files", folder));
  }
  return images;
}

}  // namespace dtypecheck::runtime
