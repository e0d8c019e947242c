// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "report/parts.h"
#include "report/result.h"
#include "report/table.h"
#include "study/compare/compare.h"

using namespace orrery;
using namespace orrery::report;
using namespace orrery::study;
using namespace orrery::workload;
using std::chrono::milliseconds;

namespace {

Communicator group(const std::string& name, const std::vector<std::uint32_t>& members) {
  Communicator communicator{name, {}};
  for (const std::uint32_t member : members) communicator.members.push_back(RankId(member));
  return communicator;
}

// Two ranks: 60 ms of compute, the rest exposed or idle.
Result result_of(milliseconds tensor0, milliseconds tensor1) {
  Result result;
  result.device = "d";
  result.devices = 2;
  result.network_model = "alpha-beta";
  result.granularity = "step";
  const milliseconds end = milliseconds(60) + std::max(tensor0, tensor1);
  result.finish = Time(end);
  result.group_family = {{"tensor0", "tensor"}, {"tensor1", "tensor"}};
  for (const auto& [name, exposed] : {std::pair("tensor0", tensor0), std::pair("tensor1", tensor1)}) {
    Breakdown b;
    b.compute = milliseconds(60);
    b.exposed[name] = exposed;
    b.idle = end - milliseconds(60) - exposed;
    b.finish = Time(end - b.idle);
    result.class_of_rank.push_back(static_cast<std::uint32_t>(result.classes.size()));
    result.classes.push_back(b);
  }
  return result;
}

}  // namespace

TEST_CASE("communicators are summed up by word, or by shape where the name says nothing") {
  const std::vector<Communicator> groups = {
      group("world", {0, 1, 2, 3}), group("tensor12", {0, 1}),      group("dp_3", {0, 2}), group("17", {0, 2, 4}),
      group("5", {3, 4, 5}),        group("0f3a88121c", {0, 1, 5}), group("9", {4})};
  std::vector<std::string> families;
  for (const Communicator& communicator : groups) families.push_back(group_family(communicator));
  CHECK(families ==
        std::vector<std::string>{"world", "tensor", "dp", "3 ranks by 2", "3 ranks", "3 ranks, mixed", "1 rank"});
}

TEST_CASE("a table aligns its columns and ends lines without spaces") {
  Table table;
  table.column("name", Table::Align::kLeft);
  table.column("n");
  table.row({"a", "10"});
  table.row({"long name", "5"});
  CHECK(table.text() == "  name        n\n  a          10\n  long name   5\n");
}

