// SPDX-License-Identifier: MIT
// Comments of configuration files that were read, by line: what they say of the values beside them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"

namespace orrery {

class Comments {
 public:
  explicit Comments(const ConfigFiles& files) : files_(files) {}

  // The comment at the end of a line, from 1 on; empty where there is none.
  std::string_view behind(const Location& where);
  // The lines of comment right above a line, joined.
  std::string above(const Location& where);

 private:
  struct Lines {
    std::string text;
    std::vector<std::size_t> starts;
  };

  std::string_view line_of(const std::string& file, int line);

  const ConfigFiles& files_;
  std::map<std::string, Lines> lines_;
};

}  // namespace orrery
