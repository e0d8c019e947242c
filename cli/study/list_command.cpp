// SPDX-License-Identifier: MIT
// Items shipped under configs/: `orrery list KIND`.
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/study/shipped.h"
#include "collectives/algorithms.h"
#include "collectives/libraries.h"
#include "collectives/rounds.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/files/json.h"
#include "experiment/docs.h"
#include "experiment/experiment.h"
#include "experiment/files/file_kinds.h"
#include "experiment/recorded_run.h"
#include "experiment/schema.h"
#include "experiment/sections.h"
#include "network/fabric/topology.h"
#include "report/documents/documents.h"
#include "report/figures.h"
#include "report/operations/operation_facts.h"
#include "report/table.h"
#include "study/benchmark/study.h"
#include "study/calibrate/machine/stages.h"
#include "study/compare/compare.h"
#include "study/explain/explain.h"
#include "study/goodput/study.h"
#include "study/search/search.h"
#include "study/seeds/seeds.h"
#include "study/sweep/columns.h"
#include "study/sweep/file.h"
#include "study/sweep/sweep.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

// --- list

// A column of what is listed: a value for programs, and the same for people.
struct Figure {
  const char* heading;
  const char* key;
  Json value;
  std::string text;
};
using Figures = std::vector<Figure>;

Figure count(const char* heading, const char* key, std::optional<std::int64_t> value) {
  return {heading, key, value ? Json(*value) : Json(), value ? fmt::format("{}", *value) : "-"};
}

Figures model_figures(const std::string& name, const ConfigFiles& files) {
  const workload::ModelSpec model = read_shipped("models", name, files, workload::read_model);
  const std::int64_t parameters = workload::parameter_count(model);
  const ModelShape shape = shape_of(model);
  return {{"parameters", "parameters", parameters, rounded_count(parameters)},
          count("layers", "layers", shape.layers),
          count("hidden", "hidden", shape.hidden)};
}

Figures device_figures(const std::string& name, const ConfigFiles& files) {
  const system::DeviceSpec device = read_shipped("devices", name, files, system::read_device);
  const auto peak = device.peak(Precision::kBf16);
  return {{"memory", "memory_bytes", device.memory_capacity.count(), to_text(device.memory_capacity)},
          {"bandwidth", "memory_bandwidth", device.memory_bandwidth.count(), to_text(device.memory_bandwidth)},
          {"peak (16 bit)", "peak_flops", peak ? Json(peak->count()) : Json(), peak ? to_text(*peak) : "-"}};
}

Figures cluster_figures(const std::string& name, const ConfigFiles& files) {
  std::vector<system::DeviceSpec> devices;
  collectives::NcclConstantList measured;
  Diagnostics diagnostics;
  ConfigValue root{ConfigValue::Kind::kMap, {}, {}, {}, {}};
  apply_setting(root, "cluster=" + name, files, diagnostics);
  ConfigContext context(files, diagnostics);
  std::optional<network::Fabric> fabric;
  read_config(root, context, [&](Section& section) {
    fabric = network::read_cluster(section, experiment::cluster_parts(devices, measured));
  });
  diagnostics.throw_if_errors();
  const ConfigEntry* nodes = root.find("cluster")->value.find("nodes");
  const std::int64_t count_of_nodes = nodes == nullptr ? 1 : parse_whole_number(nodes->value.scalar).value_or(1);
  const std::string network(name_of(fabric->interconnect().network));
  const std::string device = system::devices_text(devices, fabric->devices_of_types());
  return {
      count("GPUs/node", "devices_per_node", fabric->device_count() / count_of_nodes),
      {"device", "device", device, device},
      {"within", "within", name_of(fabric->interconnect().within), std::string(name_of(fabric->interconnect().within))},
      {"network", "network", network, network}};
}

Figures study_figures(const std::string& name, const ConfigFiles& files) {
  const bool sweeps = experiment::file_kind((files.shipped() / "studies" / (name + ".yaml")).string(), files) ==
                      experiment::FileKind::kSweep;
  const std::string kind = sweeps ? "sweep" : "experiment";
  return {{"kind", "kind", kind, kind}};
}

// Figures of a kind of item beside names; null if it has none.
using FiguresOf = Figures (*)(const std::string& name, const ConfigFiles& files);

struct Listing {
  Json items = Json::array();
  report::Table table;
  const char* about = "about";  // heading of the last column
};

