// SPDX-License-Identifier: MIT
#include "experiment/evidence/time_share.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "experiment/evidence/figures.h"
#include "experiment/evidence/kernel_terms.h"
#include "experiment/evidence/ledger.h"
#include "experiment/evidence/nccl_terms.h"

namespace orrery::experiment {
namespace {

using report::PathPiece;
using Role = Figure::Role;

double picoseconds(Duration time) { return static_cast<double>(time.count()); }

bool is_of_cluster_links(const Figure& figure) {
  return figure.shown.key.starts_with("cluster.") && figure.shown.key.find("device.") == std::string::npos &&
         !figure.shown.key.starts_with("cluster.nccl.");
}

// Times of pieces of the path, by what they rest on.
class Shares {
 public:
  Shares(const Experiment& experiment, const ExperimentJob& whole, std::span<const JobPrograms> programs,
         report::PathLinks& links)
      : experiment_(experiment),
        whole_(whole),
        programs_(programs),
        links_(links),
        ledger_(find_figures(experiment.resolved, experiment.idle_keys, experiment.file, *experiment.files)) {}

  report::Evidence of(const report::CriticalPath& path) && {
    for (const PathPiece& piece : path.pieces) book(piece);
    return std::move(ledger_).evidence();
  }

 private:
  void add_of_cluster(std::string_view ending, Keys& keys) const { ledger_.add_of_cluster(type_, ending, keys); }

  void book(const PathPiece& piece) {
    type_ = experiment_.fabric.type_of(whole_.placement[index_of(piece.rank)]);
    switch (piece.kind) {
      case PathPiece::Kind::kCompute:
        return book_kernels(piece);
      case PathPiece::Kind::kSlowed:
        return ledger_.book(picoseconds(piece.time), of_contention());
      case PathPiece::Kind::kLaunch:
        return ledger_.book(picoseconds(piece.time), of_launches(piece));
      case PathPiece::Kind::kHost:
        return ledger_.book(picoseconds(piece.time), of_host(piece));
      case PathPiece::Kind::kMemory:
        return ledger_.book(picoseconds(piece.time), of_memory(piece));
      case PathPiece::Kind::kCopies:
        return ledger_.book(picoseconds(piece.time), of_offload());
      case PathPiece::Kind::kCollective:
        return book_call(piece);
      case PathPiece::Kind::kMessage:
        return book_message(piece);
      case PathPiece::Kind::kOther:
        return ledger_.book(picoseconds(piece.time), {});
    }
  }

  // --- computing

  std::size_t job_of(std::uint32_t graph) const {
    const auto behind = std::ranges::upper_bound(programs_, graph, {}, &JobPrograms::first_graph);
    return static_cast<std::size_t>(behind - programs_.begin()) - 1;
  }
  std::string section_of(std::size_t job) const {
    return experiment_.resolved.find("jobs") == nullptr ? "workload" : fmt::format("jobs[{}].workload", job);
  }
  const WorkloadSource& source_of(std::size_t job) const { return experiment_.jobs[job].workload; }
  const system::DeviceSpec& device_of(const PathPiece& piece) const {
    return experiment_.device_of(whole_.placement[index_of(piece.rank)]);
  }

  static const workload::SoftwareSpec* software_of(const WorkloadSource& source) {
    if (source.training) return &source.training->software;
    return source.call && source.call->product && source.call->product->software ? &*source.call->product->software
                                                                                 : nullptr;
  }

  // The section of the software's rates on a device; empty without a software.
  std::string rates_of(std::size_t job, Architecture architecture) const {
    const workload::SoftwareSpec* software = software_of(source_of(job));
    if (software == nullptr) return {};
    const std::string section = section_of(job) + ".software.";
    for (const Architecture of : {architecture, measured_as(architecture)})
      if (software->rates_of.contains(of)) return fmt::format("{}rates_of.{}", section, name_of(of));
    return section + "rates";
  }

