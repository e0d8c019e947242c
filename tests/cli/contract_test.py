#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contract_test.py PROGRAM: what scripts may rely on - shipped files, formats, exit codes, the same bytes twice."""
import csv
import errno
import filecmp
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape as xml_escape

from error_row import JOB, make_traces, small_trace
from orrery_program import SMALL_JOB, SOURCE, run_parts, scratch_folder, unbroken, write_files

REPLAY = str(SOURCE / "configs" / "studies" / "replay-a100.yaml")
RESULT = ["schema", "version", "experiment", "provenance", "iteration_time_s", "ranks", "cluster_devices", "rank_classes",
          "link_classes", "breakdown", "links", "warnings", "simulation"]
SOURCE_KEYS = ["file", "set", "options", "commit", "folder", "inputs"]
BREAKDOWN = ["class", "ranks", "first_rank", "members", "compute_s", "exposed_comm_s", "bubble_s", "wait_s", "idle_s", "finish_s"]
LINKS = ["class", "count", "bytes", "busy", "mean_utilisation"]
SIMULATION = ["events", "messages", "wall_s", "peak_rss_bytes", "granularity", "model", "folded"]
COLLECTIVE_INTERVAL = ["from_bytes", "to_bytes", "low", "high", "share", "runs", "families", "of"]
COLLECTIVE_ROW = ["bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm", "protocol", "bound"]
# Bus over algorithm bandwidth among 16 ranks.
OPERATIONS = {"all_gather": 15 / 16, "all_reduce": 30 / 16, "all_to_all": 15 / 16, "broadcast": 1, "reduce": 1,
              "reduce_scatter": 15 / 16, "gather": 15 / 16, "scatter": 15 / 16, "sendrecv": 1}
# What NCCL takes between two nodes of A100, and in what; "ring" for other operations.
ALGORITHMS = {"all_reduce": {"ring", "tree"}, "all_to_all": {"send/recv"}, "gather": {"send/recv"}, "scatter": {"send/recv"},
              "sendrecv": {"send/recv"}}
