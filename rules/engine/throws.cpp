#include "rules/engine/throws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "platform/text.h"

namespace dtypecheck::rules {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool contains_any(std::string_view text, std::string_view parts) {  // "a|b|c"
  while (!parts.empty())
    if (contains(text, next_piece(parts, '|'))) return true;
  return false;
}

// Texts that dtypes have no part in, though dtype words may stand in them (a tensor printed, a
// CUDA type that names a device).
constexpr std::string_view kOtherReasons =
    "invalid combination of arguments|shapes cannot be multiplied|size mismatch|"
    "must match the size of tensor|Sizes of tensors must match|must match the existing size|"
    "is invalid for input of size|inconsistent tensor size|same number of dimensions|"
    "out of memory|can't allocate memory|not enough memory|out of range|out of bounds|"
    "on the same device|same device, but|is on a different device|should be on the same|"
    "backward through the graph a second time|modified by an inplace operation|"
    "does not require grad|a leaf Variable that requires grad|weight of size|channels, but got|"
    "normalized_shape|view size is not compatible|Calculated padded input size|"
    "Kernel size can't be greater|Expected more than 1 value per channel|CUDA error|"
    "device-side assert|Could not run '|probability tensor contains|number of sizes provided|"
    "undefined symbol|compute capability|must be Tensor, not ";

// Python's own errors about names and files, though a name may be "dtype".
constexpr std::string_view kOtherTypes =
    "AttributeError|KeyError|NameError|ImportError|ModuleNotFoundError";

// Stronger than the above: the foreach check names device and dtype in one sentence.
constexpr std::string_view kDtypePhrases = "same dtype|scalar type|mixed dtype";

constexpr std::string_view kDtypeWords =
    "Input type (|Long|Byte|Bool|bool tensor|boolean tensor|ScalarType|floating point|"
    "floating-point|Integral|integral|without overflow|must be long, int|scalar type|data type|"
    "datatype|Half|Float|BFloat16|Double|float32|float16|bfloat16|float64|FP16|same type|"
    "float |needs_dynamic_casting";

// "dtype" and "dtypes", not the path of a library of this tool.
bool has_word_dtype(std::string_view message) {
  constexpr std::string_view kWord = "dtype";
  for (size_t at = message.find(kWord); at != message.npos; at = message.find(kWord, at + 1))
    if (!message.substr(at + kWord.size()).starts_with("check")) return true;
  return false;
}

std::optional<Dtype> dtype_after(std::string_view message, std::string_view words) {
  const size_t begin = message.find(words);
  if (begin == message.npos) return std::nullopt;
  std::string_view rest = message.substr(begin + words.size());
  size_t end = 0;
  while (end < rest.size() &&
         (std::isalnum(static_cast<unsigned char>(rest[end])) || rest[end] == ':'))
    ++end;
  return parse_dtype(rest.substr(0, end));
}

// "HalfTensor", "CPUBFloat16Type", "FP16".
std::optional<Dtype> dtype_in_word(std::string_view word) {
  for (std::string_view prefix : {"CPU", "CUDA", "Mkldnn"}) {
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  }
  for (std::string_view suffix : {"Tensor", "Type"}) {
    if (word.ends_with(suffix)) word.remove_suffix(suffix.size());
  }
  return word.empty() ? std::nullopt : parse_dtype_in_words(word);
}

// C++'s own names of the integers, as LibTorch prints them from typeid: "long int".
std::optional<Dtype> dtype_in_words(std::string_view first, std::string_view second) {
  if (second != "int" && second != "char") return std::nullopt;
  return parse_dtype_in_words(fmt::format("{} {}", first, second));
}

std::string kernel_in(std::string_view message) {
  const size_t begin = message.find('"');
  const size_t end = begin == message.npos ? begin : message.find('"', begin + 1);
  return end == message.npos ? "" : std::string(message.substr(begin + 1, end - begin - 1));
}

}  // namespace

bool was_refused(const OpCall& call) {
  return call.outcome == Outcome::kThrew || was_let_through(call);
}

ThrowReason throw_reason(std::string_view message, std::string_view type) {
  if (missing_kernel(message)) return ThrowReason::kNotImplemented;
  if (contains_any(type, kOtherTypes)) return ThrowReason::kOther;
  if (contains(type, "python_error") || contains(type, "StopRecomputation"))
    return ThrowReason::kOther;
  if (contains_any(message, kDtypePhrases)) return ThrowReason::kDtypes;
  if (contains_any(message, kOtherReasons)) return ThrowReason::kOther;
  if (contains_any(message, kDtypeWords) || has_word_dtype(message)) return ThrowReason::kDtypes;
  return ThrowReason::kUnknown;
}

