// SPDX-License-Identifier: MIT
// JSON documents that commands write, as declarations of their keys. Each room declares its documents beside the code
// that writes them; docs/result-keys.md and the JSON Schema of results are made from the declarations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/figures.h"

namespace orrery::report {

enum class KeyType : std::uint8_t { kNumber, kWhole, kText, kTruth, kTexts, kMap, kList, kAny };

// A key of a document. Its name is also "<NAME>", of any key, or "time_<NAME>_s", of any key of that form.
struct DocumentKey {
  KeyType type;
  std::string name;
  std::string meaning;
  std::vector<DocumentKey> keys{};  // of a map, or of each element of a list of maps
  bool is_optional = false;
};
using DocumentKeys = std::vector<DocumentKey>;

// The same key, which is not always there.
DocumentKey maybe(DocumentKey key);
DocumentKeys maybe(DocumentKeys keys);
DocumentKeys joined(std::initializer_list<DocumentKeys> parts);

// Keys of the figures of a group (report/figures.h), named as in the document of a run.
DocumentKeys figure_keys(FigureGroup group);
// Keys of the figures that stand in points.csv, and those of plans.
DocumentKeys point_keys();
DocumentKeys plan_keys();
// Keys of `error`, of commands that fail.
DocumentKeys failure_keys();
// Keys of `launcher`, of commands that write the arguments of a job.
DocumentKeys launcher_keys();
// Keys of an interval of times, in seconds.
DocumentKeys interval_keys();

struct Document {
  std::string schema;   // "orrery.result/1"
  std::string command;  // that writes it: "run --json"
  std::string about;
  DocumentKeys keys;  // but `schema`
};

// The document of `run`, and that of any command that fails.
Document result_document();
Document error_document();

// docs/result-keys.md: a table of the keys of each document.
std::string documents_text(std::span<const Document> documents);
// A JSON Schema (draft 2020-12) that holds for a document which is one of these.
nlohmann::ordered_json documents_schema(std::span<const Document> documents);

}  // namespace orrery::report
