// SPDX-License-Identifier: MIT
// Contents of one torch.profiler file that a replay needs: operations of the device, and the calls of the host that
// order them. Kineto writes Chrome's trace format; the rest of it is skipped while it is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace orrery::workload {

// Nanoseconds on the clock of the file.
using KinetoTime = std::int64_t;

// Notes of c10d about a collective, a send or a receive; absent numbers are -1.
struct KinetoMessage {
  std::string collective;  // "allreduce", "_allgather_base", "send", ...
  std::string type;        // of the elements: "Float", "BFloat16", ...
  std::string group;       // name of the process group
  std::string description;
  std::string ranks;  // "[0, 1, 2]", or with "..." in it
  std::int64_t input_elements = -1;
  std::int64_t output_elements = -1;
  std::int64_t group_size = -1;
  std::int64_t first_rank = -1;
  std::int64_t rank_stride = -1;
  std::int64_t source = -1;       // of a receive
  std::int64_t destination = -1;  // of a send

  bool operator==(const KinetoMessage&) const = default;
};

struct KinetoOperation {
  std::uint64_t event = 0;  // position in traceEvents
  std::string name;
  KinetoTime begin = 0;
  KinetoTime end = 0;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t correlation = -1;           // the call that launched it; calls are numbered in their order
  std::int64_t external = -1;              // the host's operation that it belongs to
  std::optional<KinetoMessage> message{};  // NCCL's kernels
  std::vector<KinetoMessage> batch{};      // sends and receives in one kernel (workload/import/kineto/kineto.cpp)
  bool is_communication = false;
};

enum class KinetoCallKind : std::uint8_t { kStreamWait, kSynchronize };

// A call of the host that makes a stream wait for an event, or the host for the device.
struct KinetoCall {
  KinetoCallKind kind = KinetoCallKind::kStreamWait;
  KinetoTime begin = 0;
  KinetoTime end = 0;
  std::string thread;
  std::int64_t correlation = -1;
};

// An operator of c10d on the host: "record_param_comms", "nccl:all_reduce", "c10d::_allgather_base_".
struct KinetoHostOperator {
  KinetoTime begin = 0;
  KinetoTime end = 0;
  std::string thread;
  std::string name;
  std::int64_t external = -1;
  std::int64_t record_function = 0;    // the id that an execution trace has, too; 0: none
  std::string type;                    // of the first tensor
  std::vector<std::int64_t> elements;  // of each argument that is a tensor; none without record_shapes
  KinetoMessage message;               // no collective: c10d noted nothing

  bool is_call() const { return name == "record_param_comms"; }
};

// When the host made a call that launched something.
struct KinetoLaunch {
  std::int64_t correlation = -1;
  KinetoTime begin = 0;
  KinetoTime end = 0;
  std::string thread;
  bool is_graph = false;  // a whole graph of kernels
};

// An operator of the framework on the host, with the sizes of its tensors as record_shapes notes them.
struct KinetoOperator {
  KinetoTime begin = 0;
  KinetoTime end = 0;
  std::string thread;
  std::string name;                               // "aten::mm"
  std::vector<std::vector<std::int64_t>> shapes;  // by argument; empty of one that is no tensor, or a list of them
  std::vector<std::string> types;                 // by argument: "c10::BFloat16"
  std::vector<std::string> values;                // of arguments that are no tensors: "True"; empty of others
};

struct KinetoSpan {
  KinetoTime begin = 0;
  KinetoTime end = 0;
};

// The same as CUPTI saw it, where the profile was taken with cuda_sync events: exact.
struct KinetoStreamWait {
  std::int64_t device = 0;
  std::int64_t stream = 0;       // waits ...
  std::int64_t on_stream = 0;    // ... for what was launched on this one
  std::int64_t recorded_by = 0;  // before this call
  std::int64_t correlation = 0;  // of the wait itself
};

struct KinetoTrace {
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world;
  std::map<std::string, std::string> group_ranks;  // of distributedInfo, by name of the process group
  std::vector<KinetoOperation> operations;         // in the order of the file
  std::vector<KinetoCall> calls;
  std::vector<KinetoStreamWait> waits;
  std::vector<KinetoHostOperator> host_operators;  // in the order of the file
  std::vector<KinetoLaunch> launches;
  std::optional<std::int64_t> process;  // of the host
  std::string device;                   // as the driver calls it; empty: not said
  KinetoTime base = 0;                  // since 1970, of the clock of the file
  bool has_host_calls = false;
  std::vector<KinetoOperator> operators;  // with KinetoDetail::kOperators, in the order of the file
  std::vector<KinetoSpan> steps;          // of the host, as torch.profiler's schedule marks them
  bool has_stacks = false;                // Python's calls were recorded
};

// kOperators: also those of the framework, which a replay has no use for.
enum class KinetoDetail : std::uint8_t { kReplay, kOperators };

// True of a kernel of NCCL or RCCL.
bool is_nccl_kernel(std::string_view name);

// Library of a kernel that is not NCCL's but seems, by its name, to move data between GPUs: "DeepEP"; empty for all
// others. Such kernels have no notes of c10d, so that a profile does not say what they send, and to whom.
std::string_view other_communication(std::string_view kernel);

// Error with a parser's message about a text, and the line.
InputError not_json(const std::string& file, std::string_view text, std::size_t position, const std::string& reason);

// InputError where the text is no JSON, has no traceEvents, or an operation lacks its time.
KinetoTrace read_kineto(const std::string& file, std::string_view text, KinetoDetail detail = KinetoDetail::kReplay);

}  // namespace orrery::workload