  // A rate of the software on the device. What an architecture does not say follows from the rates of all.
  void add_rate(std::size_t job, Architecture architecture, std::string_view rate, Keys& keys) const {
    const std::string own = rates_of(job, architecture);
    if (own.empty()) return;
    const std::string all = section_of(job) + ".software.rates";
    Keys found;
    if (own != all && is_given(own, rate)) ledger_.add_key(fmt::format("{}.{}", own, rate), found);
    if (found.empty() && (own == all || !is_given(own, rate))) ledger_.add_key(fmt::format("{}.{}", all, rate), found);
    keys.insert(found.begin(), found.end());
  }
  bool is_given(const std::string& section, std::string_view rate) const {
    const ConfigValue* at = &experiment_.resolved;
    std::string_view rest = section;
    const std::string path = fmt::format("{}.{}", rest, rate);
    rest = path;
    while (at != nullptr && !rest.empty()) {
      const std::size_t dot = rest.find('.');
      std::string_view step = rest.substr(0, dot);
      rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
      const std::size_t bracket = step.find('[');
      const ConfigEntry* entry = at->find(step.substr(0, bracket));
      if (entry == nullptr) return false;
      // A software that nobody has named is a file, too: only the rate itself may be the reader's.
      if (rest.empty() && !entry->defaulted.empty()) return false;
      at = &entry->value;
      if (bracket == std::string_view::npos) continue;
      const auto number = static_cast<std::ptrdiff_t>(std::stoul(std::string(step.substr(bracket + 1))));
      if (number >= static_cast<std::ptrdiff_t>(at->items.size())) return false;
      at = &*std::next(at->items.begin(), number);
    }
    return at != nullptr;
  }

  void book_kernels(const PathPiece& piece) {
    const std::size_t job = job_of(piece.graph);
    const JobPrograms& programs = programs_[job];
    if (programs.facts == nullptr) return book_replayed(piece, job);
    const workload::ProgramKernels& kernels = programs.facts->kernels[piece.graph - programs.first_graph];
    double whole = 0;
    for (const workload::KernelUse& use : kernels.uses) whole += static_cast<double>(use.count) * picoseconds(use.each);
    if (whole == 0) return ledger_.book(picoseconds(piece.time), {});
    for (const workload::KernelUse& use : kernels.uses)
      book_kernel(piece, job, use.op, use.measured,
                  picoseconds(piece.time) * static_cast<double>(use.count) * picoseconds(use.each) / whole);
  }

  // Traces, which have their own times or none, and products.
  void book_replayed(const PathPiece& piece, std::size_t job) {
    const WorkloadSource& source = source_of(job);
    if (source.call && source.call->product) {
      const system::DeviceSpec& device = device_of(piece);
      const system::OperatorModel model(device);
      const workload::Operator op = source.call->product->gemm;
      return book_kernel(piece, job, op, model.measured(op), picoseconds(piece.time));
    }
    Keys keys;
    if (programs_[job].is_measured) {
      ledger_.add_key(section_of(job), keys);
    } else {
      add_peak(source.compute.precision, keys);
      add_of_cluster("device.memory.bandwidth", keys);
      if (source.compute.efficiency)
        ledger_.add_key(section_of(job) + ".chakra.compute.efficiency", keys);
      else
        add_roofline_shares(piece, source.compute.precision, keys);
    }
    ledger_.book(picoseconds(piece.time), keys);
  }

  KernelTimes& times_of(const PathPiece& piece, std::size_t job) {
    const system::DeviceSpec& device = device_of(piece);
    const workload::SoftwareSpec* software = software_of(source_of(job));
    const auto known = times_.find({job, type_});
    if (known != times_.end()) return known->second;
    return times_
        .try_emplace(
            {job, type_}, device,
            software == nullptr ? system::micro_benchmark_rates(device) : software->rates_on(device.architecture))
        .first->second;
  }

