#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""algorithms_test.py ORRERY: collectives by algorithm files. A ring as MSCCL's XML and as Chakra traces takes what the
built-in ring takes, to the picosecond; all pairs take what `direct` takes; ranks of any table fold exactly; the file in
docs/examples is what algorithm_files.py writes."""
import json
import sys
from pathlib import Path

import algorithm_files
from orrery_program import SOURCE, Checks, Program, scratch_folder

SIZES = ["-b", "1001", "-e", "100M", "-f", "300"]  # 1001, 300300 and 90090000 bytes; none divides by 8
JOB = """\
workload:
  model: {hidden: 1024, layers: 4, heads: 16, vocab: 1024, sequence: 512}
  parallel: {tensor: 4, data: 4}
  batch: {global: 16, micro: 1}
cluster: dgx-a100
nodes: 2
collectives:
  algorithms: {all_reduce: [own.xml]}
"""


def times(program, checks, folder, what, *arguments, op="all_reduce", cluster=("dgx-a100",)):
    done = program.run(["collective", "--cluster", *cluster, "--op", op, *SIZES, *arguments, "--json", "table.json"], folder)
    if not checks.check(done.code == 0 and not done.broken, what, done.stderr):
        return None
    rows = json.loads((Path(folder) / "table.json").read_text())["rows"]
    checks.check(len(rows) > 1, f"{what}: several sizes")
    return [(row["bytes"], row["time_us"], row["bound"]) for row in rows]


def check_equal(program, checks, folder):
    built_in = {name: times(program, checks, folder, name, "--library", "fixed", "--algo", name)
                for name in ("ring", "direct")}
    (Path(folder) / "ring.xml").write_text(algorithm_files.ring(8))
    (Path(folder) / "pairs.xml").write_text(algorithm_files.all_pairs(8))
    algorithm_files.write_graphs(Path(folder) / "graphs", algorithm_files.ring_graphs(8, 1 << 17))
    for what, name, *arguments in (
            ("the ring as XML", "ring", "--algorithm", "ring.xml"),
            ("the ring as traces, whose size follows", "ring", "--algorithm", "graphs"),
            ("the ring as traces, of a stated size", "ring", "--algorithm", "graphs", "--algorithm-size", "1M"),
            ("all pairs", "direct", "--algorithm", "pairs.xml")):
        checks.check(times(program, checks, folder, what, *arguments) == built_in[name], f"{what} takes as long as {name}")
    # Written for half as many bytes, the same messages carry twice their share.
    halved = times(program, checks, folder, "half the size", "--algorithm", "graphs", "--algorithm-size", "512K")
    checks.check(halved is not None and halved[-1][1] > 1.9 * built_in["ring"][-1][1], "a stated size scales", str(halved))
    (Path(folder) / "gather.xml").write_text(algorithm_files.all_gather_ring(8))
    gather = [times(program, checks, folder, "all-gather", *arguments, op="all_gather")
              for arguments in (("--library", "fixed", "--algo", "ring"), ("--algorithm", "gather.xml"))]
    checks.check(gather[0] == gather[1], "an all-gather out of place takes as long as the ring", str(gather))
    spread = [times(program, checks, folder, "two nodes", *arguments, cluster=("dgx-a100", "--nodes", "2", "--gpus-per-node",
                                                                                 "4"))
              for arguments in (("--library", "fixed"), ("--algorithm", "ring.xml"))]
    checks.check(spread[0] == spread[1], "over nodes, too, it takes as long as one logical ring", str(spread))


def check_folding(program, checks, folder):
    (Path(folder) / "job.yaml").write_text(JOB)
    tables = {"ring": algorithm_files.ring(4), "two rings": algorithm_files.two_rings(4),
              "all pairs": algorithm_files.all_pairs(4), "chain": algorithm_files.chain(4)}
    for name, text in tables.items():
        (Path(folder) / "own.xml").write_text(text)
        for settings in ([], ["network.granularity=phase"], ["collectives.chunks=3"], ["network.model=alpha-beta"],
                         ["perturb.ranks.3.compute=50%"]):
            done = program.run(["run", "job.yaml", "--verify-fold", *[word for s in settings for word in ("--set", s)]], folder)
            checks.check(done.code == 0 and "no operation of 16 ranks differs" in done.stderr,
                         f"{name} folds exactly, {settings}", done.stdout + done.stderr)
    named = program.run(["run", "job.yaml", "--set", "collectives.algorithms.all_reduce=[own.xml, own.xml]"], folder)
    checks.check(named.code == 2 and "two files for 4 ranks" in named.stderr, "two files for a size", named.stderr)
    mixed = program.run(["run", "job.yaml", "--set", "collectives.algorithms.all_reduce=[own.xml, ring]"], folder)
    checks.check(mixed.code == 2 and "'ring' beside the file of an algorithm" in mixed.stderr, "a name and a file",
                 mixed.stderr)
    others = program.run(["run", "job.yaml", "--set", "workload.parallel.tensor=2"], folder)
    checks.check(others.code == 0 and "no file of collectives.algorithms.all_reduce is for groups of 2 ranks" in others.stderr,
                 "groups of another size", others.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        check_equal(program, checks, folder)
        check_folding(program, checks, folder)
    shipped = SOURCE / "docs" / "examples" / "all-pairs-8.xml"
    checks.check(shipped.read_text() == algorithm_files.all_pairs(8), f"{shipped.name} is what algorithm_files.py writes")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
