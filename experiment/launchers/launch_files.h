// SPDX-License-Identifier: MIT
// Arguments as files have them: scripts of a shell, and YAML of Megatron's tests and of Megatron-Bridge.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/launchers/argument_table.h"
#include "experiment/launchers/shell_words.h"

namespace orrery::experiment {

// Adds the arguments of the command in the scripts that launches training, and of the environment. Files are read one
// behind the other, with the variables of those before.
void read_scripts(const std::vector<std::string>& files, const LaunchOptions& options, LaunchFiles& launch,
                  Diagnostics& diagnostics);

// Arguments of one script that has been read.
void read_script_text(const std::string& file, std::string_view text, const LaunchOptions& options, LaunchFiles& launch,
                      Diagnostics& diagnostics);

using Fields = std::vector<ShellField>;

// The command of scripts that launches training, found among those that they run.
class LaunchCommand {
 public:
  LaunchCommand(LaunchFiles& launch, Diagnostics& diagnostics) : launch_(launch), diagnostics_(diagnostics) {}

  void begin_file(const std::string& file) { file_ = file; }
  void consider(const Fields& fields, const ShellVariables& variables, int depth = 0);
  bool found() const { return !best_.empty(); }
  // Reads "#SBATCH --nodes=4".
  void read_batch_lines(std::string_view text);
  // Notes a variable that goes to the environment, if a launcher may want it.
  void note_environment(const std::string& name, const RawWord& word, const ShellVariables& variables);
  // Numbers of nodes and of their processes among the words [first, last) of torchrun, srun or sbatch.
  void read_placement(const Fields& fields, std::size_t first, std::size_t last);
  // Takes the arguments of the best command that was found.
  void finish(const std::vector<std::string>& files);

 private:
  Location at(int line) const { return {file_, line}; }
  void take_command(const Fields& fields);
  std::size_t take_argument(const Fields& fields, std::size_t first);

  LaunchFiles& launch_;
  Diagnostics& diagnostics_;
  std::string file_;
  std::vector<LauncherArgument> environment_;
  std::map<std::string, std::set<std::string>> launches_;  // by program: the texts of its commands
  Fields best_;
  std::ptrdiff_t best_count_ = 0;
  std::string best_file_;
};

// Adds the arguments of a YAML file: MODEL_ARGS and ENV_VARS of Megatron-LM's functional tests, or sections whose keys
// are arguments by another name ("model.num_layers": "--num-layers").
void read_launch_yaml(const std::string& file, LaunchFiles& launch, Diagnostics& diagnostics);

// True of a file that is YAML by its name.
bool is_launch_yaml(const std::string& file);

}  // namespace orrery::experiment