void add(Listing& listing, std::string_view name, const Figures& figures, std::string_view about) {
  Json item = {{"name", name}};
  std::vector<std::string> cells = {std::string(name)};
  if (listing.items.empty()) {
    listing.table.column("name", report::Table::Align::kLeft);
    for (const Figure& figure : figures)
      listing.table.column(figure.heading,
                           figure.value.is_string() ? report::Table::Align::kLeft : report::Table::Align::kRight);
    listing.table.column(listing.about, report::Table::Align::kLeft, report::Interest::kRemark);
  }
  for (const Figure& figure : figures) {
    item[figure.key] = figure.value;
    cells.push_back(figure.text);
  }
  item["about"] = about;
  cells.emplace_back(about);
  listing.items.push_back(std::move(item));
  listing.table.row(std::move(cells));
}

Listing shipped(const ConfigFiles& files, const std::string& folder, FiguresOf figures_of) {
  Listing listing;
  try {
    for (const std::string& name : files.names(folder))
      add(listing, name, figures_of == nullptr ? Figures{} : figures_of(name, files),
          experiment::first_comment(files, folder, name));
  } catch (const InputError& error) {  // names are worth listing also where a file is wrong
    spdlog::warn("the list has no figures:\n{}", error.what());
    return shipped(files, folder, nullptr);
  }
  return listing;
}

// Rounds and fan-in are those of a group of this size.
constexpr std::uint32_t kCountedRanks = 16;

void add_algorithm(Listing& listing, const collectives::Algorithm& algorithm) {
  add(listing, algorithm.name, {}, algorithm.description);
  Json& item = listing.items.back();
  Json& costs = item["time"] = Json::object();
  Json& counts = item["of_16_ranks"] = Json::object();
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    if (!algorithm.supports(kind)) continue;
    const std::string name(name_of(kind));
    const collectives::Rounds rounds =
        collectives::rounds_of(algorithm, {.kind = kind, .ranks = kCountedRanks, .bytes_of_rank = {}, .window = {}});
    costs[name] = algorithm.cost(kind);
    counts[name] = {{"rounds", rounds.count}, {"fan_in", rounds.fan_in}};
    listing.table.row(
        {"", fmt::format("  {:<15} {} ranks: {:>2} {}, fan-in {:>2}   {}", name, kCountedRanks, rounds.count,
                         rounds.count == 1 ? "round " : "rounds", rounds.fan_in, algorithm.cost(kind))});
  }
}

// Both tables are sorted by name.
Listing algorithm_list() {
  Listing listing;
  listing.about =
      "times of n ranks and S bytes, c = ceil(S/n), with a link of latency a and bandwidth b between any two; more "
      "where "
      "messages share links, as the ports of a switch";
  auto aliases = collectives::algorithm_aliases();
  const auto add_aliases_before = [&](std::string_view name) {
    for (; !aliases.empty() && (name.empty() || aliases.front().name < name); aliases = aliases.subspan(1)) {
      add(listing, aliases.front().name, {},
          fmt::format("another name of {}: {}", aliases.front().algorithm, aliases.front().description));
      listing.items.back()["stands_for"] = aliases.front().algorithm;
    }
  };
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    add_aliases_before(algorithm.name);
    add_algorithm(listing, algorithm);
  }
  add_aliases_before({});
  return listing;
}

Listing library_list() {
  Listing listing;
  for (const collectives::Library& library : collectives::libraries())
    add(listing, library.name, {}, library.description);
  return listing;
}

Listing topology_list() {
  Listing listing;
  for (const network::Topology& topology : network::topologies()) add(listing, topology.name, {}, topology.summary);
  return listing;
}

Json key_list(const ConfigFiles& files) {
  Json items = Json::array();
  for (const KeyDescription& key : experiment::describe_configuration(files))
    items.push_back({{"name", key.path},
                     {"type", key.type},
                     {"range", key.range},
                     {"default", key.fallback},
                     {"about", key.meaning}});
  return items;
}

