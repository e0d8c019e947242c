#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace orrery::cli {
namespace {

constexpr std::ptrdiff_t kWarningsShown = 20;

}  // namespace

void print_warnings(std::span<const Problem> problems) {
  std::ptrdiff_t shown = 0;
  for (const Problem& problem : problems)
    if (problem.severity == Severity::kWarning && shown++ < kWarningsShown) spdlog::warn(to_string(problem));
  if (shown > kWarningsShown) spdlog::warn("... and {} more warnings", shown - kWarningsShown);
}

void write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* stream = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  const bool written = stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const bool closed = path == "-" ? std::fflush(stdout) == 0 : stream != nullptr && std::fclose(stream) == 0;
  if (!written || !closed)
    throw InputError({path == "-" ? "standard output" : path},
                     fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace orrery::cli
