#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""idle_keys_test.py PROGRAM: a key that cannot act is told, with what holds in its place: in compare, sweep, run, check."""
import json
import re
import sys

from orrery_program import SMALL_JOB, SOURCE, run_parts

NIC = "cluster.node.nics.bandwidth"
# Of a DGX A100, a key, a value, and what of the warning names the winner.
OVERRULED = [
    ("cluster.node.device.nvlink.bandwidth", "50 GB/s", "'cluster.node.fabric.bandwidth' holds"),
    ("cluster.node.device.nvlink_count", "6", "'cluster.node.fabric.bandwidth' holds"),
    ("cluster.node.fabric.link.bandwidth", "50 GB/s", "'cluster.node.fabric.bandwidth' holds"),
    ("cluster.node.device.pcie.bandwidth", "63 GB/s", "'cluster.node.nics.host_link' holds"),
    ("cluster.nodes", "4", "'nodes' holds"),
]
SOFTWARE = "workload.software"
NO_LAUNCHES = f"{SOFTWARE}.host.launch=0 s"
FP8 = ("cluster=dgx-h100", f"{SOFTWARE}=megatron-2025", "workload.precision=fp8")  # parameters, too
FP8_COPIES = (*FP8, f"{SOFTWARE}.fp8.parameters=false")
SEQUENCE = (f"{SOFTWARE}=megatron-2025", "workload.parallel.sequence=true")
EXPERTS = ("workload.model=mixtral-8x7b", "workload.model.layers=4", *SEQUENCE)
INTERLEAVED = ("workload.schedule.kind=1f1b-interleaved", "workload.schedule.virtual_stages=2")
# A key, a value, settings with which it changes nothing, why not, and settings with which it acts.
UNUSED = [
    ("cluster.node.host_launch", "2", (NO_LAUNCHES,), "no device waits for its host", ()),
    ("cluster.node.host_launch", "2", (f"{SOFTWARE}.host.graphs=step",), "no kernel is launched by itself", ()),
    (f"{SOFTWARE}.host.graphs", "dense", (NO_LAUNCHES,), "no device waits for its host", ()),
    (f"{SOFTWARE}.host.kernels.norm", "4", (NO_LAUNCHES,), "no device waits for its host", ()),
    (f"{SOFTWARE}.host.router", "4", (), "the model has no experts", EXPERTS),
    (f"{SOFTWARE}.host.reads_sizes", "false", (*EXPERTS, NO_LAUNCHES), "no device waits for its host", EXPERTS),
    (f"{SOFTWARE}.host.reads_sizes", "false", (*EXPERTS, f"{SOFTWARE}.host.graphs=step"),
     "no kernel is launched by itself", EXPERTS),
    (f"{SOFTWARE}.footprint.received", "3", ("workload.parallel.pipeline=1", "workload.parallel.data=4"),
     "the job has no pipeline", ()),
    (f"{SOFTWARE}.footprint.pieces", "4", (f"{SOFTWARE}.overlap.tensor=none",), "is cut into pieces",
     (*SEQUENCE, f"{SOFTWARE}.overlap.tensor=pieces")),
    ("workload.schedule.group", "4", (*INTERLEAVED, "workload.parallel.pipeline=4", "workload.parallel.data=1"),
     "groups are as long as the pipeline without it, too", INTERLEAVED),
    (f"{SOFTWARE}.footprint.grouped", "6", (), "the model has no experts", EXPERTS),
    (f"{SOFTWARE}.footprint.deterministic", "64 MiB", (), "'workload.deterministic' is false",
     (f"{SOFTWARE}=megatron-2025", "workload.deterministic=true")),
    (f"{SOFTWARE}.fp8.copies", "1 B", (f"{SOFTWARE}=megatron-2025",), "no GEMM of the job is in fp8 or int8", FP8_COPIES),
    (f"{SOFTWARE}.fp8.operand", "1 B", (*FP8, "workload.recipe=delayed"), "'workload.recipe' replaces it", FP8),
    (f"{SOFTWARE}.fp8.copies", "1 B", FP8, "parameters are in fp8 themselves", FP8_COPIES),
    ("cluster.node.host.to_device", "100 GB/s", (), "no job offloads anything to hosts",
     ("workload.offload.states=100 %",)),
    ("workload.offload.update", "device", ("workload.offload.activations=50 %",), "no states are offloaded",
     ("workload.offload.states=100 %",)),
    ("cluster.node.host.update", "300 GB/s", ("workload.offload.states=100 %", "workload.offload.update=device"),
     "no job has hosts update the optimizer's states", ("workload.offload.states=100 %",)),
    ("cluster.node.host.pcie", "50 %",
     ("workload.offload.states=100 %", "cluster.node.host.to_device=20 GB/s", "cluster.node.host.from_device=20 GB/s"),
     "'to_device' and 'from_device' hold", ("workload.offload.states=100 %",)),
    ("cluster.node.device.pcie.bandwidth", "16 GB/s", (), "'cluster.node.nics.host_link' holds",
     ("workload.offload.states=100 %",)),
    (f"{SOFTWARE}.zero", "2", ("workload.parallel.zero=1",), "'workload.parallel.zero' holds", ()),
    (f"{SOFTWARE}.sequence", "true", ("workload.parallel.tensor=1", "workload.parallel.data=8", "workload.parallel.zero=1"),
     "no tensor parallelism", ()),
    ("workload.experts.row_multiple", "16", EXPERTS, "are a multiple of it already",
     (*EXPERTS, "workload.model.sequence=4104")),
    ("cluster.node.device.exponentials", "2", ("workload.model.attention=plain",), "it tells the time of flash attention",
     ("workload.model.attention=flash",)),
    ("workload.overlap.bucket", "10 MB",
     (f"{SOFTWARE}=megatron-2024", "workload.parallel.zero=3", "workload.parallel.pipeline=1", "workload.parallel.data=4"),
     "gradients are exchanged layer by layer", (f"{SOFTWARE}=megatron-2024",)),
    (f"{SOFTWARE}.overlap.parameters", "false", (f"{SOFTWARE}=megatron-2024", "workload.parallel.zero=0"),
     "with ZeRO 1 and 2 alone", (f"{SOFTWARE}=megatron-2024", "workload.parallel.zero=1")),
    (f"{SOFTWARE}.overlap.layers", "true", (f"{SOFTWARE}=megatron-2024", "workload.parallel.zero=0"),
     "without ZeRO gradients are exchanged in buckets", (f"{SOFTWARE}=megatron-2024", "workload.parallel.zero=1")),
    (f"{SOFTWARE}.overlap.pipeline", "false", (f"{SOFTWARE}=megatron-2024",), "1f1b waits for what it sends",
     (f"{SOFTWARE}=megatron-2024", NO_LAUNCHES, *INTERLEAVED)),
    (f"{SOFTWARE}.scatter_gather", "false", (f"{SOFTWARE}=megatron-2022", "workload.parallel.tensor=1", "workload.parallel.data=8", "workload.parallel.zero=1"),
     "the job has no tensor parallelism", (f"{SOFTWARE}=megatron-2022",)),
    ("workload.parallel.context_kind", "all-gather", (), "the job has no context parallelism",
     ("workload.parallel.context=2", "workload.parallel.data=1")),
    ("cluster.node.device.peak.fp8", "4000 TFLOP/s", ("cluster=dgx-h100",), "no job has products in fp8", FP8),
    ("cluster.node.device.compute.fp16", "50 %", (), "no job has GEMMs in fp16", ("workload.precision=fp16",)),
]
SWEEP = """experiment: job.yaml
vary: [{{key: {key}, values: [{values}]}}]
"""