PROTOCOLS = {"ll", "ll128", "simple"}
# A job of two ranks on eight devices that does not fit, and whose selective recomputation has nothing to do.
MODEL_WITH_WARNINGS = """cluster: dgx-h100
nodes: 1
workload:
  model: llama3-70b
  parallel: {tensor: 2, data: 1, zero: 0, sequence: false}
  batch: {global: 2, micro: 1}
"""
SOUND = {"job.yaml": JOB, "rank.0.et": small_trace(), "rank.1.et": small_trace()}
# 5 us of computing; then each half of the all-reduce of 1 MiB goes to the other rank and back, one after the other:
# 2 * (700 ns + ceil(524288 B / 300 GB/s)) = 2 * (700000 + 1747627) ps.
SECONDS_OF_VALIDATION = 300  # hundreds of training jobs, on a machine that does other things, too
SOUND_PICOSECONDS = 5_000_000 + 2 * (700_000 + -(-524288 * 10**12 // (300 * 10**9)))


def picoseconds(seconds):
    """The whole number that a time in the JSON stands for; exact below 2^53 ps = 2.5 hours."""
    return round(seconds * 1e12)


def check_shipped_data(program, checks, folder):
    configs = sorted(str(path) for path in (SOURCE / "configs").rglob("*.yaml"))
    checks.check(len(configs) > 50, "configurations are shipped", configs)
    outcome = program.run(["check", *configs], folder)
    checks.check(outcome.code == 0 and outcome.stdout.count(": ok (") == len(configs),
                 "every shipped configuration is accepted",
                 outcome.stdout + outcome.stderr)
    cluster = str(SOURCE / "configs" / "clusters" / "dgx-a100.yaml")
    rows = list(csv.reader(program.run(["check", cluster, "--format", "csv"], folder).stdout.splitlines()))
    checks.check(["nodes", "1", "default"] in rows and ["key not given", "value taken", "from"] in rows,
                 "`check` of a cluster lists the keys that it does not give", rows)
    keys = program.run(["list", "keys"], folder).stdout
    checks.check(keys == (SOURCE / "docs" / "config.md").read_text(),
                 "docs/config.md is what `orrery list keys` prints")

    subprocess.run([sys.executable, str(SOURCE / "scripts" / "make_traces"), folder], check=True)
    written = sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())
    kept = sorted(str(path.relative_to(SOURCE / "traces")) for path in (SOURCE / "traces").rglob("*")
                  if path.is_file() and path.name != "README.md")
    checks.check(written == kept and written, "scripts/make_traces writes the files of traces/", f"{written}\n{kept}")
    for name in set(written) & set(kept):
        same = filecmp.cmp(Path(folder) / name, SOURCE / "traces" / name, shallow=False)
        checks.check(same, f"scripts/make_traces writes the bytes of traces/{name}")


def check_lists(program, checks, folder):
    for what in ("algorithms", "clusters", "devices", "libraries", "models", "nodes", "software", "topologies"):
        text = program.run(["list", what], folder)
        listed = json.loads(program.run(["list", what, "--json", "-"], folder).stdout)
        names = [item["name"] for item in listed["items"]]
        checks.check(text.code == 0 and names and names == sorted(names), f"`list {what}` is sorted", names)
        checks.check(all(name in text.stdout for name in names), f"`list {what}` prints what its JSON has", text.stdout)
        checks.check(all(item["about"] for item in listed["items"]), f"`list {what}` says what each is", listed)


def check_document(checks, name, document):
    missing = [key for key in RESULT if key not in document]
    missing += [f"breakdown[].{key}" for key in BREAKDOWN for part in document.get("breakdown",
            [{}]) if key not in part]
    missing += [f"links[].{key}" for key in LINKS for part in document.get("links", [{}]) if key not in part]
    missing += [f"simulation.{key}" for key in SIMULATION if key not in document.get("simulation", {})]
    if not checks.check(not missing, f"{name}: the result has every field", missing):
        return
    checks.check(document["schema"] == "orrery.result/1", f"{name}: the schema is named", document["schema"])
    checks.check(sum(part["ranks"] for part in document["breakdown"]) == document["ranks"],
                 f"{name}: the classes hold every rank")
    checks.check(len(document["breakdown"]) == document["rank_classes"], f"{name}: a breakdown per class")
    checks.check(len(document["links"]) <= document["link_classes"], f"{name}: no more lines than link classes")
    whole = picoseconds(document["iteration_time_s"])
    for part in document["breakdown"]:
        times = [part[key] for key in ("compute_s", "bubble_s", "wait_s",
                                       "idle_s")] + list(part["exposed_comm_s"].values())
        checks.check(sum(map(picoseconds, times)) == whole,
                     f"{name}: the parts of class {part['class']} sum to the iteration time",
                     f"{times}\n{whole} ps")
        checks.check(picoseconds(part["finish_s"]) <= whole,
                     f"{name}: class {part['class']} finishes within the iteration")
    missing = [key for key in SOURCE_KEYS if key not in document["provenance"]]
    checks.check(not missing, f"{name}: says what it was made from", missing)
    for link in document["links"]:
        checks.check(0 <= link["mean_utilisation"] <= link["busy"] + 1e-12,
                     f"{name}: no link carries more than its capacity", link)


def check_validation(program, checks, folder):
    text = program.run(["validate", "--details", "--format", "csv", "--json", "validation.json"], folder, seconds=SECONDS_OF_VALIDATION)
    checks.check(text.code == 0 and re.fullmatch(r"(\d+ of \d+ .* so far\n)*wrote validation.json \(.*\)\n", text.stderr), "validate runs", text.stderr)
    document = json.loads((Path(folder) / "validation.json").read_text())
    checks.check(document["schema"] == "orrery.validation/1", "validate names its schema", document["schema"])
    errors = sorted(table["error"]["median"] for table in document["tables"])
    middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
    checks.check(abs(document["overall"]["error_of_medians"]["median"] - middle) < 1e-12,
                 "validate: the median of the tables' medians", document["overall"])
    for table in document["tables"]:
        rows = sorted(abs(row["predicted_s"] / row["measured_s"] - 1) for row in table["rows"])
        checks.check(abs(table["error"]["worst"] - rows[-1]) < 1e-9, f"validate: the worst error of {table['table']}")
    checks.check(all(table["table"] in text.stdout for table in document["tables"] + document["kernels"] + document["not_scored"]),
                 "validate prints what its JSON has", text.stdout)
    check_operators(program, checks, folder, document["compute"], text.stdout)
    check_jobs(checks, document["training"], text.stdout)
    check_plots(program, checks, folder, document["tables"], text.stdout)


def check_operators(program, checks, folder, compute, printed):
    """The section of operators: by itself it is what it is among the others, and its errors are those of its rows."""
    outcome = program.run(["validate", "compute", "--json", "-"], folder)
    checks.check(outcome.code == 0 and json.loads(outcome.stdout)["compute"] == compute,
                 "validate compute: the section by itself", outcome.stderr)
    alone = program.run(["validate", "compute", "--format", "csv"], folder)
    checks.check("\n" + alone.stdout + "\n" in printed and alone.stdout, "validate prints what `validate compute` prints",
                 alone.stdout)
    for table in compute["tables"]:
        for operator in table["operators"]:
            errors = sorted(abs(row["predicted_s"] / row["measured_s"] - 1) for row in operator["rows"]
                            if row.get("tokens", compute["scored_from_tokens"]) >= compute["scored_from_tokens"])
            middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
            checks.check(abs(operator["error"]["median"] - middle) < 1e-9,
                         f"validate: the median error of {operator['operator']} in {table['table']}", operator["error"])
    own = str(SOURCE / "configs" / "validation" / "compute" / "layers-h100.csv")
    again = json.loads(program.run(["validate", "--compute-table", own, "--json", "-"], folder).stdout)["compute"]
    shipped = next(table for table in compute["tables"] if table["table"] == "layers-h100")
    checks.check(again["tables"][0]["operators"] == shipped["operators"],
                 "validate --compute-table scores a CSV as the shipped table is scored")


def check_jobs(checks, training, printed):
    """The section of training jobs: its errors are those of its rows."""
    for row in training["rows"]:
        checks.check(abs(row["predicted_s"] / row["measured_s"] - 1 - row["error"]) < 1e-12,
                     f"validate training: the error of {row['label']}", row)
        checks.check(row["label"] in printed, f"validate --details prints {row['label']}")
    for family in training["families"]:
        errors = [row["error"] for row in training["rows"] if row["family"] == family["family"]]
        worst = max(errors, key=abs)
        checks.check(len(errors) == family["error"]["rows"] and abs(worst) == family["error"]["worst"],
                     f"validate training: the worst error of {family['family']}", family)
        checks.check(abs(sum(map(abs, errors)) / len(errors) - family["error"]["mean"]) < 1e-9,
                     f"validate training: the mean error of {family['family']}", family)
        checks.check(family["title"] in printed, f"validate prints the family {family['title']}", printed)
    for software in {(row["software"], row["architecture"]) for row in training["constants"]}:
        fitted = [row for row in training["constants"] if (row["software"], row["architecture"]) == software]
        checks.check(len(fitted) <= 4, f"validate training: at most four constants of {software} are fitted", fitted)


def check_plots(program, checks, folder, tables, printed):
    """One picture for every scored table, which any reader of XML can read and has a mark for every row."""
    made = Path(folder) / "made" / "plots"
    outcome = program.run(["validate", "nccl", "--format", "csv", "--plot", str(made), "-q"], folder)
    checks.check(outcome.code == 0 and not outcome.stderr and outcome.stdout and printed.startswith(outcome.stdout),
                 "validate --plot prints what it prints otherwise", outcome.stderr)
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    checks.check(sorted(files) == sorted(f"{table['table']}.svg" for table in tables),
                 "validate --plot draws every scored table and nothing else", sorted(files))
    for table in tables:
        name = f"{table['table']}.svg"
        root = ElementTree.fromstring(files[name])  # raises unless it is XML
        elements = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}circle")]
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        checks.check(elements.count("measured") == len(table["rows"]) + 1,
                     f"{name}: a mark for every row, and the legend")
        checks.check(table["table"] in texts and "Source:" in " ".join(texts),
                     f"{name}: its title and its source", texts)
        checks.check("http" not in files[name].decode().replace("http://www.w3.org/2000/svg", "")
                     .replace(xml_escape(table["source"]), ""), f"{name}: it needs no other file")
    first = sorted(files)[0]
    (made / first).write_text("old")
    again = program.run(["validate", "nccl", "--plot", str(made)], folder)
    checks.check(again.code == 0 and {path.name: path.read_bytes() for path in made.iterdir()} == files,
                 "validate --plot writes over what is there, with the same bytes", again.stderr)
    (made / first).unlink()
    (made / first).mkdir()
    outcome = program.run(["validate", "nccl", "--plot", str(made)], folder)
    checks.check(outcome.code == 2 and f"{first}: error: cannot be written: Is a directory" in outcome.stderr
                 and not outcome.stdout, "a picture that cannot be written is an error before the work", outcome.stderr)


