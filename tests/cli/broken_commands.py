# SPDX-License-Identifier: MIT
"""Broken command lines, and settings given on them."""
from error_row import JOB, Row, make_traces, small_trace

TITLE = "Command line"


def long_trace():
    """An all-reduce of 2^40 bytes."""
    trace = make_traces.Trace()
    trace.collective("sum", [], make_traces.ALL_REDUCE, 1 << 40, "")
    return trace.bytes()


def lone_trace():
    """Computing, and no part in any collective."""
    trace = make_traces.Trace()
    trace.node(make_traces.COMP, "work", [], micros=5, is_cpu_op=False)
    return trace.bytes()


SLOW = {"slow.yaml": JOB.replace("300 GB/s", "1 kB/s"), **{f"slow.{rank}.et": long_trace() for rank in range(2)}}
SLOW["slow.yaml"] = SLOW["slow.yaml"].replace("prefix: rank", "prefix: slow")
# Of a job whose passes repeat: the first ends in time, a later one does not.
SLOW_JOB = """cluster:
  device: a100-sxm-80gb
  dims: [{topology: switch, size: 16, bandwidth: 1 kB/s, latency: 1 us}]
workload:
  model: gpt3-13b
  parallel: {tensor: 8}
  batch: {global: 8, micro: 1}
"""
STUCK = {"stuck.yaml": JOB.replace("prefix: rank", "prefix: stuck"), "stuck.0.et": small_trace(),
         "stuck.1.et": lone_trace()}


def setting(text, *message, code=2):
    return Row(f"`--set {text}`", code, list(message), ["run", "job.yaml", "--set", text])


def shares(what, *message, options=(), files=None, op="all_to_all"):
    cluster = "{device: a100-sxm-80gb, dims: [{topology: switch, size: 3, bandwidth: 1 GB/s, latency: 1 us}]}"
    return Row(what, 2, list(message), ["collective", "--cluster", cluster, "--op", op, *options], files or {})


def collective(what, *message, options=()):
    return Row(what, 2, list(message), ["collective", "--cluster", "dgx-a100", "--op", "all_reduce", *options])


SEARCHED = """cluster: dgx-a100
nodes: 1
workload: {model: gpt3-13b, batch: {global: 8}}
"""


def search(what, *message, options=(), job=SEARCHED, code=2):
    return Row(what, code, list(message), ["search", "plan.yaml", *options], {"plan.yaml": job})


HEADING = "size_bytes,oop_time_us,ip_time_us\n"
LOG = HEADING + "".join(f"{1 << k},{20 + (1 << k) / 2e5:.2f},N/A\n" for k in range(3, 30))


def calibrate(what, *message, options=(), log=LOG, cluster="dgx-a100"):
    return Row(what, 2, list(message), ["calibrate", "log.csv", "--cluster", cluster, *options], {"log.csv": log})


TRAINING = """\
table: t
source: a paper
measured: 8 A100
figure: time
experiment: {cluster: dgx-a100, nodes: 1, workload: {model: gpt-1.7b, parallel: {data: 8}, batch: {global: 64}}}
columns: [workload.batch.micro]
rows:
  - [a, 2, 1.5]
"""
OPERATORS = "gpu,n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,num_tokens,tp,add_us\n" \
            "a100,8,2,1024,4096,True,256,4,12.5\n"


def operators(what, *message, options=(), table=OPERATORS, file="ops.csv"):
    return Row(what, 2, list(message), ["validate", *options, "--compute-table", file], {"ops.csv": table})


