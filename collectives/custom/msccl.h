// SPDX-License-Identifier: MIT
// MSCCL's XML: an algorithm as the steps of every thread block of every GPU.
//
//   <algo name proto nchannels nchunksperloop ngpus coll inplace>
//     <gpu id i_chunks o_chunks s_chunks>
//       <tb id send recv chan>
//         <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
//
// The steps of a thread block follow one another; one with `depid` also comes after step `deps` of that block. What a
// step does, with the places of its own GPU (docs/custom-algorithms.md has the table): s sends src; r receives into
// dst; rcs receives into dst and sends that on; rrc, rrcs and rrs add src to what is received, and store the sum in
// dst, store and send it, or only send it; cpy copies src to dst; re adds src to dst; nop only waits.
#pragma once

#include <string>
#include <string_view>

#include "collectives/custom/actions.h"

namespace orrery::collectives {

struct MscclAlgorithm {
  std::string name;
  WrittenCollective written;
};

// Throws InputError, with the line of the element, for what is no such file. check_written() is still to come.
MscclAlgorithm read_msccl(const std::string& file, std::string_view text);

}  // namespace orrery::collectives