def check_results(program, checks, folder):
    write_files(folder, SOUND)
    experiments = {"job.yaml": "job.yaml", "replay-a100.yaml": REPLAY,
                   "replay-a800.yaml": REPLAY.replace("a100", "a800")}
    for name, file in experiments.items():
        outcome = program.run(["run", file, "--json", "-"], folder)
        checks.check(outcome.code == 0, f"{name} runs", outcome.stderr)
        check_document(checks, name, json.loads(outcome.stdout))  # raises unless it is exactly one document
        first, second = (program.run(["run", file, "--json", "-", "--deterministic"], folder).stdout for _ in range(2))
        checks.check(first and first == second, f"{name}: the same run twice gives the same bytes")
        left_out = {"wall_s", "peak_rss_bytes"} & set(json.loads(first)["simulation"])
        checks.check(not left_out, f"{name}: --deterministic leaves out what may differ", left_out)
    small = json.loads(program.run(["run", "job.yaml", "--json", "-"], folder).stdout)
    checks.check(picoseconds(small["iteration_time_s"]) == SOUND_PICOSECONDS,
                 "job.yaml takes what its closed form says",
                 f"{small['iteration_time_s']} s, {SOUND_PICOSECONDS} ps")

    outcome = program.run(["run", "job.yaml", "--out", "made/results", "--json", "result.json", "--deterministic"],
                          folder)
    written = sorted(path.name for path in (Path(folder) / "made" / "results").iterdir())
    checks.check(written == ["operations.csv", "result.json", "summary.txt"], "--out writes three files", written)
    made = Path(folder) / "made" / "results"
    checks.check((made / "summary.txt").read_text() == outcome.stdout, "summary.txt is what is printed")
    checks.check((made / "result.json").read_text() == (Path(folder) / "result.json").read_text(),
                 "--json writes the result of --out")
    operations = (made / "operations.csv").read_text().splitlines()
    checks.check(len(operations) == 1 + 2, "operations.csv has a line for each operation of the one class", operations)
    again = program.run(["run", "job.yaml", "--out", "made/results"], folder)
    checks.check(again.code == 0, "--out may name a folder that is there", again.stderr)


def check_tables(program, checks, folder):
    """--ranks chooses whose lines the tables hold; the tables are there as a whole or not at all."""
    write_files(folder, SOUND)

    def rows(*options, table="operations.csv"):
        outcome = program.run(["run", REPLAY, "--out", "tables", *options], folder)
        checks.check(outcome.code == 0 and f"tables/{table}: about " in outcome.stderr, f"{options}: says what it writes",
                     outcome.stderr)
        data = (Path(folder) / "tables" / table).read_bytes()
        return list(csv.DictReader(io.StringIO((gzip.decompress(data) if table.endswith("gz") else data).decode())))

    classes, every = rows(), rows("--ranks", "all")
    result = json.loads((Path(folder) / "tables" / "result.json").read_text())
    first = {str(entry["first_rank"]): str(entry["ranks"]) for entry in result["breakdown"]}
    checks.check(len(first) < 16 and {row["rank"]: row["stands_for"] for row in classes} == first,
                 "by default the first rank of each class, and for how many it stands", first)
    checks.check({row["rank"] for row in every} == {str(rank) for rank in range(16)}, "--ranks all: every rank")
    checks.check([{**row, "stands_for": "1"} for row in classes] == [row for row in every if row["rank"] in first],
                 "the lines of a rank are the same in both")
    some = rows("--ranks", "3,0-1,1")
    checks.check(some == [row for row in every if row["rank"] in ("0", "1", "3")], "--ranks 3,0-1,1: those three, once each")
    packed = rows("--ranks", "all", "--gzip", table="operations.csv.gz")
    checks.check(packed == every, "--gzip: the same, compressed")
    again = (Path(folder) / "tables" / "operations.csv.gz").read_bytes()
    rows("--ranks", "all", "--gzip", table="operations.csv.gz")
    checks.check(again == (Path(folder) / "tables" / "operations.csv.gz").read_bytes(), "--gzip: the same bytes twice")

    for options, message in ((["--ranks", "0-16"], "the job has no rank 16"), (["--ranks", "5-3"], "the range 5-3 is empty"),
                             (["--ranks", "some"], "'some' is neither a rank nor a range of ranks")):
        outcome = program.run(["run", REPLAY, "--out", "nothing", *options], folder)
        checks.check(outcome.code == 2 and message in outcome.stderr and not list((Path(folder) / "nothing").iterdir()
                                                                                  if (Path(folder) / "nothing").exists() else []),
                     f"{options} is refused before anything is written", outcome.stderr)
    alone = program.run(["run", "job.yaml", "--ranks", "all"], folder)
    checks.check(alone.code == 2 and "--out" in alone.stderr, "--ranks goes with --out", alone.stderr)

    # A limit of 200 blocks lets the result pass and stops the table of operations.
    command = "ulimit -f 200; exec \"$0\" run \"$1\" --out limited --ranks all"
    limited = subprocess.run(["/bin/sh", "-c", command, program.path, REPLAY], cwd=folder, capture_output=True, text=True,
                             check=False)
    left = sorted(path.name for path in (Path(folder) / "limited").iterdir())
    checks.check(limited.returncode == 2 and "cannot be written" in limited.stderr and not left,
                 "a file of --out that cannot be written takes the others with it", f"{left} {limited.stderr}")


