#include <fmt/format.h>

#include "core/version.h"
#include "report/result.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json breakdown_json(const Breakdown& b, std::size_t rank) {
  Json exposed = Json::object();
  for (const auto& [name, time] : b.exposed) exposed[printable(name, SIZE_MAX)] = seconds(time);
  return {{"class", rank},
          {"ranks", 1},
          {"first_rank", rank},
          {"compute_s", seconds(b.compute)},
          {"host_s", seconds(b.host)},
          {"memory_s", seconds(b.memory)},
          {"exposed_comm_s", std::move(exposed)},
          {"bubble_s", seconds(b.bubble)},
          {"wait_s", seconds(b.wait)},
          {"idle_s", seconds(b.idle)},
          {"finish_s", seconds(b.finish)}};
}

Json links_json(const std::vector<LinkClassUse>& links) {
  Json list = Json::array();
  for (const LinkClassUse& use : links) {
    list.push_back({{"class", use.name},
                    {"count", use.count},
                    {"bytes", use.bytes},
                    {"busy", use.busy},
                    {"mean_utilisation", use.mean_utilisation}});
  }
  return list;
}

}  // namespace

Json to_json(const Result& result, bool deterministic) {
  Json document = {{"schema", "orrery.result/1"},        {"version", kVersion},
                   {"experiment", result.experiment},    {"iteration_time_s", seconds(result.finish)},
                   {"ranks", result.ranks.size()},       {"rank_classes", result.ranks.size()},
                   {"link_classes", result.links.size()}};
  Json breakdown = Json::array();
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank)
    breakdown.push_back(breakdown_json(result.ranks[rank], rank));
  document["breakdown"] = std::move(breakdown);
  document["links"] = links_json(result.links);
  Json warnings = Json::array();
  for (const Problem& warning : result.warnings) warnings.push_back(to_string(warning));
  document["warnings"] = std::move(warnings);
  Json simulation = {{"events", result.events}, {"messages", result.messages}};
  if (!deterministic) {
    simulation["wall_s"] = result.wall_seconds;
    simulation["peak_rss_bytes"] = result.peak_rss_bytes;
  }
  simulation["granularity"] = result.granularity;
  simulation["model"] = result.network_model;
  simulation["folded"] = false;
  document["simulation"] = std::move(simulation);
  return document;
}

}  // namespace orrery
