// SPDX-License-Identifier: MIT
#include "study/explain/resources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery::study {
namespace {

using Kind = ConfigValue::Kind;

constexpr std::array<std::string_view, 4> kNoResources = {"source", "assumed", "prices", "nccl"};
constexpr std::string_view kNic = "nic", kHostLink = "pcie";

const ConfigValue* child(const ConfigValue& value, std::string_view key) {
  const ConfigEntry* entry = value.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

template <class Quantity>
bool is_positive(const ConfigValue& value) {
  const Parsed<Quantity> parsed =
      value.kind == Kind::kScalar ? parse_quantity<Quantity>(value.scalar) : Parsed<Quantity>{};
  return parsed.value && parsed.value->count() > 0;
}

// Links are called as results call them.
class Finder {
 public:
  std::vector<Resource> find(const ConfigValue& resolved) && {
    const ConfigValue* workload = child(resolved, "workload");
    const ConfigValue* jobs = child(resolved, "jobs");
    if (workload == nullptr && jobs != nullptr && !jobs->items.empty())
      workload = child(jobs->items.front(), "workload");
    const ConfigValue* precision = workload == nullptr ? nullptr : child(*workload, "precision");
    if (precision != nullptr) precision_ = precision->scalar;
    offloads_ = jobs != nullptr ? std::ranges::any_of(jobs->items, [](const ConfigValue& job) { return offloads(job); })
                                : offloads(resolved);
    if (resolved.find("workload") != nullptr) {
      if (const ConfigValue* launch = launch_of(*workload))
        add("host launch", *launch, "workload.software.host.launch", true).now = launch_text(*launch, resolved);
    } else if (jobs != nullptr) {
      has_hosts_ = std::ranges::any_of(jobs->items, [](const ConfigValue& job) {
        const ConfigValue* of_job = child(job, "workload");
        return of_job != nullptr && launch_of(*of_job) != nullptr;
      });
    }
    if (const ConfigValue* cluster = child(resolved, "cluster")) walk(*cluster, "cluster", "cluster");
    if (const ConfigValue* memory = child(resolved, "memory")) walk(*memory, "memory", "remote memory");
    add_together(fmt::format("{} and {} bandwidth", kNic, kHostLink), true, [](const Resource& link) {
      return link.name == fmt::format("{} bandwidth", kNic) || link.name == fmt::format("{} bandwidth", kHostLink);
    });
    add_together("bandwidth of all links", false, [](const Resource& link) {
      return link.is_link && !link.is_delay && link.name.find(" and ") == std::string::npos;
    });
    return std::move(resources_);
  }

 private:
  void walk(const ConfigValue& value, const std::string& path, const std::string& link) {
    std::size_t index = 0;
    for (const ConfigValue& item : value.items) walk(item, fmt::format("{}[{}]", path, index++), name_of(item, link));
    for (const ConfigEntry& entry : value.entries) {
      const std::string below = fmt::format("{}.{}", path, entry.key);
      const bool is_scalar = entry.value.kind == Kind::kScalar;
      if (std::ranges::find(kNoResources, entry.key) != kNoResources.end()) continue;
      if (entry.key == "host") {
        if (offloads_) add_host(entry.value, below);
      } else if (entry.key == "host_launch") {
        if (has_hosts_) add("host launch", entry.value, below, true);  // of several jobs, each with its own software
      } else if (is_scalar) {
        add_link(entry.value, below, link_of(path, entry.key, link));
      } else if (entry.key == "device") {
        add_device(entry.value, below);
        if (offloads_) add_host_link(entry.value, below, child(value, "host"));
      } else if (folder_of_key(entry.key) != "links") {  // a kind of link, whose figures the link itself has
        walk(entry.value, below,
             name_of(entry.value, entry.key == "nics" ? std::string(kNic) : named(entry.key, link)));
      }
    }
  }

  // Name of a link or of links written as a map.
  static std::string name_of(const ConfigValue& map, const std::string& otherwise) {
    const ConfigValue* name = child(map, "class");
    if (name == nullptr) name = child(map, "name");
    return name != nullptr && name->kind == Kind::kScalar ? printable(name->scalar, 40) : otherwise;
  }

  static std::string named(const std::string& key, const std::string& above) {
    return key == "scale_out" ? "scale-out" : key == "capacities" || key == "fabric" || key == "remote" ? above : key;
  }

  // A key may say itself what it is of.
  static std::string link_of(const std::string& path, std::string key, const std::string& link) {
    if (key.starts_with("host_")) return std::string(kHostLink);
    if (!path.ends_with(".capacities")) return link;
    if (key.ends_with("_latency")) key.resize(key.rfind('_'));
    std::ranges::replace(key, '_', '-');
    return key;
  }

  void add_link(const ConfigValue& value, const std::string& path, const std::string& link) {
    if (is_positive<Bandwidth>(value)) add(link + " bandwidth", value, path, false).is_link = true;
    if (is_positive<Duration>(value)) add(link + " latency", value, path, true).is_link = true;
  }

  // True if a job, or the experiment with its only one, keeps something in the memory of hosts.
  static bool offloads(const ConfigValue& job) {
    const ConfigValue* workload = child(job, "workload");
    return workload != nullptr && child(*workload, "offload") != nullptr;
  }

  // Copies between devices and the host's memory, and what its processors do there.
  void add_host(const ConfigValue& host, const std::string& path) {
    for (const std::string_view key : {"to_device", "from_device"})
      if (const ConfigValue* rate = child(host, key))
        add("host copies", *rate, fmt::format("{}.{}", path, key), false).is_link = true;
    if (const ConfigValue* rate = child(host, "update")) add("host update", *rate, path + ".update", false);
  }

  // The link that copies take where the host does not say how fast they are.
  void add_host_link(const ConfigValue& device, const std::string& path, const ConfigValue* host) {
    if (host != nullptr && child(*host, "to_device") != nullptr && child(*host, "from_device") != nullptr) return;
    const ConfigValue* link = child(device, "pcie");
    const ConfigValue* rate = link == nullptr ? nullptr : child(*link, "bandwidth");
    if (rate != nullptr) add("host copies", *rate, path + ".pcie.bandwidth", false).is_link = true;
  }

  void add_device(const ConfigValue& device, const std::string& path) {
    if (const ConfigValue* peaks = child(device, "peak"))
      for (const ConfigEntry& peak : peaks->entries)
        if (is_positive<FlopRate>(peak.value)) {
          Resource& compute = add("device compute", peak.value, fmt::format("{}.peak.{}", path, peak.key), false);
          if (peak.key == precision_) compute.now = peak.value.scalar;
        }
    const ConfigValue* memory = child(device, "memory");
    const ConfigValue* bandwidth = memory == nullptr ? nullptr : child(*memory, "bandwidth");
    if (bandwidth != nullptr) add("device memory bandwidth", *bandwidth, path + ".memory.bandwidth", false);
    if (const ConfigValue* compute = child(device, "compute"))
      for (const ConfigEntry& entry : compute->entries)
        if (is_positive<Duration>(entry.value))
          add("kernel launch", entry.value, fmt::format("{}.compute.{}", path, entry.key), true);
  }

  // Time of a launch on the hosts of the cluster's nodes, where all are alike.
  static std::string launch_text(const ConfigValue& launch, const ConfigValue& resolved) {
    const ConfigValue* factor = &resolved;
    for (const char* key : {"cluster", "node", "host_launch"})
      if (factor != nullptr) factor = child(*factor, key);
    const Parsed<Duration> time = parse_quantity<Duration>(launch.scalar);
    const std::optional<double> times = factor == nullptr ? std::nullopt : parse_share(factor->scalar).value;
    return time.value && times ? rounded(Duration(std::llround(static_cast<double>(time.value->count()) * *times)))
                               : launch.scalar;
  }

  // Time of a launch; null where the host is never waited for.
  static const ConfigValue* launch_of(const ConfigValue& workload) {
    const ConfigValue* below = &workload;
    for (const char* key : {"software", "host", "launch"})
      if (below != nullptr) below = child(*below, key);
    return below != nullptr && is_positive<Duration>(*below) ? below : nullptr;
  }

  Resource& add(const std::string& name, const ConfigValue& value, const std::string& path, bool is_delay) {
    auto known = std::ranges::find(resources_, name, &Resource::name);
    if (known == resources_.end()) {
      resources_.push_back({name, value.scalar, {}, is_delay, false});
      known = std::prev(resources_.end());
    }
    known->keys.push_back(path);
    return *known;
  }

  // Several as one.
  template <class Choose>
  void add_together(std::string name, bool is_link, const Choose& choose) {
    Resource together{std::move(name), {}, {}, false, is_link};
    std::size_t count = 0;
    for (const Resource& resource : resources_) {
      if (!choose(resource)) continue;
      ++count;
      if (is_link && together.now.empty()) together.now = resource.now;
      together.keys.insert(together.keys.end(), resource.keys.begin(), resource.keys.end());
    }
    if (count > 1) resources_.push_back(std::move(together));
  }

  std::string precision_;   // that the job computes in
  bool has_hosts_ = false;  // several jobs, some of which wait for their hosts
  bool offloads_ = false;   // a job
  std::vector<Resource> resources_;
};

// The plan of the only generated job.
class Plan {
 public:
  Plan(const ConfigValue& workload, const ConfigValue& resolved, const workload::TrainingSpec& training)
      : workload_(workload), resolved_(resolved), training_(training) {}

  std::vector<Neighbour> neighbours() && {
    add_tensor();
    add_micro_batch();
    add_recomputation();
    add_schedules();
    add_context_kinds();
    add_experts();
    add_loss();
    add_graphs();
    add_matrices();
    add_offload();
    add_precisions();
    return std::move(list_);
  }

 private:
  const ConfigValue* at(std::string_view section, std::string_view key) const {
    const ConfigValue* map = child(workload_, section);
    return map == nullptr ? nullptr : child(*map, key);
  }
  std::int64_t number(std::string_view section, std::string_view key) const {
    const ConfigValue* value = at(section, key);
    return value == nullptr ? 1 : parse_whole_number(value->scalar).value_or(1);
  }

  // Ranks move between tensor and data parallelism; `data: rest` follows by itself.
  void add_tensor() {
    const std::int64_t tensor = number("parallel", "tensor"), data = number("parallel", "data");
    const ConfigValue* written = at("parallel", "data");
    const bool is_rest = written != nullptr && !parse_whole_number(written->scalar);
    if (tensor % 2 == 0) add_tensor(tensor / 2, is_rest ? std::nullopt : std::optional(data * 2));
    if (is_rest || data % 2 == 0)
      add_tensor(tensor * 2, is_rest ? std::nullopt : std::optional(data / 2));
    else
      list_.push_back({fmt::format("tensor {}", tensor * 2), {}, fmt::format("data {} cannot be halved", data)});
  }

  void add_tensor(std::int64_t tensor, std::optional<std::int64_t> data) {
    Neighbour plan{fmt::format("tensor {}, data{}", tensor, data ? fmt::format(" {}", *data) : ": rest"),
                   {fmt::format("workload.parallel.tensor={}", tensor)}};
    if (data) plan.settings.push_back(fmt::format("workload.parallel.data={}", *data));
    const ConfigValue* sequence = at("parallel", "sequence");
    if (tensor == 1 && sequence != nullptr && parse_boolean(sequence->scalar).value_or(false))
      plan.settings.emplace_back("workload.parallel.sequence=false");
    list_.push_back(std::move(plan));
  }

  void add_micro_batch() {
    const std::int64_t micro = training_.micro_batch;
    const auto add = [&](std::int64_t size) {
      list_.push_back({fmt::format("micro-batch {}", size), {fmt::format("workload.batch.micro={}", size)}});
    };
    if (micro % 2 == 0) add(micro / 2);
    if (!training_.chooses_micro_batch) add(micro * 2);
  }

  void add_recomputation() {
    const ConfigValue* now = child(workload_, "recompute");
    for (const std::string_view other : {"none", "selective", "full"}) {
      if (now == nullptr || now->scalar == other) continue;
      Neighbour plan{fmt::format("recompute {}", other), {fmt::format("workload.recompute={}", other)}};
      if (other == "full" && has_modules()) plan.settings.emplace_back("workload.recompute_modules=[]");
      list_.push_back(std::move(plan));
    }
  }

  // True if parts of layers are computed again, whatever else is.
  bool has_modules() const {
    const ConfigValue* modules = child(workload_, "recompute_modules");
    return modules != nullptr && (!modules->items.empty() || !modules->scalar.empty());
  }

  // Other libraries that take tokens to their experts, other balances of experts, and experts computed again.
  void add_experts() {
    const std::int64_t expert = number("parallel", "expert");
    const ConfigValue* dispatch = at("experts", "dispatch");
    const ConfigValue* library = dispatch == nullptr ? nullptr : child(*dispatch, "name");
    for (const std::string_view other : {"all-to-all", "deepep", "deepep-v2", "hybridep"})
      if (expert > 1 && library != nullptr && library->scalar != other)
        list_.push_back({fmt::format("dispatch {}", other), {fmt::format("workload.experts.dispatch={}", other)}});
    add_balances(expert);
    const ConfigValue* experts = at("model", "experts");
    const ConfigValue* recompute = child(workload_, "recompute");
    if (experts != nullptr && parse_whole_number(experts->scalar).value_or(0) > 0 && recompute != nullptr &&
        recompute->scalar != "full" && !has_modules())
      list_.push_back({"experts computed again", {"workload.recompute_modules=[experts]"}});
  }

  // Experts equally popular, where nothing is to drop or to copy; and one copy more on each rank, or none.
  void add_balances(std::int64_t expert) {
    const auto real = [](const ConfigValue* value) {
      return value == nullptr ? 0 : parse_share(value->scalar).value.value_or(0);
    };
    if (real(at("parallel", "expert_skew")) <= 0) return;
    const ConfigValue* copies = at("experts", "redundant");
    const bool has_copies = real(copies) > 0;
    Neighbour even{"experts equally popular", {"workload.parallel.expert_skew=0", "workload.parallel.expert_seed=1"}};
    if (has_copies) even.settings.emplace_back("workload.experts.redundant=0");
    if (real(at("experts", "capacity_factor")) >= 1) even.settings.emplace_back("workload.experts.capacity_factor=0");
    list_.push_back(std::move(even));
    if (has_copies)
      list_.push_back({"no copies of experts", {"workload.experts.redundant=0"}});
    else if (expert > 1)
      list_.push_back(
          {fmt::format("{} redundant experts", expert), {fmt::format("workload.experts.redundant={}", expert)}});
  }

  // Other ways to whole matrices, where the optimizer needs them.
  void add_matrices() {
    const ConfigValue* matrices = at("optimizer", "matrices");
    const ConfigValue* mode = matrices == nullptr ? nullptr : child(*matrices, "mode");
    for (const std::string_view other : {"duplicated", "distributed", "layer-wise", "blockwise"})
      if (mode != nullptr && mode->scalar != other)
        list_.push_back(
            {fmt::format("matrices {}", other), {fmt::format("workload.optimizer.matrices.mode={}", other)}});
  }

  // Offloaded states and activations back on the device; and the update by the other of host and device.
  void add_offload() {
    const auto is_offloaded = [&](std::string_view key) {
      const ConfigValue* share = at("offload", key);
      return share != nullptr && parse_share(share->scalar).value.value_or(0) > 0;
    };
    for (const std::string_view key : {"states", "activations"})
      if (is_offloaded(key))
        list_.push_back({fmt::format("{} on the device", key), {fmt::format("workload.offload.{}=0", key)}});
    const ConfigValue* update = at("offload", "update");
    if (!is_offloaded("states") || update == nullptr) return;
    const std::string_view other = update->scalar == "host" ? "device" : "host";
    list_.push_back({fmt::format("update by the {}", other), {fmt::format("workload.offload.update={}", other)}});
  }

  // Schedules of pipelines that flush, with one chunk or two on a rank.
  void add_schedules() {
    const ConfigValue* now = at("schedule", "kind");
    if (now == nullptr || number("parallel", "pipeline") == 1) return;
    for (const std::string_view other : {"1f1b", "1f1b-interleaved", "zero-bubble", "zb-h2", "zb-v"}) {
      if (now->scalar == other) continue;
      const int chunks = other == "1f1b-interleaved" ? 2 : 1;
      list_.push_back({fmt::format("schedule {}{}", other, chunks > 1 ? ", 2 chunks" : ""),
                       {fmt::format("workload.schedule.kind={}", other),
                        fmt::format("workload.schedule.virtual_stages={}", chunks), "workload.schedule.group=0"}});
    }
  }

  void add_context_kinds() {
    const ConfigValue* now = at("parallel", "context_kind");
    if (now == nullptr || number("parallel", "context") < 2) return;
    for (const std::string_view other : {"ring", "all-gather", "all-to-all"}) {
      if (now->scalar == other) continue;
      Neighbour plan{fmt::format("context {}", other), {fmt::format("workload.parallel.context_kind={}", other)}};
      if (number("parallel", "context_inner") > 1) plan.settings.emplace_back("workload.parallel.context_inner=0");
      const ConfigValue* balance = at("parallel", "context_balance");
      if (other == "all-to-all" && balance != nullptr && balance->scalar != "zigzag")
        plan.settings.emplace_back("workload.parallel.context_balance=zigzag");
      list_.push_back(std::move(plan));
    }
  }

  void add_loss() {
    const ConfigValue* model = child(workload_, "model");
    const ConfigValue* vocab = model == nullptr ? nullptr : child(*model, "vocab");
    if (vocab == nullptr || parse_whole_number(vocab->scalar).value_or(0) == 0 || number("loss", "chunks") > 1) return;
    list_.push_back({"loss in 8 chunks", {"workload.loss.chunks=8"}});
  }

  // More kernels in CUDA graphs, where launching them takes time.
  void add_graphs() {
    const ConfigValue* host = at("software", "host");
    const ConfigValue* launch = host == nullptr ? nullptr : child(*host, "launch");
    const ConfigValue* graphs = host == nullptr ? nullptr : child(*host, "graphs");
    if (launch == nullptr || graphs == nullptr || !is_positive<Duration>(*launch)) return;
    if (graphs->scalar == "none")
      list_.push_back({"CUDA graphs of kernels of constant sizes", {"workload.software.host.graphs=dense"}});
    if (graphs->scalar == "dense")
      list_.push_back({"a CUDA graph of the whole step", {"workload.software.host.graphs=step"}});
  }

  // Others of the precisions that jobs train in, where the devices of all nodes have the peak. The recipe follows.
  void add_precisions() {
    const ConfigValue* now = child(workload_, "precision");
    const ConfigValue* peaks = &resolved_;
    for (const char* key : {"cluster", "node", "device", "peak"})
      if (peaks != nullptr) peaks = child(*peaks, key);
    const bool is_transformer = at("model", "heads") != nullptr;
    if (now == nullptr || peaks == nullptr || !is_transformer) return;
    constexpr std::array<std::string_view, 4> kTrained = {"bf16", "fp8", "mxfp8", "nvfp4"};
    if (std::ranges::find(kTrained, now->scalar) == kTrained.end()) return;
    for (const std::string_view other : kTrained) {
      if (other == now->scalar || child(*peaks, other) == nullptr) continue;
      Neighbour job{fmt::format("precision {}", other), {fmt::format("workload.precision={}", other)}};
      if (child(workload_, "recipe") != nullptr) job.settings.emplace_back("workload.recipe=default");
      list_.push_back(std::move(job));
    }
  }

  const ConfigValue& workload_;
  const ConfigValue& resolved_;
  const workload::TrainingSpec& training_;
  std::vector<Neighbour> list_;
};

}  // namespace

std::string_view factor_of(Better better) { return better == Better::kTwice ? "2" : "1.1"; }

std::vector<std::string> settings_of(const Resource& resource, Better better) {
  constexpr std::string_view kHalf = "0.5", kSlightlyLess = "0.909091";  // 1 / 1.1
  const std::string_view factor = !resource.is_delay         ? factor_of(better)
                                  : better == Better::kTwice ? kHalf
                                                             : kSlightlyLess;
  std::vector<std::string> settings;
  for (const std::string& key : resource.keys) settings.push_back(fmt::format("{}*={}", key, factor));
  return settings;
}

std::vector<Resource> resources_of(const ConfigValue& resolved) { return Finder().find(resolved); }

std::vector<Neighbour> neighbours_of(const ConfigValue& resolved, const workload::TrainingSpec* training) {
  const ConfigValue* workload = child(resolved, "workload");
  if (workload == nullptr || training == nullptr) return {};
  return Plan(*workload, resolved, *training).neighbours();
}

}  // namespace orrery::study