def check_repetition(program, checks, folder):
    """result.json names what it was made from, and `run result.json` makes the same bytes again, from anywhere."""
    write_files(folder, {**SOUND, "model.yaml": MODEL_WITH_WARNINGS})
    elsewhere = Path(folder) / "elsewhere"
    elsewhere.mkdir()
    for options in (["job.yaml"], ["job.yaml", "--set", "network.model=alpha-beta", "--no-fold"],
                    ["model.yaml", "--allow-oom", "--set", "workload.recompute=selective"]):
        name = " ".join(options)
        made = program.run(["run", *options, "--out", "made", "--deterministic"], folder)
        checks.check(made.code == 0, f"{name} runs", made.stderr)
        written = (Path(folder) / "made" / "result.json").read_bytes()
        source = json.loads(written)["provenance"]
        hashes = {entry["path"]: entry["sha256"] for entry in source["inputs"]}
        checks.check(source["file"] == options[0] and hashes[options[0]] == hashlib.sha256(
            (Path(folder) / options[0]).read_bytes()).hexdigest(), f"{name}: the file and its SHA-256", source)
        checks.check(any(path.startswith("configs/devices/") for path in hashes)
                     and not any(path.startswith("/") for path in hashes), f"{name}: all inputs by name", hashes)
        if options[0] == "job.yaml":
            checks.check({"rank.0.et", "rank.1.et"} <= set(hashes), f"{name}: the traces, too", hashes)
        for place, path in ((folder, "made/result.json"), (elsewhere, "../made/result.json"),
                            ("/", str(Path(folder) / "made" / "result.json"))):
            again = program.run(["run", path, "--json", "-", "--deterministic"], place)
            checks.check(again.code == 0 and again.stdout.encode() == written, f"{name}: the same bytes from {place}",
                         again.stderr + again.stdout[:2000])
    changed = program.run(["run", "made/result.json", "--set", "workload.recompute=full", "--json", "-"], folder)
    settings = json.loads(changed.stdout)["provenance"]["set"]
    checks.check(settings == ["workload.recompute=selective", "workload.recompute=full"],
                 "a repeated run takes --set, and says so", settings)
    check_result_as_experiment(program, checks, folder)
    program.run(["run", "job.yaml", "--out", "made", "--json", "moved.json"], folder)
    (Path(folder) / "rank.1.et").write_bytes((Path(folder) / "rank.0.et").read_bytes() + b"")
    (Path(folder) / "rank.0.et").unlink()
    lost = program.run(["run", "moved.json"], folder)
    checks.check(lost.code == 2 and "the run read 'rank.0.et', which is not to be found" in lost.stderr,
                 "traces that are gone are named", lost.stderr)


def check_result_as_experiment(program, checks, folder):
    """Every command that reads an experiment reads a result in its place."""
    job = program.run(["run", "job.yaml", "--json", "made/job.json"], folder)
    checks.check(job.code == 0, "a result to read", job.stderr)
    checked = program.run(["check", "made/job.json"], folder)
    checks.check(checked.code == 0 and checked.stdout == "made/job.json: ok (result): 2 ranks on 2 devices\n", "check reads a result",
                 checked.stdout + checked.stderr)
    for files in (["made/job.json", "job.yaml"], ["job.yaml", "made/job.json"]):
        compared = program.run(["compare", *files, "--json", "-"], folder)
        checks.check(compared.code == 0 and json.loads(compared.stdout)["runs"][1]["ratio"] == 1, f"compare reads {files}", compared.stderr)
    write_files(folder, {"of-result.yaml": "experiment: made/job.json\nvary: [{key: network.model, values: [flow, alpha-beta]}]\n"})
    swept = program.run(["sweep", "of-result.yaml", "--json", "-"], folder)
    checks.check(swept.code == 0 and json.loads(swept.stdout)["points"][0]["iteration_time_s"] == json.loads(
        (Path(folder) / "made/job.json").read_text())["iteration_time_s"], "a sweep's experiment is a result", swept.stdout + swept.stderr)
    program.run(["run", "model.yaml", "--allow-oom", "--json", "made/model.json"], folder)
    for file in ("model.yaml", "made/model.json"):
        shown = program.run(["model", "show", file], folder)
        checks.check(shown.code == 0 and " B parameters, " in shown.stdout.splitlines()[0], f"model show {file}", shown.stdout + shown.stderr)
        shown = program.run(["cluster", "show", file], folder)
        checks.check(shown.code == 0 and "\nDimensions\n" in shown.stdout, f"cluster show {file}", shown.stdout + shown.stderr)
        fewer = program.run(["cluster", "show", file, "--nodes", "3"], folder)
        checks.check(fewer.code == 0 and fewer.stdout.startswith("24 devices, "), f"cluster show {file} --nodes 3", fewer.stdout + fewer.stderr)
    no_model = program.run(["model", "show", "job.yaml"], folder)
    checks.check(no_model.code == 2 and "'workload.model' is missing" in no_model.stderr, "traces have no model", no_model.stderr)


