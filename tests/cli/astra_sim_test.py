#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""astra_sim_test.py PROGRAM: `orrery astra-sim` prints ASTRA-sim's numbers.

Every run of ../shared/data/astra-sim in which all ranks finished gives each rank's finish time to the nanosecond, folded
and with every rank simulated by itself, and so do the runs on stage traces; the others end with an error. ASTRA-sim's
examples run unchanged. Inputs that ASTRA-sim takes silently for something else give its number and a warning.
Converted runs are experiments that run. Without ../shared only what needs no recorded runs is checked."""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import broken_astra
from broken_astra import (ALL_GATHER, MEM_LOAD, NETWORK, collective, flags, network, receive, send, system, traces, work)
from error_row import make_traces
from orrery_program import PATIENCE, SOURCE, Checks, Program, scratch_folder, write_files

SHARED = SOURCE.parent / "shared" / "data"
RECORDED = SHARED / "astra-sim"
LINE = re.compile(r"\[workload\] \[info\] sys\[(\d+)\] finished, (\d+) cycles, exposed communication (\d+) cycles\.")
MOST_SECONDS = 300  # of all recorded runs, on a machine that does other things, too


def finish_times(outcome):
    """{rank: (finish, exposed)} of the lines; nothing else is on standard output."""
    lines = [LINE.fullmatch(line) for line in outcome.stdout.splitlines()]
    return {int(line[1]): (int(line[2]), int(line[3])) for line in lines} if all(lines) else {}


def per_rank(recorded, npus):
    """The values of all ranks, or None if not every rank has one."""
    values = recorded if isinstance(recorded, list) else [recorded["all"]] * recorded["n"] if recorded else []
    return values if len(values) == npus and None not in values else None


def needs_a_power_of_two(run):
    """Whether it is one of the wrong halvingDoubling runs that are refused."""
    return "halvingDoubling" in json.dumps(run["system"]) and run["npus"] & (run["npus"] - 1) != 0


class Recorded:
    """The recorded runs, whose files are written to a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def arguments(self, name, run, workload, more=()):
        write_files(self.folder, {f"{name}.json": json.dumps(run["system"], indent=2), f"{name}.yml": run["network"],
                                  f"{name}.memory": json.dumps(run["remote_memory"])})
        at = self.folder / name
        return [*flags(f"{at}.json", f"{at}.yml", f"{at}.memory", workload, more), f"--backend={run['backend']}"]

    def run(self, name, run, workload, more=()):
        return self.program.run(self.arguments(name, run, workload, more), RECORDED)


def check_recorded_runs(program, checks):
    exact, differing, refused = 0, [], 0
    started = time.monotonic()
    with scratch_folder() as folder:
        recorded = Recorded(program, folder)
        for line in (RECORDED / "runs.jsonl").read_text().splitlines():
            run = json.loads(line)
            workload = f"workloads/{run['workload']}"
            expected = per_rank(run["ranks"].get("finish"), run["npus"])
            if expected is None or needs_a_power_of_two(run):
                outcome = recorded.run(run["id"].__str__(), run, workload, [*run["cli"], "-q"])
                checks.check(outcome.code in (2, 3) and not outcome.broken and "rror:" in outcome.stderr,
                             f"run {run['id']}, which ASTRA-sim did not finish, is refused with a message",
                             f"exit {outcome.code}\n{outcome.stderr}\n{outcome.stdout}")
                refused += 1
                continue
            exposed = per_rank(run["ranks"].get("exposed"), run["npus"])
            for more in ([], ["--no-fold"]):
                outcome = recorded.run(str(run["id"]), run, workload, [*run["cli"], "-q", *more])
                times = finish_times(outcome)
                got = [times[rank][0] for rank in sorted(times)]
                same = got == expected and (exposed is None or [times[rank][1] for rank in sorted(times)] == exposed)
                exact += same and not more
                if not same or outcome.code != 0 or outcome.broken:
                    differing.append(f"{run['id']} {run['group']} {more}: {expected[:4]}, got {got[:4]} "
                                     f"(exit {outcome.code}) {outcome.stderr[:200]}")
    print(f"recorded runs: {exact} exact, {len(differing)} differ, {refused} refused")
    checks.check(not differing and exact > 1500, f"{len(differing)} recorded runs differ", "\n".join(differing[:40]))
    seconds = time.monotonic() - started
    checks.check(seconds < MOST_SECONDS * PATIENCE, f"the recorded runs take less than {MOST_SECONDS} s", f"{seconds:.0f} s")


