// Which files a prefix stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

// The trace file of every rank: `<prefix>.<rank>.et`, `.et.gz` or `.json`, ranks contiguous from 0. Throws InputError
// when there is none, when a rank is missing, or when one has two files.
std::vector<std::string> find_trace_files(const std::string& prefix);

// Any file that a prefix stands for.
struct TraceFile {
  std::uint32_t rank = 0;
  std::string path;
};

// All of them, ascending by rank; none where there are none.
std::vector<TraceFile> list_trace_files(const std::string& prefix);

}  // namespace orrery