def check_collectives(program, checks, folder):
    line = ["collective", "--cluster", "dgx-a100", "--nodes", "2", "-b", "8", "-e", "1G", "-f", "2"]
    for operation in OPERATIONS:
        outcome = program.run([*line, "--op", operation, "--json", "-"], folder)
        if not checks.check(outcome.code == 0, f"collective {operation} runs", outcome.stderr):
            continue
        document = json.loads(outcome.stdout)  # raises unless it is exactly one document
        has_intervals = any(row["protocol"] for row in document["rows"])
        checks.check(list(document) == ["schema", "op", "ranks", "nodes", "rows"] + (["intervals"] if has_intervals else []),
                     f"{operation}: the fields", list(document))
        for interval in document.get("intervals", []):
            checks.check([field for field in interval if field != "beyond"] == COLLECTIVE_INTERVAL
                         and 0 < interval["low"] <= interval["high"], f"{operation}: the fields of an interval", interval)
        checks.check((document["schema"], document["op"], document["ranks"], document["nodes"]) == ("orrery.collective/1", operation, 16, 2),
                     f"{operation}: the schema, the operation and the ranks", document)
        checks.check([row["bytes"] for row in document["rows"]] == [1 << k for k in range(3, 31)],
                     f"{operation}: a row for every size")
        for row in document["rows"]:
            checks.check(list(row) == COLLECTIVE_ROW and row["protocol"] in PROTOCOLS and row["bound"],
                         f"{operation}: the fields of a row", row)
            checks.check(row["algorithm"] in ALGORITHMS.get(operation, {"ring"}), f"{operation}: the algorithm", row)
            rate = row["bytes"] / row["time_us"] * 1e-3
            checks.check(abs(row["algbw_GBps"] - rate) <= 1e-9 * rate, f"{operation}: bandwidth is size over time", row)
            factor = OPERATIONS[operation]
            checks.check(abs(row["busbw_GBps"] - factor * rate) <= 1e-9 * rate, f"{operation}: bus bandwidth", row)
        again = program.run([*line, "--op", operation, "--json", "table.json"], folder)
        checks.check((Path(folder) / "table.json").read_text() == outcome.stdout and "busbw (GB/s)" in again.stdout,
                     f"{operation}: --json FILE writes the same beside the printed table")


def check_calibration(program, checks, folder):
    """A log that a perturbed machine made gives its constants back, in a file that every command takes."""
    line = ["--op", "all_reduce", "-b", "8", "-e", "8G", "--library", "nccl"]
    program.run(["collective", "--cluster", "dgx-a100", *line, "--set", "cluster.nccl.base.ring.ll=9 us", "--json",
                 "log.json"], folder)
    said = ["--launch", "mpi", "--version", "2.30"]
    outcome = program.run(["calibrate", "log.json", "--cluster", "dgx-a100", *said], folder)
    checks.check(outcome.code == 0 and re.fullmatch(r"wrote dgx-a100-calibrated.yaml \(.*\)\n", outcome.stderr),
                 "calibrate runs", outcome.stderr)
    row = re.search(r"^ +base\.ring\.ll +([\d.]+) us +([\d.]+) us ", outcome.stdout, re.M)
    checks.check(row and [float(value) for value in row.groups()] == [6.6, 9], "calibrate finds the constant",
                 outcome.stdout)
    written = (Path(folder) / "dgx-a100-calibrated.yaml").read_text()
    printed = program.run(["calibrate", "log.json", "--cluster", "dgx-a100", *said, "--out", "-"], folder)
    checks.check(printed.stdout == written, "--out - prints the file and nothing else", printed.stdout)
    for command in (["check", "dgx-a100-calibrated.yaml"], ["cluster", "show", "dgx-a100-calibrated.yaml"]):
        outcome = program.run(command, folder)
        checks.check(outcome.code == 0 and not outcome.stderr, f"{' '.join(command)} takes it", outcome.stderr)
    again = program.run(["collective", "--cluster", "dgx-a100-calibrated.yaml", *line, "--json", "-"], folder)
    times = [[row["time_us"] for row in json.loads(text)["rows"]]
             for text in (again.stdout, (Path(folder) / "log.json").read_text())]
    checks.check(all(abs(a - b) <= 1e-3 * b for a, b in zip(*times, strict=True)),
                 "the calibrated cluster predicts the log", times)
    silent = program.run(["calibrate", "log.json", "--cluster", "dgx-a100", "--dry-run", "--html", "page.html"], folder)
    checks.check("dry run" in silent.stdout and "wrote dgx-a100-calibrated" not in silent.stderr and
                 (Path(folder) / "page.html").exists(), "--dry-run writes the page alone", silent.stdout + silent.stderr)
    checks.check("who launches the kernels" in silent.stderr and "version of NCCL" in silent.stderr,
                 "what the log does not say is assumed aloud", silent.stderr)
    # The file is a cluster, and may be calibrated itself.
    outcome = program.run(["calibrate", "log.json", "--cluster", "dgx-a100-calibrated.yaml", *said], folder)
    checks.check(outcome.code == 0 and (Path(folder) / "dgx-a100-calibrated-calibrated.yaml").exists(),
                 "a calibrated cluster may be calibrated", outcome.stderr)


