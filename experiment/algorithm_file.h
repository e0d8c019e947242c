// SPDX-License-Identifier: MIT
// Collective algorithms from files: MSCCL's XML, or Chakra graphs of sends and receives, one per rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/message_table.h"
#include "core/collective_kind.h"
#include "core/units.h"

namespace orrery::experiment {

// True if a word given as an algorithm is a path: it has a '/', or ends in .xml, or in .et and the like.
bool names_algorithm_file(std::string_view word);

// True if the path names Chakra graphs rather than a file of XML.
bool is_of_graphs(const std::string& path);

// Reads and checks the algorithm in `path`: a file of XML, or the prefix of the traces of all ranks (or one of their
// files). It has to be one of `kind`. `written_for`: Request::bytes that the messages of the traces are for; nothing:
// what follows if no contribution is sent twice. Throws InputError.
std::shared_ptr<const collectives::MessageTable> load_algorithm(const std::string& path, CollectiveKind kind,
                                                                std::optional<Bytes> written_for);

}  // namespace orrery::experiment
