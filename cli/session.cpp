// SPDX-License-Identifier: MIT
#include "cli/session.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/slips.h"
#include "core/config/other_names.h"
#include "core/config/relative.h"
#include "core/files/input_files.h"
#include "core/suggest.h"
#include "experiment/files/foreign_files.h"
#include "report/table.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kLargestInput = std::size_t{1} << 30;

// Standard input as a file that can be read again, for files are read more than once.
std::string standard_input(bool& taken) {
  if (taken) throw InputError({"-"}, "standard input is named twice", "name one of the files");
  taken = true;
  const std::string path(kStandardInput);
  note_input(path);
  const auto check = [](auto result) {
    if (result < 0) throw InputError({"standard input"}, std::generic_category().message(errno));
    return static_cast<std::size_t>(result);
  };
  const int copy = static_cast<int>(check(::memfd_create("standard input", MFD_CLOEXEC)));
  std::array<char, 1 << 16> part;
  std::size_t size = 0;
  while (const std::size_t count = check(::read(STDIN_FILENO, part.data(), part.size()))) {
    if ((size += count) > kLargestInput)
      throw InputError({"standard input"}, "is larger than 1 GiB", "write it to a file and name that");
    for (std::size_t done = 0; done < count;) done += check(::write(copy, part.data() + done, count - done));
  }
  check(::dup2(copy, STDIN_FILENO));
  ::close(copy);
  return path;
}

CLI::Validator dash_is_standard_input(Session& session) {
  return CLI::Validator(
      [&session](std::string& file) {
        if (file == "-") file = standard_input(session.took_standard_input);
        return std::string();
      },
      "");
}

}  // namespace

CLI::App& add_command(CLI::App& above, const std::string& name, const std::string& about,
                      std::initializer_list<std::string_view> examples) {
  CLI::App& command = *above.add_subcommand(name, about);
  std::string footer = examples.size() == 0 ? "" : "\nExamples:";
  for (const std::string_view example : examples) footer += fmt::format("\n  {}", example);
  command.footer(footer);
  return command;
}

CLI::App& add_command(CLI::App& app, const std::string& name, std::initializer_list<std::string_view> examples) {
  const CommandAbout& command = *std::ranges::find(kCommands, name, &CommandAbout::name);
  return add_command(app, name, std::string(command.about), examples);
}

std::vector<InputFile> named_inputs(const ConfigFiles& files) {
  std::vector<InputFile> inputs = input_files();
  const std::string shipped = files.shipped().string() + "/";
  for (InputFile& input : inputs)
    if (input.path.starts_with(shipped)) input.path = "configs/" + input.path.substr(shipped.size());
  std::ranges::sort(inputs, {}, &InputFile::path);
  return inputs;
}

