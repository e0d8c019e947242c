// SPDX-License-Identifier: MIT
// Record of the files that the program has read, so that no output overwrites one of them and a result can name its
// inputs. Any thread may call.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace orrery {

// kConfiguration: its contents are part of the resolved experiment.
enum class InputKind : std::uint8_t { kConfiguration, kData };

// `path` is read, or about to be. A file that is noted as both is a configuration. `sha256`: of the bytes that were
// read, if they have been. InputError if it is an output.
void note_input(const std::string& path, InputKind kind = InputKind::kData, const std::string& sha256 = {});

// True if the file has been read, under this name or another one.
bool is_input(const std::string& path);

// `path` will be written over. InputError if it is read, be it before or, by note_input(), later.
void note_output(const std::string& path);

struct InputFile {
  std::string path;  // one of those under which it was noted
  InputKind kind = InputKind::kData;
  std::string sha256;  // of its bytes as they were read, else as they are now; empty where they cannot be read any more
};

// Every regular file that was noted, ascending by path.
std::vector<InputFile> input_files();

// SHA-256 of a file's bytes; empty if they cannot be read.
std::string sha256_of_file(const std::string& path);

// The same of each of `files`. None is read again as long as it stays as it is, which its time of change says: other
// than the time of its contents, nobody sets that.
std::vector<std::string> digests_of(std::span<const std::string> files);

// The data that this thread notes while it lives, whatever others do. There is one at a time.
class NotedFiles {
 public:
  NotedFiles();
  ~NotedFiles();
  NotedFiles(const NotedFiles&) = delete;
  NotedFiles& operator=(const NotedFiles&) = delete;

  void add(const std::string& path) { paths_.insert(path); }
  // Ascending.
  std::vector<std::string> paths() const { return {paths_.begin(), paths_.end()}; }

 private:
  std::set<std::string> paths_;
};

}  // namespace orrery