def unpack(file, folder):
    """A .tar.zst, with zstd(1)."""
    packed = subprocess.run(["zstd", "-dc", str(file)], capture_output=True, check=True)
    archive = Path(folder) / "archive.tar"
    archive.write_bytes(packed.stdout)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)


def check_stage_runs(program, checks):
    for line in (RECORDED / "stage_runs.jsonl").read_text().splitlines():
        run = json.loads(line)
        with scratch_folder() as folder:
            unpack(SHARED / "traces" / "stage" / f"{run['set']}.tar.zst", folder)
            recorded = Recorded(program, folder)
            prefix = next(Path(folder).rglob("*.0.et")).as_posix().removesuffix(".0.et")
            groups = next(Path(folder).rglob("comm_group.json"))
            for more in ([], ["--no-fold"]):
                outcome = recorded.run("stage", run, prefix, [f"--comm-group-configuration={groups}", "-q", *more])
                times = [finish for finish, _ in finish_times(outcome).values()]
                same = len(times) == run["npus"] and max(times) == run["max_finish_ns"] and \
                    sum(times) == run["sum_finish_ns"] and (not run.get("finish_ns") or times == run["finish_ns"])
                checks.check(same and outcome.code == 0, f"{run['set']} {more}: the recorded finish times",
                             f"{run['max_finish_ns']}, got {max(times, default=0)}\n{outcome.stderr}")


def check_examples(program, checks):
    """The commands of ASTRA-sim's own scripts, with its own files."""
    native = "examples/system/native_collectives"
    for backend, workload, system_file, network_file, finish in [
            ("congestion_unaware", "all_reduce/8npus_1MB/all_reduce", "Ring_4chunks", "Ring_8npus", 64440),
            ("congestion_aware", "all_reduce/8npus_1MB/all_reduce", "HGX-H100-validated", "HGX-H100-validated", 57426),
            ("congestion_aware", "all_gather/16npus_1MB/all_gather", "Ring_4chunks", "Ring_16npus", 323560),
            ("congestion_unaware", "reduce_scatter/4npus_1MB/reduce_scatter", "Ring_4chunks", "Ring_4npus", None)]:
        arguments = [*flags(f"{native}/{system_file}.json", f"examples/network_analytical/{network_file}.yml",
                            "examples/remote_memory/no_memory_expansion.json", f"workloads/examples/{workload}"),
                     f"--backend={backend}", "--comm-group-configuration", "empty", "--logging-folder", "log"]
        outcome = program.run(arguments, RECORDED)
        times = finish_times(outcome)
        ranks = int(re.search(r"/(\d+)npus", workload)[1])
        checks.check(outcome.code == 0 and list(times) == list(range(ranks)) and
                     (finish is None or {time for time, _ in times.values()} == {finish}),
                     f"the example {workload} ends after {finish}", f"{outcome.stdout}\n{outcome.stderr}")


