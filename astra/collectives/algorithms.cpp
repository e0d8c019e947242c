// SPDX-License-Identifier: MIT
#include "astra/collectives/algorithms.h"

#include <algorithm>
#include <bit>
#include <queue>

#include "core/assert.h"

namespace orrery::astra {
namespace {

// Packets that go round: ring, direct and halvingDoubling. Each of the first `window_` packets and each packet received
// is held; then the oldest of those that were held and not yet sent may go. Whether a held packet is reduced follows
// from how many were held before: rounds of `window_` plain ones and `charged` others, of which an all-reduce charges
// every second round.
class Packets : public PhaseAlgorithm {
 public:
  Packets(const Phase& phase, Stage& stage)
      : stage_(stage), comm_(phase.comm), ring_(phase.ring), local_(phase.local) {}

  void run(PhaseEvent event, std::uint32_t) override {
    if (event == PhaseEvent::kStart) {
      for (std::uint32_t i = 0; i < window_; ++i) insert();
    } else if (event == PhaseEvent::kReceived) {
      ++received_;
      on_receive();
      insert();
    } else {
      ++free_;
      release();
    }
  }

 protected:
  struct Move {
    Peer to;
    Peer from;
    std::uint64_t bytes = 0;
  };
  // The packet that was inserted as the `number`-th.
  virtual Move move(std::uint32_t number) const = 0;
  // A packet has been held.
  virtual void release() {
    send_one();
    finish_if_done();
  }
  virtual void on_receive() {}

  bool send_one() {
    if (inserted_ == sent_ || to_send_ == 0 || free_ == 0) return false;
    const Move next = move(sent_);
    ++sent_;
    --to_send_;
    --free_;
    stage_.send(next.to, next.bytes);
    stage_.receive(next.from, next.bytes);
    return true;
  }
  void finish_if_done() {
    if (to_send_ == 0 && free_ == window_) stage_.finish();
  }

  Stage& stage_;
  CommKind comm_;
  Ring ring_;
  bool local_;
  std::uint32_t window_ = 1;
  std::uint64_t to_send_ = 0;
  std::uint64_t charged_ = 0;  // packets of a round that may be reduced
  std::uint32_t received_ = 0;

 private:
  void insert() {
    if (plain_left_ == 0 && charged_left_ == 0) {
      plain_left_ = window_;
      charged_left_ = charged_;
      odd_round_ = !odd_round_;
    }
    const std::uint64_t bytes = move(inserted_++).bytes;
    if (plain_left_ > 0) {
      --plain_left_;
      return stage_.hold({bytes, false, local_, true, false});
    }
    const bool is_last = charged_left_-- <= window_;
    const bool reduces = comm_ == CommKind::kReduceScatter || (comm_ == CommKind::kAllReduce && odd_round_);
    stage_.hold({bytes, reduces, local_, false, !is_last});
  }

  std::uint64_t plain_left_ = 0;
  std::uint64_t charged_left_ = 0;
  bool odd_round_ = false;
  std::uint32_t inserted_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t free_ = 0;  // packets that are held and may go
};

std::uint64_t share_of(CommKind comm, std::uint64_t bytes, std::uint32_t size) {
  return comm == CommKind::kAllGather ? bytes : bytes / size;
}

class RingAlgorithm : public Packets {
 public:
  RingAlgorithm(const Phase& phase, Stage& stage) : Packets(phase, stage) {
    const std::uint64_t peers = ring_.size - 1;
    to_send_ = comm_ == CommKind::kAllReduce  ? 2 * peers
               : comm_ == CommKind::kAllToAll ? peers * ring_.size / 2
                                              : peers;
    charged_ = peers;
    const std::uint32_t step = phase.clockwise ? 1 : ring_.size - 1;
    move_ = {
        {ring_.ahead(step), step}, {ring_.ahead(ring_.size - step), step}, share_of(comm_, phase.bytes, ring_.size)};
  }

