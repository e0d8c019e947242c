// Communicator groups: which ranks call collectives together, under which name. They come from a JSON file,
// {"name": [global ranks], ...}, or from the `## process_group:init ##` nodes that PyTorch puts into its traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "workload/traces/files.h"

namespace orrery {

struct CommunicatorGroup {
  std::string name;
  std::vector<RankId> members;  // in the order given; each once

  bool operator==(const CommunicatorGroup&) const = default;
};

// The groups in the JSON `text`, in the order of the file. All that is wrong (not an object of lists, an empty list, a
// rank that is repeated, negative, fractional or not among the `traces`, a repeated name, not JSON) goes to
// `diagnostics` with line and column; the groups without errors are returned.
std::vector<CommunicatorGroup> read_groups(const std::string& file, std::string_view text, const TraceSet& traces,
                                           Diagnostics& diagnostics);

// A process group as a PyTorch trace declares it. `is_world`: the list of ranks is empty, which means all of them;
// `world` is then how many those are, where the trace says it.
struct ProcessGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;
  bool is_world = false;
  std::optional<std::uint64_t> world{};

  bool operator==(const ProcessGroup&) const = default;
};

// True for the name of a PyTorch node that declares process groups.
bool is_process_group_node(std::string_view node_name);

// Reads the `inputs.values` of such a node: a Python list of a string that holds a JSON list of objects with `pg_name`
// and `ranks`. Single quotes, and the inner list without the string around it, are understood too. Throws InputError,
// with `where` and a message that begins with `node`.
std::vector<ProcessGroup> read_process_groups(const Location& where, const std::string& node, std::string_view values);

}  // namespace orrery
