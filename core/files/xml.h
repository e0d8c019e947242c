// SPDX-License-Identifier: MIT
// XML files that other tools write, with the lines of their elements: every error names one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "core/error.h"

namespace orrery {

class XmlDocument {
 public:
  // InputError at the line where the text is no XML, or ends too early; `hint` says what the file should be.
  XmlDocument(std::string file, std::string_view text, std::string hint);

  const std::string& file() const { return file_; }
  pugi::xml_node root() const { return document_.document_element(); }
  int line_of(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }

  [[noreturn]] void refuse(const pugi::xml_node& node, std::string message, std::string hint = {}) const;
  // Refuses a second element beside the root; `what` the file holds one of: "algorithm".
  void refuse_second_root(std::string_view what) const;

  // Value of an attribute, which must be there.
  std::string text(const pugi::xml_node& node, const char* key) const;
  // Whole number of an attribute, decimal or with 0x; `fallback` where the attribute is not there.
  std::int64_t number(const pugi::xml_node& node, const char* key, std::int64_t least, std::int64_t most,
                      std::optional<std::int64_t> fallback = {}) const;
  std::uint32_t count(const pugi::xml_node& node, const char* key, std::int64_t least, std::int64_t most,
                      std::optional<std::int64_t> fallback = {}) const;

  static std::string name_of(const pugi::xml_node& node) { return printable(node.name(), 40); }

 private:
  int line_at(std::ptrdiff_t offset) const;

  std::string file_;
  std::vector<std::ptrdiff_t> line_ends_;
  pugi::xml_document document_;
};

}  // namespace orrery
