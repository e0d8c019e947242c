// SPDX-License-Identifier: MIT
// Scripts of a shell as a shell runs them: each sets TP by a construct, and what bash gives stands beside it; "?" where
// that cannot be told from the script.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "experiment/launchers/launch_files.h"

using namespace orrery;
using namespace orrery::experiment;

namespace {

struct ScriptRead {
  LaunchFiles launch;
  Diagnostics diagnostics;

  std::string value(std::string_view name) const {
    const auto found = std::ranges::find(launch.arguments, name, &LauncherArgument::name);
    if (found == launch.arguments.end()) return "none";
    return found->unresolved.empty() ? fmt::format("{}", found->values.front()) : "?";
  }
  std::string first_message() const {
    return diagnostics.problems().empty() ? "" : diagnostics.problems().front().message;
  }
};

ScriptRead read_launch(const std::string& text,
                       const std::vector<std::pair<std::string, std::string>>& definitions = {}) {
  ScriptRead read;
  LaunchOptions options;
  options.definitions = definitions;
  read_script_text("run.sh", text, options, read.launch, read.diagnostics);
  return read;
}

std::string tensor_of_script(const std::string& text) {
  return read_launch(text + "\ntorchrun pretrain_gpt.py --tensor-model-parallel-size $TP\n")
      .value("--tensor-model-parallel-size");
}

}  // namespace

TEST_CASE("lists of a shell run what their conditions say") {
  CHECK(tensor_of_script("TP=2; [ \"$TP\" = 8 ] && TP=4") == "2");
  CHECK(tensor_of_script("TP=2; [[ $TP == 2 ]] || TP=8") == "2");
  CHECK(tensor_of_script("M=8b\n[[ $M == 8b ]] && TP=2 || TP=8") == "2");
  CHECK(tensor_of_script("M=70b\n[[ $M == 8b ]] && TP=2 || TP=8") == "8");
  CHECK(tensor_of_script("TP=2; [ $TP = 2 ] && { TP=4; X=1; }") == "4");
  CHECK(tensor_of_script("TP=2; [ $TP = 3 ] && { X=1; TP=4; }") == "2");
  CHECK(tensor_of_script("TP=2; grep -q x file && TP=4") == "?");
  CHECK(tensor_of_script("TP=2; cd /tmp || exit 1") == "2");
}

TEST_CASE("conditions of a shell") {
  CHECK(tensor_of_script("TP=2; if true; then TP=4; fi") == "4");
  CHECK(tensor_of_script("TP=2; if (( TP > 1 )); then TP=4; fi") == "4");
  CHECK(tensor_of_script("TP=2; if (( TP % 2 )); then TP=4; fi") == "2");
  CHECK(tensor_of_script("TP=2; if test $TP -gt 1; then TP=4; fi") == "4");
  CHECK(tensor_of_script("TP=2; if ! [ $TP -gt 1 ]; then TP=4; fi") == "2");
  CHECK(tensor_of_script("TP=2 M=llama3-8b; if [[ $M == llama* ]]; then TP=4; fi") == "4");
  CHECK(tensor_of_script("TP=2 M=llama3-8b; if [[ $M == \"llama*\" ]]; then TP=4; fi") == "2");
  CHECK(tensor_of_script("TP=2 M=8b; if [[ $M == 8b && $TP == 3 ]]; then TP=4; fi") == "2");
  CHECK(tensor_of_script("TP=2 M=8b; if [[ $M == 70b || $TP == 2 ]]; then TP=4; fi") == "4");
  CHECK(tensor_of_script("TP=2; if [ $# -eq 0 ]; then TP=4; fi") == "4");
  CHECK(tensor_of_script("M=llama3-8b; case $M in llama3*) TP=2;; *) TP=8;; esac") == "2");
  CHECK(tensor_of_script("M=gpt; case $M in llama3*) TP=2;; *) TP=8;; esac") == "8");
  CHECK(tensor_of_script("TP=8 M=8b; if [[ $M =~ 8b$ ]]; then TP=4; fi") == "?");
}

