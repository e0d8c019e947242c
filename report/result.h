// SPDX-License-Identifier: MIT
// The answer of one run, as data: what the summary, the JSON document and the files of --out are made from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/units.h"
#include "network/fabric/fabric.h"
#include "network/network.h"
#include "report/breakdown.h"
#include "report/evidence/evidence.h"
#include "report/operation_log.h"
#include "system/simulation.h"
#include "workload/graph/job.h"
#include "workload/training/program/generate_job.h"

namespace orrery::report {

// Links of one class, which are alike in what they are.
struct LinkClassUse {
  std::string name;
  std::uint64_t count = 0;
  double bytes = 0;             // of one link, mean
  Bandwidth bandwidth{1};       // of the fastest link
  double busy = 0;              // mean share of time with any flow
  double most = 0;              // utilisation of the busiest link
  std::string busiest;          // its name: "node1.nic0.up"
  double mean_utilisation = 0;  // bytes / (capacity * time), all as fast as the fastest
  double overload = 0;          // most bytes of a link over what it can carry while busy; above 1 where none is shared
};

// The link that needed longest for what it carried.
struct BusiestLink {
  std::string name;  // "node1.nic0.up"
  double busy = 0;   // share of the time in which it carried anything
};

// A whole training run at the pace of the simulated iteration, on the ranks that it takes.
struct TrainingRun {
  std::int64_t tokens = 0;  // samples where the model has no tokens
  double seconds = 0;
  double device_hours = 0;
  std::optional<Power> power;            // of a device
  std::optional<double> kilowatt_hours;  // of the devices alone
  std::optional<double> cost;            // in the currency of the price
};

// Age of weights: the number of updates between reading them and applying gradients that were computed with them.
struct WeightAge {
  RankId rank{};  // the first of its program: of a pipeline stage, or a server
  double mean = 0;
  std::int64_t most = 0;
};

// Memory of the ranks with one program: of a pipeline stage (with uneven experts of some of its ranks), or a server.
struct StageMemory {
  RankId rank{};  // the first of them
  Bytes rest;     // behind the optimizer's step
  Bytes peak;
};

// Kernels of one kind and size of a training job, in a step, the mean over its workers.
struct KernelFigures {
  std::string kind;   // as workload::kind_of()
  std::string sizes;  // as workload::sizes_of(); empty: of all sizes
  double count = 0;
  double seconds = 0;  // alone on the device, with nothing that disturbs it
  double flops = 0;
  double bytes = 0;
  double measured_seconds = 0;  // of `seconds`: from measurements of the device's kernels
};

// Bubbles of a pipeline: time in which a rank is in no pass of a micro-batch, between the start of the first pass of
// any of its ranks and the end of the last one, of every iteration by itself.
struct BubbleFigures {
  double share = 0;      // mean over the ranks of one pipeline
  std::string schedule;  // "1f1b-interleaved"
  std::uint32_t stages = 1;
  bool may_interleave = false;  // virtual stages would make it smaller
};

// Figures that only a training job has.
struct TrainingFigures {
  double mfu = 0;                   // model FLOPs over peak FLOPs of all workers in the time
  double mfu_all_devices = 0;       // over those of all devices of the cluster
  double model_tflops_per_gpu = 0;  // model FLOPs, 10^12 per second
  double tokens_per_s_per_gpu = 0;  // samples where the model has no tokens
  bool has_tokens = true;
  std::string job;              // its model, software and kind of attention
  std::string plan;             // its degrees and micro-batches, and which of them nobody gave
  RankId fullest{};             // rank that needs most memory
  workload::MemoryNeed memory;  // its
  std::vector<StageMemory> stages;
  Bytes capacity;  // of a device
  std::optional<TrainingRun> run;
  std::vector<WeightAge> ages;          // of asynchronous jobs
  std::vector<KernelFigures> kernels;   // each kind and size once, those that take most first
  bool has_measured_kernels = false;    // its devices have measurements, near its kernels or not
  FlopRate peak{1};                     // of a worker's device, the mean
  std::optional<BubbleFigures> bubble;  // of a pipeline of several stages
  std::int64_t workers = 0;             // ranks that train
  std::optional<Power> power;           // of a rank's device, the mean
};

// Share of all kernels' time that comes from measurements of them.
double measured_share(const TrainingFigures& figures);

// Figures of one of several jobs on one fabric. Times are of one of its iterations, the mean of several.
struct JobFigures {
  std::string name;
  std::vector<std::size_t> ranks;    // counted over all jobs
  std::vector<std::size_t> devices;  // ascending
  std::size_t nodes = 0;             // that these are in
  std::string workload;              // "gpt3-13b of 12.9 B parameters, ...", "traces"
  std::int64_t iterations = 1;
  Duration alone{};                         // on these devices, with nobody else on the fabric
  Duration together{};                      // with the others
  Time finish;                              // of all iterations, with the others
  std::optional<TrainingFigures> training;  // with the others

