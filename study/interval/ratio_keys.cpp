// SPDX-License-Identifier: MIT
// Keys of what to_json() of study/interval/ratio.h writes.
#include "study/interval/ratio.h"

namespace orrery::study {

report::DocumentKeys ratio_interval_keys() {
  using enum report::KeyType;
  return {{kNumber, "low", "ratio to the first"},
          {kNumber, "high", "likewise"},
          {kTruth, "told_apart", "false where a ratio of 1 is within"}};
}

report::DocumentKeys ratio_error_keys() {
  using enum report::KeyType;
  return {{kNumber, "at_most", "the larger of measured / predicted ratio and its inverse, minus 1"},
          {kNumber, "share", "of pairs that have no more"},
          {kWhole, "pairs", "of published runs"},
          {kWhole, "families", "that these are of"},
          {kText, "of", "which sort of model"}};
}

}  // namespace orrery::study
