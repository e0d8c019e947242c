// SPDX-License-Identifier: MIT
#include "tests/collectives/oracle/meaning.h"

#include "core/assert.h"

namespace orrery {
namespace {

using enum CollectiveKind;

Promise everybody_if(bool wanted) { return {wanted ? Promise::Content::kEverybody : Promise::Content::kAnything, 0}; }

Promise one_if(bool wanted, collectives::PieceId owner) {
  return {wanted ? Promise::Content::kOne : Promise::Content::kAnything, static_cast<std::uint32_t>(owner)};
}

}  // namespace

collectives::PieceId fixed_piece_kinds(CollectiveKind kind, std::uint32_t ranks) {
  switch (kind) {
    case kAllReduce:
    case kReduce:
    case kBroadcast:
      return 0;
    case kAllToAll:
      return collectives::PieceId{ranks} * ranks;
    case kAllGather:
    case kGather:
    case kScatter:
    case kReduceScatter:
    case kBarrier:
      return ranks;
  }
  ORRERY_ASSERT(false);
}

bool has_input(const Exchange& exchange, std::uint32_t rank, collectives::PieceId piece) {
  switch (exchange.kind) {
    case kAllReduce:
    case kReduce:
    case kReduceScatter:
      return true;
    case kAllGather:
    case kGather:
    case kBarrier:
      return piece == rank;
    case kScatter:
    case kBroadcast:
      return rank == exchange.root;
    case kAllToAll:
      return piece / exchange.ranks == rank;
  }
  ORRERY_ASSERT(false);
}

Promise promise(const Exchange& exchange, std::uint32_t rank, collectives::PieceId piece) {
  const bool is_root = rank == exchange.root;
  switch (exchange.kind) {
    case kAllReduce:
      return everybody_if(true);
    case kReduce:
      return everybody_if(is_root);
    case kReduceScatter:
      return everybody_if(piece == rank);
    case kAllGather:
    case kBarrier:
      return one_if(true, piece);
    case kGather:
      return one_if(is_root, piece);
    case kScatter:
      return one_if(piece == rank, exchange.root);
    case kBroadcast:
      return one_if(true, exchange.root);
    case kAllToAll:
      return one_if(piece % exchange.ranks == rank, piece / exchange.ranks);
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery
