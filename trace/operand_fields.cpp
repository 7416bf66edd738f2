#include "trace/operand_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trace/text_syntax.h"

namespace dtypecheck::trace {
namespace {

using Json = nlohmann::ordered_json;

bool digit_follows(const TextCursor& cursor) {
  const std::string_view rest = cursor.rest();
  return rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9';
}

std::vector<int64_t> parse_shape(TextCursor& cursor) {
  std::vector<int64_t> shape;
  if (cursor.accept("]")) return shape;
  do {
    shape.push_back(cursor.number<int64_t>("a size, as in [2,320]"));
  } while (cursor.accept(","));
  cursor.expect("]");
  return shape;
}

void print_device(const Operand& operand, std::string& out) {
  const Device& device = operand.device;
  if (device == Device{}) return;
  out += '@' + bare_or_quoted(device.type, "");
  if (device.index >= 0) out += ':' + std::to_string(device.index);
}

void parse_device(TextCursor& cursor, Operand& operand) {
  operand.device.type = cursor.name("", "a device, as in @cuda:0");
  operand.device.index = -1;
  if (cursor.peek() != ':' || !digit_follows(cursor)) return;
  cursor.expect(":");
  operand.device.index = cursor.number<int>("a device index");
}

// What may stand behind an operand's dtypes, in the order in which it is printed.
struct Suffix {
  std::string_view sign;
  void (*print)(const Operand& operand, std::string& out);  // nothing where it is as usual
  void (*parse)(TextCursor& cursor, Operand& operand);      // what stands behind the sign
};

const Suffix kSuffixes[] = {
    {"[",
     [](const Operand& operand, std::string& out) {
       if (operand.has_shape) out += fmt::format("[{}]", fmt::join(operand.shape, ","));
     },
     [](TextCursor& cursor, Operand& operand) {
       operand.shape = parse_shape(cursor);
       operand.has_shape = true;
     }},
    {"~",
     [](const Operand& operand, std::string& out) {
       if (operand.kind == default_kind(operand.dtypes)) return;
       out += fmt::format("~{}", tensor_kind_name(operand.kind));
     },
     [](TextCursor& cursor, Operand& operand) {
       operand.kind =
           parse_name(cursor, kLastTensorKind, tensor_kind_name, "a kind (sparse, fake)");
     }},
    {"@", print_device, parse_device},
    {"%",
     [](const Operand& operand, std::string& out) {
       if (operand.parameter.empty()) return;
       out += '%' + bare_or_quoted(operand.parameter, kParameterCharacters);
     },
     [](TextCursor& cursor, Operand& operand) {
       operand.parameter = cursor.name(kParameterCharacters, "a parameter's name");
     }},
    {"<",
     [](const Operand& operand, std::string& out) {
       if (operand.origin != kNoOpCall) out += fmt::format("<#{}", operand.origin);
     },
     [](TextCursor& cursor, Operand& operand) { operand.origin = parse_id(cursor); }},
    {"!out",
     [](const Operand& operand, std::string& out) { out += operand.is_written ? "!out" : ""; },
     [](TextCursor&, Operand& operand) { operand.is_written = true; }},
    {"^",
     [](const Operand& operand, std::string& out) {
       if (operand.requires_grad) out += operand.is_leaf ? "^^" : "^";
     },
     [](TextCursor& cursor, Operand& operand) {
       operand.requires_grad = true;
       operand.is_leaf = cursor.accept("^");
     }},
    {"$",
     [](const Operand& operand, std::string& out) { out += operand.is_wrapped_number ? "$" : ""; },
     [](TextCursor&, Operand& operand) { operand.is_wrapped_number = true; }},
    {":",
     [](const Operand& operand, std::string& out) {
       if (operand.role == default_role(operand.name)) return;
       out += fmt::format(":{}", role_name(operand.role));
     },
     [](TextCursor& cursor, Operand& operand) {
       operand.role =
           parse_name(cursor, kLastRole, role_name, "a role (input, weight, bias, state, out)");
     }},
};

void print_operand(const Operand& operand, std::string& out) {
  out += operand.dtypes.empty() ? "none" : operand.dtypes.to_string();
  for (const Suffix& suffix : kSuffixes) suffix.print(operand, out);
}

bool parse_suffix(TextCursor& cursor, Operand& operand) {
  for (const Suffix& suffix : kSuffixes) {
    if (!cursor.accept(suffix.sign)) continue;
    suffix.parse(cursor, operand);
    return true;
  }
  return false;
}

DtypeSet parse_dtypes(TextCursor& cursor) {
  if (cursor.accept("none")) return {};
  DtypeSet dtypes = parse_dtype_here(cursor);
  while (cursor.accept("|")) dtypes |= parse_dtype_here(cursor);
  return dtypes;
}

Operand parse_operand(TextCursor& cursor, std::string name) {
  Operand operand;
  operand.name = std::move(name);
  operand.role = default_role(operand.name);
  operand.dtypes = parse_dtypes(cursor);
  operand.kind = default_kind(operand.dtypes);
  operand.has_shape = false;
  while (parse_suffix(cursor, operand)) {
  }
  return operand;
}

// How many operands from `first` on are list[0], list[1], … of one list.
size_t list_length(const std::vector<Operand>& operands, size_t first, std::string_view list) {
  size_t length = 0;
  while (first + length < operands.size() &&
         operands[first + length].name == fmt::format("{}[{}]", list, length)) {
    ++length;
  }
  return length;
}

}  // namespace

Dtype parse_dtype_here(TextCursor& cursor) {
  TextCursor ahead = cursor;
  const std::optional<Dtype> dtype = parse_dtype(ahead.name(".#", "a dtype (Half, float16)"));
  if (!dtype) cursor.fail("a dtype (Half, float16)");
  cursor = ahead;
  return *dtype;
}

OpCallId parse_id(TextCursor& cursor) {
  cursor.expect("#");
  const auto id = cursor.number<OpCallId>("the id of an op call, as in #7");
  if (id == kNoOpCall) cursor.fail_with("op call ids start at #1");
  return id;
}

void print_operands(const std::vector<Operand>& operands, std::string& out) {
  for (size_t i = 0; i < operands.size();) {
    const std::string& name = operands[i].name;
    const bool starts_list = name.ends_with("[0]");
    const std::string_view list = std::string_view(name).substr(0, name.size() - 3 * starts_list);
    const size_t length = starts_list ? list_length(operands, i, list) : 1;
    out += fmt::format(" {}=", bare_or_quoted(list, starts_list ? "" : kArgumentCharacters));
    for (size_t k = 0; k < length; ++k) {
      if (k > 0) out += ',';
      print_operand(operands[i + k], out);
    }
    if (starts_list && length == 1) out += ',';
    i += length;
  }
}

void print_results(const std::vector<Operand>& results, std::string& out) {
  for (size_t i = 0; i < results.size(); ++i) {
    out += i == 0 ? " -> " : ",";
    print_operand(results[i], out);
  }
}

void parse_argument(TextCursor& cursor, const std::string& name, std::vector<Operand>& operands) {
  const size_t first = operands.size();
  operands.push_back(parse_operand(cursor, name));
  if (cursor.peek() != ',') return;
  const auto element = [&](size_t index) { return fmt::format("{}[{}]", name, index); };
  operands[first].name = element(0);
  while (cursor.accept(",") && !cursor.at_word_end()) {
    operands.push_back(parse_operand(cursor, element(operands.size() - first)));
  }
}

void parse_results(TextCursor& cursor, std::vector<Operand>& results) {
  if (!cursor.skip_spaces()) cursor.fail("a space after ->");
  do {
    results.push_back(parse_operand(cursor, ""));
  } while (cursor.accept(","));
}

Json result_json(const Operand& tensor) {
  const bool defined = tensor.kind != TensorKind::kUndefined;
  const bool has_dtype = defined && !tensor.dtypes.empty();
  return {{"dtype", has_dtype ? Json(tensor.dtypes.to_string()) : Json()},
          {"shape", defined && tensor.has_shape ? Json(tensor.shape) : Json()},
          {"device", defined ? Json(tensor.device.to_string()) : Json()},
          {"kind", tensor_kind_name(tensor.kind)}};
}

Json operand_json(const Operand& operand) {
  Json json = {{"name", operand.name}, {"role", role_name(operand.role)}};
  json.update(result_json(operand));
  json["parameter"] = operand.parameter.empty() ? Json() : Json(operand.parameter);
  json["requires_grad"] = operand.requires_grad;
  json["leaf"] = operand.is_leaf;
  json["written"] = operand.is_written;
  json["wrapped_number"] = operand.is_wrapped_number;
  return json;
}

}  // namespace dtypecheck::trace
