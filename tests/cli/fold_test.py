# SPDX-License-Identifier: MIT
"""fold_test.py ORRERY: every shipped study, and every set of stage traces and the Megatron trace of ../shared, under
--verify-fold: no operation of any rank differs by a picosecond. And with `fold: off` the output is the same to the byte
(the tables of operations and of memory too), but for what says how it was folded. Without ../shared its traces are
skipped, loudly."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder, studies

TRACES = SOURCE.parent / "shared" / "data" / "traces"
SETTINGS = [[], ["network.model=alpha-beta"], ["network.granularity=phase"], ["collectives.chunks=3"]]
# Studies that take long with every rank by itself, on fewer.
SMALLER = {"deepseek-v3-2048-h800.yaml": ["nodes=8", "workload.model.layers=8", "workload.model.dense_layers=1", "workload.parallel.pipeline=4",
                                            "workload.parallel.data=16", "workload.parallel.expert=16", "workload.batch.global=128",
                                            "workload.pipeline_layers=[2, 2, 2, 2]"],
           "opt-175b-992.yaml": ["nodes=2", "workload.parallel.data=2", "workload.batch.global=16", "workload.model.layers=16"],
           "gpt-neox-20b-96.yaml": ["nodes=4", "workload.parallel.data=4", "workload.batch.global=64"],
           "gpt3-175b-1024.yaml": ["nodes=16", "workload.parallel.data=2", "workload.batch.global=32"],
           "gpt3-175b-128-a100.yaml": ["workload.batch.global=16"], "gpt3-175b-128-a800.yaml": ["workload.batch.global=16"]}
# Its gradients cross the links of its tensor-parallel groups, so that the second iteration may not repeat what the first
# recorded: it begins as loops and is simulated once more, written out.
REFUSED_ON_THE_WAY = """\
workload:
  model: {hidden: 1024, layers: 8, heads: 16, vocab: 1024, sequence: 512}
  parallel: {tensor: 4, data: 2}
  batch: {global: 16, micro: 1}
  iterations: 2
cluster: dgx-a100
nodes: 1
"""
# Each exchange between context-parallel ranks, within a node and over two.
CONTEXT = "context-parallel.yaml"
CONTEXT_KINDS = [["workload.parallel.context_kind=all-gather"], ["workload.parallel.context_kind=all-to-all"],
                 ["workload.parallel.context_balance=contiguous"], ["workload.loss.chunks=4"],
                 ["nodes=2", "workload.parallel.context=16"],
                 ["nodes=2", "workload.parallel.context=16", "workload.parallel.context_kind=all-to-all+ring"],
                 ["nodes=4", "workload.parallel.context=16", "workload.parallel.tensor=2",
                  "workload.parallel.context_kind=all-to-all+ring", "workload.parallel.context_inner=2"]]
ABOUT_FOLDING = ("rank_classes", "link_classes", "breakdown")
ABOUT_SIMULATING = ("events", "folded", "folding", "splits", "fast_forwarded", "repeated_operations", "by_events")


def arguments(settings):
    return [word for setting in settings for word in ("--set", setting)]


def without_folding(document):
    document = {key: value for key, value in document.items() if key not in ABOUT_FOLDING}
    document["experiment"].pop("fold", None)
    document["provenance"].pop("set")
    document["simulation"] = {key: value for key, value in document["simulation"].items()
                              if key not in ABOUT_SIMULATING}
    return document


def check_experiment(program, checks, experiment, settings, folder, verify=True):
    """`verify`: with --verify-fold, too, which compares what the bytes of the tables compare."""
    name = f"{Path(experiment).name} {' '.join(settings)}"
    folded = program.run(["run", experiment, *(["--verify-fold"] if verify else []), "--json", "folded.json",
                          "--deterministic", "--out", "folded", "--ranks", "all", *arguments(settings)], folder)
    if not checks.check(folded.code == 0 and not folded.broken, f"{name}: folded and every rank by itself",
                        folded.stderr):
        return
    checks.check(not verify or "no operation of" in folded.stderr, f"{name}: says that it was verified", folded.stderr)
    unfolded = program.run(["run", experiment, "--no-fold", "--json", "unfolded.json", "--deterministic", "--out",
                            "unfolded", "--ranks", "all", *arguments(settings)], folder)
    checks.check(unfolded.code == 0, f"{name}: --no-fold", unfolded.stderr)
    for table in ("operations.csv", "memory.csv"):
        paths = [Path(folder) / run / table for run in ("folded", "unfolded")]
        checks.check(paths[0].exists() == paths[1].exists(), f"{name}: {table}")
        if paths[0].exists():
            checks.check(paths[0].read_bytes() == paths[1].read_bytes(), f"{name}: the same {table}")
    checks.check(unfolded.stdout == folded.stdout, f"{name}: the same summary", unfolded.stdout + folded.stdout)
    every_message = program.run(["run", experiment, "--no-fast-forward", "--json", "every.json", "--deterministic",
                                 *arguments(settings)], folder)
    checks.check(every_message.code == 0 and every_message.stdout == folded.stdout, f"{name}: --no-fast-forward",
                 every_message.stderr)
    documents = [json.loads((Path(folder) / file).read_text()) for file in ("folded.json", "unfolded.json")]
    checks.check(without_folding(documents[0]) == without_folding(documents[1]), f"{name}: the same document")
    checks.check(documents[0]["rank_classes"] <= documents[0]["ranks"] == documents[1]["rank_classes"],
                 f"{name}: classes")


def experiment_of(traces, folder):
    """A configuration that replays the traces of a folder on as many DGX A100 as they need."""
    files = sorted(traces.glob("*.et"))
    prefix = str(files[0])[:-len(".0.et")]
    groups = next(iter(sorted(traces.glob("*.json"))), None)
    chakra = f"prefix: {prefix}" + (f", groups: {groups}" if groups else "")
    path = Path(folder) / f"{traces.name}.yaml"
    path.write_text(f"cluster: dgx-a100\nnodes: {(len(files) + 7) // 8}\nworkload: {{chakra: {{{chakra}}}}}\n")
    return str(path)


def unpack(archive, folder):
    target = Path(folder) / archive.name.split(".")[0]
    target.mkdir()
    subprocess.run(["tar", "-x", "-I", "zstd", "-f", str(archive), "-C", str(target)], check=True)
    return next(target.rglob("*.0.et")).parent


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        for study in studies():
            for settings in SETTINGS:
                if settings == ["collectives.chunks=3"] and "dispatch: deepep" in study.read_text():
                    continue  # timed by NCCL's library only, which has no chunks
                check_experiment(program, checks, str(study), SMALLER.get(study.name, []) + settings, folder,
                                 verify=not settings)
        for settings in CONTEXT_KINDS:
            check_experiment(program, checks, str(SOURCE / "configs" / "studies" / CONTEXT), settings, folder)
        refused = Path(folder) / "refused-on-the-way.yaml"
        refused.write_text(REFUSED_ON_THE_WAY)
        check_experiment(program, checks, str(refused), [], folder)
        if not TRACES.is_dir() or not shutil.which("zstd"):
            print(f"SKIPPED: the traces of {TRACES.parent.parent} (the folder or zstd is missing)")
            return checks.exit_code()
        for archive in [*sorted((TRACES / "stage").glob("*.tar.zst")), TRACES / "megatron_tp8_8xA100.tar.zst"]:
            check_experiment(program, checks, experiment_of(unpack(archive, folder), folder), [], folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
