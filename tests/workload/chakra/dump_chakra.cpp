// SPDX-License-Identifier: MIT
// dump_chakra FILE...: every trace field by field as JSON lines, for compare_with_dump_et.py. Exit status 2 on bad
// input.
#include <iostream>

#include "core/error.h"
#include "workload/tools/dump.h"
#include "core/files/read_file.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    try {
      orrery::workload::dump_chakra(argv[i], orrery::read_file(argv[i]), std::cout);
    } catch (const orrery::InputError& error) {
      std::cerr << error.what() << '\n';
      status = 2;
    }
  }
  return status;
}
