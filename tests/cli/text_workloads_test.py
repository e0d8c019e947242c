#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""text_workloads_test.py PROGRAM: tables of layers and GOAL schedules run as they stand, as their imported traces do, and
without a file for each rank; an import says how much it is going to write."""
import json
import sys
from pathlib import Path

from orrery_program import Checks, Program, scratch_folder

LAYERS = ("layer{} -1 1000 ALLREDUCE 33554432 1000 ALLREDUCE 33554432 1000 ALLREDUCE 33554432 1\n")
SIMAI = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {} checkpoints: 0 "
         "checkpoint_initiates: 0\n{}\n")
ASTRA = "DATA\n2\nconv1 -1 13003 NONE 0 12864 NONE 0 32291 ALLREDUCE 37632 3229\nconv2 -1 5 NONE 0 7 NONE 0 9 ALLREDUCE 64 11\n"
GOAL = """num_ranks 2
rank 0 {
l1: calc 1000
l2: send 1024b to 1 tag 3
l2 requires l1
}
rank 1 {
l1: recv 1024b from 0 tag 3
}
"""


def simai(ranks, layers):
    return SIMAI.format(ranks, layers) + "".join(LAYERS.format(i) for i in range(layers))


def experiment(workload, nodes):
    return f"cluster: dgx-a100\nnodes: {nodes}\nworkload: {workload}\n"


def run(program, checks, folder, workload, nodes, *arguments):
    (folder / "job.yaml").write_text(experiment(workload, nodes))
    done = program.run(["run", "job.yaml", "--json", "-", *arguments], folder)
    if not checks.check(done.code == 0, f"{workload} runs", done.stderr):
        return {}
    return json.loads(done.stdout)


def check_as_imported(program, checks, folder):
    """A text that is run as it stands takes as long as the traces that are imported from it."""
    for name, text, key, more, options, nodes in (
            ("simai.txt", simai(16, 3), "layers", "", [], 2),
            ("astra.txt", ASTRA, "layers", "ranks: 8, iterations: 2", ["--ranks", "8", "--iterations", "2"], 1),
            ("two.goal", GOAL, "goal", "", [], 1)):
        (folder / name).write_text(text)
        workload = f"{{{key}: {{file: {name}, {more}}}}}" if more else f"{{{key}: {name}}}"
        direct = run(program, checks, folder, workload, nodes)
        imported = program.run(["workload", "import", name, "--out", name + ".traces", *options], folder)
        checks.check(imported.code == 0 and "traces of" in imported.stdout, "imported", imported.stderr)
        replayed = run(program, checks, folder, f"{{chakra: {{prefix: {name}.traces/rank}}}}", nodes)
        checks.check(direct.get("iteration_time_s") == replayed.get("iteration_time_s"), f"{name}: as its traces",
                     (direct.get("iteration_time_s"), replayed.get("iteration_time_s")))
        checked = program.run(["check", "job.yaml"], folder)
        checks.check(checked.code == 0, "check", checked.stderr)
        checks.check(direct.get("communicators") == replayed.get("communicators"), f"{name}: its groups by name")
        each = program.run(["workload", "import", name, "--out", name + ".each", "--per-rank", *options], folder)
        checks.check(each.code == 0, "imported with a trace for each rank", each.stderr)
        of_each = run(program, checks, folder, f"{{chakra: {{prefix: {name}.each/rank}}}}", nodes)
        checks.check(direct.get("iteration_time_s") == of_each.get("iteration_time_s"), f"{name}: as a trace for each rank")


def check_many_ranks(program, checks, folder):
    """9,216 ranks with one program: nobody writes them out, and an import is one trace and who has it."""
    (folder / "big.txt").write_text(simai(9216, 3))
    before = set(folder.iterdir())
    result = run(program, checks, folder, "{layers: big.txt}", 1152)
    checks.check(result.get("ranks") == 9216, "all ranks", result.get("ranks"))
    checks.check(set(folder.iterdir()) - before <= {folder / "job.yaml"}, "no files of ranks")
    imported = program.run(["workload", "import", "big.txt", "--out", "big"], folder)
    checks.check(imported.code == 0 and "9216 ranks (1 different graph" in imported.stdout and "in 1 file" in imported.stdout,
                 "imported", imported.stdout + imported.stderr)
    checks.check([file.name for file in (folder / "big").glob("*.et")] == ["rank.0.et"], "as one trace")
    replayed = run(program, checks, folder, "{chakra: {prefix: big/rank}}", 1152)
    checks.check(replayed.get("iteration_time_s") == result.get("iteration_time_s"), "that takes as long",
                 (replayed.get("iteration_time_s"), result.get("iteration_time_s")))
    inspected = program.run(["workload", "inspect", "big/rank", "--json", "-"], folder)
    checks.check(json.loads(inspected.stdout)["ranks"] == 9216, "inspected", inspected.stderr)
    checks.check(program.run(["workload", "lint", "big/rank"], folder).code == 0, "and sound")
    # Three layers of 3 us and 1 us of update, with three all-reduces each, cannot take less than what they compute.
    checks.check(result.get("iteration_time_s", 0) > 9e-6, "it computes", result.get("iteration_time_s"))


def check_size_first(program, checks, folder):
    """300 layers on 1,024 ranks are more than 100 MB of traces, one for each, which is said before they are written."""
    (folder / "wide.txt").write_text(simai(1024, 300))
    done = program.run(["workload", "import", "wide.txt", "--out", "wide", "--per-rank"], folder)
    warning = done.stderr.find("the traces of 1024 ranks are about")
    checks.check(done.code == 0 and warning >= 0, "says how much", done.stderr[-600:])
    checks.check("workload: {layers: wide.txt}" in done.stderr, "and what needs no files", done.stderr[-600:])
    said = done.stderr[warning:].split("about ")[1].split("\n")[0].split()
    size = float(said[0]) * {"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[said[1]]
    written = sum(file.stat().st_size for file in (folder / "wide").glob("rank.*.et"))
    checks.check(abs(size / written - 1) < 0.02, "about as much as it is", (size, written))


def main():
    program, checks = Program(sys.argv[1]), Checks()
    for check in (check_as_imported, check_many_ranks, check_size_first):
        with scratch_folder() as name:
            check(program, checks, Path(name))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