TEST_CASE("what a value from outside decides is not known") {
  CHECK(tensor_of_script("TP=2; if [ \"$CLUSTER\" = big ]; then TP=8; else TP=4; fi") == "?");
  CHECK(tensor_of_script("TP=2; if [ \"$CLUSTER\" = big ]; then PP=8; else PP=4; fi") == "2");
  CHECK(tensor_of_script("TP=2; if [ $TP = 2 ]; then TP=4; elif [ $CLUSTER = big ]; then TP=8; fi") == "4");
  CHECK(tensor_of_script("TP=2; if [ $CLUSTER = big ]; then X=1; elif [ $TP = 2 ]; then TP=8; fi") == "?");
  CHECK(tensor_of_script("TP=2; case $CLUSTER in big) TP=8;; esac") == "?");
  CHECK(tensor_of_script("if [ -z \"$CLUSTER\" ]; then TP=8; else TP=4; fi") == "8");  // nothing gives it
  CHECK(tensor_of_script("TP=2; read TP <<< 4") == "?");
  CHECK(tensor_of_script("TP=2; eval \"TP=4\"") == "?");
  CHECK(tensor_of_script("TP=2; let TP=TP*2") == "?");
  CHECK(tensor_of_script("TP=2; ((TP*=2))") == "?");
  CHECK(tensor_of_script("TP=2; for host in $(cat hosts); do TP=4; done") == "?");
  const ScriptRead defined = read_launch(
      "if [ \"$CLUSTER\" = big ]; then TP=8; else TP=4; fi\npython pretrain_gpt.py --tensor-model-parallel-size $TP\n",
      {{"CLUSTER", "big"}});
  CHECK(defined.value("--tensor-model-parallel-size") == "8");
}

TEST_CASE("loops, functions and subshells have the values of theirs") {
  CHECK(tensor_of_script("TP=1; for i in 1 2; do TP=$((TP*2)); done") == "4");
  CHECK(tensor_of_script("TP=1; for i in 1 2 3; do [ $i = 2 ] && break; TP=$((TP*2)); done") == "2");
  CHECK(tensor_of_script("TP=1; while [ $TP -lt 8 ]; do TP=$((TP*2)); done") == "8");
  CHECK(tensor_of_script("TP=2; while [ $# -gt 0 ]; do TP=$1; shift; done") == "2");
  CHECK(tensor_of_script("TP=2; helper() { local TP=4; }; helper") == "2");
  CHECK(tensor_of_script("TP=2; helper() { TP=$1; }; helper 8") == "8");
  CHECK(tensor_of_script("TP=2; helper() { TP=4; }") == "2");
  CHECK(tensor_of_script("TP=2\nfunction helper {\n  TP=4\n  return\n  TP=8\n}\nhelper") == "4");
  CHECK(tensor_of_script("TP=2; TP=8 python3 prepare_data.py") == "2");
  CHECK(tensor_of_script("TP=8; unset TP; TP=${TP:-2}") == "2");
  CHECK(tensor_of_script("TP=2; (export TP=8; echo $TP)") == "2");
  CHECK(tensor_of_script("TP=2; TP=4 | true") == "2");
  CHECK(tensor_of_script("TP=2; (cd /tmp) && TP=4") == "?");
  CHECK(tensor_of_script("TP=2; [ $TP = 3 ] && (exit 1); case $TP in (2) TP=4 ;; esac") == "4");
  CHECK(tensor_of_script("declare -a A=(4); TP=${A[0]:-3}; TP=2") == "2");
  CHECK(tensor_of_script("TP=$((010 / 2))") == "4");  // octal: 8 / 2
  CHECK(read_launch("main() {\n  python pretrain_gpt.py --num-layers 4\n}\nmain \"$@\"\n").value("--num-layers") ==
        "4");
  CHECK(read_launch("run() {\n  python pretrain_gpt.py --num-layers 4\n}\ntrap run EXIT\n").value("--num-layers") ==
        "4");
}

TEST_CASE("launches beside the one that is taken are told") {
  const ScriptRead sweep =
      read_launch("for TP in 2 4 8; do\n  torchrun pretrain_gpt.py --tensor-model-parallel-size $TP\ndone\n");
  CHECK(sweep.value("--tensor-model-parallel-size") == "2");
  CHECK(sweep.first_message() ==
        "'pretrain_gpt.py' is launched 3 times, with other arguments each time: this one is taken, the first that has "
        "most");
  const ScriptRead ended = read_launch("python a.py --n 2\nexit 0\npython a.py --n 8 --m 1\n");
  CHECK(ended.value("--n") == "2");
  CHECK(ended.diagnostics.problems().empty());
}

TEST_CASE("scripts that grow without end are refused") {
  std::string doubling = "A=--x\n";
  for (int i = 0; i < 60; ++i) doubling += "A=\"$A $A\"\n";
  const ScriptRead grown = read_launch(doubling + "python a.py --n 1 $A\n");
  CHECK(grown.first_message() == "the value of 'A' is longer than 131072 characters");
  const ScriptRead nested = read_launch(
      "for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5 6 7 8 9; do\n"
      "for d in 1 2 3 4 5 6 7 8 9; do for e in 1 2 3 4 5 6 7 8 9; do for f in 1 2 3 4 5 6 7 8 9; do\n"
      "X=1\ndone; done; done; done; done; done\npython a.py --n 1\n");
  CHECK(nested.first_message() == "the script runs more than 200000 commands");
}
