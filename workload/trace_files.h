// Which files a prefix stands for.
#pragma once

#include <string>
#include <vector>

namespace orrery {

// The trace file of every rank: `<prefix>.<rank>.et`, `.et.gz` or `.json`, ranks contiguous from 0. Throws InputError
// when there is none, when a rank is missing, or when one has two files.
std::vector<std::string> find_trace_files(const std::string& prefix);

}  // namespace orrery
