// SPDX-License-Identifier: MIT
// The one way in which the program reads files. A regular file is read as it is. A pipe, such as <(command) of a shell,
// can be read once: its bytes are kept, so that whoever reads it again gets the same. Devices may never end and are
// refused, as are folders. What is read is noted (core/files/input_files.h). Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/files/input_files.h"

namespace orrery {

// Reason why a file cannot be read, worded to follow its name: "there is no such file", "it is a folder", "Permission
// denied". Empty where nothing is known to be in the way.
std::string why_unreadable(const std::string& path);

// True where no file has this name, as far as the system lets us see.
bool is_missing(const std::string& path);

struct Reading {
  std::size_t most = std::size_t{1} << 40;  // bytes
  std::string what = {};                    // is expected, as "a log of nccl-tests"; for the error of larger files
  InputKind kind = InputKind::kData;
  bool is_noted = true;  // not of what the program keeps for itself
};

// All bytes. InputError naming the file and the reason where it cannot be read or is larger.
std::string read_file(const std::string& path, const Reading& reading = {});

// Reads a text file in UTF-8, without the byte order mark. InputError also for UTF-16.
std::string read_text(const std::string& path, const Reading& reading = {});

// Drops the byte order mark from bytes that have been read or unpacked; InputError for UTF-16.
void drop_byte_order_mark(const std::string& path, std::string& text);

// The first bytes, `most` or less; none where it cannot be read. To tell what a file is; it does not count as read.
std::string beginning_of_file(const std::string& path, std::size_t most);

// The last bytes, `most` or less; nothing where it cannot be read. It does not count as read either.
std::optional<std::string> ending_of_file(const std::string& path, std::size_t most);

}  // namespace orrery
