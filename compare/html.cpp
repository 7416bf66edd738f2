// html.cpp: a comparison as a page that is whole without its script: a link of a module shows its
// op calls, by :target.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <set>

#include "compare/compare.h"
#include "compare/words.h"
#include "reports/html_page.h"

namespace dtypecheck::compare {
namespace {

using reports::HtmlWriter;

constexpr size_t kMostModules = 1000;
constexpr size_t kMostCalls = 6000;  // of more only those that do not agree
constexpr std::array<const char*, 9> kDepths = {"depth0", "depth1", "depth2", "depth3", "depth4",
                                                "depth5", "depth6", "depth7", "depth8"};

struct Shade {
  double most;
  const char* name;
  const char* words;
};
constexpr std::array<Shade, 6> kShades = {{{0, "shade none", "equal"},
                                           {1e-5, "shade faint", "up to 0.001 %"},
                                           {1e-3, "shade light", "up to 0.1 %"},
                                           {2e-2, "shade full", "up to 2 %"},
                                           {2e-1, "shade far", "up to 20 %"},
                                           {1e300, "shade farthest", "more"}}};
constexpr const char* kNotFinite = "shade failed";

const char* shade_of(double distance) {
  for (const Shade& shade : kShades)
    if (distance <= shade.most) return shade.name;
  return kNotFinite;
}

using Column = std::pair<uint32_t, Phase>;

struct Cell {
  double distance = 0;
  bool adds = false, rounds = false;
};

// A module with all in it; the root stands for what is outside of modules.
struct Node {
  std::string name, path;
  std::map<Column, Cell> cells;
  std::vector<const Pair*> calls;  // its own
  std::vector<Node> parts;         // by their first calls
  std::map<std::string, size_t> by_name;
};

std::string short_percent(double distance) {
  return distance == 0 ? "=" : std::isinf(distance) ? "not finite" : percent(distance);
}

class Page {
 public:
  Page(const Comparison& comparison, const DigestedProcess& a, const DigestedProcess& b,
       const std::string& name_a, const std::string& name_b)
      : comparison_(comparison), a_(a), b_(b), name_a_(name_a), name_b_(name_b) {
    for (const Pair& pair : comparison.calls) add(pair);
  }

  void write(HtmlWriter& html) {
    write_head(html);
    html.open_section("modules", "apart", "Modules");
    html.element("p", "quiet",
                 "How far apart the results of a module and of what is in it are, as a part of "
                 "their root mean square: \"adds\" where an op adds more than it was given, "
                 "\"rounds\" where "
                 "its dtype does. A link shows the op calls.");
    write_legend(html);
    write_modules(html);
    html.close("section").line();
    html.open_section("calls", "apart", "Op calls");
    html.element("p", "quiet", "Those of the module that was clicked.").line();
    write_calls(html, root_);
    html.close("section").line();
  }

 private:
  const DigestedCall& call_of(const Pair& pair) const {
    return pair.a ? a_.calls[*pair.a] : b_.calls[*pair.b];
  }

  void add(const Pair& pair) {
    const DigestedCall& call = call_of(pair);
    const Column column{call.step, call.site.phase};
    const bool is_drawn = column.second == Phase::kForward || column.second == Phase::kBackward;
    if (is_drawn && pair.a && pair.b) columns_.insert(column);
    Node* at = &root_;
    for (size_t from = 0; from < call.site.module.size();) {
      const size_t end = std::min(call.site.module.find('.', from), call.site.module.size());
      at = part_of(*at, call.site.module.substr(from, end - from), call.site.module.substr(0, end));
      note(*at, column, pair);
      from = end + 1;
    }
    if (at == &root_) note(root_, column, pair);
    at->calls.push_back(&pair);
  }

  static Node* part_of(Node& node, const std::string& name, const std::string& path) {
    const auto [found, is_new] = node.by_name.emplace(name, node.parts.size());
    if (is_new) {
      node.parts.emplace_back();
      node.parts.back().name = name;
      node.parts.back().path = path;
    }
    return &node.parts[found->second];
  }

  static void note(Node& node, const Column& column, const Pair& pair) {
    if (!pair.a || !pair.b) return;
    Cell& cell = node.cells[column];
    cell.distance = std::max(cell.distance, pair.distance);
    cell.adds = cell.adds || pair.verdict == Pair::Verdict::kAdds;
    cell.rounds = cell.rounds || pair.verdict == Pair::Verdict::kRounds;
  }

  void write_head(HtmlWriter& html) const {
    const bool is_apart = comparison_.is_apart();
    html.open("header", is_apart ? "headline warning" : "headline clean", {{"id", "top"}}).line();
    html.element("h1", "",
                 is_apart ? "The numbers of the two runs differ"
                          : "The numbers of the two runs agree as far as their dtypes round");
    html.element("p", "seen", fmt::format("{} and {}", name_a_, name_b_)).line();
    html.close("header").line();
    html.open("pre");
    const std::string text = to_text(comparison_, name_a_, name_b_, /*all=*/false);
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      html.text(text.substr(from, end - from)).line();
      from = end + 1;
    }
    html.close("pre").line();
  }

  static void write_legend(HtmlWriter& html) {
    html.open("p", "scale");
    for (const Shade& shade : kShades) html.element("span", shade.name, shade.words);
    html.element("span", kNotFinite, "not finite in one run alone").close("p").line();
  }

