// SPDX-License-Identifier: MIT
#include "experiment/evidence/figures.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/comments.h"
#include "core/config/quantity_text.h"
#include "experiment/evidence/recorded.h"
#include "experiment/experiment.h"

namespace orrery::experiment {
namespace {

using report::EvidenceKind;
using Kind = ConfigValue::Kind;

const ConfigValue* child(const ConfigValue& value, std::string_view key) {
  const ConfigEntry* entry = value.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

// "dims[3].size" -> "dims[].size".
std::string without_numbers(std::string_view path) {
  std::string plain;
  bool is_within = false;
  for (const char c : path) {
    if (c == ']') is_within = false;
    if (!is_within) plain += c;
    if (c == '[') is_within = true;
  }
  return plain;
}

bool leads_to(std::string_view path, std::string_view key) {
  return path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[');
}

// The words of a list, or those of a sentence between commas and semicolons.
std::vector<std::string> words_of(const ConfigValue* value, std::string_view separators) {
  std::vector<std::string> words;
  if (value == nullptr) return words;
  if (value->kind == Kind::kList)
    for (const ConfigValue& item : value->items)
      if (item.kind == Kind::kScalar) words.push_back(item.scalar);
  if (value->kind != Kind::kScalar) return words;
  std::string_view rest = value->scalar;
  while (!rest.empty()) {
    const std::size_t end = separators.empty() ? std::string_view::npos : rest.find_first_of(separators);
    words.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(std::min(rest.size(), end + 1 + (rest.substr(end + 1).starts_with(' ') ? 1 : 0)));
  }
  return words;
}

// Sources, which a line may name several of.
std::vector<std::string> sources_in(const ConfigValue* value) {
  std::vector<std::string> sources;
  for (std::string_view rest : words_of(value, ""))
    while (!rest.empty()) {
      const std::size_t end = rest.find("; ");
      sources.emplace_back(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
    }
  return sources;
}

// A map with lists of its own, and all below it that is written in the same file.
struct Scope {
  const ConfigValue* root = nullptr;
  std::string path;  // of the map
  std::string file;
  std::vector<std::string> citations;
  std::vector<std::string> assumed, fitted, measured;
  const Scope* above = nullptr;  // in the same file

  // `path` of a figure, from the map on and without the numbers of lists.
  std::string below(std::string_view figure) const {
    std::string_view rest = figure.substr(std::min(figure.size(), path.size()));
    if (rest.starts_with('.')) rest.remove_prefix(1);
    std::string plain;
    for (const char c : without_numbers(rest))
      if (c != '[' && c != ']') plain += c;
    return plain;
  }
};

// True if an entry of a list names a figure: its key, a section that it is in, or the same below the first key, as
// "gemm" of "rates.gemm"; "flash" is both passes, as software lists it.
bool names(std::string_view entry, std::string_view figure) {
  const auto matches = [&](std::string_view path) {
    return leads_to(path, entry) || (entry == "flash" && (path == "flash_forward" || path == "flash_backward"));
  };
  if (matches(figure)) return true;
  const std::size_t dot = figure.find('.');
  return figure.starts_with("rates.") && matches(figure.substr(dot + 1));
}

bool is_listed(const std::vector<std::string>& list, std::string_view figure) {
  return std::ranges::any_of(list, [&](const std::string& entry) { return !entry.empty() && names(entry, figure); });
}

// An outer map's list may name what has lists of its own.
bool is_assumed(const Scope& scope, std::string_view figure) {
  for (const Scope* at = &scope; at != nullptr; at = at->above)
    if (is_listed(at->assumed, at->below(figure))) return true;
  return false;
}

// Constants of a software's `rates` are listed as such, though other keys may have the same name ("fp8").
bool is_fitted(const Scope& scope, std::string_view figure) {
  const ConfigValue* rates = child(*scope.root, "rates");
  if (rates == nullptr) return is_listed(scope.fitted, figure);
  return std::ranges::any_of(scope.fitted, [&](const std::string& entry) {
    const ConfigValue* own = child(*scope.root, entry);
    const bool is_own = own != nullptr && own->kind == Kind::kScalar;
    return is_own ? figure == entry : figure.starts_with("rates.") && names(entry, figure);
  });
}

// Kinds by the lists that a figure is in.
std::vector<EvidenceKind> listed_kinds(const Scope& scope, std::string_view figure) {
  const std::string key = scope.below(figure);
  std::vector<EvidenceKind> kinds;
  if (is_assumed(scope, figure)) kinds.push_back(EvidenceKind::kAssumed);
  if (is_fitted(scope, key)) kinds.push_back(EvidenceKind::kFitted);
  if (is_listed(scope.measured, key)) kinds.push_back(EvidenceKind::kMeasured);
  return kinds;
}

// The kind that a comment begins with, and what it says behind that.
std::pair<std::optional<EvidenceKind>, std::string_view> kind_in(std::string_view comment) {
  for (const EvidenceKind kind : {EvidenceKind::kAssumed, EvidenceKind::kFitted, EvidenceKind::kMeasured}) {
    const std::string_view word = name_of(kind);
    if (!comment.starts_with(word)) continue;
    std::string_view rest = comment.substr(word.size());
    if (!rest.empty() && rest.front() != ':' && rest.front() != ' ' && rest.front() != ',' && rest.front() != ';')
      continue;
    const std::size_t from = rest.find_first_not_of(":,; ");
    return {kind, from == std::string_view::npos ? std::string_view{} : rest.substr(from)};
  }
  return {std::nullopt, comment};
}

bool is_number(std::string_view text) { return !text.empty() && text.front() >= '0' && text.front() <= '9'; }

// Values that leave a time as it is: a factor of 1, a whole share, nothing added.
bool changes_nothing(std::string_view value) {
  if (!is_number(value)) return true;
  if (value == "1" || value == "100 %") return true;
  return value.substr(0, value.find(' ')) == "0";
}

constexpr std::array<std::string_view, 8> kNoFigures = {"source", "assumed", "fitted", "measured",
                                                        "name",   "nominal", "seed",   "of"};
// Words that decide on times as figures do.
constexpr std::array<std::string_view, 8> kWords = {"attention", "gradients", "tensor", "graphs",
                                                    "selective", "recompute", "zero",   "dispatch"};

class Finder {
 public:
  Finder(std::span<const IdleKey> idle, const std::string& file, const RecordedFigures& recorded,
         const ConfigFiles& files)
      : file_(file), recorded_(recorded), shipped_(files.shipped().string() + "/"), comments_(files) {
    for (const IdleKey& key : idle) idle_.push_back(without_numbers(key.path));
  }

  std::vector<Figure> find(const ConfigValue& resolved) && {
    walk(resolved, "", "", "", {&resolved, "", resolved.where.file, {}, {}, {}, {}, nullptr});
    take_from_software();
    std::ranges::stable_sort(figures_, {}, [](const Figure& figure) -> const std::string& { return figure.shown.key; });
    return std::move(figures_);
  }

 private:
  // Choices that a job leaves to its software are known as well as the software's own key.
  void take_from_software() {
    for (Figure& figure : figures_)
      for (const std::string_view key : {"zero", "sequence"}) {
        const std::string ending = fmt::format("workload.parallel.{}", key);
        if (!figure.shown.is_default || !figure.shown.key.ends_with(ending)) continue;
        std::string own = figure.shown.key;
        const std::string of_software =
            fmt::format("{}workload.software.{}", own.substr(0, own.size() - ending.size()), key);
        const auto found = std::ranges::find(figures_, of_software,
                                             [](const Figure& one) -> const std::string& { return one.shown.key; });
        if (found == figures_.end() || found->shown.is_default || found->shown.value != figure.shown.value) continue;
        figure.shown = found->shown;
        figure.shown.key = std::move(own);
      }
  }

  bool is_shipped(const std::string& file) const { return file != file_ && file.starts_with(shipped_); }

  std::string shown_path(const std::string& file) const {
    return file.starts_with(shipped_) ? "configs/" + file.substr(shipped_.size()) : file;
  }

  static Scope scope_of(const ConfigValue& map, const std::string& path, const Scope& above) {
    const bool has_lists = std::ranges::any_of(map.entries, [](const ConfigEntry& entry) {
      return entry.defaulted.empty() && (entry.key == "source" || entry.key == "assumed" || entry.key == "fitted");
    });
    if (!has_lists && (map.where.file == above.file || is_setting(map.where))) return above;
    Scope scope{&map,
                path,
                map.where.file,
                sources_in(child(map, "source")),
                words_of(child(map, "assumed"), ";,"),
                words_of(child(map, "fitted"), ",;"),
                {},
                map.where.file == above.file ? &above : nullptr};
    if (const ConfigValue* measured = child(map, "measured"); measured != nullptr && measured->kind == Kind::kList)
      scope.measured = words_of(measured, "");
    if (scope.citations.empty() && map.where.file == above.file) scope.citations = above.citations;
    return scope;
  }

  bool is_idle(const std::string& path) const {
    const std::string plain = without_numbers(path);
    return std::ranges::any_of(idle_, [&](const std::string& key) { return leads_to(plain, key); });
  }

  void walk(const ConfigValue& value, const std::string& path, const std::string& link, const std::string& comment,
            const Scope& above) {
    if (value.kind == Kind::kList) {
      std::size_t index = 0;
      for (const ConfigValue& item : value.items) {
        const std::string here = fmt::format("{}[{}]", path, index++);
        if (item.kind == Kind::kScalar)
          add({std::string(), item.where, item}, here, link, comment, above);
        else
          walk(item, here, name_of(item, link), comment, above);
      }
      return;
    }
    const Scope scope = scope_of(value, path, above);
    for (const ConfigEntry& entry : value.entries) {
      const std::string here = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
      if (entry.key == "workload") add_replayed(entry.value, here);
      if (here.ends_with(".compute.measured")) add_measured(entry, here);
      if (std::ranges::find(kNoFigures, entry.key) != kNoFigures.end()) continue;
      const std::string own(comments_.behind(entry.where));
      std::string said = own.empty() ? comment : own;
      if (entry.key == "links" && own.empty()) said = comments_.above(entry.where);
      if (entry.value.kind == Kind::kScalar)
        add(entry, here, link_of(here, entry.key, link), said, scope);
      else
        walk(entry.value, here, name_below(entry, link), entry.value.where.file == entry.where.file ? said : "", scope);
    }
  }

  // Times that files have, in place of figures.
  void add_times(const std::string& path, const std::string& value, const Location& where, std::string what) {
    Figure figure;
    figure.shown = {path, value, where, EvidenceKind::kMeasured, false, std::move(what), {}, {}};
    add(std::move(figure));
  }
  void add_replayed(const ConfigValue& workload, const std::string& path) {
    for (const char* key : {"chakra", "profile", "layers", "goal"}) {
      const ConfigValue* source = child(workload, key);
      const ConfigValue* prefix = source == nullptr ? nullptr : child(*source, "prefix");
      if (prefix != nullptr) source = prefix;
      if (source == nullptr) continue;
      const std::string value = source->kind == Kind::kScalar ? source->scalar : key;
      return add_times(path, value, source->where, "durations that it holds");
    }
  }
  void add_measured(const ConfigEntry& entry, const std::string& path) {
    add_times(path, fmt::format("{}", fmt::join(words_of(&entry.value, ""), ", ")), entry.value.where,
              "measured times of kernels");
  }
  void add(Figure figure) {
    figure.shown.where.file = shown_path(figure.shown.where.file);
    figures_.push_back(std::move(figure));
  }

  // Links are called as their classes are; those of a kind as what they are the links of.
  static std::string below(const std::string& key, const std::string& above) {
    if (key == "nics") return "nic";
    if (key == "host_link" || key == "pcie") return "pcie";
    if (key == "scale_out") return "scale-out";
    if (key == "network") return "nic";
    if (key == "capacities" || key == "link" || key == "node" || key == "classes" || key == "scale") return above;
    return key;
  }
  static std::string name_below(const ConfigEntry& entry, const std::string& above) {
    const std::string name = below(entry.key, above);
    return entry.key == "scale_out" ? name : name_of(entry.value, name);
  }
  static std::string name_of(const ConfigValue& map, const std::string& otherwise) {
    const ConfigValue* name = child(map, "class");
    if (name == nullptr && child(map, "topology") != nullptr) name = child(map, "name");
    return name != nullptr && name->kind == Kind::kScalar ? name->scalar : otherwise;
  }
  static std::string link_of(const std::string& path, std::string key, const std::string& link) {
    if (key.starts_with("host_")) return "pcie";
    if (key.starts_with("nvlink")) return "nvlink";
    if (path.find(".capacities.") == std::string::npos) return link;
    for (const std::string_view ending : {"_latency", "_efficiency"})
      if (key.ends_with(ending)) key.resize(key.size() - ending.size());
    std::ranges::replace(key, '_', '-');
    return key;
  }

  static Figure::Role role_of(const std::string& value) {
    if (is_quantity<Duration>(value)) return Figure::Role::kLatency;
    if (is_quantity<Bandwidth>(value) || is_quantity<Efficiency>(value)) return Figure::Role::kBandwidth;
    return Figure::Role::kOther;
  }

  void add(const ConfigEntry& entry, const std::string& path, const std::string& link, const std::string& comment,
           const Scope& scope) {
    const std::string& value = entry.value.scalar;
    const bool is_word = !is_number(value) && !parse_boolean(value);
    if (is_word && std::ranges::find(kWords, entry.key) == kWords.end()) return;
    // A value that was worked out in the recorded run stands beside those that it came from.
    if (is_idle(path) && !recorded_.contains(path)) return;
    Figure figure;
    figure.shown.key = path;
    figure.shown.value = value;
    figure.shown.where = entry.value.where;
    figure.link = link;
    if (path.starts_with("cluster.")) figure.role = role_of(value);
    judge(entry, comment, scope, figure);
    add(std::move(figure));
  }

  void judge(const ConfigEntry& entry, const std::string& comment, const Scope& scope, Figure& figure) const {
    report::EvidenceFigure& shown = figure.shown;
    const std::string& file = entry.value.where.file;
    // Sources of the file are not those of what it assumes.
    const auto cite = [&] {
      if (shown.kind == EvidenceKind::kAssumed) return;
      shown.citations = scope.citations;
      if (shown.source.empty()) shown.source = fmt::format("{}", fmt::join(scope.citations, "; "));
    };
    if (!entry.defaulted.empty()) {
      shown.is_default = true;
      shown.kind = EvidenceKind::kAssumed;
      const bool follows = entry.defaulted != "default";
      const bool is_said = is_assumed(scope, shown.key);
      figure.counts = is_said || (!follows && !changes_nothing(shown.value));
      shown.source = is_said ? "assumed by " + shown_path(scope.file) : follows ? entry.defaulted : "default of Orrery";
      return;
    }
    if (is_setting(entry.value.where) || file.starts_with("--")) {
      shown.kind = EvidenceKind::kGiven;
      shown.source = file;
      shown.where.line = 0;
      return;
    }
    const bool is_of_scope = file == scope.file;
    const auto [said, words] = kind_in(comment);
    shown.source = std::string(words);
    const bool is_own = !is_shipped(file) && (!is_of_scope || scope.citations.empty());
    const std::vector<EvidenceKind> kinds = is_of_scope ? listed_kinds(scope, shown.key) : std::vector<EvidenceKind>{};
    figure.agrees = kinds.size() <= 1 && (!said || kinds.empty() || kinds.front() == *said);
    if (said)
      shown.kind = *said;
    else if (!kinds.empty())
      shown.kind = kinds.front();
    else if (shown.key.starts_with("cluster.nccl."))  // constants that were measured on this cluster
      shown.kind = EvidenceKind::kMeasured;
    else
      shown.kind = is_own ? EvidenceKind::kGiven : EvidenceKind::kSourced;
    if (is_of_scope) cite();
  }

  std::vector<std::string> idle_;  // keys that change nothing
  const std::string& file_;
  const RecordedFigures& recorded_;
  std::string shipped_;
  Comments comments_;
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<Figure> find_figures(const ConfigValue& resolved, std::span<const IdleKey> idle, const std::string& file,
                                 const ConfigFiles& files) {
  const RecordedFigures recorded = recorded_figures(file, files);
  std::vector<Figure> figures = Finder(idle, file, recorded, files).find(resolved);
  take_recorded(figures, recorded);
  return figures;
}

std::vector<report::EvidenceFigure> find_assumptions(const ConfigValue& resolved, std::span<const IdleKey> idle,
                                                     const std::string& file, const ConfigFiles& files) {
  constexpr std::array<std::string_view, 18> kChoices = {"software.attention",
                                                         "software.dropout",
                                                         "software.gradients",
                                                         "software.selective",
                                                         "software.optimizer",
                                                         "software.accumulation",
                                                         "software.overlap",
                                                         "software.scatter_gather",
                                                         "software.step",
                                                         "software.recompute_all",
                                                         "software.host.launch",
                                                         "software.host.graphs",
                                                         "software.fp8",
                                                         "software.host.reads_sizes",
                                                         "software.host.router",
                                                         "recipe",
                                                         "recompute",
                                                         "parallel.zero"};
  std::vector<report::EvidenceFigure> assumptions;
  for (Figure& figure : find_figures(resolved, idle, file, files)) {
    const std::string_view key = figure.shown.key;
    const std::size_t at = key.find("workload.");
    const std::string_view below = at == std::string_view::npos ? std::string_view{} : key.substr(at + 9);
    const bool is_choice = std::ranges::any_of(kChoices, [&](std::string_view one) { return leads_to(below, one); });
    if (is_choice || below == "parallel.sequence" || key == "collectives.contention")
      assumptions.push_back(std::move(figure.shown));
  }
  return assumptions;
}

void explain_defaults(report::Evidence& evidence, const ConfigFiles& files) {
  std::map<std::string, std::string> meanings;
  for (const KeyDescription& key : describe_configuration(files)) meanings.try_emplace(key.path, key.meaning);
  for (report::EvidenceFigure& figure : evidence.figures) {
    if (!figure.is_default) continue;
    std::string path = without_numbers(figure.key);
    const std::string of_job = "jobs[].";
    if (path.starts_with(of_job + "workload.")) path = path.substr(of_job.size());
    const auto meaning = meanings.find(path);
    if (meaning != meanings.end()) figure.source += ": " + meaning->second;
  }
}

}  // namespace orrery::experiment
