// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/files/shell_word.h"
#include "study/launch/process.h"
#include "study/launch/slurm.h"

using namespace orrery;
using namespace orrery::study;

namespace {

Process run(const std::vector<std::string>& words, std::chrono::seconds limit = std::chrono::seconds(20)) {
  return run_process(words, limit);
}

}  // namespace

TEST_CASE("a program gets its arguments as they are, and what it prints is told apart") {
  const Process process = run({"printf", "%s|", "a b", "$HOME", "*", "'\"", ""});
  CHECK(process.exit_code == 0);
  CHECK(process.output == "a b|$HOME|*|'\"||");
  CHECK(process.errors.empty());
  const Process both = run({"sh", "-c", "echo out; echo err >&2; exit 7"});
  CHECK(both.exit_code == 7);
  CHECK(both.output == "out\n");
  CHECK(both.errors == "err\n");
}

TEST_CASE("more output than a pipe holds is read, on both of them") {
  const Process process = run({"sh", "-c", "head -c 300000 /dev/zero >&2; head -c 500000 /dev/zero"});
  CHECK(process.output.size() == 500'000);
  CHECK(process.errors.size() == 300'000);
}

TEST_CASE("a program has nothing on its standard input") { CHECK(run({"cat"}).output.empty()); }

TEST_CASE("a signal that ends a program is its exit code") {
  CHECK(run({"sh", "-c", "kill -KILL $$"}).exit_code == 128 + 9);
}

TEST_CASE("a program that is not there or does not end is an error with its name") {
  CHECK_THROWS_WITH(run({"/nowhere/sbatch"}), "/nowhere/sbatch: error: cannot be started: No such file or directory");
  // The child keeps the pipe open, too, and is killed with it.
  CHECK_THROWS_WITH(run({"sh", "-c", "exec >&- 2>&-; sleep 60"}, std::chrono::seconds(1)),
                    Catch::Matchers::Contains("did not answer within 1 s"));
  CHECK_THROWS_WITH(run({"sh", "-c", "sleep 60 & sleep 60"}, std::chrono::seconds(1)),
                    "sh: error: did not answer within 1 s");
}

TEST_CASE("a shell reads a word of a script as it was") {
  for (const std::string word : {"plain", "a b", "it's", "$(id) `id` \\ \"", "'''", "", "-x", "a\nb"})
    CHECK(run({"sh", "-c", "printf %s " + shell_word(word)}).output == word);
}

TEST_CASE("task numbers are written as ranges") {
  CHECK(index_ranges(std::vector<std::size_t>{0, 1, 2, 3}) == "0-3");
  CHECK(index_ranges(std::vector<std::size_t>{5}) == "5");
  CHECK(index_ranges(std::vector<std::size_t>{0, 2, 3, 7, 9, 10}) == "0,2-3,7,9-10");
}

TEST_CASE("tasks are read from what squeue prints") {
  const std::vector<SlurmTask> tasks = tasks_in(
      "12|3|RUNNING|None\n"
      "12|10|PENDING|ReqNodeNotAvail, UnavailableNodes:a|b\n"
      "14|N/A|PENDING|Priority\n"
      "nonsense\n");
  REQUIRE(tasks.size() == 2);  // a job that is no array has no number
  CHECK(tasks[0].job == "12");
  CHECK(tasks[0].index == 3);
  CHECK_FALSE(tasks[0].waits());
  CHECK(tasks[1].index == 10);
  CHECK(tasks[1].waits());
  CHECK(tasks[1].reason == "ReqNodeNotAvail, UnavailableNodes:a|b");
  CHECK(tasks_in("").empty());
}
