// SPDX-License-Identifier: MIT
// Profiles as torch.profiler writes them, made up for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace orrery::testing {

// The host calls number themselves: `correlation` counts up with every call.
class KinetoText {
 public:
  // A profile of `rank` in a world; no distributedInfo with a world of 0.
  explicit KinetoText(int rank = 0, int world = 0) : rank_(rank), world_(world) {}

  // Time in microseconds. Launches a kernel and runs it.
  KinetoText& kernel(std::string_view name, double begin, double duration, int stream = 7, std::string_view args = "") {
    launch("cudaLaunchKernel", begin - 5);
    return device("kernel", name, begin, duration, stream, args);
  }
  KinetoText& device(std::string_view category, std::string_view name, double begin, double duration, int stream,
                     std::string_view args = "") {
    return event(
        fmt::format(R"("ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, )"
                    R"("args": {{"device": 0, "stream": {}, "correlation": {}{}{}}})",
                    category, name, stream, begin, duration, stream, correlation_, args.empty() ? "" : ", ", args));
  }
  // A kernel of NCCL, launched within c10d.
  KinetoText& nccl(std::string_view collective, double begin, double duration, std::string_view args, int stream = 20) {
    host_op(begin - 20, 18, collective);
    call("cudaStreamWaitEvent", begin - 19);
    return kernel("ncclDevKernel_X", begin, duration, stream,
                  fmt::format(R"("Collective name": "{}"{}{})", collective, args.empty() ? "" : ", ", args));
  }
  KinetoText& call(std::string_view name, double begin, double duration = 1) {
    launch(name, begin, duration);
    return *this;
  }
  KinetoText& host_op(double begin, double duration, std::string_view collective, std::string_view args = "") {
    return event(fmt::format(R"("ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, )"
                             R"("ts": {:.3f}, "dur": {:.3f}, "args": {{"Collective name": "{}"{}{}}})",
                             begin, duration, collective, args.empty() ? "" : ", ", args));
  }
  KinetoText& event(std::string_view fields) {
    events_.push_back(fmt::format("{{{}}}", fields));
    return *this;
  }
  KinetoText& group_config(std::string_view text) {
    config_ = fmt::format(R"(, "pg_config": [{}])", text);
    return *this;
  }
  int last_correlation() const { return correlation_; }

  std::string str() const {
    std::string text = "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": [[{}]]}],\n";
    if (world_ > 0)
      text += fmt::format("\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}{}}},\n",
                          rank_, world_, config_);
    return text + fmt::format("\"traceEvents\": [\n{}\n], \"traceName\": \"x\"}}\n", fmt::join(events_, ",\n"));
  }

 private:
  void launch(std::string_view name, double begin, double duration = 1) {
    ++correlation_;
    event(fmt::format(R"("ph": "X", "cat": "cuda_runtime", "name": "{}", "pid": 1, "tid": 1, "ts": {:.3f}, )"
                      R"("dur": {:.3f}, "args": {{"cbid": 211, "correlation": {}}})",
                      name, begin, duration, correlation_));
  }

  int rank_;
  int world_;
  int correlation_ = 0;
  std::string config_;
  std::vector<std::string> events_;
};

// What c10d notes, for a group of these ranks.
inline std::string notes(std::int64_t in, std::int64_t out, std::string_view ranks, int size,
                         std::string_view name = "0", std::string_view description = "default_pg",
                         std::string_view type = "Float") {
  return fmt::format(R"("In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": "{}", )"
                     R"("Process Group Name": "{}", "Process Group Description": "{}", "Process Group Ranks": "{}")",
                     in, out, size, type, name, description, ranks);
}

}  // namespace orrery::testing
