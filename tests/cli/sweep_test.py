#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sweep_test.py PROGRAM: sweeps end with the right exit code, write what they should, and the same bytes whatever --jobs."""
import csv
import json
import sqlite3
import sys
from pathlib import Path

from error_row import make_traces, small_trace
from orrery_program import SOURCE, Checks, Program, scratch_folder, sweeps, unbroken, write_files

STUDIES = SOURCE / "configs" / "studies"
SMOKE = str(STUDIES / "smoke-sweep.yaml")
EXPERIMENT = """\
experiment:
  cluster:
    device: a100-sxm-80gb
    dims:
      - {topology: switch, size: 2, bandwidth: 300 GB/s, latency: 700 ns}
"""
TRACES = EXPERIMENT + """\
  workload: {chakra: {prefix: rank}}
vary:
  - {key: workload.chakra.prefix, values: [%s]}
"""
MODEL = EXPERIMENT + """\
  workload: {model: bert-large, batch: {global: 8, micro: 1}}
vary:
  - {key: workload.parallel.data, values: [%s]}
"""


def other_trace():
    trace = make_traces.Trace()
    trace.collective("sum", [], make_traces.ALL_REDUCE, 2 << 20, "")
    return trace.bytes()


FILES = {"rank.0.et": small_trace(), "rank.1.et": small_trace(), "odd.0.et": small_trace(), "odd.1.et": other_trace()}


def read_folder(path):
    return {file.name: file.read_bytes() for file in Path(path).iterdir() if file.is_file()}


def check_shipped(program, checks, folder):
    checks.check(len(sweeps()) >= 12, "sweeps are shipped", sweeps())
    for path in sweeps():
        outcome = program.run(["check", str(path)], folder)
        checks.check(outcome.code == 0 and f"{path.name}: ok (sweep)" in outcome.stdout, f"{path.name} is accepted",
                     outcome.stdout + outcome.stderr)
        first = path.read_text().splitlines()[0]
        checks.check(first.startswith("# "), f"{path.name} begins with what it asks", first)


def check_smoke(program, checks, folder):
    outcomes = [program.run(["sweep", SMOKE, "--jobs", jobs, "--out", f"out{jobs}", "--json", f"{jobs}.json", "-q"], folder)
                for jobs in ("1", "2")]
    for outcome in outcomes:
        checks.check(outcome.code == 0 and not outcome.stderr, "the smoke sweep runs", outcome.stderr)
    checks.check(outcomes[0].stdout == outcomes[1].stdout, "--jobs does not change the table", outcomes[1].stdout)
    one, two = (read_folder(Path(folder) / f"out{jobs}") for jobs in (1, 2))
    checks.check(one == two, "--jobs does not change a byte of --out", sorted(set(one) ^ set(two)))
    document = json.loads((Path(folder) / "1.json").read_text())
    checks.check((Path(folder) / "1.json").read_bytes() == (Path(folder) / "2.json").read_bytes(),
                 "--jobs does not change the JSON")
    checks.check(sorted(one) == sorted(["points.csv", "points.jsonl", "points.sqlite", "result.json", "table.txt", *(f"result-{i}.json" for i in range(1, 25))]),
                 "--out has a result of each of 24 points", sorted(one))
    checks.check(one["table.txt"].decode() == outcomes[0].stdout, "table.txt is what is printed")
    rows = list(csv.DictReader(one["points.csv"].decode().splitlines()))
    check_same_points(checks, Path(folder), one, rows)
    checks.check(document["schema"] == "orrery.sweep/1" and len(document["points"]) == len(rows) == 24,
                 "JSON and CSV have 24 points", len(rows))
    checks.check(one["result.json"] == (Path(folder) / "1.json").read_bytes(), "--out has the document")
    for number, (row, point) in enumerate(zip(rows, document["points"]), 1):
        check_point(checks, number, row, point, json.loads(one[f"result-{number}.json"]))
    single = program.run(["sweep", SMOKE, "--json", "-"], folder)
    checks.check(single.stdout.encode() == (Path(folder) / "1.json").read_bytes(), "--json - prints the document")


