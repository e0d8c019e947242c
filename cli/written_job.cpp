#include "cli/written_job.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "workload/chakra_writer.h"

namespace orrery::cli {

void write_and_tell(const Job& job, const std::string& folder) {
  const ChakraSource source = write_job(job, folder, "rank");
  std::size_t nodes = 0;
  for (const RankBinding& rank : job.ranks) nodes += job.graphs[rank.graph].size();
  write_text("-", fmt::format("wrote the traces of {} rank{} ({} different graph{}, {} nodes in all) and {} group{}\n"
                              "replay them with\n\n"
                              "    workload: {{chakra: {{prefix: {}, groups: {}}}}}\n",
                              job.ranks.size(), job.ranks.size() == 1 ? "" : "s", job.graphs.size(),
                              job.graphs.size() == 1 ? "" : "s", nodes, job.communicators.size() - 1,
                              job.communicators.size() == 2 ? "" : "s", source.prefix, source.groups.value_or("")));
}

}  // namespace orrery::cli
