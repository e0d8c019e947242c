// SPDX-License-Identifier: MIT
// The one way in which the program writes files. What is there stays as it is until the new file is whole: it is
// written under a name of its own in the same folder, `NAME.PROCESS-NUMBER.partial`, brought to the disk and renamed.
// Whatever fails is an InputError that names the file and the system's reason; it leaves neither half of a file behind
// nor a part of several files that belong together, and neither does a signal that ends the program.
//
// A file whose name ends with ".gz" is compressed as gzip(1) does it, whoever writes it; the same text gives the same
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/interruption.h"

struct z_stream_s;

namespace orrery {

// Durability of a written file: kDisk survives a machine that stops at any moment; kNone is for files that the next
// start makes again.
enum class Durability : std::uint8_t { kDisk, kNone };

class OutputFile {
 public:
  // Links are followed, and who may read the file stays as it is. Devices, pipes and descriptors as /dev/stdout are
  // written to directly, and so is a file that can be written but not replaced, for its folder is closed. InputError if
  // the program has read the file.
  explicit OutputFile(std::string path, Durability durability = Durability::kDisk);
  // Without close() all is as before.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  // The file is there, whole.
  void close();
  // Bytes of the file itself; all of them once it is closed.
  std::uint64_t size() const { return size_; }

 private:
  friend class OutputFiles;

  void open_beside(const std::string& target);
  void open_in_place();
  void keep_permissions() const;
  void put(std::string_view bytes);
  void compress(std::string_view bytes, bool ends);
  void flush(std::string_view bytes);
  // All is written, under the partial name if there is one.
  void finish(Durability durability);
  // From there to its own.
  void take_name();
  void copy_into_place() const;
  [[noreturn]] void fail(const char* what, int reason) const;

  std::string path_;
  Durability durability_;
  std::string target_;   // the regular file that `path_` leads to; empty where it is written to directly
  std::string partial_;  // where it is written; empty where that is `path_`
  std::optional<Unfinished> unfinished_;
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t size_ = 0;
  std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> compression_;  // null: none
};

// The regular file that `path` leads to by links, whether it is there yet or not: it may be replaced as a whole.
// Nothing of a device, a pipe or an open descriptor, which can only be written to.
std::optional<std::string> replaceable_file(const std::string& path);

// Removes from a folder what programs that were killed while they wrote left half written there, `*.partial`; what a
// program that still runs on this machine writes there by itself stays. To be called by who alone writes to the folder
// as a whole. InputError if one cannot be removed.
void remove_partial_files(const std::string& folder);

// Files that are of use together only. None gets its name until all of them are written.
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Has `write` fill the file. InputError when something else than a regular file has this name.
  template <class Write>
  void add(const std::string& path, Write write) {
    refuse_other_kinds(path);
    auto file = std::make_unique<OutputFile>(path);
    write(*file);
    finish(std::move(file));
  }

  // All get their names. `last` is the one of them without which nobody takes the others for complete: what had its
  // name before goes first, and it comes last.
  void commit(const std::string& last);

 private:
  static void refuse_other_kinds(const std::string& path);
  void finish(std::unique_ptr<OutputFile> file);

  std::vector<std::unique_ptr<OutputFile>> unnamed_;
};

}  // namespace orrery
