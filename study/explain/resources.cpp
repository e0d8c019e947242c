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

}  // namespace orrery::study