# What ASTRA-sim does not say: its number, and a warning that names the cause. (what, the finish times, that of all ranks or
# {the last}, texts of the warning, files on top of the sound run, more flags)
SILENT = [
    ("a sound run", 64440, [], {}, []),
    ("more traces than NPUs", [43000] * 4, ["job.4.et: warning: is not read: the network has 4 NPUs"],
     {"network.yml": network(npus_count="[ 4 ]")}, []),
    ("no local-mem-bw", 62760, ["warning: the key 'local-mem-bw' is missing or 0: reductions cost nothing"],
     {"system.json": system(without=["local-mem-bw"])}, []),
    ("no scheduling policy", 64440, [], {"system.json": system(without=["scheduling-policy"])}, []),
    ("no collective optimization", 64440, [], {"system.json": system(without=["collective-optimization"])}, []),
    ("no collective optimization in two dimensions", None,
     ["warning: the key 'collective-optimization' is missing, and ASTRA-sim does not initialise it"],
     {"system.json": system(without=["collective-optimization"], all_reduce_implementation=["ring", "ring"]),
      "network.yml": network(topology="[ Ring, Ring ]", npus_count="[ 4, 2 ]", bandwidth="[ 50, 50 ]",
                             latency="[ 500, 500 ]")}, []),
    ("fewer algorithms than dimensions", 43000,
     ["system.json:6: warning: 'all-reduce-implementation' has 1 of 2 names", "only 4 of 8 ranks take part"],
     {"network.yml": network(topology="[ Ring, Ring ]", npus_count="[ 4, 2 ]", bandwidth="[ 50, 50 ]",
                             latency="[ 500, 500 ]")}, []),
    ("doubleBinaryTree for an all-gather", {139052}, ["warning: 'doubleBinaryTree' is an all-reduce"],
     {"system.json": system(all_gather_implementation=["doubleBinaryTree"]), **traces(collective(ALL_GATHER))}, []),
    ("an unknown key", 64440, ["warning: unknown key 'active-chunk-per-dimension', which ASTRA-sim ignores",
                               "did you mean 'active-chunks-per-dimension'?"],
     {"system.json": system(active_chunk_per_dimension=8)}, []),
    ("no memory-type", 64440, [], {"memory.json": "{}"}, []),
    ("a pool of remote memory", [100100 * (rank + 1) for rank in range(8)], [],
     {"memory.json": json.dumps({"memory-type": "MEMORY_POOL", "remote-mem-latency": 100000, "remote-mem-bw": 100}),
      **traces((MEM_LOAD, [], {"tensor_size": 10000}))}, []),
    ("remote memory of each NPU", 100100, [],
     {"memory.json": json.dumps({"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 100000,
                                 "remote-mem-bw": 100}), **traces((MEM_LOAD, [], {"tensor_size": 10000}))}, []),
    ("a send without a receiver", 5000, ["warning: a message of 4096 bytes with tag 1 from rank 0 to rank 1 has no receiver"],
     traces(work(), rank0=[work(), send(1)]), []),
    ("a message and its receive", None, [], traces(work(), rank0=[work(), send(1)], rank1=[work(), receive(0)]), []),
    ("an all-reduce of 0 bytes", 28600, [], traces(collective(size=0)), []),
    ("an all-reduce of 1 byte", 28600, [], traces(collective(size=1)), []),
    ("computing on the host", 33600, [],
     {"system.json": system(preferred_dataset_splits=4), **traces(work(is_cpu_op=True), collective(size=0, after=[0]))}, []),
    ("scales that do nothing", 64440, [], {}, ["--compute-scale=10", "--comm-scale", "3"]),
    ("splits with a fraction", 64440, ["system.json:5: warning: 'preferred-dataset-splits' is 4.5, of which ASTRA-sim takes 4"],
     {"system.json": system(preferred_dataset_splits=4.5)}, []),
    ("splits that are true", None, ["warning: 'preferred-dataset-splits' is true, of which ASTRA-sim takes 1"],
     {"system.json": system(preferred_dataset_splits=True)}, []),
    ("an endpoint delay with a fraction", 64440, ["warning: 'endpoint-delay' is 10.5, of which ASTRA-sim takes 10"],
     {"system.json": system(endpoint_delay=10.5)}, []),
    ("a roofline that is true", 64440, [], {"system.json": system(roofline_enabled=True, peak_perf=900)}, []),
    # 500 ns and 8,192 bytes to say that the receiver is ready, then 500 ns and 4,096 bytes; with 53.7 bytes a nanosecond.
    *((f"a rendezvous by {' '.join(more)}", [1228, 1228, *[5000] * 6], [],
       traces(work(), rank0=[send(1)], rank1=[receive(0)]), more)
      for more in (["--rendezvous-protocol", "true"], ["--rendezvous-protocol=true"], ["--rendezvous-protocol"])),
    *((f"no rendezvous by {' '.join(more)}", [576, 576, *[5000] * 6], [],
       traces(work(), rank0=[send(1)], rank1=[receive(0)]), more)
      for more in (["--rendezvous-protocol", "false"], ["--rendezvous-protocol=false"], [])),
    ("a group in another order", None, [], {"groups.json": '{"1": [3, 1, 0, 2]}',
                                            **traces(work(), **{f"rank{r}": [collective(pg_name="1")] for r in range(4)})},
     ["--comm-group-configuration=groups.json"]),
]


