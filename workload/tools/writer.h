// SPDX-License-Identifier: MIT
// Writes a Job as Chakra traces of schema 0.0.4, one file per rank or one for all ranks that are alike, and the
// communicator groups beside them.
//
// Any reader of Chakra takes one file per rank. What the format has no word for is in attributes that others skip:
// `duration_picos` (workload/traces/node.h), `stream`, `root`, and `pg_desc`, the name of a communicator where that is
// no number: ASTRA-sim knows groups by decimal numbers above 0 only, which is what `pg_name` and the groups file hold.
// Collectives of the world have no `pg_name`.
//
// A node that takes no time, a free one, is a COMP node of the CPU with `duration_picos` 0. Every dependency is in
// data_deps. Read back, a job has the same nodes, numbers and names; only local slots and streams are numbered anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "workload/graph/job.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

// kRole: ranks that are alike share the trace of the first of them, as `<stem>.roles.json` says
// (workload/traces/roles.h), and communicators are called by their names where these tell them apart. Where no two
// ranks are alike it is kRank.
enum class TraceEach : std::uint8_t { kRank, kRole };

// Writes `<directory>/<stem>.<rank>.et` for every rank or role and `<directory>/groups.json`, and makes the directory
// where there is none. The result replays the job:
//
//   workload: {chakra: {prefix: DIRECTORY/STEM, groups: DIRECTORY/groups.json}}
//
// InputError when something cannot be created or written, when `stem` is no file name, and before anything is written
// when the directory holds other traces of that stem, which a reader would take for ranks of this job. A failure leaves
// no part of a job that looks like the whole (OutputFiles).
ChakraSource write_job(const Job& job, const std::filesystem::path& directory, const std::string& stem,
                       TraceEach each = TraceEach::kRank);

// Bytes of the traces that write_job() writes, but for the files of groups and roles. Each different graph is encoded
// once, for the first rank that has it, and counted for all of its ranks: their numbers of groups and peers are about as
// long.
std::uint64_t bytes_of_traces(const Job& job, TraceEach each = TraceEach::kRank);

}  // namespace orrery::workload