  void book_kernel(const PathPiece& piece, std::size_t job, const workload::Operator& op, double measured,
                   double time) {
    if (measured > 0) {
      Keys keys;
      add_of_cluster("device.compute.measured", keys);
      ledger_.book(time * measured, keys);
    }
    const KernelTerms terms = times_of(piece, job).terms(op);
    const double modelled = time * (1 - measured);
    ledger_.book(modelled * terms.launch, of_kernel_launch(piece, job, op));
    ledger_.book(modelled * terms.memory, of_kernel_memory(piece, job, op));
    if (terms.rate > 0) ledger_.book(modelled * terms.rate, of_kernel_rate(piece, job, op));
  }

  Keys of_kernel_launch(const PathPiece& piece, std::size_t job, const workload::Operator& op) const {
    Keys keys;
    const auto* attention = std::get_if<workload::FlashAttention>(&op);
    const bool is_element_wise = std::holds_alternative<workload::ElementWise>(op);
    const system::DeviceSpec& device = device_of(piece);
    const workload::SoftwareSpec* software = software_of(source_of(job));
    const bool has_own = attention != nullptr && !attention->backward && software != nullptr &&
                         software->rates_on(device.architecture).flash_launch > device.compute.gemm_launch;
    if (has_own)
      add_rate(job, device.architecture, "flash_launch", keys);
    else
      add_of_cluster(is_element_wise ? "device.compute.launch" : "device.compute.gemm_launch", keys);
    return keys;
  }

  Keys of_kernel_memory(const PathPiece& piece, std::size_t job, const workload::Operator& op) const {
    Keys keys;
    add_of_cluster("device.memory.bandwidth", keys);
    add_of_cluster("device.compute.memory", keys);
    if (const auto* kernel = std::get_if<workload::ElementWise>(&op))
      add_rate(job, device_of(piece).architecture, fmt::format("traffic.{}", name_of(kernel->kind)), keys);
    return keys;
  }

  Keys of_kernel_rate(const PathPiece& piece, std::size_t job, const workload::Operator& op) const {
    Keys keys;
    const Architecture architecture = device_of(piece).architecture;
    const auto add = [&](std::string_view rate) { add_rate(job, architecture, rate, keys); };
    add_of_cluster("device.compute.clock", keys);
    const workload::SoftwareSpec* software = software_of(source_of(job));
    if (software != nullptr && software->rates_on(architecture).kernels)
      ledger_.add_section(rates_of(job, architecture) + ".kernels", keys);
    if (const auto* attention = std::get_if<workload::FlashAttention>(&op)) {
      add_peak(attention->precision, keys);
      const std::string_view pass = attention->backward ? "flash_backward" : "flash_forward";
      if (software == nullptr) add_of_cluster(fmt::format("device.compute.{}", pass), keys);
      add(pass);
      return keys;
    }
    const auto& gemm = std::get<workload::Gemm>(op);
    add_peak(gemm.precision, keys);
    add_share(piece, gemm, keys);
    add("gemm");
    if (!is_of_products_only(gemm.precision)) {
      add("bf16");
      return keys;
    }
    if (gemm.precision == Precision::kMxfp8 || gemm.precision == Precision::kNvfp4)
      add(name_of(gemm.precision));
    else if (gemm.stage != workload::ProductStage::kForward)
      add("fp8");
    return keys;
  }

  // Shares of the peak and of the memory's bandwidth that the roofline takes by default: system::roofline_shares().
  void add_roofline_shares(const PathPiece& piece, Precision precision, Keys& keys) const {
    add_of_cluster("device.compute.clock", keys);
    add_main_loop(piece, precision, keys);
    add_of_cluster("device.compute.memory", keys);
  }

  void add_main_loop(const PathPiece& piece, Precision precision, Keys& keys) const {
    const bool is_low = is_of_products_only(precision), is_wide = precision == Precision::kFp32;
    const bool has_own = device_of(piece).compute.formats[static_cast<std::size_t>(precision)].has_value();
    const std::string own = fmt::format("device.compute.{}", name_of(precision));
    if (is_low || !has_own) add_of_cluster(is_wide ? "device.compute.fp32" : "device.compute.gemm", keys);
    if (has_own)
      add_of_cluster(own, keys);
    else if (is_low)
      add_of_cluster("device.compute.fp8", keys);
  }

