# SPDX-License-Identifier: MIT
# cmake -D SOURCE=... -D OUTPUT=... -P WriteCommit.cmake: writes OUTPUT, a .cpp that defines kCommit (cli/main.cpp), from
# the repository in SOURCE or from what `git archive` has written into its archive. Leaves the file alone where it says
# the same already.
set(commit "")
set(archived "$Format:%H$")  # `git archive` puts the commit here (.gitattributes)
if(EXISTS "${SOURCE}/.git")  # a repository around an unpacked archive is another one
  find_program(GIT_PROGRAM git)
  if(GIT_PROGRAM)
    execute_process(
      COMMAND ${GIT_PROGRAM} --no-optional-locks -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
elseif(archived MATCHES "^[0-9a-f]+$")
  string(SUBSTRING ${archived} 0 12 commit)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by cmake/WriteCommit.cmake.
#include <string_view>

namespace orrery::cli {

extern const std::string_view kCommit;
const std::string_view kCommit = "@commit@";

}  // namespace orrery::cli
]])