def check_library_options(program, checks, folder):
    """--library, --algo, --proto and --launch are keys of `collectives`, wherever that is written."""
    line = ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "-b", "1M", "--json", "-"]
    write_files(folder, {"options.yaml": "library: nccl\nversion: 2.18.5\n"})
    held = ["--algo", "NVLS,Ring", "--proto", "Simple", "--launch", "threads"]
    for library in (["--library", "nccl"], ["--set", "collectives.library=nccl"],
                    ["--set", "collectives=options.yaml"]):
        outcome = program.run([*line, *library, *held], folder)
        checks.check(outcome.code == 0 and not outcome.stderr, f"collective with {' '.join(library)} runs",
                     outcome.stderr)
        outcome = program.run([*line, *library, "--algo", "NVLS", "--proto", "LL128"], folder)
        checks.check("--proto: error: NCCL has none" in outcome.stderr, "NVLS has no LL128", outcome.stderr)
    named, by_default = (program.run([*line, *library, "--algo", "ring"], folder).stdout
                         for library in (["--library", "nccl"], []))
    checks.check(named and named == by_default, "a cluster of GPUs runs NCCL by default", by_default)
    for fixed in (["--algo", "ring", "--library", "fixed"], ["--algo", "direct"],
                  ["--algo", "ring", "--set", "network.granularity=step"]):
        outcome = program.run([*line, *fixed], folder)
        row = json.loads(outcome.stdout)["rows"][0]
        checks.check((row["algorithm"], row["protocol"]) == (fixed[1], None), "the fixed library has no protocol", row)


def check_settings_in_files(program, checks, folder):
    """--set changes one value of a file that is named, by name, by path or by default, and leaves the rest."""
    line = ["collective", "--cluster", "dgx-h100", "--op", "all_reduce", "-b", "8", "--json", "-"]
    write_files(folder, {"options.yaml": "library: nccl\nversion: 2.18.5\n"})

    def micros(*settings):
        outcome = program.run([*line, *(word for setting in settings for word in ("--set", setting))], folder)
        checks.check(outcome.code == 0 and not outcome.stderr, f"collective with {settings} runs", outcome.stderr)
        return json.loads(outcome.stdout)["rows"][0]["time_us"] if outcome.code == 0 else 0

    # Who starts kernels through PyTorch waits as long as the constant says, and nothing else changes.
    for start in ([], ["collectives.constants=nccl"], ["collectives=options.yaml"]):
        added = [micros(*start, "collectives.launch=torch", f"collectives.constants.launch.torch={wait} us")
                 for wait in (0, 40)]
        checks.check(abs(added[1] - added[0] - 40) < 1e-6, f"one constant is changed ({start})", added)
        checks.check(added[0] == micros(*start), f"the other constants stay ({start})", added)


def check_resolved(program, checks, folder):
    """The experiment in a result, run again as a file, gives the same result, without a word about what is written out
    and changes nothing; where its figures are from is no longer in it."""
    write_files(folder, SOUND)
    for setting in ("cluster.device.memory.bandwidth=1 TB/s", "collectives={library: nccl, version: 2.20}", "cluster=dgx-h100"):
        first = json.loads(program.run(["run", "job.yaml", "--set", setting, "--set", "network.model=flow", "--json",
                                        "-", "--deterministic"], folder).stdout)
        write_files(folder, {"resolved.yaml": json.dumps(first["experiment"])})
        second = program.run(["run", "resolved.yaml", "--json", "-", "--deterministic"], folder)
        again = json.loads(second.stdout)
        checks.check(second.code == 0 and {**again, "provenance": 0, "evidence": 0} == {**first, "provenance": 0, "evidence": 0},
                     f"the resolved experiment is an experiment, and the same ({setting})",
                     second.stderr or second.stdout)


def check_output_trouble(program, checks, folder):
    write_files(folder, SOUND)
    for arguments in (["run", "job.yaml"], ["run", "job.yaml", "--json", "-"], ["compare", "job.yaml", "job.yaml"],
                      ["list", "keys"],
                      ["collective", "--cluster", "dgx-a100", "--op", "all_reduce"], ["check", "job.yaml"], ["workload", "inspect", "rank"], ["workload", "lint", "rank"],
                      ["workload", "inspect", "rank.0.et", "--dump"], ["--help"], ["--version"]):
        with open("/dev/full", "wb") as full:
            outcome = program.run(arguments, folder, stdout=full)
        checks.check(outcome.code == 2 and "standard output" in outcome.stderr,
                     f"`{' '.join(arguments)}` says when its answer cannot be written",
                     f"exit code {outcome.code}\n{outcome.stderr}")
    outcome = program.run(["run", "job.yaml", "--json", "/dev/full"], folder)
    checks.check(outcome.code == 2 and os.strerror(errno.ENOSPC) in outcome.stderr, "a full disk is an error",
                 outcome.stderr)
    outcome = program.run(["run", "absent.yaml", "--json", "late.json"], folder)
    checks.check(outcome.code == 2 and json.loads((Path(folder) / "late.json").read_text())["schema"] == "orrery.error/1",
                 "a run that fails leaves no result behind, but why it failed")
    command = "ulimit -f 0; exec \"$0\" list devices --json limited.json"
    limited = subprocess.run(["/bin/sh", "-c", command, program.path], cwd=folder, capture_output=True, text=True,
                             timeout=20)
    checks.check(limited.returncode == 2 and "limited.json: error: cannot be written" in limited.stderr,
                 "a file at its limit is an error", f"exit code {limited.returncode}\n{limited.stderr}")
    reader = subprocess.run(["/bin/sh", "-c", "\"$0\" list keys | head -1", program.path], capture_output=True,
                            text=True, timeout=20)
    checks.check(reader.stdout == "# Configuration\n" and not reader.stderr, "a reader may stop early", reader.stderr)
    write_files(folder, {"small.yaml": SMALL_JOB})
    files = ["early.json", "early.html", "early.svg", "result.json"]
    command = "\"$0\" run small.yaml --timeline early.json --html early.html --schedule-svg early.svg --json result.json | true"
    subprocess.run(["/bin/sh", "-c", command, program.path], cwd=folder, capture_output=True, timeout=20)
    absent = [name for name in files if not (Path(folder) / name).exists()]
    checks.check(not absent, "all files of a run are there where nobody reads its text", ", ".join(absent))


