// SPDX-License-Identifier: MIT
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/session.h"
#include "cli/study/benchmark_machine.h"
#include "cli/study/drawings.h"
#include "core/files/input_files.h"
#include "study/benchmark/algorithms.h"
#include "study/benchmark/interval.h"
#include "study/benchmark/question.h"
#include "study/benchmark/steps.h"
#include "study/benchmark/study.h"

namespace orrery::cli {
namespace {

struct CollectiveCommandOptions {
  std::vector<std::string> clusters;
  std::string operation;
  study::BenchmarkSizes sizes{};
  study::CollectiveQuestion question{};  // of each cluster
  bool steps = false;
  PictureOptions pictures{};
};

bool asks_for_each(const CollectiveCommandOptions& options) {
  return options.question.algorithm == study::kEachAlgorithm;
}

// The messages of one collective, in place of its times.
void give_steps(const CollectiveCommandOptions& options, const workload::CallOperation& operation,
                std::span<const Bytes> sizes, const Session& session) {
  if (options.clusters.size() > 1 || sizes.size() > 1)
    throw InputError({"--steps"}, "the steps of one collective are printed",
                     options.clusters.size() > 1 ? "give one --cluster" : "give one size: -b alone");
  if (asks_for_each(options))
    throw InputError({"--steps"}, "the steps of one algorithm are printed", "name it: --algo ring");
  if (options.pictures.wanted())
    throw InputError({options.pictures.svg.empty() ? "--vega" : "--svg"},
                     "--steps prints messages, and no times to draw", "leave it or --steps out");
  study::CollectiveQuestion question = options.question;
  question.cluster = options.clusters.front();
  Progress progress;
  const study::CollectiveSteps steps = study::collective_steps(question, operation, sizes.front(), session.files);
  progress.clear();
  session.outputs.give({study::steps_text(steps), study::to_json(steps)});
}

// Tables that were computed, and their names beside one another.
struct Answers {
  std::vector<study::CollectiveTable> tables;
  std::vector<std::string> names;
  std::string text;

  void add(study::CollectiveTable table, std::string name) {
    tables.push_back(std::move(table));
    names.push_back(std::move(name));
  }
};

study::CollectiveTable study_one(const study::CollectiveQuestion& question, const workload::CallOperation& operation,
                                 std::span<const Bytes> sizes, const Session& session) {
  Progress progress;
  study::CollectiveTable table = study::study_collective(question, operation, sizes, session.files, std::ref(progress));
  progress.clear();
  study::add_intervals(table, session.files);
  print_warnings(table.warnings);
  return table;
}

// Every algorithm that can do the operation on the question's cluster, side by side.
void add_each(const CollectiveCommandOptions& options, const study::CollectiveQuestion& question,
              const workload::CallOperation& operation, std::span<const Bytes> sizes, const Session& session,
              Answers& answers) {
  std::vector<study::CollectiveTable> tables;
  for (const study::CollectiveQuestion& one : study::with_each_algorithm(question, operation, sizes, session.files)) {
    study::CollectiveTable table = study_one(one, operation, sizes, session);
    if (!study::runs_as_asked(table)) continue;
    const bool is_alone = options.clusters.size() == 1;
    answers.add(table, is_alone ? one.algorithm : fmt::format("{}, {}", table.cluster, one.algorithm));
    tables.push_back(std::move(table));
  }
  if (tables.empty())
    throw InputError({"--algo"}, fmt::format("no algorithm of NCCL does {} here", operation.name), "leave --algo out");
  answers.text += study::algorithms_text(tables);
}

void check_options(const CollectiveCommandOptions& options, const Outputs& outputs) {
  const bool is_each = asks_for_each(options);
  if ((!outputs.json.empty() || !outputs.out.empty()) && (options.clusters.size() > 1 || is_each))
    throw InputError({outputs.json.empty() ? "--out" : "--json"},
                     is_each ? "one document holds one algorithm" : "one document holds one cluster",
                     is_each ? "run the command once for each --algo" : "run the command once for each --cluster");
  for (const std::string& cluster : options.clusters) {
    note_input(cluster);
    if (const std::size_t comma = cluster.find(','); comma != std::string::npos && !cluster.starts_with('{'))
      throw InputError({"--cluster"}, fmt::format("'{}' is not one cluster", printable(cluster, 60)),
                       fmt::format("give --cluster twice: --cluster {} --cluster {}",
                                   printable(cluster.substr(0, comma)), printable(cluster.substr(comma + 1))));
  }
  outputs.check();
}

Page page_of_tables(const workload::CallOperation& operation, const Answers& answers) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < answers.tables.size(); ++i)
    tables.push_back({{"name", answers.names[i]}, {"document", study::to_json(answers.tables[i])}});
  return page_of(fmt::format("orrery collective --op {}", operation.name), "collective",
                 {{"tables", std::move(tables)}});
}

