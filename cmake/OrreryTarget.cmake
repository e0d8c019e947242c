# SPDX-License-Identifier: MIT
# Compile options shared by every target, and one function per kind of target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # -fPIE instead, below
# What a run spends its time in has one level: the linker keeps one copy of a function that several files hold, and that
# of a file with another level may be the slower one. COLD files compile in two thirds of the time at a lower one (a job
# on 1,024 GPUs executes 0.1 % more instructions by it, at -Og a third more).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# The same bytes from any folder: names of files in assertions and elsewhere begin at the source tree.
add_compile_options("$<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=;-ffile-prefix-map=${PROJECT_BINARY_DIR}/=>")
# Programs at random addresses, whose tables of functions are read only from their start on.
add_compile_options(-fPIE)
add_link_options(-pie -Wl,-z,relro -Wl,-z,now)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

add_library(orrery_options INTERFACE)
target_include_directories(orrery_options INTERFACE ${PROJECT_SOURCE_DIR})
# GNU's 128-bit integers are the one extension we need (exact transfer times), so no -pedantic.
target_compile_options(orrery_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough)
# GCC 12 warns of overlapping and of too long copies inside std::string's own functions when it inlines them (GCC bugs
# 105651, 105545).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(orrery_options INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
# The standard library checks indices of containers and contents of optionals in all configurations but Release, where it
# would cost 1 to 27 % of the instructions (scripts/instructions: 10 % at the median, a simulation of 1,024 GPUs 15 %).
target_compile_definitions(orrery_options INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
if(ORRERY_WERROR)
  target_compile_options(orrery_options INTERFACE -Werror)
endif()
if(ORRERY_SANITIZE)
  # At the level that the sanitizers' makers name for bearable speed: the whole suite is to end.
  target_compile_options(orrery_options INTERFACE
    -O1 -fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
  if(ORRERY_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Thunks of virtual functions have no cleanup: with each exception that passes through one, an entry would stay on
    # ThreadSanitizer's own stack, until it takes all memory. Reports name the line of either access without its callers.
    target_compile_options(orrery_options INTERFACE --param=tsan-instrument-func-entry-exit=0)
  endif()
endif()
if(ORRERY_FUZZ)
  # Lines are all that a report of a sanitizer names; a level more makes the build take half as long again.
  target_compile_options(orrery_options INTERFACE
    -O1 -gline-tables-only -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(orrery_options INTERFACE -fsanitize=address,undefined)
endif()

# Checks in what users run, of the stack and of the C library's copies (tests/cli/hardening_test.py). Tests go without.
add_library(orrery_checked INTERFACE)
target_compile_options(orrery_checked INTERFACE -fstack-protector-strong)
if(NOT ORRERY_SANITIZE AND NOT ORRERY_FUZZ)  # sanitizers check the same copies
  target_compile_options(orrery_checked INTERFACE
    "$<$<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

# Headers that most files include, compiled once for all targets of equal options. Every file includes what it uses all
# the same: the dev preset builds without.
set(ORRERY_COMMON_HEADERS
  <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <utility> <variant> <vector> <fmt/format.h>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Room for garbage before the compiler collects it, which takes a tenth of its time. A unit needs up to 1.5 GB then.
  target_compile_options(orrery_options INTERFACE --param=ggc-min-heapsize=786432 --param=ggc-min-expand=200)
  target_compile_options(orrery_options INTERFACE -Winvalid-pch $<$<BOOL:${CCACHE_PROGRAM}>:-fpch-preprocess>)
endif()

# orrery_precompile(TARGET [header...] | REUSE_FROM target): the common headers and these, or those of another target.
function(orrery_precompile target)
  cmake_parse_arguments(ARG "" "REUSE_FROM" "" ${ARGN})
  if(ARG_REUSE_FROM)
    target_precompile_headers(${target} REUSE_FROM ${ARG_REUSE_FROM})
  else()
    target_precompile_headers(${target} PRIVATE ${ORRERY_COMMON_HEADERS} ${ARG_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# The common headers, compiled for all layers. Called once, when the libraries are found.
function(orrery_common_headers)
  set(source ${PROJECT_BINARY_DIR}/generated/headers.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Written by cmake/OrreryTarget.cmake.\n")
  add_library(orrery_headers OBJECT ${source})
  target_link_libraries(orrery_headers PRIVATE orrery_options orrery_checked fmt::fmt)
  orrery_precompile(orrery_headers)
endfunction()

# orrery_rooms(TARGET source... TOGETHER room...): those of these files that are in one folder are compiled at once, and
# those of all rooms of TOGETHER ("." is the folder itself) as one.
function(orrery_rooms target)
  cmake_parse_arguments(ARG "" "" "TOGETHER" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ORRERY_UNITY} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    cmake_path(GET source PARENT_PATH room)
    if("${room}" IN_LIST ARG_TOGETHER OR (room STREQUAL "" AND "." IN_LIST ARG_TOGETHER))
      set(room together)
    endif()
    string(MAKE_C_IDENTIFIER "room_${room}" room)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
  endforeach()
endfunction()

# orrery_layer(NAME SOURCES ... COLD ... APART ... TOGETHER room... USES layer... LIBRARIES library... PRECOMPILE
# header...): one static library per layer. The
# files of a room (a folder) are compiled at once, since most of the time goes into what they include; those of APART, which
# define the same names for their algorithm or topology each, are compiled one by one. The dev preset compiles all one by
# one. COLD files are none of those that a simulation spends its time in. TOGETHER room...: rooms that are compiled as
# one ("." is the layer's own folder), since what they include takes longer than they do. PRECOMPILE header...: also compiled once, for those of this
# layer.
function(orrery_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;COLD;APART;TOGETHER;USES;LIBRARIES;PRECOMPILE" ${ARGN})
  set(targets orrery_${name})
  if(ARG_PRECOMPILE AND NOT ARG_COLD)
    message(FATAL_ERROR "orrery_layer(${name}): PRECOMPILE is for its COLD files, and it has none")
  endif()
  if(ARG_COLD)
    add_library(orrery_${name}_cold OBJECT ${ARG_COLD})
    target_compile_options(orrery_${name}_cold PRIVATE $<$<CONFIG:Release>:-O1>)
    list(APPEND targets orrery_${name}_cold)
    list(APPEND ARG_APART $<TARGET_OBJECTS:orrery_${name}_cold>)
  endif()
  add_library(orrery_${name} STATIC ${ARG_SOURCES} ${ARG_APART})
  set_target_properties(orrery_${name} PROPERTIES LINKER_LANGUAGE CXX)
  foreach(target IN LISTS targets)
    orrery_rooms(${target} ${ARG_SOURCES} ${ARG_COLD} TOGETHER ${ARG_TOGETHER})
    target_link_libraries(${target} PUBLIC orrery_options ${ARG_LIBRARIES} PRIVATE orrery_checked)
    foreach(used IN LISTS ARG_USES)
      target_link_libraries(${target} PUBLIC orrery_${used})
    endforeach()
    if(ARG_PRECOMPILE AND target STREQUAL orrery_${name}_cold)
      orrery_precompile(${target} ${ARG_PRECOMPILE})
    else()
      orrery_precompile(${target} REUSE_FROM orrery_headers)
    endif()
  endforeach()
endfunction()

# orrery_take_archives(TARGET...): links the archive beside the shared library of each imported target, if there is one.
function(orrery_take_archives)
  foreach(target IN LISTS ARGN)
    foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE)
      get_target_property(library ${target} ${property})
      if(NOT library)
        continue()
      endif()
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
      if(EXISTS ${archive})
        set_target_properties(${target} PROPERTIES ${property} ${archive})
      endif()
    endforeach()
  endforeach()
endfunction()
