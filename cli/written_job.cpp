#include "cli/written_job.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "workload/chakra_writer.h"

namespace orrery::cli {

void write_and_tell(const Job& job, const std::string& folder) {
  const ChakraSource source = write_job(job, folder, "rank");
  std::size_t nodes = 0;
  for (const RankBinding& rank : job.ranks) nodes += job.graphs[rank.graph].size();
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  write_text("-", fmt::format("wrote the traces of {} ({}, {} in all) and {}\n"
                              "replay them with\n\n"
                              "    workload: {{chakra: {{prefix: {}, groups: {}}}}}\n",
                              counted(job.ranks.size(), "rank"), counted(job.graphs.size(), "different graph"),
                              counted(nodes, "node"), counted(job.communicators.size() - 1, "group"), source.prefix,
                              source.groups.value_or("")));
}

}  // namespace orrery::cli
