#include "rules/kernel_names/kernel_name.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>

#include "core/dtype_set.h"
#include "platform/data_file.h"
#include "rules/kernel_names/embedded.h"

namespace dtypecheck::gpu {
namespace {

constexpr size_t kMaxNameBytes = 64 << 10;

// What a spelling stands for. TF32 is Float in memory.
struct Number {
  Dtype dtype = Dtype::kUndefined;
  bool is_tf32 = false;
};

// The parts of a form that a name or the form itself can say.
enum Part { kIn, kOut, kMath, kSum, kPartCount };
constexpr std::array<const char*, kPartCount> kPartNames = {"in", "out", "math", "sum"};

Number number_named(const Field& field, std::string_view name) {
  if (name == "TF32") return {Dtype::kFloat, true};
  const std::optional<Dtype> dtype = parse_dtype(name);
  if (!dtype) field.fail(fmt::format("'{}' is no dtype of LibTorch, nor TF32", name));
  return {*dtype, false};
}

using Spellings = std::map<std::string, Number, std::less<>>;

void read_spellings(const Field& line, Spellings& spellings) {
  const std::vector<std::string> parts = line.parts();
  const Number number = number_named(line, parts.front());
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!spellings.emplace(parts[i], number).second)
      line.fail(fmt::format("'{}' is listed twice", parts[i]));
  }
}

// All spellings as one expression, the longest first.
std::string alternatives(const Spellings& spellings) {
  std::vector<std::string> all;
  for (const auto& [spelling, number] : spellings) all.push_back(RE2::QuoteMeta(spelling));
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return fmt::format("{}", fmt::join(all, "|"));
}

// A group is {sum-letter} in the file, and sum_letter in the expression, where no dash may stand.
std::string with(char to, char from, std::string name) {
  std::replace(name.begin(), name.end(), from, to);
  return name;
}

// Templates of kernels are demangled with what they return in front, which says nothing.
std::string_view without_result(std::string_view name) {
  if (name.starts_with("void ")) return name.substr(5);
  constexpr std::string_view kEnableIf = "std::enable_if<", kEnd = ">::type ";
  const size_t end = name.starts_with(kEnableIf) ? name.find(kEnd) : name.npos;
  return end == name.npos ? name : name.substr(end + kEnd.size());
}

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : std::string(name);
}

// A group of a form's expression that says a part.
struct Group {
  int number = 0;
  Part part = kIn;
  const Spellings* spellings = nullptr;
};

}  // namespace

// How names spell dtypes, in three ways.
struct KernelNames::Tables {
  Spellings types, letters, codes;

  Spellings* named(std::string_view key) {
    return key == "type" ? &types : key == "letter" ? &letters : key == "code" ? &codes : nullptr;
  }
  // Of "{sum-letter}": what stands behind the dash says in which way.
  const Spellings& of(const Field& field, std::string_view group) const {
    const Spellings& found = group.ends_with("-letter") ? letters
                             : group.ends_with("-code") ? codes
                                                        : types;
    if (found.empty()) field.fail(fmt::format("nothing above says what {{{}}} may be", group));
    return found;
  }
};

// One family of names.
struct KernelNames::Form {
  std::string family;
  std::unique_ptr<RE2> name;
  std::vector<Group> groups;
  std::array<std::optional<Number>, kPartCount> fixed;
  std::array<std::optional<Part>, kPartCount> like;
  bool is_product = true;
  std::optional<bool> tensor_core;
  std::unique_ptr<RE2> tensor_core_where, cuda_core_where;

  std::optional<KernelArithmetic> read(std::string_view text) const;
};

namespace {

std::unique_ptr<RE2> compiled(const Field& field, const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_unique<RE2>(pattern, options);
  if (!made->ok()) field.fail(fmt::format("no regular expression: {}", made->error()));
  return made;
}

std::optional<Part> part_named(std::string_view name) {
  for (int i = 0; i < kPartCount; ++i)
    if (name == kPartNames[i]) return Part(i);
  return std::nullopt;
}

// Whole groups stand in braces; what RE2 itself writes in them, {3,}, begins with a digit.
std::string expanded(const Field& field,
                     const std::function<std::string(const std::string&)>& group_of) {
  static const RE2 kGroup("\\{([a-z][a-z0-9-]*)\\}");
  std::string pattern;
  re2::StringPiece rest(field.value), group;
  for (const char* at = rest.data();; at = rest.data()) {
    if (!RE2::FindAndConsume(&rest, kGroup, &group)) return pattern + std::string(rest);
    pattern.append(at, group.data() - 1);
    pattern += group_of(std::string(group));
  }
}

}  // namespace

KernelNames::Form KernelNames::read_form(const DataBlock& block, const Tables& tables) {
  block.require({"name", "from"});
  block.allow_once(
      {"name", "from", "in", "out", "math", "sum", "tensor-core", "cuda-core", "product"});
  Form form;
  form.family = block.head.value;
  for (const Field& field : block.fields) {
    const std::optional<Part> part = part_named(field.key);
    if (field.key == "name") {
      const std::string pattern = expanded(field, [&](const std::string& group) {
        return fmt::format("(?P<{}>{})", with('_', '-', group),
                           alternatives(tables.of(field, group)));
      });
      form.name = compiled(field, pattern);
      for (const auto& [group, number] : form.name->NamedCapturingGroups()) {
        const std::string said = group.substr(0, group.find('_'));
        if (const auto of = part_named(said))
          form.groups.push_back({number, *of, &tables.of(field, with('-', '_', group))});
      }
    } else if (field.key == "tensor-core") {
      if (field.value == "yes" || field.value == "no")
        form.tensor_core = field.value == "yes";
      else
        form.tensor_core_where = compiled(field, field.value);
    } else if (field.key == "product") {
      if (field.value != "no") field.fail("expected no");
      form.is_product = false;
    } else if (field.key == "cuda-core") {
      form.cuda_core_where = compiled(field, field.value);
    } else if (part) {
      if (const auto other = part_named(field.value))
        form.like[*part] = other;
      else
        form.fixed[*part] = number_named(field, field.value);
    } else if (field.key != "from") {
      field.fail_unknown_key(
          {"name", "in", "out", "math", "sum", "tensor-core", "cuda-core", "product", "from"});
    }
  }
  return form;
}

