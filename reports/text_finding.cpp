#include "reports/text_finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/text_operands.h"

namespace dtypecheck::reports {

namespace {

using Lines = std::vector<std::string>;

// An error text in a report for a terminal; the whole of a longer one is in the other formats.
constexpr size_t kMaxErrorLines = 4;
constexpr size_t kMaxPlaces = 3;

class FullFinding {
 public:
  FullFinding(const Report& report, const Finding& finding, Indent indent)
      : report_(report),
        finding_(finding),
        indent_(indent),
        paint_(report.colour),
        columns_(text_columns(report) - indent.spaces().size()) {}

  Lines advice() {
    const Fix fix = fix_of(report_, finding_);
    if (fix.text.empty()) return {};
    say_labelled(fix.label, with_short_words(fix.text));  // whole above
    const SourceLine line = changed_line();
    const std::string code = code_at(report_, line);
    const bool names_it = fix.text.find(place(line)) != std::string::npos;
    if (!finding_.diff.empty())
      add_all(first_change());
    else if (!code.empty() && names_it)
      add("    " + fitted_start(report_, code, columns_ - 4));
    return std::move(lines_);
  }

  Lines lines() {
    const OpCall* call = report_.run.call(finding_.call);
    const OperandTable operands =
        call == nullptr ? OperandTable() : operand_table(report_, finding_, *call, columns_);
    say_what();
    say_where();
    say_code(finding_.site.line);
    add_all(operands.odd);
    say_fix();
    say_places();
    if (call != nullptr) say_outcome(*call);
    if (has_inner(finding_.site)) say_line("inside", finding_.site.inner);
    if (finding_.site.caller.known()) say_line("called from", finding_.site.caller);
    add_all(operands.others);
    say_labelled("why", finding_.why);
    say_other_cures();
    return std::move(lines_);
  }

 private:
  void add(const std::string& line) { lines_.push_back(indent_.spaces() + line); }

  // A parameter's name may be wider than a terminal.
  std::string with_short_words(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      const size_t end = std::min(text.find_first_of(" \n"), text.size());
      out += shorten(text.substr(0, end), columns_ - 8);
      if (end < text.size()) out += text[end];
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

  void say_what() {
    const std::string severity = indent_.lead + std::string(severity_name(finding_.severity));
    const std::string rule = fmt::format("[{}]", shorten(printable(finding_.rule), columns_ / 2));
    const std::string text = severity + ": " + printable(finding_.message);
    Lines wrapped = wrap(text, columns_);
    const size_t last_width = display_width(wrapped.back());
    if (last_width + 2 + display_width(rule) > columns_) wrapped.emplace_back();
    const size_t gap = columns_ - display_width(rule);
    const std::string tag = paint_.dim(rule);
    std::string first = wrapped.front();
    for (size_t i = 0; i < wrapped.size(); ++i) {
      const bool last = i + 1 == wrapped.size();
      std::string line = last ? pad(wrapped[i], gap) : wrapped[i];
      if (i == 0) line = painted_head(line, severity.size());
      add(last ? line + tag : line);
    }
  }

  std::string painted_head(const std::string& line, size_t severity_bytes) const {
    if (line.size() < severity_bytes) return line;
    return paint_.severity(finding_.severity, line.substr(0, severity_bytes)) +
           paint_.bold(line.substr(severity_bytes));
  }

  void say_where() {
    const Site& site = finding_.site;
    Lines parts = {place(site.line), printable(site.module), when(report_, finding_)};
    std::erase(parts, "");
    std::string line;
    std::string linked;  // the place, which comes first
    for (const std::string& part : parts) {
      const std::string shown = fitted(report_, part, kLongestName);
      if (linked.empty()) linked = shown;
      if (!line.empty() && display_width(line) + 2 + display_width(shown) > columns_ - 2) {
        add_linked(line, linked, site.line);
        line = "  " + shown;
      } else {
        line += (line.empty() ? "" : "  ") + shown;
      }
    }
    if (!line.empty()) add_linked(line, linked, site.line);
  }

  void add_linked(const std::string& line, const std::string& place, const SourceLine& to) {
    const bool is_there = line.starts_with(place) && to.known();
    add("  " + (is_there ? link(report_, place, to) + line.substr(place.size()) : line));
  }

  void say_code(const SourceLine& line) {
    const std::string code = code_at(report_, line);
    if (!code.empty()) add("    " + fitted_start(report_, code, columns_ - 4));
    if (const std::string mark = underline(line); !mark.empty()) add("    " + paint_.dim(mark));
  }

  // The further places of a finding about source.
  void say_places() {
    const size_t shown = std::min(finding_.places.size(), kMaxPlaces);
    for (size_t i = 0; i < shown; ++i) {
      const NotedPlace& noted = finding_.places[i];
      const std::string also = fmt::format("also {}  {}", place(noted.line), printable(noted.note));
      add("    " +
          link(report_, paint_.dim(fitted_start(report_, also, columns_ - 4)), noted.line));
    }
    if (shown < finding_.places.size()) {
      const size_t more = finding_.places.size() - shown;
      add("    " + paint_.dim(fmt::format("… and {}", counted(more, "more place"))));
    }
  }

  // "      ^^^^^" below the call, where that is not all of the line.
  std::string underline(const SourceLine& line) const {
    const Extent& extent = line.extent;
    if (!extent.known() || !report_.line_text) return "";
    const std::string text = report_.line_text(line.file, line.line);
    const size_t first = text.find_first_not_of(" \t\f");
    const size_t last = text.find_last_not_of(" \t\f\r\n") + 1;
    const size_t begin = static_cast<size_t>(extent.column - 1);
    const size_t end = extent.end_line == line.line ? extent.end_column - 1 : last;
    if (first == text.npos || begin < first || begin >= end || end > last) return "";
    if (begin == first && end == last) return "";
    const auto width = [&](size_t from, size_t to) {
      return display_width(printable(std::string_view(text).substr(from, to - from)));
    };
    const std::string mark =
        std::string(width(first, begin), ' ') + std::string(width(begin, end), '^');
    return mark.size() > columns_ - 4 && report_.shortens ? "" : mark;
  }

  // Where the op is in a library, or who called the extension that it is in.
  void say_line(std::string_view how, const SourceLine& line) {
    std::string text = fmt::format("{} {}", how, place(line));
    if (!line.known()) text += " (built without -g)";
    const bool has_function = line.known() && !line.function.empty();
    const std::string function = has_function ? printable(line.function) : "";
    const size_t width = display_width(text) + 2 + display_width(function);
    const bool fits = !report_.shortens || width <= columns_ - 8;
    if (has_function && fits) text += "  " + function;
    add("        " + link(report_, paint_.dim(fitted(report_, text, kLongestName)), line));
    if (has_function && !fits) add("          " + paint_.dim(shorten(function, columns_ - 10)));
  }

  void say_outcome(const OpCall& call) {
    if (!was_let_through(call) && call.outcome != Outcome::kThrew) {
      const std::string verb = report_.scan ? " returns" : " returned";
      add_labelled("op", wrap(printable(call.op) + verb + results(call), columns_ - 8));
    } else {
      say_error(raised(call, report_.scan ? "raises" : "raised"), call.error);
    }
    if (const std::string how = went_on(call); !how.empty())
      for (const std::string& piece : wrap(how, columns_ - 8)) add("        " + piece);
  }

  static std::string results(const OpCall& call) {
    std::string text;
    if (call.results.empty() || call.results.front().dtypes.empty()) return text;
    const Operand& result = call.results.front();
    text += fmt::format(" {} {}", result.dtypes.to_string(), shape_text(result));
    if (call.first_nan() != nullptr)
      text += " with NaN";
    else if (call.first_inf() != nullptr)
      text += " with inf";
    return text;
  }

  void say_error(const std::string& head, const std::string& error) {
    Lines shown;
    for (const std::string& line : printable_lines(error)) {
      const std::string lead = shown.empty() ? head + ": " : "";
      for (std::string& piece : wrap(lead + line, columns_ - 8)) {
        shown.push_back(std::move(piece));
      }
    }
    if (shown.empty()) shown = wrap(head, columns_ - 8);
    const size_t kept = std::min(shown.size(), kMaxErrorLines);
    if (kept < shown.size()) {
      const std::string more =
          paint_.dim(fmt::format("… {}", counted(shown.size() - kept, "more line")));
      shown.resize(kept);
      shown.push_back(more);
    }
    add_labelled("op", shown);
  }

  void say_fix() {
    const Fix fix = fix_of(report_, finding_);
    if (!fix.text.empty()) say_labelled(fix.label, fix.text);
    if (!finding_.diff.empty()) add_lines(finding_.diff);
    if (finding_.diff.empty() && changed_line() != finding_.site.line) say_code(changed_line());
  }

  // Of the diff's first file, or of the one that the finding is in.
  Lines first_change() const {
    const std::string here = "--- " + printable(shown_path(finding_.site.line.file));
    const Lines diff = printable_lines(finding_.diff);
    auto at = std::find(diff.begin(), diff.end(), here);
    if (at == diff.end()) at = diff.begin();
    Lines lines;
    bool is_inside = false;  // a hunk
    for (; at != diff.end(); ++at) {
      const bool is_changed = at->starts_with("-") || at->starts_with("+");
      if (at->starts_with("@@")) is_inside = true;
      if (is_inside && !is_changed && lines.size() > 1) break;
      if (is_inside ? is_changed : at->starts_with("--- ")) lines.push_back(*at);
    }
    for (std::string& line : lines) line = "    " + fitted_start(report_, line, columns_ - 4);
    return lines;
  }

  // Of what is proposed and has no diff.
  SourceLine changed_line() const {
    for (const Cure& cure : finding_.cures)
      if (cure.text == finding_.fix) return cure.where;
    return {};
  }

  void say_other_cures() {
    for (const Cure& cure : finding_.cures)
      if (report_.all && cure.text != finding_.fix) say_labelled("or", cure.text);
  }

  void add_all(const Lines& lines) {
    for (const std::string& line : lines) add(line);
  }

  void add_lines(const std::string& text) {
    for (const std::string& line : printable_lines(text)) add("    " + line);
  }

  static size_t label_width(const char* label) {
    return std::max<size_t>(6, std::strlen(label) + 2);
  }

  void say_labelled(const char* label, const std::string& text) {
    Lines pieces;
    for (const std::string& line : printable_lines(text))
      for (std::string& piece : wrap(line, columns_ - 2 - label_width(label)))
        pieces.push_back(std::move(piece));
    add_labelled(label, pieces);
  }

  void add_labelled(const char* label, const Lines& lines) {
    const size_t width = label_width(label);
    for (size_t i = 0; i < lines.size(); ++i)
      add(fmt::format("  {}{}", i == 0 ? paint_.bold(pad(label, width)) : std::string(width, ' '),
                      lines[i]));
  }

  const Report& report_;
  const Finding& finding_;
  Indent indent_;
  Paint paint_;
  size_t columns_;
  Lines lines_;
};

}  // namespace

std::string Paint::wrapped(const char* code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string Paint::severity(Severity severity, std::string_view text) const {
  static constexpr const char* kCodes[] = {"1;36", "1;35", "1;31"};  // note, warning, error
  return wrapped(kCodes[static_cast<int>(severity)], text);
}

std::string link(const Report& report, const std::string& text, const SourceLine& to) {
  if (!report.links || !to.known()) return text;
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::absolute(to.file, ignored);
  if (ignored || !std::filesystem::is_regular_file(file, ignored)) return text;
  return fmt::format("\x1b]8;;{}#{}\x1b\\{}\x1b]8;;\x1b\\", uri_of(file.string()), to.line, text);
}

size_t text_columns(const Report& report) { return std::max(report.columns, 60); }

std::string fitted(const Report& report, std::string text, size_t columns) {
  return report.shortens ? shorten(text, columns) : text;
}
std::string fitted_start(const Report& report, std::string text, size_t columns) {
  return report.shortens ? cut(text, columns) : text;
}

std::vector<std::string> full_finding(const Report& report, const Finding& finding, Indent indent) {
  return FullFinding(report, finding, indent).lines();
}

std::vector<std::string> advice(const Report& report, const Finding& finding) {
  return FullFinding(report, finding, {}).advice();
}

std::string brief_finding(const Report& report, const Finding& finding, Indent indent) {
  const Paint paint(report.colour);
  const std::string severity = indent.lead + std::string(severity_name(finding.severity));
  std::string where = place(finding.site.line);
  if (where.empty()) where = printable(finding.site.module);
  if (finding.count > 1) where += fmt::format(" ×{}", grouped(finding.count));
  if (!report.shortens) {
    return fmt::format("{}{}: {}  {}  {}", indent.spaces(),
                       paint.severity(finding.severity, severity), printable(finding.message),
                       where, paint.dim(fmt::format("[{}]", printable(finding.rule))));
  }
  const size_t width = text_columns(report) - indent.spaces().size();
  where = shorten_path(where, width / 4, kLongestName);
  const std::string rule = fmt::format("[{}]", shorten(printable(finding.rule), width / 4));
  const size_t fixed = severity.size() + 2 + 2 + display_width(where) + 2 + display_width(rule);
  const size_t least = display_width(where) > width * 2 / 5 ? 16 : 1;  // beside a long name
  const size_t room = std::max(width, fixed + least) - fixed;
  const std::string message = pad(cut(printable(finding.message), room), room);
  return fmt::format("{}{}: {}  {}  {}", indent.spaces(),
                     paint.severity(finding.severity, severity), message, where, paint.dim(rule));
}

}  // namespace dtypecheck::reports