def check_names(program, checks, folder):
    """Control characters of names reach neither the terminal nor break lines, whatever file the names are from."""
    evil = "x\x1b[31m\x9b2J\x7f\ny"
    traces = []
    for _ in range(2):
        trace = make_traces.Trace()
        work = trace.node(make_traces.COMP, evil, [], micros=5, is_cpu_op=False)
        trace.node(make_traces.COLL, evil, [work], is_cpu_op=False, comm_type=make_traces.ALL_REDUCE, comm_size=1 << 20,
                   pg_name=evil, pg_desc=evil)
        traces.append(trace.bytes())
    job = JOB.replace("{prefix: rank}", "{prefix: rank, groups: groups.json}")
    quoted = json.dumps(evil)
    write_files(folder, {
        "job.yaml": job, "rank.0.et": traces[0], "rank.1.et": traces[1], "groups.json": json.dumps({evil: [0, 1]}),
        f"{evil}.yaml": job, f"{evil}.0.et": traces[0], f"{evil}.1.et": traces[1],
        "named.yaml": f"{job}name: {quoted}\n",
        "device.yaml": job.replace("device: a100-sxm-80gb", f"device: {{name: {quoted}, peak: {{bf16: 1 TFLOP/s}}, memory: "
                                   "{capacity: 1 GB, bandwidth: 1 GB/s}}"),
        "sweep.yaml": f"title: {quoted}\nexperiment: job.yaml\nvary:\n  - {{key: name, values: [{quoted}, b]}}\n"})
    said = {}
    for arguments in (["run", "job.yaml"], ["run", "job.yaml", "--json", "-"], ["run", f"{evil}.yaml"],
                      ["run", "named.yaml", "--json", "-"], ["run", "device.yaml"], ["run", "device.yaml", "--json", "-"],
                      ["compare", "job.yaml", f"{evil}.yaml"], ["check", f"{evil}.yaml", evil],
                      ["workload", "inspect", "rank", "--groups", "groups.json"],
                      ["workload", "inspect", evil, "--groups", "groups.json", "--json", "-"],
                      ["workload", "inspect", f"{evil}.0.et"], ["workload", "inspect", "rank.0.et", "--dump"],
                      ["workload", "lint", "rank"], ["sweep", "sweep.yaml"], ["sweep", "sweep.yaml", "--json", "-"],
                      ["cluster", "show", "device.yaml", "--dot"], ["run", "job.yaml", "--set", f"name={evil}"],
                      ["workload", "import", f"{evil}.yaml", "-o", evil], ["run", "-v", evil]):
        outcome = program.run(arguments, folder)
        said[arguments[0]] = said.get(arguments[0], "") + outcome.stdout + outcome.stderr
        checks.check(not outcome.broken, f"`{' '.join(map(repr, arguments))}` prints no control characters",
                     f"{outcome.broken}\n{outcome.stdout!r}\n{outcome.stderr!r}")
        checks.check(not any(line.startswith("y") for line in outcome.stdout.splitlines()),
                     f"`{' '.join(map(repr, arguments))}` breaks no line", repr(outcome.stdout))
        if "--json" in arguments and outcome.code == 0:
            json.loads(outcome.stdout)
    for command in ("run", "compare", "workload", "sweep"):
        checks.check("\\x1B" in said[command] or "\\u001b" in said[command], f"`{command}` shows what the name is", repr(said[command]))


def check_warnings(program, checks, folder):
    """What says nothing is told, and changes nothing."""
    idle = {
        'no rank calls on group "pair"': {
            "job.yaml": JOB.replace("{prefix: rank}", "{prefix: rank, groups: groups.json}"),
            "groups.json": '{"pair": [0, 1]}'},
        "job.yaml: warning: 'compute: roofline' changes nothing: no compute node of the traces has FLOPs or bytes": {
            "job.yaml": JOB.replace("{prefix: rank}", "{prefix: rank, compute: roofline}")},
    }
    for warning, files in idle.items():
        write_files(folder, {**SOUND, **files})
        outcome = program.run(["run", "job.yaml", "--json", "-"], folder)
        time = picoseconds(json.loads(outcome.stdout)["iteration_time_s"]) if outcome.code == 0 else None
        checks.check(time == SOUND_PICOSECONDS and warning in outcome.stderr, f"a warning: {warning}", outcome.stderr)
    write_files(folder, SOUND)
    (Path(folder) / "groups.json").unlink()
    outcome = program.run(["run", "job.yaml"], folder)
    checks.check(not outcome.stderr, "a sound job has no warning", outcome.stderr)
    told = "computing takes as long as measured"
    checks.check(told in outcome.stdout.splitlines(), "measured durations are told", outcome.stdout)
    tables = program.run(["run", "job.yaml", "--details"], folder).stdout
    checks.check(unbroken(tables.partition("\n\n")[0]).count("; " + told) == 1, "measured durations are told above the tables",
                 tables)


def check_groups_beside_traces(program, checks, folder):
    """comm_group.json or groups.json beside the traces is taken by every command that reads them, which say so with -v, failing or not."""
    group = "{\"pair\": [0, 1]}"
    write_files(folder, {**SOUND, "comm_group.json": group})
    commands = (["run", "job.yaml"], ["workload", "inspect", "rank"], ["workload", "lint", "rank"])
    for arguments in commands:
        outcome = program.run([*arguments, "-v"], folder)
        checks.check(outcome.code == 0 and "communicator groups are those of comm_group.json" in outcome.stderr,
                     f"`{' '.join(arguments)} -v` names comm_group.json", outcome.stderr)
        checks.check("comm_group" not in program.run(["-q", *arguments], folder).stderr, "without -v it does not", arguments)
    write_files(folder, {"comm_group.json": group.replace("1", "9")})
    for arguments in commands:
        outcome = program.run([*arguments, "-v"], folder)
        checks.check(outcome.code == 2 and "communicator groups are those of comm_group.json" in outcome.stderr,
                     f"`{' '.join(arguments)} -v` names comm_group.json where it is wrong", outcome.stderr)
    (Path(folder) / "comm_group.json").unlink()
    write_files(folder, {"groups.json": group})
    for arguments in commands:
        outcome = program.run([*arguments, "-v"], folder)
        checks.check(outcome.code == 0 and "communicator groups are those of groups.json" in outcome.stderr,
                     f"`{' '.join(arguments)} -v` names groups.json, as `workload generate` writes it", outcome.stderr)
    (Path(folder) / "groups.json").unlink()


