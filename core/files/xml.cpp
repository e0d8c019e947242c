// SPDX-License-Identifier: MIT
#include "core/files/xml.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace orrery {
namespace {

// Number that strtol makes of a word, with any base. What it leaves over has to be blank or the zeros of a fraction
// ("2.0").
std::optional<std::int64_t> whole_xml_number(const std::string& word) {
  char* rest = nullptr;
  errno = 0;
  const long long value = std::strtoll(word.c_str(), &rest, 0);
  if (rest == word.c_str() || errno != 0) return {};
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0");
  rest += std::strspn(rest, " \t\r\n");
  if (rest != word.c_str() + word.size()) return {};
  return value;
}

}  // namespace

XmlDocument::XmlDocument(std::string file, std::string_view text, std::string hint) : file_(std::move(file)) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\n') line_ends_.push_back(static_cast<std::ptrdiff_t>(at));
  const pugi::xml_parse_result result = document_.load_buffer(text.data(), text.size());
  if (!result)
    throw InputError({file_, line_at(result.offset), 0}, fmt::format("invalid XML: {}", result.description()),
                     std::move(hint));
}

void XmlDocument::refuse(const pugi::xml_node& node, std::string message, std::string hint) const {
  throw InputError({file_, line_of(node), 0}, std::move(message), std::move(hint));
}

void XmlDocument::refuse_second_root(std::string_view what) const {
  for (const pugi::xml_node& node : document_.children())
    if (node.type() == pugi::node_element && node != root())
      refuse(node, fmt::format("a second {} <{}> after the first", what, name_of(node)), "one file holds one");
}

std::string XmlDocument::text(const pugi::xml_node& node, const char* key) const {
  const pugi::xml_attribute attribute = node.attribute(key);
  if (!attribute) refuse(node, fmt::format("<{}> has no attribute '{}'", name_of(node), key));
  return attribute.value();
}

std::int64_t XmlDocument::number(const pugi::xml_node& node, const char* key, std::int64_t least, std::int64_t most,
                                 std::optional<std::int64_t> fallback) const {
  if (fallback && !node.attribute(key)) return *fallback;
  const std::string word = text(node, key);
  const std::optional<std::int64_t> value = whole_xml_number(word);
  if (!value || *value < least || *value > most)
    refuse(node, fmt::format("{}=\"{}\" of <{}>: expected a whole number from {} to {}", key, printable(word, 40),
                             name_of(node), least, most));
  return *value;
}

std::uint32_t XmlDocument::count(const pugi::xml_node& node, const char* key, std::int64_t least, std::int64_t most,
                                 std::optional<std::int64_t> fallback) const {
  return static_cast<std::uint32_t>(number(node, key, least, most, fallback));
}

int XmlDocument::line_at(std::ptrdiff_t offset) const {
  return static_cast<int>(std::ranges::lower_bound(line_ends_, offset) - line_ends_.begin()) + 1;
}

}  // namespace orrery
