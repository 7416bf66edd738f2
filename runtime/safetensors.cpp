#include "runtime/safetensors.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "platform/error.h"
#include "platform/files.h"
#include "runtime/json_file.h"

namespace dtypecheck::runtime {

static constexpr uint64_t kHeaderLimitBytes = 100'000'000;  // the format's own
static constexpr uint64_t kLengthBytes = 8;

namespace {

struct DtypeName {
  const char* name;
  Dtype dtype;
};

constexpr DtypeName kDtypeNames[] = {
    {"F64", Dtype::kDouble},
    {"F32", Dtype::kFloat},
    {"F16", Dtype::kHalf},
    {"BF16", Dtype::kBFloat16},
    {"F8_E4M3", Dtype::kFloat8_e4m3fn},
    {"F8_E5M2", Dtype::kFloat8_e5m2},
    {"I64", Dtype::kLong},
    {"I32", Dtype::kInt},
    {"I16", Dtype::kShort},
    {"I8", Dtype::kChar},
    {"U8", Dtype::kByte},
    {"BOOL", Dtype::kBool},
};

// What a file of a hostile author may show of itself in a message.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 120)) out += c >= ' ' && c != 127 ? c : '?';
  return out.empty() ? "(empty name)" : out;
}

Dtype dtype_of(const std::string& name) {
  for (const DtypeName& known : kDtypeNames) {
    if (name == known.name) return known.dtype;
  }
  throw InputError(fmt::format("unknown dtype {}", printable(name)));
}

const char* name_of(Dtype dtype) {
  for (const DtypeName& known : kDtypeNames) {
    if (dtype == known.dtype) return known.name;
  }
  throw InputError(fmt::format("safetensors has no {}", dtype_name(dtype)));
}

uint64_t non_negative(const nlohmann::json& value, const char* what) {
  if (!value.is_number_unsigned()) {
    throw InputError(fmt::format("{} is not a list of whole numbers", what));
  }
  return value.get<uint64_t>();
}

const nlohmann::json& member(const nlohmann::json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw InputError(fmt::format("has no {}", key));
  return *found;
}

std::vector<int64_t> shape_of(const nlohmann::json& list) {
  if (!list.is_array()) throw InputError("shape is not a list of whole numbers");
  std::vector<int64_t> shape;
  for (const nlohmann::json& value : list) {
    const uint64_t size = non_negative(value, "shape");
    if (size > INT64_MAX) throw InputError(fmt::format("shape has {}", size));
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

uint64_t size_bytes_of(Dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = static_cast<uint64_t>(dtype_size_bytes(dtype));
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      throw InputError("shape has more elements than can be counted");
    }
  }
  return bytes;
}

// One entry of the header; `data` is all that follows the header.
StoredTensor tensor_of(const std::string& name, const nlohmann::json& entry,
                       std::span<const std::byte> data) {
  if (!entry.is_object()) throw InputError("is not an object");
  const nlohmann::json& dtype = member(entry, "dtype");
  if (!dtype.is_string()) throw InputError("dtype is not a string");
  StoredTensor tensor{
      name, dtype_of(dtype.get<std::string>()), shape_of(member(entry, "shape")), {}};
  const nlohmann::json& offsets = member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    throw InputError("data_offsets is not a list of two whole numbers");
  }
  const uint64_t begin = non_negative(offsets[0], "data_offsets");
  const uint64_t end = non_negative(offsets[1], "data_offsets");
  if (begin > end || end > data.size()) {
    throw InputError(fmt::format("data_offsets are {} to {}, the file has {} bytes of data", begin,
                                 end, data.size()));
  }
  const uint64_t expected = size_bytes_of(tensor.dtype, tensor.shape);
  if (end - begin != expected) {
    throw InputError(
        fmt::format("shape and dtype make {} bytes, data_offsets span {}", expected, end - begin));
  }
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

// A header that names a tensor twice would give whichever the reader happens to keep.
nlohmann::json parse_header(std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1 &&
        !names.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  nlohmann::json header = nlohmann::json::parse(text.begin(), text.end(), watch, false);
  if (!twice.empty()) throw InputError(fmt::format("{} is there twice", printable(twice)));
  if (!header.is_object()) throw InputError("the header is not a JSON object");
  return header;
}

// Every byte of the data belongs to one tensor.
void require_no_gaps(std::vector<StoredTensor> tensors, std::span<const std::byte> data) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  const std::byte* end = data.data();
  for (const StoredTensor& tensor : tensors) {
    if (tensor.bytes.data() != end) {
      throw InputError(fmt::format(
          "{} {}", printable(tensor.name),
          tensor.bytes.data() < end ? "overlaps another tensor" : "has unused bytes before it"));
    }
    end += tensor.bytes.size();
  }
  const auto left = data.data() + data.size() - end;
  if (left != 0) throw InputError(fmt::format("{} bytes after the last tensor", left));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const OpenFile file = open_file(path);
  size_bytes_ = file.size_bytes;
  if (size_bytes_ < kLengthBytes) {
    throw InputError(
        fmt::format("{}: has {} bytes, too few for a safetensors file", path, size_bytes_));
  }
  void* mapping =
      mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
  if (mapping == MAP_FAILED) {
    throw InputError(fmt::format("{}: cannot be mapped: {}", path, std::strerror(errno)));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  try {
    read_header();
  } catch (const InputError& error) {
    munmap(mapping_, size_bytes_);
    throw InputError(fmt::format("{}: {}; is the file whole?", path, error.what()));
  } catch (...) {
    munmap(mapping_, size_bytes_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { munmap(mapping_, size_bytes_); }

// Whole pages only; those at the ends are also others'.
void SafetensorsFile::release(const StoredTensor& tensor) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto start = static_cast<size_t>(tensor.bytes.data() - mapping_);
  const size_t begin = (start + page - 1) / page * page;
  const size_t end = (start + tensor.bytes.size()) / page * page;
  if (begin < end) madvise(mapping_ + begin, end - begin, MADV_DONTNEED);
}

void SafetensorsFile::read_header() {
  uint64_t length;
  std::memcpy(&length, mapping_, sizeof length);
  const uint64_t most = std::min<uint64_t>(size_bytes_ - kLengthBytes, kHeaderLimitBytes);
  if (length > most) {
    throw InputError(
        fmt::format("says its header has {} bytes, at most {} are possible", length, most));
  }
  const char* text = reinterpret_cast<const char*>(mapping_ + kLengthBytes);
  const nlohmann::json header = parse_header({text, length});
  const std::span<const std::byte> data(mapping_ + kLengthBytes + length,
                                        size_bytes_ - kLengthBytes - length);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) throw InputError("__metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (value.is_string()) metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    try {
      tensors_.push_back(tensor_of(name, entry, data));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", printable(name), error.what()));
    }
  }
  require_no_gaps(tensors_, data);
}

static std::vector<std::shared_ptr<const SafetensorsFile>> open_shards(const std::string& folder,
                                                                       const std::string& index) {
  const JsonObject list = JsonObject::read(index);
  const auto map = list.json().find("weight_map");
  if (map == list.json().end() || !map->is_object()) list.fail("weight_map", "is missing");
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) list.fail("weight_map", "expected the name of a file for each tensor");
    names.insert(file.get<std::string>());
  }
  std::vector<std::shared_ptr<const SafetensorsFile>> files;
  for (const std::string& name : names) {
    if (name.empty() || name.find('/') != std::string::npos) {
      list.fail("weight_map", "expected files of the same folder, got " + printable(name));
    }
    files.push_back(std::make_shared<const SafetensorsFile>(folder + "/" + name));
  }
  return files;
}

std::vector<std::shared_ptr<const SafetensorsFile>> open_weights(const std::string& folder,
                                                                 const std::string& stem) {
  const std::string base = folder + "/" + stem;
  for (const char* ending : {".safetensors", ".safetensors.index.json", ".fp16.safetensors"}) {
    if (!is_file(base + ending)) continue;
    if (std::string_view(ending).ends_with(".json")) return open_shards(folder, base + ending);
    return {std::make_shared<const SafetensorsFile>(base + ending)};
  }
  throw InputError(
      fmt::format("{}.safetensors: is not there, nor {}.safetensors.index.json, nor "
                  "{}.fp16.safetensors",
                  base, stem, stem));
}

static std::string header_of(const std::vector<StoredTensor>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t begin = 0;
  for (const StoredTensor& tensor : tensors) {
    const uint64_t end = begin + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data are aligned
  return text;
}

void write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  const uint64_t length = header.size();
  std::vector<std::string_view> pieces = {{reinterpret_cast<const char*>(&length), sizeof length},
                                          header};
  for (const StoredTensor& tensor : tensors) {
    pieces.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  replace_file(path, pieces);
}

}  // namespace dtypecheck::runtime