def check_point(checks, number, row, point, result):
    where = f"point {number}"
    checks.check(result["schema"] == "orrery.result/1" and "wall_s" not in result["simulation"],
                 f"{where}: its result is deterministic")
    micro = result["experiment"]["workload"]["batch"]["micro"]
    checks.check(row["micro"] == str(micro), f"{where}: its result has its experiment", micro)
    checks.check(row["point"] == str(point["point"]) == str(number), f"{where} is numbered", row["point"])
    checks.check(row["cluster"] == point["settings"]["cluster"], f"{where}: its settings", row)
    for key in ("iteration_time_s", "mfu", "tokens_per_s_per_gpu", "model_tflops_per_gpu"):
        checks.check(float(row[key]) == point[key] == result[key], f"{where}: {key} is that of the result", row[key])
    checks.check(int(row["memory_peak_bytes"]) == result["memory"]["peak_bytes"], f"{where}: memory")
    parts = [float(row[key] or 0) for key in row if key.startswith("exposed_")]
    parts += [float(row[key]) for key in ("compute_s", "bubble_s", "wait_s", "idle_s")]
    checks.check(abs(sum(parts) - point["iteration_time_s"]) < 1e-9, f"{where}: its parts sum to the iteration", parts)
    ranks = result["ranks"]
    compute = sum(part["compute_s"] * part["ranks"] for part in result["breakdown"]) / ranks
    checks.check(abs(compute - point["compute_s"]) < 1e-9, f"{where}: compute is the mean over ranks", compute)


def check_same_points(checks, folder, files, rows):
    """The data base and the JSON lines have what the CSV has."""
    (folder / "copy.sqlite").write_bytes(files["points.sqlite"])
    with sqlite3.connect(folder / "copy.sqlite") as base:
        base.row_factory = sqlite3.Row
        found = [dict(row) for row in base.execute("SELECT * FROM points ORDER BY point")]
    found = [{key: plain(value) for key, value in row.items()} for row in found]
    same = [{key: plain(value) for key, value in row.items()} for row in rows]
    checks.check(found == same, "the data base has what the CSV has", found[:1] + same[:1])
    lines = [json.loads(line) for line in files["points.jsonl"].decode().splitlines()]
    checks.check([line["iteration_time_s"] for line in lines] == [float(row["iteration_time_s"]) for row in rows],
                 "the JSON lines have what the CSV has", lines[:1])


def plain(value):
    """Of a cell: a number, or a text, empty where there is nothing."""
    try:
        return "" if value is None else float(value)
    except ValueError:
        return value


def check_question(checks, points):
    """The A800 loses most at tensor 8 and next to nothing without tensor parallelism."""
    ratio = {}
    for a100, a800 in zip(points[::2], points[1::2]):
        ratio.setdefault(a100["settings"]["plan"][:2], []).append(a800["iteration_time_s"] / a100["iteration_time_s"])
    means = {plan: sum(values) / len(values) for plan, values in ratio.items()}
    checks.check(means["t8"] > means["t4"] > means["t2"] > means["t1"] >= 1, "the loss grows with tensor parallelism",
                 means)


def expect(program, checks, folder, what, text, code, *said, arguments=()):
    """Runs `text` as a sweep; returns what it printed."""
    write_files(folder, {"sweep.yaml": text})
    outcome = program.run(["sweep", "sweep.yaml", *arguments], folder)
    details = f"exit code {outcome.code}\n{outcome.stdout}{outcome.stderr}"
    checks.check(outcome.code == code and not outcome.broken, f"{what}: exit code {code} is expected", details)
    printed = outcome.stdout + outcome.stderr
    for words in said:
        checks.check(words in printed or words in unbroken(printed), f"{what}: no '{words}' in what it says", details)
    return outcome


