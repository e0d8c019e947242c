// SPDX-License-Identifier: MIT
#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "core/hash.h"

namespace orrery::fuzz {
namespace {

using Pieces = std::vector<std::string>;

// Values at the edges of types, and words that mean something to readers.
constexpr std::array<std::string_view, 40> kWords = {"0",
                                                     "-1",
                                                     "1",
                                                     "2",
                                                     "255",
                                                     "65536",
                                                     "2147483647",
                                                     "2147483648",
                                                     "-2147483649",
                                                     "4294967295",
                                                     "4294967296",
                                                     "9007199254740993",
                                                     "9223372036854775807",
                                                     "9223372036854775808",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "0.5",
                                                     "-0.0",
                                                     "1e-320",
                                                     "1e308",
                                                     "1e999",
                                                     "nan",
                                                     "inf",
                                                     "null",
                                                     "true",
                                                     "~",
                                                     "{}",
                                                     "[]",
                                                     "\"\"",
                                                     "x2",
                                                     "&a",
                                                     "*a",
                                                     "1 GB",
                                                     "0 ns",
                                                     "100 %",
                                                     "\xEF\xBB\xBF",
                                                     "\xFF",
                                                     "\xC3\xA9",
                                                     "\t",
                                                     std::string_view("\0", 1)};
constexpr std::string_view kMarks = "{}[]:,\"'#-=<>()/\\|\n %&*";

// Bytes that are changed one by one, whatever they mean.
std::string with_changed_bytes(std::string bytes, Random& random) {
  const std::size_t at = random.below(bytes.size() + 1);
  const std::size_t length = std::min(1 + random.below(8), bytes.size() - at);
  switch (random.below(4)) {
    case 0:
      return bytes.erase(at, length);
    case 1:
      return bytes.insert(at, bytes.substr(random.below(bytes.size() + 1), 1 + random.below(32)));
    case 2:
      return bytes.insert(at, 1, static_cast<char>(random.below(256)));
    default:
      if (at < bytes.size())
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ 1u << random.below(8));
      return bytes;
  }
}

// Lines with their ends.
Pieces lines_of(std::string_view text) {
  Pieces lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// Words and numbers, blanks, and marks one by one.
Pieces words_of(std::string_view text) {
  const auto kind = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '-' || c == '+' || byte >= 0x80) return 1;
    return c == ' ' ? 2 : 0;
  };
  Pieces words;
  char last = '\n';
  for (const char c : text) {
    if (words.empty() || kind(c) == 0 || kind(c) != kind(last)) words.emplace_back();
    words.back().push_back(c);
    last = c;
  }
  return words;
}

std::string joined(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// Pieces, of which there are some, after one was left out, repeated, moved or put in place of another.
void rearrange(Pieces& pieces, Random& random) {
  const std::size_t one = random.below(pieces.size()), other = random.below(pieces.size());
  const auto at = [](std::size_t place) { return static_cast<std::ptrdiff_t>(place); };
  switch (random.below(5)) {
    case 0:
      pieces.erase(pieces.begin() + at(one));
      break;
    case 1:
      pieces.insert(pieces.begin() + at(other), std::string(pieces[one]));
      break;
    case 2:
      std::swap(pieces[one], pieces[other]);
      break;
    case 3:
      pieces[one] = std::string(pieces[other]);
      break;
    default:  // many times
      pieces.insert(pieces.begin() + at(one), 1 + random.below(16), std::string(pieces[other]));
  }
}

std::string with_changed_lines(std::string_view text, Random& random) {
  Pieces lines = lines_of(text);
  if (lines.empty()) return std::string(kWords[random.below(kWords.size())]);
  if (random.below(4) > 0) {
    rearrange(lines, random);
  } else {  // deeper or less deep
    std::string& line = lines[random.below(lines.size())];
    if (random.below(2) == 0 && line.starts_with("  "))
      line.erase(0, 2);
    else
      line.insert(0, "  ");
  }
  return joined(lines);
}

std::string with_changed_words(std::string_view text, Random& random) {
  Pieces words = words_of(text);
  if (words.empty()) return std::string(kWords[random.below(kWords.size())]);
  std::string& word = words[random.below(words.size())];
  switch (random.below(4)) {
    case 0:
      word = kWords[random.below(kWords.size())];
      break;
    case 1:
      word.insert(random.below(word.size() + 1), 1, kMarks[random.below(kMarks.size())]);
      break;
    default:
      rearrange(words, random);
  }
  return joined(words);
}

std::string mutated_text(std::string_view text, Random& random) {
  switch (random.below(8)) {
    case 0:
      return with_changed_bytes(std::string(text), random);
    case 1:
      return std::string(text.substr(0, random.below(text.size() + 1)));
    case 2:
    case 3:
      return with_changed_lines(text, random);
    default:
      return with_changed_words(text, random);
  }
}

// A number of the wire format; nothing where there is none at the front, else it is taken off.
std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 10); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    number |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

