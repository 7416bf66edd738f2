#include "reports/text_operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/text_finding.h"

namespace dtypecheck::reports {

namespace {

using Lines = std::vector<std::string>;

constexpr size_t kMaxRows = 6;
constexpr size_t kMinNoteColumns = 28;  // less room beside a row: the notes go below it

// What stands behind an operand. A terminal may have source text cut at its end, and a name in its
// middle.
struct Note {
  std::string text;
  bool is_source = false;
  bool is_name = false;
};

struct Row {
  std::string name, dtype, shape;
  std::vector<Note> notes;  // parameter name, origins: packed into as few lines as there is room
  bool odd = false;
};

bool shows_device(const OpCall& call) {
  return std::ranges::any_of(call.operands, [](const Operand& operand) {
    return operand.kind != TensorKind::kUndefined && operand.device.type != "cpu";
  });
}

std::string shape_and_kind(const Operand& operand, bool with_device) {
  Lines parts = {shape_text(operand)};
  if (with_device) parts.push_back(printable(operand.device.to_string()));
  if (operand.kind != TensorKind::kDense) parts.push_back(tensor_kind_name(operand.kind));
  std::erase(parts, "");
  return joined(parts, " ");
}

std::string step_text(const ProvenanceStep& step) {
  Lines parts = {printable(step_name(step)), place(step.call->site.line)};
  std::erase(parts, "");
  return joined(parts, "  ");
}

std::string led_to(size_t between, const std::string& text) {
  return fmt::format(
      "<- {}{}", between == 0 ? "" : fmt::format("({} between) ", counted(between, "op")), text);
}

// The nearest op, the parameter that the dtype came through, and the op that made it, at the far
// end. What lies between only passed it on, and is counted.
std::vector<Note> origin_notes(const Report& report, const Finding& finding, const OpCall& call,
                               const Operand& operand) {
  const Provenance provenance = report.provenance.trace_back(call, operand);
  if (provenance.steps.empty()) return {};
  const ProvenanceStep& nearest = provenance.steps.front();
  std::vector<Note> notes = {
      {(provenance.is_probable ? "probably from " : "from ") + step_text(nearest)}};
  const bool is_shown_above = nearest.call->site.line == finding.site.line;  // above the table
  const std::string code = is_shown_above ? "" : code_at(report, nearest.call->site.line);
  if (!code.empty()) notes.push_back({code, /*is_source=*/true});
  size_t shown = 1;  // steps
  for (size_t i = 0; i < provenance.steps.size(); ++i) {
    if (provenance.parameter == nullptr || provenance.steps[i].from != provenance.parameter)
      continue;
    notes.push_back({led_to(i + 1 - shown, printable(provenance.parameter->parameter))});
    shown = i + 1;
  }
  if (shown < provenance.steps.size()) {
    notes.push_back(
        {led_to(provenance.steps.size() - 1 - shown, step_text(provenance.steps.back()))});
  }
  return notes;
}

Row row_of(const Report& report, const Finding& finding, const OpCall& call, const Operand& operand,
           bool with_device) {
  Row row;
  row.name = printable(operand.name);
  row.dtype = operand.dtypes.to_string();
  row.shape = shape_and_kind(operand, with_device);
  row.odd = !finding.odd_operand.empty() && operand.name == finding.odd_operand;
  row.notes = origin_notes(report, finding, call, operand);
  if (!operand.parameter.empty()) {
    row.notes.insert(row.notes.begin(),
                     Note{.text = printable(operand.parameter), .is_name = true});
  }
  return row;
}

// The first few, and the odd one wherever it stands. Undefined ones say nothing.
std::vector<const Operand*> shown_operands(const Finding& finding, const OpCall& call) {
  std::vector<const Operand*> shown;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined) continue;
    const bool is_odd = operand.name == finding.odd_operand;
    if (shown.size() < kMaxRows) {
      shown.push_back(&operand);
    } else if (is_odd) {
      shown.back() = &operand;
    }
  }
  return shown;
}

