// SPDX-License-Identifier: MIT
#include "report/page/page.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "report/figures.h"
#include "report/page/assets.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string_view>& pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// Nothing in it ends the element that holds it, or begins a comment there.
std::string script_json(const Json& data) {
  std::string text;
  for (const char c : dump_json(data)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string page_text(std::string_view title, const Json& data) {
  const std::string html = joined(page::html());
  const std::vector<std::pair<std::string_view, std::string>> parts = {{"{{title}}", escaped(printable(title, 200))},
                                                                       {"{{style}}", joined(page::css())},
                                                                       {"{{data}}", script_json(data)},
                                                                       {"{{figures}}", script_json(figures_json())},
                                                                       {"{{scripts}}", joined(page::scripts())}};
  std::string text;
  std::size_t from = 0;
  for (const auto& [mark, content] : parts) {  // in the order of the template
    const std::size_t at = html.find(mark, from);
    text += html.substr(from, at - from) + content;
    from = at + mark.size();
  }
  return text + html.substr(from);
}

}  // namespace orrery::report
