#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jobs_test.py PROGRAM: jobs from a model and from other formats, from outside: what the result says of them, that the traces
written of them replay in the same time, and which formats a file is taken for."""
import csv
import gzip
import json
import re
import sys
from pathlib import Path

from broken_imports import ASTRA, GOAL, PROFILE, SIMAI
from broken_jobs import MODEL, TOO_LARGE
from orrery_program import run_parts, studies, write_files

FIGURES = ["mfu", "model_tflops_per_gpu", "memory"]
MEMORY = ["peak_bytes", "rest_bytes", "in_use_bytes", "capacity_bytes", "by"]
USES = ["parameters", "gradients", "optimizer", "activations", "communication", "workspaces"]
# Jobs with every kind of communication, small enough to be written and replayed: what `parallel` and further keys say.
REPLAYED = {
    "data": ("{data: 8}", ""),
    "tensor, sequence": ("{tensor: 4, data: 2, sequence: true}", "  recompute: selective\n"),
    "ring": ("{context: 4, data: 2}", ""),
    "context by all-gather": ("{context: 2, tensor: 4, context_kind: all-gather}", ""),
    "pipeline": ("{pipeline: 4, data: 2}", "  schedule: {kind: 1f1b-interleaved, virtual_stages: 2}\n"),
    "zero-bubble": ("{pipeline: 4, tensor: 2}", "  schedule: {kind: zero-bubble}\n"),
    "zb-h2": ("{pipeline: 4, tensor: 2}", "  schedule: {kind: zb-h2}\n"),
    "zb-v": ("{pipeline: 4, data: 2}", "  schedule: {kind: zb-v}\n"),
    "groups": ("{pipeline: 2, data: 4}", "  schedule: {kind: 1f1b-interleaved, virtual_stages: 2, group: 4}\n"),
    "fsdp": ("{data: 8, zero: 3}", "  recompute: full\n"),
    "hybrid sharding": ("{data: 8, zero: 2, shard: 4}", ""),
    "servers": ("{data: 4, exchange: parameter-server, servers: 2}", "  iterations: 2\n"),
    "dualpipe": ("{pipeline: 4, data: 2}", "  schedule: {kind: dualpipe}\n"),
    "dualpipev": ("{pipeline: 4, data: 2}", "  schedule: {kind: dualpipev}\n"),
    "overlapping passes": ("{pipeline: 2, data: 4}", "  schedule: {kind: 1f1b, overlap_passes: true}\n"),
    "tokens by all-gather": ("{data: 8, expert: 4}", "  experts: {dispatch: all-gather}\n"),
    "whole experts": ("{tensor: 2, data: 4, expert: 8, expert_tensor: 1, sequence: true, zero: 1}", ""),
    "experts": ("{data: 8, expert: 4, expert_skew: 0.5, zero: 1}", ""),
}
EXPERTS = ", experts: 8, experts_per_token: 2}"


def result_of(program, checks, what, arguments, folder):
    outcome = program.run(["run", *arguments, "--json", "-", "--deterministic"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{what} runs", f"{outcome.broken}\n{outcome.stderr}"):
        return None
    return json.loads(outcome.stdout)


def check_studies(program, checks, folder):
    """Every shipped job from a model runs, with figures that can be."""
    for study in studies():
        if "\n  model:" not in study.read_text():
            continue
        result = result_of(program, checks, study.name, [str(study)], folder)
        if result is None:
            continue
        missing = [key for key in FIGURES if key not in result]
        missing += [f"memory.{key}" for key in MEMORY if key not in result.get("memory", {})]
        if not checks.check(not missing, f"{study.name}: the figures of a training job", missing):
            continue
        memory = result["memory"]
        checks.check(list(memory["by"]) == USES and sum(memory["by"].values()) == memory["peak_bytes"],
                     f"{study.name}: memory is the sum of its uses", memory)
        checks.check(memory["peak_bytes"] in [stage["peak_bytes"] for stage in memory["stages"]]
                     and all(0 < stage["rest_bytes"] <= stage["peak_bytes"] for stage in memory["stages"]),
                     f"{study.name}: one stage has the peak, and all rest below theirs", memory)
        checks.check(memory["peak_bytes"] <= memory["capacity_bytes"], f"{study.name}: it fits", memory)
        checks.check(0.05 < result["mfu"] < 0.7, f"{study.name}: an MFU between 5 and 70 %", result["mfu"])
        checks.check(("tokens_per_s_per_gpu" in result) != ("samples_per_s_per_gpu" in result),
                     f"{study.name}: tokens or samples a second", list(result))


def check_figures(program, checks, folder):
    """Against the closed forms of the sound job of broken_jobs."""
    write_files(folder, {"job.yaml": MODEL})
    result = result_of(program, checks, "a job from a model", ["job.yaml"], folder)
    seconds = result["iteration_time_s"]
    # Weights that a token passes: 8 layers of 1024 * (1024 + 2 * 256) for queries, keys and values, 1024^2 for the projection,
    # 2 * 1024 * 4096 for the perceptron, and the head. Six FLOPs each; attention 12 * layers * hidden * sequence.
    weights = 8 * (1024 * (1024 + 512) + 1024**2 + 2 * 1024 * 4096) + 51200 * 1024
    flops = 16 * 1024 * (6 * weights + 12 * 8 * 1024 * 1024)
    checks.check(abs(result["mfu"] / (flops / (seconds * 8 * 312e12)) - 1) < 1e-9, "MFU is model FLOPs over the peak",
                 result["mfu"])
    checks.check(abs(result["tokens_per_s_per_gpu"] / (16 * 1024 / 8 / seconds) - 1) < 1e-9, "tokens a second and device")
    checks.check(abs(result["model_tflops_per_gpu"] / (flops / seconds / 8 / 1e12) - 1) < 1e-9, "model TFLOP/s")
    # Biases: 2 norms of 2 * 1024, 1536 + 1024 of attention, 4096 + 1024 of the perceptron; a last norm, positions.
    parameters = weights + 8 * (4 * 1024 + 1536 + 1024 + 4096 + 1024) + 2 * 1024 + 1024 * 1024
    by = result["memory"]["by"]
    checks.check((by["parameters"], by["gradients"], by["optimizer"]) == (2 * parameters, 4 * parameters, 12 * parameters),
                 "2, 4 and 12 bytes a parameter", f"{by}\n{parameters}")
    halved = result_of(program, checks, "causal_flops", ["job.yaml", "--set", "workload.causal_flops=true"], folder)
    less = 16 * 1024 * (6 * weights + 6 * 8 * 1024 * 1024)
    checks.check(abs(halved["mfu"] / result["mfu"] - less / flops) < 1e-9, "causal_flops halves attention", halved["mfu"])
    trained = result_of(program, checks, "several steps", ["job.yaml", "--set", "workload.iterations=3"], folder)
    checks.check(abs(trained["iteration_time_s"] / seconds - 1) < 0.05, "the time of several steps is their mean")
    sized = result_of(program, checks, "one size", ["job.yaml", "--set", "workload.model.layers=16"], folder)
    checks.check(sized["iteration_time_s"] > seconds, "--set changes a size of the model")


def check_memory(program, checks, folder):
    """memory.csv: never above the peak that the result names, which the fullest rank reaches; given back at the end."""
    write_files(folder, {"job.yaml": MODEL, "large.yaml": TOO_LARGE})
    outcome = program.run(["run", "job.yaml", "--out", "results"], folder)
    names = sorted(path.name for path in (Path(folder) / "results").iterdir())
    checks.check(outcome.code == 0 and names == ["memory.csv", "operations.csv", "result.json", "summary.txt"],
                 "--out writes memory.csv of a job from a model", names)
    memory = json.loads((Path(folder) / "results" / "result.json").read_text())["memory"]
    rows = list(csv.DictReader((Path(folder) / "results" / "memory.csv").open()))
    checks.check(list(rows[0]) == ["rank", "stands_for", "time_ps", "bytes"], "memory.csv has rank, time and bytes", rows[0])
    times, sizes = ([int(row[key]) for row in rows] for key in ("time_ps", "bytes"))
    checks.check(times == sorted(times) and max(sizes) == memory["peak_bytes"], "memory.csv reaches the peak", max(sizes))
    checks.check(sizes[0] == sizes[-1] == memory["peak_bytes"] - memory["by"]["activations"],
                 "activations are given back", f"{sizes[0]} {sizes[-1]}")

    refused = program.run(["run", "large.yaml"], folder)
    checks.check(refused.code == 5 and "would fit with" in refused.stderr, "what does not fit is refused", refused.stderr)
    allowed = program.run(["run", "large.yaml", "--allow-oom"], folder)
    compared = program.run(["compare", "job.yaml", "large.yaml", "--allow-oom"], folder)
    checks.check(compared.code == 0 and "iteration time" in compared.stdout, "compare --allow-oom", compared.stderr)
    checks.check(allowed.code == 0 and "warning: rank 0 needs" in allowed.stderr and "MFU" in allowed.stdout,
                 "--allow-oom simulates it", allowed.stderr)
    hinted = re.search(r"would fit with ([^(]+) \(", refused.stderr)
    settings = [word for edit in (hinted[1].split(" and ") if hinted else []) for word in ("--set", edit.replace(": ", "="))]
    advised = program.run(["run", "large.yaml", *settings], folder)
    checks.check(settings and advised.code == 0 and "may run out" not in advised.stderr, "the advice works", f"{settings} {advised.stderr}")


# Small jobs are bound by their hosts otherwise; and traces do not say what launching kernels takes, nor what a kernel
# needs multiprocessors for.
NO_HOST = "workload.software.host.launch=0 us"
AS_REPLAYED = ("--set", NO_HOST, "--set", "collectives.contention=false")


def check_replay(program, checks, folder):
    """The traces of a job, replayed: the same time, and nothing that lint objects to."""
    for what, (parallel, more) in REPLAYED.items():
        text = MODEL.replace("{data: 8}", parallel) + more
        if "expert" in parallel:
            text = text.replace("sequence: 1024}", "sequence: 1024" + EXPERTS)
        name = what.replace(" ", "-").replace(",", "")
        write_files(folder, {f"{name}.yaml": text})
        made = result_of(program, checks, what, [f"{name}.yaml", *AS_REPLAYED], folder)
        outcome = program.run(["workload", "generate", f"{name}.yaml", "-o", name], folder)
        if not checks.check(outcome.code == 0 and made, f"{what}: generate", outcome.stderr):
            continue
        checks.check("traces leave out contention" in outcome.stderr and "traces leave out the hosts" in outcome.stderr,
                     f"{what}: says what traces leave out", outcome.stderr)
        checks.check(f"prefix: {name}/rank, groups: {name}/groups.json" in outcome.stdout, f"{what}: says how to replay",
                     outcome.stdout)
        chakra = f"cluster: dgx-a100\nworkload: {{chakra: {{prefix: {name}/rank, groups: {name}/groups.json}}}}\n"
        write_files(folder, {"replay.yaml": chakra})
        replayed = result_of(program, checks, f"{what}: the replay", ["replay.yaml"], folder)
        steps = made.get("iterations", 1)
        checks.check(replayed and abs(replayed["iteration_time_s"] / steps - made["iteration_time_s"]) < 1e-12,
                     f"{what}: the replay takes the same time", f"{replayed and replayed['iteration_time_s']} "
                     f"{made['iteration_time_s']}")
        checks.check("mfu" not in (replayed or {}), f"{what}: traces have no MFU")
        linted = program.run(["workload", "lint", f"{name}/rank", "--groups", f"{name}/groups.json"], folder)
        checks.check(linted.code == 0, f"{what}: lint", linted.stdout + linted.stderr)
        again = program.run(["workload", "generate", f"{name}.yaml", "-o", name], folder)
        checks.check(again.code == 0 and again.stdout == outcome.stdout, f"{what}: written over itself", again.stderr)


def check_dispatch(program, checks, folder):
    """Tokens dispatched by kernels of their own, over several nodes and beside other passes: folded as unfolded, and what is sent
    less costs less."""
    text = (MODEL.replace("dgx-a100", "dgx-h100\nnodes: 4").replace("global: 16", "global: 256")
            .replace("sequence: 1024}", "sequence: 1024, experts: 64, experts_per_token: 8, expert_groups: 4}"))
    write_files(folder, {"job.yaml": text})
    times = {}
    for name, parallel, schedule, dispatch in (
            ("alone", "{data: 32, expert: 32}", "1f1b", "deepep"),
            ("skewed", "{data: 32, expert: 32, expert_skew: 0.5}", "1f1b", "deepep"),
            ("in fp8", "{data: 32, expert: 32}", "1f1b", "deepep, precision: fp8"),
            ("to one node", "{data: 32, expert: 32}", "1f1b", "deepep"),
            ("by all-to-all", "{data: 32, expert: 32}", "1f1b", "all-to-all"),
            ("beside other passes", "{data: 32, expert: 32}", "1f1b, overlap_passes: true", "deepep"),
            ("dualpipe", "{pipeline: 4, data: 8, expert: 8, zero: 1}", "dualpipe", "deepep"),
            ("dualpipev", "{pipeline: 4, data: 8, expert: 8, zero: 1}", "dualpipev", "deepep")):
        groups = 1 if name == "to one node" else 4
        result = result_of(program, checks, f"dispatch {name}", [
            "job.yaml", "--verify-fold", "--set", f"workload.parallel={parallel}", "--set", f"workload.schedule={{kind: {schedule}}}",
            "--set", f"workload.experts={{dispatch: {dispatch}}}", "--set", f"workload.model.groups_per_token={groups}",
            "--set", NO_HOST], folder)
        times[name] = result and result["iteration_time_s"]
    for less, more in (("in fp8", "alone"), ("to one node", "alone"), ("alone", "by all-to-all"), ("alone", "skewed"),
                       ("beside other passes", "alone")):
        checks.check(times[less] < times[more], f"dispatch: {less} before {more}", times)


def check_imports(program, checks, folder):
    """Every format by itself and by its name, with the same bytes; and replayed."""
    write_files(folder, {"astra.txt": ASTRA, "simai.txt": SIMAI, "schedule": GOAL, "profile.json": PROFILE,
                         "packed.json.gz": gzip.compress(PROFILE.encode(), mtime=0)})
    formats = {"astra.txt": ("astra-text", ["--ranks", "4"], 4), "simai.txt": ("simai", [], 4), "schedule": ("goal", [], 2),
               "profile.json": ("kineto", [], 1), "packed.json.gz": ("kineto", [], 1)}
    for file, (name, options, ranks) in formats.items():
        told = program.run(["workload", "import", file, "-o", f"{file}.told", *options], folder)
        asked = program.run(["workload", "import", file, "-o", f"{file}.asked", "--format", name, *options], folder)
        if not checks.check(told.code == 0 and asked.code == 0, f"import {file}", told.stderr + asked.stderr):
            continue
        checks.check(f"wrote the traces of {ranks} rank" in told.stdout, f"import {file}: says what it wrote", told.stdout)
        files = [{path.name: path.read_bytes() for path in (Path(folder) / f"{file}.{how}").iterdir()}
                 for how in ("told", "asked")]
        checks.check(files[0] == files[1] and "rank.0.et" in files[0], f"import {file}: the same as by name",
                     sorted(files[0]))
        write_files(folder, {"replay.yaml": f"cluster: dgx-a100\nworkload: {{chakra: {{prefix: {file}.told/rank, "
                                            f"groups: {file}.told/groups.json}}}}\n"})
        result = result_of(program, checks, f"import {file}: the replay", ["replay.yaml"], folder)
        checks.check(result and result["ranks"] == ranks and result["iteration_time_s"] > 0, f"import {file}: its ranks")
    write_files(folder, {"replay.yaml": "cluster: dgx-a100\nworkload: {chakra: {prefix: profile.json.told/rank}}\n"})
    alone = result_of(program, checks, "a profile of one kernel", ["replay.yaml"], folder)
    checks.check(alone and round(alone["iteration_time_s"] * 1e12) == 20_000_000, "takes the 20 us of the kernel")
    doubled = program.run(["workload", "import", "astra.txt", "-o", "twice", "--ranks", "4", "--iterations", "2"], folder)
    checks.check(doubled.code == 0 and doubled.stdout != "", "several iterations", doubled.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_studies, check_figures, check_memory, check_replay, check_dispatch, check_imports,
                       apart=True))
