#include "cli/written_job.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "workload/traces/files.h"
#include "workload/traces/writer.h"

namespace orrery::cli {

void write_and_tell(const Job& job, const std::string& folder) {
  refuse_input(folder + "/groups.json");
  for (const TraceFile& file : list_trace_files(folder + "/rank")) refuse_input(file.path);
  const ChakraSource source = write_job(job, folder, "rank");
  std::size_t nodes = 0;
  for (const RankBinding& rank : job.ranks) nodes += job.graphs[rank.graph].size();
  const auto quoted = [](const std::string& path) {
    const bool plain = std::ranges::all_of(
        path, [](unsigned char c) { return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-'; });
    return plain ? path : nlohmann::json(path).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  write_text("-", fmt::format("wrote the traces of {} ({}, {} in all) and {}\n"
                              "replay them with\n\n"
                              "    workload: {{chakra: {{prefix: {}, groups: {}}}}}\n",
                              counted(job.ranks.size(), "rank"), counted(job.graphs.size(), "different graph"),
                              counted(nodes, "node"), counted(job.communicators.size() - 1, "group"),
                              quoted(source.prefix), quoted(source.groups.value_or(""))));
}

}  // namespace orrery::cli
