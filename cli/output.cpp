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
#include <nlohmann/json.hpp>

#include "core/input_files.h"
#include "core/output_file.h"

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

void refuse_input(const std::string& path) {
  if (is_input(path)) throw InputError({path}, "is read and would be written over", "write to another place");
}

void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  struct stat found {};
  const bool there = stat(path.c_str(), &found) == 0;
  if (there && S_ISDIR(found.st_mode)) return refuse(path, EISDIR);
  refuse_input(path);
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

void write_text(const std::string& path, const std::string& text, TextKind kind) {
  if (path != "-") {
    refuse_input(path);
    OutputFile file(path);
    file.write(text);
    return file.close();
  }
  errno = 0;
  const std::string safe = printable_lines(text, kind);
  const bool written = std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size();
  if (std::fflush(stdout) != 0 || !written) refuse("standard output", errno);
}

void write_json(const std::string& path, const nlohmann::ordered_json& document) {
  write_text(path, document.dump(2) + "\n", TextKind::kJson);
}

}  // namespace orrery::cli
