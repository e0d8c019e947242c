#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""culprit_test.py PROGRAM: the first screen of `run` fits 80 columns and 24 lines, names what holds a job up where
something is worse than its like, the same folded and not, and nobody where all are alike."""
import json
import re
import sys
from pathlib import Path
from random import Random

from error_row import JOB, make_traces
from orrery_program import SOURCE, run_parts, write_files

STUDIES = SOURCE / "configs" / "studies"
GPT = STUDIES / "gpt3-175b-128-a100.yaml"
COLUMNS, LINES = 80, 24
EXPERIMENTS = 60
NODE_1 = ", ".join(f"{rank}: {{compute: 1.2}}" for rank in range(8, 16))
# Of each what is worse, how much of the time it costs at least, and the settings that make it so.
CASES = (
    ("a NIC at 5 %", "node1.nic0: at 5 % of its bandwidth", 0.2, GPT, "perturb.links={node1.nic0: {bandwidth: 5 %}}"),
    ("a NIC at 5 % in one direction", "node1.nic0.up: at 5 % of its bandwidth", 0.2, GPT,
     "perturb.links={node1.nic0.up: {bandwidth: 5 %}}"),
    ("a NIC that is slow for a while", "node1.nic0.up: its bandwidth changes over time", 0.05,
     STUDIES / "straggler.yaml", "perturb.links={node1.nic0.up: {at: [{time: 100 ms, bandwidth: 1 %}]}}"),
    ("all NICs", "all nic.up: at 2 % of their bandwidth", 0.05, STUDIES / "llama2-13b-four-nodes.yaml",
     "perturb.links={nic.up: {bandwidth: 2 %}}"),
    ("a slow rank", "rank 40: computing takes 10 % longer than on peers", 0.05, GPT, "perturb.ranks.40.compute=1.1"),
    ("a slow node", "node1 (ranks 8-15): computing takes 20 % longer than on peers", 0.1, GPT,
     f"perturb.ranks={{{NODE_1}}}"),
    ("a late rank", "rank 5: nothing starts before 20.00 ms", 0.1, STUDIES / "straggler.yaml",
     "perturb.ranks={5: {start: 20 ms}}"),
    ("an oversubscribed spine", "nic.leaf-up: oversubscribed", 0.05, STUDIES / "llama2-13b-four-nodes.yaml",
     "cluster.scale_out={topology: fat-tree, network: infiniband, leaf_ports: 16, oversubscription: 8, "
     "latency: 600 ns, trunk_latency: 300 ns}"),
    ("a hot expert", "ranks 36,44,52,60: computing takes 2.8 times as long as on peers, 50 % of it in "
     "'layer * experts backward'", 0.3, STUDIES / "mixtral-8x7b-ep.yaml", "workload.parallel.expert_skew=1"),
)
ALIKE = ("gpt3-175b-128-a100", "gpt3-175b-1024", "llama2-13b-four-nodes", "torus-2x4x4-transformer", "dlrm-128",
         "deepseek-v3-2048-h800", "all-reduce-ring", "parameter-server", "replay-a100", "opt-175b-992")


def check_screen(checks, name, text):
    lines = text.splitlines()
    checks.check(len(lines) <= LINES, f"{name}: the summary has at most {LINES} lines", text)
    checks.check(all(len(line) <= COLUMNS for line in lines), f"{name}: no line is wider than {COLUMNS} columns", text)
    checks.check(lines[0].startswith("iteration time "), f"{name}: begins with the time", text)


def check_culprits(program, checks, folder):
    for name, culprit, share, study, setting in CASES:
        outcome = program.run(["run", str(study), "--set", setting, "--json", "folded.json"], folder)
        if not checks.check(outcome.code == 0 and not outcome.broken, name, outcome.stderr):
            continue
        check_screen(checks, name, outcome.stdout)
        said = re.sub(r"\n  (?! )", " ", outcome.stdout)
        first = next((line for line in said.splitlines() if line.startswith("held up by ")), "")
        checks.check(first.startswith(f"held up by {culprit}"), f"{name}: named first", outcome.stdout)
        result = json.loads((Path(folder) / "folded.json").read_text())
        checks.check(result["culprits"][0]["cost_s"] > share * result["iteration_time_s"], f"{name}: what it costs",
                     result["culprits"])
        unfolded = program.run(["run", str(study), "--set", setting, "--no-fold", "--no-fast-forward"], folder)
        checks.check(unfolded.stdout == outcome.stdout, f"{name}: the same with every rank by itself",
                     unfolded.stdout + outcome.stdout)


def check_slow_host(program, checks, folder):
    """Two nodes of the same devices, one of whose CPUs takes longer to launch kernels."""
    node = {"device": "a100-sxm-80gb", "devices": 8, "interconnect": "nvlink", "host_launch": 2,
            "fabric": {"name": "nvlink", "topology": "switch", "bandwidth": "300 GB/s", "latency": "700 ns"},
            "nics": {"count": 8, "bandwidth": "200 Gb/s", "host_link": "pcie-4", "host_latency": "500 ns"}}
    times = {}
    for launch in (2, 1.4):
        node["host_launch"] = launch
        (Path(folder) / "hosts.json").write_text(json.dumps({
            "cluster": {"nodes": [{"node": "dgx-a100", "count": 1}, {"node": node, "count": 1}],
                        "scale_out": {"topology": "switch", "network": "infiniband", "latency": "600 ns"}},
            "workload": {"model": {"hidden": 1024, "layers": 8, "heads": 16, "vocab": 1024, "sequence": 512},
                         "software": "megatron-2024", "batch": {"global": 32, "micro": 1}, "parallel": {"data": 16}}}))
        outcome = program.run(["run", "hosts.json", "--json", "result.json"], folder)
        times[launch] = (json.loads((Path(folder) / "result.json").read_text()), outcome.stdout)
    result, text = times[2]
    check_screen(checks, "a slow host", text)
    said = re.sub(r"\n  (?! )", " ", text)
    checks.check("held up by node1 (ranks 8-15): the host's launching of kernels takes 43 % longer than on peers" in said,
                 "a slow host is named", text)
    checks.check("computing takes" not in said, "and its devices are not", text)
    saved = result["iteration_time_s"] - times[1.4][0]["iteration_time_s"]
    checks.check(abs(result["culprits"][0]["cost_s"] / saved - 1) < 0.02, "a slow host costs what another would save",
                 f"{result['culprits']} and {saved}")
    checks.check("held up by" not in times[1.4][1], "nobody is to blame where hosts are alike", times[1.4][1])
    (Path(folder) / "hosts.json").write_text(
        (Path(folder) / "hosts.json").read_text().replace('"host_launch": 1.4', '"host_launch": 2'))
    unfolded = program.run(["run", "hosts.json", "--no-fold", "--no-fast-forward"], folder)
    checks.check(unfolded.stdout == text, "a slow host: the same with every rank by itself", unfolded.stdout + text)


def traced_rank(host, other_host, kernel):
    """A trace: the host works on two operations, one after the other, while a kernel runs; then all ranks meet."""
    trace = make_traces.Trace()
    begun = trace.node(make_traces.COMP, "prepare", [], micros=host, is_cpu_op=True)
    done = trace.node(make_traces.COMP, "launch", [begun], micros=other_host, is_cpu_op=True)
    computed = trace.node(make_traces.COMP, "gemm", [], micros=kernel, is_cpu_op=False)
    trace.collective("sum", [done, computed], make_traces.ALL_REDUCE, 1 << 10, "")
    return trace.bytes()


def check_host_work(program, checks, folder):
    """Of a trace whose host is slow on one rank the host is named, and the operation that has most of it."""
    usual = (400, 100, 50)
    for slow, culprit in (((470, 101, 51), "the host's own work takes 14 % longer than on peers, most of it in 'prepare' ("),
                          ((435, 135, 51), "the host's own work takes 14 % longer than on peers, 50 % of it in 'launch' ("),
                          ((400, 100, 600), "computing takes 12.0 times as long as on peers, most of it in 'gemm' (")):
        ranks = {f"rank.{rank}.et": traced_rank(*(slow if rank == 3 else usual)) for rank in range(4)}
        write_files(folder, {"job.yaml": JOB.replace("size: 2", "size: 4"), **ranks})
        outcome = program.run(["run", "job.yaml"], folder)
        said = re.sub(r"\n  (?! )", " ", outcome.stdout)
        checks.check(f"held up by rank 3: {culprit}" in said, f"a trace with {slow} us on rank 3",
                     outcome.stdout + outcome.stderr)
        checks.check(said.count("held up by") == 1, "and nothing else is named", outcome.stdout)


def check_alike(program, checks, folder):
    for name in ALIKE:
        outcome = program.run(["run", str(STUDIES / f"{name}.yaml")], folder)
        checks.check(outcome.code == 0 and "critical path " in outcome.stdout, f"{name}: has a path", outcome.stdout)
        checks.check("held up by" not in outcome.stdout, f"{name}: nobody is to blame where all are alike",
                     outcome.stdout)


def random_experiment(random):
    """A small model on 24 to 48 devices of nodes, in pipelines, with something that is slow."""
    pipeline, tensor = random.choice((2, 4, 8)), random.choice((1, 1, 2))
    nodes = random.choice((3, 4, 6))
    data = nodes * 8 // (pipeline * tensor)
    kind = random.choice(("1f1b", "gpipe", "zero-bubble", "1f1b-interleaved"))
    schedule = {"kind": kind, **({"virtual_stages": 2} if kind == "1f1b-interleaved" else {})}
    perturb = random.choice((
        {"links": {f"node1.nic{random.randrange(4)}": {"bandwidth": "50 %"}, "nic.up": {"bandwidth": "70 %"}}},
        {"links": {"node0.nic1.up": {"bandwidth": "10 %"}}},
        {"ranks": {str(random.randrange(nodes * 8)): {"compute": 1.3}, "1": {"compute": 1.1}}},
        {"ranks": {"3": {"start": "2 ms"}, "9": {"start": "2 ms"}}}))
    return {"cluster": random.choice(("aws-p4d", "dgx-a100")), "nodes": nodes,
            "workload": {"model": {"hidden": random.choice((512, 1024)), "layers": 16, "heads": 16, "vocab": 1024,
                                   "sequence": random.choice((512, 1024))},
                         "schedule": schedule, "software": random.choice(("megatron-2024", "megatron-2021")),
                         "batch": {"global": data * pipeline * random.choice((1, 2)), "micro": 1},
                         "overlap": {"gradients": random.choice((True, False))},
                         "parallel": {"pipeline": pipeline, "tensor": tensor, "data": data}},
            "collectives": {"library": random.choice(("fixed", "nccl"))}, "perturb": perturb}


def check_every_way(program, checks, folder):
    """Whichever way it is run, and however many paths are equally long, the path is made of the same."""
    random, ran = Random(5), 0
    for trial in range(EXPERIMENTS):
        (Path(folder) / "random.json").write_text(json.dumps(random_experiment(random)))
        results = []
        for way in ([], ["--no-fold"], ["--no-fast-forward"], ["--critical-path"]):
            outcome = program.run(["run", "random.json", *way, "--json", "result.json"], folder)
            if outcome.code == 2:  # does not divide so
                break
            if not checks.check(outcome.code == 0 and not outcome.broken, f"random experiment {trial} {way}",
                                outcome.stderr):
                break
            result = json.loads((Path(folder) / "result.json").read_text())
            screen = outcome.stdout.split("\ncritical path of ")[0].rstrip("\n")
            results.append((result.get("culprits"), screen))
        ran += len(results) == 4
        for way, result in zip(("--no-fold", "--no-fast-forward", "--critical-path"), results[1:]):
            checks.check(result == results[0], f"random experiment {trial}: the same with {way}",
                         f"{results[0]}\n{result}\n{(Path(folder) / 'random.json').read_text()}")
    checks.check(ran > EXPERIMENTS / 2, "most random experiments run", ran)


def check_all_fit(program, checks, folder):
    fit = 0
    for study in sorted(STUDIES.glob("*.yaml")):
        outcome = program.run(["run", str(study)], folder)
        if outcome.code != 0 or outcome.stdout.startswith("all "):  # a sweep, or several jobs
            continue
        fit += 1
        check_screen(checks, study.name, outcome.stdout)
    checks.check(fit > 30, "most studies are single experiments", fit)


if __name__ == "__main__":
    sys.exit(run_parts(check_culprits, check_slow_host, check_host_work, check_alike, check_every_way, check_all_fit))