// Figures of results, and other columns of tables of sweeps.
Listing figure_list() {
  Listing listing;
  listing.about = "meaning";
  const auto add_row = [&](const std::string& name, const std::string& column, const std::string& unit,
                           const std::string& best, const std::string& meaning) {
    add(listing, name,
        {{"column", "column", column, column.empty() ? "-" : column},
         {"unit", "unit", unit, unit.empty() ? "-" : unit},
         {"best", "best", best, best.empty() ? "-" : best}},
        meaning);
  };
  for (const report::Figure& figure : report::figures())
    add_row(figure.name(), std::string(figure.column_name()), std::string(name_of(figure.unit)),
            std::string(name_of(figure.better)), std::string(figure.meaning));
  for (const study::SweepColumn& column : study::sweep_columns())
    if (!column.is_figure) add_row("", column.name, "text", "", column.meaning);
  return listing;
}

// Documents of the commands whose keys are declared.
std::vector<report::Document> documents() {
  return {report::result_document(),    study::sweep_document(),       study::search_document(),
          study::comparison_document(), study::explanation_document(), study::collective_document(),
          study::seeds_document(),      study::goodput_document(),     study::calibration_document(),
          report::error_document()};
}

// A text that has a form of its own, and the same as data.
Answer answer_in_own_form(std::string text, Json document) {
  Answer answer{{}, std::move(document)};
  answer.as_it_is = std::move(text);
  return answer;
}

Answer document_answer(Json document) {
  std::string text = dump_json(document, 2) + "\n";
  return answer_in_own_form(std::move(text), std::move(document));
}

struct Kind {
  const char* name;
  std::function<Answer(const ConfigFiles&)> answer;
};

Kind kind(const char* name, std::function<Listing(const ConfigFiles&)> list) {
  return {name, [list = std::move(list)](const ConfigFiles& files) {
            Listing listing = list(files);
            return Answer{listing.table.text(), std::move(listing.items)};
          }};
}

Kind shipped_kind(const char* name, FiguresOf figures_of = nullptr) {
  return kind(name, [=](const ConfigFiles& files) { return shipped(files, name, figures_of); });
}

std::vector<Kind> kinds() {
  return {kind("algorithms", [](const ConfigFiles&) { return algorithm_list(); }),
          shipped_kind("clusters", cluster_figures),
          shipped_kind("devices", device_figures),
          shipped_kind("dispatch"),
          kind("figures", [](const ConfigFiles&) { return figure_list(); }),
          {"keys",
           [](const ConfigFiles& files) {
             return answer_in_own_form(experiment::configuration_docs(files, study::describe_sweep(files)),
                                       key_list(files));
           }},
          kind("libraries", [](const ConfigFiles&) { return library_list(); }),
          shipped_kind("links"),
          shipped_kind("models", model_figures),
          shipped_kind("networks"),
          shipped_kind("nodes"),
          shipped_kind("optimizers"),
          shipped_kind("recipes"),
          {"result-schema", [](const ConfigFiles&) { return document_answer(report::documents_schema(documents())); }},
          {"results",
           [](const ConfigFiles&) {
             return answer_in_own_form(report::documents_text(documents()) + report::facts_text(),
                                       report::documents_schema(documents()));
           }},
          {"schema",
           [](const ConfigFiles& files) {
             return document_answer(experiment::configuration_schema(experiment::describe_configuration(files),
                                                                     study::describe_sweep(files)));
           }},
          shipped_kind("software"),
          shipped_kind("studies", study_figures),
          kind("topologies", [](const ConfigFiles&) { return topology_list(); })};
}

// Kinds that are printed as a document of another form.
constexpr std::array<std::string_view, 4> kNoTables = {"keys", "result-schema", "results", "schema"};

void list(const std::string& what, const Session& session) {
  if (what.empty()) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds()) names.emplace_back(kind.name);
    throw InputError({}, "list needs to know what to list", fmt::format("one of: {}", fmt::join(names, ", ")));
  }
  session.outputs.check();
  for (const Kind& kind : kinds()) {
    if (kind.name != what) continue;
    if (std::ranges::count(kNoTables, what) > 0) refuse_table_format(what);
    Answer answer = kind.answer(session.files);
    answer.document = {{"schema", "orrery.list/1"}, {"what", what}, {"items", std::move(answer.document)}};
    session.outputs.give(answer);
  }
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  auto& what = session.keep<std::string>();
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  CLI::App& command = add_command(app, "list", {"orrery list models", "orrery list devices --json -"});
  command.add_option("what", what, "What to list; without it, the kinds are named")
      ->option_text("KIND")
      ->check(one_of("what", names));
  add_outputs(command, session);
  command.callback([&] { list(what, session); });
}

}  // namespace orrery::cli
