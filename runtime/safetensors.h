// safetensors.h: tensors in a file, without LibTorch.
//
//   8 bytes    length of the header, little-endian
//   header     JSON: {"name": {"dtype": "F16", "shape": [320, 4], "data_offsets": [begin, end]}, …,
//              "__metadata__": {"key": "value", …}}, offsets counted from the end of the header
//   data       the tensors, row-major, without gaps and without overlaps
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype_set.h"

namespace dtypecheck::runtime {

struct StoredTensor {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// A file mapped into memory: nothing is read before it is looked at, and a private copy is made of
// a page that is written to. The file must not shrink while it is mapped.
class SafetensorsFile {
 public:
  // Throws InputError when it cannot be opened, or is anything but what is written above.
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The tensor was copied: its pages need not stay in memory. What was written to it is lost.
  void release(const StoredTensor& tensor) const;

 private:
  void read_header();

  std::string path_;
  std::byte* mapping_ = nullptr;
  size_t size_bytes_ = 0;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// The files that hold one part of a model: folder/stem.safetensors, its shards by
// folder/stem.safetensors.index.json, or folder/stem.fp16.safetensors; the first that is there.
std::vector<std::shared_ptr<const SafetensorsFile>> open_weights(const std::string& folder,
                                                                 const std::string& stem);

// Written beside `path` and then moved there, so that a full disk or a kill leaves the old file.
void write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace dtypecheck::runtime
