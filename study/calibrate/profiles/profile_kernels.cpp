// SPDX-License-Identifier: MIT
#include "study/calibrate/profiles/profile_kernels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "workload/import/kineto/messages.h"

namespace orrery::study {
namespace {

using workload::KinetoLaunch;
using workload::KinetoOperation;
using workload::KinetoOperator;
using workload::KinetoTime;
using workload::KinetoTrace;

// Least that a kernel moves past caches: those of 2024 hold up to 256 MB, of 2020 to 2023 40 to 64.
constexpr double kLeastBytes = 64e6;

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Parts of kernels' names by kind; the first that fits. Attention before products: both are made of CUTLASS.
struct NamedKernel {
  std::string_view part;  // in lower case
  ProfiledKind kind{};
};
constexpr std::array kNamedKernels = std::to_array<NamedKernel>({
    {"memcpy", ProfiledKind::kCopy},
    {"memset", ProfiledKind::kCopy},
    {"flash", ProfiledKind::kAttention},
    {"fmha", ProfiledKind::kAttention},
    {"attention", ProfiledKind::kAttention},
    {"attn", ProfiledKind::kAttention},
    {"sdpa", ProfiledKind::kAttention},
    {"gemm", ProfiledKind::kProduct},
    {"gemv", ProfiledKind::kProduct},
    {"nvjet", ProfiledKind::kProduct},  // cuBLAS from CUDA 12.8 on
    {"cijk_", ProfiledKind::kProduct},  // Tensile, rocBLAS and hipBLASLt
    {"splitk", ProfiledKind::kProduct},
    {"matmul", ProfiledKind::kProduct},
    {"xmma", ProfiledKind::kProduct},
});

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

ProfiledKind kind_of(const KinetoOperation& operation) {
  if (operation.is_communication || !workload::other_communication(operation.name).empty())
    return ProfiledKind::kExchange;
  const std::string name = in_lower_case(operation.name);
  const auto known =
      std::ranges::find_if(kNamedKernels, [&](const NamedKernel& one) { return has_part(name, one.part); });
  return known == kNamedKernels.end() ? ProfiledKind::kOther : known->kind;
}

// Reads what an operator computes from its arguments.
enum class Form : std::uint8_t { kProduct, kBatched, kGrouped, kAttention, kMemory };

struct KnownOperator {
  std::string_view name;
  Form form{};
  // The first argument that counts: of products the left operand, of attention the queries, of kMemory the first that
  // is read.
  std::size_t first = 0;
  bool backward = false;     // attention's
  bool heads_first = false;  // [batch, heads, sequence, size], else [batch, sequence, heads, size]
  std::size_t causal = 0;    // argument that says so; 0: none
};

constexpr std::array kKnownOperators = std::to_array<KnownOperator>({
    {"aten::mm", Form::kProduct},
    {"aten::addmm", Form::kProduct, 1},
    {"aten::_addmm_activation", Form::kProduct, 1},
    {"aten::_scaled_mm", Form::kProduct},
    {"aten::bmm", Form::kBatched},
    {"aten::baddbmm", Form::kBatched, 1},
    {"aten::_grouped_mm", Form::kGrouped},
    {"aten::_scaled_grouped_mm", Form::kGrouped},
    {"aten::_scaled_dot_product_flash_attention", Form::kAttention, 0, false, true, 4},
    {"aten::_scaled_dot_product_flash_attention_backward", Form::kAttention, 1, true, true, 11},
    {"aten::_scaled_dot_product_cudnn_attention", Form::kAttention, 0, false, true, 6},
    {"aten::_flash_attention_forward", Form::kAttention, 0, false, false, 8},
    {"aten::_flash_attention_backward", Form::kAttention, 1, true, false, 11},
    {"flash_attn::_flash_attn_forward", Form::kAttention, 0, false, false, 5},
    {"flash_attn::_flash_attn_backward", Form::kAttention, 1, true, false, 11},
    {"aten::add", Form::kMemory},
    {"aten::add_", Form::kMemory},
    {"aten::sub", Form::kMemory},
    {"aten::mul", Form::kMemory},
    {"aten::mul_", Form::kMemory},
    {"aten::div", Form::kMemory},
    {"aten::div_", Form::kMemory},
    {"aten::gelu", Form::kMemory},
    {"aten::gelu_backward", Form::kMemory},
    {"aten::silu", Form::kMemory},
    {"aten::silu_backward", Form::kMemory},
    {"aten::copy_", Form::kMemory, 1},
});

const KnownOperator* known_operator(std::string_view name) {
  const auto known = std::ranges::find(kKnownOperators, name, &KnownOperator::name);
  return known == kKnownOperators.end() ? nullptr : &*known;
}

using Shape = std::vector<std::int64_t>;

const Shape* shape_at(const KinetoOperator& one, std::size_t argument, std::size_t dimensions) {
  if (argument >= one.shapes.size() || one.shapes[argument].size() != dimensions) return nullptr;
  const bool is_whole = std::ranges::all_of(one.shapes[argument],
                                            [](std::int64_t size) { return size > 0 && size < std::int64_t{1} << 40; });
  return is_whole ? &one.shapes[argument] : nullptr;
}

// Precision of a torch type; of fp32 the kernel says whether it computes in tf32.
std::optional<Precision> precision_of(const KinetoOperator& one, std::size_t argument, std::string_view kernel) {
  if (argument >= one.types.size()) return std::nullopt;
  const std::string_view type = one.types[argument];
  if (type == "c10::BFloat16" || type == "BFloat16") return Precision::kBf16;
  if (type == "c10::Half" || type == "Half") return Precision::kFp16;
  if (has_part(type, "Float8")) return Precision::kFp8;
  if (type == "double") return Precision::kFp64;
  if (type != "float" && type != "Float") return std::nullopt;
  return has_part(kernel, "tf32") || has_part(kernel, "s1688") ? Precision::kTf32 : Precision::kFp32;
}

std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  if (type == "c10::BFloat16" || type == "c10::Half") return 2;
  if (type == "float" || type == "int") return 4;
  if (type == "double" || type == "long int" || type == "long") return 8;
  if (type == "bool" || type == "unsigned char" || has_part(type, "Float8")) return 1;
  return workload::element_size(type);
}

double elements_of(const Shape& shape) {
  double count = shape.empty() ? 0 : 1;
  for (const std::int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

// Stage of a product by the layout that cuBLAS writes into its kernel's name, in its order of operands: of a product
// with a transposed weight "tn", of the input's gradient "nn", of the weight's gradient "nt".
std::optional<TimedStage> stage_in(std::string_view kernel) {
  struct Layout {
    std::string_view small, large;
    TimedStage stage;
  };
  constexpr std::array<Layout, 3> kLayouts = {{{"_tn", "_TN", TimedStage::kForward},
                                               {"_nn", "_NN", TimedStage::kInputGradient},
                                               {"_nt", "_NT", TimedStage::kWeightGradient}}};
  const auto ends_word = [&](std::size_t at) {
    return at >= kernel.size() || std::isalnum(static_cast<unsigned char>(kernel[at])) == 0;
  };
  for (const Layout& layout : kLayouts) {
    for (std::size_t at = kernel.find(layout.small); at != std::string_view::npos;
         at = kernel.find(layout.small, at + 1))
      if (ends_word(at + 3)) return layout.stage;
    // "_TNT": the last letter is of the result.
    for (std::size_t at = kernel.find(layout.large); at != std::string_view::npos;
         at = kernel.find(layout.large, at + 1))
      if (ends_word(at + 4)) return layout.stage;
  }
  return std::nullopt;
}

// An operator that ran kernels of its own.
struct Running {
  const KinetoOperator* op = nullptr;
  const KnownOperator* known = nullptr;
  bool is_backward = false;
  std::size_t order = 0;    // among the products of its node of autograd
  KinetoTime time = 0;      // of its kernels
  std::string_view kernel;  // the longest of them that computes
  KinetoTime longest = 0;
};

class KernelTable {
 public:
  KernelTable(const KinetoTrace& trace, const std::string& file) : trace_(trace), file_(file) {}

  ProfileKernels read() && {
    for (const KinetoOperation& operation : trace_.operations) result_.kinds.push_back(kind_of(operation));
    result_.has_shapes = std::ranges::any_of(trace_.operators, [](const KinetoOperator& one) {
      return std::ranges::any_of(one.shapes, [](const Shape& shape) { return !shape.empty(); });
    });
    sum_up_operators();
    KinetoTime known = 0, all = 0;
    for (std::size_t i = 0; i < trace_.operations.size(); ++i)
      if (result_.kinds[i] == ProfiledKind::kProduct) all += trace_.operations[i].end - trace_.operations[i].begin;
    for (const auto& [number, running] : running_)
      if (add_timing(running) && running.known->form != Form::kMemory && running.known->form != Form::kAttention)
        known += running.time;
    result_.products_known = all > 0 ? std::min(1.0, static_cast<double>(known) / static_cast<double>(all)) : 0;
    collect();
    return std::move(result_);
  }

 private:
  struct Moment {
    KinetoTime begin = 0;
    KinetoTime end = 0;      // of an operator
    std::size_t number = 0;  // of the operator, or of the operation that is launched
    bool is_launch = false;
  };

  // Gives each operation of the device to the innermost known operator that was open on the thread of its launch.
  void sum_up_operators() {
    std::unordered_map<std::int64_t, const KinetoLaunch*> launches;
    for (const KinetoLaunch& launch : trace_.launches) launches.emplace(launch.correlation, &launch);
    std::map<std::string, std::vector<Moment>> threads;
    for (std::size_t i = 0; i < trace_.operators.size(); ++i)
      threads[trace_.operators[i].thread].push_back({trace_.operators[i].begin, trace_.operators[i].end, i, false});
    for (std::size_t i = 0; i < trace_.operations.size(); ++i) {
      const auto launch = launches.find(trace_.operations[i].correlation);
      if (launch == launches.end() || launch->second->is_graph) continue;
      threads[launch->second->thread].push_back({launch->second->begin, launch->second->begin, i, true});
    }
    for (auto& [thread, moments] : threads) {
      std::ranges::stable_sort(moments, [](const Moment& one, const Moment& other) {
        return std::tuple(one.begin, one.is_launch, -one.end) < std::tuple(other.begin, other.is_launch, -other.end);
      });
      walk(moments);
    }
  }

  void walk(const std::vector<Moment>& moments) {
    std::vector<std::size_t> open;                          // operators, the innermost last
    std::unordered_map<std::size_t, std::size_t> products;  // by node of autograd
    for (const Moment& moment : moments) {
      while (!open.empty() && trace_.operators[open.back()].end <= moment.begin) open.pop_back();
      if (!moment.is_launch) {
        open.push_back(moment.number);
        continue;
      }
      if (result_.kinds[moment.number] == ProfiledKind::kExchange) continue;
      const auto owner = std::find_if(open.rbegin(), open.rend(), [&](std::size_t number) {
        return known_operator(trace_.operators[number].name) != nullptr;
      });
      if (owner != open.rend()) give(moment.number, *owner, open, products);
    }
  }

  void give(std::size_t operation, std::size_t owner, const std::vector<std::size_t>& open,
            std::unordered_map<std::size_t, std::size_t>& products) {
    const KinetoOperation& kernel = trace_.operations[operation];
    const auto [known, is_new] = running_.try_emplace(owner);
    Running& running = known->second;
    if (is_new) {
      running.op = &trace_.operators[owner];
      running.known = known_operator(running.op->name);
      const auto node = std::ranges::find_if(open, [&](std::size_t number) {
        return trace_.operators[number].name.starts_with("autograd::engine::evaluate_function");
      });
      running.is_backward = node != open.end();
      if (running.is_backward && running.known->form == Form::kProduct) running.order = products[*node]++;
    }
    const KinetoTime time = kernel.end - kernel.begin;
    running.time += time;
    // Kernels that add up the parts of a product do not say how these were computed.
    const bool adds_up = has_part(kernel.name, "splitKreduce") || result_.kinds[operation] == ProfiledKind::kCopy;
    if (time > running.longest && !adds_up) running.longest = time, running.kernel = kernel.name;
    if (running.known->form == Form::kProduct || running.known->form == Form::kBatched ||
        running.known->form == Form::kGrouped)
      result_.kinds[operation] = ProfiledKind::kProduct;
    if (running.known->form == Form::kAttention) result_.kinds[operation] = ProfiledKind::kAttention;
  }

  // False where its sizes or types are not known.
  bool add_timing(const Running& running) {
    std::optional<KernelTiming> timing;
    if (running.known->form == Form::kAttention)
      timing = attention(running);
    else if (running.known->form == Form::kMemory)
      timing = memory(running);
    else
      timing = product(running);
    if (!timing || running.time <= 0) return false;
    Alike& alike = alike_.try_emplace(key_of(*timing), Alike{*timing, {}}).first->second;
    alike.times.push_back(static_cast<double>(running.time) * 1e-9);
    return true;
  }

  using Key = std::tuple<int, int, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, double>;
  struct Alike {
    KernelTiming timing;
    std::vector<double> times;
  };
  static Key key_of(const KernelTiming& t) {
    return {static_cast<int>(t.kind),
            static_cast<int>(t.stage),
            static_cast<int>(t.precision),
            t.batch,
            t.groups,
            t.m,
            t.n,
            t.k,
            t.sequence,
            t.heads,
            t.kv_heads,
            t.head_size,
            t.causal,
            t.bytes};
  }

  static std::optional<KernelTiming> product(const Running& running) {
    const bool is_batched = running.known->form == Form::kBatched, is_grouped = running.known->form == Form::kGrouped;
    const std::size_t first = running.known->first;
    const Shape* left = shape_at(*running.op, first, is_batched ? 3 : 2);
    const Shape* right = shape_at(*running.op, first + 1, is_batched || is_grouped ? 3 : 2);
    const auto precision = precision_of(*running.op, first, running.kernel);
    if (left == nullptr || right == nullptr || !precision) return std::nullopt;
    const std::int64_t sums = right->at(right->size() - 2);
    if (left->back() != sums) return std::nullopt;
    KernelTiming timing;
    timing.kind = is_grouped ? TimedKind::kGrouped : TimedKind::kProduct;
    timing.precision = *precision;
    timing.batch = is_batched ? left->front() : 1;
    timing.groups = is_grouped ? right->front() : 1;
    timing.m = left->at(left->size() - 2) / timing.groups;
    timing.n = right->back();
    timing.k = sums;
    if (timing.m == 0 || (is_batched && left->front() != right->front())) return std::nullopt;
    const TimedStage by_order = !running.is_backward     ? TimedStage::kForward
                                : running.order % 2 == 0 ? TimedStage::kInputGradient
                                                         : TimedStage::kWeightGradient;
    timing.stage = stage_in(running.kernel).value_or(by_order);
    return timing;
  }

  static std::optional<KernelTiming> attention(const Running& running) {
    const KnownOperator& known = *running.known;
    const Shape* queries = shape_at(*running.op, known.first, 4);
    const Shape* keys = shape_at(*running.op, known.first + 1, 4);
    const Shape* values = shape_at(*running.op, known.first + 2, 4);
    const auto precision = precision_of(*running.op, known.first, running.kernel);
    const auto& texts = running.op->values;
    if (queries == nullptr || keys == nullptr || values == nullptr || !precision || known.causal >= texts.size())
      return std::nullopt;
    const std::size_t sequence = known.heads_first ? 2 : 1, heads = known.heads_first ? 1 : 2;
    if ((*queries)[sequence] != (*keys)[sequence]) return std::nullopt;  // of a decoder: another kind of work
    KernelTiming timing;
    timing.kind = TimedKind::kAttention;
    timing.stage = known.backward ? TimedStage::kBackward : TimedStage::kForward;
    timing.precision = *precision;
    timing.batch = queries->front();
    timing.sequence = (*queries)[sequence];
    timing.heads = (*queries)[heads];
    timing.kv_heads = (*keys)[heads];
    timing.head_size = queries->back();
    timing.value_size = values->back();
    timing.causal = texts[known.causal] == "True";
    return timing;
  }

  // Reads what its arguments are and writes its result, which is as large as the largest of them.
  static std::optional<KernelTiming> memory(const Running& running) {
    const KinetoOperator& one = *running.op;
    double bytes = 0, written = 0;
    for (std::size_t i = 0; i < std::min(one.shapes.size(), one.types.size()); ++i) {
      const double elements = elements_of(one.shapes[i]);
      const auto size = bytes_of_type(one.types[i]);
      if (elements == 0) continue;
      if (!size) return std::nullopt;
      const double stored = elements * static_cast<double>(*size);
      if (i >= running.known->first) bytes += stored;
      // The tensor that is copied to says the type that is written.
      if (running.known->first == 0 || i == 0) written = std::max(written, stored);
    }
    if (bytes + written < kLeastBytes) return std::nullopt;
    KernelTiming timing;
    timing.kind = TimedKind::kMemory;
    timing.bytes = bytes + written;
    return timing;
  }

  void collect() {
    for (auto& [key, alike] : alike_) {
      KernelTiming timing = std::move(alike.timing);
      timing.count = static_cast<double>(alike.times.size());
      timing.seconds = median_of(std::move(alike.times));
      timing.where = {file_};
      result_.timings.push_back(std::move(timing));
    }
  }

  const KinetoTrace& trace_;
  const std::string& file_;
  ProfileKernels result_;
  std::map<std::size_t, Running> running_;  // by operator
  std::map<Key, Alike> alike_;
};

}  // namespace

ProfileKernels timed_kernels(const KinetoTrace& trace, const std::string& file) {
  return KernelTable(trace, file).read();
}

}  // namespace orrery::study
