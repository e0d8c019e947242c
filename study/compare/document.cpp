// SPDX-License-Identifier: MIT
// Keys of the document that comparison_json() writes.
#include "study/compare/compare.h"
#include "study/interval/ratio.h"

namespace orrery::study {

report::Document comparison_document() {
  using enum report::KeyType;
  using report::maybe;
  const report::DocumentKeys reason = {
      {kTexts, "keys", "that differ"},
      {kText, "reason", "that nothing comes of them"},
      {kText, "remedy", "may be empty"},
      {kText, "text", "all of it in a sentence"},
      maybe({kTexts, "with", "settings of other keys, with which these may act"}),
      maybe({kNumber, "saved_with", "share of the first's time that is saved with these settings, simulated"}),
      maybe({kNumber, "saved_alone", "share of it that these settings save without what differs"})};
  return {
      "orrery.comparison/1",
      "`compare --json`",
      "",
      {{kList,
        "runs",
        "the experiments",
        {{kText, "name", ""},
         {kNumber, "time_s", ""},
         {kNumber, "ratio", "to the first"},
         {kMap, "parts_s", "mean over ranks", {{kNumber, "<PART>", ""}}},
         {kMap, "part_kinds", "of the same, in a word: `compute`, `wait`, `tensor`", {{kText, "<PART>", ""}}},
         {kText, "work", "what it does: `trains a model`, `replays traces`, ..."},
         {kMap, "figures", "all that it has, as `orrery list figures` names them", {{kAny, "<FIGURE>", ""}}},
         maybe({kMap, "memory_bytes", "of the fullest rank by use; the sum is in use", {{kWhole, "<USE>", ""}}}),
         maybe({kTruth, "fits",
                "false if the fullest rank may run out of memory: with libraries it needs more than its device's "
                "driver has"}),
         maybe({kNumber, "tokens_per_s_per_gpu", "of a training job"}),
         maybe({kNumber, "samples_per_s_per_gpu", "the same where its model has no tokens"}),
         maybe({kMap, "ratio_error", "how far off ratios to the first are", ratio_error_keys()}),
         maybe({kMap, "ratio_interval", "of the measured ratio, as these errors have it", ratio_interval_keys()}),
         maybe({kText, "sureness", "how sure the ratio is, in a sentence, or why that is not known"}),
         maybe({kText, "unlike",
                "why the time is no measure beside the first's: other work, or iterations of another size"}),
         maybe({kText, "by_hand", "key that no published run has so, for which there is no such error"}),
         maybe({kList, "no_difference", "of one that takes as long as the first", reason}),
         maybe({kList, "held_up", "of one that takes another time: faster links that others hold up", reason})}},
       {kList,
        "figures",
        "that comparisons show beside the time, of those that a run has",
        {{kText, "name", "as in `runs[].figures`"},
         {kText, "heading", ""},
         {kText, "unit", ""},
         {kText, "better", "`less`, `more` or empty"},
         {kAny, "ratios", "of each run to the first, or null"}}},
       maybe({kTexts, "out_of_memory", "sentences on runs that may run out of memory, or would"}),
       maybe({kList,
              "settings",
              "of two experiments",
              {{kText, "key", ""}, {kText, "first", "`-` where it has no such key"}, {kText, "second", "likewise"}}}),
       maybe({kList,
              "operations",
              "of two experiments, on the critical path, the largest difference first; each layer by itself",
              {{kText, "what", ""},
               {kNumber, "first_s", ""},
               {kNumber, "second_s", ""},
               {kNumber, "difference_s", ""}}})}};
}

}  // namespace orrery::study