ALL_REDUCE = ["--op", "all_reduce", "--launch", "mpi", "--version", "2.30"]
RANKS = """\
#  Rank  0 Group  0 Pid   1000 on node0 device  0 [0x07] NVIDIA A100
#  Rank  1 Group  0 Pid   1001 on node0 device  1 [0x0f] NVIDIA A100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    10.00    0.00    0.00      0    10.00    0.00    0.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0
#
# Collective test concluded: PROGRAM
"""
ROWS = [
    Row("A calibration to nothing", 2, ["log is required"], ["calibrate", "--cluster", "dgx-a100"]),
    Row("A calibration of no cluster", 2, ["--cluster is required"], ["calibrate", "log.csv"]),
    Row("A log that is not there", 2, ["nowhere.log: error: cannot be opened"],
        ["calibrate", "nowhere.log", "--cluster", "dgx-a100"]),
    calibrate("An empty log", "log.csv: error: no table of nccl-tests in it", log=""),
    calibrate("A log without rows", "log.csv: error: no table of nccl-tests in it", log=HEADING),
    calibrate("A log that does not say its operation", "log.csv:1: error: the log does not say which operation this is",
              "--op all_reduce"),
    calibrate("A calibration to an unknown operation", "--op: error: unknown operation 'allreduce'",
              "did you mean 'all_reduce'?", options=["--op", "allreduce"]),
    calibrate("A log of a program that cannot be predicted", "a table of hypercube, which cannot be predicted",
              log=RANKS.replace("PROGRAM", "hypercube_perf"), options=["--gpus-per-node", "2"]),
    calibrate("A log of another operation", "a table of all_gather, not of all_reduce", "leave --op out",
              log=RANKS.replace("PROGRAM", "all_gather_perf"), options=["--op", "all_reduce"]),
    calibrate("A log of another number of ranks", "the log is of 2 ranks, but dgx-a100 has 8 here (1 x 8)",
              "--nodes and --gpus-per-node", log=RANKS.replace("PROGRAM", "all_reduce_perf")),
    calibrate("A log without a time", "none of its 27 rows has an in-place time", "leave --in-place out",
              options=[*ALL_REDUCE, "--in-place"]),
    calibrate("A log too short to tell anything", "log.csv: error: its 1 rows determine no constant", "-b 8 -e 8G -f 2",
              log=HEADING + "8,10,10\n", options=ALL_REDUCE),
    calibrate("A calibration of an unknown cluster", "no 'dgx-a10' among the shipped clusters", cluster="dgx-a10",
              options=ALL_REDUCE),
    calibrate("A calibration to no version", "--version: error: invalid NCCL version 'new'", "write 2.18.5",
              options=["--op", "all_reduce", "--version", "new"]),
    calibrate("A calibration for an unknown launch", "--launch: error", "unknown value 'srun'",
              options=["--op", "all_reduce", "--launch", "srun"]),
    calibrate("A calibration of more GPUs than a node has", "--gpus-per-node: error: 9 ranks on each node, which has 8 devices",
              options=[*ALL_REDUCE, "--gpus-per-node", "9"]),
    calibrate("A calibrated cluster that cannot be written",
              "nowhere/x.yaml: error: cannot be written: No such file or directory",
              options=[*ALL_REDUCE, "--out", "nowhere/x.yaml"]),
    calibrate("A calibrated cluster in place of its log", "log.csv: error: is read and would be written over",
              options=[*ALL_REDUCE, "--out", "log.csv"]),
    *[calibrate(f"An empty value of {name} of `calibrate`", f"error: {name} needs a value", options=[name, ""])
      for name in ("--nodes", "--gpus-per-node", "--op", "--launch", "--version", "--out", "--set")],
    Row("No command", 2, ["A subcommand is required", "--help"], []),
    Row("An unknown command", 2, ["error: unknown command 'fly'", "--help"], ["fly"]),
    Row("Help on an unknown command", 2, ["error: unknown command 'calibrat'", "did you mean 'calibrate'?"], ["calibrat", "--help"]),
    Row("A misspelt command below another", 2, ["error: unknown command 'inspct'", "did you mean 'inspect'?"],
        ["workload", "inspct", "rank"]),
    Row("A misspelt option", 2, ["error: unknown option '--jsn'", "did you mean '--json'?"], ["run", "job.yaml", "--jsn", "-"]),
    Row("An argument too many", 2, ["error: unexpected argument 'b.yaml'"], ["run", "job.yaml", "b.yaml"]),
    Row("A part of the name of a model", 2, ["did you mean one of llama3-8b, llama3-70b, llama3-405b?"],
        ["model", "show", "llama3"]),
    Row("Standard input named twice", 2, ["error: standard input is named twice"], ["compare", "-", "-"]),
    *(Row(f"`--no-fold` of {arguments[0]}", 2, ["error: unknown option '--no-fold'", "hint: --set fold=off"],
          [*arguments, "--no-fold"])
      for arguments in (["compare", "job.yaml", "job.yaml"], ["sweep", "sweep.yaml"],
                        ["collective", "--cluster", "dgx-a100", "--op", "all_reduce"])),
    Row("An unknown option", 2, ["error: unknown option '--fly'", "--help"], ["run", "job.yaml", "--fly"]),
    Row("A result in place of a trace of the job", 2, ["rank.1.et: error: is read and would be written over"],
        ["run", "job.yaml", "--json", "rank.1.et"]),
    Row("A check of what is switched off", 2, ["'fold: off' and --verify-fold contradict each other"],
        ["run", "job.yaml", "--verify-fold", "--set", "fold=off"]),
    Row("No experiment", 2, ["experiment is required"], ["run"]),
    Row("An option without its value", 2, ["--json"], ["run", "job.yaml", "--json"]),
    Row("A list of nothing", 2, ["list needs to know what to list", "one of: algorithms, clusters, devices, dispatch, figures, keys"], ["list"]),
    Row("Two clusters in one option", 2,
        ["--cluster: error: 'dgx-a100,dgx-h100' is not one cluster", "--cluster dgx-a100 --cluster dgx-h100"],
        ["collective", "--cluster", "dgx-a100,dgx-h100", "--op", "all_reduce"]),
    Row("A list of what there is not", 2, ["planets", "algorithms", "devices"], ["list", "planets"]),
    Row("One experiment to compare", 2, ["there is nothing to compare job.yaml with", "name a second experiment"],
        ["compare", "job.yaml"]),
    Row("An unknown kind of dependencies", 2, ["dependencies", "both", "data", "ctrl"],
        ["workload", "lint", "rank", "--dependencies", "none"]),
    Row("A file that is not there", 2, ["cannot read 'nowhere.yaml': there is no such file"], ["run", "nowhere.yaml"]),
    Row("A folder in place of a file", 2, ["cannot read 'folder.yaml': it is a folder"], ["run", "folder.yaml"],
        {"folder.yaml": None}),
    Row("An endless file", 2, ["/dev/zero", "neither a regular file nor a pipe"], ["run", "/dev/zero"]),
    Row("A result that cannot be written", 2,
        ["nowhere/result.json: error: cannot be written: No such file or directory"],
        ["run", "job.yaml", "--json", "nowhere/result.json"]),
    Row("A file in place of the folder for results", 2, ["job.yaml: error: the folder cannot be made",
                                                         "Not a directory"],
        ["run", "job.yaml", "--out", "job.yaml"]),
    Row("The second of two experiments is broken", 2, ["other.yaml:2:1: error: unknown key 'nods'",
                                                       "did you mean 'nodes'?"],
        ["compare", "job.yaml", "other.yaml"],
        {"other.yaml": "cluster: dgx-a100\nnods: 2\nworkload: {chakra: {prefix: rank}}\n"}),
    Row("`check` looks at every file", 2, ["bad.yaml:1:1: error: unknown key 'flavour'", "job.yaml: ok (experiment)"],
        ["check", "bad.yaml", "job.yaml"], {"bad.yaml": "flavour: 3\n" + JOB}, answers=True),
    Row("`check` of what is neither a configuration nor a trace", 2,
        ["notes.txt: error: frame 0 at byte 0", "this is a text file; a trace is a .et file"], ["check", "notes.txt"],
        {"notes.txt": "remember the milk\n"}, answers=True),
    *[Row(f"A table of training jobs {what}", 2, message, ["check", "table.yaml"],
          {"table.yaml": TRAINING.replace(*change)}, answers=True)
      for what, change, message in (
          ("with a row that lacks a value", ("[a, 2, 1.5]", "[a, 1.5]"),
           ["table.yaml:8:5: error: a row of 2 values, but there is 1 column",
            "hint: a label, a value for each column, and the figure: 3 values"]),
          ("whose published figure is none", ("1.5]", "fast]"), ["table.yaml:8:12: error: invalid figure 'fast'"]),
          ("with a column of no key", ("batch.micro", "batch.mikro"),
           ["table.yaml:8:9: error: unknown key 'mikro' in 'workload.batch'"]),
          ("that cannot be split so", ("[a, 2, 1.5]", "[a, 3, 1.5]"), ["error: row 'a': a global batch of 64 does not divide"]))],
    *[Row(f"An empty value of {name}", 2, [f"error: {name} needs a value", "give it one, or leave it out"],
          [*["run", "job.yaml"], name, ""]) for name in ("--json", "--out", "--set")],
    *[collective(f"An empty value of {name} of `collective`", f"error: {name} needs a value",
                 options=[name, ""]) for name in ("--nodes", "--gpus-per-node", "--algo", "--proto", "--launch",
                                                       "--library", "--json", "--set")],
    collective("An empty value of `-b`", "error: --minbytes needs a value", options=["-b", ""]),
    Row("An empty name of an experiment", 2, ["error: experiment needs a value"], ["run", ""]),
    Row("An argument beside `--version`", 2, ["--version: error: stands alone", "leave the other arguments out"],
        ["--version", "x"]),
    Row("An escape sequence on the command line", 2, ["unknown option '--fl\\x1B[31mx'"],
        ["run", "job.yaml", "--fl\033[31mx"]),
    *[Row(f"`cluster show --nodes {nodes}`", 2, ["--nodes: error: nodes: ", problem],
          ["cluster", "show", "dgx-a100", "--nodes", nodes])
      for nodes, problem in (("x", "'x' is not a whole number"), ("0", "0 is out of range; expected 1 to 16777216"),
                             ("-1", "-1 is out of range; expected 1"), ("2.5", "'2.5' is not a whole number"))],
    Row("A drawing of too many links", 2, ["24576 links are too many to draw; at most 20000 are"],
        ["cluster", "show", "tpu-v4-pod", "--nodes", "1", "--dot"]),
    Row("A drawing of too many nodes", 2, ["are too many to draw", "draw fewer nodes: --nodes 2"],
        ["cluster", "show", "dgx-a100", "--nodes", "1000", "--dot"]),
    Row("A list that cannot be written", 2, ["nowhere/list.json: error: cannot be written: No such file or directory"],
        ["list", "devices", "--json", "nowhere/list.json"]),
    Row("A summary that cannot be written", 2, ["nowhere/summary.json: error: cannot be written"],
        ["workload", "inspect", "rank", "--json", "nowhere/summary.json"]),
    Row("A file in place of the folder for pictures", 2,
        ["job.yaml: error: the folder cannot be made", "Not a directory"],
        ["validate", "--plot", "job.yaml"]),
    Row("A folder for pictures below a file", 2, ["job.yaml/plots: error: the folder cannot be made"],
        ["validate", "--plot", "job.yaml/plots"]),
    Row("A picture that cannot be written", 2, [".svg: error: cannot be written: Is a directory"],
        ["validate", "--plot", "plots"], {"plots/a100_1n_sendrecv.svg": None}),
    operators("A table of operators that is not there", "nowhere.csv: error: cannot be opened", file="nowhere.csv"),
    operators("An empty table of operators", "ops.csv: error: no table in it", table=""),
    operators("A table of operators without a column that it needs", "ops.csv:1:1: error: column 'tp' is missing",
              table=OPERATORS.replace(",tp", "").replace(",4,", ",")),
    operators("A table of operators with an unknown column", "ops.csv:1:64: error: column 'add' is not known",
              "did you mean 'add_us'?", table=OPERATORS.replace("add_us", "add")),
    operators("A time of an operator that is none", "ops.csv:2:31: error: add_us 'fast' is not a time in microseconds",
              table=OPERATORS.replace("12.5", "fast")),
    operators("A layer that its ranks cannot share", "ops.csv:2:29: error: 8 heads cannot be shared by 3 ranks",
              table=OPERATORS.replace(",4,", ",3,")),
    operators("Operators of an unknown GPU", "ops.csv:2:1: error: gpu 'a10' is not known", "did you mean 'a100'?",
              table=OPERATORS.replace("a100", "a10")),
    operators("Operators of no GPU", "ops.csv: error: no column 'gpu' says what was measured", "--device",
              table=OPERATORS.replace("gpu,", "").replace("a100,", "")),
    operators("Operators on an unknown device", "--device: error: no 'a1000' among the shipped devices",
              options=["--device", "a1000"]),
    operators("Operators of an unknown software", "--software: error: no 'vllm' among the shipped software",
              options=["--device", "a40", "--software", "vllm"]),
    operators("Collectives of a table of operators", "--compute-table: error: has no collectives", options=["nccl"]),
    Row("A device of no table", 2, ["--device: error: is the device of a table of operators, but there is none"],
        ["validate", "--device", "a40"]),
    Row("Pictures of operators", 2, ["--plot: error: is of the section 'nccl'"],
        ["validate", "compute", "--plot", "plots"]),
    Row("A fit again of traces", 2, ["--cross: error: fits constants again, of which replays of traces have none"],
        ["validate", "traces", "--cross"]),
    Row("The folder of the traces, of operators", 2, ["--traces-from: error: is of the section 'traces'"],
        ["validate", "compute", "--traces-from", "."]),
    operators("Kernels on no device", "ops.csv: error: kernels do not say what device they were measured on",
              "--device", table="dtype,m,n,k,latency_us\nbf16,1,2,3,4\n"),
    operators("Kernels of an unknown format", "ops.csv:2:1: error: dtype 'bf61' is not known", "did you mean 'bf16'?",
              options=["--device", "a40"], table="dtype,m,n,k,latency_us\nbf61,1,2,3,4\n"),
    Row("Details of operators", 2, ["--details: error: is of the section 'training'"],
        ["validate", "compute", "--details"]),
    Row("A table of training jobs that is not there", 2, ["nowhere.yaml"],
        ["validate", "--training-table", "nowhere.yaml"]),
    Row("Operators of a table of training jobs", 2, ["--training-table: error: has training jobs only"],
        ["validate", "compute", "--training-table", "nowhere.yaml"]),
    Row("An empty value of --plot", 2, ["error: --plot needs a value"], ["validate", "--plot", ""]),
    Row("A result in place of a folder", 2, ["folder: error: cannot be written: Is a directory"],
        ["run", "job.yaml", "--json", "folder"], {"folder/file": "x"}),
    Row("An experiment to compare in which simulated time ends", 2,
        ["slow.yaml: error: the simulated time passes 106 days"], ["compare", "job.yaml", "slow.yaml"], SLOW),
    Row("An experiment in which simulated time ends", 2, ["slow.yaml: error: the simulated time passes 106 days"],
        ["run", "slow.yaml"], SLOW),
    Row("A job from a model in which simulated time ends, beside what was warned of", 2,
        ["slow.yaml:5:3: warning: the job has 8 ranks", "slow.yaml: error: the simulated time passes 106 days"],
        ["run", "slow.yaml", "--allow-oom"], {"slow.yaml": SLOW_JOB}),
    Row("An experiment to compare that is stuck", 3, ["error: stuck.yaml: "], ["compare", "job.yaml", "stuck.yaml"],
        STUCK),
    Row("An experiment to compare whose traces are broken", 2,
        ["bad.yaml: error: this experiment cannot be simulated:", "bad.0.et"], ["compare", "job.yaml", "bad.yaml"],
        {"bad.yaml": JOB.replace("prefix: rank", "prefix: bad"), "bad.0.et": b"nonsense"}),
    setting("nodes", "--set nodes: error: expected key.path=value", "for example"),
    setting("=3", "--set =3: error: expected key.path=value"),
    setting("nodes=", "--set nodes=: error: no value after '='"),
    setting("nodes=~", "--set nodes=~", "'nodes' has no value"),
    setting("a..b=1", "--set a..b=1: error", "empty"),
    setting("workload.=1", "--set workload.=1: error", "empty"),
    setting("parallel.tensor=2", "unknown key 'parallel'", "did you mean 'workload.parallel.tensor'?"),
    setting("precision=fp8", "unknown key 'precision'", "did you mean one of 'workload.exchange.precision', 'workload.experts.precision', 'workload.precision'?"),
    Row("A key of nodes of another kind", 2, ["unknown key 'gpu_direct' in 'cluster.node.nics'", "does not go with the other keys"],
        ["collective", "--cluster", "a40-pcie", "--nodes", "2", "--op", "all_reduce", "-b", "1M", "--set",
         "cluster.node.nics.gpu_direct=false"]),
    Row("A part of the path of a key", 2, ["unknown key 'nics' in 'cluster'", "did you mean 'cluster.node.nics.bandwidth'?"],
        ["run", "job.yaml", "--set", "cluster=dgx-a100", "--set", "cluster.nics.bandwidth=25 GB/s"]),
    Row("Another fabric of a node whose links are written out", 2,
        ["'links' and 'fabric' exclude each other",
         "cluster.node.classes.nvlink.bandwidth changes all links of a class: nvlink, pcie, sockets"],
        ["run", "job.yaml", "--set", "cluster=a100-pcie", "--set", "cluster.node.fabric.bandwidth=9 GB/s"]),
    Row("A class in place of the number of a link", 2,
        ["'pcie' is not an element of a list of 15",
         "elements count from 0; 4 to 13 have class: pcie, which `classes.pcie` beside the list changes"],
        ["run", "job.yaml", "--set", "cluster=a100-pcie", "--set", "cluster.node.links.pcie.bandwidth=9 GB/s"]),
    Row("A class of no link", 2, ["cluster.node.classes.pci: no link has this class", "did you mean 'pcie'?"],
        ["run", "job.yaml", "--set", "cluster=a100-pcie", "--set", "cluster.node.classes.pci.bandwidth=9 GB/s"]),
    *[Row(f"A document of orrery to {command[0]}", 2,
          ["table.json: error: is a document 'orrery.comparison/1', not an experiment", "only 'orrery.result/1' holds an experiment"],
          command, {"table.json": '{"schema": "orrery.comparison/1", "runs": []}'}, answers=command[0] == "check")
      for command in (["run", "table.json"], ["check", "table.json"], ["compare", "table.json", "job.yaml"])],
    Row("A sweep to compare", 2, ["sweep.yaml: error: this is a sweep of experiments", "orrery sweep sweep.yaml"],
        ["compare", "job.yaml", "sweep.yaml"], {"sweep.yaml": "experiment: job.yaml\nvary: [{key: nodes, values: [1]}]\n"}),
    Row("The folder of a result", 2, ["cannot read 'out': it is a folder", "did you mean 'out/result.json'?"],
        ["run", "out"], {"out/result.json": "{}"}),
    Row("A file whose name is misspelt", 2, ["cannot read 'jb.yaml': there is no such file", "did you mean 'job.yaml'?"],
        ["run", "jb.yaml"]),
    Row("The only up-link of a leaf switch, dead", 2,
        ["no way is left from node0.gpu0 to node1.gpu0", "single ones with network.routing: ecmp"],
        ["collective", "--cluster", "{node: dgx-a100, scale_out: {topology: fat-tree, network: infiniband, leaf_ports: 8, "
         "latency: 600 ns, trunk_latency: 300 ns}}", "--nodes", "2", "--op", "all_reduce", "-b", "1M", "--set",
         'perturb.links={"leaf0>spine0": {dead: true}}']),
    setting("perturb.links.dim0.upp.bandwidth=50%", "perturb.links.dim0.upp: no link or end of links is called so",
            "did you mean 'dim0.up'?"),
    setting("perturb.links..bandwidth=50%", "an empty key"),
    setting("perturb.nics.node1.nic9=dead", "perturb.nics.node1.nic9: no NIC is called so"),
    Row("A NIC that is not there", 2, ["perturb.nics.node7.nic0: no NIC is called so", "NICs: node0.nic0 to node1.nic7"],
        ["collective", "--cluster", "dgx-a100", "--nodes", "2", "--op", "all_reduce", "-b", "1M", "--set",
         "perturb.nics.node7.nic0=dead"]),
    Row("Seeds of what is not random", 2, ["nothing of the experiment is random", "perturb.jitter.sigma='2 %'"],
        ["run", "job.yaml", "--seeds", "3"]),
    Row("The cost of no perturbation", 2, ["--cost: nothing is perturbed"], ["run", "job.yaml", "--cost"]),
    Row("Goodput of what does not fail", 2, ["the experiment does not say what fails: it has no 'reliability'", "--mtbf '50000 h'"],
        ["goodput", "job.yaml"]),
    *[Row(f"`--{option} {value}`", 2, [f"reliability.{key}: '{value}'{problem}", "s, min, h, d or years"],
          ["goodput", "job.yaml", *[word for name, usual in
                                    {"mtbf": "50000 h", "restart": "1 min", "checkpoint-time": "30 s", option: value}.items()
                                    for word in (f"--{name}={usual}",)]])
      for option, key, value, problem in (
          ("mtbf", "mtbf", "0", " is zero"), ("mtbf", "mtbf", "0 h", " is zero"), ("mtbf", "mtbf", "-3h", " is negative"),
          ("mtbf", "mtbf", "1e30 years", " is too large"), ("mtbf", "mtbf", "40000 years", " is too large"),
          ("mtbf", "mtbf", "0.5 s", " is less than 1 s"), ("mtbf", "mtbf", "5", " has no unit"),
          ("mtbf", "mtbf", "often", " is not a time"), ("restart", "restart", "-1 d", " is negative"),
          ("restart", "restart", "2 weeks", ": unknown unit 'weeks'"), ("interval", "checkpoint.interval", "0 min", " is zero"),
          ("checkpoint-time", "checkpoint.time", "1e30 years", " is too large"))],
    Row("A training that fails more often than it gets on", 3, ["the training does not come to an end", "hint: no interval helps"],
        ["goodput", "job.yaml", "--mtbf", "1 min", "--restart", "1000 years", "--checkpoint-time", "30 s"]),
    Row("The size of a checkpoint of traces", 2, ["how large a checkpoint of a job without a model is, is not known", "reliability.checkpoint.time"],
        ["goodput", "job.yaml", "--mtbf", "50000 h", "--restart", "1 min", "--checkpoint-bandwidth", "1 GB/s"]),
    Row("Memory by a plan that is no degree", 2, ["--parallel tensor: error: 'tensor' is no degree", "tensor=8,pipeline=4"],
        ["model", "show", "llama3-8b", "--parallel", "tensor"]),
    Row("Memory by a plan of unknown degrees", 2, ["--parallel tp=8: error: unknown key 'tp'", "here it is 'tensor'"],
        ["model", "show", "llama3-8b", "--parallel", "tp=8"]),
    Row("Memory by a plan that cannot be", 2, ["3"], ["model", "show", "llama3-8b", "--parallel", "pipeline=3"]),
    setting("nodes*=2", "--set nodes*=2: error: 'nodes' has no value that could be multiplied", "nodes=VALUE"),
    setting("cluster*=2", "--set cluster*=2: error: 'cluster' is a map; only a quantity or a number"),
    setting("workload.chakra.prefix*=2", "'rank' is neither a quantity nor a number"),
    setting("cluster.dims.0.bandwith*=2", "'cluster.dims.0.bandwith' has no value that could be multiplied",
            "did you mean 'bandwidth'?"),
    setting("cluster.dims.0.size*=1.1", "--set cluster.dims.0.size*=1.1: error: ", "'2.2' is not a whole number"),
    *(setting(f"cluster.dims.0.bandwidth*={factor}", f"'{factor}' is not a factor", "a positive number")
      for factor in ("0", "-2", "two", "2 GB/s", "1e30")),
    setting("cluster.dims.0.bandwidth=x0", "'0' is not a factor"),
    *(Row(f"A sweep over `values: {values}`", 2, ["sweep.yaml:2:", *message], ["sweep", "sweep.yaml"],
          {"sweep.yaml": f"experiment: job.yaml\nvary: [{{key: cluster.dims.0.bandwidth, values: {values}}}]\n"})
      for values, message in (
          ("{from: 1 GB/s, to: 8 GB/s, factor: 1}", ["'1' does not lead from one value to a larger one"]),
          ("{from: 1 GB/s, to: 8 us, factor: 2}", ["'1 GB/s' and '8 us' are not two values of one kind"]),
          ("{from: 8 GB/s, to: 1 GB/s, factor: 2}", ["there is no value from '8 GB/s' to '1 GB/s'"]),
          ("{from: 1 GB/s, to: 9 GB/s, factor: 1.001}", ["the range has more than 1000 values"]),
          ("{from: 1 GB/s, to: 8 GB/s}", ["'vary[].values.factor' is missing"]),
          ("[x0]", ["'0' is not a factor"]))),
    Row("`--vs` beside two experiments", 2, ["--vs changes one experiment, and there are 2"],
        ["compare", "job.yaml", "job.yaml", "--vs", "nodes=2"]),
    Row("`--vs` without a value", 2, ["--vs nodes: error: expected key.path=value"],
        ["compare", "job.yaml", "--vs", "nodes"]),
    Row("`--vs` with a key that is unknown", 2, ["--vs nods=2: error: unknown key 'nods'", "did you mean 'nodes'?"],
        ["compare", "job.yaml", "--vs", "nods=2"]),
    Row("`explain` of a sweep", 2, ["this is a sweep of experiments, not one experiment", "orrery sweep sweep.yaml"],
        ["explain", "sweep.yaml"], {"sweep.yaml": "experiment: job.yaml\nvary: [{key: nodes, values: [1]}]\n"}),
    Row("A timeline in the place of the result", 2, ["x.json: error: --json and --timeline would both write this file"],
        ["run", "job.yaml", "--json", "x.json", "--timeline", "./x.json"]),
    Row("A page in the place of a file of the folder", 2,
        ["out/result.json: error: --html and --out would both write this file"],
        ["run", "job.yaml", "--html", "out/result.json", "--out", "out"]),
    Row("A page on standard output", 2, ["--html: error: '-' is no file, and standard output has the answer"],
        ["run", "job.yaml", "--html", "-"]),
    Row("A table of single figures", 2, ["--format: error: is of tables, and --print prints none"],
        ["run", "job.yaml", "--print", "mfu", "--format", "csv"]),
    Row("A table of the schema", 2, ["--format: error: is of tables, and schema prints none"],
        ["list", "schema", "--format", "markdown"]),
    Row("Traces from nowhere", 2, ["traces: error: needs the folder of the recordings", "hint: --traces-from DIR"],
        ["validate", "traces"]),
    Row("Traces from a folder without them", 2, ["t: error: has none of the recordings that are replayed"],
        ["validate", "traces", "--traces-from", "t"], {"t/readme": "nothing"}),
    Row("Traces from a folder that is not there", 2, ["nowhere: error: is not a folder, which --traces-from asks for"],
        ["validate", "traces", "--traces-from", "nowhere"]),
    Row("A timeline of no rank", 2, ["--timeline-ranks: error: 'x' is neither a rank nor a range of ranks"],
        ["run", "job.yaml", "--timeline", "t.json", "--timeline-ranks", "x"]),
    Row("`explain` of nothing", 2, ["cannot read 'nowhere.yaml'"], ["explain", "nowhere.yaml"]),
    Row("`explain` of a job that cannot finish", 3, ["rank"], ["explain", "stuck.yaml"], STUCK),
    Row("No simulations at a time", 2, ["--jobs"], ["explain", "job.yaml", "--jobs", "0"]),
    setting("nods=2", "--set nods=2: error: unknown key 'nods'", "did you mean 'nodes'?"),
    setting("cluster.dims.1.size=4", "'1' is not an element of a list of 1", "elements count from 0"),
    setting("cluster.dims.0.size.x=4", "'x' goes into a value that is a plain value"),
    setting("cluster.dims.0.size=[", "--set cluster.dims.0.size=[", "not valid YAML"),
    setting("cluster.dims.0.size=2 GB", "--set cluster.dims.0.size=2 GB: error", "'2 GB' is not a whole number"),
    setting("cluster.device.peak.bf16=9", "--set cluster.device.peak.bf16=9: error", "'9' has no unit", "312 TFLOP/s"),
    setting("cluster.device.peek.bf16=9 TFLOP/s", "unknown key 'peek' in 'cluster.device'", "did you mean 'peak'?"),
    setting("cluster=dgx-a10", "no 'dgx-a10' among the shipped clusters", "did you mean 'dgx-a100'?"),
    setting("workload.chakra.groups=nowhere.json", "nowhere.json: error: cannot be opened"),
    Row("A collective without a cluster", 2, ["--cluster is required"], ["collective", "--op", "all_reduce"]),
    Row("A collective of no operation", 2, ["--op is required"], ["collective", "--cluster", "dgx-a100"]),
    Row("An unknown operation", 2, ["--op: error: unknown operation 'allreduce'", "did you mean 'all_reduce'?"],
        ["collective", "--cluster", "dgx-a100", "--op", "allreduce"]),
    Row("A size of a barrier", 2, ["-b: error: a barrier carries no data, so it has no sizes", "leave -b out"],
        ["collective", "--cluster", "dgx-a100", "--op", "barrier", "-b", "8"]),
    Row("A collective on a cluster in braces that do not close", 2, ["--cluster:1:16: error: not valid YAML"],
        ["collective", "--cluster", "{node: dgx-a100", "--op", "all_reduce"]),
    Row("A collective on a cluster in braces with a wrong key", 2,
        ["--cluster: error: unknown key 'scale_ot' in 'cluster'", "did you mean 'scale_out'?"],
        ["collective", "--cluster", "{node: dgx-a100, scale_ot: {topology: switch}}", "--op", "all_reduce"]),
    Row("A collective on an unknown cluster", 2,
        ["--cluster: error: no 'dgx-a10' among the shipped clusters", "did you mean 'dgx-a100'?"],
        ["collective", "--cluster", "dgx-a10", "--op", "all_reduce"]),
    Row("A collective on a file that is not there", 2, ["cannot read 'nowhere.yaml'"],
        ["collective", "--cluster", "nowhere.yaml", "--op", "all_reduce"]),
    collective("A size with a unit that is none of bytes", "-b: error: invalid size '8 Kb'", "8, 32K, 16G",
               options=["-b", "8 Kb"]),
    collective("A size of half a byte", "-b: error: invalid size '0.5'", "1.5 GiB", options=["-b", "0.5"]),
    collective("A size of nothing", "-b: error: invalid size '0'; valid sizes are 1 byte", options=["-b", "0"]),
    collective("A last size below the first", "-e: error: the last size, 1M, is less than the first, 2M", "-b 8 -e 16G",
               options=["-b", "2M", "-e", "1M"]),
    collective("A factor that does not grow", "-f: error: '1' does not lead from one size to a larger one", "-f 2",
               options=["-f", "1"]),
    collective("Too many sizes", "-i: error: this makes more than 1000 sizes", "larger steps",
               options=["-b", "8", "-e", "1G", "-i", "8"]),
    collective("A factor and a step", "excludes", options=["-f", "2", "-i", "1M"]),
    collective("Too many nodes", "--nodes: error", "expected 1 to 16777216", options=["--nodes", "20000000"]),
    collective("A number of nodes that is none", "--nodes: error", "'two' is not a whole number",
               options=["--nodes", "two"]),
    collective("More devices than a node has", "--gpus-per-node: error: 9 ranks on each node, which has 8 devices", "8 at most",
               options=["--gpus-per-node", "9"]),
    collective("A collective of one rank", "--cluster: error: 'all_reduce' has only one rank here", "more nodes",
               options=["--gpus-per-node", "1"]),
    collective("An unknown algorithm", "--algo: error: NCCL has no 'rong'", "did you mean 'ring'?",
               options=["--algo", "Rong"]),
    collective("An unknown algorithm of the fixed library", "--algo: error: unknown algorithm 'rong'",
               "did you mean 'ring'?", options=["--algo", "Rong", "--library", "fixed"]),
    collective("More algorithms than dimensions", "--algo: error: 2 algorithms for a cluster of 1 dimension (8 switch)",
               options=["--algo", "ring,direct"]),
    collective("An algorithm for ranks that are no whole part of the cluster", "--gpus-per-node: error",
               "direct cannot be chosen", options=["--nodes", "2", "--gpus-per-node", "4", "--algo", "direct"]),
    Row("An algorithm for sendrecv", 2, ["--algo: error: sendrecv has no algorithm", "leave --algo out"],
        ["collective", "--cluster", "dgx-a100", "--op", "sendrecv", "--algo", "ring"]),
    Row("Steps of sendrecv", 2, ["--steps: error: sendrecv has no steps", "leave --steps out"],
        ["collective", "--cluster", "dgx-a100", "--op", "sendrecv", "--steps"]),
    collective("Steps of NCCL", "--steps: error: NCCL pipelines a collective", "--library fixed", options=["--steps"]),
    collective("Steps of many ranks", "--steps: error: 72 ranks; steps are printed for at most 64", "--nodes",
               options=["--nodes", "9", "--algo", "direct", "--library", "fixed", "--steps"]),
    collective("Steps of several sizes", "--steps: error: the steps of one collective are printed", "-b alone",
               options=["-b", "1M", "-e", "4M", "--algo", "direct", "--steps"]),
    *[collective(f"In-network in {where}", "in-network needs switches that add up", hint,
                 options=["--library", "fixed", "--algo", *options])
      for where, hint, options in (
          ("a node", "switches between nodes add up", ["in-network"]),
          ("nodes before they are joined", "switches between nodes add up", ["in-network,ring", "--nodes", "2"]),
          ("a network that does not add up", "set cluster.scale_out.in_network_reduction: true",
           ["ring,in-network", "--nodes", "2"]))],
    collective("Steps of every algorithm", "--steps: error: the steps of one algorithm are printed", "--algo ring",
               options=["--algo", "each", "--library", "fixed", "--steps"]),
    collective("A picture of steps", "--plot: error: --steps prints messages, and no times to draw", "leave --plot or --steps out",
               options=["--algo", "direct", "--steps", "--plot", "steps.svg"]),
    shares("Shares of an all-reduce", "--shares: error: every rank has as much in all_reduce", "call all_to_all",
           options=["--shares", "[1, 2, 3]"], op="all_reduce"),
    shares("Shares of other ranks", "--shares: error: 2 shares in a row, for 3 ranks", "one for each receiver",
           options=["--shares", "[1, 2]"]),
    shares("Shares of fewer senders", "--shares: error: 2 rows of shares for 3 ranks", "one row for each sender",
           options=["--shares", "[[0, 1, 2], [1, 0, 1]]"]),
    shares("Shares that are no square", "shares.csv:2:1: error: 2 shares in a row, for 3 ranks",
           options=["--shares", "shares.csv"], files={"shares.csv": "0,1,2\n1,0\n1,1,0\n"}),
    shares("A row of shares that is none", "shares.yaml:2:3: error: no list of shares in a row, for 3 ranks",
           options=["--shares", "shares.yaml"], files={"shares.yaml": "- [0, 1, 2]\n- 7\n- [0, 1, 2]\n"}),
    shares("A negative share", "shares.csv:1:3: error: invalid share '-2'", "at least 0",
           options=["--shares", "shares.csv"], files={"shares.csv": "1,-2,3\n"}),
    shares("A share that is no number", "--shares: error: invalid share 'nan'", "at least 0",
           options=["--shares", "[1, nan, 3]"]),
    shares("A share with a unit", "--shares: error: invalid share '2 MiB'", "without a unit",
           options=["--shares", "[1, 2 MiB, 3]"]),
    shares("Shares that are all 0", "--shares: error: no rank has anything for another",
           options=["--shares", "[0, 0, 0]"]),
    shares("Shares of oneself only", "--shares: error: no rank has anything for another",
           options=["--shares", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"]),
    shares("Shares that are no list", "--shares: error: a plain value where shares are expected", ".csv",
           options=["--shares", "even"]),
    shares("Shares in a file that is not there", "nowhere.csv: error: cannot be opened", options=["--shares", "nowhere.csv"]),
    shares("Shares with more digits than can be counted", "--shares: error: the shares have too many digits",
           options=["--shares", "[1000000007000, 0.000001, 3]"]),
    shares("Shares, and a skew", "excludes", options=["--shares", "[1, 2, 3]", "--skew", "1"]),
    shares("A skew that is none", "--skew: error: workload.skew: '-1' is negative", options=["--skew", "-1"]),
    shares("A skew beyond all measure", "--skew: error: invalid exponent '5' of Zipf's law", "from 0",
           options=["--skew", "5"]),
    shares("A seed without a skew", "--seed requires --skew", options=["--seed", "1"]),
    shares("A seed that is none", "--seed: error: workload.seed: '1.5' is not a whole number", options=["--skew", "1", "--seed", "1.5"]),
    shares("Shares by an algorithm that forwards", "--algo: error: 'ring' sends what is for several ranks",
           "direct or pairwise", options=["--skew", "1", "--algo", "ring"]),
    shares("A row of more shares than ranks can have", "shares.csv:1:1: error: 1025 shares in a row", "at most 1024 ranks",
           options=["--shares", "shares.csv"], files={"shares.csv": "1" + 1024 * ",1" + "\n"}),
    shares("More rows of shares than ranks can be", "shares.csv:1025:1: error: more than 1024 rows", "at most 1024 ranks",
           options=["--shares", "shares.csv"], files={"shares.csv": 1025 * "1,1\n"}),
    shares("Steps of shares", "--steps: error: steps are those of equal sizes", options=["--skew", "1", "--steps"]),
    Row("Shares under NCCL", 2, ["--skew: error: NCCL's all-to-all is simulated as one whole", "collectives.library: fixed"],
        ["collective", "--cluster", "dgx-a100", "--op", "all_to_all", "--skew", "1"]),
    Row("Shares of very many ranks", 2, ["--skew: error: 4096 ranks; sizes may differ among at most 1024"],
        ["collective", "--cluster", "dgx-a100", "--nodes", "512", "--op", "all_to_all", "--skew", "1", "--library", "fixed"]),
    Row("A protocol for sendrecv", 2, ["--proto: error: sendrecv has no protocol", "leave --proto out"],
        ["collective", "--cluster", "dgx-a100", "--op", "sendrecv", "--library", "nccl", "--proto", "ll"]),
    collective("An unknown library", "--library: error: collectives.library: unknown value 'ncll'",
               "did you mean 'nccl'?", options=["--library", "ncll"]),
    collective("A protocol of the fixed library", "--proto: error: 'proto' means nothing with 'library: fixed'",
               "library: nccl", options=["--proto", "ll", "--library", "fixed"]),
    collective("A protocol beside an algorithm of the fixed library",
               "--proto: error: 'proto' means nothing with 'library: fixed'", "library: nccl",
               options=["--proto", "ll", "--algo", "direct"]),
    collective("A launch of the fixed library", "--launch: error: 'launch' means nothing with 'library: fixed'",
               "library: nccl", options=["--launch", "mpi", "--library", "fixed"]),
    collective("An algorithm that NCCL has not", "--algo: error: NCCL has no 'direct'",
               options=["--library", "nccl", "--algo", "direct"]),
    collective("A protocol that NCCL has not", "--proto: error: NCCL has no 'll64'",
               options=["--library", "nccl", "--proto", "Simple,LL64"]),
    collective("A launch that NCCL has not", "--launch: error: collectives.launch: unknown value 'threds'",
               "did you mean 'threads'?", options=["--library", "nccl", "--launch", "threds"]),
    collective("An algorithm that NCCL has in another protocol only",
               "--proto: error: NCCL has none of the algorithms of 'algo' in a protocol of 'proto'",
               options=["--library", "nccl", "--algo", "NVLSTree", "--proto", "LL"]),
    collective("One constant of a shipped library, without a unit",
               "--set collectives.constants.base.nvls=3: error: collectives.constants.base.nvls: '3' has no unit",
               "700 ns", options=["--set", "collectives.constants.base.nvls=3"]),
    collective("A constant that the shipped library has not", "unknown key 'hoper'", "did you mean 'hopper'?",
               options=["--set", "collectives.constants.ll_cap.hoper.one_node=3 GB/s"]),
    collective("A constant that makes NCCL take longer than times can hold",
               "error: NCCL would take longer than 104 days", "off by orders of magnitude",
               options=["--set", "collectives.constants.launch.torch=9223372 s", "--launch", "torch"]),
    collective("One document of two clusters", "--json: error: one document holds one cluster", "once for each",
               options=["--cluster", "hgx-a800", "--json", "-"]),
    collective("Another cluster than that of `--cluster`",
               "--set cluster=hgx-a800: error: the cluster is the one that --cluster names",
               "write --cluster hgx-a800", options=["--set", "cluster=hgx-a800"]),
    collective("A workload for a collective", "--set workload.model=gpt: error: the workload is one call",
               "options name the call", options=["--set", "workload.model=gpt"]),
    collective("A placement for a collective", "--set placement=strided: error: one call has no placement",
               "write the experiment and run it", options=["--set", "placement=strided"]),
    Row("Two algorithms for sizes that differ", 2,
        ["--algo: error: an all-to-all of sizes that differ runs over all dimensions", "[direct, direct]"],
        ["collective", "--cluster", "dgx-a100", "--nodes", "2", "--op", "all_to_all", "--skew", "1", "--algo", "direct,pairwise"]),
    collective("A table that cannot be written", "nowhere/table.json: error: cannot be written",
               options=["--json", "nowhere/table.json"]),
    search("A search for plans of traces", "plan.yaml: error: is not one job that trains a model", "workload.model",
           job="cluster: dgx-a100\nnodes: 1\nworkload: {chakra: {prefix: rank}}\n"),
    search("A search that varies no part of a plan", "--vary: error: unknown key 'tensr'",
           "did you mean 'tensor'?", options=["--vary", "tensr=8"]),
    search("A search that varies what follows from the rest", "--fix: error: data parallelism is what the other degrees",
           options=["--fix", "dp=8"]),
    search("A search with a value that there is not", "--vary: error: recompute: invalid value 'some'",
           "none, selective or full", options=["--vary", "recompute=none,some"]),
    search("A search with a key and no value", "--vary: error: 'tensor' has no value", "tensor=8",
           options=["--vary", "tensor"]),
    search("A search that fixes several values", "--fix: error: 'tensor=4,8' has several values", "--vary",
           options=["--fix", "tensor=4,8"]),
    search("A search with a key twice", "--fix: error: tensor is given twice",
           options=["--vary", "tp=4,8", "--fix", "tensor=8"]),
    search("A search in more memory than there is", "--max-memory: error: invalid share '120%' of a device's memory", "90%",
           options=["--max-memory", "120%"]),
    search("A search of plans that all need more memory", "plan.yaml: error: none of", "the least that one needs is",
           options=["--max-memory", "1%"], code=5),
    search("A search of degrees that do not fill the cluster", "plan.yaml: error: no plan fills the 8 devices a100-sxm-80gb with tensor 3",
           options=["--fix", "tensor=3"]),
    search("A search with a rank disturbed that there is not", "perturb.ranks", "has no", options=["--set", "perturb.ranks.30.compute=2"]),
    search("A search of plans that all are infeasible", "plan.yaml: error: none of", "is feasible; most: a global batch of 8",
           options=["--fix", "micro=3"]),
    search("A search of plans with parameter servers", "plan.yaml:3:", "plans with parameter servers are not searched",
           job=SEARCHED.replace("8}}", "7}, parallel: {data: 7, exchange: parameter-server}}")),
    Row("A sweep in shards without a folder", 2, ["--shard: error: is of results that are kept in a folder", "--out DIR"],
        ["sweep", "plan.yaml", "--shard", "1/2"], {"plan.yaml": SEARCHED}),
    Row("A figure that a result has not", 2, ["--print: error: unknown figure 'mfuu'", "did you mean 'mfu'"],
        ["run", "plan.yaml", "--allow-oom", "--print", "mfuu"], {"plan.yaml": SEARCHED}),
    Row("A figure that is many", 2, ["--print: error: 'breakdown' is not one figure but several", "--json"],
        ["run", "plan.yaml", "--allow-oom", "--print", "breakdown"], {"plan.yaml": SEARCHED}),
    Row("Figures beside the document", 2, ["--print: error: prints figures, and --json - the whole document"],
        ["run", "plan.yaml", "--print", "mfu", "--json", "-"], {"plan.yaml": SEARCHED}),
]
