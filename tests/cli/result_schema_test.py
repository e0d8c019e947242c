#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""result_schema_test.py PROGRAM: what commands write with --json validates against the JSON Schema of `orrery list result-schema`
with a stock validator (python3-jsonschema): every shipped experiment that fits a test, a sweep, a search and the others; and
documents that were broken do not."""
import copy
import json
import subprocess
import sys
from pathlib import Path

from orrery_program import SMALL_JOB, SOURCE, Checks, Program, scratch_folder, write_files

VALIDATOR = """
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
json.dump({file: [f"{'.'.join(map(str, one.absolute_path))}: {one.message[:200]}" for one in validator.iter_errors(json.load(open(file)))]
           for file in sys.argv[2:]}, sys.stdout)
"""
STUDIES = SOURCE / "configs" / "studies"
JOBS = """cluster: dgx-a100
jobs:
  - {name: a, workload: {model: gpt-1.7b, batch: {global: 8, micro: 1}, parallel: {data: 4}}}
  - {name: b.c, workload: {collective: all_reduce, size: 1 MiB, ranks: 4}}
"""
SEVERAL = """experiment: jobs.yaml
vary: [{name: size, key: 'jobs[1].workload.size', values: [1 MiB, 2 MiB]}]
"""
SWEEP = """title: two batches
experiment: noisy.yaml
vary: [{key: workload.batch.global, values: [16, 32, 33]}, {key: perturb.jitter.seed, values: [1, 2]}]
aggregate: seed
"""
CALL = "cluster: dgx-a100\nworkload: {collective: all_reduce, size: 1 MiB}\n"
GOODPUT = ["goodput", "job.yaml", "--mtbf", "50000 h", "--restart", "10 min", "--checkpoint-time", "30 s"]
# Name of the document -> command.
COMMANDS = {
    "run": ["run", "job.yaml", "--set", "workload.tokens=1e9", "--set", "workload.price=2", "--critical-path"],
    "run-call": ["run", "call.yaml"],
    "run-jobs": ["run", "jobs.yaml"],
    "run-cost": ["run", "job.yaml", "--set", "perturb.ranks.1.compute=1.1", "--cost", "--deterministic"],
    "run-seeds": ["run", "job.yaml", "--seeds", "2", "--set", "perturb.jitter.sigma=2 %"],
    "compare": ["compare", "job.yaml", "--vs", "cluster=hgx-a800"],
    "compare-equal": ["compare", "job.yaml", "--vs", "cluster.scale_out.latency=1 us"],
    "sweep-with-error": ["sweep", "sweep.yaml", "--out", "swept"],
    "sweep-jobs": ["sweep", "several.yaml"],
    "explain": ["explain", "job.yaml"],
    "search": ["search", "job.yaml", "--best", "2", "--fix", "tensor=4"],
    "collective": ["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "1M", "-e", "4M"],
    "log": ["collective", "--cluster", "dgx-a100", "--library", "nccl", "--op", "all_reduce", "-b", "8", "-e", "8G"],
    "calibrate": ["calibrate", "of-log.json", "--cluster", "dgx-a100", "--launch", "mpi", "--version", "2.30", "--dry-run"],
    "goodput": GOODPUT,
    "goodput-simulated": [*GOODPUT, "--set", "workload.tokens=1e12"],
    "error": ["run", "missing.yaml"],
    "errors": ["run", "job.yaml", "--set", "a=1", "--set", "b=2"],
}
# How a document of a run is broken.
BROKEN = {
    "no-time": lambda run: run.pop("iteration_time_s"),
    "no-breakdown": lambda run: run.pop("breakdown"),
    "no-schema": lambda run: run.pop("schema"),
    "another-schema": lambda run: run.update(schema="orrery.result/9"),
    "of-another-kind": lambda run: run.update(schema="orrery.sweep/1"),
    "unknown-key": lambda run: run.update(colour="red"),
    "time-as-text": lambda run: run.update(iteration_time_s="2 s"),
    "share-as-text": lambda run: run.update(mfu="50 %"),
    "fraction-of-a-rank": lambda run: run.update(ranks=1.5),
    "ranks-as-list": lambda run: run.update(ranks=[1]),
    "breakdown-as-map": lambda run: run.update(breakdown={}),
    "breakdown-without-ranks": lambda run: run["breakdown"][0].pop("ranks"),
    "exposed-as-text": lambda run: run["breakdown"][0]["exposed_comm_s"].update(data="much"),
    "unknown-part": lambda run: run["breakdown"][0].update(bubbles_s=1),
    "memory-as-number": lambda run: run.update(memory=1),
    "memory-without-peak": lambda run: run["memory"].pop("peak_bytes"),
    "bytes-as-text": lambda run: run["memory"]["by"].update(weights="1 GiB"),
    "training-without-time": lambda run: run["training_run"].pop("days"),
    "links-of-texts": lambda run: run.update(links=["nvlink"]),
    "warnings-of-numbers": lambda run: run.update(warnings=[1]),
    "folded-as-text": lambda run: run["simulation"].update(folded="yes"),
    "path-without-steps": lambda run: run["critical_path"][0].pop("steps"),
    "kernel-without-kind": lambda run: run["kernels"][0].pop("kind"),
}


def python_with_jsonschema():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jsonschema"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def shipped_experiments(program, folder):
    """Those of which the program says that they are no sweeps."""
    listed = json.loads(program.run(["list", "studies", "--json", "-"], folder).stdout)
    return [item["name"] for item in listed["items"] if item["kind"] == "experiment"]


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        printed = program.run(["list", "result-schema"], folder)
        checks.check(printed.code == 0, "the schema is printed", printed.stderr)
        write_files(folder, {"schema.json": printed.stdout, "job.yaml": SMALL_JOB, "call.yaml": CALL, "jobs.yaml": JOBS,
                             "sweep.yaml": SWEEP, "several.yaml": SEVERAL,
                             "noisy.yaml": SMALL_JOB + "perturb: {jitter: {sigma: 2 %, per: rank}}\n"})
        shipped = shipped_experiments(program, folder)
        checks.check(len(shipped) > 20, "experiments are shipped", shipped)
        files = []
        for name in shipped:
            outcome = program.run(["run", str(STUDIES / f"{name}.yaml"), "--json", f"{name}.json", "-q"], folder, seconds=120)
            checks.check(outcome.code in (0, 5), f"{name} runs", outcome.stderr)
            files.append(f"{name}.json")
        for name, command in COMMANDS.items():
            outcome = program.run([*command, "--json", f"of-{name}.json", "-q"], folder, seconds=120)
            checks.check(outcome.code == (2 if "error" in name else 0), f"{name} runs", outcome.stderr)
            files.append(f"of-{name}.json")
        files += sorted(f"swept/{path.name}" for path in Path(folder, "swept").glob("result-*.json"))
        run = json.loads(Path(folder, "of-run.json").read_text())
        for name, change in BROKEN.items():
            broken = copy.deepcopy(run)
            change(broken)
            write_files(folder, {f"broken-{name}.json": json.dumps(broken)})
        documented = program.run(["list", "results"], folder)
        checks.check(documented.stdout == (SOURCE / "docs" / "result-keys.md").read_text(),
                     "docs/result-keys.md is what `orrery list results` prints", "orrery list results > docs/result-keys.md")
        python = python_with_jsonschema()
        if python is None:
            print("SKIPPED: jsonschema is not installed (python3-jsonschema)")
            return checks.exit_code()
        done = subprocess.run([python, "-c", VALIDATOR, "schema.json", *files, *(f"broken-{name}.json" for name in BROKEN)],
                              cwd=folder, capture_output=True, text=True, check=False)
        checks.check(done.returncode == 0, "the validator takes the schema", done.stderr[-2000:])
        found = json.loads(done.stdout or "{}")
        for file in files:
            checks.check(found.get(file) == [], f"{file} validates", (found.get(file) or [])[:5])
        for name in BROKEN:
            checks.check(bool(found.get(f"broken-{name}.json")), f"{name} does not validate")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
