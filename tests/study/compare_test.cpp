// SPDX-License-Identifier: MIT
#include "study/compare/compare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include <nlohmann/json.hpp>

#include "report/screen/screen.h"
#include "study/compare/figures.h"

using namespace orrery;
using namespace orrery::study;
using Catch::Matchers::Contains;
using report::Result;
using std::chrono::milliseconds;
using workload::MemoryUse;

namespace {

constexpr std::int64_t kGiB = 1LL << 30;

// A job of 8 ranks that trains for `time` an iteration of 8,000 tokens, at half of its peak if that is one second.
Result trained(milliseconds time, std::int64_t activations_gib) {
  Result result;
  result.device = "d";
  result.devices = 8;
  result.finish = Time(time);
  report::Breakdown all;
  all.compute = time;
  all.finish = Time(time);
  result.classes = {all};
  result.class_of_rank.assign(8, 0);
  report::TrainingFigures& training = result.training.emplace();
  const double seconds = std::chrono::duration<double>(time).count();
  training.mfu = 0.5 / seconds;
  training.tokens_per_s_per_gpu = 1000 / seconds;
  training.workers = 8;
  training.power = Power(500);
  training.capacity = Bytes(80'000'000'000);  // of which the driver has 80 GiB
  training.memory[MemoryUse::kParameters] = Bytes(10 * kGiB);
  training.memory[MemoryUse::kActivations] = Bytes(activations_gib * kGiB);
  training.memory.reserve = Bytes(2 * kGiB);
  return result;
}

const ComparedFigure& figure(const std::vector<ComparedFigure>& figures, std::string_view name) {
  return *std::ranges::find_if(figures, [&](const ComparedFigure& one) { return one.figure->name() == name; });
}

// The text with one blank in place of many and of line ends.
std::string squeezed(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

}  // namespace

TEST_CASE("figures of a comparison are those that say so, with their values by run") {
  const Result first = trained(milliseconds(1000), 20), second = trained(milliseconds(500), 28);
  const std::vector<const Result*> results = {&first, &second};
  const std::vector<ComparedFigure> figures = compared_figures(results);
  for (const ComparedFigure& one : figures) CHECK(one.figure->is_compared);
  CHECK(figure(figures, "mfu").numbers[0] == 0.5);
  CHECK(figure(figures, "mfu").numbers[1] == 1);
  CHECK(figure(figures, "tokens_per_s").numbers[0] == 8000);              // 8 ranks at 1,000
  CHECK(figure(figures, "tokens_per_s").numbers[1] == 16000);             // likewise at 2,000
  CHECK(figure(figures, "energy_per_token_J").numbers[0] == 0.5);         // 500 W / 1,000 tokens/s
  CHECK(figure(figures, "energy_per_token_J").numbers[1] == 0.25);        // 500 W / 2,000 tokens/s
  CHECK(figure(figures, "memory_peak_bytes").numbers[0] == 30.0 * kGiB);  // 10 + 20; libraries are beside it
  CHECK(figure(figures, "memory.in_use_share").numbers[0] == 0.4);        // (10 + 20 + 2) / 80
  CHECK(figure(figures, "memory.in_use_share").numbers[1] == 0.5);        // (10 + 28 + 2) / 80
  CHECK(tells_the_same(figure(figures, "tokens_per_s_per_gpu"), figure(figures, "tokens_per_s")));
  CHECK_FALSE(tells_the_same(figure(figures, "mfu"), figure(figures, "memory.in_use_share")));
}

TEST_CASE("uses of memory differ by what they sum to, the largest difference first") {
  const Result first = trained(milliseconds(1000), 20), second = trained(milliseconds(500), 28);
  const std::vector<MemoryDifference> uses = differing_memory(first, second);
  REQUIRE(uses.size() == 3);
  CHECK(uses.front().what == "activations");
  CHECK(uses.front().difference() == 8 * kGiB);
  std::int64_t all = 0;
  for (const MemoryDifference& one : uses) all += one.difference();
  CHECK(all == (second.training->memory.in_use() - first.training->memory.in_use()).count());
  CHECK(memory_fit(first) == MemoryFit::kFits);
  Result tight = trained(milliseconds(1000), 64);  // 10 + 64 GiB of 74.5
  CHECK(memory_fit(tight) == MemoryFit::kFits);    // and 76 of 80 with libraries
  tight.training->memory.reserve = Bytes(7 * kGiB);
  CHECK(memory_fit(tight) == MemoryFit::kTight);                           // 81 of 80
  CHECK(memory_fit(trained(milliseconds(1000), 69)) == MemoryFit::kOver);  // 79 GiB of 80 GB, which are 74.5 GiB
  CHECK(memory_fit(trained(milliseconds(1000), 65)) == MemoryFit::kOver);  // 75 GiB of the same
  CHECK(differing_memory(first, Result{}).empty());
}

TEST_CASE("the text of two runs has figures below the times, what differs in memory, and how sure the ratio is") {
  const Result first = trained(milliseconds(1000), 20), second = trained(milliseconds(500), 28);
  NamedResult faster{"fast", &second};
  faster.ratio = RatioError{.at_most = 0.25, .pairs = 40, .families = 6, .of = "transformer"};
  const std::string whole = comparison_text({{"slow", &first}, faster}), text = squeezed(whole);
  CHECK_THAT(text, Contains("iteration time 1.000 s 0.500 s 0.500"));
  CHECK_THAT(text, Contains("MFU 50.0 % 100.0 % 2.000"));
  CHECK_THAT(text, Contains("tokens/s/GPU 1000.0 2000.0 2.000"));
  CHECK_THAT(text, !Contains("tokens/s in all"));  // tells the same
  CHECK_THAT(text, Contains("in use 40.0 % 50.0 % 1.250"));
  CHECK_THAT(text, Contains("in use +8.000 GiB: activations +8.000 GiB"));
  // A ratio of 0.5 that is off by up to 1.25 is from 0.5 / 1.25 = 0.4 to 0.5 * 1.25 = 0.625.
  CHECK_THAT(text, Contains("it takes 50.0 % less time; 80 % of 40 pairs of published runs (transformer) put "));
  CHECK_THAT(text, Contains("that between 60.0 % less and 37.5 % less"));
  CHECK_THAT(text, !Contains("told apart"));
  CHECK_THAT(squeezed(comparison_text({{"slow", &first}, faster}, Detail::kAll)),
             Contains("tokens/s in all 8000.0 16000.0"));
  faster.ratio->at_most = 1.5;  // from 0.2 to 1.25
  CHECK_THAT(squeezed(comparison_text({{"slow", &first}, faster})),
             Contains("25.0 % more: the two cannot be told apart"));
}

TEST_CASE("more runs have a line each in tables that fit the screen, and long names are cut in the middle") {
  std::vector<Result> results;
  for (int i = 1; i <= 5; ++i) results.push_back(trained(milliseconds(1000 * i), 20 + i));
  std::vector<NamedResult> runs;
  for (std::size_t i = 0; i < results.size(); ++i)
    runs.push_back({"a-very-long-name-of-an-experiment-" + std::to_string(i), &results[i]});
  report::set_screen_width(80);
  const std::string whole = comparison_text(runs), all = comparison_text(runs, Detail::kAll), text = squeezed(whole);
  report::set_screen_width(1000);  // as wide_screen.cpp has it
  CHECK(widest(whole) <= 80);
  CHECK_THAT(text, Contains("3 a-very-lon...xperiment-2 3.000 s 3.000"));
  CHECK_THAT(text, Contains("3 is a-very-long-name-of-an-experiment-2"));
  CHECK(widest(all) <= 80);
}

TEST_CASE("runs of other work say so, and which figures only one of them has") {
  const Result first = trained(milliseconds(1000), 20);
  Result other = trained(milliseconds(2000), 20);
  other.training.reset();
  const std::string whole = comparison_text({{"job", &first}, {"replay", &other}}), text = squeezed(whole);
  CHECK_THAT(text, Contains("not compared, for replay has none: MFU, tokens/s/GPU, "));
  CHECK_THAT(text, Contains("MFU 50.0 % - -"));
  Result larger = trained(milliseconds(2000), 20);
  larger.training->tokens_per_s_per_gpu = 1000;  // 16,000 tokens in two seconds, of 8,000
  CHECK_THAT(squeezed(comparison_text({{"job", &first}, {"more", &larger}})),
             Contains("compare the pace, not the time"));
}

TEST_CASE("software of several names that nobody chose is named in the first lines, with what makes it one") {
  const Result one = trained(milliseconds(1000), 20), other = trained(milliseconds(2000), 20);
  const auto with = [&](const std::string& first, const std::string& second) {
    std::vector<NamedResult> runs = {{"a", &one}, {"b", &other}};
    runs[0].default_software = first;
    runs[1].default_software = second;
    return runs;
  };
  CHECK(software_sentence(with("megatron-2024", "megatron-2022")) ==
        "workload.software differs: megatron-2022 (default) of b; megatron-2024 (default) of a; --set "
        "workload.software=megatron-2024 takes that away");
  CHECK(software_sentence(with("megatron-2024", "megatron-2024")).empty());
  CHECK(software_sentence(with("megatron-2024", "")).empty());  // somebody chose
  // No software of one family does both.
  CHECK_THAT(software_sentence(with("megatron-2024", "pytorch-2021")), !Contains("--set"));
  const std::string text = comparison_text(with("megatron-2024", "megatron-2022"), Detail::kScreen);
  CHECK(squeezed(text).starts_with(software_sentence(with("megatron-2024", "megatron-2022")) + " mean over ranks"));
  CHECK(widest(text) <= report::kScreenWidth);
}

TEST_CASE("memory that may run out is said once of all runs that need as much") {
  const Result fitting = trained(milliseconds(1000), 20), over = trained(milliseconds(1000), 69);
  Result tight = trained(milliseconds(1000), 64);
  tight.training->memory.reserve = Bytes(7 * kGiB);  // 10 + 64 + 7 GiB of the driver's 80
  CHECK(memory_sentences({{"a", &fitting}, {"b", &fitting}}).empty());
  CHECK(memory_sentences({{"a", &tight}, {"b", &fitting}, {"c", &tight}, {"d", &over}}) ==
        std::vector<std::string>{"a, c may run out of memory: with libraries 81.00 GiB of 80.00 GiB",
                                 "d would run out of memory: 79.00 GiB of 74.51 GiB"});
  const nlohmann::ordered_json document = comparison_json({{"a", &tight}, {"b", &fitting}});
  CHECK(document["out_of_memory"].size() == 1);
  CHECK(document["runs"][0]["fits"] == false);
  CHECK(document["runs"][1]["fits"] == true);
}

TEST_CASE("tokens are not held against samples, and less than a billionth is no difference") {
  const Result first = trained(milliseconds(1000), 20);
  Result images = trained(milliseconds(1000), 20);
  images.training->has_tokens = false;
  images.training->tokens_per_s_per_gpu = 10;
  const NamedResult one{"text", &first}, other{"images", &images};
  const std::string sentence = unlike_sentence(other, one);
  CHECK_THAT(sentence, Contains("of samples, text "));
  CHECK_THAT(sentence, Contains("of tokens: their times are of other work"));
  Result nearly = trained(milliseconds(1000), 20);
  nearly.finish += Duration(17);  // of 10^12 ps
  NamedResult same{"nearly", &nearly};
  same.no_ratio_error = "unknown";
  CHECK(takes_as_long(same, one));
  CHECK(sureness_sentence(same, one).empty());
  CHECK_THAT(squeezed(comparison_text({one, same})), Contains("no difference in the iteration time but for 17 ps"));
  nearly.finish += Duration(1000);
  CHECK_FALSE(takes_as_long(same, one));
  CHECK(sureness_sentence(same, one) == "unknown");
}

TEST_CASE("the document of a comparison has figures, memory by use and the interval of the ratio") {
  const Result first = trained(milliseconds(1000), 20), second = trained(milliseconds(500), 28);
  NamedResult faster{"fast", &second};
  faster.ratio = RatioError{.at_most = 0.25, .pairs = 40, .families = 6, .of = "transformer"};
  const nlohmann::ordered_json document = comparison_json({{"slow", &first}, faster});
  const nlohmann::ordered_json& run = document["runs"][1];
  CHECK(run["figures"]["mfu"] == 1);
  CHECK(run["memory_bytes"]["activations"] == 28 * kGiB);
  CHECK(run["memory_bytes"]["libraries"] == 2 * kGiB);
  CHECK(run["fits"] == true);
  CHECK(run["ratio_interval"]["low"] == 0.4);
  CHECK(run["ratio_interval"]["high"] == 0.625);
  CHECK(run["ratio_interval"]["told_apart"] == true);
  const auto mfu = std::ranges::find_if(document["figures"], [](const auto& one) { return one["name"] == "mfu"; });
  REQUIRE(mfu != document["figures"].end());
  CHECK((*mfu)["better"] == "more");
  CHECK((*mfu)["ratios"] == nlohmann::ordered_json({1, 2}));
}
