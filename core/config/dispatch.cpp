// SPDX-License-Identifier: MIT
#include "core/config/dispatch.h"

#include "core/config/config.h"

namespace orrery {

DispatchLibrary read_dispatch(Section& section) {
  DispatchLibrary library;
  library.name = section.optional<std::string>("name", "inline", "name that results print");
  section.needs("exchange", library.kind, {"all-to-all", "all-gather", "copies"},
                "all-to-all: a row for each expert of a token, by the library of collectives, all-gather: every rank "
                "gets all tokens, and results come back by reduce-scatter, copies: kernels that send one copy to each "
                "rank of a token's experts, over the network one to each node, which forwards it (DeepEP)");
  section.when(library.kind == DispatchKind::kCopies, [&] {
    section.needs("processors", library.processors, {1, 1024},
                  "with `copies`: streaming multiprocessors that the kernels take; computing beside them has the rest");
    section.needs("processor_rate", library.processor_rate,
                  "with `copies`: rate at which one multiprocessor reads or writes rows, each copy counted");
    // No time follows from it: experiments look it up where ranks have got their devices.
    Choice("reach", "with `copies`: ranks that the kernels connect; node: those of one node (NVLink domain) only",
           {"cluster", "node"})
        .optional(section, 0);
    section.takes("within", library.within, "with `copies`: share of the rate of links within a node");
    section.takes("between", library.between, "with `copies`: share of the rate of links between nodes");
    section.takes("launch", library.launch,
                  "with `copies`: time of a call beside its bytes, with the exchange of how much comes");
    section.takes("doubling", library.doubling, "with `copies`: more of `launch` for each doubling of the nodes");
  });
  section.note("nominal", "what fitted figures would be by data sheets, or before the fit");
  section.sources();
  return library;
}

}  // namespace orrery