  // Shares of the peak that a product gets on the device, as OperatorModel takes them: a format's own, where it has
  // one, in place of the common one.
  void add_share(const PathPiece& piece, const workload::Gemm& gemm, Keys& keys) const {
    add_main_loop(piece, gemm.precision, keys);
    if (gemm.stage == workload::ProductStage::kInputGradient) add_of_cluster("device.compute.input_gradient", keys);
    if (gemm.stage == workload::ProductStage::kWeightGradient) add_of_cluster("device.compute.weight_gradient", keys);
  }

  // A device without bf16 computes as in fp16, and the other way.
  void add_peak(Precision precision, Keys& keys) const {
    Keys found;
    add_of_cluster(fmt::format("device.peak.{}", name_of(precision)), found);
    if (found.empty() && (precision == Precision::kBf16 || precision == Precision::kFp16))
      add_of_cluster(precision == Precision::kBf16 ? "device.peak.fp16" : "device.peak.bf16", found);
    keys.insert(found.begin(), found.end());
  }

  // --- beside it

  Keys of_contention() const {
    Keys keys;
    add_of_cluster("device.streaming_multiprocessors", keys);
    add_of_cluster("device.memory.bandwidth", keys);
    ledger_.add_section("collectives.constants.channels", keys);
    return keys;
  }

  Keys of_launches(const PathPiece& piece) const {
    Keys keys;
    const std::string host = section_of(job_of(piece.graph)) + ".software.host.";
    for (const char* key : {"launch", "router"}) ledger_.add_key(host + key, keys);
    ledger_.add_section(host + "kernels", keys);
    add_of_cluster("host_launch", keys);
    return keys;
  }

  Keys of_host(const PathPiece& piece) const {
    Keys keys;
    const std::size_t job = job_of(piece.graph);
    if (programs_[job].facts == nullptr) {
      ledger_.add_key(section_of(job), keys);
      return keys;
    }
    ledger_.add_key(section_of(job) + ".software.step", keys);
    ledger_.add_section(section_of(job) + ".input", keys);
    if (source_of(job).training->offload.any()) add_of_cluster("host.update", keys);
    return keys;
  }

  Keys of_memory(const PathPiece& piece) const {
    Keys keys;
    ledger_.add_section("memory", keys);
    if (keys.empty()) add_of_cluster("device.memory.bandwidth", keys);
    ledger_.add_section(section_of(job_of(piece.graph)) + ".checkpoint", keys);
    return keys;
  }

  Keys of_offload() const {
    Keys keys;
    for (const char* key : {"host.to_device", "host.from_device"}) add_of_cluster(key, keys);
    if (keys.empty())
      ledger_.add_if([](const Figure& f) { return f.link == "pcie" && f.role == Role::kBandwidth; }, keys);
    return keys;
  }

  // --- communication

  std::string link_of(const std::optional<std::uint16_t>& link_class) const {
    if (!link_class) return {};
    const std::string& name = experiment_.fabric.link_classes()[*link_class];
    return name.substr(0, name.find('.'));
  }

  // True if messages over such links leave their node, on the way through a NIC.
  static bool leaves_node(std::string_view link) {
    return link == "nic" || link == "pcie" || link == "host-memory" || link == "stack" || link == "scale-out";
  }

  Keys of_links(const std::optional<std::uint16_t>& link_class, Role role) const {
    Keys keys;
    const std::string link = link_of(link_class);
    const auto is_on_way = [&](const Figure& figure) {
      if (figure.role != role || link.empty()) return false;
      if (role == Role::kLatency && leaves_node(link)) return leaves_node(figure.link);
      return figure.link == (link == "host-memory" ? "pcie" : link);
    };
    ledger_.add_if(is_on_way, keys);
    if (keys.empty())
      ledger_.add_if([&](const Figure& figure) { return figure.role == role && is_of_cluster_links(figure); }, keys);
    return keys;
  }

