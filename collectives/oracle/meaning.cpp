// SPDX-License-Identifier: MIT
#include "collectives/oracle/meaning.h"

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery::collectives {
namespace {

using enum CollectiveKind;

PieceId share_of(const Exchange& exchange) { return exchange.buffers ? exchange.buffers->share : 1; }

Promise everybody_if(bool wanted) { return {wanted ? Promise::Content::kEverybody : Promise::Content::kAnything, 0}; }

Promise one_if(bool wanted, PieceId owner) {
  return {wanted ? Promise::Content::kOne : Promise::Content::kAnything, static_cast<std::uint32_t>(owner)};
}

}  // namespace

PieceId fixed_piece_kinds(const Exchange& exchange) {
  const PieceId ranks = exchange.ranks;
  switch (exchange.kind) {
    case kAllReduce:
    case kReduce:
    case kBroadcast:
      return 0;
    case kAllToAll:
      return ranks * ranks * share_of(exchange);
    case kAllGather:
    case kGather:
    case kScatter:
    case kReduceScatter:
    case kBarrier:
      return ranks * share_of(exchange);
  }
  ORRERY_ASSERT(false);
}

bool has_input(const Exchange& exchange, std::uint32_t rank, PieceId piece) {
  piece /= share_of(exchange);
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

Promise promise(const Exchange& exchange, std::uint32_t rank, PieceId piece) {
  const bool is_root = rank == exchange.root;
  piece /= share_of(exchange);
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

PieceId place_in(const Buffers& buffers, CollectiveKind kind, std::uint32_t rank, Buffers::Kind buffer,
                 std::uint32_t offset) {
  const PieceId own = buffers.in_place ? PieceId{rank} * buffers.share : 0;
  const PieceId output = buffers.in_place ? 0 : buffers.input;
  switch (buffer) {
    case Buffers::Kind::kInput:
      return (kind == kAllGather || kind == kGather ? own : 0) + offset;
    case Buffers::Kind::kOutput:
      return output + (kind == kReduceScatter || kind == kScatter ? own : 0) + offset;
    case Buffers::Kind::kScratch:
      return PieceId{buffers.scratch_begin()} + offset;
  }
  ORRERY_ASSERT(false);
}

PieceId place_of_input(const Exchange& exchange, std::uint32_t rank, PieceId piece) {
  if (!exchange.buffers) return piece;
  if (exchange.kind == kAllGather || exchange.kind == kGather) piece %= share_of(exchange);
  if (exchange.kind == kAllToAll) piece %= exchange.ranks * share_of(exchange);
  return place_in(*exchange.buffers, exchange.kind, rank, Buffers::Kind::kInput, static_cast<std::uint32_t>(piece));
}

PieceId place_of_result(const Exchange& exchange, std::uint32_t rank, PieceId piece) {
  if (!exchange.buffers) return piece;
  const PieceId share = share_of(exchange);
  if (exchange.kind == kReduceScatter || exchange.kind == kScatter) piece %= share;
  if (exchange.kind == kAllToAll) piece = piece / share / exchange.ranks * share + piece % share;
  return place_in(*exchange.buffers, exchange.kind, rank, Buffers::Kind::kOutput, static_cast<std::uint32_t>(piece));
}

std::string name_of_piece(const Exchange& exchange, PieceId piece) {
  if (!exchange.buffers) return fmt::format("piece {}", piece);
  if (exchange.kind != kAllToAll) return fmt::format("chunk {}", piece);
  const PieceId of_rank = exchange.ranks * share_of(exchange);
  return fmt::format("chunk {} of rank {}", piece % of_rank, piece / of_rank);
}

std::string name_of_place(const Exchange& exchange, PieceId place) {
  const Buffers& buffers = *exchange.buffers;
  if (place >= buffers.scratch_begin()) return fmt::format("s[{}]", place - buffers.scratch_begin());
  if (buffers.in_place) return fmt::format("{}[{}]", buffers.output > buffers.input ? 'o' : 'i', place);
  return place < buffers.input ? fmt::format("i[{}]", place) : fmt::format("o[{}]", place - buffers.input);
}

}  // namespace orrery::collectives