  void write_modules(HtmlWriter& html) {
    std::vector<std::string> names = {"module"};
    for (const auto& [step, phase] : columns_)
      names.push_back(fmt::format("step {} {}", step, phase_name(phase)));
    html.open_table("distances", "How far apart the modules are", names);
    for (const Node& part : root_.parts) write_row(html, part, 0);
    if (!root_.calls.empty()) write_row(html, root_, 0);
    html.close_table();
    if (rows_ > kMostModules)
      html.element("p", "quiet", fmt::format("and {} more modules", rows_ - kMostModules)).line();
  }

  void write_row(HtmlWriter& html, const Node& node, size_t depth) {
    if (++rows_ <= kMostModules) {
      const bool is_outside = &node == &root_;
      const std::string name = is_outside ? "outside of modules" : node.name;
      html.open("tr").open("th", kDepths[std::min(depth, kDepths.size() - 1)], {{"scope", "row"}});
      node.calls.empty() ? html.text(name)
                         : html.element("a", "", name, {{"href", "#" + anchor(node)}});
      if (is_equal(node) && !node.parts.empty()) html.element("span", "quiet", ", with all in it");
      html.close("th");
      for (const Column& column : columns_) write_cell(html, node, column);
      html.close("tr").line();
    }
    if (&node == &root_ || is_equal(node)) return;
    for (const Node& part : node.parts) write_row(html, part, depth + 1);
  }

  static bool is_equal(const Node& node) {
    return std::ranges::all_of(node.cells,
                               [](const auto& cell) { return cell.second.distance == 0; });
  }

  static void write_cell(HtmlWriter& html, const Node& node, const Column& column) {
    const auto found = node.cells.find(column);
    if (found == node.cells.end()) {
      html.element("td", "", "");
      return;
    }
    const auto& [distance, adds, rounds] = found->second;
    const char* mark = adds ? " adds" : rounds && std::isfinite(distance) ? " rounds" : "";
    html.element("td", shade_of(distance), short_percent(distance) + mark);
  }

  std::string anchor(const Node& node) {
    const auto [found, is_new] = anchors_.emplace(&node, anchors_.size());
    return fmt::format("module-{}", found->second);
  }

  void write_calls(HtmlWriter& html, const Node& node) {
    if (anchors_.count(&node) != 0) {
      html.open("div", "pairs", {{"id", anchor(node)}});
      html.element("h3", "", node.path.empty() ? "outside of modules" : node.path);
      html.open_table("", "Op calls of both runs, side by side",
                      {"step", "op", name_a_, name_b_, "#operands", "#results", "", "line"});
      const bool is_short = comparison_.calls.size() > kMostCalls;
      size_t left_out = 0;
      for (const Pair* pair : node.calls) {
        if (is_short && pair->verdict == Pair::Verdict::kAgrees)
          ++left_out;
        else
          write_pair(html, *pair);
      }
      html.close_table();
      if (left_out > 0)
        html.element("p", "quiet", fmt::format("and {} op calls that agree", left_out));
      html.close("div").line();
    }
    for (const Node& part : node.parts) write_calls(html, part);
  }

  static const char* verdict_words(Pair::Verdict verdict) {
    switch (verdict) {
      case Pair::Verdict::kAgrees:
        return "";
      case Pair::Verdict::kAdds:
        return "adds";
      case Pair::Verdict::kRounds:
        return "rounds";
      case Pair::Verdict::kUnknown:
        return "not judged";
      case Pair::Verdict::kAlone:
        return "in one run alone";
    }
    return "";
  }

  static std::string held(const DigestedProcess& process, const std::optional<size_t>& index) {
    if (!index) return "";
    const DigestedCall& call = process.calls[*index];
    if (call.results.empty() || call.results[0] == 0) return "no digest";
    const Digest& digest = process.digests[call.results[0] - 1];
    std::string text = fmt::format("{} rms {:.6g} largest {:.6g}", dtype_name(digest.dtype),
                                   digest.root_mean_square, digest.largest);
    if (digest.finite != digest.count)
      text += fmt::format(", {} of {} not finite", digest.count - digest.finite, digest.count);
    return text;
  }

  void write_pair(HtmlWriter& html, const Pair& pair) const {
    const DigestedCall& call = call_of(pair);
    const bool is_both = pair.a && pair.b;
    html.open("tr").element("td", "narrow",
                            fmt::format("{} {}", call.step, phase_name(call.site.phase)));
    html.element("td", "name", call.op);
    html.element("td", "", held(a_, pair.a)).element("td", "", held(b_, pair.b));
    if (is_both) {
      html.element("td", shade_of(pair.given), short_percent(pair.given));
      html.element("td", shade_of(pair.distance), short_percent(pair.distance));
    } else {
      html.element("td", "", "").element("td", "", "");
    }
    html.element("td", "", verdict_words(pair.verdict));
    html.element("td", "place", recorded_place(call.site)).close("tr").line();
  }

  const Comparison& comparison_;
  const DigestedProcess& a_;
  const DigestedProcess& b_;
  const std::string &name_a_, &name_b_;
  Node root_;
  std::set<Column> columns_;
  std::map<const Node*, size_t> anchors_;
  size_t rows_ = 0;
};

}  // namespace

void write_html(const Comparison& comparison, const DigestedProcess& a, const DigestedProcess& b,
                const std::string& name_a, const std::string& name_b, std::ostream& out) {
  HtmlWriter html;
  Page(comparison, a, b, name_a, name_b).write(html);
  reports::write_page(fmt::format("dtypecheck: {} and {}", name_a, name_b), html, out);
}

}  // namespace dtypecheck::compare