def check_silent_inputs(program, checks):
    for what, expected, messages, files, more in SILENT:
        with scratch_folder() as folder:
            write_files(folder, {**broken_astra.base(), **files})
            outcome = program.run(flags(more=more), folder)
        times = [finish for finish, _ in finish_times(outcome).values()]
        wanted = [expected] * len(times) if isinstance(expected, int) else expected
        details = f"{outcome.stdout}\n{outcome.stderr}"
        if isinstance(expected, set):
            times, wanted = {max(times, default=0)}, expected
        checks.check(outcome.code == 0 and times and (wanted is None or times == wanted),
                     f"{what}: {expected} is expected", details)
        for message in messages:
            checks.check(message in outcome.stderr, f"{what}: no '{message}'", details)
        if not messages:
            checks.check("warning" not in outcome.stderr, f"{what}: no warning", details)


# Where ASTRA-sim departs from its network file: (what, the note, files on top of the sound run).
TWO_RINGS = network(topology="[ Ring, Ring ]", npus_count="[ 4, 2 ]", bandwidth="[ 50, 50 ]", latency="[ 500, 500 ]")
FIRST_ONLY = "note: a message between ranks that differ in several dimensions is charged the first of them only"
NOTES = [
    ("oneRing in two dimensions", FIRST_ONLY,
     {"system.json": system(all_reduce_implementation=["oneRing"]), "network.yml": TWO_RINGS}),
    ("oneDirect in two dimensions", FIRST_ONLY,
     {"system.json": system(all_reduce_implementation=["oneDirect"]), "network.yml": TWO_RINGS}),
    ("much more than asked for", "1 bytes in 4 chunks: the last chunk is not shortened, so that 3100 % more is moved",
     traces(collective(size=1))),
]


def check_notes(program, checks):
    for what, note, files in NOTES:
        with scratch_folder() as folder:
            write_files(folder, {**broken_astra.base(), **files})
            outcome = program.run(flags(), folder)
        checks.check(outcome.code == 0 and note in outcome.stderr, f"{what}: '{note}'", outcome.stderr)
    with scratch_folder() as folder:
        write_files(folder, {**broken_astra.base(), "network.yml": TWO_RINGS,
                             "system.json": system(all_reduce_implementation=["ring", "ring"])})
        outcome = program.run(flags(), folder)
    checks.check(outcome.code == 0 and FIRST_ONLY not in outcome.stderr, "a ring of each dimension leaves none out", outcome.stderr)


