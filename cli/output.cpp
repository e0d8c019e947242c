#include "cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace orrery::cli {
namespace {

constexpr std::ptrdiff_t kWarningsShown = 20;

void refuse(const std::string& path, int reason) {
  throw InputError({path}, fmt::format("cannot be written: {}", std::strerror(reason)));
}

}  // namespace

void print_warnings(std::span<const Problem> problems) {
  std::ptrdiff_t shown = 0;
  for (const Problem& problem : problems)
    if (problem.severity == Severity::kWarning && shown++ < kWarningsShown) spdlog::warn(to_string(problem));
  if (shown > kWarningsShown) spdlog::warn("... and {} more warnings", shown - kWarningsShown);
}

void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  struct stat found {};
  const bool there = stat(path.c_str(), &found) == 0;
  if (there && S_ISDIR(found.st_mode)) return refuse(path, EISDIR);
  if (there && access(path.c_str(), W_OK) == 0) return;
  if (there || errno != ENOENT) return refuse(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void make_folder(const std::string& folder, std::span<const std::string> files) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) throw InputError({folder}, fmt::format("the folder cannot be made: {}", code.message()));
  for (const std::string& file : files) check_writable(folder + "/" + file);
}

void write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::FILE* stream = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  const bool written = stream != nullptr && std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const bool closed = path == "-" ? std::fflush(stdout) == 0 : stream != nullptr && std::fclose(stream) == 0;
  if (!written || !closed) refuse(path == "-" ? "standard output" : path, errno);
}

}  // namespace orrery::cli