def check_mendings(program, checks, folder):
    """What would mend a job that cannot finish is data in every document that says so."""
    crossed = [trace.bytes() for trace in make_traces.crossed_groups()]
    write_files(folder, {**SOUND, "job.yaml": JOB.replace("{prefix: rank}", "{prefix: rank, groups: groups.json}"),
                         "groups.json": "{\"a\": [0, 1], \"b\": [0, 1]}", "rank.0.et": crossed[0], "rank.1.et": crossed[1]})
    for arguments in (["run", "job.yaml"], ["check", "job.yaml"], ["workload", "lint", "rank", "--groups", "groups.json"],
                      ["compare", "job.yaml", "--vs", "network.model=alpha-beta"]):
        outcome = program.run([*arguments, "--json", "-"], folder)
        mendings = json.loads(outcome.stdout)["error"].get("mendings", [])
        edits = [mending["edits"] for mending in mendings]
        checks.check(outcome.code == 3 and len(edits) >= 2 and all(mending["tried"] for mending in mendings) and
                     {(edit["edit"], edit["rank"]) for (edit,) in edits} >= {("swap", 0), ("swap", 1)},
                     f"`{' '.join(arguments)} --json -` has mendings", outcome.stdout)
        said = unbroken(outcome.stderr + json.loads(outcome.stdout)["error"]["message"])
        checks.check(all(edit["text"] in said for of_one in edits for edit in of_one), "in the words of the report", said)


def check_odd_but_sound(program, checks, folder):
    """What is legal gives the same time, however odd it looks."""
    long_name = "n" * 200
    odd = {
        "with CRLF line ends": {"job.yaml": JOB.replace("\n", "\r\n")},
        "with a byte order mark": {"job.yaml": "\ufeff" + JOB},
        "without a line end at its end": {"job.yaml": JOB.rstrip("\n")},
        "as JSON": {"job.yaml": json.dumps({"cluster": {"device": "a100-sxm-80gb", "dims": [
            {"topology": "switch", "size": 2, "bandwidth": "300 GB/s", "latency": "700 ns"}]},
                                            "workload": {"chakra": {"prefix": "rank"}}})},
        "between document marks": {"job.yaml": "---\n" + JOB + "...\n# done\n"},
        "with anchors": {"job.yaml": "name: &p rank\n" + JOB.replace("prefix: rank", "prefix: *p")},
        "with a name in Greek": {"job.yaml": JOB + "name: Ὀρρερύ\n"},
        "with a name of 100,000 letters": {"job.yaml": JOB + f"name: {'x' * 100000}\n"},
        "with traces under a long name": {"job.yaml": JOB.replace("prefix: rank", f"prefix: {long_name}"),
                                          f"{long_name}.0.et": small_trace(), f"{long_name}.1.et": small_trace()},
        "with traces under a name with spaces and accents": {
            "job.yaml": JOB.replace("prefix: rank", "prefix: \"my traces/é rank\""),
            "my traces/é rank.0.et": small_trace(), "my traces/é rank.1.et": small_trace()},
        "with the device in a file of its own": {
            "job.yaml": JOB.replace("a100-sxm-80gb", "parts/my device.yaml"),
            "parts/my device.yaml": (SOURCE / "configs" / "devices" / "a100-sxm-80gb.yaml").read_text()},
    }
    for name, files in odd.items():
        with scratch_folder() as inner:
            write_files(inner, {**SOUND, **files})
            outcome = program.run(["run", "job.yaml", "--json", "-"], inner)
            time = picoseconds(json.loads(outcome.stdout)["iteration_time_s"]) if outcome.code == 0 else None
            checks.check(time == SOUND_PICOSECONDS and not outcome.broken, f"an experiment {name} runs as any other",
                         f"{outcome.stderr[:500]}\n{outcome.broken}")
    write_files(folder, {"a folder/job.yaml": JOB, "a folder/rank.0.et": small_trace(),
                         "a folder/rank.1.et": small_trace()})
    outcome = program.run(["run", "a folder/job.yaml"], folder)
    checks.check(outcome.code == 0, "a path may have spaces", outcome.stderr)
    outcome = program.run(["list", "devices"], folder, environment={"ORRERY_CONFIGS": "nowhere"})
    checks.check(outcome.code == 2 and "nowhere: error: is not a folder of configurations" in outcome.stderr,
                 "a wrong ORRERY_CONFIGS is an error",
                 outcome.stderr)
    keys = "".join(f"k{i}: 1\n" for i in range(100_000))
    write_files(folder, {"wide.yaml": keys})
    outcome = program.run(["run", "wide.yaml"], folder)
    checks.check(outcome.code == 2 and not outcome.broken and "and" in outcome.stderr.splitlines()[-1]
                 and len(outcome.stderr) < 20_000,
                 "100,000 unknown keys are an error, told briefly", f"{outcome.broken}\n{outcome.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(run_parts(check_shipped_data, check_lists, check_results, check_tables, check_repetition, check_validation,
                       check_collectives, check_calibration, check_library_options, check_settings_in_files,
                       check_resolved, check_output_trouble, check_names, check_warnings, check_groups_beside_traces, check_mendings,
                       check_odd_but_sound, apart=True))
