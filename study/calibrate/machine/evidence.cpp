// SPDX-License-Identifier: MIT
#include "study/calibrate/machine/evidence.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/error.h"
#include "core/files/read_file.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "study/calibrate/kernel_file.h"
#include "workload/chakra/file.h"
#include "workload/import/kineto/kineto.h"

namespace orrery::study {
namespace {

constexpr std::size_t kBeginning = 1u << 16;
constexpr std::size_t kLargestText = 64u << 20;
constexpr std::size_t kLargestPacked = 4u << 20;
constexpr std::string_view kUtf8 = "\xEF\xBB\xBF";

constexpr std::string_view kKinds =
    "looked for: a table of nccl-tests or rccl-tests (size ... time ... busbw), its CSV (size_bytes,oop_time_us,...), "
    "`orrery collective --json`; a CSV of timed kernels (m,n,k,...,time_us) or the JSON of scripts/measure; a PyTorch "
    "profile (traceEvents); a table of measured steps (YAML: table, figure, rows)";

InputError unknown(const std::string& path, const std::string& what) {
  return InputError({path}, what, std::string(kKinds));
}

std::string_view without_mark(std::string_view text) {
  if (text.starts_with(kUtf8)) text.remove_prefix(kUtf8.size());
  return text;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// True of the first line that is none of comments: "8,10.2,10.1".
bool begins_with_numbers(std::string_view text) {
  CsvLines lines(text);
  const auto first = lines.next();
  if (!first) return false;
  const auto cells = first->cells();
  return cells.size() > 1 && std::ranges::all_of(cells, [](const CsvCell& cell) {
           return !cell.text.empty() && std::ranges::all_of(cell.text, [](char c) {
             return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' || c == '-' || c == '+';
           });
         });
}

bool is_collective_csv(std::string_view text) {
  CsvLines lines(text);
  const auto first = lines.next();
  if (!first) return false;
  return std::ranges::any_of(first->cells(), [](const CsvCell& cell) {
    return cell.text == "size_bytes" || cell.text == "oop_time_us" || cell.text == "ip_time_us";
  });
}

// Marks of a job's output with nccl-tests in it, be it that they failed.
bool has_log(std::string_view text) {
  return std::ranges::any_of(
      std::array<std::string_view, 7>{"busbw", "algbw", "nThread ", "_perf", "NCCL WARN", "RCCL WARN", "NCCL failure"},
      [&](std::string_view mark) { return has(text, mark); });
}

std::optional<EvidenceKind> kind_of_json(const std::string& path, std::string_view text) {
  if (text.empty() || text.front() != '{') return std::nullopt;
  if (has(text, "\"orrery.collective/")) return EvidenceKind::kCollectives;
  if (has(text, "\"traceEvents\"") || experiment::is_profile_file(path)) return EvidenceKind::kProfile;
  return std::nullopt;
}

std::optional<EvidenceKind> kind_of_table(const std::string& path, const ConfigFiles& files) {
  if (!may_be_configuration(path)) return std::nullopt;
  const std::string_view section = experiment::measurements_of(path, files);
  if (section == "training") return EvidenceKind::kSteps;
  if (!section.empty()) throw unknown(path, fmt::format("a table of measurements for `orrery validate {}`", section));
  const ConfigValue root = files.peek(path);
  if (root.find("workload") != nullptr || root.find("jobs") != nullptr)
    throw InputError(
        {path}, "an experiment, not a measurement",
        fmt::format("name it as the job that was measured: --job {} --measured \"19.5 s\"", printable(path)));
  return std::nullopt;
}

// A profile or a measurement of kernels; no measurement is large.
EvidenceKind kind_of_packed(const std::string& path) {
  const std::string packed = beginning_of_file(path, kLargestPacked + 1);
  if (packed.size() > kLargestPacked) return EvidenceKind::kProfile;
  const std::string text = workload::inflate_gzip(path, packed);
  if (is_kernel_file(std::string_view(text).substr(0, kBeginning))) return EvidenceKind::kKernels;
  if (workload::is_profile(std::string_view(text).substr(0, kBeginning)) || has(text, "\"traceEvents\""))
    return EvidenceKind::kProfile;
  throw unknown(path, "compressed, and neither a profile nor timed kernels");
}

}  // namespace

std::string_view name_of(EvidenceKind kind) {
  constexpr std::array<std::string_view, kAllEvidence.size()> kNames = {"collectives", "kernels", "profile", "steps"};
  return kNames[static_cast<std::size_t>(kind)];
}

EvidenceFile evidence_of(const std::string& path, const ConfigFiles& files) {
  const std::string bytes = beginning_of_file(path, kBeginning);
  if (bytes.empty()) {
    if (read_file(path, {.most = kLargestText, .what = "a measurement"}).empty())
      throw unknown(path, "the file is empty");
  }
  if (workload::is_gzip(bytes)) return {kind_of_packed(path), path};
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return {EvidenceKind::kCollectives, path};
  if (has(bytes, std::string_view("\0", 1))) throw unknown(path, "binary data");
  std::string_view text = without_mark(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw unknown(path, "the file is empty");
  text.remove_prefix(first);
  if (const auto kind = kind_of_json(path, text)) return {*kind, path};
  if (is_collective_csv(text)) return {EvidenceKind::kCollectives, path};
  if (is_kernel_file(bytes)) return {EvidenceKind::kKernels, path};
  if (const auto kind = kind_of_table(path, files)) return {*kind, path};
  if (has_log(text) || has_log(read_file(path, {.most = kLargestText, .what = "a measurement"})))
    return {EvidenceKind::kCollectives, path};
  if (begins_with_numbers(text)) throw unknown(path, "a table without a line that names its columns");
  throw unknown(path, "no measurement that a calibration takes");
}

}  // namespace orrery::study
