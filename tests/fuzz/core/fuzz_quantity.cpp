// SPDX-License-Identifier: MIT
// Quantities and shares from hostile text. What is accepted is in range and comes back the same from its own text; what
// is refused says why.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace orrery;

template <class T>
void check_refusal(const Parsed<T>& parsed) {
  ORRERY_ASSERT(parsed.value.has_value() == parsed.problem.empty());
}

template <class Q>
void check_quantity(std::string_view text, std::int64_t least) {
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  check_refusal(parsed);
  if (!parsed.value) return;
  ORRERY_ASSERT(parsed.value->count() >= least);
  const Parsed<Q> again = parse_quantity<Q>(to_text(*parsed.value));
  ORRERY_ASSERT(again.value && *again.value == *parsed.value);
}

}  // namespace

ORRERY_FUZZER(fuzz_quantity, text) {
  check_quantity<Bytes>(text, 0);
  check_quantity<Bandwidth>(text, 1);
  check_quantity<Duration>(text, 0);
  check_quantity<Flops>(text, 0);
  check_quantity<FlopRate>(text, 1);
  const Parsed<double> share = parse_share(text);
  check_refusal(share);
  ORRERY_ASSERT(!share.value || (std::isfinite(*share.value) && *share.value >= 0));
}
