#include "experiment/docs.h"

#include <fstream>

#include <fmt/format.h>

#include "experiment/experiment.h"

namespace orrery {
namespace {

constexpr std::string_view kIntroduction =
    "# Configuration\n\n"
    "Generated from the readers by `orrery list keys`.\n\n"
    "An experiment is one YAML file (JSON is YAML). A quantity is written with its unit: `300 GB/s`, `200 Gb/s`, `700 "
    "ns`,\n"
    "`64 MiB`, `312 TFLOP/s`; a bare number is an error. GB = 10^9, GiB = 2^30, Gb/s = 10^9 / 8 bytes per second. "
    "Where the\n"
    "type says so, a value may be the name of a shipped file (a bare name) or the path of your own, relative to the "
    "file that\n"
    "names it. `--set a.b=v` changes a key from the command line; paths there are relative to the working directory.\n"
    "`[]` stands for each element of a list, `<name>` for a name of your choice.\n\n"
    "| key | type | default | meaning |\n|---|---|---|---|\n";

// A cell must not end the table's column.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string configuration_docs(const ConfigFiles& files) {
  std::string text(kIntroduction);
  for (const KeyDescription& key : describe_configuration(files))
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.path, cell(key.type), cell(key.fallback), cell(key.meaning));
  return text;
}

std::string first_comment(const ConfigFiles& files, const std::string& folder, const std::string& name) {
  std::ifstream stream(files.shipped() / folder / (name + ".yaml"));
  std::string line;
  std::getline(stream, line);
  return line.starts_with("# ") ? line.substr(2) : std::string();
}

}  // namespace orrery
