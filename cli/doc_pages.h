// doc_pages.h: the documents of rules and checks in a terminal, for `rules` and `lint`.
#pragma once

#include <string>
#include <vector>

#include "core/doc.h"

namespace dtypecheck::cli {

// Of rules::all_rules() or analyzer::all_checks().
template <typename Documented>
std::vector<Doc> docs_of(const std::vector<const Documented*>& all) {
  std::vector<Doc> docs;
  for (const Documented* one : all) docs.push_back(one->doc);
  return docs;
}

// A line each, and below them the way to a page.
std::string doc_list(const std::vector<Doc>& docs, const std::string& way_to_page);

// All there is to know about the `kind` ("rule") of that id. Where there is none, throws InputError
// with the nearest id, or with the way to the list.
std::string doc_page(const std::vector<Doc>& docs, const std::string& kind, const std::string& id,
                     const std::string& way_to_list);

}  // namespace dtypecheck::cli