void collective(const CollectiveCommandOptions& options, const Session& session) {
  const Outputs& outputs = session.outputs;
  const bool is_each = asks_for_each(options);
  check_options(options, outputs);
  const workload::CallOperation operation = workload::call_operation_named(options.operation, "--op");
  const std::vector<Bytes> sizes = study::sizes_of(options.sizes, operation);
  if (options.steps && outputs.wants_page())
    throw InputError({"--html"}, "a schedule has no page, which --steps asks for", "leave one of them out");
  if (options.steps) return give_steps(options, operation, sizes, session);
  check_pictures(options.pictures, outputs);
  if (options.pictures.wanted() && sizes.back() == Bytes(0))
    throw InputError({options.pictures.svg.empty() ? "--vega" : "--svg"},
                     fmt::format("{} has no sizes to draw", operation.name), "leave it out");
  Answers answers;
  for (const std::string& cluster : options.clusters) {
    study::CollectiveQuestion question = options.question;
    question.cluster = cluster;
    question.wants_bound = is_each || options.pictures.wanted();
    if (is_each)
      add_each(options, question, operation, sizes, session, answers);
    else
      answers.add(study_one(question, operation, sizes, session), cluster);
  }
  if (!is_each)
    answers.text = answers.tables.size() == 1 ? study::collective_text(answers.tables.front())
                                              : study::side_by_side_text(answers.tables);
  Answer answer{answers.text, study::to_json(answers.tables.front())};
  if (outputs.wants_page()) answer.page = page_of_tables(operation, answers);
  if ((answer.page || options.pictures.wanted()) && sizes.back() > Bytes(0)) {
    const report::Picture picture = study::collective_picture(answers.tables, answers.names);
    add_to_page(answer, picture);
    write_pictures(options.pictures, picture);
  }
  outputs.give(answer);
}

void add_sizes(CLI::App& command, study::BenchmarkSizes& sizes) {
  command.add_option("-b,--minbytes", sizes.first, "First size; K, M, G are KiB, MiB, GiB (default: 32M)")
      ->type_name("SIZE");
  command.add_option("-e,--maxbytes", sizes.last, "Last size (default: the first)")->type_name("SIZE");
  CLI::Option* factor =
      command.add_option("-f,--stepfactor", sizes.factor, "Factor from size to size (default: 2)")->type_name("N");
  command.add_option("-i,--stepbytes", sizes.increment, "Increment from size to size, in place of -f")
      ->type_name("SIZE")
      ->excludes(factor);
}

void add_algorithms(CLI::App& command, study::CollectiveQuestion& question) {
  CLI::Option* names =
      command
          .add_option("--algo", question.algorithm,
                      "nccl: some, as Tree,Ring; fixed: one, or one per dimension, as ring,direct; each: side by side "
                      "(default: all)")
          ->type_name("NAMES");
  CLI::Option* algorithm =
      command
          .add_option("--algorithm", question.algorithm_file,
                      "Algorithm of your own: MSCCL's XML, or the prefix of Chakra traces of sends")
          ->type_name("FILE")
          ->excludes(names);
  command
      .add_option("--algorithm-size", question.algorithm_size,
                  "Size of a rank's buffer that those traces were written for")
      ->type_name("SIZE")
      ->needs(algorithm);
  command.add_option("--proto", question.protocol, "nccl: protocols to choose from: LL, LL128, Simple (default: all)")
      ->type_name("NAMES");
  command
      .add_option("--library", question.library, "nccl or fixed (default: nccl for clusters of GPU nodes, else fixed)")
      ->type_name("NAME");
}

void add_shares(CLI::App& command, study::CollectiveQuestion& question) {
  CLI::Option* given =
      command
          .add_option("--shares", question.shares,
                      "all_to_all of uneven sizes: weights by receiver, or a row of them for each sender")
          ->type_name("FILE");
  CLI::Option* skew = command
                          .add_option("--skew", question.skew,
                                      "all_to_all of uneven sizes: receivers by Zipf's law, with this exponent")
                          ->type_name("X")
                          ->excludes(given);
  command.add_option("--seed", question.seed, "Who gets how much of --skew (default: the first rank most)")
      ->type_name("N")
      ->needs(skew);
}

}  // namespace

void add_collective_command(CLI::App& app, Session& session) {
  CollectiveCommandOptions& options = session.keep<CollectiveCommandOptions>();
  study::CollectiveQuestion& question = options.question;
  CLI::App& command = add_command(app, "collective",
                                  {"orrery collective --cluster dgx-a100 --nodes 2 --op all_reduce -b 8 -e 1G -f 4",
                                   "orrery collective --cluster dgx-a100 --cluster dgx-h100 --op all_gather -b 32M",
                                   "orrery collective --cluster dgx-a100 --op all_reduce --algorithm all-pairs-8.xml"});
  command.add_option("--cluster", options.clusters, std::string(kClusterAbout) + "; repeat it to compare")
      ->type_name("NAME")
      ->required()
      ->expected(1)
      ->take_all();
  add_benchmark_machine(command, question);
  command
      .add_option("--op", options.operation,
                  "all_gather, all_reduce, all_to_all, barrier, broadcast, gather, reduce, reduce_scatter, scatter or "
                  "sendrecv")
      ->type_name("NAME")
      ->required();
  add_sizes(command, options.sizes);
  add_algorithms(command, question);
  add_shares(command, question);
  add_pictures(command, options.pictures, "time and bus bandwidth over size, with what no algorithm can beat,",
               ",--plot");
  command.add_flag("--steps", options.steps,
                   "Print who sends what to whom in each round instead, for at most 64 ranks (library fixed)");
  add_outputs(command, session);
  add_html(command, session, "times and bandwidths over size as a page");
  add_set(command, question.settings, "network.model=flow");
  command.callback([&] { collective(options, session); });
}

}  // namespace orrery::cli
