// SPDX-License-Identifier: MIT
#include "system/devices/device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/link_type.h"
#include "system/devices/compute_formats.h"

namespace orrery::system {
namespace {

void read_formats(Section& section, ComputeSpec& compute) {
  for (const Precision precision : kFormatsOfTheirOwn)
    compute.formats[static_cast<std::size_t>(precision)] = section.maybe<Efficiency>(
        name_of(precision), is_of_products_only(precision)
                                ? "in place of `fp8` for GEMMs with operands in this format"
                                : "in place of `gemm` for GEMMs with operands in this format");
}

void read_stage(Section& section, std::string_view key, double& factor, std::string_view meaning) {
  factor = section.maybe<double>(key, meaning).value_or(1);
  if (factor >= 0.01 && factor <= 100) return;
  section.error(key, fmt::format("invalid factor {}", factor), "between 0.01 and 100; a share is written 0.9 or 90 %");
  factor = 1;
}

void read_compute(Section& section, ComputeSpec& compute) {
  section.takes("clock", compute.clock,
                "share of the clock behind the peak that the device sustains under its power limit");
  section.takes("gemm", compute.gemm, "share of the peak that the main loop of a GEMM reaches");
  section.takes("fp8", compute.fp8, "share of `gemm` that a GEMM with fp8 or int8 operands reaches");
  compute.fp32 = compute.gemm;
  section.takes(
      "fp32", compute.fp32,
      "share of the peak that the main loop of a GEMM with fp32 operands reaches; tensor cores do not take fp32",
      "as gemm");
  read_formats(section, compute);
  read_stage(section, "input_gradient", compute.input_gradient,
             "rate of the GEMMs of input gradients (layout NN) relative to those forward (TN), beside what a software "
             "adds; 1 without it");
  read_stage(
      section, "weight_gradient", compute.weight_gradient,
      "rate of products of weight gradients (layout NT) over that of forward ones; adding up in fp32 comes on top");
  section.takes("gemm_launch", compute.gemm_launch, "fixed time of a GEMM, in addition to its work");
  section.takes("memory", compute.memory, "share of the memory's peak bandwidth that kernels reach");
  section.takes("launch", compute.launch, "fixed time of an element-wise kernel, in addition to its work");
  section.takes(
      "flash_forward", compute.flash_forward,
      "share of the peak that flash attention reaches in the forward pass, unless the software says otherwise");
  compute.flash_backward = Efficiency(compute.flash_forward.count() * 84 / 100);
  section.takes(
      "flash_backward", compute.flash_backward,
      "share of the peak that flash attention reaches in the backward pass, unless the software says otherwise",
      "0.84 of flash_forward");
}

// A kernel that computes faster than the device can was measured otherwise than it says.
void check_rate(const KernelSample& sample, const DeviceSpec& device, Diagnostics& diagnostics) {
  constexpr double kBeyond = 1.25;  // clocks may be above the one that the peak is quoted at
  const auto* op = std::get_if<workload::Operator>(&sample.what);
  if (op == nullptr)
    return diagnostics.error(sample.where, "measured times of fused experts cannot replace the model's",
                             "name files of GEMMs and of attention");
  const auto* gemm = std::get_if<workload::Gemm>(op);
  const bool four_bits = gemm != nullptr && gemm->scaling == workload::Scaling::kNvfp4;
  const auto* attention = std::get_if<workload::FlashAttention>(op);
  const std::optional<FlopRate> peak = four_bits         ? device.peak(Precision::kNvfp4)
                                       : gemm != nullptr ? device.peak(gemm->precision)
                                                         : device.peak(attention->precision);
  if (!peak) return;
  const double rate = static_cast<double>(workload::flops_of(*op).count()) / seconds(sample.measured);
  if (rate > kBeyond * static_cast<double>(peak->count()))
    diagnostics.error(
        sample.where,
        fmt::format("{} in {} would be {:.4g} TFLOP/s; the peak of {} is {:.4g}", sample.at, rounded(sample.measured),
                    rate / 1e12, printable(device.name, 100), static_cast<double>(peak->count()) / 1e12),
        "latency_us counts microseconds");
}

DeviceSpec read_keys(Section& section, bool with_measured);

// Device as its own file has it, whatever else was set; empty if it has no file.
std::vector<DeviceSpec> as_in_file(Section& section, const std::string& name) {
  const ConfigFiles& files = section.context().files();
  const std::string file = section.where("name").file;
  Diagnostics ignored;
  try {
    ConfigValue root = files.load(file, {}, ignored);
    const ConfigEntry* own = root.find("name");
    if (ignored.has_errors() || own == nullptr || own->value.scalar != name || root.find("peak") == nullptr) return {};
    ConfigContext context(files, ignored);
    std::vector<DeviceSpec> read;
    read_config(root, context, [&](Section& device) { read.push_back(read_keys(device, false)); });
    if (ignored.has_errors()) return {};
    return read;
  } catch (const InputError&) {
    return {};  // what is wrong with it is said elsewhere
  }
}

void read_measured(Section& section, DeviceSpec& device) {
  device.measured = read_kernel_files(
      section, "measured",
      "measured times of GEMMs, of grouped GEMMs of experts and of attention on the device, which operators of like "
      "sizes take in place of the model's: CSV files, relative to the file that names them, with the columns of "
      "configs/validation/compute/gemm-h100.csv, attention-h100.csv or, of experts, dtype, groups, m_per_group, n, k, "
      "stage and latency_us. Example: `[gemm.csv]`");
}

}  // namespace

std::optional<FlopRate> DeviceSpec::peak(Precision precision) const {
  const auto of = [&](Precision p) { return peaks[static_cast<std::size_t>(p)]; };
  if (of(precision)) return of(precision);
  if (precision == Precision::kBf16) return of(Precision::kFp16);
  if (precision == Precision::kFp16) return of(Precision::kBf16);
  return std::nullopt;
}

std::string devices_text(std::span<const DeviceSpec> devices, std::span<const std::uint32_t> counts) {
  std::vector<std::pair<std::string, std::uint64_t>> kinds;  // types of nodes may have one device
  for (std::size_t type = 0; type < devices.size(); ++type) {
    const auto known = std::ranges::find(kinds, devices[type].name, &std::pair<std::string, std::uint64_t>::first);
    if (known == kinds.end())
      kinds.emplace_back(devices[type].name, counts[type]);
    else
      known->second += counts[type];
  }
  if (kinds.size() == 1) return kinds.front().first;
  std::string text;
  for (const auto& [name, count] : kinds) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  return text;
}

Architecture oldest_architecture(std::span<const DeviceSpec> devices) {
  return std::ranges::min(devices, {}, &DeviceSpec::architecture).architecture;
}

void read_host(Section& node, DeviceSpec* device) {
  const double launch =
      node.optional<double>("host_launch", 1,
                            "time that the node's CPUs take to launch a kernel, relative to those of an H100 node "
                            "(Xeon Platinum 8480); `workload.software.host.launch` is that of these");
  if (!std::isfinite(launch) || launch < 0 || launch > 100)
    return node.error("host_launch", fmt::format("invalid factor {}", launch), "between 0 and 100");
  const ConfigValue* devices = node.value("devices");
  const auto count = devices == nullptr ? std::nullopt : parse_whole_number(devices->scalar);
  workload::HostMemory host = workload::read_host_memory(node, device == nullptr ? std::nullopt : device->pcie,
                                                         std::max<std::int64_t>(1, count.value_or(1)));
  if (device == nullptr) return;
  device->host_launch = launch;
  device->host = host;
}

DeviceSpec read_device(Section& section) {
  DeviceSpec device = read_keys(section, true);
  if (device.measured.empty()) return device;
  device.measured_on = as_in_file(section, device.name);
  const DeviceSpec& measured = device.measured_on.empty() ? device : device.measured_on.front();
  for (const KernelSample& sample : device.measured) check_rate(sample, measured, section.context().diagnostics());
  return device;
}

namespace {

DeviceSpec read_keys(Section& section, bool with_measured) {
  DeviceSpec device;
  section.needs("name", device.name, "name of the device in results");
  section.required_section(
      "peak", "dense peak rates by precision; the device does not support a precision that is left out",
      [&](Section& peak) {
        for (const Precision precision : kAllPrecisions)
          device.peaks[static_cast<std::size_t>(precision)] = peak.maybe<FlopRate>(name_of(precision), "dense peak");
        const bool none = std::ranges::none_of(kAllPrecisions, [&](Precision p) { return peak.has(name_of(p)); });
        if (none) peak.error("", "a device needs the peak of at least one precision", "for example bf16: 312 TFLOP/s");
      });
  section.required_section("memory", "memory of the device (HBM)", [&](Section& memory) {
    memory.needs("capacity", device.memory_capacity, "capacity of the device's memory. Example: `80 GB`");
    memory.needs("bandwidth", device.memory_bandwidth, "peak bandwidth of the device's memory. Example: `2039 GB/s`");
  });
  section.takes("streaming_multiprocessors", device.streaming_multiprocessors, {0, 4096},
                "number of streaming multiprocessors (or compute units), which GEMM times depend on; 0: not known");
  section.takes("cache", device.cache,
                "size of the cache that all multiprocessors share (L2), which kernel libraries with measured constants "
                "depend on; 0: not known. Example: `50 MB`");
  device.exponentials = section.optional<double>("exponentials", 1,
                                                 "exponentials that the device computes a cycle, next to the first of "
                                                 "its architecture; flash attention takes them");
  if (!(device.exponentials >= 0.1 && device.exponentials <= 100)) {
    section.error("exponentials", fmt::format("invalid factor {}", device.exponentials), "between 0.1 and 100");
    device.exponentials = 1;
  }
  section.section("systolic", "systolic arrays that GEMMs run on, whose times depend on their sizes", [&](Section& s) {
    SystolicArrays arrays;
    s.needs("rows", arrays.rows, {1, 1 << 16}, "rows of cells of an array: values that are summed up on their way");
    s.needs("columns", arrays.columns, {1, 1 << 16}, "columns of cells of an array: results");
    s.takes("count", arrays.count, {1, 1 << 16}, "number of arrays");
    device.systolic = arrays;
  });
  if (device.systolic && device.streaming_multiprocessors > 0)
    section.error("systolic", "a device has systolic arrays or multiprocessors",
                  "leave out systolic or streaming_multiprocessors");
  section.takes("architecture", device.architecture, architecture_names(),
                "generation of the device; the library of collectives, its choices, and the default software depend on "
                "it");
  section.defaulted_section("compute",
                            "what the best kernels reach on the device; the defaults are means of measured GPUs",
                            [&](Section& compute) {
                              read_compute(compute, device.compute);
                              if (with_measured)
                                read_measured(compute, device);
                              else
                                compute.know("measured");
                            });
  section.takes("power", device.power,
                "power that the device takes at most (its TDP), which energy is counted by. Example: `400 W`");
  device.pcie = network::bandwidth_of(network::read_device_links(section).pcie);
  device.host = workload::host_over(device.pcie);
  section.note("vendor", "a label for people; Orrery does not use it");
  section.sources();
  return device;
}

}  // namespace

Duration roofline_time(Flops flops, Bytes bytes, FlopRate peak, Bandwidth memory_bandwidth) {
  return std::max(flops / peak, bytes / memory_bandwidth);
}

MemoryPools::MemoryPools(const RemoteMemory& memory, std::vector<std::uint32_t> pool_of_rank,
                         std::vector<Bandwidth> bandwidth_of_rank)
    : memory_(memory), pool_of_rank_(std::move(pool_of_rank)), bandwidth_of_rank_(std::move(bandwidth_of_rank)) {
  const auto largest = std::ranges::max_element(pool_of_rank_);
  free_at_.resize(largest == pool_of_rank_.end() ? 0 : *largest + 1);
}

Time MemoryPools::access(RankId rank, Bytes bytes, Time now) {
  Time& free_at = free_at_[pool_of_rank_[index_of(rank)]];
  const Bandwidth bandwidth = bandwidth_of_rank_.empty() ? memory_.bandwidth : bandwidth_of_rank_[index_of(rank)];
  free_at = Time(saturating_add(std::max(free_at, now).time_since_epoch(), bytes / bandwidth));
  return Time(saturating_add(free_at.time_since_epoch(), memory_.latency));
}

void MemoryPools::split(RankId rank, RankId parent) {
  free_at_[pool_of_rank_[index_of(rank)]] = free_at_[pool_of_rank_[index_of(parent)]];
}

bool has_roofline_work(const workload::ExecutionGraph& graph, NodeId node) {
  return graph.kind(node) == workload::NodeKind::kCompute &&
         (graph.flops(node).count() > 0 || graph.bytes(node).count() > 0);
}

bool is_by_roofline(const workload::ExecutionGraph& graph, NodeId node, const ComputeOptions& options) {
  const bool is_measured = graph.duration(node).value_or(Duration::zero()) > Duration::zero();
  return has_roofline_work(graph, node) && (!is_measured || options.prefer_roofline);
}

RooflineShares roofline_shares(const DeviceSpec& device, const ComputeOptions& options) {
  if (options.efficiency) return {*options.efficiency, *options.efficiency};
  const ComputeSpec& compute = device.compute;
  const auto both = [](Efficiency one, Efficiency other) {
    return Efficiency(std::max<std::int64_t>(1, one.count() * other.count() / kFullEfficiency.count()));
  };
  const std::optional<Efficiency>& own = compute.formats[static_cast<std::size_t>(options.precision)];
  Efficiency main_loop = options.precision == Precision::kFp32 ? compute.fp32 : compute.gemm;
  if (is_of_products_only(options.precision))
    main_loop = both(main_loop, own.value_or(compute.fp8));
  else if (own)
    main_loop = *own;
  return {both(main_loop, compute.clock), compute.memory};
}

bool has_measured_time(const workload::ExecutionGraph& graph, const ComputeOptions& options) {
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    if (graph.kind(node) == workload::NodeKind::kCompute &&
        graph.duration(node).value_or(Duration::zero()) > Duration::zero() &&
        !(options.prefer_roofline && has_roofline_work(graph, node)))
      return true;
  }
  return false;
}

