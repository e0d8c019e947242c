// SPDX-License-Identifier: MIT
// Intervals of predicted times, by hand and by the errors that ship.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/text.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "study/interval/nearest.h"
#include "study/interval/ratio.h"
#include "study/validate/collectives/table.h"
#include "study/validate/training/table.h"
#include "tests/shipped_files.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;

namespace {

const RunSchema kSchema{.runs = "jobs",
                        .any = "any job",
                        .words = {{"model", ""}, {"machine", " on "}, {"software", " with "}},
                        .has_precision = true,
                        .holds_own = true};
const RunKind kJob{{"transformer", "hopper", "megatron"}, "bf16", 64};

// One run of each of so many families, with the errors 0.01, 0.02, ...
std::vector<MeasuredError> errors_of_families(int families, const RunKind& kind = kJob) {
  std::vector<MeasuredError> errors;
  for (int i = 1; i <= families; ++i) errors.push_back({"f" + std::to_string(i) + kind.words.front(), kind, 0.01 * i});
  return errors;
}

void add(std::vector<MeasuredError>& errors, const std::vector<MeasuredError>& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

std::string problems_of(const std::string& csv) {
  Diagnostics diagnostics;
  read_errors_csv(csv, "e.csv", kSchema, diagnostics);
  std::string text;
  for (const Problem& problem : diagnostics.problems())
    text += fmt::format("{}:{}:{}: error: {}\n", problem.where.file, problem.where.line, problem.where.column,
                        problem.message);
  return text;
}

}  // namespace

TEST_CASE("an interval leaves out a tenth of the runs on either side, and less of few families") {
  // (0.1 x 6 - 0.5) / 5 = 0.02 of five runs, (0.1 x 21 - 0.5) / 20 = 0.08 of twenty.
  const ErrorInterval few = interval_of(kJob, errors_of_families(5), kSchema);
  CHECK(few.low == Approx(0.01));
  CHECK(few.high == Approx(0.05));
  const ErrorInterval more = interval_of(kJob, errors_of_families(20), kSchema);
  CHECK(more.low == Approx(0.02));
  CHECK(more.high == Approx(0.19));
  CHECK(more.runs == 20);
  CHECK(more.families == 20);
  CHECK(more.of == "transformer on hopper with megatron");
  CHECK(more.beyond.empty());
}

TEST_CASE("a run counts by the root of how many its family has") {
  // 19 families of one run and one of 100 at 0.5: weights 19 and 10, of which 0.08 are 2.32.
  std::vector<MeasuredError> errors = errors_of_families(19);
  for (int i = 0; i < 100; ++i) errors.push_back({"large", kJob, 0.5});
  const ErrorInterval interval = interval_of(kJob, errors, kSchema);
  CHECK(interval.low == Approx(0.03));
  CHECK(interval.high == Approx(0.5));
  CHECK(interval.runs == 119);
}

TEST_CASE("with fewer than five families the next wider circle of runs is compared with") {
  const RunKind other_software{{"transformer", "hopper", "fsdp"}, "bf16", 64};
  const RunKind other_machine{{"transformer", "ampere", "megatron"}, "bf16", 64};
  const RunKind other_model{{"experts", "hopper", "megatron"}, "bf16", 64};
  std::vector<MeasuredError> errors = errors_of_families(4);
  add(errors, {{"a", other_software, -0.5}});
  CHECK(interval_of(kJob, errors, kSchema).of == "transformer on hopper");
  CHECK(interval_of(kJob, errors, kSchema).low == Approx(-0.5));
  errors.back().kind = other_machine;
  CHECK(interval_of(kJob, errors, kSchema).of == "transformer");
  errors.back().kind = other_model;
  CHECK(interval_of(kJob, errors, kSchema).of == "any job");
  CHECK(interval_of(kJob, errors, kSchema).families == 5);
}

TEST_CASE("beyond what was measured the interval is of more runs, and says so") {
  std::vector<MeasuredError> errors = errors_of_families(20);
  add(errors, {{"wide", {{"transformer", "hopper", "fsdp"}, "bf16", 8}, -0.4}});
  RunKind large = kJob;
  large.devices = 65;
  const ErrorInterval interval = interval_of(large, errors, kSchema);
  CHECK(interval.beyond == "transformer on hopper with megatron with more than 64 devices");
  CHECK(interval.of == "transformer on hopper");
  // (0.1 x 22 - 0.5) / 21 / 2 of 21 runs: less than one.
  CHECK(interval.low == Approx(-0.4));
  large.precision = "fp8";
  CHECK(interval_of(large, errors, kSchema).beyond ==
        "transformer on hopper with megatron with more than 64 devices and precision fp8");
}

TEST_CASE("an interval of all runs is never narrower than the errors of a job's own kind") {
  // Three families of its own kind reach from -0.3 to 0.4; the twenty of another one lie within 0.2.
  const RunKind other{{"experts", "hopper", "fsdp"}, "bf16", 64};
  std::vector<MeasuredError> errors = errors_of_families(20, other);
  add(errors, {{"x", kJob, -0.3}, {"y", kJob, 0.4}, {"z", kJob, 0}});
  const ErrorInterval interval = interval_of(kJob, errors, kSchema);
  CHECK(interval.of == "any job");
  CHECK(interval.low == Approx(-0.3));
  CHECK(interval.high == Approx(0.4));
  // The faults of two families are their own.
  errors.resize(20);
  add(errors, {{"x", kJob, -0.3}, {"y", kJob, 0.4}});
  CHECK(interval_of(kJob, errors, kSchema).high < 0.3);
}

namespace {

const JobShape kShape{"h100-sxm", 8'000'000'000, 8192, 128, {4, 1, 1, 16, 1}};

MeasuredError run_of(const std::string& family, const std::string& name, const JobShape& shape, double error,
                     const RunKind& kind = kJob) {
  return {family, kind, error, MeasuredRun{name, shape, 2.5}};
}

}  // namespace

TEST_CASE("the nearest published run is named with what its prediction was off by") {
  JobShape larger = kShape, other_tensor = kShape, far = kShape;
  larger.parameters *= 4;
  other_tensor.degrees[0] = 8;
  far.parameters *= 64;
  std::vector<MeasuredError> errors = {run_of("a", "four times as large", larger, 0.1),
                                       run_of("b", "twice the degree", other_tensor, 0.25)};
  CHECK(distance_of(kJob, kShape, errors[0]) == Approx(2));
  CHECK(distance_of(kJob, kShape, errors[1]) == Approx(0.5));
  const auto nearest = nearest_run(kJob, kShape, errors);
  REQUIRE(nearest);
  CHECK(nearest->name == "twice the degree");
  CHECK(nearest->family == "b");
  CHECK(nearest->plan == "64 h100-sxm, tensor 8, data 16, batch 128");
  const std::vector<std::string> untold = {"recompute", "parallel.zero", "batch.micro", "software.fp8.operand"};
  RunKind other = kJob;
  other.precision = "fp32";
  JobShape shorter = kShape;
  shorter.sequence /= 2;
  CHECK(nearest_run(other, shorter, errors, untold)->unlike == std::vector<std::string>{"bf16", "sequence 8192"});
  CHECK(nearest_run(other, shorter, errors, untold)->not_compared == untold);
  CHECK(nearest->measured == Duration(2'500'000'000'000));
  CHECK(nearest->error == Approx(-0.2));  // 1 / 1.25 - 1
  errors = {run_of("c", "another model", far, 0),
            run_of("d", "experts", kShape, 0, {{"experts", "hopper", "x"}, "bf16", 64}),
            {"e", kJob, 0}};
  CHECK_FALSE(nearest_run(kJob, kShape, errors));
}

TEST_CASE("ratios of near runs of one family tell how far off ratios are") {
  // Both runs of a family are off by the same tenth, one of them by 1 to 5 % more.
  std::vector<MeasuredError> errors;
  for (int i = 1; i <= 5; ++i) {
    errors.push_back(run_of("f" + std::to_string(i), "one", kShape, 0.1));
    errors.push_back(run_of("f" + std::to_string(i), "other", kShape, 1.1 * (1 + 0.01 * i) - 1));
  }
  const auto error = ratio_error(kJob, errors);
  REQUIRE(error);
  CHECK(error->at_most == Approx(0.04));
  CHECK(error->pairs == 5);
  CHECK(error->families == 5);
  CHECK(error->of == "transformer");
  CHECK(is_within(1.039, *error));
  CHECK(is_within(1 / 1.039, *error));
  CHECK_FALSE(is_within(1.05, *error));
  // Of fewer families of its model those of all models, and no less than its own.
  errors.resize(8);
  JobShape far = kShape;
  far.degrees = {64, 8, 8, 1, 1};
  errors.push_back(run_of("f5", "one", kShape, 0));
  errors.push_back(run_of("f5", "far", far, 3));
  CHECK(ratio_error(kJob, errors)->of == training_runs().any);
  CHECK(ratio_error(kJob, errors)->pairs == 4);
  CHECK_FALSE(ratio_error(kJob, std::span(errors).last(2)));
}

TEST_CASE("jobs that are farther apart than published pairs have no error of their ratio, and why") {
  JobShape twice = kShape;
  twice.degrees[0] *= 2;  // half a doubling
  CHECK(are_near({kJob, kShape}, {kJob, twice}));
  twice.parameters *= 2;  // and a whole one
  CHECK_FALSE(are_near({kJob, kShape}, {kJob, twice}));
  RunKind images = kJob, older = kJob;
  images.words.front() = "convolutional";
  CHECK_FALSE(are_near({kJob, kShape}, {images, kShape}));
  older.words[1] = "ampere";
  CHECK_FALSE(are_near({kJob, kShape}, {older, kShape}));  // 2 for another architecture
  CHECK(
      no_ratio_error_text({kJob, kShape}, {older, kShape}) ==
      "no error of the ratio is given: pairs of published runs are more alike than these two (ampere against hopper)");
  CHECK(no_ratio_error_text({kJob, kShape}, {images, twice}) ==
        "no error of the ratio is given: pairs of published runs are more alike than these two "
        "(convolutional against transformer)");
}

TEST_CASE("runs with their shapes are read as they are written") {
  RunSchema schema = kSchema;
  schema.has_shapes = true;
  Diagnostics diagnostics;
  const std::vector<MeasuredError> errors = {run_of("f", "8 GPUs; plain", kShape, 0.125)};
  const std::string csv = errors_csv(errors, schema);
  CHECK(csv ==
        "family,model,machine,software,precision,devices,error_percent,measured_s,run,device,parameters,sequence,batch,"
        "tensor,pipeline,context,data,expert\n"
        "f,transformer,hopper,megatron,bf16,64,12.5,2.5,8 GPUs; plain,h100-sxm,8000000000,8192,128,4,1,1,16,1\n");
  CHECK(read_errors_csv(csv, "e.csv", schema, diagnostics) == errors);
  CHECK(diagnostics.problems().empty());
  const auto refusal = [&](std::string text, const std::string& from, const std::string& to) {
    Diagnostics problems;
    read_errors_csv(text.replace(text.find(from), from.size(), to), "e.csv", schema, problems);
    return problems.problems().empty() ? std::string() : problems.problems().front().message;
  };
  CHECK_THAT(refusal(csv, ",2.5,", ",0,"), Contains("'0' is not a time in seconds"));
  CHECK_THAT(refusal(csv, ",8192,", ",x,"), Contains("invalid number 'x'"));
}

TEST_CASE("an interval of errors is one of times") {
  const report::TimeInterval times = time_interval({-0.1, 0.25, 30, 6, "transformer", ""}, Duration(8'000'000'000'000));
  CHECK(times.low == Duration(7'200'000'000'000));
  CHECK(times.high == Duration(10'000'000'000'000));
  CHECK(times.share == kIntervalShare);
  CHECK(times.runs == 30);
}

TEST_CASE("words that no job has are refused in a file of errors") {
  const RunSchema& schema = training_runs();
  const std::vector<MeasuredError> errors = {run_of("f", "8 GPUs", kShape, 0.125)};
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string csv = errors_csv(errors, schema);
    Diagnostics problems;
    read_errors_csv(from.empty() ? csv : csv.replace(csv.find(from), from.size(), to), "e.csv", schema, problems);
    return problems.problems().empty() ? std::string() : problems.problems().front().message;
  };
  CHECK(refusal("", "").empty());
  CHECK(refusal("f,transformer", "f,transfromer") == "unknown model 'transfromer'");
  CHECK(refusal("hopper", "hoper") == "unknown architecture 'hoper'");
  CHECK(refusal("bf16", "bf61") == "unknown precision 'bf61'");
}

TEST_CASE("a measured run of the same plan on the same device is told where a job does not fit") {
  const std::vector<MeasuredError> errors = {run_of("f", "8B", kShape, 0.125)};
  CHECK(measured_fit_text(kJob, kShape, errors) ==
        "a measured run of its model, plan and device fit: 8B of f on 64 h100-sxm, tensor 4, data 16, batch 128; "
        "offload is not modelled");
  JobShape longer = kShape;
  longer.sequence *= 2;
  CHECK(measured_fit_text(kJob, longer, errors).empty());
  JobShape wider = kShape;
  wider.degrees[0] = 8;
  CHECK(measured_fit_text(kJob, wider, errors).empty());
}

TEST_CASE("errors are read as they are written") {
  Diagnostics diagnostics;
  const std::vector<MeasuredError> errors = {{"f", kJob, 0.125}, {"g", kJob, -0.032}};
  CHECK(read_errors_csv(errors_csv(errors, kSchema), "e.csv", kSchema, diagnostics) == errors);
  CHECK(diagnostics.problems().empty());
  const std::string heading = "family,model,machine,software,precision,devices,error_percent\n";
  CHECK_THAT(problems_of(""), Contains("e.csv:1:1: error: not the errors of jobs"));
  CHECK_THAT(problems_of(heading), Contains("no error of jobs"));
  CHECK_THAT(problems_of(heading + "f,s,a,m,p,8\n"), Contains("e.csv:2:1: error: 6 cells; expected 7"));
  CHECK_THAT(problems_of(heading + "f,s,a,m,p,0,1\n"), Contains("e.csv:2:11: error: invalid number of devices '0'"));
  for (const char* percent : {"-100", "nan", "1e9", "1x", ""})
    CHECK_THAT(problems_of(heading + "f,s,a,m,p,8," + percent + "\n"), Contains("is not an error in percent"));
}

TEST_CASE("a sort of runs without a precision has no column for it, and is never beyond for it") {
  const RunSchema schema{.runs = "calls", .any = "any call", .words = {{"call", ""}}};
  const std::vector<MeasuredError> errors = {{"a", {{"send"}, "", 8}, 0.1}, {"b", {{"send"}, "", 8}, -0.1}};
  const std::string csv = errors_csv(errors, schema);
  CHECK(csv == "family,call,devices,error_percent\na,send,8,10.0\nb,send,8,-10.0\n");
  Diagnostics diagnostics;
  CHECK(read_errors_csv(csv, "e.csv", schema, diagnostics) == errors);
  CHECK(interval_of({{"send"}, "", 8}, errors, schema).beyond.empty());
  const ErrorInterval unknown = interval_of({{"gather"}, "", 8}, errors, schema);
  CHECK(unknown.of == "any call");
  CHECK(unknown.beyond == "gather");
}

TEST_CASE("the errors that ship are of the tables that ship, and their intervals hold four runs of five") {
  const std::vector<MeasuredError> errors = shipped_errors(training_runs(), kFiles);
  std::map<std::string, std::size_t> rows, runs;
  for (const TrainingTable& table : list_tables<TrainingTable>(kFiles))
    if (table.scored) rows[table.family] += table.rows.size();
  for (const MeasuredError& one : errors) ++runs[one.family];
  CHECK(runs == rows);
  const Coverage covered = coverage(errors, training_runs());
  for (const double share : {covered.runs, covered.families, covered.halves}) {
    CHECK(share >= 0.75);
    CHECK(share <= 0.85);
  }
}

TEST_CASE("collectives that were measured have intervals that hold four of five") {
  const std::vector<MeasuredError> errors = shipped_errors(collective_runs(), kFiles);
  std::set<std::string> systems, known;
  for (const ValidationTable& table : list_tables<ValidationTable>(kFiles))
    if (table.scored) systems.insert(table.system);
  for (const MeasuredError& one : errors) known.insert(one.family);
  CHECK(known == systems);
  const Coverage covered = coverage(errors, collective_runs());
  for (const double share : {covered.families, covered.halves}) {
    CHECK(share >= 0.75);
    CHECK(share <= 0.85);
  }
  // Rows of a system are alike: a large one that lies inside counts by all of its rows.
  CHECK(covered.runs >= 0.75);
  CHECK(covered.runs <= 0.86);
}

namespace {

constexpr const char* kJobOfH100 =
    "cluster: dgx-h100\nnodes: 2\nworkload: {model: gpt-1.7b, software: megatron-2025, gbs: 64, mbs: 1}\n";

experiment::Experiment read_job(ConfigValue root) {
  Diagnostics diagnostics;
  return experiment::read_experiment("own.yaml", std::move(root), kFiles, diagnostics);
}

// The job with all keys written out in a file of the user's, as `orrery search --write` does; `change` edits it.
std::string by_hand_written_out(const std::vector<std::string>& changes) {
  Diagnostics diagnostics;
  ConfigValue resolved = read_job(parse_config(kJobOfH100, "own.yaml", diagnostics)).resolved;
  std::string text = yaml_text(resolved);
  ConfigValue root = parse_config(text, "own.yaml", diagnostics);
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    ConfigValue value{ConfigValue::Kind::kScalar, {"own.yaml"}, change.substr(equals + 1), {}, {}};
    set_value(root, change.substr(0, equals), std::move(value), kFiles, diagnostics);
  }
  diagnostics.throw_if_errors();
  return key_by_hand(read_job(std::move(root)), kFiles);
}

}  // namespace

