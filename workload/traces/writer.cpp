#include "workload/traces/writer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/output_file.h"
#include "workload/traces/files.h"
#include "workload/traces/node_writer.h"

namespace orrery {
namespace {

std::string trace_path(const std::filesystem::path& prefix, std::uint32_t rank) {
  return fmt::format("{}.{}.et", prefix.string(), rank);
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw InputError({directory.string()}, fmt::format("cannot be created: {}", error.message()));
  if (!std::filesystem::is_directory(directory, error))
    throw InputError({directory.string()}, "is a file, expected a directory");
}

// A trace of another form, or of a rank that this job has not, would be read as part of it.
void refuse_other_traces(const std::filesystem::path& prefix, std::uint32_t ranks) {
  for (const TraceFile& file : list_trace_files(prefix.string()))
    if (file.rank >= ranks || file.path != trace_path(prefix, file.rank))
      throw InputError({file.path},
                       fmt::format("is a trace of the same name, of another job: this one has {} ranks", ranks),
                       "write to another directory, or remove the old traces");
}

// {"1": [0, 1], ...} in the order of the GroupIds.
void write_groups(OutputFile& file, const Job& job, const CommunicatorNaming& naming) {
  file.write("{");
  for (std::size_t group = 1; group < job.communicators.size(); ++group) {
    std::string line = fmt::format("{}\n  {}: [", group == 1 ? "" : ",", nlohmann::json(naming.keys[group]).dump());
    for (const RankId& member : job.communicators[group].members)
      line += fmt::format("{}{}", &member == job.communicators[group].members.data() ? "" : ", ", index_of(member));
    file.write(line + "]");
  }
  file.write(job.communicators.size() > 1 ? "\n}\n" : "}\n");
}

void write_trace(OutputFile& file, const Job& job, RankId rank, const EncodedGraph& graph,
                 const CommunicatorNaming& naming) {
  file.write(chakra_metadata_frame(job.ranks.size()));
  graph.for_each_piece(job, rank, naming, [&](std::string_view piece) { file.write(piece); });
}

// Ranks of one graph and one set of labels one after the other, so that one encoded graph is held at a time.
std::vector<std::uint32_t> ranks_by_graph(const Job& job) {
  std::vector<std::uint32_t> ranks(job.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::ranges::stable_sort(
      ranks, {}, [&](std::uint32_t rank) { return std::pair(job.ranks[rank].graph, job.ranks[rank].labels); });
  return ranks;
}

}  // namespace

ChakraSource write_job(const Job& job, const std::filesystem::path& directory, const std::string& stem) {
  if (stem.empty() || stem.find('/') != std::string::npos || stem.find('\0') != std::string::npos)
    throw InputError({directory.string()}, fmt::format("\"{}\" is no name of a file", printable(stem)),
                     "rank r becomes <name>.<r>.et");
  make_directory(directory);
  const std::filesystem::path prefix = directory / stem;
  const std::string groups = (directory / "groups.json").string();
  refuse_other_traces(prefix, static_cast<std::uint32_t>(job.ranks.size()));

  const CommunicatorNaming naming = name_communicators(job.communicators);
  OutputFiles files;
  files.add(groups, [&](OutputFile& file) { write_groups(file, job, naming); });
  std::unique_ptr<const EncodedGraph> graph;
  const RankBinding* encoded = nullptr;
  for (const std::uint32_t rank : ranks_by_graph(job)) {
    const RankBinding& binding = job.ranks[rank];
    if (encoded == nullptr || encoded->graph != binding.graph || encoded->labels != binding.labels) {
      graph.reset();
      graph = std::make_unique<EncodedGraph>(job.graph(RankId(rank)), job.labels_of(RankId(rank)));
      encoded = &binding;
    }
    files.add(trace_path(prefix, rank),
              [&](OutputFile& file) { write_trace(file, job, RankId(rank), *graph, naming); });
  }
  files.commit(trace_path(prefix, 0));
  return {.prefix = prefix.string(), .groups = groups};
}

}  // namespace orrery