  // Ratio of the iteration time with the other jobs to that alone.
  double slowdown() const { return alone > Duration::zero() ? seconds(together) / seconds(alone) : 1; }
};

// Links of a class that several jobs use.
struct SharedLinks {
  std::string name;
  std::uint64_t count = 0;           // of them
  std::uint64_t of_class = 0;        // of all links
  std::string busiest;               // of them
  std::vector<std::uint64_t> bytes;  // of each job over that one
};

// Steps of one kind on the critical path, or all of one operation of a program.
struct PathShare {
  std::string what;  // "compute", "tensor"; of an operation its name
  Duration time{};
  std::size_t steps = 0;
};

// Culprit that holds the job up: it differs from its like, or others have to wait for it.
struct Culprit {
  std::string name;  // "node1.nic0.up", "nic.leaf-up", "rank 40", "node1 (ranks 8-15)"
  std::string why;   // "at 5 % of its bandwidth, 98 % busy"
  Duration time{};   // of the critical path that goes by there
  Duration cost{};   // of it, what would not without the difference
};

// Source of a result: enough to tell how it was made, and to make it again.
struct ResultSource {
  std::string file;                   // the experiment, as the command line named it
  std::vector<std::string> settings;  // a.b=v, in order
  std::vector<std::string> options;   // others of the command line that matter: "--allow-oom"
  std::string commit;                 // of the program; empty if it is not known
  std::string folder;                 // the working directory, which paths are relative to
  std::vector<InputFile> inputs;      // that were read, shipped files as "configs/..."
};

// Interval of the measured iteration time, as far as measured runs tell.
struct TimeInterval {
  Duration low{};
  Duration high{};
  double share = 0;  // of such runs
  std::size_t runs = 0;
  std::size_t families = 0;  // that these are of
  std::string of;            // which runs: "transformer on hopper"
  std::string beyond;        // what of the job was never measured; empty if nothing

