// SPDX-License-Identifier: MIT
// The keys of a transformer's attention, and of kinds of layers that differ from one another.
#pragma once

#include "core/config/config.h"
#include "workload/training/spec/model.h"

namespace orrery::workload {

// Keys of attention that a model has and that a kind overrides. `heads` is read by the caller.
void read_attention_shape(Section& section, AttentionSpec& attention);

// Keys of attention whose values do not go together. `hidden` gives heads their size if nothing else does.
void check_attention(Section& section, const TransformerSpec& model, AttentionSpec& attention);

// `kinds`, `pattern` and `window_interval`; the model's own attention has been read before.
void read_kinds(Section& section, TransformerSpec& model);

}  // namespace orrery::workload
