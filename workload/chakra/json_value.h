// JSON values as protobuf's JSON mapping reads them, into fields of a message by reflection: integers as numbers or
// strings, enums as names or numbers, bytes in base64.
#pragma once

#include <string>

#include <google/protobuf/message.h>
#include <nlohmann/json_fwd.hpp>

#include "workload/chakra/json_scanner.h"

namespace orrery {

// Sets (or, for a repeated field, appends to) `field` of `message`. null leaves it alone. `path` names the value in
// errors.
void set_from_json(const JsonPlace& place, const std::string& path, const nlohmann::json& value,
                   google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);

// Sets every field of `message` that `object` has a key for, in snake_case or camelCase; other keys are ignored.
void message_from_json(const JsonPlace& place, const std::string& path, const nlohmann::json& object,
                       google::protobuf::Message& message);

}  // namespace orrery
