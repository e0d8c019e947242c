// SPDX-License-Identifier: MIT
#include "experiment/files/foreign_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files/read_file.h"
#include "core/files/shell_word.h"
#include "experiment/launchers/launcher.h"
#include "network/import/rocm_topology.h"
#include "network/import/simai_topology.h"
#include "workload/chakra/file.h"
#include "workload/import/format.h"
#include "workload/traces/files.h"

namespace orrery::experiment {
namespace {

constexpr std::size_t kBeginning = std::size_t{1} << 16;

// Beginning of a file, without blanks before it.
struct Beginning {
  const std::string& file;
  std::string_view text;

  bool has(std::string_view part) const { return text.find(part) != std::string_view::npos; }
  std::string_view first_line() const { return text.substr(0, text.find('\n')); }
  bool may_be_configuration() const {
    if (file.ends_with(".toml")) return false;  // a section is no list
    return file.ends_with(".yaml") || file.ends_with(".yml") || text.starts_with('{') || text.starts_with('[');
  }
};

// --- binary formats, by their first bytes

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view hint;
};

constexpr std::string_view kPlainText = "a configuration is a text in YAML or JSON";

constexpr std::array<Magic, 10> kMagics = {{
    {"\x7f"
     "ELF",
     "a program", kPlainText},
    {"\x89PNG", "a picture", kPlainText},
    {"\xff\xd8\xff", "a picture", kPlainText},
    {"%PDF", "a PDF document", kPlainText},
    {"PK\x03\x04", "a zip archive", "unpack it, and name a file in it"},
    {"SQLite format 3", "a SQLite database",
     "`orrery sweep --out` writes points.sqlite, with result.json beside it; of profilers, the JSON of PyTorch's is "
     "read: orrery run PROFILE.json --set cluster=NAME"},
    {"\x93NUMPY", "a NumPy array", kPlainText},
    {"PAR1", "a Parquet table", kPlainText},
    {"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it: unzstd {0}"},
    {"\xfd"
     "7zXZ",
     "compressed by xz", "unpack it: unxz {0}"},
}};

// --- texts

bool is_collective_log(const Beginning& file) {
  return !file.may_be_configuration() &&
         (file.has("busbw") || file.has("algbw") || file.has("# nThread") || file.has("# Using devices"));
}

// Tells whether the log says by itself which operation was timed.
bool is_named_log(const Beginning& file) { return is_collective_log(file) && file.has("_perf"); }

// Heading of a table of values separated by commas.
bool is_table(const Beginning& file) {
  const std::string_view line = file.first_line();
  return !file.may_be_configuration() && std::ranges::count(line, ',') >= 1 &&
         line.find_first_of(":{}()=") == std::string_view::npos && !line.starts_with('#');
}

bool is_collective_table(const Beginning& file) {
  return is_table(file) && (file.first_line().find("size_bytes") != std::string_view::npos ||
                            file.first_line().find("oop_time_us") != std::string_view::npos);
}

bool is_points_table(const Beginning& file) {
  return is_table(file) && file.first_line().find("iteration_time_s") != std::string_view::npos;
}

bool is_rank_table(const Beginning& file) { return is_table(file) && file.text.starts_with("rank,stands_for,"); }

bool is_kernel_table(const Beginning& file) {
  const std::string_view line = file.first_line();
  return is_table(file) &&
         (line.find("time_") != std::string_view::npos || line.find("seconds") != std::string_view::npos ||
          line.find("latency") != std::string_view::npos);
}

bool is_aicb_log(const Beginning& file) { return !workload::foreign_workload_hint(file.text).empty(); }

bool is_goal(const Beginning& file) {
  return !file.may_be_configuration() && workload::workload_format_of(file.text) == workload::WorkloadFormat::kGoal;
}

bool is_launch_script(const Beginning& file) {
  return !file.may_be_configuration() && launcher_of(file.file, file.text) && !file.first_line().ends_with("python3") &&
         !file.first_line().ends_with("python");
}

bool is_python(const Beginning& file) {
  const std::string_view line = file.first_line();
  return file.file.ends_with(".py") || line.ends_with("python3") || line.ends_with("python") ||
         (!file.may_be_configuration() && (line.starts_with("import ") || line.starts_with("from ")));
}

bool is_deepspeed(const Beginning& file) {
  return file.text.starts_with('{') &&
         (file.has("\"zero_optimization\"") || file.has("\"train_micro_batch_size_per_gpu\"")) &&
         !file.has("\"workload\"") && !file.has("\"cluster\"");
}

bool is_hugging_face_model(const Beginning& file) {
  return file.text.starts_with('{') && (file.has("\"architectures\"") || file.has("\"model_type\"")) &&
         !file.has("\"workload\"") && !file.has("\"cluster\"");
}

bool is_topology_matrix(const Beginning& file) {
  return !file.may_be_configuration() && file.has("GPU0") && (file.has("NV") || file.has("PIX") || file.has("SYS")) &&
         file.has(" X ");
}

bool is_nccl_topology(const Beginning& file) { return file.text.starts_with("<system"); }
bool are_nccl_graphs(const Beginning& file) { return file.text.starts_with("<graphs"); }
bool is_algorithm(const Beginning& file) { return file.text.starts_with("<algo"); }
bool is_xml(const Beginning& file) { return file.text.starts_with('<'); }
bool is_rocm(const Beginning& file) { return !file.may_be_configuration() && network::is_rocm_topology(file.text); }
bool is_simai(const Beginning& file) { return !file.may_be_configuration() && network::is_simai_topology(file.text); }
bool is_fabric_scan(const Beginning& file) { return file.has("switchguid=") || file.text.starts_with("vendid="); }
bool is_markdown(const Beginning& file) { return file.file.ends_with(".md"); }

struct TextKind {
  bool (*is)(const Beginning& file);
  std::string_view what;
  std::string_view hint;  // {0}: the file
};

// The first that fits is it.
constexpr std::array<TextKind, 21> kTexts = {{
    {is_markdown, "a text for people", kPlainText},
    {is_named_log, "a log of nccl-tests",
     "orrery calibrate {0} --cluster NAME fits a cluster to it; orrery collective predicts the same sizes"},
    {is_collective_log, "a log of nccl-tests",
     "orrery calibrate {0} --cluster NAME --op OPERATION fits a cluster to it; orrery collective predicts the same "
     "sizes"},
    {is_aicb_log, "AICB's log of a run", "give the text workload that AICB writes for SimAI"},
    {is_goal, "a GOAL schedule", "name it in an experiment, workload: {{goal: {0}}}"},
    {is_rank_table, "a table of `orrery run --out`", "result.json beside it can be run again: orrery run result.json"},
    {is_points_table, "a table of a sweep's points",
     "the sweep that wrote it makes it anew: orrery sweep SWEEP.yaml --out DIR"},
    {is_collective_table, "a table of measured collectives",
     "orrery calibrate {0} --cluster NAME --op OPERATION fits a cluster to it"},
    {is_kernel_table, "a table of measured times",
     "orrery calibrate {0} --cluster NAME fits a device to timed kernels"},
    {is_python, "a Python program",
     "of Megatron-LM, Megatron-Bridge, torchtitan, DeepSpeed and FSDP the launch script or the "
     "configuration is read: orrery workload import FILE --cluster NAME --nodes N --out job.yaml"},
    {is_launch_script, "a launch script, or a launcher's configuration",
     "write it as an experiment: orrery workload import {0} --cluster NAME --nodes N --out job.yaml"},
    {is_deepspeed, "a configuration of DeepSpeed",
     "write it as an experiment: orrery workload import {0} --model NAME --cluster NAME --nodes N --out job.yaml"},
    {is_hugging_face_model, "a model as Hugging Face has it",
     "name it in an experiment, workload: {{model: {0}}}; orrery model show {0} shows it"},
    {is_topology_matrix, "the output of `nvidia-smi topo -m`",
     "name it in a cluster, node: {{topology_matrix: {0}}}; orrery calibrate takes it, too"},
    {is_nccl_topology, "a topology as NCCL dumps it",
     "write it as a cluster: orrery cluster import {0} > cluster.yaml"},
    {are_nccl_graphs, "graphs as NCCL dumps them",
     "write them as a cluster, with the topology: orrery cluster import TOPOLOGY.xml {0} > cluster.yaml"},
    {is_algorithm, "an algorithm of MSCCL", "orrery collective --cluster NAME --op OPERATION --algorithm {0} times it"},
    {is_xml, "an XML document", kPlainText},
    {is_rocm, "the output of rocm-smi",
     "write it as a cluster: orrery cluster import {0} --device mi300x > cluster.yaml"},
    {is_simai, "a topology of SimAI", "write it as a cluster: orrery cluster import {0} --device NAME > cluster.yaml"},
    {is_fabric_scan, "the output of ibnetdiscover", "no command reads it: docs/my-cluster.md describes a fabric"},
}};

// Comma-separated values of which nothing else is known come last.
constexpr TextKind kAnyTable = {is_table, "a table of comma-separated values", kPlainText};

ForeignFile filled(std::string_view what, std::string_view hint, const std::string& file) {
  return {std::string(what), fmt::format(fmt::runtime(hint), shown_shell_word(file))};
}

// POSIX: the header of the first member.
bool is_tar(std::string_view bytes) { return bytes.size() > 262 && bytes.substr(257, 5) == "ustar"; }

std::optional<ForeignFile> packed_file(const std::string& file, std::string_view bytes) {
  constexpr std::size_t kWhole = 4u << 20;
  const std::string packed = beginning_of_file(file, kWhole + 1);
  if (packed.size() > kWhole) return std::nullopt;  // no text is that large; a profile is
  const std::string text = workload::inflate_gzip(file, packed);
  if (is_tar(text)) return filled("a packed archive", "unpack it, and name a file in it: tar -xzf {0}", file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  if (bytes.empty() || is_json || !file.ends_with(".gz")) return std::nullopt;
  return filled("a compressed file that is no profile", "unpack it: gunzip {0}", file);
}

}  // namespace

std::optional<ForeignFile> foreign_file(const std::string& file) {
  if (workload::prefix_of_trace(file)) return std::nullopt;
  const std::string bytes = beginning_of_file(file, kBeginning);
  const auto magic = std::ranges::find_if(kMagics, [&](const Magic& one) { return bytes.starts_with(one.bytes); });
  if (magic != kMagics.end()) return filled(magic->what, magic->hint, file);
  if (is_tar(bytes)) return filled("an archive", "unpack it, and name a file in it: tar -xf {0}", file);
  if (workload::is_gzip(bytes)) return packed_file(file, bytes);
  std::string_view text = bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.find('\0') != std::string_view::npos) return std::nullopt;  // a trace, or a text in UTF-16
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  // Blanks before a text may be its first column.
  const Beginning beginning{file,
                            text.substr(text[first] == '{' || text[first] == '[' || text[first] == '<' ? first : 0)};
  const auto found = std::ranges::find_if(kTexts, [&](const TextKind& kind) { return kind.is(beginning); });
  if (found != kTexts.end()) return filled(found->what, found->hint, file);
  if (kAnyTable.is(beginning)) return filled(kAnyTable.what, kAnyTable.hint, file);
  return std::nullopt;
}

void refuse_foreign_file(const std::string& file, std::string_view expected) {
  if (auto foreign = foreign_file(file))
    throw InputError({file}, fmt::format("this is {}, not {}", foreign->what, expected), std::move(foreign->hint));
}

}  // namespace orrery::experiment