  // A constant of the library, measured on the cluster or as the library has it.
  void add_constant(const std::string& path, Keys& keys) const {
    const std::string own = "cluster.nccl." + path;
    ledger_.add_key(ledger_.has(own) ? own : "collectives.constants." + path, keys);
  }

  void book_bytes(const PathPiece& piece, double waiting, const Keys& constants) {
    for (const auto& [time, link] : {std::pair(picoseconds(piece.moving), piece.slowest),
                                     std::pair(waiting, piece.shared ? piece.shared : piece.slowest)}) {
      Keys keys = of_links(link, Role::kBandwidth);
      keys.insert(constants.begin(), constants.end());
      ledger_.book(time, keys);
    }
  }

  void book_latency(const PathPiece& piece, double latency, const NcclTerms& terms) {
    for (const LatencyTerm& term : terms.latency) {
      Keys keys;
      for (const std::string& constant : term.constants) add_constant(constant, keys);
      ledger_.book(latency * term.share, term.constants.empty() ? of_links(piece.slowest, Role::kLatency) : keys);
    }
  }

  void book_call(const PathPiece& piece) {
    const workload::Communicator& group = whole_.job.communicators[index_of(piece.group)];
    if (group.exchange && piece.call == CollectiveKind::kAllToAll) return book_dispatch(piece);
    const system::CollectivePlan& plan = links_.plans().plan(piece.group, piece.number);
    NcclTerms terms{{{1, {}}}, {}};
    if (experiment_.nccl && plan.group != nullptr && plan.group->shape.ranks > 1)
      terms = terms_of_call(*experiment_.nccl, piece.call, piece.bytes, plan.group->shape);
    Keys shares;
    for (const std::string& constant : terms.bandwidth) add_constant(constant, shares);
    book_latency(piece, picoseconds(piece.latency), terms);
    book_bytes(piece, picoseconds(piece.waiting), shares);
  }

  // Kernels of the library take tokens to their experts.
  void book_dispatch(const PathPiece& piece) {
    const auto of_library = [&](std::initializer_list<std::string_view> wanted) {
      Keys keys;
      ledger_.add_if(
          [&](const Figure& figure) {
            const std::size_t at = figure.shown.key.find("dispatch.");
            return at != std::string::npos && !figure.shown.key.starts_with("cluster.") &&
                   std::ranges::find(wanted, std::string_view(figure.shown.key).substr(at + 9)) != wanted.end();
          },
          keys);
      return keys;
    };
    ledger_.book(picoseconds(piece.latency), of_library({"launch", "doubling"}));
    book_bytes(piece, picoseconds(piece.waiting), of_library({"within", "between", "processor_rate"}));
  }

  // Time that a library takes before the first byte of a message leaves counts as waiting.
  void book_message(const PathPiece& piece) {
    double waiting = picoseconds(piece.waiting);
    if (experiment_.nccl) {
      const double latency =
          std::min(waiting, static_cast<double>(piece.steps) *
                                picoseconds(experiment_.nccl->send(piece.bytes, piece.is_same_node).latency));
      book_latency(piece, latency, terms_of_send(*experiment_.nccl, piece.bytes, piece.is_same_node));
      waiting -= latency;
    }
    book_latency(piece, picoseconds(piece.latency), {{{1, {}}}, {}});
    book_bytes(piece, waiting, {});
  }

  const Experiment& experiment_;
  const ExperimentJob& whole_;
  std::span<const JobPrograms> programs_;
  report::PathLinks& links_;
  Ledger ledger_;
  std::uint32_t type_ = 0;                                              // of the devices of the piece being booked
  std::map<std::pair<std::size_t, std::uint32_t>, KernelTimes> times_;  // by job and type of devices
};

}  // namespace

report::Evidence find_evidence(const Experiment& experiment, const ExperimentJob& whole,
                               std::span<const JobPrograms> programs, const report::CriticalPath& path,
                               report::PathLinks& links) {
  return Shares(experiment, whole, programs, links).of(path);
}

}  // namespace orrery::experiment