std::vector<std::string> comma_separated(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

CLI::Option& add_file(CLI::App& command, Session& session, const std::string& name, std::string& file,
                      const std::string& about) {
  return *command.add_option(name, file, about)->type_name("FILE")->transform(dash_is_standard_input(session));
}

CLI::Option& add_files(CLI::App& command, Session& session, const std::string& name, std::vector<std::string>& files,
                       const std::string& about) {
  return *command.add_option(name, files, about)->type_name("FILE")->transform(dash_is_standard_input(session));
}

CLI::Validator one_of(const std::string& name, std::vector<std::string> names) {
  std::string known = fmt::format("{{{}}}", fmt::join(names, ","));
  const auto check = [name, names = std::move(names)](std::string& value) {
    if (std::ranges::find(names, value) != names.end()) return std::string();
    const auto file = experiment::foreign_file(value);
    throw InputError({name}, fmt::format("unknown value '{}'", printable(value, 40)),
                     file ? fmt::format("it is {}: {}", file->what, file->hint) : suggestion(value, names));
  };
  return CLI::Validator(check, std::move(known));
}

void add_json(CLI::App& command, Session& session) {
  command
      .add_option("--json", session.outputs.json, "Write the result as JSON to this file; - prints it, not the text")
      ->type_name("FILE");
}

void add_format(CLI::App& command) {
  const auto choose = [](const std::string& name) {
    const auto found = std::ranges::find(report::kTableFormatNames, name);
    report::set_table_format(static_cast<report::TableFormat>(found - report::kTableFormatNames.begin()));
  };
  command
      .add_option_function<std::string>("--format", choose,
                                        "Print tables as text, csv, markdown or latex (default: text)")
      ->type_name("FORMAT")
      ->check(one_of("--format", {report::kTableFormatNames.begin(), report::kTableFormatNames.end()}));
}

void add_outputs(CLI::App& command, Session& session, const std::string& files) {
  add_json(command, session);
  add_format(command);
  command.add_option("--out", session.outputs.out, fmt::format("Write {} to this folder", files))->type_name("DIR");
}

void add_html(CLI::App& command, Session& session, const std::string& what) {
  command.add_option("--html", session.outputs.html, fmt::format("Write {} for a browser", what))->type_name("FILE");
}

namespace {

// True if a setting has a value of its own, in place of one that the key has.
bool replaces(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  return equals != std::string::npos && equals > 0 && setting[equals - 1] != '*' &&
         !factor_of(std::string_view(setting).substr(equals + 1));
}

// Settings in the order in which they hold, as the command line has them.
struct GivenSetting {
  std::string option;  // "--set a.b=1"
  std::string path;
};

// Warns of settings that one behind them undoes: of the same key, or of the section above it as a whole.
void warn_of_undone(const std::vector<GivenSetting>& before, const GivenSetting& last) {
  std::vector<Problem> undone;
  for (const GivenSetting& one : before) {
    const bool is_same = one.path == last.path;
    if (!is_same && !one.path.starts_with(last.path + ".")) continue;
    undone.push_back({Severity::kWarning,
                      {one.option},
                      fmt::format("'{}' changes nothing: {} stands behind it and sets {} anew", printable(one.path, 60),
                                  last.option, is_same ? "it" : fmt::format("all of '{}'", printable(last.path, 40))),
                      is_same ? "leave one of the two out" : "write it behind that one"});
  }
  print_warnings(undone);
}

// Refuses a setting of a key that one before it sets by another name, as which of them is meant, nobody can tell; warns
// where it undoes one before it.
class InOrder {
 public:
  void operator()(const std::string& setting) {
    if (setting.find('=') == std::string::npos)
      throw InputError({"--set " + printable(setting)}, "expected key.path=value", hint_for_setting(setting));
    const std::string name = path_of_setting(setting), path = plain_path(name);
    GivenSetting given{"--set " + printable(setting), path};
    const auto [known, is_new] = names_->emplace(path, name);
    if (!is_new && known->second != name)
      throw InputError(
          {given.option},
          fmt::format("'{}' and '{}' of another --set are one key", printable(name, 40), printable(known->second, 40)),
          "leave one of them out");
    if (replaces(setting)) warn_of_undone(*given_, given);
    given_->push_back(std::move(given));
  }

 private:
  std::shared_ptr<std::map<std::string, std::string>> names_ =
      std::make_shared<std::map<std::string, std::string>>();  // as given, by path
  std::shared_ptr<std::vector<GivenSetting>> given_ = std::make_shared<std::vector<GivenSetting>>();
};

}  // namespace

void add_set(CLI::App& command, std::vector<std::string>& settings, const std::string& example) {
  command
      .add_option("--set", settings,
                  fmt::format("Set a key, as in --set {} (repeatable); KEY*=FACTOR multiplies its value", example))
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->each(InOrder());
}

void Session::set_by(const std::string& option, const std::string& key, const std::string& value) {
  settings.push_back(fmt::format("{}={}", key, value));
  given_as["--set " + printable(settings.back())] = fmt::format("{} {}", option, printable(value));
}

std::vector<Problem> Session::as_given(std::span<const Problem> problems) const {
  std::vector<Problem> given(problems.begin(), problems.end());
  for (Problem& problem : given)
    if (const auto option = given_as.find(problem.where.file); option != given_as.end())
      problem.where.file = option->second;
  return given;
}

void add_nodes(CLI::App& command, Session& session) {
  command
      .add_option_function<std::string>(
          "--nodes",
          [&session](const std::string& nodes) {
            std::vector<GivenSetting> before;
            for (const std::string& setting : session.settings)
              before.push_back({"--set " + printable(setting), plain_path(path_of_setting(setting))});
            warn_of_undone(before, {"--nodes " + printable(nodes), "nodes"});
            session.set_by("--nodes", "nodes", nodes);
          },
          "Number of nodes, as --set nodes=N (default: the experiment's)")
      ->type_name("N");
}

void add_jobs(CLI::App& command, unsigned& jobs, const std::string& what) {
  command.add_option("--jobs", jobs, fmt::format("Number of {} at a time (default: one per core)", what))
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
}

void add_experiment_options(CLI::App& command, Session& session) {
  add_set(command, session.settings, "workload.batch.micro=2");
  add_nodes(command, session);
  command.add_flag("--allow-oom", session.allow_oom, "Accept jobs that exceed device memory (default: exit 5)");
}

void add_dependencies(CLI::App& command, std::string& dependencies) {
  command.add_option("--dependencies", dependencies, "Which dependencies of a trace count (default: both)")
      ->check(one_of("--dependencies", {"both", "data", "ctrl"}));
}

}  // namespace orrery::cli
