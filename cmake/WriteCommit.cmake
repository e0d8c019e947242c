# SPDX-License-Identifier: MIT
# cmake -D SOURCE=... -D OUTPUT=... -P WriteCommit.cmake: writes OUTPUT, a .cpp that defines kCommit (cli/main.cpp), from
# the repository in SOURCE. Leaves the file alone where it says the same already.
set(commit "")
if(EXISTS "${SOURCE}/.git")  # a repository around an unpacked archive is another one
  find_program(GIT_PROGRAM git)
  if(GIT_PROGRAM)
    execute_process(
      COMMAND ${GIT_PROGRAM} --no-optional-locks -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by cmake/WriteCommit.cmake.
#include <string_view>

namespace orrery::cli {

extern const std::string_view kCommit;
const std::string_view kCommit = "@commit@";

}  // namespace orrery::cli
]])