def check_alone(program, checks):
    """The two programs need nothing beside them, and no environment; other commands say what they miss."""
    with scratch_folder() as folder:
        write_files(folder, broken_astra.base())
        alone = shutil.copy(program.path, folder)
        half = subprocess.run([alone, *flags()], cwd=folder, capture_output=True, text=True, check=False)
        checks.check(half.returncode == 2 and "orrery-study: error: has 'orrery astra-sim', and cannot be started: No such file"
                     in half.stderr and not half.stdout, "a command whose program is not there says so", half.stderr)
        drawn = subprocess.run([alone, "compare", "a.yaml", "b.yaml", "--svg=c.svg"], cwd=folder, capture_output=True, text=True, check=False)
        checks.check(drawn.returncode == 2 and "orrery-study: error: has 'orrery compare --svg', and cannot be started: No such file"
                     in drawn.stderr and not drawn.stdout, "an option whose program is not there says so", drawn.stderr)
        os.symlink(alone, Path(folder, "orrery-study"))
        itself = subprocess.run([alone, *flags()], cwd=folder, capture_output=True, text=True, check=False, timeout=20)
        checks.check(itself.returncode == 2 and "is the program 'orrery' by another name" in itself.stderr,
                     "a command is not handed to the same program for ever", itself.stderr)
        Path(folder, "orrery-study").unlink()
        shutil.copy(f"{program.path}-study", folder)
        environment = {name: value for name, value in os.environ.items() if name != "ORRERY_CONFIGS"}
        run = subprocess.run([alone, *flags()], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        checks.check(run.returncode == 0 and "sys[7] finished, 64440 cycles" in run.stdout, "a lone program", run.stderr)
        run = subprocess.run([alone, "list", "clusters"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        checks.check(run.returncode == 2 and "finds no configurations beside itself" in run.stderr and not run.stdout,
                     "other commands need the configurations", f"{run.stdout}\n{run.stderr}")


def check_documents(program, checks):
    """--json, --timeline, --html and --convert, cluster import."""
    with scratch_folder() as folder:
        write_files(folder, broken_astra.base())
        outcome = program.run([*flags(), "--json", "-", "--timeline", "t.json"], folder)
        document = json.loads(outcome.stdout)
        checks.check(document["schema"] == "orrery.astra-sim/1" and document["finish_ns"] == [64440] * 8 and
                     document["iteration_time_s"] == 64440e-9 and document["rank_classes"] == 1, "the JSON", outcome.stdout)
        row = document["breakdown"][0]
        checks.check(row["exposed_comm_s"] == {"all-reduce": 64440e-9} and row["idle_s"] == 0 and row["ranks"] == 8,
                     "the breakdown adds up to the time", row)
        events = json.loads((Path(folder) / "t.json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        checks.check(len(slices) == 1 and round(slices[0]["dur"], 6) == 64.44 and slices[0]["name"] == "all-reduce",
                     "the timeline", events)
        outcome = program.run([*flags(), "--timeline", "t.json.gz", "--json", "d.json.gz", "--html", "p.html.gz"], folder)
        packed = {name: (Path(folder) / name).read_bytes() for name in ("t.json.gz", "d.json.gz", "p.html.gz")}
        checks.check(all(content.startswith(b"\x1f\x8b") for content in packed.values()), "what ends with .gz is gzipped",
                     outcome.stderr)
        checks.check(json.loads(gzip.decompress(packed["t.json.gz"]))["traceEvents"] == events and
                     json.loads(gzip.decompress(packed["d.json.gz"])) == document, "they hold the same as without")
        outcome = program.run([*flags(), "--html", "page.html"], folder)
        page = (Path(folder) / "page.html").read_text()
        checks.check(outcome.code == 0 and '"all-reduce, node 0"' in page and '"kind":"run"' in page, "the page", page[-3000:])
        again = [program.run([*flags(), "--json", "-"], folder).stdout for _ in range(2)]
        checks.check(again[0] == again[1], "the same input gives the same bytes")
        outcome = program.run(["cluster", "import", "network.yml"], folder)
        (Path(folder) / "cluster.yaml").write_text(outcome.stdout)
        shown = program.run(["cluster", "show", "./cluster.yaml"], folder)
        checks.check(shown.code == 0 and "8 devices" in shown.stdout and "50 GiB/s" in shown.stdout,
                     "the imported cluster can be shown", f"{outcome.stdout}\n{shown.stdout}\n{shown.stderr}")


# Converted, and what the experiment says of each. Native times differ by the endpoint delay, reductions and picoseconds
# only, where the two agree on the rest.
CONVERTED = [0, 1, 2, 3, 4, 30, 60, 90, 120, 400, 1300, 1800, 2164]


def check_custom(program, checks):
    """Custom collectives are kept in converted experiments, and take what they take."""
    own = broken_astra.ring_schedule("own/ring")
    with scratch_folder() as folder:
        for what, keys, more in (
                ("of an operation", {"all_reduce_implementation_custom": ["own/ring"], "preferred_dataset_splits": 4}, {}),
                ("of every node", {"per_node_custom_implementation": "nodes.yml"}, {"nodes.yml": "{0: own/ring}"})):
            write_files(folder, {**broken_astra.base(), **own, **more, "made": None, "system.json": system(**keys)})
            there = finish_times(program.run(flags(), folder))
            outcome = program.run([*flags(), "--convert", "made/job.yaml"], folder)
            text = (Path(folder) / "made" / "job.yaml").read_text()
            checks.check(outcome.code == 0 and 'all_reduce: ["../own/ring"]' in text and "algorithm_size: 1048576 B" in text
                         and "chunks" not in text, f"the schedule {what} is kept", f"{outcome.stderr}\n{text}")
            native = program.run(["run", "made/job.yaml", "--json", "-"], folder)
            # 14 messages of 131,072 bytes one after another, each ceil(131072 / (50 * 2^30) s) + 500 ns = 2,941,407 ps.
            time = json.loads(native.stdout)["iteration_time_s"] if native.code == 0 else 0
            checks.check(abs(time - 14 * 2_941_407e-12) < 1e-15, f"the schedule {what} runs", f"{time} {native.stderr}")
            checks.check(abs(time * 1e9 / there[0][0] - 1) < 0.01, f"the schedule {what} takes what it takes there",
                         f"{time} {there}")
        # Calls of two sizes: there the messages stay as they are, here they grow.
        write_files(folder, traces(collective(), collective(size=2 << 20, after=[0])) |
                    {"system.json": system(all_reduce_implementation_custom=["own/ring"])})
        outcome = program.run([*flags(), "--convert", "two.yaml"], folder)
        text = (Path(folder) / "two.yaml").read_text()
        checks.check(outcome.code == 0 and "algorithm_size:" not in text.split("cluster:")[1] and
                     "whatever the size of a call" in text, "calls of two sizes are said", text)
        native = program.run(["run", "two.yaml", "--json", "-"], folder)
        # The second call has messages of twice the size: 14 (2,941,407 ps + ceil(262144 / (50 * 2^30) s) + 500 ns).
        time = json.loads(native.stdout)["iteration_time_s"] if native.code == 0 else 0
        checks.check(abs(time - 14 * (2_941_407e-12 + 5_382_813e-12)) < 1e-15, "and run", f"{time} {native.stderr}")


def check_roofline(program, checks):
    """Traces timed by FLOPs and bytes reach the device's own shares of its peaks, or what is asked for, and say so."""
    # 1 ms of an H100's 989 TFLOP/s, then 1 ms of its 3,350 GB/s.
    nodes = [work(0, num_ops=989_000_000_000, tensor_size=1000), work(0, after=[0], num_ops=1000, tensor_size=3_350_000_000)]
    cluster = "{device: h100-sxm, dims: [{topology: switch, size: 2, bandwidth: 100 GB/s, latency: 1 us}]}"
    with scratch_folder() as folder:
        write_files(folder, {**traces(*nodes, ranks=2), "job.yaml": f"cluster: {cluster}\nworkload: {{chakra: {{prefix: job}}}}\n"})
        # compute.gemm of the device is 76.4 %, compute.memory 88.7 %.
        for setting, time, shares in ((None, 1e-3 / 0.764 + 1e-3 / 0.887, (0.764, 0.887)),
                                      ("efficiency: 50 %", 4e-3, (0.5, 0.5)), ("efficiency: 100 %", 2e-3, (1, 1))):
            more = ["--set", f"workload.chakra.compute={{{setting}}}"] if setting else []
            outcome = program.run(["run", "job.yaml", "--json", "r.json", *more], folder)
            result = json.loads((Path(folder) / "r.json").read_text()) if outcome.code == 0 else {}
            told = result.get("roofline", [{}])[0]
            checks.check(abs(result.get("iteration_time_s", 0) - time) < 1e-11 and
                         (told.get("peak_share"), told.get("memory_share")) == shares, f"the roofline with {setting}",
                         f"{result.get('iteration_time_s')} {told} {outcome.stderr}")
            text = f"computes by the roofline: {100 * shares[0]:.1f} % of the peak, {100 * shares[1]:.1f} % of memory bandwidth"
            checked = program.run(["check", "job.yaml", *more], folder)
            checks.check(text in outcome.stdout and text in checked.stdout, f"the shares with {setting} are said",
                         f"{outcome.stdout}\n{checked.stdout}")
        write_files(folder, traces(work(5), ranks=2))
        outcome = program.run(["run", "job.yaml", "--set", "workload.chakra.compute.efficiency=50 %"], folder)
        checks.check(outcome.code == 0 and "'compute.efficiency' changes nothing" in outcome.stderr,
                     "an efficiency without anything to act on", outcome.stderr)


def check_conversion(program, checks):
    runs = {run["id"]: run for run in map(json.loads, (RECORDED / "runs.jsonl").read_text().splitlines())}
    done = 0
    with scratch_folder() as folder:
        recorded = Recorded(program, folder)
        for number in sorted(runs, key=lambda number: (number not in CONVERTED, number)):
            run = runs[number]
            expected = per_rank(run["ranks"].get("finish"), run["npus"])
            if expected is None or needs_a_power_of_two(run) or done == 13:
                continue
            done += 1
            experiment = Path(folder) / f"{number}.yaml"
            outcome = recorded.run(str(number), run, f"workloads/{run['workload']}",
                                   [*run["cli"], "--convert", str(experiment)])
            text = experiment.read_text() if experiment.exists() else ""
            checks.check(outcome.code == 0 and "# What differs in meaning from ASTRA-sim:" in text and
                         "# - endpoint-delay" in text, f"run {number} is converted", f"{outcome.stderr}\n{text}")
            native = program.run(["run", str(experiment), "--json", "-"], folder)
            if not checks.check(native.code == 0, f"run {number}, converted, runs", f"{native.stderr}\n{text}"):
                continue
            ratio = json.loads(native.stdout)["iteration_time_s"] * 1e9 / max(expected)
            checks.check(0.2 < ratio < 5, f"run {number}, converted, takes about as long", f"{ratio}\n{text}")
            checks.check("ring" not in run["system"].get("all-reduce-implementation", [])[:1] or
                         "Ring" not in run["network"] or run["backend"] != "congestion_unaware" or
                         len(run["system"]["all-reduce-implementation"]) > 1 or 0.9 < ratio < 1.02,
                         f"run {number}: a ring takes what it takes in ASTRA-sim, but for delays", f"{ratio}\n{text}")


def check_speed(program, checks):
    """What ASTRA-sim takes minutes for; a generous limit, for machines differ."""
    with scratch_folder() as folder:
        write_files(folder, {**broken_astra.base(), "system.json": system(preferred_dataset_splits=64),
                             "network.yml": NETWORK.replace("8", "1024"),
                             **{f"job.{rank}.et": broken_astra.trace(collective(size=64 << 20)) for rank in range(1024)}})
        started = time.monotonic()
        outcome = program.run(flags(), folder)
        seconds = time.monotonic() - started
        checks.check(outcome.code == 0 and len(finish_times(outcome)) == 1024 and seconds < 2 * PATIENCE,
                     "a ring of 1,024 ranks in 64 chunks", f"{seconds} s\n{outcome.stderr}")
        # The same where links are shared, in one chunk after another: each message is alone on its link.
        started = time.monotonic()
        outcome = program.run([*flags(), "--backend=congestion_aware", "--json", "-"], folder)
        seconds = time.monotonic() - started
        document = json.loads(outcome.stdout) if outcome.code == 0 else {}
        checks.check(document.get("rank_classes") == 1 and document["simulation"]["folded"] and seconds < 2 * PATIENCE,
                     "a ring of 1,024 ranks with shared links folds to one", f"{seconds} s\n{outcome.stderr}")
        # A chunk is 1 MiB, a message 1,024 bytes: 500 ns + 1024 / (50 * 2^30 / 10^9) ns = 519.07 -> 519 ns, then 10 ns
        # at the endpoint; before the first message 10 ns as well. A reduction takes 3 * floor(1024 / 1600) = 0 ns.
        checks.check(set(document.get("finish_ns", [])) == {64 * (10 + 2 * 1023 * (519 + 10))},
                     "each chunk takes 2 (n - 1) messages", outcome.stdout[:300])
        # 32 layers of a data-parallel step: backward computing, and an all-reduce of each layer's gradients behind it.
        step = []
        for layer in range(32):
            step.append(work(1000, after=[2 * layer - 2] if layer else []))
            step.append(collective(size=400 << 20, after=[2 * layer]))
        two = {"topology": "[ Switch, Switch ]", "npus_count": "[ 8, 128 ]", "bandwidth": "[ 300, 25 ]", "latency": "[ 700, 1500 ]"}
        write_files(folder, {"system.json": system(all_reduce_implementation=["ring", "ring"], active_chunks_per_dimension=2),
                             "network.yml": network(**two), **traces(*step, ranks=1024)})
        started = time.monotonic()
        outcome = program.run([*flags(), "--json", "-"], folder)
        seconds = time.monotonic() - started
        document = json.loads(outcome.stdout) if outcome.code == 0 else {}
        checks.check(document.get("rank_classes") == 1 and seconds < 3 * PATIENCE,
                     "32 layers on 1,024 ranks fold to one and take no time", f"{seconds} s\n{outcome.stderr}")
        checks.check(document.get("finish_ns", [0])[0] > 32_000_000, "their computing alone takes 32 ms", outcome.stdout[:500])


def main():
    program, checks = Program(sys.argv[1]), Checks()
    check_silent_inputs(program, checks)
    check_notes(program, checks)
    check_alone(program, checks)
    check_documents(program, checks)
    check_custom(program, checks)
    check_roofline(program, checks)
    check_speed(program, checks)
    if RECORDED.is_dir():
        check_examples(program, checks)
        check_recorded_runs(program, checks)
        check_stage_runs(program, checks)
        check_conversion(program, checks)
    else:
        print(f"SKIPPED: there is no {RECORDED}, so that no recorded run is compared")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
