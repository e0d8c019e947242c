#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""critical_path_test.py PROGRAM: `run --critical-path` sums to the iteration to the picosecond, is the same folded and
not, names who is slow, and nothing beside it matters."""
import json
import sys
from pathlib import Path

from orrery_program import SOURCE, run_parts

STUDIES = SOURCE / "configs" / "studies"
GPT = STUDIES / "gpt3-175b-128-a100.yaml"
# Kernels so short that devices wait for every launch, of 30 us on an H100's host.
SMALL = {"cluster": "dgx-a100", "nodes": 2,
         "workload": {"model": {"hidden": 1024, "layers": 16, "heads": 16, "vocab": 1024, "sequence": 512},
                      "software": "megatron-2024", "batch": {"global": 32, "micro": 1}, "parallel": {"data": 16, "zero": 0}}}
EXPERTS = ("workload.model=mixtral-8x7b", "workload.model.layers=4", "workload.parallel={expert: 8, data: 16, zero: 0}",
           "workload.software=megatron-2025", "workload.software.host.reads_sizes=true")
PIPELINE = ("workload.parallel={pipeline: 4, data: 4, zero: 0}", "workload.batch.global=256")


def path_of(program, folder, *arguments):
    outcome = program.run(["run", *map(str, arguments), "--critical-path", "--deterministic", "--json", "-"], folder,
                          seconds=120)
    return json.loads(outcome.stdout) if outcome.code == 0 and not outcome.broken else None


def picoseconds(seconds):
    return round(seconds * 1e12)


def check_links(checks, name, result):
    """What moves over links is no more than what communicates, and little of it is left over: what waits in sends."""
    communicates = sum(picoseconds(part["seconds"]) for part in result["critical_path"]
                       if part["what"] not in ("compute", "slowed by communication", "host", "memory",
                                               "before the first operation"))
    moves = picoseconds(result["critical_latency_s"])
    moves += sum(picoseconds(one["seconds"]) + picoseconds(one["shared_s"]) for one in result["critical_links"])
    checks.check(moves <= communicates, f"{name}: links carry no more than what communicates", f"{moves} {communicates}")
    checks.check(moves >= 0.9 * communicates, f"{name}: links carry what communicates", f"{moves} {communicates}")


def check_sums(program, checks, folder):
    ran = 0
    for study in sorted(STUDIES.glob("*.yaml")):
        result = path_of(program, folder, study)
        if result is None:  # a sweep
            continue
        ran += 1
        whole = sum(picoseconds(part["seconds"]) for part in result["critical_path"])
        last = max(picoseconds(one["finish_s"]) for one in result["breakdown"])
        checks.check(whole == last, f"{study.name}: the path is as long as the job", f"{whole} and {last} ps")
        check_links(checks, study.name, result)
        if result["ranks"] <= 32:
            unfolded = path_of(program, folder, study, "--no-fold", "--no-fast-forward")
            checks.check(unfolded["critical_path"] == result["critical_path"],
                         f"{study.name}: the path is the same with every rank by itself")
            for key in ("critical_links", "critical_latency_s", "culprits", "slack_ranks"):
                checks.check(unfolded[key] == result[key], f"{study.name}: {key} with every rank by itself",
                             f"{unfolded[key]}\n{result[key]}")
    checks.check(ran > 30, "most studies are single experiments", ran)


def check_hosts(program, checks, folder):
    """Of a job whose devices wait for launches the path is the host's, and what of it launches have is what faster ones
    save, while no other path is near."""
    small = Path(folder) / "small.json"
    small.write_text(json.dumps(SMALL))
    for name, settings in (("dense", ()), ("a pipeline", PIPELINE), ("experts", EXPERTS)):
        run = [small, *(word for setting in settings for word in ("--set", setting))]
        before = path_of(program, folder, *run)
        host = sum(part["seconds"] for part in before["critical_path"] if part["what"] == "host")
        for launch, share in (("29.7 us", 0.01), ("1 ps", 1)):
            after = path_of(program, folder, *run, "--set", f"workload.software.host.launch={launch}")
            saved = (before["iteration_time_s"] - after["iteration_time_s"]) / (share * host)
            checks.check(saved < 1.001, f"{name}: launches of {launch} save no more than the path has", saved)
            checks.check(share == 1 or saved > 0.999, f"{name}: launches of {launch} save what the path has", saved)
        unfolded = path_of(program, folder, *run, "--no-fold", "--no-fast-forward")
        for key in ("critical_path", "critical_operations", "culprits"):
            checks.check(unfolded[key] == before[key], f"{name}: {key} with every rank by itself",
                         f"{unfolded[key]}\n{before[key]}")
        paces = [{one["host_pace_s"] for one in result["breakdown"]} for result in (before, unfolded)]
        checks.check(paces[0] == paces[1], f"{name}: the hosts' pace with every rank by itself", paces)
    before = path_of(program, folder, small)
    checks.check(before["critical_path"][0]["what"] == "host" and before["critical_path"][0]["share"] > 0.9,
                 "the host has the path", before["critical_path"])
    bound = program.run(["run", "small.json", "--print", "bound_by"], folder)
    checks.check(bound.stdout == "bound_by host\n", "and bounds the job", bound.stdout)
    for launches in ("1 us", "8 us", "12 us", "20 us"):
        (Path(folder) / "sweep.json").write_text(json.dumps(
            {"title": "launches", "experiment": SMALL, "vary": [{"key": "workload.software.host.launch", "values": [launches]}],
             "show": ["bound_by", "bound_share"]}))
        swept = json.loads(program.run(["sweep", "sweep.json", "--json", "-"], folder).stdout)["points"][0]
        most = path_of(program, folder, small, "--set", f"workload.software.host.launch={launches}")["critical_path"][0]
        checks.check((swept["bound_by"], swept["bound_share"]) == (most["what"], most["share"]),
                     f"a sweep says the same of launches of {launches}", f"{swept} and {most}")
    slower = path_of(program, folder, small, "--set", "perturb.ranks.0.compute=1.1")
    more = slower["iteration_time_s"] - before["iteration_time_s"]
    checks.check(abs(slower["culprits"][0]["cost_s"] / more - 1) < 0.01, "a slow device costs what it delays",
                 f"{slower['culprits']} and {more}")


def share_of(result, rank):
    shares = {one["rank"]: one["seconds"] for one in result["critical_ranks"]}
    return shares.get(rank, 0) / sum(shares.values())


def check_culprits(program, checks, folder):
    slow = path_of(program, folder, GPT, "--set", "perturb.ranks.40.compute=1.1")
    checks.check(share_of(slow, 40) > 0.8, "a slow rank has the path", slow["critical_ranks"])
    poor = path_of(program, folder, GPT, "--set", "perturb.links={node1.nic0: {bandwidth: 5 %}}")
    even = path_of(program, folder, GPT)
    times = [{part["what"]: part["seconds"] for part in one["critical_path"]} for one in (poor, even)]
    checks.check(share_of(poor, 8) > 0.8, "the rank of a slow NIC has the path", poor["critical_ranks"])
    checks.check(times[0]["data"] > 15 * times[1]["data"], "what goes over the slow NIC is what takes long", times)


def check_what_is_beside_it(program, checks, folder):
    """Rank 5 of 16 is slow: others may be slower by less than that, and nothing changes; it may not."""
    study = STUDIES / "straggler.yaml"
    before = path_of(program, folder, study)
    checks.check(share_of(before, 5) > 0.9, "the straggler has the path", before["critical_ranks"])
    beside = path_of(program, folder, study, "--set", "perturb.ranks={5: {compute: 1.3}, 9: {compute: 1.29}}")
    checks.check(beside["iteration_time_s"] == before["iteration_time_s"], "what is beside the path may be slower")
    on_it = path_of(program, folder, study, "--set", "perturb.ranks={5: {compute: 1.4}}")
    computing = sum(part["seconds"] for part in before["critical_path"] if part["what"] == "compute")
    slower = on_it["iteration_time_s"] - before["iteration_time_s"]
    checks.check(abs(slower - computing * (1.4 / 1.3 - 1)) < 1e-9, "what is on the path costs all that it is slower",
                 f"{slower} and {computing}")


def check_slack(program, checks, folder):
    """What a rank may be slower by changes nothing, and a hundredth more does."""
    before = path_of(program, folder, STUDIES / "straggler.yaml")
    slower = {one["members"]: one["slower"] for one in before["slack_ranks"]}
    checks.check(slower["5"] == 0 and abs(slower["0-4,6-15"] - 0.3) < 1e-6, "others may be as slow as the straggler", slower)
    for more, is_longer in ((-1e-6, False), (0.01, True)):
        factor = 1 + slower["0-4,6-15"] + more
        after = path_of(program, folder, STUDIES / "straggler.yaml", "--set",
                        f"perturb.ranks={{5: {{compute: 1.3}}, 9: {{compute: {factor:.6f}}}}}")
        checks.check((after["iteration_time_s"] > before["iteration_time_s"]) == is_longer, f"rank 9 at {factor}",
                     after["iteration_time_s"])


if __name__ == "__main__":
    sys.exit(run_parts(check_sums, check_hosts, check_culprits, check_what_is_beside_it, check_slack))
