// SPDX-License-Identifier: MIT
// The files that a calibration writes.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/config/comments.h"
#include "core/config/text.h"
#include "core/error.h"
#include "study/calibrate/machine/stages.h"

namespace orrery::study {
namespace {

using Kind = ConfigValue::Kind;

// "fitted: 6.6 us before; 17 rows of all_reduce.log; 8.9 to 9.1 us in 95 %".
std::string comment_on(const CalibratedConstant& constant) {
  std::string text = fmt::format("fitted: {} before", constant_text(constant.unit, constant.before));
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += "; " + part;
  };
  add(printable(constant.evidence));
  if (const std::string interval = interval_text(constant); !interval.empty()) add(interval + " in 95 %");
  add(constant.remark);
  return text;
}

// Comments beside values, by path, where the files say them that these were read from.
void keep_comments(const ConfigValue& value, const std::string& path, Comments& said,
                   std::map<std::string, std::string>& kept) {
  for (const ConfigEntry& entry : value.entries) {
    const std::string here = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    if (entry.value.kind == Kind::kMap)
      keep_comments(entry.value, here, said, kept);
    else if (const std::string_view comment = said.behind(entry.value.where); !comment.empty())
      kept[here] = printable(comment, 500);
  }
}

// The names under `fitted` of a software, by the keys that are fitted. `traffic` has several kinds below it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFittedNames = {{
    {"gemm", "gemm"},
    {"bf16", "bf16"},
    {"fp8", "fp8"},
    {"traffic", "traffic"},
    {"flash_forward", "flash"},
    {"flash_backward", "flash"},
    {"accumulation", "accumulation"},
    {"optimizer", "optimizer"},
}};

// Adds a constant of a software to the list `fitted` that belongs to it.
void add_to_fitted(ConfigValue& software, const std::string& key) {
  std::vector<std::string> steps = split_key_path(key);
  const bool is_rate = steps.front() == "rates", is_of = steps.front() == "rates_of" && steps.size() > 2;
  const std::string constant = is_rate && steps.size() > 1 ? steps[1] : is_of ? steps[2] : steps.front();
  const auto name = std::ranges::find(kFittedNames, constant, [](const auto& pair) { return pair.first; });
  if (name == kFittedNames.end()) return;
  ConfigValue* owner = &software;
  if (is_of) {
    ConfigEntry* rates = software.find("rates_of");
    ConfigEntry* of = rates == nullptr ? nullptr : rates->value.find(steps[1]);
    if (of == nullptr) return;
    owner = &of->value;
  }
  ConfigEntry* fitted = owner->find("fitted");
  if (fitted == nullptr) {
    owner->entries.push_back({"fitted", {}, {Kind::kList, {}, {}, {}, {}}});
    fitted = &owner->entries.back();
  }
  if (fitted->value.kind == Kind::kScalar) {
    ConfigValue list{Kind::kList, {}, {}, {fitted->value}, {}};
    fitted->value = std::move(list);
  }
  fitted->value.kind = Kind::kList;
  if (std::ranges::count(fitted->value.items, name->second, &ConfigValue::scalar) == 0)
    fitted->value.items.push_back({Kind::kScalar, {}, std::string(name->second), {}, {}});
}

}  // namespace

std::string calibrated_file(const MachineCalibration& calibration, CalibratedFile file, const std::string& from,
                            const ConfigFiles& files) {
  const bool is_cluster = file == CalibratedFile::kCluster;
  ConfigValue root = is_cluster ? calibration.machine.cluster : calibration.machine.software;
  move_paths(root, {});
  std::map<std::string, std::string> comments;  // by path; a later stage's stands
  for (const Finding& finding : calibration.findings)
    for (const CalibratedConstant& constant : finding.constants) {
      if (constant.file != file || !constant.determined()) continue;
      comments[constant.key] = comment_on(constant);
      if (!is_cluster) add_to_fitted(root, constant.key);
    }
  // Keeps what the files before said of the other values, as an earlier calibration of its own.
  Comments said(files);
  std::map<std::string, std::string> kept;
  keep_comments(root, "", said, kept);
  std::set<std::string> told;
  const std::string body = yaml_text(root, [&](const std::string& path) {
    const auto comment = comments.find(path);
    if (comment == comments.end()) return kept.contains(path) ? kept.at(path) : std::string();
    told.insert(path);
    return comment->second;
  });
  std::string head = fmt::format("# {}\n", printable(from, 2000));
  for (const auto& [path, comment] : comments)  // of keys in lists
    if (!told.contains(path)) head += fmt::format("# {}: {}\n", path, comment);
  return head + body;
}

}  // namespace orrery::study
