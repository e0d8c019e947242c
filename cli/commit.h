// The commit that the program was built from.
#pragma once

#include <string_view>

namespace orrery::cli {

// Twelve digits of it, followed by "-dirty" where tracked files differed; empty without a repository. commit.cpp is
// written by cmake/WriteCommit.cmake at each build, so that a new commit compiles one file again.
extern const std::string_view kCommit;

}  // namespace orrery::cli
