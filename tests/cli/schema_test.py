#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schema_test.py PROGRAM: every shipped experiment and sweep validates against the JSON Schema of `orrery list schema` with a
stock validator (python3-jsonschema), and broken ones do not.

Each broken experiment is refused by the program, too: the schema finds nothing wrong that is right.
"""
import json
import subprocess
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

VALIDATOR = """
import json, sys
import jsonschema, yaml
class Loader(yaml.SafeLoader): pass
# Numbers as YAML 1.2 has them, as the program does: 1e9 is one, 1:30 and dates are texts.
Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in pairs if not tag.endswith((":timestamp", ":int", ":float", ":bool"))]
                                  for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()}
import re
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^[-+]?[0-9]+$"), list("-+0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?([0-9]*\\.[0-9]+|[0-9]+\\.?[0-9]*)([eE][-+]?[0-9]+)?$"), list("-+.0123456789"))
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
found = {}
for file in sys.argv[2:]:
    found[file] = [f"{'.'.join(map(str, one.absolute_path))}: {one.message[:200]}" for one in validator.iter_errors(yaml.load(open(file), Loader))]
json.dump(found, sys.stdout)
"""

JOB = """cluster: dgx-a100
nodes: 2
workload:
  model: gpt3-13b
  parallel: {tensor: 8, data: 2}
  batch: {global: 64, micro: 2}
