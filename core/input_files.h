// Which files the program has read, so that no output is written over one of them. Any thread may call.
#pragma once

#include <string>

namespace orrery {

// `path` is read, or about to be.
void note_input(const std::string& path);

// Whether it has been, under this name or another one.
bool is_input(const std::string& path);

}  // namespace orrery