 private:
  Move move(std::uint32_t) const override { return move_; }
  Move move_;
};

class DirectAlgorithm : public Packets {
 public:
  DirectAlgorithm(const Phase& phase, Stage& stage) : Packets(phase, stage), clockwise_(phase.clockwise) {
    peers_ = ring_.size - 1;
    window_ = phase.window == 0 ? peers_ : std::min(phase.window, peers_);
    to_send_ = std::uint64_t{comm_ == CommKind::kAllReduce ? 2u : 1u} * peers_;
    charged_ = local_ ? std::uint64_t{peers_} * window_ : window_;
    bytes_ = share_of(comm_, phase.bytes, ring_.size);
  }

 private:
  Move move(std::uint32_t number) const override {
    const std::uint32_t distance = number % peers_ + 1;
    const std::uint32_t step = clockwise_ ? distance : ring_.size - distance;
    return {{ring_.ahead(step), step}, {ring_.ahead(ring_.size - step), step}, bytes_};
  }

  // The second half of an all-reduce begins when the first has been received as a whole.
  void release() override {
    if (comm_ != CommKind::kAllReduce || to_send_ > peers_) return Packets::release();
    if (received_ < peers_) {
      refused_at_ = stage_.now();
      return;
    }
    if (complete_at_ == stage_.now()) stage_.depends_on_order();
    for (std::uint32_t i = 0; i < window_ && send_one(); ++i) {
    }
    finish_if_done();
  }

  void on_receive() override {
    if (received_ != peers_) return;
    complete_at_ = stage_.now();
    if (refused_at_ == stage_.now()) stage_.depends_on_order();
  }

  bool clockwise_;
  std::uint32_t peers_ = 0;
  std::uint64_t bytes_ = 0;
  Ticks refused_at_ = UINT64_MAX;
  Ticks complete_at_ = UINT64_MAX;
};

class HalvingDoubling : public Packets {
 public:
  HalvingDoubling(const Phase& phase, Stage& stage) : Packets(phase, stage) {
    const auto steps = static_cast<std::uint64_t>(std::bit_width(ring_.size) - 1);
    to_send_ = comm_ == CommKind::kAllReduce ? 2 * steps : steps;
    charged_ = steps - 1;
    const bool gathers = comm_ == CommKind::kAllGather;
    std::uint64_t bytes = gathers ? phase.bytes : phase.bytes / 2;
    std::uint32_t offset = gathers ? ring_.size / 2 : 1;
    bool shrinks = !gathers;
    // One more than is sent: the last packet received is held, too.
    for (std::uint64_t step = 0; step <= to_send_; ++step) {
      steps_.push_back({offset, bytes});
      shrink(shrinks, offset, bytes);
      if (offset == ring_.size && comm_ == CommKind::kAllReduce) {
        shrinks = false;
        shrink(shrinks, offset, bytes);
      }
    }
  }

 private:
  struct Step {
    std::uint32_t offset = 0;
    std::uint64_t bytes = 0;
  };

  static void shrink(bool shrinks, std::uint32_t& offset, std::uint64_t& bytes) {
    offset = shrinks ? offset * 2 : offset / 2;
    bytes = shrinks ? bytes / 2 : bytes * 2;
  }

  Move move(std::uint32_t number) const override {
    const Step& step = steps_[number];
    const bool goes_back = step.offset > 0 && ring_.index / step.offset % 2 == 1;
    const Peer partner = {ring_.ahead(goes_back ? ring_.size - step.offset : step.offset), step.offset};
    return {partner, partner, step.bytes};
  }

  std::vector<Step> steps_;
};

// An all-reduce up and down one of two trees, the whole chunk on every edge.
class Tree : public PhaseAlgorithm {
 public:
  Tree(const Phase& phase, Stage& stage)
      : stage_(stage),
        ring_(phase.ring),
        bytes_(phase.bytes),
        place_(tree_place(phase.ring.size, phase.ring.index, phase.root_is_last)) {}

  void run(PhaseEvent event, std::uint32_t) override {
    const bool has_left = place_.left != TreePlace::kNone;
    const bool has_right = place_.right != TreePlace::kNone;
    if (place_.parent == TreePlace::kNone) return run_root(has_left ? place_.left : place_.right);
    if (!has_left && !has_right) return run_leaf();
    run_inner(event);
  }

 private:
  Peer peer(std::uint32_t place) const { return {ring_.rank(place), place}; }

