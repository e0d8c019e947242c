#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""explain_test.py PROGRAM: every figure of `explain` is that of `run` with the settings it names, to the picosecond, and
that of the file edited by hand; it names the links that the job waits for; its answer fits a screen."""
import json
import math
import sys

from orrery_program import SOURCE, run_parts

STUDIES = SOURCE / "configs" / "studies"
LLAMA = STUDIES / "llama2-13b-four-nodes.yaml"
A800 = ["--set", "cluster=hgx-a800"]
# What the answer looks like on a terminal, of a generated job, of one that is perturbed, of traces, of two jobs.
SCREENS = [[LLAMA, *A800], [LLAMA, "--set", "workload.tokens=1 T", "--set", "workload.price=2.5"],
           [STUDIES / "straggler.yaml"], [STUDIES / "replay-a800.yaml"], [STUDIES / "all-reduce-ring.yaml"],
           [STUDIES / "two-jobs.yaml"]]
JOB = """cluster:
  device: a100-sxm-80gb
  dims:
    - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns, name: nvlink}
    - {topology: switch, size: 2, bandwidth: 25 GB/s, latency: 3 us, name: rail}
workload:
  model: gpt3-6.7b
  parallel: {tensor: 8, data: 2}
  batch: {global: 16, micro: 1}
  recompute: full
"""


def answer(program, folder, command, *arguments):
    outcome = program.run([command, *map(str, arguments), "--json", "-"], folder, seconds=120)
    return json.loads(outcome.stdout)


def options(settings):
    return [word for setting in settings for word in ("--set", setting)]


def variants_of(document):
    for resource in document["resources"]:
        for better in ("x1.1", "x2"):
            yield resource["name"], resource[better]
    for change in document["changes"]:
        yield change["name"], change


def check_variants(program, checks, folder, *arguments):
    document = answer(program, folder, "explain", *arguments)
    ran = 0
    for name, variant in variants_of(document):
        result = answer(program, folder, "run", *arguments, *options(variant["settings"]))
        if "refused" in variant:
            checks.check("iteration_time_s" not in result or not variant["settings"], f"{name}: run refuses it, too")
            continue
        if "at_least_s" in variant:
            checks.check(document["iteration_time_s"] <= variant["at_least_s"] <= result["iteration_time_s"],
                         f"{name}: left out as it can be no faster", (variant, result["iteration_time_s"]))
            continue
        ran += 1
        checks.check(result["iteration_time_s"] == variant["iteration_time_s"], f"{name}: run says the same",
                     (result["iteration_time_s"], variant))
        speedup = document["iteration_time_s"] / result["iteration_time_s"]
        checks.check(math.isclose(variant["speedup"], speedup), f"{name}: the speed-up is the ratio of the times")
    checks.check(ran >= 2 * len(document["resources"]), "all resources were simulated", ran)
    for resource in document["resources"]:
        slope = math.log(resource["x1.1"]["iteration_time_s"] / document["iteration_time_s"]) / math.log(1.1)
        checks.check(math.isclose(resource["sensitivity"], slope, abs_tol=1e-9), f"{resource['name']}: d ln t / d ln r")
    times = [resource["x2"]["iteration_time_s"] for resource in document["resources"]]
    checks.check(times == sorted(times), "what saves most is first", times)


def check_edited_file(program, checks, folder):
    """The file with other figures in place of settings."""
    (folder / "job.yaml").write_text(JOB)
    resources = {one["name"]: one for one in answer(program, folder, "explain", "job.yaml")["resources"]}
    edits = [("nvlink bandwidth", "300 GB/s", "600 GB/s"), ("nvlink latency", "700 ns", "350 ns"),
             ("rail bandwidth", "25 GB/s", "50 GB/s"), ("rail latency", "3 us", "1.5 us")]
    for name, old, new in edits:
        (folder / "edited.yaml").write_text(JOB.replace(old, new))
        edited = answer(program, folder, "run", "edited.yaml")["iteration_time_s"]
        checks.check(resources[name]["x2"]["iteration_time_s"] == edited, f"{name}: as in the file edited by hand",
                     (resources[name]["x2"], edited))


def best_link(document):
    """The first that is a link by itself, in the order of the answer."""
    return next(one["name"] for one in document["resources"]
                if not one["name"].startswith(("device", "kernel", "bandwidth of all")))


def check_names(program, checks, folder):
    by_tensor = {tensor: best_link(answer(program, folder, "explain", LLAMA, *A800, "--set",
                                          f"workload.parallel.tensor={tensor}")) for tensor in (2, 8)}
    checks.check(by_tensor[8] == "nvlink bandwidth", "tensor parallelism waits for NVLink", by_tensor)
    checks.check(by_tensor[2] == "nic and pcie bandwidth", "replicas wait for NICs", by_tensor)
    slow = answer(program, folder, "explain", STUDIES / "straggler.yaml")
    checks.check(slow["changes"][0]["name"] == "no perturbation", "a straggler is named", slow["changes"])


def check_refusals(program, checks, folder):
    changes = {one["name"]: one for one in answer(program, folder, "explain", LLAMA, *A800, "--set",
                                                  "workload.parallel.tensor=2")["changes"]}
    checks.check(changes["recompute none"]["refused"].startswith("out of memory"), "what does not fit is not advised",
                 changes)
    whole = {one["name"]: one for one in answer(program, folder, "explain", LLAMA)["changes"]}
    checks.check("attention heads" in whole["tensor 16, data 2"]["refused"], "nor what cannot be", whole)


def check_ratio_error(program, checks, folder):
    """The first plan's gain against what ratios of times are off by, where published runs tell it."""
    document = answer(program, folder, "explain", LLAMA, *A800)
    text = program.run(["explain", *map(str, [LLAMA, *A800])], folder, seconds=120).stdout
    ratio, gain = document["ratio_error"]["at_most"], document["changes"][0]["speedup"]
    checks.check(gain > 1, "some plan is faster", document["changes"][0])
    words = f"saves {'no more' if gain <= 1 + ratio else 'more'} than predicted ratios of times are off: "
    checks.check(f"the first {words}" in " ".join(text.split()),
                 "the gain of the first plan is set against the error of ratios", (gain, ratio, text))
    for arguments in [[LLAMA, *A800, "--set", "cluster.node.nics.bandwidth=3 GB/s"], [STUDIES / "replay-a800.yaml"]]:
        without = answer(program, folder, "explain", *arguments)
        checks.check("ratio_error" not in without, f"explain {arguments[-1]}: no published run is like it", without)
    by_hand = program.run(["explain", LLAMA, *A800, "--set", "cluster.node.nics.bandwidth=3 GB/s"], folder, seconds=120)
    checks.check("no error of the ratio is given: no published run has 'cluster.node.nics.bandwidth' so" in
                 " ".join(by_hand.stdout.split()), "and why there is no error is said", by_hand.stdout)