size_t defined_operands(const OpCall& call) {
  return std::ranges::count_if(
      call.operands, [](const Operand& operand) { return operand.kind != TensorKind::kUndefined; });
}

struct Widths {
  size_t name = 0, dtype = 0, shape = 0;
};

Widths widths_of(const std::vector<Row>& rows, size_t columns) {
  Widths widths;
  for (const Row& row : rows) {
    widths.name = std::max(widths.name, std::min(display_width(row.name), columns / 4));
    widths.dtype = std::max(widths.dtype, std::min(display_width(row.dtype), columns / 5));
    widths.shape = std::max(widths.shape, std::min(display_width(row.shape), columns / 3));
  }
  return widths;
}

constexpr char kBelow[] = "     ";  // before what goes on from the line above

// As many notes on a line as fit; one that is too long alone takes several.
Lines pack(const Report& report, const std::vector<Note>& notes, size_t room) {
  Lines lines;
  for (const auto& [full, is_source, is_name] : notes) {
    const std::string text = is_name ? fitted(report, full, room) : full;
    const std::string separator = is_source ? "  " : text.starts_with("<-") ? " " : ", ";
    if (!lines.empty() && display_width(lines.back() + separator + text) <= room) {
      lines.back() += separator + text;
    } else {
      const size_t below = room - display_width(kBelow);
      const std::string shown = is_source ? fitted_start(report, text, below) : text;
      const bool is_wide = display_width(shown) > (is_source ? below : room);
      const Lines pieces = is_wide ? wrap(shown, below) : Lines{shown};
      for (size_t i = 0; i < pieces.size(); ++i)
        lines.push_back((i == 0 && !is_source ? "" : kBelow) + pieces[i]);
    }
  }
  return lines;
}

void add_row(const Report& report, const Row& row, const Widths& widths, size_t columns,
             Lines& out) {
  const auto cell = [&](const std::string& text, size_t width) {
    return pad(fitted(report, text, width), width);
  };
  std::string head =
      fmt::format("{}{}  {}  {}", row.odd ? "    > " : "      ", cell(row.name, widths.name),
                  cell(row.dtype, widths.dtype), cell(row.shape, widths.shape));
  const size_t beside = display_width(head) + 2;
  const bool has_long_name = std::ranges::any_of(row.notes, [&](const Note& note) {
    return note.is_name && !report.shortens && display_width(note.text) + beside > columns;
  });
  const bool fits_beside = columns >= beside + kMinNoteColumns && !has_long_name;
  const size_t notes_at = fits_beside ? beside : 10;
  const Lines notes = pack(report, row.notes, columns - notes_at);
  const bool alone = notes.empty() || !fits_beside;
  if (alone) head.erase(head.find_last_not_of(' ') + 1);
  if (row.odd) head = Paint(report.colour).odd(head);
  out.push_back(alone ? head : head + "  " + notes.front());
  for (size_t i = alone ? 0 : 1; i < notes.size(); ++i) {
    out.push_back(std::string(notes_at, ' ') + notes[i]);
  }
}

}  // namespace

OperandTable operand_table(const Report& report, const Finding& finding, const OpCall& call,
                           size_t columns) {
  std::vector<Row> rows;
  const bool with_device = shows_device(call);
  for (const Operand* operand : shown_operands(finding, call)) {
    rows.push_back(row_of(report, finding, call, *operand, with_device));
  }
  OperandTable table;
  const Widths widths = widths_of(rows, columns);
  for (const Row& row : rows)
    add_row(report, row, widths, columns, row.odd ? table.odd : table.others);
  const size_t hidden = defined_operands(call) - rows.size();
  if (hidden > 0)
    table.others.push_back(fmt::format("      … {}", counted(hidden, "more operand")));
  return table;
}

}  // namespace dtypecheck::reports