std::vector<Duration> compute_times(const workload::ExecutionGraph& graph, const DeviceSpec& device,
                                    const ComputeOptions& options) {
  std::vector<Duration> times(graph.amount_numbers(), Duration::zero());
  const std::optional<FlopRate> peak = device.peak(options.precision);
  const RooflineShares shares = roofline_shares(device, options);
  const FlopRate rate(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(Int128{peak.value_or(FlopRate(1)).count()} *
                                                          shares.peak.count() / kFullEfficiency.count())));
  const Bandwidth memory = device.memory_bandwidth * shares.memory;
  for (std::uint32_t i = 0; i < graph.amount_numbers(); ++i) {
    const NodeId node = graph.first_node(i);
    const workload::NodeKind kind = graph.kind(node);
    if (kind != workload::NodeKind::kCompute && kind != workload::NodeKind::kHostCompute) continue;
    const Duration measured = graph.duration(node).value_or(Duration::zero());
    const bool modelled = is_by_roofline(graph, node, options);
    if (modelled && !peak && graph.flops(node).count() > 0)
      throw InputError(
          {},
          fmt::format("{} has no {} peak, which the FLOPs of the trace need", device.name, name_of(options.precision)),
          "set workload.precision to one that the device has");
    times[i] = modelled ? roofline_time(graph.flops(node), graph.bytes(node), rate, memory) : measured;
  }
  return times;
}

}  // namespace orrery::system