def check_exit_codes(program, checks, folder):
    write_files(folder, FILES)
    expect(program, checks, folder, "sound", TRACES % "rank", 0, "rank", "compute")
    write_files(folder, {"out/result-2.json": "of another sweep"})
    stuck = expect(program, checks, folder, "a stuck point", TRACES % "rank, odd", 3,
                   "1 of 2 points cannot finish; the first:", arguments=["--out", "out"])
    checks.check("  stuck (1)  " in stuck.stdout and "\n\n  (1) the ranks disagree" in stuck.stdout, "the others' results are printed",
                 stuck.stdout)
    checks.check((Path(folder) / "out" / "result-1.json").exists()
                 and not (Path(folder) / "out" / "result-2.json").exists(), "and written")
    some = expect(program, checks, folder, "a refused point", MODEL % "1, 2" + "  - {key: workload.batch.micro, values: [1, 8]}\n", 0,
                  "warning: 1 of 4 points cannot be simulated; their notes say why")
    lines = some.stdout.splitlines()
    checks.check(lines[4].split()[:4] == ["2", "8", "refused", "(1)"] and lines[6].startswith("  (1) ")
                 and "; workload.batch.global: " in unbroken(some.stdout),
                 "every point has a line, and the reason and the hint are below the table", some.stdout)
    expect(program, checks, folder, "a value that no point survives", MODEL % "1, 3, 2", 2, "refused (1)",
           "error: the point with data '3' cannot be simulated: ")
    once = expect(program, checks, folder, "a misspelt key of an axis", (MODEL % "1, 2, 4").replace("parallel.data, v", "parallel.dta, v"), 2)
    checks.check(once.stderr.count("unknown key") == 1, "a misspelt key of an axis is told once", once.stderr)
    large = (MODEL % "1, 2").replace("bert-large", "gpt-3.6b").replace("batch: {", "parallel: {zero: 1}, batch: {")
    expect(program, checks, folder, "values that memory is short of", large + "  - {key: workload.batch.micro, values: [1, 4]}\n",
           0, "refused (1)", "; --allow-oom simulates it")
    expect(program, checks, folder, "all refused", MODEL % "3, 5", 2, "none of 2 points can be simulated:")
    expect(program, checks, folder, "all refused or stuck", TRACES % "odd, absent", 3)
    expect(program, checks, folder, "wrong sweep", MODEL % "1" + "comare: data\n", 2,
           "sweep.yaml:9:1: error: unknown key 'comare'\n  hint: did you mean 'compare'?")
    expect(program, checks, folder, "no jobs", MODEL % "1", 2, arguments=["--jobs", "0"])
    expect(program, checks, folder, "a folder that cannot be made", MODEL % "1", 2, "the folder cannot be made",
           arguments=["--out", "rank.0.et/out"])
    write_files(folder, {"blocked/result-1.json/inside": "x"})
    expect(program, checks, folder, "a result that cannot be written", MODEL % "1", 2,
           "blocked/result-1.json: error: cannot be written: Is a directory", arguments=["--out", "blocked"])
    expect(program, checks, folder, "no file", MODEL % "1", 2, arguments=["--json", "absent/x.json"])
    expect(program, checks, folder, "a setting of all points", MODEL % "1, 2", 0, arguments=["--set", "workload.batch.micro=2"])
    full = MODEL.replace("bert-large", "llama2-70b") % "1, 2"
    expect(program, checks, folder, "what does not fit", full, 5, "of memory, its device has")
    expect(program, checks, folder, "what does not fit, allowed", full, 0, "warning:", arguments=["--allow-oom"])
    write_files(folder, {"sweep.yaml": MODEL % "1, 3"})
    outcome = program.run(["run", "sweep.yaml"], folder)
    checks.check(outcome.code == 2 and "this is a sweep" in outcome.stderr, "run names the command for a sweep",
                 outcome.stderr)
    outcome = program.run(["check", "sweep.yaml"], folder)
    checks.check(outcome.code == 2 and "ok (sweep)" not in outcome.stdout
                 and "sweep.yaml:8:47: error: the point with data '3' cannot be simulated: " in outcome.stdout,
                 "check refuses a value that no point survives", outcome.stdout)
    write_files(folder, {"sweep.yaml": MODEL % "1, 2" + "  - {key: workload.batch.micro, values: [1, 8]}\n"})
    outcome = program.run(["check", "sweep.yaml"], folder)
    checks.check(outcome.code == 0 and "ok (sweep)" in outcome.stdout and "warning: point '2, 8': " in outcome.stdout
                 and len(outcome.stdout.splitlines()) == 2, "check warns of a point that is refused", outcome.stdout)
    check_smaller(program, checks, folder)
    check_misspelt(program, checks, folder)
    check_other_tables(program, checks, folder)
    write_files(folder, {"sweep.yaml": MODEL % "3"})
    outcome = program.run(["check", "sweep.yaml"], folder)
    checks.check(outcome.code == 2 and "none of 1 points" in outcome.stdout, "check refuses what no point survives",
                 outcome.stdout)