  void run_leaf() {
    switch (state_++) {
      case 0:
        return stage_.hold({.bytes = bytes_, .to_network = true});
      case 1:
        stage_.send(peer(place_.parent), bytes_);
        return stage_.receive(peer(place_.parent), bytes_);
      case 2:
        return stage_.hold({.bytes = bytes_});
      default:
        return stage_.finish();
    }
  }

  void run_inner(PhaseEvent event) {
    if (event == PhaseEvent::kStart) {
      stage_.receive(peer(place_.left), bytes_);
      return stage_.receive(peer(place_.right), bytes_);
    }
    // A reduction is charged on the way down, too.
    if (event == PhaseEvent::kReceived) {
      const bool goes_down = state_ >= 2;
      return stage_.hold({.bytes = bytes_, .reduces = true, .sends_back = goes_down});
    }
    if (++state_ < 2) return;
    if (state_ == 2) {
      stage_.send(peer(place_.parent), bytes_);
      return stage_.receive(peer(place_.parent), bytes_);
    }
    stage_.send(peer(place_.left), bytes_);
    stage_.send(peer(place_.right), bytes_);
    stage_.finish();
  }

  void run_root(std::uint32_t child) {
    switch (state_++) {
      case 0:
        return stage_.receive(peer(child), bytes_);
      case 1:
        return stage_.hold({.bytes = bytes_, .reduces = true, .sends_back = true});
      default:
        stage_.send(peer(child), bytes_);
        return stage_.finish();
    }
  }

  Stage& stage_;
  Ring ring_;
  std::uint64_t bytes_;
  TreePlace place_;
  int state_ = 0;
};

// A schedule from a file: its nodes go as soon as those before them are done, smaller ids first, without delays.
class Custom : public PhaseAlgorithm {
 public:
  Custom(const Phase& phase, Stage& stage)
      : stage_(stage),
        ring_(phase.ring),
        program_(phase.custom),
        peers_(phase.custom_peers),
        waits_(program_->parent_count),
        left_(program_->nodes.size()) {
    for (std::uint32_t node = 0; node < waits_.size(); ++node)
      if (waits_[node] == 0) ready_.push(node);
  }

  void run(PhaseEvent event, std::uint32_t node) override {
    if (event == PhaseEvent::kNodeDone) {
      --left_;
      for (const std::uint32_t child : program_->children_of(node))
        if (--waits_[child] == 0) ready_.push(child);
    }
    while (!ready_.empty()) {
      const std::uint32_t next = ready_.top();
      ready_.pop();
      issue(program_->nodes[next], next);
    }
    if (left_ == 0) stage_.finish();
  }

 private:
  void issue(const Node& node, std::uint32_t index) {
    if (node.kind == NodeKind::kCompute) return stage_.compute_node(node.duration, index);
    const std::uint32_t place = (*peers_)[node.slot];
    const Peer peer = {ring_.rank(place), place};
    if (node.kind == NodeKind::kSend)
      stage_.send_node(peer, node, index);
    else
      stage_.receive_node(peer, node, index);
  }

  Stage& stage_;
  Ring ring_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::vector<std::uint32_t>> peers_;
  std::vector<std::uint32_t> waits_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_;
  std::size_t left_;
};

}  // namespace

std::uint64_t bytes_after(CommKind comm, AlgorithmKind algorithm, std::uint64_t bytes, std::uint32_t size) {
  if (algorithm == AlgorithmKind::kDoubleBinaryTree) return bytes;
  if (comm == CommKind::kAllGather) return bytes * size;
  return comm == CommKind::kReduceScatter ? bytes / size : bytes;
}

std::unique_ptr<PhaseAlgorithm> make_algorithm(const Phase& phase, Stage& stage) {
  if (phase.custom) return std::make_unique<Custom>(phase, stage);
  switch (phase.algorithm) {
    case AlgorithmKind::kRing:
      return std::make_unique<RingAlgorithm>(phase, stage);
    case AlgorithmKind::kDirect:
      return std::make_unique<DirectAlgorithm>(phase, stage);
    case AlgorithmKind::kHalvingDoubling:
      return std::make_unique<HalvingDoubling>(phase, stage);
    case AlgorithmKind::kDoubleBinaryTree:
      break;
  }
  return std::make_unique<Tree>(phase, stage);
}

}  // namespace orrery::astra