def check_memory(program, checks, folder):
    """With --allow-oom, what does not fit is marked, and comes behind all that fits."""
    tight = [LLAMA, *A800, "--set", "workload.parallel.tensor=2", "--allow-oom"]
    changes = answer(program, folder, "explain", *tight)["changes"]
    fits = ["too_little_memory" not in one for one in changes if "iteration_time_s" in one]
    checks.check(False in fits and True in fits and fits == sorted(fits, reverse=True), "plans that fit come first", changes)
    excess = next(one["too_little_memory"] for one in changes if "too_little_memory" in one)
    checks.check(excess["need_bytes"] > excess["capacity_bytes"], "what is needed and what is there", excess)
    text = program.run(["explain", *map(str, tight)], folder, seconds=120).stdout
    checks.check("does not fit" in text and " GiB of 74.5" in text, "the table says so", text)


def check_reasons(program, checks, folder):
    """A plan that saves nothing says why."""
    (folder / "flash.yaml").write_text(JOB.replace("recompute: full", "recompute: none"))
    changes = answer(program, folder, "explain", "flash.yaml", "--allow-oom", "--set", "workload.model.attention=flash")
    equal = {one["name"]: one["no_difference"] for one in changes["changes"] if one.get("saved_s") == 0}
    checks.check("selective computes the scores of attention again" in equal["recompute selective"],
                 "no change of 0.0 % without a reason", equal)


def check_others(program, checks, folder):
    """What has no row of its own is counted by kind; what does not fit says by how much."""
    pipeline = STUDIES / "gpt3-175b-128-a100.yaml"
    document = answer(program, folder, "explain", pipeline)
    text = " ".join(program.run(["explain", str(pipeline)], folder, seconds=120).stdout.split())
    bounded = [one for one in document["changes"] if "at_least_s" in one]
    full = [one for one in document["changes"] if one.get("refused", "").startswith("out of memory")]
    checks.check(f"{len(bounded)} can't be faster by their lower bounds" in text, "those left out are counted", text)
    checks.check(full and all(" GiB too much" in one["refused"] for one in full if one["kind"] == "recomputation"),
                 "what does not fit says by how much", full)
    kinds = {one["kind"] for one in document["changes"]}
    checks.check({"degrees", "micro-batch", "schedule", "virtual stages", "ZeRO", "sequence parallelism", "order of ranks",
                  "recomputation", "overlap", "gradients", "loss"} <= kinds, "all kinds are tried", kinds)
    shape = document["pipeline"]
    checks.check(math.isclose(shape["ideal_bubble_share"], 7 / (3 * 128 + 7)), "7 / (3 * 128 + 7) of the pipeline", shape)


def check_hosts(program, checks, folder):
    """What a launch costs is what it costs on the hosts of the nodes."""
    now = {factor: next(one["now"] for one in answer(program, folder, "explain", LLAMA, "--set", "workload.software.host.launch=30 us",
                                                     "--set", f"cluster.node.host_launch={factor}")["resources"]
                        if one["name"] == "host launch") for factor in ("1", "1.4")}
    checks.check(now == {"1": "30.00 us", "1.4": "42.00 us"}, "the time of a launch on slower hosts", now)


def check_screens(program, checks, folder):
    for arguments in SCREENS:
        outcome = program.run(["explain", *map(str, arguments)], folder, seconds=120)
        lines = outcome.stdout.splitlines()
        widest = max(map(len, lines), default=0)
        checks.check(outcome.code == 0 and not outcome.broken and 0 < len(lines) <= 24 and widest <= 80,
                     f"explain {arguments[0]} fits a screen", f"{len(lines)} lines, {widest} columns\n{outcome.stdout}")


def check_studies(program, checks, folder):
    check_variants(program, checks, folder, LLAMA, *A800)
    check_variants(program, checks, folder, STUDIES / "straggler.yaml")
    check_variants(program, checks, folder, STUDIES / "all-reduce-ring.yaml")


if __name__ == "__main__":
    sys.exit(run_parts(check_studies, check_edited_file, check_names, check_refusals, check_ratio_error, check_hosts,
                       check_memory, check_reasons, check_others, check_screens))
