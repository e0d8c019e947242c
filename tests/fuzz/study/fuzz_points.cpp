// SPDX-License-Identifier: MIT
// Answers that studies keep, from hostile text in a file that is otherwise sound: the point that was kept, or none.
// What is read can be told and kept again, as the same.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/files/json.h"
#include "core/sha256.h"
#include "report/parts.h"
#include "study/points/point.h"
#include "study/points/store.h"
#include "tests/fuzz/fuzzed_files.h"
#include "tests/fuzz/fuzzer.h"

namespace orrery::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// A file as PointStore::keep() writes it; the text as it is where it is no JSON.
std::string kept_file(const std::string& key, std::string_view text) {
  const auto answer = json_of<Json>(text);
  if (!answer) return std::string(text);
  std::string plain;
  try {
    plain = answer->dump();
  } catch (const nlohmann::json::exception&) {  // of bytes that are no UTF-8
    return std::string(text);
  }
  return fmt::format(R"({{"schema": "orrery.point/2", "key": "{}", "check": "{}", "answer": {}}})", key,
                     sha256_of(plain), text);
}

void check_point(const study::Point& point) {
  ORRERY_ASSERT(point.was_begun());
  for (const Problem& problem : point.warnings) ORRERY_ASSERT(!to_string(problem).empty());
  for (const Problem& problem : point.refusal) ORRERY_ASSERT(!to_string(problem).empty());
  const Json kept = study::to_json(point);
  ORRERY_ASSERT(study::to_json(study::point_of(kept)) == kept);
  if (!point.figures) return;
  for (const report::Part& part : point.figures->parts) {
    ORRERY_ASSERT(part.kind <= report::PartKind::kSlowed);
    ORRERY_ASSERT(part.kind == report::PartKind::kCommunication || !report::short_name(part).empty());
  }
}

}  // namespace
}  // namespace orrery::fuzz

ORRERY_FUZZER(fuzz_points, text) {
  using namespace orrery;
  using namespace orrery::fuzz;
  static const FuzzedFolder folder;
  const std::string key(64, 'a');
  folder.write(key + ".json", kept_file(key, text));
  study::PointStore store(folder.path_of(""), study::PointStore::OnlyRead{});
  study::Point point;
  if (store.find(key, [&](const Json& answer) { point = study::point_of(answer.at("point")); })) check_point(point);
}
