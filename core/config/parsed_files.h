// SPDX-License-Identifier: MIT
// Shipped configurations as trees that were parsed when the program was built: one file, of which a run reads the index
// and the trees that it needs, and parses no YAML. Each tree stands beside the text that it was parsed from and holds
// for that text only; a digest tells whether it is as it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"

namespace orrery {

struct ParsedDocument {
  std::string name;  // "clusters/dgx-a100.yaml"
  std::string text;
  ConfigValue value;  // of the text, all of it in one file
};

// Bytes of a file of documents, which are sorted by name.
std::string pack_documents(std::span<const ParsedDocument> documents);

// Digest of a document's name, text and tree as they stand in the file, which its index holds.
std::uint64_t digest_of_document(std::string_view bytes);

// Any thread may call.
class ParsedFiles {
 public:
  // A file that is not there, or that another version has written, holds no document.
  explicit ParsedFiles(const std::filesystem::path& file);

  // The tree of a document whose text is `text`, with `file` for where its values stand. Nothing where the text is
  // another, or what is there is damaged.
  std::optional<ConfigValue> find(std::string_view name, std::string_view text, const std::string& file) const;

 private:
  // Part of the file, in bytes. Text and tree of a document follow its name.
  struct IndexEntry {
    std::uint64_t name = 0;
    std::uint64_t text = 0;
    std::uint64_t tree = 0;
    std::uint64_t end = 0;
    std::uint64_t digest = 0;  // of all three
  };
  friend std::string pack_documents(std::span<const ParsedDocument> documents);

  std::string_view part(std::uint64_t begin, std::uint64_t end) const;

  std::string bytes_;
  std::vector<IndexEntry> index_;  // by name
};

}  // namespace orrery