std::string wire_number(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

std::string with_length(const std::string& bytes) { return wire_number(bytes.size()) + bytes; }

// Frames of a trace without their lengths; nothing where it is not made of such.
std::optional<Pieces> frames_of(std::string_view bytes) {
  Pieces frames;
  while (!bytes.empty()) {
    const auto size = take_number(bytes);
    if (!size || *size > bytes.size()) return std::nullopt;
    frames.emplace_back(bytes.substr(0, *size));
    bytes.remove_prefix(*size);
  }
  return frames;
}

// A field of a message: its key, and its value without a length.
struct Field {
  std::uint64_t key = 0;
  std::string value;
  bool has_length() const { return key % 8 == 2; }
};

std::optional<std::vector<Field>> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const auto key = take_number(bytes);
    if (!key || *key >> 3 == 0) return std::nullopt;
    std::uint64_t size = *key % 8 == 1 ? 8 : 4;
    const std::string_view from = bytes;
    if (*key % 8 == 0) {
      if (!take_number(bytes)) return std::nullopt;
      size = from.size() - bytes.size();
      bytes = from;
    } else if (*key % 8 == 2) {
      const auto length = take_number(bytes);
      if (!length) return std::nullopt;
      size = *length;
    } else if (*key % 8 != 1 && *key % 8 != 5) {
      return std::nullopt;
    }
    if (size > bytes.size()) return std::nullopt;
    fields.push_back({*key, std::string(bytes.substr(0, size))});
    bytes.remove_prefix(size);
  }
  return fields;
}

std::string mutated_message(std::string_view bytes, Random& random);

void change_field(Field& field, Random& random) {
  if (field.key % 8 == 0) {
    field.value = wire_number(random.below(2) == 0 ? random.below(16) : random.next() >> random.below(64));
  } else if (field.has_length()) {
    field.value = mutated_message(field.value, random);
  } else {
    for (char& byte : field.value)
      if (random.below(2) == 0) byte = static_cast<char>(random.below(3) == 0 ? 0xFF : random.below(256));
  }
}

std::string mutated_message(std::string_view bytes, Random& random) {
  auto fields = fields_of(bytes);
  if (!fields || fields->empty() || random.below(8) == 0) return with_changed_bytes(std::string(bytes), random);
  const std::size_t one = random.below(fields->size());
  const auto at = fields->begin() + static_cast<std::ptrdiff_t>(one);
  switch (random.below(8)) {
    case 0:
      fields->erase(at);
      break;
    case 1:
      fields->insert(at, Field((*fields)[random.below(fields->size())]));
      break;
    case 2:
      at->key = at->key % 8 + 8 * (1 + random.below(31));
      break;
    default:
      change_field(*at, random);
  }
  std::string message;
  for (const Field& field : *fields)
    message += wire_number(field.key) + (field.has_length() ? with_length(field.value) : field.value);
  return message;
}

std::string mutated_trace(std::string_view bytes, Random& random) {
  auto frames = frames_of(bytes);
  if (!frames || frames->empty() || random.below(8) == 0) return with_changed_bytes(std::string(bytes), random);
  if (random.below(4) == 0) {
    rearrange(*frames, random);
  } else {
    std::string& frame = (*frames)[random.below(frames->size())];
    frame = mutated_message(frame, random);
  }
  std::string trace;
  for (const std::string& frame : *frames) trace += with_length(frame);
  return trace;
}

// Texts have hardly any control characters; a byte in front may choose between readers.
bool is_text(std::string_view input) {
  const auto controls = std::ranges::count_if(
      input, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t'; });
  return static_cast<std::size_t>(controls) * 20 <= input.size() + 20;
}

// Inputs of several files have lines between them.
constexpr std::string_view kBetween = "\n%%\n";

std::string mutated_parts(std::string_view input, Random& random) {
  if (is_text(input)) return mutated_text(input, random);
  const std::size_t between = input.find(kBetween);
  if (between == std::string_view::npos) {
    const std::size_t choice = random.below(2);  // a byte in front may be no part of the trace
    if (choice > input.size()) return {};
    return std::string(input.substr(0, choice)) + mutated_trace(input.substr(choice), random);
  }
  const std::string_view first = input.substr(0, between), others = input.substr(between + kBetween.size());
  if (random.below(2) == 0) return std::string(first) + std::string(kBetween) + mutated_parts(others, random);
  return mutated_parts(first, random) + std::string(kBetween) + std::string(others);
}

}  // namespace

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  return mixed(state_);
}

std::string mutated(std::string_view input, Random& random) {
  std::string changed = mutated_parts(input, random);
  if (changed.size() > kMostBytes) changed.resize(kMostBytes);
  return changed;
}

}  // namespace orrery::fuzz
