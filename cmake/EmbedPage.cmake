# SPDX-License-Identifier: MIT
# cmake -DFILES=... -DOUTPUT=FILE.cpp -P EmbedPage.cmake: the template, the style and, one behind the other, the scripts
# of a page (report/page), as a C++ file.
list(POP_FRONT FILES template style)

# Compilers limit the length of one literal; neighbours count as one, so text is handed over in pieces.
function(embed name)
  set(pieces "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} hex HEX)
    string(LENGTH "${hex}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${hex}" ${at} 32000 piece)
      string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
      math(EXPR at "${at} + 32000")
      string(APPEND pieces "    \"${piece}\"sv,\n")
    endwhile()
    string(APPEND pieces "    \"\\n\"sv,\n")
  endforeach()
  string(APPEND text "const std::vector<std::string_view>& ${name}() {\n"
    "  static const std::vector<std::string_view> kPieces = {\n${pieces}  };\n  return kPieces;\n}\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

set(text "// SPDX-License-Identifier: MIT\n#include \"report/page/assets.h\"\n\n")
string(APPEND text "using namespace std::string_view_literals;\n\nnamespace orrery::report::page {\n\n")
embed(html ${template})
embed(css ${style})
embed(scripts ${FILES})
file(WRITE ${OUTPUT} "${text}\n}  // namespace orrery::report::page\n")