"""
CALL = "cluster: dgx-a100\nnodes: 2\nworkload: {collective: all_reduce, size: 1 GiB}\n"
# What is right, for the program and for the schema.
RIGHT = {
    "call-on-some": CALL.replace("size", "ranks: 4, ranks_per_node: 2, size"),
    "uneven-call": CALL.replace("all_reduce", "all_to_all").replace("nodes: 2", "nodes: 1\ncollectives: {library: fixed}")
                       .replace("size", "shares: [[0, 1, 0, 2], [1, 0, 1, 1], [1, 1, 0, 0.5], [4, 3, 2, 1]], ranks: 4, size"),
    "drawn-call": CALL.replace("all_reduce", "all_to_all").replace("nodes: 2", "nodes: 1\ncollectives: {library: fixed}")
                      .replace("size", "skew: 0.5, seed: 3, size"),
    "own-fabric": JOB.replace("cluster: dgx-a100", "cluster: {dims: [{topology: switch, size: 16, bandwidth: 200 Gbit/s, latency: 1.5 us}], "
                              "device: a100-sxm-80gb}").replace("nodes: 2\n", ""),
    "rest": JOB.replace("data: 2", "data: rest"),
    "underscores": JOB.replace("micro: 2}\n", "micro: 2}\n  schedule: {kind: zero_bubble}\n").replace("tensor: 8", "tensor: 4, pipeline: 2"),
    "two-jobs": "cluster: dgx-a100\njobs:\n  - {name: a, workload: {collective: all-gather, size: 1 MB, ranks: 4}}\n"
                "  - {name: b, start: 1 ms, workload: {collective: barrier, ranks: 4}}\n",
    "perturbed": JOB + "perturb: {ranks: {3: {compute: 1.1, start: 1 ms}}, jitter: {per: rank, sigma: 2 %, seed: 1}}\n",
    "goodput": JOB + "reliability: {mtbf: 50000 h, restart: 10 min, checkpoint: {time: 30 s}}\n",
    "own-model": JOB.replace("gpt3-13b", "{layers: 4, hidden: 1024, heads: 16, vocab: 32000, sequence: 1024}"),
}
# Text that takes another's place in JOB, or stands behind it.
BROKEN = {
    "misspelt-section": ("workload:", "work_load:"),
    "misspelt-key": ("micro: 2", "mikro: 2"),
    "unknown-key": ("", "colour: red\n"),
    "degree-of-zero": ("tensor: 8", "tensor: 0"),
    "degree-as-word": ("tensor: 8", "tensor: eight"),
    "fraction-of-a-node": ("nodes: 2", "nodes: 1.5"),
    "nodes-as-list": ("nodes: 2", "nodes: [2]"),
    "batch-as-number": ("batch: {global: 64, micro: 2}", "batch: 64"),
    "unknown-schedule": ("", "  schedule: {kind: 1f2b}\n"),
    "zero-of-four": ("data: 2", "data: 2, zero: 4"),
    "recompute-most": ("", "  recompute: most\n"),
    "unknown-library": ("", "collectives: {library: nckl}\n"),
    "chunks-of-zero": ("", "collectives: {library: fixed, chunks: 0}\n"),
    "network-as-word": ("", "network: {model: wormhole}\n"),
    "bandwidth-without-unit": ("cluster: dgx-a100", "cluster: {dims: [{topology: switch, size: 16, bandwidth: 25, latency: 1 us}], device: a100-sxm-80gb}"),
    "latency-of-five": ("cluster: dgx-a100", "cluster: {dims: [{topology: switch, size: 16, bandwidth: 25 GB/s, latency: 5}], device: a100-sxm-80gb}"),
    "latency-in-metres": ("cluster: dgx-a100", "cluster: {dims: [{topology: switch, size: 16, bandwidth: 25 GB/s, latency: 1 m}], device: a100-sxm-80gb}"),
    "dims-as-map": ("cluster: dgx-a100", "cluster: {dims: {topology: switch}, device: a100-sxm-80gb}"),
    "fold-as-number": ("", "fold: 3\n"),
    "yes": ("data: 2", "data: 2, sequence: 17"),
    "no-batch-size": ("batch: {global: 64, micro: 2}", "batch: {global: some, micro: 2}"),
    "perturb-as-list": ("", "perturb: [1]\n"),
    "precision": ("", "  precision: fp17\n"),
}
BROKEN_CALLS = {
    "unknown-collective": ("all_reduce", "all_reduse"),
    "size-without-unit": ("1 GiB", "1 apple"),
    "ranks-of-none": ("size", "ranks: 0, size"),
}


def python_with_jsonschema():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jsonschema, yaml"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        printed = program.run(["list", "schema"], folder)
        checks.check(printed.code == 0 and json.loads(printed.stdout)["$schema"].endswith("2020-12/schema"), "it is printed",
                     printed.stderr)
        write_files(folder, {"schema.json": printed.stdout, "job.yaml": JOB, "call.yaml": CALL,
                             **{f"{name}.yaml": content for name, content in RIGHT.items()}})
        right = ["job.yaml", "call.yaml", *(f"{name}.yaml" for name in RIGHT)]
        broken = {}
        for base, rows in ((JOB, BROKEN), (CALL, BROKEN_CALLS)):
            for name, (old, new) in rows.items():
                assert old in base
                broken[f"{name}.yaml"] = base.replace(old, new, 1) if old else base + new
        write_files(folder, broken)
        for name in right:
            outcome = program.run(["check", name], folder)
            checks.check(outcome.code == 0, f"{name} is right", outcome.stderr)
        for name in broken:
            outcome = program.run(["check", name], folder)
            checks.check(outcome.code == 2, f"the program refuses {name}", outcome.stdout)
        python = python_with_jsonschema()
        if python is None:
            print("SKIPPED: jsonschema is not installed (python3-jsonschema, python3-yaml)")
            return checks.exit_code()
        shipped = sorted(str(path) for path in Path(SOURCE, "configs", "studies").glob("*.yaml"))
        done = subprocess.run([python, "-c", VALIDATOR, "schema.json", *right, *shipped, *broken], cwd=folder,
                              capture_output=True, text=True, check=False)
        checks.check(done.returncode == 0, "the validator takes the schema", done.stderr[-2000:])
        found = json.loads(done.stdout or "{}")
        for file in [*right, *shipped]:
            checks.check(found.get(file) == [], f"{Path(file).name} validates", found.get(file))
        for file in broken:
            checks.check(bool(found.get(file)), f"{file} does not validate")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