TEST_CASE("what repeats a shipped file is not by hand, and calibrated constants are not") {
  CHECK(by_hand_written_out({}).empty());
  // dgx-h100: 400 Gb/s a NIC; megatron-2025 on Hopper: GEMMs at 0.848.
  CHECK(by_hand_written_out({"cluster.node.nics.bandwidth=30 GB/s"}) == "cluster.node.nics.bandwidth");
  CHECK(by_hand_written_out({"workload.software.optimizer=600 B"}) == "workload.software.optimizer");
  CHECK(by_hand_written_out({"cluster.node.device.name=another"}).starts_with("cluster.node.device."));
  // Constants of NCCL below `cluster` are those of this machine; GEMMs on Hopper are among the rates that the software
  // says are fitted.
  CHECK(by_hand_written_out({"cluster.nccl.base.nvls=15 us"}).empty());
  CHECK(by_hand_written_out({"workload.software.rates_of.hopper.gemm=0.7"}).empty());
}

namespace {

// Keys set by hand in the job as it is written, with settings.
std::string by_hand_set(const std::vector<std::string>& settings) {
  Diagnostics diagnostics;
  ConfigValue root = parse_config(kJobOfH100, "own.yaml", diagnostics);
  for (const std::string& setting : settings)
    apply_setting(root, setting, kFiles, diagnostics, experiment::resolver("own.yaml", kFiles));
  diagnostics.throw_if_errors();
  return key_by_hand(read_job(std::move(root)), kFiles);
}

}  // namespace

TEST_CASE("a setting is by hand where it changes a value, and no name of a part of the machine is") {
  CHECK(by_hand_set({}).empty());
  CHECK(by_hand_set({"cluster.name=x"}).empty());
  // The bandwidth that dgx-h100 has, 400 Gb/s.
  for (const char* same : {"400 Gb/s", "400 Gbps", "50 GB/s", "0.05 TB/s"})
    CHECK(by_hand_set({std::string("cluster.node.nics.bandwidth=") + same}).empty());
  CHECK(by_hand_set({"cluster.node.nics.bandwidth*=1"}).empty());
  CHECK(by_hand_set({"cluster.node.nics.bandwidth=49 GB/s"}) == "cluster.node.nics.bandwidth");
  // The key that matters is named, not the label before it.
  CHECK(by_hand_set({"cluster.name=x", "cluster.node.nics.bandwidth=49 GB/s"}) == "cluster.node.nics.bandwidth");
  // Its interval is that of the runs with any software.
  CHECK(by_hand_set({"workload.software.name=mine"}).empty());
  CHECK(by_hand_set({"workload.software.rates.gemm=0.5"}) == "workload.software.rates.gemm");
}
