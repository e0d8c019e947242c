// SPDX-License-Identifier: MIT
// Files that are written from front to back. Whatever fails is an InputError that names the file and the system's
// reason, and leaves no half of a file behind, nor a part of several files that belong together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct z_stream_s;

namespace orrery {

class OutputFile {
 public:
  // Replaces what is there. With a `suffix`, `path` + `suffix` is written; messages name `path`.
  explicit OutputFile(std::string path, std::string_view suffix = {});
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
  std::string written_;  // the path that is written
  int descriptor_;
  std::string buffer_;
};

// Compresses what is written to a file, as gzip(1) does. The same text gives the same bytes.
class GzipWriter {
 public:
  explicit GzipWriter(OutputFile& file);
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view text) { compress(text, false); }
  // Without it the file is cut short.
  void finish() { compress({}, true); }

 private:
  void compress(std::string_view text, bool ends);

  OutputFile& file_;
  std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> stream_;
};

// The regular file that `path` leads to by links, whether it is there yet or not: it may be replaced as a whole.
// Nothing of a device, a pipe or an open descriptor, which can only be written to.
std::optional<std::string> replaceable_file(const std::string& path);

// Files that are of use together only. Each is written under a name of its own, `NAME.partial`, until all of them are
// there.
class OutputFiles {
 public:
  OutputFiles() = default;
  // Removes what has not got its name.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Has `write` fill the file. InputError when something else than a regular file has this name.
  template <class Write>
  void add(const std::string& path, Write write) {
    refuse_other_kinds(path);
    unnamed_.push_back(path);
    OutputFile file(path, kSuffix);
    write(file);
    file.close();
  }

  // All get their names. `last` is the one of them without which nobody takes the others for complete: what had its
  // name before goes first, and it comes last.
  void commit(const std::string& last);

 private:
  static constexpr std::string_view kSuffix = ".partial";

  static void refuse_other_kinds(const std::string& path);
  static void name(const std::string& path);

  std::vector<std::string> unnamed_;
};

}  // namespace orrery
