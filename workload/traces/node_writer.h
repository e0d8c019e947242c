// A node of a graph as a Chakra node, in the bytes of a trace file. What differs between ranks that share a graph
// stands last in a message, so that the rest is encoded once for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "workload/graph/execution_graph.h"
#include "workload/graph/job.h"
#include "workload/graph/node_labels.h"

namespace orrery {

// How the communicators of a job are called in its files.
struct CommunicatorNaming {
  std::vector<std::string> keys;          // by GroupId: pg_name, decimal and above 0; "" for the world, which has none
  std::vector<std::string> descriptions;  // by GroupId: pg_desc; "" where it would say the same as the key
};

CommunicatorNaming name_communicators(std::span<const Communicator> communicators);

// The metadata frame that every file of a job of `ranks` begins with.
std::string chakra_metadata_frame(std::size_t ranks);

// What all ranks with this graph and these labels have in common.
class EncodedGraph {
 public:
  EncodedGraph(const ExecutionGraph& graph, const NodeLabels& labels);

  // Calls `write` with pieces of the file of `rank`, which has this graph, one after the other.
  template <class Write>
  void for_each_piece(const Job& job, RankId rank, const CommunicatorNaming& naming, Write write) const {
    std::string frame;
    std::size_t at = 0;
    for (const OpenNode& open : open_) {
      write(std::string_view(bytes_).substr(at, open.begin - at));
      close(open, job, rank, naming, frame);
      write(std::string_view(frame));
      at = open.end;
    }
    write(std::string_view(bytes_).substr(at));
  }

 private:
  // A communication node, whose message lacks the length in front and the attributes of the rank at the end.
  struct OpenNode {
    NodeId node;
    std::size_t begin = 0;  // of its message in bytes_
    std::size_t end = 0;
  };

  void close(const OpenNode& open, const Job& job, RankId rank, const CommunicatorNaming& naming,
             std::string& frame) const;

  std::string bytes_;
  std::vector<OpenNode> open_;
};

}  // namespace orrery
