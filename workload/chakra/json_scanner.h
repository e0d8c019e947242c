// Cuts a JSON text into values without building anything, so that a trace is read one node at a time and hostile
// nesting is refused before a parser sees it. It follows brackets and strings only; each value is parsed afterwards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace orrery {

// A spot in a JSON text, to complain about.
class JsonPlace {
 public:
  JsonPlace(const std::string& file, std::string_view whole, std::size_t offset)
      : file_(file), whole_(whole), offset_(offset) {}

  std::size_t offset() const { return offset_; }
  JsonPlace moved_to(std::size_t offset) const { return {file_, whole_, offset}; }

  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

 private:
  const std::string& file_;
  std::string_view whole_;
  std::size_t offset_;
};

class JsonScanner {
 public:
  // Reads `part`, which lies within `whole`; the latter counts the lines.
  JsonScanner(const std::string& file, std::string_view whole, std::string_view part)
      : file_(&file), whole_(whole), rest_(part) {}

  // The next character that is no space, 0 at the end. It stays.
  char peek();
  bool at_end() { return peek() == '\0' && rest_.empty(); }
  void expect(char c);
  bool accept(char c);

  // Takes the next value and returns its text: balanced brackets, whole strings. Its inside is not checked further.
  std::string_view take_value();

  JsonPlace place() const { return {*file_, whole_, static_cast<std::size_t>(rest_.data() - whole_.data())}; }

 private:
  std::size_t string_length(std::string_view text) const;
  std::size_t bracketed_length(std::string_view text) const;

  const std::string* file_;
  std::string_view whole_;
  std::string_view rest_;
};

// Parses one value that JsonScanner cut out. InputError where it is no JSON or gives a key twice.
nlohmann::json parse_json(const JsonPlace& place, std::string_view value);

}  // namespace orrery
