#include "rules/contracts/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "platform/error.h"
#include "platform/text.h"

namespace dtypecheck::contracts {
namespace {

constexpr std::string_view kMagic = "dtypecheck contracts ";
// Of older ones 1 has no classes, symbols and "index"; 1 and 2 have no ops that share rows, and no
// messages of several types.
constexpr int kSchema = 3;
constexpr std::string_view kWordLetters = "fhbdliscuoFHDeEx^%+|&0123456789";
constexpr size_t kMaxRuntimes = 64;  // bits of Row::columns

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 40 ? out + "…" : out;
}

bool is_operand_name(std::string_view name) {
  if (name.ends_with("()") || name.ends_with("[]")) name.remove_suffix(2);
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos;
}

class TableReader {
 public:
  TableReader(std::string text, const std::string& name)
      : name_(name), table_(std::make_shared<Table>()) {
    table_->text = std::move(text);
  }

  std::shared_ptr<const Table> read() {
    std::string_view rest = table_->text;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      if (end == rest.npos) fail("cut short in the middle of a line");
      ++line_;
      read_line(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (!ended_) fail("cut short: the last line has to be \"end\" with the number of rows");
    index();
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}:{}: {}; dtypecheck probe writes such a file", name_,
                                 std::max<size_t>(line_, 1), what));
  }

  void read_line(std::string_view line) {
    if (ended_) fail("expected nothing after \"end\"");
    if (line_ == 1) return read_head(line);
    const std::string_view first = next_piece(line, ' ');
    if (first == "runtime") return read_runtime(line);
    if (first == "message") return read_message(line);
    if (first == "op") return read_op(line);
    if (first == "end") return read_end(line);
    read_row(first, line);
  }

  void read_head(std::string_view line) const {
    if (!line.starts_with(kMagic))
      fail(fmt::format("expected \"{}{}\", got \"{}\": no contract file", kMagic, kSchema,
                       shown(line)));
    const std::string_view schema = line.substr(kMagic.size());
    if (const int known = whole_number<int>(schema).value_or(0); known < 1 || known > kSchema)
      fail(fmt::format("contracts of schema {}, this build reads {}; measure them again",
                       shown(schema), kSchema));
  }

  void read_runtime(std::string_view line) {
    Runtime runtime{.line = std::string(line)};
    const auto number = whole_number<size_t>(next_piece(line, ' '));
    if (number != table_->runtimes.size() || *number >= kMaxRuntimes)
      fail(fmt::format("expected runtime {}", table_->runtimes.size()));
    runtime.line = line;
    runtime.device = next_piece(line, ' ');
    runtime.version = next_piece(line, ' ');
    const std::string_view how = next_piece(line, ' ');
    if (how != "measured" && how != "read")
      fail(fmt::format("expected \"measured\" or \"read\", got \"{}\"", shown(how)));
    runtime.measured = how == "measured";
    while (!line.empty()) {
      const std::string_view word = next_piece(line, ' ');
      if (word.starts_with("modes=")) runtime.modes = word.substr(6);
      if (word.starts_with("dtypes=")) runtime.dtypes = word.substr(7);
    }
    if (runtime.dtypes.find_first_not_of(kLetters) != std::string::npos)
      fail(fmt::format("expected letters of dtypes, got \"{}\"", shown(runtime.dtypes)));
    if (!runtime.has_mode("plain")) fail("expected modes= with \"plain\" among them");
    table_->runtimes.push_back(std::move(runtime));
  }

  void read_message(std::string_view line) {
    const auto number = whole_number<uint32_t>(next_piece(line, ' '));
    std::string_view types = next_piece(line, ' ');
    if (!number || types.empty()) fail("expected a number, an exception type and a message");
    Message message{.type = std::string(next_piece(types, '|')), .text = std::string(line)};
    while (!types.empty()) {
      std::string_view columns = next_piece(types, '|');
      const std::string type(next_piece(columns, ':'));
      message.others.emplace_back(type, columns_in(columns));
    }
    if (!table_->messages.emplace(*number, std::move(message)).second)
      fail(fmt::format("message {} is there twice", *number));
  }

  void read_op(std::string_view line) {
    Op op{.name = next_piece(line, ' '), .operands = next_piece(line, ' ')};
    if (op.name.find("::") == op.name.npos)
      fail(fmt::format("expected an op's name, got \"{}\"", shown(op.name)));
    for (std::string_view names = op.operands; !names.empty();) {
      if (!is_operand_name(next_piece(names, ',')))
        fail(fmt::format("expected operand names, got \"{}\"", shown(op.operands)));
    }
    if (op.operands.empty() || op.operands.back() == ',') fail("expected operand names");
    op.fixed = next_piece(line, ' ');
    for (std::string_view rest = op.fixed; !rest.empty();) {
      std::string_view letter = next_piece(rest, ',');
      const std::string_view name = next_piece(letter, ':');
      if (!is_operand_name(name) || letter.size() != 1 ||
          kResultLetters.find(letter.front()) == letter.npos)
        fail(fmt::format("expected names with a dtype, got \"{}\"", shown(op.fixed)));
    }
    if (table_->ops.empty() || !table_->ops.back().rows.empty())
      first_of_rows_ = table_->ops.size();
    table_->ops.push_back(std::move(op));
  }

  void read_row(std::string_view mode, std::string_view line) {
    if (table_->ops.empty()) fail(fmt::format("expected an op, got \"{}\"", shown(mode)));
    if (mode != "plain" && mode != "grad" && mode != "backward" && mode != "index" &&
        !mode.starts_with("autocast:"))
      fail(fmt::format("expected plain, grad, backward, index or autocast:, got \"{}\"",
                       shown(mode)));
    const Row row{.mode = mode, .columns = columns_in(next_piece(line, ' ')), .pattern = line};
    for (size_t i = first_of_rows_; i < table_->ops.size(); ++i) {
      check_pattern(table_->ops[i], row);
      table_->ops[i].rows.push_back(row);
    }
    ++rows_;
  }

  uint64_t columns_in(std::string_view text) const {
    const size_t count = table_->runtimes.size();
    if (text == "*" && count > 0) return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    uint64_t columns = 0;
    while (!text.empty()) {
      const std::string_view part = next_piece(text, ',');
      std::string_view rest = part;
      const auto first = whole_number<size_t>(next_piece(rest, '-'));
      const auto last = rest.empty() ? first : whole_number<size_t>(rest);
      if (!first || !last || *first > *last || *last >= count) columns_wrong(part);
      for (size_t column = *first; column <= *last; ++column) columns |= uint64_t{1} << column;
    }
    if (columns == 0) columns_wrong(text);
    return columns;
  }

  [[noreturn]] void columns_wrong(std::string_view part) const {
    fail(fmt::format("expected numbers of the {} runtimes above, got \"{}\"",
                     table_->runtimes.size(), shown(part)));
  }

  void check_pattern(const Op& op, const Row& row) const {
    std::string_view pattern = row.pattern;
    if (pattern.empty()) fail("expected outcomes");
    while (!pattern.empty()) {
      const std::string_view part = next_piece(pattern, ' ');
      const size_t equals = std::min(part.find('='), part.size());
      if (equals == part.size() || !is_outcome(part.substr(0, equals)))
        fail(fmt::format("expected an outcome, \"=\" and combinations, got \"{}\"", shown(part)));
      check_combinations(op, part.substr(equals + 1), row.mode == "index");
    }
  }

  bool is_outcome(std::string_view word) const {
    if (word == "?" || word == "." || word == "-") return true;
    if (word.starts_with('m')) {
      const auto number = whole_number<uint32_t>(word.substr(1));
      return number && table_->messages.contains(*number);
    }
    return !word.empty() && word.find_first_not_of(kWordLetters) == word.npos;
  }

  void check_combinations(const Op& op, std::string_view list, bool is_of_fixed) const {
    if (list == "*") return;
    do {
      const std::string_view one = next_piece(list, ',');
      if (is_of_fixed ? !is_pattern_of(1 + fixed_letters(op).size(), one)
                      : !is_pattern(op.operands, one))
        fail(fmt::format("\"{}\" is no combination of {}", shown(one), op.operands));
    } while (!list.empty());
  }

  void read_end(std::string_view line) {
    ended_ = true;
    if (whole_number<size_t>(line) != rows_)
      fail(fmt::format("the file says it has {} rows, and {} were read: cut short or changed",
                       shown(line), rows_));
    if (table_->runtimes.empty()) fail("no runtime");
  }

  void index() {
    std::ranges::sort(table_->ops, [](const Op& a, const Op& b) {
      return std::tie(a.name, a.operands, a.fixed) < std::tie(b.name, b.operands, b.fixed);
    });
    for (size_t i = 0; i < table_->ops.size(); ++i) {
      const std::string_view name = table_->ops[i].name;
      const size_t dot = name.find('.', std::min(name.find("::"), name.size()));
      table_->by_name[std::string(name)].push_back(i);
      if (dot != name.npos) table_->by_name[std::string(name.substr(0, dot))].push_back(i);
    }
  }

  const std::string& name_;
  std::shared_ptr<Table> table_;
  size_t line_ = 0;
  size_t rows_ = 0;
  size_t first_of_rows_ = 0;  // the first of the ops that the next row is about
  bool ended_ = false;
};

}  // namespace

std::string fixed_letters(const Op& op) {
  std::string letters;
  for (size_t at = op.fixed.find(':'); at != op.fixed.npos; at = op.fixed.find(':', at + 1))
    letters += op.fixed[at + 1];
  return letters;
}

const std::string& Message::type_in(size_t column) const {
  const auto other = std::ranges::find_if(
      others, [&](const auto& one) { return (one.second >> column & 1) != 0; });
  return other == others.end() ? type : other->first;
}

std::vector<const Op*> Table::ops_named(std::string_view name) const {
  std::vector<const Op*> named;
  if (const auto found = by_name.find(std::string(name)); found != by_name.end()) {
    for (const size_t i : found->second) named.push_back(&ops[i]);
  }
  return named;
}

const Row* Table::row(const Op& op, std::string_view mode, size_t column) const {
  const auto found = std::ranges::find_if(op.rows, [&](const Row& row) {
    return row.mode == mode && (row.columns >> column & 1) != 0;
  });
  return found == op.rows.end() ? nullptr : &*found;
}

std::shared_ptr<const Table> read_table(std::string text, const std::string& name) {
  return TableReader(std::move(text), name).read();
}

}  // namespace dtypecheck::contracts
