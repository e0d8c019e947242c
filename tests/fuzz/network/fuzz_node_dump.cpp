// SPDX-License-Identifier: MIT
// What other tools write of machines, from hostile text: dumps of NCCL, outputs of rocm-smi, topologies of SimAI,
// tables of tuners. Errors name a line; what is accepted makes a text.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/tuner.h"
#include "core/assert.h"
#include "core/error.h"
#include "core/files/xml.h"
#include "network/import/imported_node.h"
#include "network/import/nccl_graphs.h"
#include "network/import/nccl_topology.h"
#include "network/import/rocm_topology.h"
#include "network/import/simai_topology.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace orrery;
using namespace orrery::network;

void read_dump(std::string_view text) {
  const XmlDocument document("fuzz.xml", text, "");
  if (std::string_view(document.root().name()) == "graphs") {
    nccl_lines(read_nccl_graphs(document));
    return;
  }
  const ImportedNode node = read_nccl_topology(document, "");
  ORRERY_ASSERT(node.devices > 0 && (node.nics == 0 || node.nic_of.size() == node.devices));
  ORRERY_ASSERT(!cluster_text(std::vector{node}, {}).empty());
}

}  // namespace

ORRERY_FUZZER(fuzz_node_dump, text) {
  try {
    if (text.starts_with('<'))
      read_dump(text);
    else if (is_rocm_topology(text))
      cluster_text(std::vector{read_rocm_topology(text, "fuzz.txt", "mi300x")}, {});
    else if (is_simai_topology(text))
      simai_cluster_text(text, "fuzz.txt", "");
    else {
      Diagnostics diagnostics;
      orrery::collectives::parse_nccl_tuner(text, "fuzz.csv", diagnostics);
      for (const Problem& problem : diagnostics.problems()) ORRERY_ASSERT(problem.where.line > 0);
    }
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) ORRERY_ASSERT(problem.where.line > 0);
  }
}
