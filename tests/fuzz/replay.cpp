// SPDX-License-Identifier: MIT
// replay_fuzz [--mutate N] FOLDER...: calls every fuzzer with the inputs that were kept for it, FOLDER/fuzz_goal/*, and
// with N mutations of each, always the same ones. An input that is a bug, or takes longer than a minute, ends the
// program and is written to crash-FUZZER in the working directory. 1 where a fuzzer has no input, or a folder no
// fuzzer.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/hash.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/mutation.h"

namespace {

using orrery::fuzz::Fuzzer;
using orrery::fuzz::Random;

constexpr unsigned kMostSeconds = 60;  // for an input

std::map<std::string_view, Fuzzer>& fuzzers() {
  static std::map<std::string_view, Fuzzer> known;
  return known;
}

// The input that is tried now, for the handler of signals.
std::string current_input;
std::string current_crash;  // file

extern "C" void keep_input(int signal) {
  const int file = open(current_crash.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file >= 0 && write(file, current_input.data(), current_input.size()) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  if (signal == SIGALRM) std::abort();
  std::raise(signal);
}

std::vector<std::filesystem::path> sorted(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

void try_input(const Fuzzer& fuzzer, std::string input) {
  current_input = std::move(input);
  alarm(kMostSeconds);
  fuzzer(std::string(current_input));  // a copy with an end of its own, which sanitizers watch
  alarm(0);
}

// Number of its inputs.
std::size_t replay(const Fuzzer& fuzzer, const std::filesystem::path& folder, std::size_t mutations) {
  std::size_t count = 0;
  current_crash = "crash-" + folder.filename().string();
  for (const std::filesystem::path& path : sorted(folder)) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    try_input(fuzzer, input);
    orrery::ContentDigest digest;
    digest.add_text(input);
    for (std::size_t i = 0; i < mutations; ++i) {
      Random random(digest.value() + i);
      std::string changed = input;
      for (std::size_t left = 1 + random.below(4); left > 0; --left) changed = mutated(changed, random);
      try_input(fuzzer, std::move(changed));
    }
    ++count;
  }
  return count;
}

// Tells what is missing; true if nothing is.
bool have_all_inputs(const std::map<std::string, std::size_t>& inputs) {
  bool has_all = true;
  for (const auto& [name, fuzzer] : fuzzers()) {
    const auto found = inputs.find(std::string(name));
    if (found != inputs.end() && found->second > 0) continue;
    std::fprintf(stderr, "%s has no inputs\n", std::string(name).c_str());
    has_all = false;
  }
  return has_all;
}

}  // namespace

bool orrery::fuzz::add_fuzzer(std::string_view name, Fuzzer fuzzer) {
  fuzzers().emplace(name, fuzzer);
  return true;
}

int main(int count, char** arguments) {
  int first = 1;
  std::size_t mutations = 0;
  if (count > 3 && std::string_view(arguments[1]) == "--mutate") {
    mutations = std::strtoul(arguments[2], nullptr, 10);
    first = 3;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGALRM}) std::signal(signal, keep_input);
  std::map<std::string, std::size_t> inputs;
  bool is_right = first < count;
  for (int i = first; i < count; ++i)
    for (const std::filesystem::path& folder : sorted(arguments[i])) {
      const std::string name = folder.filename();
      if (const auto known = fuzzers().find(name); known != fuzzers().end()) {
        inputs[name] += replay(known->second, folder, mutations);
        continue;
      }
      std::fprintf(stderr, "%s: no fuzzer has this name\n", folder.c_str());
      is_right = false;
    }
  return have_all_inputs(inputs) && is_right ? 0 : 1;
}
