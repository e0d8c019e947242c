// SPDX-License-Identifier: MIT
// A file is a heading, the number of documents, an entry of the index for each, sorted by name, then the documents:
// name, text and tree. Numbers in the index are of 64 bits; in trees they take as many bytes as they need.
#include "core/config/parsed_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/files/read_file.h"
#include "core/hash.h"
#include "core/version.h"

namespace orrery {
namespace {

std::string heading() { return "orrery.parsed/2 " + std::string(kVersion) + "\n"; }

void put_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes += text;
}

void put_place(std::string& bytes, const Location& where) {
  put_number(bytes, static_cast<std::uint64_t>(where.line));
  put_number(bytes, static_cast<std::uint64_t>(where.column));
}

void put_value(std::string& bytes, const ConfigValue& value) {
  bytes.push_back(static_cast<char>(value.kind));
  put_place(bytes, value.where);
  if (value.kind == ConfigValue::Kind::kScalar) put_text(bytes, value.scalar);
  if (value.kind == ConfigValue::Kind::kList) {
    put_number(bytes, value.items.size());
    for (const ConfigValue& item : value.items) put_value(bytes, item);
  }
  if (value.kind == ConfigValue::Kind::kMap) {
    put_number(bytes, value.entries.size());
    for (const ConfigEntry& entry : value.entries) {
      put_text(bytes, entry.key);
      put_place(bytes, entry.where);
      put_value(bytes, entry.value);
    }
  }
}

struct Damaged {};

// Reads what was put, from front to back. Throws Damaged at what was not.
class TreeReader {
 public:
  TreeReader(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}

  ConfigValue value(std::size_t depth = 0) {
    if (depth > kDeepest) throw Damaged{};
    ConfigValue value;
    const auto kind = static_cast<std::uint8_t>(byte());
    if (kind > static_cast<std::uint8_t>(ConfigValue::Kind::kMap)) throw Damaged{};
    value.kind = static_cast<ConfigValue::Kind>(kind);
    value.where = place();
    if (value.kind == ConfigValue::Kind::kScalar) value.scalar = text();
    if (value.kind == ConfigValue::Kind::kList)
      for (std::uint64_t left = number(); left > 0; --left) value.items.push_back(this->value(depth + 1));
    if (value.kind == ConfigValue::Kind::kMap)
      for (std::uint64_t left = number(); left > 0; --left) {
        ConfigEntry& entry = value.entries.emplace_back();
        entry.key = text();
        entry.where = place();
        entry.value = this->value(depth + 1);
      }
    return value;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  static constexpr std::size_t kDeepest = 128;

  char byte() {
    if (rest_.empty()) throw Damaged{};
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto part = static_cast<std::uint8_t>(byte());
      number |= std::uint64_t{part & 0x7fU} << shift;
      if ((part & 0x80) == 0) return number;
    }
    throw Damaged{};
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) throw Damaged{};
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  Location place() {
    const std::uint64_t line = number(), column = number();
    return {file_, static_cast<int>(line), static_cast<int>(column)};
  }

  std::string_view rest_;
  const std::string& file_;
};

std::optional<ConfigValue> tree_in(std::string_view bytes, const std::string& file) {
  try {
    TreeReader reader(bytes, file);
    ConfigValue value = reader.value();
    return reader.is_at_end() ? std::optional(std::move(value)) : std::nullopt;
  } catch (const Damaged&) {
    return std::nullopt;
  }
}

}  // namespace

std::uint64_t digest_of_document(std::string_view bytes) {
  ContentDigest digest;
  digest.add(bytes.size());
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    digest.add(word);
  }
  digest.add_text(bytes);
  return digest.value();
}

std::string pack_documents(std::span<const ParsedDocument> documents) {
  std::vector<ParsedFiles::IndexEntry> index;
  std::string bodies;
  const std::size_t start =
      heading().size() + sizeof(std::uint64_t) + documents.size() * sizeof(ParsedFiles::IndexEntry);
  for (const ParsedDocument& document : documents) {
    const std::size_t first = bodies.size();
    ParsedFiles::IndexEntry entry{start + first};
    bodies += document.name;
    entry.text = start + bodies.size();
    bodies += document.text;
    entry.tree = start + bodies.size();
    put_value(bodies, document.value);
    entry.end = start + bodies.size();
    entry.digest = digest_of_document(std::string_view(bodies).substr(first));
    index.push_back(entry);
  }
  std::string bytes = heading();
  const std::uint64_t count = documents.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(index.data()), index.size() * sizeof(ParsedFiles::IndexEntry));
  return bytes + bodies;
}

ParsedFiles::ParsedFiles(const std::filesystem::path& file) {
  try {
    bytes_ = read_file(file.string(), {.is_noted = false});
  } catch (const InputError&) {
    return;
  }
  const std::string first = heading();
  const std::uint64_t at = first.size() + sizeof(std::uint64_t);
  if (bytes_.size() < at || !bytes_.starts_with(first)) return;
  std::uint64_t count = 0;
  std::memcpy(&count, bytes_.data() + first.size(), sizeof count);
  if (count == 0 || count > (bytes_.size() - at) / sizeof(IndexEntry)) return;
  index_.resize(count);
  std::memcpy(index_.data(), bytes_.data() + at, count * sizeof(IndexEntry));
}

// Empty where the file does not have them.
std::string_view ParsedFiles::part(std::uint64_t begin, std::uint64_t end) const {
  return begin > end || end > bytes_.size() ? std::string_view() : std::string_view(bytes_).substr(begin, end - begin);
}

std::optional<ConfigValue> ParsedFiles::find(std::string_view name, std::string_view text,
                                             const std::string& file) const {
  const auto found =
      std::ranges::lower_bound(index_, name, {}, [&](const IndexEntry& entry) { return part(entry.name, entry.text); });
  if (found == index_.end()) return std::nullopt;
  const std::string_view whole = part(found->name, found->end);
  const std::size_t text_at = name.size(), tree_at = text_at + text.size();
  if (found->tree - found->name != tree_at || whole.size() < tree_at || digest_of_document(whole) != found->digest ||
      !whole.starts_with(name) || whole.substr(text_at, text.size()) != text)
    return std::nullopt;
  return tree_in(whole.substr(tree_at), file);
}

}  // namespace orrery
