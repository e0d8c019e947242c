#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""several_jobs_test.py PROGRAM: jobs that share a fabric: times worked out by hand for every placement, and what the
result says of each job."""
import json
import sys
from pathlib import Path

from orrery_program import Checks, Program, load_make_traces, scratch_folder, write_files

make_traces = load_make_traces()

# Two leaf switches with two nodes each; a node has two devices and one NIC of 25 GB/s; a leaf's two NICs share one
# up-link of 25 GB/s.
FABRIC = """\
cluster:
  node:
    device: a100-sxm-80gb
    devices: 2
    fabric: {topology: switch, bandwidth: 300 GB/s, latency: 1 us}
    nics: {count: 1, bandwidth: 25 GB/s, host_bandwidth: 1000 GB/s, host_latency: 500 ns}
  scale_out: {topology: fat-tree, leaf_ports: 2, oversubscription: 2, latency: 1 us, trunk_latency: 300 ns}
nodes: 4
collectives: {library: fixed}
"""
MILLISECOND = 25_000_000  # bytes that a NIC sends in a millisecond
# Host to NIC, half of `latency` to the leaf, and the same down again: 0.5 + 0.5 + 0.5 + 0.5; over the spine 0.3 up and
# 0.3 down. In milliseconds.
LEAF, SPINE = 0.0020, 0.0026
MODEL = """\
{model: {hidden: 1024, layers: 4, heads: 16, vocab: 51200, sequence: 1024}, parallel: {data: 4}, batch: {global: 8, micro: 1}}"""


def ring(ranks, size):
    """Every rank sends to the next, all at once."""
    traces = []
    for rank in range(ranks):
        trace = make_traces.Trace()
        trace.send("send", [], size, (rank + 1) % ranks, 0)
        trace.receive("receive", [], size, (rank - 1) % ranks, 0)
        traces.append(trace.bytes())
    return traces


def experiment(jobs, more=""):
    lines = "".join(f"  - {{name: {name}, workload: {workload}}}\n" for name, workload in jobs.items())
    return FABRIC + more + "jobs:\n" + lines


def traces_of(**sizes):
    """The files of jobs that send so many bytes on so many ranks, and what names them."""
    files, jobs = {}, {}
    for name, (ranks, size) in sizes.items():
        files.update({f"{name}.{rank}.et": trace for rank, trace in enumerate(ring(ranks, size))})
        jobs[name] = f"{{chakra: {{prefix: {name}}}}}"
    return files, jobs


def result_of(program, checks, folder, what, files, text, *arguments):
    write_files(folder, {**files, "job.yaml": text})
    outcome = program.run(["run", "job.yaml", "--json", "-", "--deterministic", *arguments], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{what} runs", outcome.stderr):
        return None
    verified = program.run(["run", "job.yaml", "--verify-fold", *arguments], folder)
    checks.check(verified.code == 0 and "no operation of" in verified.stderr, f"{what}: folded and every rank by itself",
                 verified.stderr)
    return json.loads(outcome.stdout)


def check_times(checks, what, result, **expected):
    """Milliseconds alone and together, by job, to the picosecond."""
    if result is None:
        return
    for job in result["jobs"]:
        found = [round(job[key] * 1e12) for key in ("time_alone_s", "time_together_s")]
        wanted = [round(time * 1e9) for time in expected[job["name"]]]
        checks.check(found == wanted, f"{what}: job {job['name']}", f"found {found} ps, expected {wanted} ps")
        checks.check(abs(job["slowdown"] - wanted[1] / wanted[0]) < 1e-9, f"{what}: slowdown of {job['name']}", job)


def shared(result):
    return {links["class"]: (links["count"], links["bytes"]) for links in result["shared_links"]}


def check_placements(program, checks, folder):
    files, jobs = traces_of(a=(4, MILLISECOND), b=(4, MILLISECOND))
    # Packed: a has nodes 0 and 1, under the first leaf, b nodes 2 and 3. Two of the four messages of a job leave their
    # nodes, over NICs of their own and one leaf.
    packed = result_of(program, checks, folder, "packed", files, experiment(jobs))
    check_times(checks, "packed", packed, a=(1 + LEAF, 1 + LEAF), b=(1 + LEAF, 1 + LEAF))
    checks.check(packed["shared_links"] == [], "packed: no link in common", packed["shared_links"])
    checks.check([job["devices"] for job in packed["jobs"]] == ["0-3", "4-7"] and packed["jobs"][0]["nodes"] == 2,
                 "packed: side by side", packed["jobs"])
    # Strided: every node has a rank of each. Alone a message has its NICs to itself, and two of four cross the spine,
    # each over another up-link. Together every NIC has two messages, 12.5 GB/s each, and so has the up-link.
    strided = result_of(program, checks, folder, "strided", files, experiment(jobs, "placement: strided\n"))
    check_times(checks, "strided", strided, a=(1 + SPINE, 2 + SPINE), b=(1 + SPINE, 2 + SPINE))
    both = {"a": MILLISECOND, "b": MILLISECOND}
    checks.check(shared(strided) == {"nic.up": (4, both), "nic.down": (4, both), "nic.leaf-up": (2, both),
                                     "nic.leaf-down": (2, both)},
                 "strided: they meet at every NIC and up-link", strided["shared_links"])
    checks.check(strided["jobs"][1]["devices"] == "1,3,5,7" and strided["jobs"][1]["nodes"] == 4, "strided: every node",
                 strided["jobs"])
    apart = program.run(["run", "job.yaml", "--set", "network.model=alpha-beta"], folder)
    checks.check(apart.code == 0 and "nothing shares a link, so that no job slows another" in apart.stderr,
                 "strided, but no link is shared: a warning", apart.stderr)
    # At random: the same devices with the same seed, no job faster than alone, and none slower than one after the other.
    for seed in (1, 2, 3):
        text = experiment(jobs, f"placement: random({seed})\n")
        random = result_of(program, checks, folder, f"random({seed})", files, text)
        again = result_of(program, checks, folder, f"random({seed}) again", files, text)
        checks.check(random == again, f"random({seed}): the same again")
        in_turn = sum(job["time_alone_s"] for job in random["jobs"])
        checks.check(all(job["time_alone_s"] <= job["time_together_s"] <= in_turn for job in random["jobs"]),
                     f"random({seed}): neither faster than alone nor slower than in turn", random["jobs"])


def check_ends(program, checks, folder):
    # b has half as much to send: both have 12.5 GB/s until b is done after 2 ms; a has sent half of its 2 ms by then,
    # and goes on alone.
    files, jobs = traces_of(a=(4, 2 * MILLISECOND), b=(4, MILLISECOND))
    strided = "placement: strided\n"
    result = result_of(program, checks, folder, "one ends earlier", files, experiment(jobs, strided))
    check_times(checks, "one ends earlier", result, a=(2 + SPINE, 3 + SPINE), b=(1 + SPINE, 2 + SPINE))
    checks.check(round(result["iteration_time_s"] * 1e12) == round((3 + SPINE) * 1e9), "until the last job is done")
    # b starts when a is done.
    result = result_of(program, checks, folder, "one starts later", files, experiment(jobs, strided), "--set",
                       "jobs.1.start=3 ms")
    check_times(checks, "one starts later", result, a=(2 + SPINE, 2 + SPINE), b=(1 + SPINE, 1 + SPINE))
    checks.check(round(result["jobs"][1]["finish_s"] * 1e12) == round((4 + SPINE) * 1e9), "it ends later, too")
    # Noise is drawn by the ranks of the whole: alone a job has the same.
    packed = result_of(program, checks, folder, "noise", files, experiment({**jobs, "c": MODEL}), "--set", "nodes=6",
                       "--set", "perturb.jitter={per: rank, sigma: 5 %}")
    checks.check(packed is not None and packed["jobs"][2]["slowdown"] == 1 and packed["shared_links"] == [],
                 "noise is that of the job alone", packed and packed["jobs"])


def check_three(program, checks, folder):
    # Ranks 0 to 5 on nodes 0, 1, 2, 3, 0, 1: a and c share the NICs of the first leaf, b has the second to itself.
    files, jobs = traces_of(a=(2, MILLISECOND), b=(2, MILLISECOND), c=(2, MILLISECOND))
    result = result_of(program, checks, folder, "three jobs", files, experiment(jobs, "placement: strided\n"))
    check_times(checks, "three jobs", result, a=(1 + LEAF, 2 + LEAF), b=(1 + LEAF, 1 + LEAF), c=(1 + LEAF, 2 + LEAF))
    checks.check(shared(result) == {name: (2, {"a": MILLISECOND, "b": 0, "c": MILLISECOND})
                                    for name in ("nic.up", "nic.down")}, "three jobs: two of them meet",
                 result["shared_links"])
    idle = [warning for warning in result["warnings"] if "nothing to do" in warning]
    checks.check(len(idle) == 1 and "the 3 jobs have 6 ranks: 2 of the cluster's 8 devices" in idle[0],
                 "three jobs: devices that none uses", result["warnings"])


def check_mixed(program, checks, folder):
    """A job of traces beside one from a model, and the run made again from its result."""
    files, jobs = traces_of(a=(4, 100 * MILLISECOND))  # as long as the two iterations of the model
    text = experiment({**jobs, "b": MODEL}, "placement: strided\n")
    result = result_of(program, checks, folder, "traces beside a model", files, text, "--set",
                       "jobs.1.workload.iterations=2")
    traces, model = result["jobs"]
    checks.check("mfu" not in traces and 0 < model["mfu"] < 1 and model["iterations"] == 2, "figures of training", model)
    checks.check(traces["slowdown"] > 1 and model["slowdown"] > 1, "both lose", result["jobs"])
    checks.check("mfu" not in result and "memory" not in result, "none of both together", list(result))
    write_files(folder, {"result.json": json.dumps(result, indent=2)})
    again = program.run(["run", "result.json", "--json", "-", "--deterministic"], folder)
    checks.check(again.code == 0 and json.loads(again.stdout)["jobs"] == result["jobs"], "made again from its result",
                 again.stderr)
    for_all = program.run(["run", "job.yaml", "--out", "out", "--ranks", "all"], folder)
    operations = (folder / "out" / "operations.csv").read_text()
    checks.check(for_all.code == 0 and "b.data" in operations and not (folder / "out" / "memory.csv").exists(),
                 "operations name the groups of each job", for_all.stderr)
    checked = program.run(["check", "job.yaml"], folder)
    checks.check(checked.code == 0 and "a: traces, b: model of" in checked.stdout and "8 ranks on 8 devices" in checked.stdout,
                 "check says what there is", checked.stdout + checked.stderr)
    write_files(folder, {"sweep.yaml": "experiment: job.yaml\nvary: [{key: placement, values: [packed, strided]}]\nshow: [slowdown]\n"})
    swept = program.run(["sweep", "sweep.yaml", "--json", "-"], folder)
    points = json.loads(swept.stdout).get("points")
    checks.check(points and points[0]["time_together_a_s"] < points[1]["time_together_a_s"], "a sweep has the times of jobs",
                 swept.stdout + swept.stderr)


def check_unpacked(program, checks, folder):
    """A second job begins where the first ends: its tensor-parallel groups may reach over nodes, which is told."""
    workload = MODEL.replace("parallel: {data: 4}", "parallel: {%s}")
    pair = [{"a": workload % f"data: {first}", "b": workload % "tensor: 2"} for first in (2, 1)]
    said = []
    for jobs in pair:
        write_files(folder, {"job.yaml": experiment(jobs)})
        said.append(program.run(["run", "job.yaml"], folder).stderr)
    words = "tensor-parallel groups of job 'b' reach over up to 2 nodes"
    checks.check(words not in said[0] and words in said[1], "groups that reach over nodes for want of packing", said)


def check_compared(program, checks, folder):
    """Published runs are of one job: no error of the ratio of two times of several is known, which is said."""
    (folder / "job.yaml").write_text(experiment({"a": MODEL, "b": MODEL}))
    outcome = program.run(["compare", "job.yaml", "--vs", "cluster.node.nics.bandwidth*=0.5"], folder)
    checks.check("no error of the ratio is given: no published run has 'jobs' so" in " ".join(outcome.stdout.split()),
                 "no error of the ratio of several jobs", outcome.stdout + outcome.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    for check in (check_placements, check_ends, check_three, check_mixed, check_unpacked, check_compared):
        with scratch_folder() as folder:
            check(program, checks, Path(folder))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