def check_smaller(program, checks, folder):
    """A smaller sweep into the folder of a larger one leaves nothing of it, and touches nothing else."""
    larger = MODEL % "1, 2" + "  - {key: workload.batch.micro, values: [1, 2]}\n"
    expect(program, checks, folder, "the larger sweep", larger, 0, arguments=["--out", "same"])
    others = {"same/result-03.json": "x", "same/result-x.json": "x", "same/result-3.json.txt": "x", "same/notes": "x"}
    write_files(folder, others)
    smaller = expect(program, checks, folder, "the smaller sweep", MODEL % "2", 0, arguments=["--out", "same"])
    checks.check(smaller.stderr.startswith("1 of 1 points were there from before\n"
                                           "warning: removed 3 results of other experiments or versions from same/points\n"
                                           "warning: removed 3 results of an earlier sweep from same: result-2.json to "
                                           "result-4.json\n"), "it says what it removes", smaller.stderr)
    left = sorted(read_folder(Path(folder) / "same"))
    checks.check(left == sorted(["points.csv", "points.jsonl", "points.sqlite", "table.txt", "result.json", "result-1.json", *(Path(name).name for name in others)]),
                 "no result of the larger sweep stays, and all else does", left)
    again = expect(program, checks, folder, "once more", MODEL % "2", 0, arguments=["--out", "same"])
    checks.check("removed" not in again.stderr, "there is nothing more to remove", again.stderr)


def check_misspelt(program, checks, folder):
    write_files(folder, {"sweep.yaml": Path(SMOKE).read_text().replace("hgx-a800", "hgx-h80")})
    outcome = program.run(["check", "sweep.yaml"], folder)
    errors = [line for line in outcome.stdout.splitlines() if "error:" in line or "warning:" in line]
    checks.check(outcome.code == 2 and len(errors) == 1 and errors[0].endswith(
        "error: none of the 12 points with cluster 'hgx-h80' can be simulated: no 'hgx-h80' among the shipped clusters"),
        "check refuses a sweep with a misspelt cluster, once", outcome.stdout)


def check_other_tables(program, checks, folder):
    validation = SOURCE / "configs" / "validation"
    kinds = {"nccl": "collectives", "compute": "operators", "training": "training jobs"}
    for section, kind in kinds.items():
        table = sorted((validation / section).glob("*.yaml"))[0]
        outcome = program.run(["run", str(table)], folder)
        checks.check(outcome.code == 2 and f"this is a table of measured {kind}, not an experiment" in outcome.stderr,
                     f"run says what {table.name} is", outcome.stderr)
    table = next(validation.glob("nccl/a100_dgx_4g_allreduce.yaml")).read_text()
    write_files(folder, {"own.yaml": table.replace("op: all_reduce", "op: sendrecv\nforced: [LL]")})
    outcome = program.run(["check", "own.yaml"], folder)
    checks.check(outcome.code == 2 and outcome.stdout.startswith(
        "own.yaml:2:8: error: table 'a100_dgx_4g_allreduce' cannot be predicted: sendrecv has no protocol: "),
                 "check refuses a table that validate cannot predict", outcome.stdout + outcome.stderr)
    write_files(folder, {"twice.yaml": f"experiment: {SMOKE}\nvary: [{{key: nodes, values: [1, 2]}}]\n"})
    for command in ("sweep", "check"):
        outcome = program.run([command, "twice.yaml"], folder)
        said = outcome.stdout + outcome.stderr
        checks.check(outcome.code == 2 and said.count("error:") == 1 and "'experiment' is itself a sweep" in said,
                     f"{command} refuses a sweep of a sweep in one error", said)


def check_compared_path(program, checks, folder):
    """An axis is named by its name, or by the path of the key that it sets."""
    write_files(folder, {f"{word}.yaml": MODEL % "1, 2" + f"compare: {word}\n" for word in ("data", "workload.parallel.data")})
    answers = [program.run(["sweep", f"{word}.yaml", "-q"], folder) for word in ("data", "workload.parallel.data")]
    checks.check(answers[0].code == answers[1].code == 0 and answers[0].stdout == answers[1].stdout,
                 "compare: a full path", answers[1].stderr + answers[1].stdout)


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    with scratch_folder() as folder:
        check_exit_codes(program, checks, folder)
    with scratch_folder() as folder:
        check_compared_path(program, checks, folder)
    with scratch_folder() as folder:
        check_smoke(program, checks, folder)
        check_question(checks, json.loads((Path(folder) / "1.json").read_text())["points"])
    with scratch_folder() as folder:
        check_shipped(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
