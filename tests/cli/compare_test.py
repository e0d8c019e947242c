#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_test.py PROGRAM: `compare JOB --vs` is `compare` of two files, its operations sum to the difference of the
times to the picosecond, and its answer fits a screen."""
import json
import sys

from orrery_program import SMALL_JOB, SOURCE, run_parts

STUDIES = SOURCE / "configs" / "studies"
LLAMA = STUDIES / "llama2-13b-four-nodes.yaml"
CHANGES = [["cluster=hgx-a800"], ["cluster=dgx-h100", "workload.software=megatron-2022"], ["workload.parallel.tensor=4"],
           ["workload.parallel={tensor: 4, pipeline: 2, data: rest}"], ["cluster.node.fabric.bandwidth*=2"],
           ["workload.recompute=full", "workload.batch.micro=2"], ["network.model=alpha-beta"], ["nodes=4"]]


def compare(program, folder, *arguments):
    outcome = program.run(["compare", *map(str, arguments), "--json", "-"], folder, seconds=120)
    return json.loads(outcome.stdout)


def vs(changes):
    return [word for change in changes for word in ("--vs", change)]


def picoseconds(seconds):
    return round(seconds * 1e12)


def check_sums(checks, document, what):
    first, second = (picoseconds(run["time_s"]) for run in document["runs"])
    operations = document["operations"]
    differences = [picoseconds(one["second_s"]) - picoseconds(one["first_s"]) for one in operations]
    checks.check(sum(differences) == second - first, f"{what}: operations sum to the difference",
                 (sum(differences), second - first))
    checks.check(sum(picoseconds(one["first_s"]) for one in operations) == first, f"{what}: and to the first time")
    sizes = [abs(difference) for difference in differences]
    checks.check(sizes == sorted(sizes, reverse=True), f"{what}: the largest difference is first")
    names = [one["what"] for one in operations]
    checks.check(len(set(names)) == len(names), f"{what}: each name once")


def check_changes(program, checks, folder):
    for changes in CHANGES:
        document = compare(program, folder, LLAMA, *vs(changes))
        check_sums(checks, document, " ".join(changes))
    checks.check(not document["settings"] and document["runs"][0]["time_s"] == document["runs"][1]["time_s"],
                 "a setting that the job has changes nothing", document["settings"])
    changed = compare(program, folder, LLAMA, *vs(["workload.parallel.tensor=4"]))["settings"]
    checks.check(changed == [{"key": "workload.parallel.tensor", "first": "8", "second": "4"}], "what differs", changed)


def check_sureness(program, checks, folder):
    """What is known of the ratio, in whole sentences; and why nothing is where a key is by hand."""
    beside = program.run(["compare", LLAMA, "--vs", "cluster=hgx-a800"], folder, seconds=120)
    text = " ".join(beside.stdout.split())
    checks.check("it takes 5.3 % more time; 80 % of " in text and "pairs of published runs (transformer) put that between " in text and
                 "the two cannot be told apart" in text and "no error of the ratio" not in text, "within what error", beside.stdout)
    by_hand = program.run(["compare", LLAMA, "--vs", "cluster.node.nics.bandwidth=3 GB/s"], folder, seconds=120)
    checks.check("no error of the ratio is given: no published run has 'cluster.node.nics.bandwidth' so" in
                 " ".join(by_hand.stdout.split()), "a key by hand", by_hand.stdout)
    far = program.run(["compare", LLAMA, STUDIES / "resnet-50-ddp.yaml"], folder, seconds=120)
    text = " ".join(far.stdout.split())
    checks.check("more alike than these two (convolutional against transformer" in text and "pairs of published runs (" not in text and
                 "of samples, llama2-13b-four-nodes trains a model of tokens: their times are of other work" in text, "other models", far.stdout)
    document = compare(program, folder, LLAMA, *vs(["cluster.node.nics.bandwidth=3 GB/s"]))
    checks.check(document["runs"][1].get("by_hand") == "cluster.node.nics.bandwidth", "also as JSON", document["runs"][1])


def check_warnings_once(program, checks, folder):
    both = program.run(["compare", LLAMA, "--set", "workload.recompute=selective", "--set",
                        "workload.model.attention=flash", "--vs", "cluster.node.nics.bandwidth*=2"], folder, seconds=120)
    checks.check(both.stderr.count("'recompute: selective' changes nothing") == 1, "a warning of both sides is told once",
                 both.stderr)


def check_pace(program, checks, folder):
    """Times of two batches tell little: their pace stands beside them."""
    (folder / "job.yaml").write_text(SMALL_JOB)
    batches = program.run(["compare", "job.yaml", "--vs", "workload.batch.global=32"], folder)
    checks.check("tokens/s/GPU" in batches.stdout and "compare the pace, not the time" in " ".join(batches.stdout.split()),
                 "two batch sizes", batches.stdout)
    plans = program.run(["compare", "job.yaml", "--vs", "workload.recompute=full"], folder)
    checks.check("compare the pace" not in plans.stdout, "one batch size", plans.stdout)
    paces = [run["tokens_per_s_per_gpu"] for run in compare(program, folder, "job.yaml", *vs(["workload.batch.global=32"]))["runs"]]
    checks.check(paces[0] < paces[1], "a larger batch is faster by token", paces)


def check_files(program, checks, folder):
    (folder / "a.yaml").write_text(LLAMA.read_text())
    (folder / "b.yaml").write_text(LLAMA.read_text().replace("cluster: dgx-a100", "cluster: hgx-a800"))
    files = compare(program, folder, "a.yaml", "b.yaml")
    same = compare(program, folder, "a.yaml", "--vs", "cluster=hgx-a800")
    for key in ("settings", "operations"):
        checks.check(files[key] == same[key], f"{key} are those of the two files")
    checks.check([run["time_s"] for run in files["runs"]] == [run["time_s"] for run in same["runs"]], "and the times")
    check_sums(checks, files, "two files")
    traces = compare(program, folder, STUDIES / "replay-a100.yaml", STUDIES / "replay-a800.yaml")
    check_sums(checks, traces, "traces")
    several = compare(program, folder, "a.yaml", "b.yaml", LLAMA)
    checks.check("operations" not in several, "operations are of two")


def check_figures(program, checks, folder):
    """Figures beside the time follow from one another: days, cost and energy from the pace, memory from its uses."""
    document = compare(program, folder, LLAMA, *vs(["cluster=dgx-h100"]), "--tokens", "1T", "--price", "$2.50")
    runs, devices, watts = document["runs"], 32, (400, 700)
    for run, power in zip(runs, watts):
        figures = run["figures"]
        seconds = 1e12 / figures["tokens_per_s"]
        for name, expected in (("tokens_per_s", devices * figures["tokens_per_s_per_gpu"]), ("training_days", seconds / 86400),
                               ("cost", seconds / 3600 * devices * 2.5), ("energy_kwh", seconds / 3600 * devices * power / 1000),
                               ("energy_per_token_J", power / figures["tokens_per_s_per_gpu"])):
            checks.check(abs(figures[name] / expected - 1) < 1e-9, f"{run['name']}: {name}", (figures[name], expected))
        checks.check(sum(run["memory_bytes"].values()) == figures["memory.in_use_bytes"] and run["fits"], f"{run['name']}: memory by use",
                     run["memory_bytes"])
        error, interval = run.get("ratio_error"), run.get("ratio_interval")
        checks.check(error is None or abs(interval["high"] / run["ratio"] - 1 - error["at_most"]) < 1e-9, f"{run['name']}: interval", interval)
    names = {one["name"] for one in document["figures"]}
    checks.check({"mfu", "tokens_per_s_per_gpu", "memory_peak_bytes", "training_days", "cost", "energy_kwh"} <= names, "what is compared", names)
    for one in document["figures"]:
        values = [run["figures"][one["name"]] for run in runs]
        checks.check(abs(one["ratios"][1] - values[1] / values[0]) < 1e-12, f"the ratio of {one['name']}", one)
    pipelines = compare(program, folder, LLAMA, *vs(["workload.parallel={tensor: 4, pipeline: 2, data: rest}"]))
    checks.check("bubble_share" in {one["name"] for one in pipelines["figures"]}, "bubbles where a run has them")
    everything = program.run(["compare", LLAMA, "--vs", "workload.parallel.zero=3", "--details", "-q"], folder, seconds=120).stdout
    checks.check(all(text in everything for text in ("memory of the fullest rank", "operations on the critical path", "tokens/s in all")),
                 "--details has all of it", everything)


def check_many(program, checks, folder):
    """Several runs of different work: a line each, no wider than the screen, and what cannot be compared is said."""
    (folder / "a-name-that-is-much-too-long-for-a-table.yaml").write_text(LLAMA.read_text())
    files = [LLAMA, folder / "a-name-that-is-much-too-long-for-a-table.yaml", STUDIES / "replay-a100.yaml", STUDIES / "matrix-product.yaml"]
    text = program.run(["compare", *map(str, files), "-q"], folder, seconds=120).stdout
    joined = " ".join(text.split())
    checks.check(max(map(len, text.splitlines())) <= 80, "four runs in 80 columns", text)
    checks.check("2 is a-name-that-is-much-too-long-for-a-table" in joined, "a name that is cut is given in full", text)
    checks.check("replay-a100 replays traces, llama2-13b-four-nodes trains a model: their times are of other work" in joined and
                 "not compared, for replay-a100 has none: MFU" in joined, "work of other sorts is said", text)
    works = [run["work"] for run in compare(program, folder, *files)["runs"]]
    checks.check(works == ["trains a model", "trains a model", "replays traces", "computes one product"], "also as JSON", works)


def check_screens(program, checks, folder):
    for changes in CHANGES:
        outcome = program.run(["compare", str(LLAMA), *vs(changes)], folder, seconds=120)
        lines = outcome.stdout.splitlines()
        height = sum(max(1, -(-len(line) // 80)) for line in lines)
        checks.check(outcome.code == 0 and not outcome.broken and 0 < height <= 24, f"{changes} fits a screen",
                     f"{height} lines\n{outcome.stdout}")
        tables = [line for line in lines if line.startswith("  ")]
        checks.check(all(len(line) <= 80 for line in tables), f"{changes}: tables are no wider than that",
                     outcome.stdout)


LARGE_JOB = """\
cluster: dgx-h100
nodes: 32
workload: {model: llama3-70b, tp: 8, pp: 4, gbs: 512, vpp: 5}
"""


def check_default_software(program, checks, folder):
    """Software that follows from the devices is told first where it differs; an error says of which side it is."""
    (folder / "small.yaml").write_text("cluster: dgx-h100\nnodes: 1\nworkload: {model: gpt-1.7b, gbs: 64, mbs: 1}\n")
    differs = program.run(["compare", "small.yaml", "--vs", "cluster=dgx-a100"], folder)
    first = "workload.software differs: megatron-2022 (default) of cluster=dgx-a100; megatron-2024 (default) of as it is; "
    checks.check(" ".join(differs.stdout.split()).startswith(f"{first}--set workload.software=megatron-2024 takes that away "),
                 "software by default is told first", differs.stdout + differs.stderr)
    checks.check(len(differs.stdout.splitlines()) <= 24, "all of it fits the screen", differs.stdout)
    same = program.run(["compare", "small.yaml", "--vs", "cluster=dgx-a100", "--set", "workload.software=megatron-2024"], folder)
    checks.check(same.code == 0 and "workload.software" not in same.stdout, "the setting takes the difference away", same.stdout)
    (folder / "large.yaml").write_text(LARGE_JOB)
    for words, side in ((["--vs", "cluster=dgx-a100"],
                         "--vs cluster=dgx-a100: error: with this the experiment cannot be simulated:\nlarge.yaml:3:11: error: rank 0 needs"),
                        (["--set", "cluster=dgx-a100", "--vs", "cluster=dgx-h100"],
                         "large.yaml: error: as it is, without --vs, this experiment cannot be simulated:\nlarge.yaml:3:11: error: rank 0 needs")):
        outcome = program.run(["compare", "large.yaml", *words], folder)
        checks.check(outcome.code == 5 and outcome.stderr.startswith(side), f"compare {words} says which side does not fit", outcome.stderr)
        checks.check("software megatron-2022 (default on ampere): plain attention, no sequence parallelism\n" in outcome.stderr,
                     "and by what software", outcome.stderr)


def check_by_hand(program, checks, folder):
    """What no published run has so has no interval; what is written and is the default, or differs among runs, has."""
    (folder / "small.yaml").write_text(SMALL_JOB)

    def sureness(*settings, environment=None):
        arguments = [word for setting in settings for word in ("--set", setting)]
        outcome = program.run(["run", "small.yaml", *arguments, "--json", "-"], folder, environment=environment)
        result = json.loads(outcome.stdout)
        return result.get("by_hand", ""), "interval" in result

    for setting in ("network.model=flow", "collectives.library=nccl", "collectives.launch=mpi", "nodes=4",
                    "cluster.node.nics.count=8",
                    "workload.software.host.launch=30 us", "cluster.node.fabric.latency=700 ns", "cluster.name=x",
                    "cluster.node.fabric.latency=0.7 us", "cluster.node.fabric.latency*=1"):
        checks.check(sureness(setting) == ("", True), f"{setting} is not by hand", sureness(setting))
    for setting in ("network.model=alpha-beta", "cluster.node.fabric.bandwidth=900 GB/s", "perturb.nodes.0.start=1 s",
                    "workload.software.rates.gemm=0.5", "workload.software.optimizer=600 B",
                    "workload.software.host.launch=1 us", "workload.software.host.launch=0 us",
                    "workload.software.host.kernels.norm=1"):
        checks.check(sureness(setting) == (setting.partition("=")[0], False), f"{setting} is by hand", sureness(setting))
    study = "configs/studies/handbook-2b-8gpu.yaml"
    outcome = program.run(["run", str(SOURCE / study), "--json", "-"], folder)
    checks.check(json.loads(outcome.stdout).get("by_hand", "").startswith("cluster.device."), "a study's own device is by hand")
    (folder / "configs").symlink_to(SOURCE / "configs")
    for name in ("configs/", "./configs", "configs"):
        checks.check(sureness(environment={"ORRERY_CONFIGS": name}) == ("", True), f"{name} is what ships")
    program.run(["run", "small.yaml", "--set", "cluster.node.fabric.bandwidth=301 GB/s", "--json", "hand.json"], folder)
    program.run(["run", "small.yaml", "--set", "workload.batch.micro=2", "--json", "plan.json"], folder)
    three = compare(program, folder, "small.yaml", "plan.json", "hand.json")
    checks.check(["ratio_error" in run for run in three["runs"]] == [False, True, False],
                 "a ratio has an error where both jobs have published ones of their kind", three["runs"])
    text = program.run(["compare", "small.yaml", "plan.json", "hand.json"], folder).stdout
    checks.check(" 0 pairs" not in text, "errors of ratios are those of the jobs that are named", text)


if __name__ == "__main__":
    sys.exit(run_parts(check_changes, check_files, check_sureness, check_warnings_once, check_pace, check_figures,
                       check_many, check_screens, check_default_software, check_by_hand))
