// SPDX-License-Identifier: MIT
// Keys of the document of a run, in the order in which report/result_json.cpp, report/critical_path.cpp and
// report/path/slack.cpp write them.
#include <string>

#include "report/documents/documents.h"
#include "report/evidence/evidence.h"

namespace orrery::report {
namespace {

using enum KeyType;

DocumentKeys provenance_keys() {
  return {{kText, "file", "the experiment file as the command line named it"},
          {kTexts, "set", "values of `--set`"},
          {kTexts, "options", "`--allow-oom` and `--no-fast-forward`, where given"},
          {kText, "commit", "of the program (`orrery --version`); empty if it was built without a repository"},
          maybe({kText, "folder", "the working directory; not with `--deterministic`"}),
          {kList,
           "inputs",
           "every file that was read",
           {{kText, "path", "shipped ones as `configs/...`"},
            {kText, "kind", "`configuration`, whose contents are in `experiment`, or `data`"},
            {kText, "sha256", "of its bytes"}}}};
}

DocumentKeys evidence_keys() {
  DocumentKeys shares;
  for (std::size_t kind = 0; kind < kEvidenceKinds; ++kind)
    shares.push_back({kNumber, std::string(name_of(static_cast<EvidenceKind>(kind))), ""});
  return {{kMap, "share", "of the time of the critical path, by the kind of evidence", std::move(shares)},
          {kList,
           "figures",
           "those that some of the time rests on",
           {{kText, "key", "in `experiment`"},
            {kText, "value", "as written"},
            {kText, "kind", "`measured`, `fitted`, `sourced`, `given` or `assumed`"},
            {kText, "file", "that it stands in; shipped ones as `configs/...`"},
            {kWhole, "line", "0: of the command line"},
            {kTruth, "default", "no file has the key"},
            {kText, "source", "of this figure, in the words of the file"},
            {kTexts, "citations", "sources of the file"},
            {kNumber, "time_s", "of the critical path: of the terms that depend on it"}}}};
}

// Figures of training, of an only job or of one of several.
DocumentKeys training_keys() {
  DocumentKeys kernels = {{kText, "kind", "\"matrix product\", \"attention\", \"norm\""},
                          {kText, "sizes", "\"2048 x 12288 x 4608 bf16\""},
                          {kNumber, "count", "of them in a step"},
                          {kNumber, "seconds", "alone on the device, of all of these"},
                          {kNumber, "share", "of the time of all kernels"},
                          {kNumber, "flops", "of all of these"},
                          {kNumber, "bytes", "of all of these"},
                          maybe({kNumber, "measured", "share of their time that comes from measurements"})};
  DocumentKeys memory = figure_keys(FigureGroup::kMemory);
  memory.push_back({kMap, "by", "bytes by use", {{kWhole, "<USE>", ""}}});
  memory.push_back({kList,
                    "stages",
                    "of each pipeline stage, or of each server",
                    {{kWhole, "rank", "the first of it"},
                     {kWhole, "rest_bytes", "behind the optimizer's step"},
                     {kWhole, "peak_bytes", ""}}});
  return joined(
      {maybe(figure_keys(FigureGroup::kTraining)),
       {maybe({kList,
               "weight_age",
               "of asynchronous updates: how many updates the weights have had since they were read",
               {{kWhole, "rank", "the first of each pipeline stage, or of each server"},
                {kNumber, "mean", ""},
                {kWhole, "most", ""}}}),
        maybe({kMap, "training_run", "with `workload.tokens`", figure_keys(FigureGroup::kWholeTraining)}),
        maybe({kList, "kernels", "the 100 that take most, mean over ranks and iterations", std::move(kernels)})},
       maybe(figure_keys(FigureGroup::kKernels)),
       {maybe({kMap, "memory", "of a job from a model", std::move(memory)})}});
}

DocumentKeys job_keys() {
  return joined({{{kText, "name", ""},
                  {kWhole, "ranks", "how many"},
                  {kText, "members", "its ranks"},
                  {kText, "devices", "\"0-7,16-23\""},
                  {kWhole, "nodes", "how many these are in"},
                  {kWhole, "iterations", ""},
                  {kNumber, "time_alone_s", "of one iteration"},
                  {kNumber, "time_together_s", "of one iteration, beside the others"},
                  {kNumber, "slowdown", "their ratio"},
                  {kNumber, "finish_s", "of all iterations, beside the others"}},
                 training_keys()});
}

DocumentKeys breakdown_keys() {
  return {{kWhole, "class", "its number"},
          {kWhole, "ranks", "its size"},
          {kWhole, "first_rank", "its lowest rank"},
          {kText, "members", "\"0-7,16-23\""},
          {kNumber, "compute_s", "computing"},
          {kNumber, "slowed_s", "of it the end of computations that ran slower beside communication"},
          {kNumber, "host_s", "of it with only the host"},
          {kNumber, "memory_s", "of it with remote memory"},
          {kMap,
           "exposed_comm_s",
           "exposed communication by name, as in the tables of `--details`; of traces and of several jobs by "
           "communicator; of generated jobs also `input` and `checkpoint`",
           {{kNumber, "<NAME>", ""}}},
          {kNumber, "bubble_s", ""},
          {kNumber, "wait_s", ""},
          {kNumber, "idle_s", ""},
          {kNumber, "finish_s", ""},
          maybe({kNumber, "loading_s",
                 "of generated jobs with `input`: how long batches were on their way, exposed or beside other things"}),
          maybe({kNumber, "host_pace_s",
                 "beside the parts: how long nothing but launches of the host, one after the other, decided when "
                 "computations ended"})};
}

DocumentKeys path_keys() {
  return {{kText, "what", "\"compute\", \"tensor\"; of operations their name"},
          {kNumber, "seconds", ""},
          {kNumber, "share", "of the time"},
          {kWhole, "steps", ""}};
}

DocumentKeys critical_path_keys() {
  return maybe(
      {{kList, "critical_path", "with `--critical-path`; longest first, they sum to the time", path_keys()},
       {kList, "critical_operations", "the 20 longest operations, by name", path_keys()},
       {kList,
        "critical_ranks",
        "ranks that the path is on",
        {{kWhole, "rank", ""}, {kWhole, "class", ""}, {kNumber, "seconds", "on ranks of that class"}}},
       {kList,
        "critical_links",
        "links that the path moves over",
        {{kText, "class", ""},
         {kNumber, "seconds", "moving, as fast as they carry what moves alone"},
         {kNumber, "shared_s", "longer than that"}}},
       {kNumber, "critical_latency_s", "latencies on the path"},
       {kList,
        "slack_operations",
        "operations of one name",
        {{kText, "what", ""}, {kWhole, "count", ""}, {kNumber, "longest_s", ""}, {kNumber, "least_slack_s", ""}}},
       {kList,
        "slack_ranks",
        "how much slower ranks may compute",
        {{kText, "members", ""}, {kNumber, "slower", "share of their own computing"}}},
       {kTruth, "slack_exact", "false where `slower` is only a lower bound"}});
}

DocumentKeys link_keys() {
  return {{kText, "class", ""},
          {kWhole, "count", ""},
          {kNumber, "bytes", "of one link, mean"},
          {kNumber, "busy", "share of the time with any flow, mean"},
          {kNumber, "mean_utilisation", "bytes over what they could carry in the time"},
          {kNumber, "max_utilisation", "of the busiest"},
          maybe({kText, "busiest", "the one with the highest utilisation"})};
}

DocumentKeys simulation_keys() {
  return {
      {kWhole, "events", ""},
      {kWhole, "messages", "simulated ones"},
      maybe({kWhole, "fast_forwarded", "how many of them were not sent one by one: their times follow from others"}),
      maybe({kWhole, "repeated_operations",
             "operations in further turns of a loop, which took their times from a turn that was simulated"}),
      maybe({kText, "by_events",
             "why ranks did not run ahead of the clock ([folding.md](folding.md)); not there where they did"}),
      maybe({kNumber, "wall_s", "not with `--deterministic`"}),
      maybe({kWhole, "peak_rss_bytes", "likewise"}),
      {kText, "granularity", ""},
      {kText, "model", "of the network"},
      {kTruth, "folded", ""},
      {kText, "folding", "how many classes, or why the job was not folded ([folding.md](folding.md))"},
      {kList,
       "splits",
       "when classes of ranks came apart",
       {{kNumber, "time_s", ""},
        {kWhole, "rank_classes_before", ""},
        {kWhole, "rank_classes", ""},
        {kText, "first_used", ""},
        {kList, "came_apart", "", {{kWhole, "rank", ""}, {kWhole, "from", ""}}}}}};
}

DocumentKeys shared_link_keys() {
  return {{kText, "class", ""},
          {kWhole, "count", "of them"},
          {kWhole, "of", "so many"},
          {kText, "busiest", ""},
          {kMap, "bytes", "of each job over that one", {{kWhole, "<JOB>", ""}}}};
}

// Keys that say how sure the time is.
DocumentKeys trust_keys() {
  DocumentKeys interval = interval_keys();
  interval.push_back({kWhole, "families", "that these are of"});
  interval.push_back({kText, "of", "which kind of runs"});
  interval.push_back(maybe({kText, "beyond", "what none of them had"}));
  return {
      maybe({kMap, "interval", "[how sure it is](results.md#how-sure-it-is), of a job from a model", interval}),
      maybe({kText, "by_hand", "key that no published run has so, for which there is no interval"}),
      maybe({kMap,
             "nearest_run",
             "[the published run nearest to the job](results.md#how-sure-it-is)",
             {{kText, "name", "of its row"},
              {kText, "family", "of its table"},
              {kText, "plan", "devices, degrees, batch"},
              {kNumber, "measured_s", "of an iteration"},
              {kNumber, "error", "predicted / measured - 1, by constants fitted without its family"},
              {kTexts, "unlike", "what it has otherwise than the job, beside its plan: \"bf16\", \"sequence 2048\""},
              {kTexts, "not_compared",
               "keys of `workload` that the job sets and of which it is not known what the run had"}}})};
}

// Keys that say how large the job is and how it was simulated.
DocumentKeys size_keys() {
  return {{kWhole, "ranks", "how many"},
          {kWhole, "cluster_devices", "how many devices the cluster has"},
          maybe({kMap,
                 "packed",
                 "where ranks leave devices of each node idle, so that their groups stay inside nodes",
                 {{kText, "groups", "\"expert\""},
                  {kWhole, "devices_in_use", "of each node"},
                  {kWhole, "devices_per_node", ""}}}),
          {kWhole, "rank_classes", "classes of ranks that were simulated ([folding.md](folding.md))"},
          {kWhole, "link_classes", "classes of links that were simulated"},
          maybe({kNumber, "initial_broadcast_s",
                 "with `workload.initial_broadcast`: until the first rank leaves the barrier behind it"}),
          maybe({kWhole, "iterations", "with several of them"}),
          maybe({kNumber, "total_time_s",
                 "with several iterations, or something before the first: of all, to which the breakdown sums"})};
}

}  // namespace

Document result_document() {
  DocumentKeys keys = joined(
      {{{kText, "version", "of Orrery"},
        {kAny, "experiment",
         "in full, every name and default resolved; paths of traces are relative to the folder of `provenance.file`"},
        maybe({kMap, "provenance", "what the result was made from; not in the results of a sweep", provenance_keys()})},
       figure_keys(FigureGroup::kAll),
       trust_keys(),
       size_keys(),
       training_keys(),
       {maybe(
           {kMap, "collective", "of a job that is one collective", {{kText, "operation", ""}, {kWhole, "bytes", ""}}})},
       maybe(figure_keys(FigureGroup::kCall)),
       {maybe({kList,
               "roofline",
               "of traces computed by their FLOPs and bytes: one entry for each type of device",
               {{kText, "device", ""},
                {kNumber, "peak_share", "share of the peak that they reach"},
                {kNumber, "memory_share", "share of the memory's bandwidth"}}})},
       {maybe({kMap,
               "product",
               "of a job that is one matrix product",
               {{kText, "sizes", "m x n x k, number of them, precision"}}})},
       maybe(figure_keys(FigureGroup::kProduct)),
       {maybe({kList, "jobs",
               "of several jobs ([several-jobs.md](several-jobs.md)); their figures of training are those beside the "
               "others",
               job_keys()}),
        maybe({kList, "shared_links", "links of a class that several jobs use", shared_link_keys()}),
        {kList, "breakdown", "one entry for each class of ranks", breakdown_keys()}}});
  const DocumentKeys rest = joined(
      {{{kList, "links", "one entry for each class of links", link_keys()},
        maybe({kMap,
               "busiest_link",
               "",
               {{kText, "name", "\"node0.gpu0.nvlink.up\""}, {kNumber, "busy", "share of the time"}}}),
        maybe({kList,
               "culprits",
               "[what holds the job up](results.md#what-holds-a-job-up)",
               {{kText, "name", ""},
                {kText, "why", ""},
                {kNumber, "seconds", "of the critical path"},
                {kNumber, "cost_s", "of it, what would not be there if all were alike"}}}),
        maybe({kMap, "evidence",
               "[how well the figures that the time rests on are known](results.md#what-a-time-rests-on)",
               evidence_keys()}),
        {kTexts, "warnings",
         "what was printed as warnings, without the places in configuration files; of a trace the name of its file"},
        {kMap, "simulation", "", simulation_keys()}},
       critical_path_keys(),
       {maybe({kMap,
               "cost",
               "with `--cost`: what `perturb` costs",
               {{kNumber, "undisturbed_s", ""}, {kNumber, "cost_s", ""}, maybe({kNumber, "percent", ""})}}),
        maybe({kMap, "launcher", "with `--launcher-flags`: the job as arguments of a launcher", launcher_keys()}),
        maybe({kMap, "error", "with `--verify-fold`, where it fails", failure_keys()})}});
  keys.insert(keys.end(), rest.begin(), rest.end());
  return {"orrery.result/1", "`run --json`, and as `result-NUMBER.json` by `sweep --out`", "", std::move(keys)};
}

}  // namespace orrery::report