TEST_CASE("times and sizes of a column have one unit, and no digit that is not known") {
  using namespace std::chrono_literals;
  using Texts = std::vector<std::string>;
  const auto column = [](std::vector<Cell> cells) { return in_one_unit(cells); };
  const auto time = [](std::int64_t picoseconds) { return Cell(Duration(picoseconds)); };
  constexpr std::int64_t kUs = 1'000'000, kMs = 1000 * kUs, kS = 1000 * kMs;
  // Four digits of the smallest, 9.238 s; of the other all that it has, not those that four digits leave.
  CHECK(column({time(9'238'412'000'000), time(12'234'567'000'000), "-"}) == Texts{"9.238 s", "12.235 s", "-"});
  CHECK(column({time(4'565'400'000'000), time(4'570'100'000'000)}) == Texts{"4.565 s", "4.570 s"});
  // 268.1 ms have three digits with three decimals of a second; 40.33 ms have not, but one decimal of a millisecond.
  CHECK(column({time(24 * kS + 340 * kMs), time(268'100 * kUs)}) == Texts{"24.340 s", "0.268 s"});
  CHECK(column({time(1250 * kMs), time(40'330 * kUs)}) == Texts{"1250.0 ms", "40.3 ms"});
  CHECK(column({time(34'973'120'000), time(42'691'000)}) == Texts{"34973.1 us", "42.7 us"});
  // What no unit of the others shows keeps its own: it does not move them.
  CHECK(column({time(377'200'051'005), time(274'327'292'000), time(298)}) == Texts{"377.2 ms", "274.3 ms", "298 ps"});
  // 90,120 ms would be more than five digits before the point in microseconds.
  CHECK(column({time(901'200 * kUs), time(7 * kUs)}) == Texts{"901.2 ms", "7.000 us"});
  CHECK(column({time(999), time(1), time(0)}) == Texts{"999 ps", "1 ps", "0 ps"});
  CHECK(column({time(1500 * kUs), time(0)}) == Texts{"1.500 ms", "0 ms"});
  CHECK(column({Cell::difference(Duration(1500ms)), Cell::difference(Duration(-200ms))}) ==
        Texts{"+1.500 s", "-0.200 s"});
  CHECK(column({Cell(Bytes(3LL << 30)), Cell(Bytes(512LL << 20))}) == Texts{"3.000 GiB", "0.500 GiB"});
  CHECK(column({Cell::difference(Bytes(-(3LL << 30)))}) == Texts{"-3.000 GiB"});
  CHECK(column({Cell(Bandwidth(1'800'000'000'000)), Cell(Bandwidth(31'500'000'000))}) ==
        Texts{"1800.0 GB/s", "31.5 GB/s"});
  CHECK(column({Cell(Bandwidth(900'000'000'000)), Cell(Bandwidth(25'000'000'000))}) == Texts{"900 GB/s", "25 GB/s"});
  // Each quantity by itself, and what is none stays.
  CHECK(column({time(1500 * kMs), time(200 * kMs), Cell(Bytes(1 << 30)), "38 %"}) ==
        Texts{"1.500 s", "0.200 s", "1.000 GiB", "38 %"});
  // Texts alone say nothing of what they are of: they stay.
  CHECK(column({"24.34 s", "268.1 ms"}) == Texts{"24.34 s", "268.1 ms"});
}

TEST_CASE("columns that are read across have one unit and as many decimals, those of other quantities their own") {
  constexpr std::int64_t kMs = 1'000'000'000;
  const auto time = [](std::int64_t number) { return Cell(Duration(number * kMs)); };
  const auto fill = [&](Table& table) {
    table.row({"all", time(16'190), "-", time(41'129), "2.540"});
    table.row({"tensor", time(196), "-", time(28), "0.144"});
    table.row({"memory", Cell(Bytes(40LL << 30)), "-", Cell(Bytes(512LL << 20)), "0.013"});
    return table.text();
  };
  Table apart({"what"}, {"first", "x", "second", "ratio"});
  CHECK(fill(apart) ==
        "  what        first  x      second  ratio\n"
        "  all      16.190 s  -  41129.0 ms  2.540\n"
        "  tensor    0.196 s  -     28.0 ms  0.144\n"
        "  memory  40.00 GiB  -   512.0 MiB  0.013\n");
  Table across({"what"}, {"first", "x", "second", "ratio"});
  across.read_across();
  CHECK(fill(across) ==
        "  what         first  x      second  ratio\n"
        "  all     16190.0 ms  -  41129.0 ms  2.540\n"
        "  tensor    196.0 ms  -     28.0 ms  0.144\n"
        "  memory  40.000 GiB  -   0.500 GiB  0.013\n");
  // Two figures of two groups: each has its own unit, whichever the group.
  Table groups;
  for (const std::size_t group : {std::size_t{0}, std::size_t{1}}) {
    groups.column(group == 0 ? "a: time" : "b: time");
    groups.measures_with(1);
    groups.column("wait");
    groups.measures_with(2);
  }
  groups.row({time(10'336), time(2), time(2'642), time(7)});
  groups.row({time(5'000), time(3), time(28), time(9)});
  CHECK(groups.text() ==
        "     a: time      wait    b: time      wait\n"
        "  10336.0 ms  2.000 ms  2642.0 ms  7.000 ms\n"
        "   5000.0 ms  3.000 ms    28.0 ms  9.000 ms\n");
}

TEST_CASE("long times and numbers of a column have one unit") {
  using Texts = std::vector<std::string>;
  const auto column = [](std::vector<Cell> cells) { return in_one_unit(cells); };
  // 385.5 days are 1.055 years.
  CHECK(Cell::long_time(385.5 * 86400).text() == "1.055 years");
  CHECK(column({Cell::long_time(155.2 * 86400), Cell::long_time(385.5 * 86400)}) == Texts{"155.2 days", "385.5 days"});
  CHECK(column({Cell::long_time(385.5 * 86400), Cell::long_time(770 * 86400)}) == Texts{"1.055 years", "2.108 years"});
  CHECK(column({Cell::number(477'123), Cell::number(1'184'291)}) == Texts{"0.477 M", "1.184 M"});
  CHECK(column({Cell::number(0.00001), Cell::number(0.000025)}) == Texts{"1e-05", "2.5e-05"});
  CHECK(column({Cell::number(0.1716), Cell::number(0.174)}) == Texts{"0.1716", "0.1740"});
}

TEST_CASE("a number of a column is bare in CSV, and no letter for thousands looks like a unit in LaTeX") {
  Table table({"job"}, {"cost"});
  table.row({"a", Cell::number(477'123)});
  table.row({"b", Cell::number(483'000)});
  const auto text = [&](TableFormat format) {
    set_table_format(format);
    const std::string shown = in_table_format(table.text());
    set_table_format(TableFormat::kText);
    return shown;
  };
  CHECK(text(TableFormat::kCsv) == "job,cost\na,477123\nb,483000\n");
  CHECK(text(TableFormat::kLatex).find("job & cost \\\\\n\\midrule\na & 477 K \\\\\n") != std::string::npos);
}

TEST_CASE("numbers of a column of LaTeX have as many decimals as those of the text") {
  Table table({"job"}, {"time"});
  table.row({"a", Duration(9'238'412'000'000)});
  table.row({"b", Duration(12'234'567'000'000)});
  set_table_format(TableFormat::kLatex);
  const std::string text = in_table_format(table.text());
  set_table_format(TableFormat::kText);
  CHECK(text.find("job & time (s) \\\\\n\\midrule\na & 9.238 \\\\\nb & 12.235 \\\\\n") != std::string::npos);
}

TEST_CASE("a column that says nothing is left out of a table, but for a zero that is printed") {
  Table table;
  table.column_of("name", {"a", "b"}, Table::Align::kLeft);
  table.column_of("nothing", {"-", "-"});
  table.column_of("n", {"-", "0"});
  CHECK(table.text() == "  name  n\n  a     -\n  b     0\n");
}

TEST_CASE("columns are declared by heading and member, and a cell's text follows from its type") {
  struct Job {
    std::string name;
    int nodes;
    Duration alone;
    Time finish;
    std::optional<int> failures;
    std::string nothing = "-";
  };
  const std::vector<Job> jobs = {{"a", 2, milliseconds(1500), Time(milliseconds(40)), 3},
                                 {"b", 16, milliseconds(20), Time(milliseconds(4)), {}}};
  const auto share = [](const Job& job) { return percent(job.nodes / 18.0); };
  CHECK(table_of(jobs, {{"job", &Job::name},
                        {"nodes", &Job::nodes},
                        {"alone", &Job::alone},
                        {"done", &Job::finish},
                        {"failures", &Job::failures},
                        {"nothing", &Job::nothing},
                        {"share", share, kRight}})
            .text() ==
        "  job  nodes      alone       done  failures   share\n"
        "  a        2  1500.0 ms  40.000 ms         3  11.1 %\n"
        "  b       16    20.0 ms   4.000 ms         -  88.9 %\n");
}

TEST_CASE("names stand left, figures right, remarks left") {
  Table table({"name"}, {"n"}, {"why"});
  table.row({"a", "10", "so"});
  table.row({"bcd", "2", "thus"});
  CHECK(table.text() == "  name   n  why\n  a     10  so\n  bcd    2  thus\n");
}

TEST_CASE("a line is broken at the last blank that fits, and a word that does not fit stays whole") {
  const Wrapping narrow{"* ", "  ", 10};
  CHECK(wrapped("one two three", narrow) == "* one two\n  three\n");
  CHECK(wrapped("one two", narrow) == "* one two\n");
  CHECK(wrapped("eighteighteight two", narrow) == "* eighteighteight\n  two\n");
  CHECK(wrapped("", narrow) == "* \n");
  const std::string text = wrapped(std::string(40, 'a') + " " + std::string(37, 'b') + " c");
  CHECK(text == "  " + std::string(40, 'a') + " " + std::string(37, 'b') + "\n    c\n");  // the first has 80 columns
}

TEST_CASE("a line can be broken between clauses, or inside a word but not inside a character") {
  CHECK(wrapped("first one, second (third)", {"", "  ", 20, Wrapping::Break::kClauses}) ==
        "first one, second\n  (third)\n");
  CHECK(wrapped("first one, second third", {"", "  ", 18, Wrapping::Break::kClauses}) ==
        "first one,\n  second third\n");
  CHECK(wrapped("abcdefgh ijk", {"", "", 5, Wrapping::Break::kWords}) == "abcde\nfgh\nijk\n");
  CHECK(wrapped("abcd\u00e9f", {"", "", 5, Wrapping::Break::kWords}) == "abcd\n\u00e9f\n");
}

TEST_CASE("what rounds to nothing has no sign, and what is not there is a dash") {
  CHECK(percent(0.12345) == "12.3 %");
  CHECK(percent(-0.0001) == "0.0 %");
  CHECK(percent(-0.001, 0) == "0 %");
  CHECK(percent(-0.01) == "-1.0 %");
  CHECK(percent(std::optional<double>()) == "-");
  CHECK(percent_of(1, 0) == "0.0 %");
  CHECK(signed_percent(0.021, 2) == "+2.10 %");
  CHECK(ratio_text(3, 2) == "1.500");
  CHECK(ratio_text(3, 0) == "-");
  CHECK(signed_time(-0.0123) == "-12.30 ms");
  CHECK(large_count(27'800) == "27.8 K");
}

TEST_CASE("the parts of the iteration sum to it, mean over ranks, largest first") {
  const std::vector<Part> parts = mean_parts(result_of(milliseconds(40), milliseconds(20)));
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "device compute");
  CHECK(parts[1].name == "exposed communication (tensor)");
  CHECK(parts[1].seconds == Approx(0.030));  // mean of 40 and 20 ms
  CHECK(parts[2].name == "idle");
  CHECK(parts[0].seconds + parts[1].seconds + parts[2].seconds == Approx(0.100));
}

TEST_CASE("the summary says what bounds the run and shows unequal ranks apart") {
  Result result = result_of(milliseconds(40), milliseconds(20));
  CHECK(details_text(result).find("bound by") == std::string::npos);  // where no path is known
  result.path = {{"tensor", milliseconds(70), 1}, {"compute", milliseconds(30), 1}};
  const std::string text = details_text(result);
  CHECK(text.find("iteration time 100.0 ms   (2 ranks on 2 devices d, alpha-beta network, granularity step)") == 0);
  Result with_nccl = result_of(milliseconds(40), milliseconds(20));
  with_nccl.library = "nccl 2.30.0";
  CHECK(details_text(with_nccl).find("alpha-beta network, granularity step, nccl 2.30.0)\n") != std::string::npos);
  CHECK(text.find("bound by tensor 70 %\n") != std::string::npos);
  // One unit in a column, nothing where there is nothing, and no column without anything in it.
  CHECK(text.find("  ranks  count   compute    tensor      idle     finish\n"
                  "  0          1  60.00 ms  40.00 ms         -  100.00 ms\n"
                  "  1          1  60.00 ms  20.00 ms  20.00 ms   80.00 ms\n") != std::string::npos);
  CHECK(details_text(result_of(milliseconds(40), milliseconds(40))).find("  0-1 ") != std::string::npos);
}

TEST_CASE("the summary names the busiest link, and the ranks that compute longest first") {
  Result result = result_of(milliseconds(40), milliseconds(20));
  result.busiest_link = BusiestLink{"node1.nic0.up", 0.923};
  result.path = {{"compute", milliseconds(100), 1}};
  result.classes[1].compute += milliseconds(5);
  const std::string text = details_text(result);
  CHECK(text.find("bound by compute 100 %; busiest link node1.nic0.up (busy 92.3 % of the time)\n") !=
        std::string::npos);
  CHECK(text.find("\n  1 ") < text.find("\n  0 "));
}

TEST_CASE("links are listed with the busiest of their class by name, idle classes with nothing") {
  Result result = result_of(milliseconds(40), milliseconds(20));
  result.links = {{"nic.up", 2, 3.0 * (1 << 20), Bandwidth(25'000'000'000), 0.25, 0.5, "node1.nic0.up", 0.125},
                  {"pcie.up", 2, 0, Bandwidth(31'500'000'000), 0, 0, "", 0}};
  CHECK(details_text(result).ends_with(
      "  links    count  bandwidth  bytes each    busy  utilisation  busiest  busiest link\n"
      "  nic.up       2  25.0 GB/s   3.000 MiB  25.0 %       12.5 %   50.0 %  node1.nic0.up\n"
      "  pcie.up      2  31.5 GB/s           -       -            -        -  -\n"));
  const nlohmann::ordered_json links = to_json(result, true)["links"];
  CHECK(links[0]["busiest"] == "node1.nic0.up");
  CHECK_FALSE(links[1].contains("busiest"));
}

TEST_CASE("MFU is given over the devices in use and over all of them where those differ") {
  Result result = result_of(milliseconds(40), milliseconds(20));
  result.devices = 8;
  TrainingFacts facts;
  facts.model_flops = 1e12;
  facts.workers = 2;
  // 10^12 FLOP in 0.1 s on 2 devices of 10^13: half of their peak, an eighth of that of eight devices.
  constexpr FlopRate kPeak{10'000'000'000'000};
  result.training = training_figures(facts, {kPeak, kPeak, 8, {}}, result.finish.time_since_epoch());
  CHECK(result.training->mfu == Approx(0.5));
  CHECK(result.training->mfu_all_devices == Approx(0.125));
  CHECK(details_text(result).find("MFU 50.0 % of the devices in use (12.5 % of all 8), ") != std::string::npos);
  CHECK(to_json(result, true)["mfu_all_devices"] == Approx(0.125));
  result.training = training_figures(facts, {kPeak, kPeak, 2, {}}, result.finish.time_since_epoch());
  CHECK(details_text(result).find("MFU 50.0 %, ") != std::string::npos);
  // The six others have three times their peak: those in use have 2 of 20 parts.
  const FlopRate mean(kPeak.count() * 20 / 8);
  result.training = training_figures(facts, {kPeak, mean, 8, {}}, result.finish.time_since_epoch());
  CHECK(result.training->mfu == Approx(0.5));
  CHECK(result.training->mfu_all_devices == Approx(0.05));
}

// 10^6 tokens at 1,000 in a step of 0.1 s on 2 devices of 500 W that cost 3 an hour.
TEST_CASE("a whole training takes its share of steps") {
  TrainingSpec training;
  TrainingFacts facts;
  facts.tokens = 1000;
  CHECK_FALSE(training_run(training, facts, 2, Power(500), milliseconds(100)).has_value());
  training.tokens = Count(1'000'000);
  training.price = 3;
  const std::optional<TrainingRun> run = training_run(training, facts, 2, Power(500), milliseconds(100));
  REQUIRE(run);
  CHECK(run->seconds == Approx(100));
  CHECK(run->device_hours == Approx(200.0 / 3600));
  CHECK(*run->kilowatt_hours == Approx(0.5 * 200 / 3600));
  CHECK(*run->cost == Approx(3 * 200.0 / 3600));
  CHECK_FALSE(training_run(training, facts, 2, {}, milliseconds(100))->kilowatt_hours.has_value());
  CHECK_FALSE(training_run(training, facts, 2, {}, Duration::zero()).has_value());
  CHECK(days_text(7200) == "2 hours");
  CHECK(days_text(36 * 86400) == "36 days");
  CHECK(days_text(400 * 86400) == "1.095 years");
}

TEST_CASE("warnings in the JSON document keep the names of traces and no places in configurations") {
  Result result = result_of(milliseconds(40), milliseconds(20));
  result.source = ResultSource{"jobs/a.json", {"nodes=2"}, {}, "0123456789ab", "/somewhere", {}};
  for (const Location& where : {Location{"jobs/a.yaml", 3, 4}, Location{"--set nodes=2"}, Location{"jobs/a.json"},
                                Location{"/abs/a.json"}, Location{"traces/rank.0.et"}})
    result.warnings.push_back({Severity::kWarning, where, "so", "do"});
  const nlohmann::ordered_json document = to_json(result, true);
  for (std::size_t i = 0; i < 4; ++i) CHECK(document["warnings"][i] == "warning: so\n  hint: do");
  CHECK(document["warnings"][4] == "rank.0.et: warning: so\n  hint: do");
  CHECK(document["provenance"]["set"][0] == "nodes=2");
  CHECK_FALSE(document["provenance"].contains("folder"));
  CHECK(to_json(result, false)["provenance"]["folder"] == "/somewhere");
}

TEST_CASE("a comparison gives ratios and what explains the difference") {
  const Result fast = result_of(milliseconds(40), milliseconds(40));
  const Result slow = result_of(milliseconds(60), milliseconds(60));
  const std::string text = comparison_text({{"fast", &fast}, {"slow", &slow}});
  INFO(text);
  CHECK(text.find("iteration time                    100.00 ms  120.00 ms  1.200") != std::string::npos);
  CHECK(text.find("exposed communication (tensor)   40.00 ms   60.00 ms  1.500") != std::string::npos);
  CHECK(text.find("slow: 20.00 ms slower: exposed communication (tensor) +20.00 ms\n") != std::string::npos);
  CHECK(comparison_text({{"a", &fast}, {"b", &fast}}).find("b: no difference in the iteration time") !=
        std::string::npos);
}

TEST_CASE("the JSON document leaves out what may differ between runs when asked to") {
  Result result = result_of(milliseconds(40), milliseconds(40));
  result.wall_seconds = 1.5;
  const nlohmann::ordered_json with = to_json(result, false);
  CHECK(with["schema"] == "orrery.result/1");
  CHECK(with["iteration_time_s"] == 0.1);
  CHECK(with["breakdown"][1]["exposed_comm_s"]["tensor1"] == 0.04);
  CHECK(with["simulation"]["wall_s"] == 1.5);
  CHECK_FALSE(to_json(result, true)["simulation"].contains("wall_s"));
}

TEST_CASE("a table in another format has the same cells, and sentences around it are no part of it") {
  report::Table table;
  table.column("job", report::Table::Align::kLeft);
  table.column("time");
  table.column("a|b");
  table.row({"x, y_1", "2.000 s", "-"});
  table.row({"=z", "500.0 ms", "50 %"});
  const auto text = [&](report::TableFormat format) {
    report::set_table_format(format);
    const std::string shown = report::in_table_format("before\n" + table.text() + "behind\n");
    report::set_table_format(report::TableFormat::kText);
    return shown;
  };
  CHECK(text(report::TableFormat::kCsv) ==
        "# before\n\njob,time (s),a|b (%)\n\"x, y_1\",2.000,\n'=z,0.5,50\n\n# behind\n");
  CHECK(text(report::TableFormat::kMarkdown) ==
        "before\n\n| job | time | a\\|b |\n|---|---:|---:|\n| x, y_1 | 2.000 s | - |\n| =z | 500.0 ms | 50 % "
        "|\n\nbehind\n");
  CHECK(text(report::TableFormat::kLatex) ==
        "% before\n\n\\begin{tabular}{lrr} % \\usepackage{booktabs}\n\\toprule\njob & time (s) & a\\textbar{}b (\\%) "
        "\\\\\n\\midrule\nx, y\\_1 & 2.000 & -- \\\\\n=z & 0.5 & 50 \\\\\n\\bottomrule\n\\end{tabular}\n\n% behind\n");
  CHECK(text(report::TableFormat::kText) ==
        "before\n  job         time   a|b\n  x, y_1   2.000 s     -\n  =z      500.0 ms  50 %\nbehind\n");
}