std::optional<KernelArithmetic> KernelNames::Form::read(std::string_view text) const {
  std::vector<re2::StringPiece> found(static_cast<size_t>(name->NumberOfCapturingGroups()) + 1);
  if (!name->Match({text.data(), text.size()}, 0, text.size(), RE2::ANCHOR_START, found.data(),
                   int(found.size())))
    return std::nullopt;
  std::array<std::optional<Number>, kPartCount> said = fixed;
  for (const Group& group : groups) {
    const re2::StringPiece& spelling = found[static_cast<size_t>(group.number)];
    if (spelling.data())
      said[group.part] =
          group.spellings->find(std::string_view(spelling.data(), spelling.size()))->second;
  }
  // What is like another may be like one that is itself like a third.
  for (int round = 0; round < kPartCount; ++round)
    for (int part = 0; part < kPartCount; ++part)
      if (!said[part] && like[part]) said[part] = said[*like[part]];

  KernelArithmetic arithmetic;
  arithmetic.family = family;
  arithmetic.is_product = is_product;
  arithmetic.tensor_core = tensor_core;
  const auto has = [&](const std::unique_ptr<RE2>& pattern) {
    return pattern && RE2::PartialMatch({text.data(), text.size()}, *pattern);
  };
  if (has(tensor_core_where))
    arithmetic.tensor_core = true;
  else if (has(cuda_core_where))
    arithmetic.tensor_core = false;
  const std::array<std::optional<Dtype>*, kPartCount> out = {&arithmetic.in, &arithmetic.out,
                                                             &arithmetic.math, &arithmetic.sum};
  for (int part = 0; part < kPartCount; ++part)
    if (said[part]) *out[part] = said[part]->dtype;
  // Tensor cores know Double, but no Float: what they are given as Float they multiply in TF32.
  arithmetic.is_tf32 =
      arithmetic.math == Dtype::kFloat && (said[kMath]->is_tf32 || arithmetic.tensor_core == true);
  return arithmetic;
}

KernelNames::KernelNames(std::string_view text, std::string_view file) {
  tables_ = std::make_unique<Tables>();
  for (const DataBlock& block : read_blocks(text, file)) {
    if (Spellings* spellings = tables_->named(block.head.key)) {
      block.require({});
      read_spellings(block.head, *spellings);
      if (!block.fields.empty()) block.fields.front().fail("a field of what has none");
    } else if (block.head.key == "form") {
      forms_.push_back(read_form(block, *tables_));
    } else {
      block.head.fail_unknown_key({"type", "letter", "code", "form"});
    }
  }
}

KernelNames::~KernelNames() = default;
KernelNames::KernelNames(KernelNames&&) noexcept = default;

const KernelNames& KernelNames::embedded() {
  static const KernelNames names(kernel_names::embedded::kKernelNames,
                                 "rules/kernel_names/kernel_names.txt");
  return names;
}

std::optional<KernelArithmetic> KernelNames::read(std::string_view name) const {
  if (name.size() > kMaxNameBytes) return std::nullopt;
  const std::string whole = demangled(name);
  name = without_result(whole);
  for (const Form& form : forms_)
    if (std::optional<KernelArithmetic> arithmetic = form.read(name)) return arithmetic;
  return std::nullopt;
}

std::optional<KernelArithmetic> read_kernel_name(std::string_view name) {
  return KernelNames::embedded().read(name);
}

std::string shown_kernel_name(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  constexpr size_t kMost = 100;
  if (name.size() > kMaxNameBytes) name = name.substr(0, kMaxNameBytes);
  std::string text = demangled(name);
  text = std::string(without_result(text));
  for (size_t at; (at = text.find(kUnnamed)) != text.npos;) text.erase(at, kUnnamed.size());
  const size_t templates = text.find('<'), arguments = text.find('(');
  if (arguments < templates) text.resize(arguments);
  if (templates == text.npos || templates > text.size()) return text;
  if (text.size() > kMost) text = text.substr(0, std::max(kMost, templates + 1)) + "…";
  return text;
}

std::string in_words(const KernelArithmetic& arithmetic) {
  const auto word = [](std::optional<Dtype> dtype) { return dtype ? dtype_name(*dtype) : "?"; };
  const std::string math = arithmetic.is_tf32 ? "TF32" : std::string(word(arithmetic.math));
  return fmt::format("{} x {} + {}, {} to {}, {}", math, math, word(arithmetic.sum),
                     word(arithmetic.in), word(arithmetic.out),
                     !arithmetic.tensor_core   ? "tensor cores unknown"
                     : *arithmetic.tensor_core ? "tensor cores"
                                               : "no tensor cores");
}

}  // namespace dtypecheck::gpu