def text_of(outcome):
    """What was printed, as one line: answers are wrapped."""
    return " ".join((outcome.stdout + outcome.stderr).split())


def seconds_of(program, folder, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return json.loads(program.run(["run", "job.yaml", *words, "--json", "-"], folder).stdout)["iteration_time_s"]


def check_capped(program, checks, folder):
    """A NIC of 400 Gb/s, 50 GB/s, is behind a slot of PCIe 4, 31.5 GB/s: the slot bounds it, and 800 Gb/s as well."""
    same = program.run(["compare", "job.yaml", "--set", f"{NIC}=400 Gb/s", "--vs", f"{NIC}=800 Gb/s"], folder)
    # 800 Gb/s are 100 GB/s, and the slot's messages get 24: 100 / 24 = 4.1667, which is 4.17 in three digits, rounded up.
    partner = "cluster.node.nics.host_bandwidth*=4.17"
    checks.check("no difference in the iteration time" in same.stdout and
                 f"with {partner} as well it saves" in text_of(same), "compare names the slot", same.stdout)
    document = program.run(["compare", "job.yaml", "--set", f"{NIC}=400 Gb/s", "--vs", f"{NIC}=800 Gb/s", "--json", "-"],
                           folder)
    reasons = json.loads(document.stdout)["runs"][1].get("no_difference")
    checks.check(reasons and reasons[0]["keys"] == [NIC] and reasons[0]["with"] == [partner], "and so does its document",
                 reasons)
    first = seconds_of(program, folder, f"{NIC}=400 Gb/s")
    for share, settings in (("saved_with", (f"{NIC}=800 Gb/s", partner)), ("saved_alone", (f"{NIC}=400 Gb/s", partner))):
        saved = 1 - seconds_of(program, folder, *settings) / first
        checks.check(abs(reasons[0][share] - saved) < 1e-9 and saved > 0, f"{share} is simulated", (reasons[0], saved))
    both = (f"{NIC}=800 Gb/s", "cluster.node.nics.host_bandwidth=126 GB/s")
    checks.check(seconds_of(program, folder, *both) < seconds_of(program, folder, both[0]), "both together are faster")
    run = program.run(["run", "job.yaml", "--set", f"{NIC}=800 Gb/s"], folder)
    checks.check(f"--set {NIC}=800 Gb/s: warning:" in run.stderr and "host_bandwidth" in run.stderr,
                 "run warns of a NIC faster than its slot", run.stderr)
    plain = program.run(["run", "job.yaml", "--set", f"{NIC}=100 Gb/s"], folder)
    checks.check(not plain.stderr, "and not of one that is slower", plain.stderr)
    (folder / "sweep.yaml").write_text(SWEEP.format(key=NIC, values="200 Gb/s, 400 Gb/s, 800 Gb/s"))
    sweep = program.run(["sweep", "sweep.yaml"], folder)
    checks.check("'400 Gb/s' and '800 Gb/s' take equally long" in sweep.stderr and "host_bandwidth" in sweep.stderr and
                 "'100 Gb/s' and" not in sweep.stderr, "a sweep tells which values are equal", sweep.stderr)
    checked = program.run(["check", "sweep.yaml"], folder)
    checks.check(checked.code == 0 and "host_bandwidth" in checked.stdout + checked.stderr, "check says so before",
                 checked.stdout + checked.stderr)


def check_capped_in_part(program, checks, folder):
    """Behind two units of 32 nodes a NIC of 400 Gb/s, 50 GB/s, is behind a slot of 63 GB/s, of which messages get 48. The
    links between leaves and spines have the bandwidth of NICs too, and messages cross them; theirs is no slot of one node."""
    (folder / "units.yaml").write_text(SMALL_JOB.replace("dgx-a100", "dgx-superpod").replace("nodes: 2", "nodes: 64")
                                       .replace("data: 2", "data: rest").replace("global: 16", "global: 64"))
    same = program.run(["compare", "units.yaml", "--vs", f"{NIC}=800 Gb/s"], folder)
    text = text_of(same)
    checks.check("no difference in the iteration time" in text and "'nic.leaf-up'" in text, "it sets links of leaves, too", text)
    checks.check("also crosses 'pcie', which carry 48 GB/s" in text and
                 "with cluster.node.nics.host_bandwidth*=2.09 as well it saves" in text,
                 "compare names the slot of those behind it: 100 / 48 = 2.083", text)
    (folder / "units-sweep.yaml").write_text(SWEEP.replace("job.yaml", "units.yaml").format(
        key=NIC, values="400 Gb/s, 800 Gb/s, 1600 Gb/s"))
    sweep = program.run(["sweep", "units-sweep.yaml"], folder)
    warnings = [line for line in sweep.stderr.splitlines() if "take equally long" in line]
    checks.check(len(warnings) == 1 and "'400 Gb/s', '800 Gb/s' and '1600 Gb/s' take equally long" in warnings[0] and
                 "host_bandwidth" in warnings[0], "a sweep says it once of all values", sweep.stderr)


def check_partly_capped(program, checks, folder):
    """From 100 to 800 Gb/s a NIC is faster up to the 24 GB/s of its slot; the rest of it needs the slot, too."""
    part = program.run(["compare", "job.yaml", "--set", f"{NIC}=100 Gb/s", "--vs", f"{NIC}=800 Gb/s", "--json", "-"], folder)
    second = json.loads(part.stdout)["runs"][1]
    checks.check(second["ratio"] < 1 and "no_difference" not in second and second["held_up"][0]["keys"] == [NIC] and
                 second["held_up"][0]["saved_with"] > 1 - second["ratio"], "what of a change is held up", part.stdout)
    text = text_of(program.run(["compare", "job.yaml", "--set", f"{NIC}=100 Gb/s", "--vs", f"{NIC}=800 Gb/s"], folder))
    checks.check("are never full: all that crosses them also crosses 'pcie', which carry 24 GB/s" in text, "and by what", text)
    saves = re.search(r"as well it saves ([0-9.]+) %, not ([0-9.]+) %", text)
    checks.check(saves and float(saves[1]) > float(saves[2]) and
                 abs(float(saves[2]) / 100 - (1 - second["ratio"])) < 0.0006, "and what it saves with it", text)
    machines = program.run(["compare", "job.yaml", "--vs", "cluster=dgx-h100", "--json", "-"], folder)
    checks.check("held_up" not in machines.stdout, "NICs that are sold with slots like theirs", machines.stdout)
    slower = program.run(["compare", "job.yaml", "--vs", f"{NIC}=100 Gb/s", "--json", "-"], folder)
    checks.check("held_up" not in slower.stdout, "nothing holds up links that get slower", slower.stdout)
    (folder / "call.yaml").write_text("cluster: dgx-h100\nnodes: 2\nworkload: {collective: all_reduce, size: 1 GiB}\n")
    both = program.run(["compare", "call.yaml", "--vs", f"{NIC}*=2", "--vs", "cluster.node.nics.host_bandwidth*=2"], folder)
    text = text_of(both)
    checks.check("'nvlink' are the busiest" in text and "with cluster.node.fabric.bandwidth*=2 as well it saves" in text and
                 "change 'cluster.node.nics" not in text, "both moved: the busiest of the others holds them up", text)


CLUSTER = """node:
  device: a100-sxm-80gb
  devices: 8
  interconnect: nvlink
  fabric: {name: nvlink, topology: switch, bandwidth: 300 GB/s, latency: 700 ns}
  nics: {count: 8, bandwidth: %s, host_link: pcie-4, host_latency: 500 ns}
scale_out: {topology: switch, network: infiniband, latency: 600 ns}
"""


def check_own_cluster(program, checks, folder):
    """A NIC of 400 Gb/s, 50 GB/s, behind a slot of PCIe 4, 31.5 GB/s; one of 200 Gb/s, 25 GB/s, goes with such a slot,
    though messages get 24 GB/s of it."""
    for rate, is_capped in (("400 Gb/s", True), ("200 Gb/s", False)):
        (folder / "own.yaml").write_text(CLUSTER % rate)
        run = program.run(["run", "job.yaml", "--set", "cluster=own.yaml"], folder)
        checks.check(("own.yaml:6:" in run.stderr and "faster than what comes to them" in run.stderr) == is_capped,
                     f"a NIC of {rate} in a file of one's own", run.stderr)
    (folder / "own.yaml").write_text(CLUSTER % "400 Gb/s")
    checked = text_of(program.run(["check", "own.yaml"], folder))
    checks.check("'nic.up' of 50 GB/s are faster than what comes to them: all of it crosses 'pcie.up', 24 GB/s" in checked,
                 "check says so of one node", checked)
    shipped = program.run(["check", str(SOURCE / "configs" / "clusters" / "dgx-h100.yaml"), "--json", "-"], folder)
    notes = json.loads(shipped.stdout)["files"][0].get("notes")
    checks.check(notes and "'pcie.up', 48 GB/s" in notes[0] and len(notes) == 1, "and of a shipped one, once", notes)
    more = program.run(["run", "job.yaml", "--set", "cluster.node.nics.count=16"], folder)
    checks.check("--set cluster.node.nics.count=16: warning: links 'nic.up'" in more.stderr and
                 "change it with 'cluster.node.nics.count'" in more.stderr, "more NICs behind as many slots", more.stderr)


# Options, of which the first changes nothing as the second undoes it, and what is said of it.
UNDONE = (
    (("--set", f"{NIC}=100 Gb/s"), ("--set", f"{NIC}=200 Gb/s"), "stands behind it and sets it anew"),
    (("--set", f"{NIC}=100 Gb/s"), ("--set", "cluster=hgx-a800"), "sets all of 'cluster' anew"),
    (("--set", "nodes=4"), ("--nodes", "2"), "--nodes 2 stands behind it and sets it anew"),
)


def check_undone(program, checks, folder):
    for first, last, said in UNDONE:
        both = program.run(["run", "job.yaml", *first, *last, "--print", "iteration_time_s"], folder)
        alone = program.run(["run", "job.yaml", *last, "--print", "iteration_time_s"], folder)
        checks.check(both.stdout == alone.stdout and f"--set {first[1]}: warning:" in both.stderr and said in both.stderr,
                     f"{first} is undone by {last}", both.stderr)
    for first, last in (((f"{NIC}=100 Gb/s"), f"{NIC}*=2"), (f"{NIC}=100 Gb/s", f"{NIC}=x2"),
                        ("cluster=hgx-a800", f"{NIC}=100 Gb/s")):
        kept = program.run(["run", "job.yaml", "--set", first, "--set", last], folder)
        checks.check("anew" not in kept.stderr, f"{last} keeps {first}", kept.stderr)


def check_unused_links(program, checks, folder):
    """Two nodes, but a job that has all of its messages within one."""
    inside = ("--set", "workload.parallel.data=1", "--set", "workload.parallel.pipeline=1")
    for link, is_idle in (("nic.up", True), ("nvlink.up", False)):
        run = program.run(["run", "job.yaml", *inside, "--set", f"perturb.links={{{link}: {{bandwidth: 50 %}}}}"], folder)
        checks.check(run.code == 0 and ("no message of the job crosses links of the kind" in run.stderr) == is_idle,
                     f"slow links {link} of a job within a node", run.stdout + run.stderr)


def check_explained(program, checks, folder):
    explained = program.run(["explain", "call.yaml"], folder)
    checks.check("nic bandwidth x2 saves nothing: all that crosses" in text_of(explained) and
                 "nic and pcie bandwidth x2 save" in text_of(explained), "explain says what holds NICs up", explained.stdout)


def check_uncrossed(program, checks, folder):
    """One node: nothing crosses the NICs. Two nodes with tensor parallelism within: all crosses one of the two."""
    alone = program.run(["compare", "job.yaml", "--nodes", "1", "--set", "workload.parallel.data=1", "--vs",
                         f"{NIC}*=2"], folder)
    checks.check("one node" in text_of(alone), "nothing leaves one node", alone.stdout + alone.stderr)
    memory = program.run(["compare", "job.yaml", "--vs", "cluster.node.device.memory.capacity=90 GB"], folder)
    checks.check("but not alike: cluster.node.device.memory.capacity 74.51 GiB -> 83.82 GiB" in text_of(memory), "figures beside the time", memory.stdout)


def check_overruled(program, checks, folder):
    before = seconds_of(program, folder)
    for key, value, winner in OVERRULED:
        outcome = program.run(["run", "job.yaml", "--set", f"{key}={value}"], folder)
        checks.check(outcome.code == 0 and f"--set {key}={value}: warning: '{key}' changes nothing: {winner}" in outcome.stderr,
                     f"{key} names what holds", outcome.stderr)
        checks.check(seconds_of(program, folder, f"{key}={value}") == before, f"and {key} changes nothing")
        versus = program.run(["compare", "job.yaml", "--vs", f"{key}={value}"], folder)
        checks.check(winner in text_of(versus) and f"--vs {key}" in versus.stderr, f"compare says it of {key}",
                     versus.stdout + versus.stderr)
    fixed = program.run(["run", "job.yaml", "--set", "collectives.library=fixed", "--set", "cluster.nccl.send_buffer=9 MB"], folder)
    checks.check("'collectives.library' is 'fixed'" in fixed.stderr, "constants of a library that is not in use",
                 fixed.stderr)
    for nodes, is_idle in (("99", True), ("2", False)):
        (folder / "tuner.csv").write_text(f"allreduce,0,1,ring,ll,-1,{nodes},-1\n")
        tuned = program.run(["run", "job.yaml", "--set", "collectives.tuner=tuner.csv"], folder)
        checks.check(("no row of the table is for as few as 2 nodes and 16 ranks" in tuned.stderr) == is_idle,
                     f"a table of a tuner for {nodes} nodes", tuned.stderr)
    wins = program.run(["run", "job.yaml", "--set", "cluster.node.fabric.bandwidth=200 GB/s", "--nodes", "2"], folder)
    checks.check("changes nothing" not in wins.stderr, "the command line overrules files without a word", wins.stderr)
    quiet = program.run(["check", *sorted(map(str, (SOURCE / "configs" / "clusters").glob("*.yaml")))], folder)
    checks.check("changes nothing" not in quiet.stdout + quiet.stderr, "what shipped files have beside it is no warning",
                 quiet.stdout + quiet.stderr)


def check_software(program, checks, folder):
    """An edit below `workload.software` edits the software that the experiment takes by default."""
    by_default = seconds_of(program, folder, "workload.software.accumulation=8 B")
    named = seconds_of(program, folder, "workload.software=megatron-2022", "workload.software.accumulation=8 B")
    checks.check(by_default == named != seconds_of(program, folder), "the default software is edited", (by_default, named))
    later = seconds_of(program, folder, "workload.software.accumulation=8 B", "cluster=dgx-h100")
    first = seconds_of(program, folder, "cluster=dgx-h100", "workload.software.accumulation=8 B")
    checks.check(later == first, "that of the cluster in the end, in whatever order", (later, first))


def check_unused(program, checks, folder):
    """A key that tells of something that the job does not have is told of; where the job has it, it is not."""
    def run(settings, job="job.yaml"):
        words = [word for setting in settings for word in ("--set", setting)]
        return program.run(["run", job, *words, "--json", "-"], folder)

    def figures(outcome):
        document = json.loads(outcome.stdout)
        return document["iteration_time_s"], document["memory"]

    for key, value, idle, reason, acting in UNUSED:
        without, outcome = run(idle), run((*idle, f"{key}={value}"))
        checks.check(outcome.code == 0 and f"'{key}' changes nothing:" in outcome.stderr and reason in outcome.stderr,
                     f"{key} says that nothing uses it", outcome.stderr)
        checks.check(figures(outcome) == figures(without), f"and {key} changes nothing")
        unset, used = run(acting), run((*acting, f"{key}={value}"))
        checks.check(figures(used) != figures(unset) and "changes nothing" not in used.stderr,
                     f"{key} acts where it is used", used.stderr)
    (folder / "call.yaml").write_text("cluster: dgx-a100\nnodes: 2\nworkload: {collective: all_reduce, size: 1 MiB}\n")
    for key in ("cluster.node.host_launch", "cluster.node.device.exponentials"):
        outcome = run((f"{key}=2",), "call.yaml")
        checks.check(f"'{key}' changes nothing: the time of training jobs alone follows from it" in outcome.stderr,
                     f"{key} of a collective", outcome.stderr)


# What is compared with what, on which job, and what has to be said of it.
TRUE_REASONS = (
    ((), "placement=packed", "packed is the default"),
    ((), "placement=dense", "each rank has the same device either way: packing changes nothing"),
    (("nodes=1", "workload.parallel.data=1"), "placement=dense", "all ranks lie within one node anyway"),
    ((), "workload.model.window=1000000", "no more than the window"),
    (("workload.model.attention=flash",), "workload.recompute=selective", "flash attention keeps none"),
    (("workload.parallel.data=1", "nodes=1"), "workload.parallel.zero=1", "the job has one replica"),
    (("workload.schedule.kind=zero-bubble", "workload.parallel.pipeline=1", "workload.parallel.data=4"),
     "workload.schedule.kind=zb-h2", "the job has no pipeline"),
    (("workload.parallel.data=1", "nodes=1"), "workload.overlap.bucket=10 MB", "the job has one replica"),
    ((), "workload.parallel.context_kind=all-to-all", "the job has no context parallelism"),
    ((), "cluster.nccl.hop.xgmi.simple=3 us", "the GPUs of no node are joined by xGMI"),
    ((), "cluster.nccl.channels.nvls=7", "the switches of no node add up what is sent"),
    ((), "cluster.nccl.ll_cap.hopper.one_node=50 GB/s", "no device is of architecture hopper"),
    ((), "cluster.nccl.network.efa_v1=70 us", "no nodes are joined by a network of kind 'efa-v1'"),
)


def check_true_reasons(program, checks, folder):
    """A reason is that of the key, not one that is true of every key that changes nothing."""
    for settings, change, reason in TRUE_REASONS:
        words = [word for setting in settings for word in ("--set", setting)]
        outcome = program.run(["compare", "job.yaml", *words, "--vs", change], folder)
        checks.check(outcome.code == 0 and "no difference" in outcome.stdout and reason in text_of(outcome),
                     f"{change} with {settings}: {reason}", outcome.stdout + outcome.stderr)
        checks.check("+0 ps" not in outcome.stdout, f"{change}: no row of operations that are the same", outcome.stdout)
    values = program.run(["compare", "job.yaml", "--vs", "workload.batch.global=16"], folder)
    checks.check("no setting differs: both are the same experiment" in text_of(values), "the value that holds", values.stdout)


def check_even_skew(program, checks, folder):
    """Who gets how much is drawn, but all get the same."""
    job = "cluster: dgx-a100\nnodes: 1\ncollectives: {library: fixed}\nworkload: {collective: all_to_all, size: 1 MiB, skew: %s, seed: 2}\n"
    said = []
    for skew in ("0", "1"):
        (folder / "uneven.yaml").write_text(job % skew)
        said.append(program.run(["run", "uneven.yaml"], folder).stderr)
    reason = "with skew 0 every receiver gets as much"
    checks.check("uneven.yaml:4:" in said[0] and "seed" in said[0] and reason in said[0], "a seed of even sizes", said[0])
    checks.check(reason not in said[1], "a seed of sizes that differ", said[1])
    options = program.run(["collective", "--cluster", "dgx-a100", "--nodes", "1", "--op", "all_to_all", "--library", "fixed",
                           "-b", "1M", "--skew", "0", "--seed", "3"], folder)
    checks.check(options.code == 0 and "--seed" in options.stderr and reason in options.stderr, "as options", options.stderr)


def check_sweep_view(program, checks, folder):
    (folder / "bad.yaml").write_text(SWEEP.format(key="workload.batch.micro", values="1, 2") +
                                     "sort: nope\nwhere: [nopee > 3]\n")
    outcome = program.run(["check", "bad.yaml"], folder)
    printed = outcome.stdout + outcome.stderr
    checks.check(outcome.code == 2 and "unknown figure 'nope' to sort by" in printed and "nopee" in printed,
                 "check refuses figures that no result has", printed)


if __name__ == "__main__":
    sys.exit(run_parts(check_capped, check_capped_in_part, check_partly_capped, check_own_cluster, check_undone,
                       check_explained, check_unused_links, check_uncrossed, check_overruled, check_software,
                       check_unused, check_sweep_view, check_even_skew, check_true_reasons,
                       files={"job.yaml": SMALL_JOB}))