  bool operator==(const TimeInterval&) const = default;
};

// The published run that is nearest to a job.
struct NearestRun {
  std::string name;                   // of its row
  std::string family;                 // of its table
  std::string plan;                   // "512 h100-sxm, tensor 4, data 128, batch 1024"
  Duration measured{};                // of an iteration
  double error = 0;                   // predicted / measured - 1, by constants fitted without its family
  std::vector<std::string> unlike{};  // "bf16", "sequence 2048": what it has otherwise than the job, beside its plan
  std::vector<std::string> not_compared{};  // "recompute": keys that the job sets and of which it is not known
};

// Figures of a job that is one collective. Bandwidths are in bytes per second, as nccl-tests defines them.
struct CallFigures {
  std::string operation;           // "all_reduce"
  Bytes size{0};                   // as workload::CallSize says
  double algorithm_bandwidth = 0;  // size / time
  double bus_bandwidth = 0;        // times workload::bus_factor()
};

// Figures of a job in which every rank computes one matrix product.
struct ProductFigures {
  std::string sizes;                 // "4096 x 4096 x 4096 bf16"
  double rate = 0;                   // of a rank, in FLOP/s
  std::optional<double> peak_share;  // of the device's peak in this precision; none on several types of devices
};

// Shares of a device's peak and memory bandwidth that traces are computed at by the roofline.
struct RooflineFigures {
  std::string device;
  double peak_share = 1;
  double memory_share = 1;
};

// "computes by the roofline: 76.4 % of the peak, 88.7 % of memory bandwidth"; empty for none.
std::string roofline_text(std::span<const RooflineFigures> devices);

// Nodes of which a job leaves devices idle, so that its groups stay inside them.
struct PackedNodes {
  std::string groups;        // "expert"
  std::uint32_t in_use = 0;  // devices of each node
  std::uint32_t of = 0;      // all of them
};

struct Result {
  std::optional<ResultSource> source;  // none if nobody said
  ConfigValue experiment;              // resolved
  std::string device;                  // name
  std::uint32_t devices = 0;           // of the cluster, used or not
  std::optional<PackedNodes> packed;   // none where ranks fill the nodes
  std::string network_model;
  std::string granularity;
  bool computes_as_measured = false;      // traces' durations, which no other device changes
  std::vector<RooflineFigures> roofline;  // by type of device; none where nothing is computed by it
  std::string library;                    // of collectives: "nccl 2.30.0"; empty: the fixed one
  Time finish;
  Duration initial{};                        // until replicas have the parameters; the iterations come after that
  std::int64_t iterations = 1;               // simulated one after the other until `finish`; 1 of several jobs
  std::optional<TrainingFigures> training;   // of an only job
  std::optional<CallFigures> call;           // likewise
  std::optional<ProductFigures> product;     // likewise
  std::optional<TimeInterval> interval;      // of the iteration of one that trains; none if nobody said
  std::string by_hand;                       // a key for which it has none; empty: not for a key
  std::optional<NearestRun> nearest;         // none if no published run is near, or nobody said
  std::vector<JobFigures> jobs;              // if there are several
  std::vector<SharedLinks> shared_links;     // that these use
  bool has_parts = true;                     // false: `classes` are empty, as nobody asked where the time went
  std::vector<Breakdown> classes;            // of ranks that behave alike, in the order of their first ranks
  std::vector<std::uint32_t> class_of_rank;  // by rank
  std::map<std::string, std::string> group_family;  // communicator -> what tables add up: "tensor3" -> "tensor"
  std::vector<LinkClassUse> links;
  std::optional<BusiestLink> busiest_link;  // none if no link carried anything
  bool balanced_in_vain = false;            // system::CollectivePlans::balanced_in_vain()
  std::vector<PathShare> path;              // parts of the critical path, largest first
  std::vector<Culprit> culprits;            // on it, those that cost most first; none if nobody asked for them
  Evidence evidence;                        // likewise, of the figures that the path rests on
  std::uint32_t link_classes = 0;           // told apart in simulating
  bool folded = false;
  std::string folding;                      // how many classes and what told them apart, or why the job was not folded
  std::vector<system::FoldingStep> splits;  // when classes came apart
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t fast_forwarded = 0;       // of them, with times that followed from those of others
  std::uint64_t repeated_operations = 0;  // of ranks that act: a repetition's, with the times of one before
  std::string by_events;                  // why ranks did not run ahead of the clock; empty: they did
  double wall_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::vector<Problem> warnings;
};

// Time of one iteration, the mean of several; until the last of several jobs is done.
Duration iteration_time(const Result& result);

// Devices that a training job is rated by. Peaks are those in the job's precision.
struct DevicesInUse {
  FlopRate peak{1};               // of a worker's device, the mean
  FlopRate peak_of_all{1};        // of a device of the cluster, the mean
  std::uint32_t count = 0;        // of the cluster
  std::vector<Bytes> capacities;  // by program: of the memory of its ranks' devices
  std::optional<Power> power{};   // of a rank's device, the mean
};

// `iterations`: the time of all.
TrainingFigures training_figures(const workload::TrainingFacts& facts, const DevicesInUse& devices,
                                 Duration iterations);

// Number of first nodes of programs among which are all that come before a first iteration; 0 where nothing does.
std::uint32_t initial_nodes(const workload::Job& job);

// Time at which the first rank begins its first iteration: all that comes before it is done on that rank. `acting`: by
// rank, the one whose operations the log has.
Duration initial_time(const workload::Job& job, std::span<const RankId> acting, const OperationLog& log);

// `usage`: by job, by LinkId.
std::vector<SharedLinks> shared_links(const network::Fabric& fabric,
                                      std::span<const std::vector<network::LinkUsage>> usage);

// Counted from what happened. Of every program whose weights others may update meanwhile.
std::vector<WeightAge> weight_ages(const workload::TrainingFacts& facts, const system::SimulationTotals& totals,
                                   const OperationLog& log);

// Training run of a job on `ranks` ranks whose training has `tokens`; empty if it has none or its iteration takes no
// time. `power`: of a device.
std::optional<TrainingRun> training_run(const workload::TrainingSpec& training, const workload::TrainingFacts& facts,
                                        std::size_t ranks, std::optional<Power> power, Duration iteration);

// "80 % of 276 comparable runs (transformer on ampere): 26.3 s to 35.3 s", a line.
std::string interval_text(const TimeInterval& interval);

// How sure the iteration time is, a line each: its interval or why there is none, and the nearest run.
std::string sureness_text(const Result& result);

// Turns a finished simulation into a result. `log` saw all of it; where it has only the initial_nodes(), no parts are
// asked for.
Result make_result(const workload::Job& job, const network::Fabric& fabric, const system::Simulation& simulation,
                   const system::SimulationTotals& totals, const OperationLog& log, bool with_parts = true);

// The JSON document "orrery.result/1". `deterministic` leaves out wall time, memory and the working directory, the only
// fields that may differ between two runs of the same input.
nlohmann::ordered_json to_json(const Result& result, bool deterministic);

// Summary for the terminal: at most 80 columns and 24 lines, tables of several jobs aside.
std::string summary_text(const Result& result);

// All parts, ranks and links, in tables as wide and long as they are.
std::string details_text(const Result& result);

}  // namespace orrery::report
