// A file that is written from front to back. Whatever fails is an InputError that names the file and the system's
// reason, and leaves no half of a file behind.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

class OutputFile {
 public:
  // Replaces what is there.
  explicit OutputFile(std::string path);
  // Removes a regular file that was not closed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  // Without it the file does not count as written.
  void close();

 private:
  void flush(std::string_view bytes);
  [[noreturn]] void fail(const char* what, int reason) const;

  std::string path_;
  int descriptor_;
  std::string buffer_;
};

}  // namespace orrery