bool is_unsafe_to_autocast(std::string_view message) {
  return message.find("unsafe to autocast") != message.npos;
}

std::vector<Dtype> named_dtypes(std::string_view message) {
  std::vector<Dtype> dtypes;
  std::string_view before;  // the word before, where one space is between: "long int"
  for (size_t begin = 0; begin < message.size();) {
    size_t end = begin;
    while (end < message.size() && is_of_name(message[end])) ++end;
    const std::string_view word = message.substr(begin, end - begin);
    std::optional<Dtype> dtype = dtype_in_word(word);
    if (message.substr(0, begin).ends_with("complex<"))
      dtype = parse_dtype_in_words(fmt::format("complex<{}>", word));
    if (const auto both = dtype_in_words(before, word)) {
      if (!dtypes.empty() && dtype_in_word(before) == dtypes.back()) dtypes.pop_back();
      dtype = both;
    }
    if (dtype && std::find(dtypes.begin(), dtypes.end(), *dtype) == dtypes.end()) {
      dtypes.push_back(*dtype);
    }
    before = end < message.size() && message[end] == ' ' ? word : std::string_view();
    begin = end + 1;
  }
  return dtypes;
}

bool names_dtype(std::string_view message, Dtype dtype) {
  const std::vector<Dtype> dtypes = named_dtypes(message);
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

std::optional<MissingKernel> missing_kernel(std::string_view message) {
  constexpr std::array<std::string_view, 6> kPhrases = {"not implemented for '",
                                                        "Unsupported dtype ",
                                                        "doesn't support tensors of type: ",
                                                        "Low precision dtypes not supported. Got ",
                                                        "is not implemented for ",
                                                        "real-to-complex FFT for "};
  for (std::string_view phrase : kPhrases) {
    const std::optional<Dtype> dtype = dtype_after(message, phrase);
    if (dtype) return MissingKernel{*dtype, kernel_in(message), ""};
  }
  if (contains(message, "powers of two when computing in half precision"))  // cuFFT
    return MissingKernel{Dtype::kHalf, "", " for sizes that are no powers of two"};
  return std::nullopt;
}

std::optional<WantedInteger> wanted_integer(std::string_view message) {
  struct Wanted {
    std::string_view sentence, before_dtype;
  };
  constexpr std::array<Wanted, 2> kWantLong = {{
      {"expected scalar type Long but found ", "but found "},
      {"expected target dtype to be Long", "but got "},  // class labels, 2.15
  }};
  for (const auto& [sentence, before_dtype] : kWantLong) {
    if (!contains(message, sentence)) continue;
    if (const auto found = dtype_after(message, before_dtype))
      return WantedInteger{Dtype::kLong, *found};
  }
  if (contains(message, "following scalar types: Long, Int; but got ")) {
    for (Dtype dtype : {Dtype::kBFloat16, Dtype::kHalf, Dtype::kFloat, Dtype::kDouble}) {
      const std::string name = dtype_name(dtype);  // "torch.FloatTensor", from C++ "CPUFloatType"
      if (contains(message, fmt::format(".{}Tensor", name)) ||
          contains(message, fmt::format("{}Type instead", name)))
        return WantedInteger{Dtype::kLong, dtype};
    }
  }
  return std::nullopt;
}

std::optional<NamedMix> input_and_weight(std::string_view message) {
  if (!contains(message, ") does not match weight dtype (torch.")) return std::nullopt;
  const auto input = dtype_after(message, "input dtype (torch.");
  const auto weight = dtype_after(message, "does not match weight dtype (torch.");
  if (!input || !weight || *input == *weight) return std::nullopt;
  return NamedMix{*input, *weight};
}

std::string as_raised(std::string_view message) {
  const auto taken = [&message](std::string_view word) {
    if (!message.starts_with(word)) return false;
    message.remove_prefix(word.size());
    return true;
  };
  std::string raised;
  while (!message.empty()) {
    const std::string_view rest = message;
    const bool is_name = taken("torch.");
    const char* device = is_name && taken("cuda.") ? "CUDA" : "CPU";
    const char* layout = is_name && taken("sparse.") ? "Sparse" : "";
    const size_t end = message.find("Tensor");
    const bool is_type = is_name && end != message.npos && end > 0 &&
                         std::all_of(message.begin(), message.begin() + end,
                                     [](unsigned char c) { return std::isalnum(c) != 0; });
    if (is_type) {
      raised += fmt::format("{}{}{}Type", layout, device, message.substr(0, end));
      message.remove_prefix(end + std::string_view("Tensor").size());
    } else {
      raised += rest.front();
      message = rest.substr(1);
    }
  }
  return raised;
}

}  // namespace dtypecheck::rules
