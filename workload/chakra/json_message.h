// One JSON object into one Chakra message. Both spellings of a node are understood: protobuf's JSON, and the flat one
// where costs and communication are keys of the node itself.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "workload/chakra/chakra.pb.h"
#include "workload/chakra/json_scanner.h"

namespace orrery {

// The messages are cleared first. InputError at `place` for a value of the wrong type or range.
void node_from_json(const JsonPlace& place, const nlohmann::json& object, chakra::Node& node);
void metadata_from_json(const JsonPlace& place, const nlohmann::json& object, chakra::GlobalMetadata& metadata);

// Whether an object has no key but those of GlobalMetadata. It may be empty.
bool is_metadata_json(const nlohmann::json& object);

// A key without underscores and in lower case: how keys are compared.
std::string folded_key(std::string_view key);

}  // namespace orrery
