# SPDX-License-Identifier: MIT
"""Broken experiments."""
import gzip

from error_row import JOB, Row
from orrery_program import SMALL_JOB

TITLE = "Configuration files"

SWITCH = "topology: switch, size: 2, bandwidth: 300 GB/s, latency: 700 ns"
DGX = "cluster: dgx-a100\nworkload:\n  chakra: {prefix: rank}\n"
GRAPH = """\
cluster:
  node:
    device: a100-sxm-80gb
    devices: 2
    nics: {count: 1, bandwidth: 25 GB/s}
    links:
      - {from: gpu0, to: plx0, bandwidth: 31.5 GB/s, latency: 250 ns}
      - {from: gpu1, to: plx0, bandwidth: 31.5 GB/s, latency: 250 ns}
      - {from: nic0, to: plx0, bandwidth: 31.5 GB/s, latency: 250 ns}
workload:
  chakra: {prefix: rank}
"""
MATRIX = """\
cluster:
  node:
    device: a100-sxm-80gb
    devices: 2
    topology_matrix: topo.txt
    capacities: {pcie: 31.5 GB/s}
workload:
  chakra: {prefix: rank}
"""
ONE_GPU_NODES = """\
node:
  device: a100-sxm-80gb
  devices: 1
  fabric: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}
"""
TREE = "topology: fat-tree, size: 2, leaf_ports: 1, trunk_latency: 1 us, bandwidth: 25 GB/s, latency: 1 us"
NIC_NINE = """\
cluster:
  node:
    device: a100-sxm-80gb
    devices: 1
    fabric: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}
    nics: {count: 1, bandwidth: 1 MB/s, host_bandwidth: 1 GB/s, host_latency: 1 us}
  nodes: 2
  scale_out: {topology: edge-list, links: [{from: nic0, to: nic9, bandwidth: 1 GB/s, latency: 1 us}]}
workload:
  chakra: {prefix: rank}
"""
THIN_SCALE_OUT = NIC_NINE.replace("edge-list, links: [{from: nic0, to: nic9, bandwidth: 1 GB/s, latency: 1 us}]",
                                  "fat-tree, leaf_ports: 1, trunk_latency: 1 us, oversubscription: 50, latency: 1 us"
                                  ).replace("1 MB/s", "1 kB/s")
TWO_DIMENSIONS = JOB.replace("workload:",
                             "    - {topology: ring, size: 2, bandwidth: 25 GB/s, latency: 2 us}\nworkload:")


def text(what, content, *message):
    """A whole experiment."""
    return Row(what, 2, list(message), files={"job.yaml": content})


def more(lines, *message, job=JOB):
    """The sound job with further lines."""
    return text("`" + lines.strip().replace("\n", "; ") + "`", job + lines + "\n", *message)


def mixed(other, *message, more=""):
    """Another type of nodes beside a DGX A100."""
    cluster = f"nodes: [{{node: dgx-a100, count: 1}}, {other}], scale_out: {{topology: switch, latency: 600 ns}}"
    return text(f"`nodes: [..., {other}]`{' and ' + more.strip() if more else ''}",
                f"cluster: {{{cluster}}}\nworkload: {{chakra: {{prefix: rank}}}}\n{more}", *message)


def dimension(old, new, *message):
    """The sound job with its only dimension changed."""
    changed = SWITCH.replace(old, new)
    assert changed != SWITCH
    return text(f"`{new}`" if new else f"No `{old.strip(', ')}`", JOB.replace(SWITCH, changed), *message)


def graph(what, old, new, *message):
    """A sound node whose links are written out, with something changed."""
    assert old in GRAPH
    return text(what, GRAPH.replace(old, new), *message)


def tree(keys, *message):
    """The sound job with a fat-tree as its only dimension."""
    return text(f"`{keys}` of a fat-tree", JOB.replace(SWITCH, f"{TREE}, {keys}"), *message)


def joined(what, keys, *message, more="", whole=None):
    """The sound job with another dimension, or another cluster and workload."""
    return text(what, (JOB.replace(SWITCH, keys) if whole is None else whole) + more, *message)


def rails(what, node, scale_out, more, *message):
    """A job on four nodes of two GPUs whose rails nothing joins, with something more in places."""
    return Row(what, 2, list(message), files={"job.yaml": f"""\
cluster:
  node: {{device: a100-sxm-80gb, devices: 2, {node or 'interconnect: nvlink, '}fabric: {{topology: switch, bandwidth: 300 GB/s, latency: 1 us, name: nvlink}}, nics: {{count: 2, bandwidth: 200 Gb/s, host_link: pcie-4, host_latency: 300 ns}}}}
  scale_out: {{topology: rail-optimised, leaf_ports: 4, latency: 1 us, spine: false{scale_out}}}
workload: {{model: gpt3-6.7b, batch: {{global: 8}}}}
{'' if more.startswith('nodes') else 'nodes: 4'}
{more}
"""})


def matrix(what, rows, *message):
    """A sound node described by a topology matrix, with another matrix."""
    return Row(what, 2, list(message), files={"job.yaml": MATRIX, "topo.txt": "\n".join(rows) + "\n"})


def alias_bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(lines) + "\n"


def measured(what, table, *message):
    """A device with measured kernels."""
    device = ("{name: d, peak: {bf16: 100 TFLOP/s}, memory: {capacity: 80 GB, bandwidth: 2 TB/s}, "
              "compute: {measured: [kernels.csv]}}")
    files = {"job.yaml": JOB.replace("a100-sxm-80gb", device)}
    if table is not None:
        files["kernels.csv"] = table
    return Row(what, 2, list(message), files=files)


FILES = [
    text("An empty file", "", "job.yaml: error: the file is empty", "a configuration is a map of keys"),
    text("A file of comments", "# nothing\n", "job.yaml: error: the file is empty"),
    text("A list", "- cluster\n", "job.yaml:1:1: error: the file is a list; a map of keys is expected"),
    text("A word", "cluster\n", "job.yaml:1:1: error: the file is a plain value; a map of keys is expected"),
    text("A bracket that is not closed", JOB.replace("ns}", "ns"), "job.yaml:", "not valid YAML"),
    text("A tab for indentation", "cluster:\n\tdevice: a100\n",
         "job.yaml:2:1: error: a tab indents this line; tabs cannot indent YAML", "use spaces"),
    text("A tab below keys", JOB.replace("  chakra: {prefix: rank}", "  chakra:\n\t\tprefix: rank"),
         "job.yaml:7:1: error: a tab indents this line; tabs cannot indent YAML"),
    text("A comment of JavaScript in JSON", '{\n  // the cluster\n  "cluster": "dgx-a100"\n}\n',
         "job.yaml:2:1: error: JSON has no comments, and those of YAML begin with '#'"),
    text("A value with a colon", "name: a: b\n" + JOB, "job.yaml:1:8: error: not valid YAML: illegal map value",
         "quote a value that has ': ' in it"),
    text("A quote that is not closed", "cluster: dgx-a100\nworkload: {chakra: {prefix: rank}}\nname: 'mine\nnodes: 4\n",
         "job.yaml:5:1: error: not valid YAML: a quoted text does not end before here",
         "the text that begins in line 3 has no other quote"),
    text("An alias without its anchor", "cluster: *dgx\n",
         "job.yaml:1:10: error: not valid YAML: the referenced anchor is not defined"),
    text("A key given twice", JOB + "cluster: dgx-a100\n",
         "job.yaml:7:1: error: key 'cluster' is given twice; the first is at line 1"),
    text("A merge key", "a: &a {nodes: 2}\n<<: *a\n", "job.yaml:2:1: error: merge keys ('<<') are not supported"),
    text("A key that is a list", "[a, b]: 3\n" + JOB, "job.yaml:1:1: error: a key must be a plain word"),
    text("A second document", JOB + "---\n" + JOB, "job.yaml:7:1: error: a second YAML document starts here"),
    text("A stray comma", ", cluster: dgx-a100\n", "job.yaml:1:1: error: a second YAML document starts here",
         "a stray character"),
    text("A binary file", gzip.compress(b"cluster", mtime=0), "job.yaml:1:1: error: not a text file: found \\x1F",
         "YAML in UTF-8"),
    text("A file of zero bytes", b"\0" * 1000, "job.yaml:1:1: error: not a text file: found \\x00"),
    text("Latin 1", JOB.encode() + b"name: gr\xf6\xdfer\n", "job.yaml:7:9: error: not a text file: found \\xF6"),
    text("UTF-16", JOB.encode("utf-16"), "'job.yaml': it is a text in UTF-16, expected UTF-8", "iconv -f UTF-16 -t UTF-8"),
    text("Nesting too deep", "a: " + "[" * 100 + "]" * 100 + "\n", "job.yaml:1:", "nested deeper than 64 levels"),
    text("Nesting far too deep", "[" * 100000, "job.yaml:", "nested deeper than 64 levels"),
    text("Aliases that multiply to 10^10 values", alias_bomb(), "job.yaml:", "more than 1000000 values",
         "aliases that repeat one another multiply"),
]

NCCL_LOG = """# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validate: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    24.05    0.00    0.00      0    23.51    0.00    0.00      0
"""
LAUNCH = "#!/bin/bash\ntorchrun pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32\n"
BRIDGE = """\
model: {num_layers: 2, hidden_size: 1024, num_attention_heads: 8, seq_length: 1024, vocab_size: 32000}
train: {micro_batch_size: 1, global_batch_size: 16}
"""
MATRIX_TEXT = "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"
# File, what it is, the hint.
FOREIGN = [
    ("log.txt", NCCL_LOG, "a log of nccl-tests", "orrery calibrate log.txt --cluster NAME"),
    ("times.csv", "size_bytes,oop_time_us,ip_time_us\n8,10,10\n", "a table of measured collectives", "orrery calibrate times.csv"),
    ("kernels.csv", "m,n,k,time_us\n64,64,64,5\n", "a table of measured times", "orrery calibrate kernels.csv"),
    ("points.csv", "point,nodes,iteration_time_s\n1,2,0.5\n", "a table of a sweep's points", "orrery sweep SWEEP.yaml"),
    ("operations.csv", "rank,stands_for,node,name\n0,1,2,x\n", "a table of `orrery run --out`", "orrery run result.json"),
    ("some.csv", "a,b,c\n1,2,3\n", "a table of comma-separated values", "a text in YAML or JSON"),
    ("train.sh", LAUNCH, "a launch script", "orrery workload import train.sh"),
    ("train.py", "import torch\n", "a Python program", "orrery workload import"),
    ("config.json", '{"model_type": "llama", "hidden_size": 4096}', "a model as Hugging Face has it", "workload: {model: config.json}"),
    ("ds.json", '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}', "a configuration of DeepSpeed",
     "orrery workload import ds.json"),
    ("trainer.json", '{"fsdp": "full_shard", "per_device_train_batch_size": 1}', "a launcher's configuration",
     "orrery workload import trainer.json --model NAME"),
    ("topo.txt", MATRIX_TEXT, "the output of `nvidia-smi topo -m`", "topology_matrix: topo.txt"),
    ("system.xml", "<system version=\"1\"></system>\n", "a topology as NCCL dumps it", "orrery cluster import system.xml"),
    ("algo.xml", "<algo name=\"a\"></algo>\n", "an algorithm of MSCCL", "orrery collective --cluster NAME --op OPERATION --algorithm algo.xml"),
    ("job.goal", "num_ranks 2\nrank 0 {\n}\n", "a GOAL schedule", "workload: {goal: job.goal}"),
    ("notes.md", "# Notes\n", "a text for people", "a text in YAML or JSON"),
    ("points.sqlite", b"SQLite format 3\0", "a SQLite database", "orrery sweep --out"),
    ("picture.png", b"\x89PNG\r\n", "a picture", "a text in YAML or JSON"),
    ("job.yaml.gz", gzip.compress(JOB.encode(), mtime=0), "a compressed file that is no profile", "gunzip job.yaml.gz"),
]
FOREIGN_ROWS = [Row(f"{what[0].upper()}{what[1:]} in place of an experiment", 2, [f"{name}: error: this is {what}", ", not an experiment", hint],
                    ["run", name], {name: content}) for name, content, what, hint in FOREIGN] + [
    Row("A log in place of a sweep", 2, ["log.txt: error: this is a log of nccl-tests, not a sweep"], ["sweep", "log.txt"], {"log.txt": NCCL_LOG}),
    Row("A log to check", 2, ["log.txt: error: this is a log of nccl-tests, not a configuration or a trace"], ["check", "log.txt"],
        {"log.txt": NCCL_LOG}, answers=True),
    Row("An experiment in place of a sweep", 2, ["job.yaml: error: this is an experiment, not a sweep", "orrery run job.yaml"],
        ["sweep", "job.yaml"]),
    Row("A log in place of a section of `validate`", 2, ["sections: error: unknown value 'log.txt'", "it is a log of nccl-tests: orrery calibrate"],
        ["validate", "log.txt"], {"log.txt": NCCL_LOG}),
    Row("A result of another version", 2, ["r.json: error: is a result as another version of Orrery writes it, 'orrery.result/9'",
                                           "this one reads 'orrery.result/1'"], ["run", "r.json"], {"r.json": '{"schema": "orrery.result/9"}'}),
    Row("A result in place of a sweep", 2, ["r.json: error: is a document 'orrery.result/1', not a sweep"], ["sweep", "r.json"],
        {"r.json": '{"schema": "orrery.result/1"}'}),
    *[Row(f"{what[0].upper()}{what[1:]} in place of '{key}'", 2, [f"part.yaml:1:1: error: this is {what}, not a file for '{key}'", hint],
          ["run", "job.yaml", "--set", "cluster=part.yaml" if key == "cluster" else "cluster={node: part.yaml}"], {"part.yaml": content})
      for what, key, content, hint in (
          ("an experiment", "cluster", "nodes: 1\n" + JOB, "orrery run part.yaml simulates it"),
          ("software", "cluster.node", "attention: flash\nrates: default\n", "it belongs in 'workload.software'"),
          ("a document 'orrery.result/1'", "cluster", '{"schema": "orrery.result/1", "memory": 1}', "`orrery list clusters`"),
          ("a model", "cluster", "hidden: 64\nlayers: 2\n", "it belongs in 'workload.model'"),
          ("a cluster", "cluster.node", "node: dgx-a100\nscale_out: {topology: fat_tree}\n", "it belongs in 'cluster'"),
          ("ASTRA-sim's network file", "cluster", "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50.0]\nlatency: [500.0]\n",
           "write it as a cluster: orrery cluster import part.yaml > cluster.yaml"))],
    Row("A configuration of Megatron-Bridge in place of an experiment", 2,
        ["bridge.yaml: error: this is a launcher's configuration, not an experiment", "orrery workload import bridge.yaml"],
        ["run", "bridge.yaml"], {"bridge.yaml": BRIDGE}),
    *[Row(f"A file of no known kind in place of '{key}'", 2,
          [f"part.yaml:1:1: error: no key of this file belongs in '{key}': 'remember', 'milk'", hint],
          ["run", "job.yaml", "--set", f"{key}=part.yaml"], {"part.yaml": "remember: the\nmilk: now\n"})
      for key, hint in (("cluster", "`orrery list clusters`"), ("collectives", "known: library"))],
    *[Row(f"{what} in a file for '{key}'", 2, [f"part.yaml:2:1: error: unknown key '{unknown}' in '{key}'", hint],
          ["run", "job.yaml", "--set", f"{key}=part.yaml"], {"part.yaml": content})
      for what, key, unknown, content, hint in (
          ("A key of experiments", "cluster", "collectives", "node: dgx-a100\ncollectives: {library: nccl}\n", "did you mean 'collectives.library'?"),
          ("A slip beside a key of other files", "cluster", "nics", "nodde: dgx-a100\nnics: 3\n", "did you mean 'cluster.node.nics'?"))],
    Row("A file with a misspelt key alone", 2, ["part.yaml:1:1: error: unknown key 'nodde' in 'cluster'", "did you mean 'node'?"],
        ["run", "job.yaml", "--set", "cluster=part.yaml"], {"part.yaml": "nodde: dgx-a100\n"}),
    Row("A key beside `like` that is misspelt alone", 2, ["job.yaml:2:27: error: unknown key 'nodde' in 'cluster'"],
        ["run", "job.yaml"], {"job.yaml": SMALL_JOB.replace("dgx-a100", "{like: dgx-a100, nodde: 3}")}),
    *[Row(f"A {kind} in place of an experiment", 2, [f"part.yaml: error: this is a {kind}, not an experiment", "orrery check part.yaml"],
          ["run", "part.yaml"], {"part.yaml": content})
      for kind, content in (("cluster", "node: dgx-a100\n"), ("device", "peak: {bf16: 1 TFLOP/s}\n"), ("model", "hidden: 64\nlayers: 2\n"))],
]

KEYS = [
    more("flavour: 3", "job.yaml:7:1: error: unknown key 'flavour'"),
    more("netwrok: {model: alpha-beta}", "job.yaml:7:1: error: unknown key 'netwrok'", "did you mean 'network'?"),
    more("network: {modle: alpha-beta}", "job.yaml:7:11: error: unknown key 'modle' in 'network'",
         "did you mean 'model'?"),
    dimension("latency", "latancy", "job.yaml:4:56: error: unknown key 'latancy' in 'cluster.dims[]'",
              "did you mean 'latency'?",
              "job.yaml:4:7: error: 'cluster.dims[].latency' is missing (time)"),
    text("No workload", JOB.split("workload")[0], "job.yaml:1:1: error: 'workload' is missing"),
    text("A node of devices that nothing joins",
         "cluster:\n  node: {device: a100-sxm-80gb, devices: 2}\nworkload: {collective: all_reduce, size: 1 MiB}\n",
         "job.yaml:2:9: error: 'cluster.node.fabric' is missing", "`links` or `topology_matrix` may take its place"),
    text("No cluster", "workload:\n  chakra: {prefix: rank}\n", "job.yaml:1:1: error: 'cluster' is missing"),
    text("A cluster without a value", "cluster:\nworkload: {chakra: {prefix: rank}}\n",
         "job.yaml:1:1: error: 'cluster' has no value"),
    text("No prefix", JOB.replace("{prefix: rank}", "{}"),
         "job.yaml:6:11: error: 'workload.chakra.prefix' is missing (text)"),
    text("Everything wrong at once", "cluster: dgx-a10\nnods: 1\nworkload: {chakra: {prefix: [rank]}}\nnetwork: 7\n",
         "job.yaml:1:10: error: no 'dgx-a10'", "job.yaml:2:1: error: unknown key 'nods'",
         "job.yaml:3:29: error: 'workload.chakra.prefix' is a list; expected: text",
         "job.yaml:4:10: error: 'network' is a plain value; a map of keys is expected"),
    more("collectives: [ring]", "job.yaml:7:14: error: 'collectives' is a list; a map of keys is expected"),
    text("A map in place of the list of dimensions", JOB.replace("- {", "{"),
         "job.yaml:4:5: error: 'cluster.dims' is a map; a list is expected"),
    text("A dimension that is no map", JOB.replace("{" + SWITCH + "}", "switch"),
         "job.yaml:4:7: error: 'cluster.dims[]' is a plain value; a map"),
    text("No dimensions", JOB.split("    -")[0].replace("dims:", "dims: []") + "workload:\n  chakra: {prefix: rank}\n",
         "job.yaml:3:9: error: 'dims' is empty"),
]

VALUES = [
    dimension("300 GB/s", "300", "job.yaml:4:46: error: cluster.dims[].bandwidth: '300' has no unit",
              "write a bandwidth such as '300 GB/s'"),
    dimension("300 GB/s", "300 GBs", "unknown unit 'GBs'", "did you mean 'GB/s'?"),
    dimension("300 GB/s", "300 gbit/s", "unknown unit 'gbit/s'", "did you mean 'Gb/s'?"),
    dimension("300 GB/s", "300 parsec", "unknown unit 'parsec'"),
    dimension("300 GB/s", "300 gb/s", "unknown unit 'gb/s'", "did you mean 'GB/s' or 'Gb/s'? 'b' is a bit, and 'B' a byte"),
    dimension("300 GB/s", "'1,000 GB/s'", "'1,000 GB/s' is not a bandwidth", "write 1000 GB/s, without separators"),
    dimension("300 GB/s", "'2,5 GB/s'", "'2,5 GB/s' is not a bandwidth", "write 2.5 GB/s, with a decimal point"),
    dimension("300 GB/s", "-300 GB/s", "'-300 GB/s' is negative"),
    dimension("300 GB/s", "0 GB/s", "'0 GB/s' is zero; a bandwidth must be positive"),
    dimension("300 GB/s", "99999999999999 TB/s", "'99999999999999 TB/s' is too large", "the limit is"),
    dimension("300 GB/s", "300 B/s", "job.yaml:4:46: error: cluster.dims[].bandwidth: 300 B/s is less than a link can",
              "1 kB/s", "missing its prefix"),
    dimension("300 GB/s", "fast", "'fast' is not a bandwidth"),
    dimension("300 GB/s", "[300 GB/s]",
              "job.yaml:4:46: error: 'cluster.dims[].bandwidth' is a list; expected: bandwidth"),
    dimension("700 ns", "0.1 ps", "'0.1 ps' is finer than the resolution of a time"),
    dimension("700 ns", "7 days", "unknown unit 'days'"),
    dimension("700 ns", "700 nss", "unknown unit 'nss'", "did you mean 'ns'?"),
    dimension("size: 2", "size: 0", "job.yaml:4:32: error: cluster.dims[].size: 0 is out of range; expected 1 to"),
    dimension("size: 2", "size: two", "cluster.dims[].size: 'two' is not a whole number"),
    dimension("size: 2", "size: 2.5", "cluster.dims[].size: '2.5' is not a whole number"),
    dimension("size: 2", "size: 99999999999999999999", "'99999999999999999999' is too large"),
    dimension("switch", "swich", "job.yaml:4:18: error: cluster.dims[].topology: unknown value 'swich'",
              "did you mean 'switch'?"),
    dimension(", latency: 700 ns", "", "'cluster.dims[].latency' is missing (time)",
              "latency between neighbours, from end to end"),
    text("A device of no name", JOB.replace("a100-sxm-80gb", "a100-sxm-81gb"),
         "job.yaml:2:11: error: no 'a100-sxm-81gb' among the shipped devices",
         "did you mean 'a100-sxm-80gb'?"),
    text("A device file that is not there", JOB.replace("a100-sxm-80gb", "./mine.yaml"),
         "job.yaml:2:11: error: cannot read './mine.yaml'"),
    Row("A device file with an error", 2, ["mine.yaml:2:14: error: cluster.device.peak.bf16: '312' has no unit"],
        files={"job.yaml": JOB.replace("a100-sxm-80gb", "./mine.yaml"),
               "mine.yaml": "name: mine\npeak: {bf16: 312}\nmemory: {capacity: 80 GB, bandwidth: 2 TB/s}\n"}),
    more("network: {model: packets}", "job.yaml:7:18: error: network.model: unknown value 'packets'", "alpha-beta"),
    more("network: {granularity: flit}", "network.granularity: unknown value 'flit'", "step"),
    more("network: {routing: ecpm}", "job.yaml:7:20: error: network.routing: unknown value 'ecpm'",
         "did you mean 'ecmp'?"),
    more("network: {routing: deterministic, ecmp_seed: 1}",
         "job.yaml:7:46: error: 'ecmp_seed' means nothing without 'routing: ecmp'", "leave it out"),
    more("network: {routing: ecmp, ecmp_seed: -1}", "job.yaml:7:37: error: network.ecmp_seed: -1 is out of range"),
    more("memory: {remote: {bandwidth: 10 GB/s, shared: world}}", "memory.remote.shared: unknown value 'world'"),
]

CLUSTERS = [
    text("`cluster: dgx-a10`", DGX.replace("a100", "a10"),
         "job.yaml:1:10: error: no 'dgx-a10' among the shipped clusters", "did you mean 'dgx-a100'?"),
    more("nodes: 0", "job.yaml:4:8: error: nodes: 0 is out of range", job=DGX),
    more("nodes: -1", "job.yaml:4:8: error: nodes: -1 is out of range", job=DGX),
    more("nodes: 1000000000", "job.yaml:4:8: error: nodes: 1000000000 is out of range; expected 1 to 16777216",
         job=DGX),
    more("nodes: 4000000", "job.yaml:4:8: error", "4000000 nodes of 8 devices make more than 16777216 devices",
         job=DGX),
    more("nodes: 2", "job.yaml:7:8: error: 'nodes' has no meaning for a cluster of 'dims'",
         "change the size of a dimension"),
    dimension("size: 2", "size: 999999999", "job.yaml:4:32: error"),
    text("`dmis` for `dims`", JOB.replace("dims", "dmis"), "job.yaml:3:3: error: unknown key 'dmis' in 'cluster'",
         "did you mean 'dims'?"),
    text("`node` beside `dims`", JOB.replace("  dims:", "  node: dgx-a100\n  dims:"),
         "job.yaml:3:9: error: 'node' and 'dims' exclude each other"),
    mixed("{node: dgx-h10, count: 1}", "no 'dgx-h10' among the shipped nodes", "did you mean one of dgx-h100"),
    mixed("{node: dgx-h100, count: 0}", "cluster.nodes[].count: 0 is out of range"),
    mixed("{node: dgx-h100}", "'cluster.nodes[].count' is missing"),
    mixed("{node: dgx-2, count: 1}", "nodes of this type do not go with those of the first: devices: 8 and 16"),
    mixed("{node: dgx-1v, count: 1}", "nodes of this type do not go with those of the first: the links of one are "
          "written out"),
    mixed("{node: mi300x-8, count: 1}", "nodes of this type do not go with those of the first"),
    mixed("{node: dgx-h100, count: 1}], node: [dgx-a100", "'node' and a list of 'nodes' exclude each other"),
    mixed("{node: dgx-h100, count: 1}", "'nodes' has no meaning for a cluster that lists its nodes",
          "change their `count`", more="nodes: 2\n"),
    text("More ranks than devices", JOB.replace("size: 2", "size: 1"),
         "job.yaml:2:3: error: the job has 2 ranks, the cluster only 1 device", "raise the sizes of `cluster.dims`"),
    Row("More ranks than devices in the nodes of a cluster file", 2,
        ["job.yaml:1:1: error: the job has 2 ranks, the cluster only 1 device", "write `nodes: 2` or more"],
        files={"one.yaml": ONE_GPU_NODES, "job.yaml": "cluster: one.yaml\nworkload: {chakra: {prefix: rank}}\n"}),
    Row("More ranks than devices in `nodes`", 2,
        ["job.yaml:2:1: error: the job has 2 ranks, the cluster only 1 device", "write `nodes: 2` or more"],
        files={"one.yaml": ONE_GPU_NODES,
               "job.yaml": "cluster: one.yaml\nnodes: 1\nworkload: {chakra: {prefix: rank}}\n"}),
]

FABRICS = [
    graph("A link named by nobody else", "{from: gpu1, to: plx0", "{from: gpu1, to: plx",
          "job.yaml:8:26: error: 'plx' leads nowhere", "did you mean 'plx0'?"),
    graph("A NIC on a PCIe switch that is not there", "{from: nic0, to: plx0", "{from: nic0, to: plx1",
          "job.yaml:9:26: error: 'plx1' leads nowhere", "did you mean 'plx0'?"),
    graph("A NIC that no link names", "      - {from: nic0, to: plx0, bandwidth: 31.5 GB/s, latency: 250 ns}\n", "",
          "job.yaml:7:7: error: no way leads from gpu0 to nic0", "no link names nic0; join it to a switch"),
    graph("More NICs than links name", "count: 1", "count: 2",
          "job.yaml:7:7: error: no way leads from gpu0 to nic1", "or lower `nics.count`"),
    rails("A rail-only network without NVLink", "interconnect: pcie, ", "", "",
          "job.yaml:2:3: error: no way leads from node0.gpu0 to node1.gpu1: nothing joins their rails"),
    rails("A rail-only network with a trunk", "", ", trunk_latency: 1 us", "",
          "error: 'trunk_latency' means nothing with 'spine: false'"),
    rails("A rail-only network of several leaf switches a rail", "", "", "nodes: 5",
          "error: 'spine: false' leaves 2 leaf switches of each rail apart", "with leaf_ports: 5 there is one"),
    rails("A rail-only network without PXN", "", "", "collectives: {pxn: false}",
          "error: without PXN no way leads from rail to rail"),
    rails("A rail-only network with an NCCL that has no PXN", "", "", "collectives: {version: 2.11}",
          "error: without PXN no way leads from rail to rail"),
    Row("PXN without NVLink", 2, ["error: PXN goes over NVLink, and the 'interconnect' of the node is pcie"],
        files={"job.yaml": SMALL_JOB.replace("dgx-a100", "a100-pcie") + "collectives: {pxn: true}\n"}),
    Row("PXN of an NCCL that has none", 2, ["error: NCCL 2.11.0 has no PXN, which came with 2.12"],
        files={"job.yaml": SMALL_JOB + "collectives: {pxn: true, version: 2.11}\n"}),
    graph("A NIC that the node does not have", "from: nic0", "from: nic1",
          "job.yaml:9:16: error: there is no 'nic1'", "the only one is nic0"),
    graph("A device that can only send", "gpu1, to: plx0,", "gpu1, to: plx0, directed: true,",
          "job.yaml:7:7: error: no way leads from gpu0 to gpu1",
          "links with `directed: true` lead the other way only"),
    graph("Two devices that nothing joins", "gpu1, to: plx0, bandwidth: 31.5 GB/s, latency: 250 ns}",
          "gpu1, to: cpu, bandwidth: 31.5 GB/s, latency: 250 ns}\n"
          "      - {from: cpu, to: bridge, bandwidth: 10 GB/s, latency: 1 us}\n"
          "      - {from: bridge, to: gpu1, bandwidth: 10 GB/s, latency: 1 us}",
          "job.yaml:7:7: error: no way leads from gpu0 to gpu1", "nothing joins the parts that they are in"),
    graph("A link of no bandwidth", "to: plx0, bandwidth: 31.5 GB/s", "to: plx0, bandwidth: 0 GB/s",
          "job.yaml:7:43: error: cluster.node.links[].bandwidth: '0 GB/s' is zero; a bandwidth must be positive",
          "write a bandwidth such as '300 GB/s'"),
    graph("A NIC of negative bandwidth", "bandwidth: 25 GB/s", "bandwidth: -25 GB/s",
          "job.yaml:5:33: error: cluster.node.nics.bandwidth: '-25 GB/s' is negative; a bandwidth must not be",
          "write a bandwidth such as '300 GB/s'"),
    tree("oversubscription: 0.5", "job.yaml:4:", "oversubscription: 0.5 is out of range; expected 1 to 1000",
         "twice as much goes into a switch from below"),
    tree("oversubscription: -2", "job.yaml:4:", "oversubscription: '-2' is negative; a ratio must not be"),
    tree("core_oversubscription: 2, core_uplinks: 2",
         "job.yaml:4:", "error: 'core_oversubscription' means nothing without 'pod_leaves'", "leave it out",
         "error: 'core_uplinks' means nothing without 'pod_leaves'"),
    joined("A fat-tree whose up-links have less than a link can",
           TREE.replace("25 GB/s", "100 kB/s") + ", oversubscription: 1000",
           "job.yaml:4:18: error: the links up from a leaf switch would have 100 B/s together, less than a link can"),
    joined("A fat-tree whose up-links, told apart, have less than a link can",
           TREE.replace("25 GB/s", "100 kB/s") + ", uplinks: 200",
           "job.yaml:4:18: error: the links up from a leaf switch would have 500 B/s each, less than a link can",
           more="network: {routing: ecmp}\n"),
    joined("A fat-tree whose up-links make more than can be counted",
           TREE.replace("25 GB/s", "9000000 TB/s").replace("size: 2, leaf_ports: 1", "size: 4, leaf_ports: 2"),
           "job.yaml:4:18: error: the links up from a leaf switch make more bandwidth together than can be counted"),
    joined("A fat-tree whose pods have less than a link can above them",
           TREE.replace("25 GB/s", "100 kB/s") + ", pod_leaves: 1, core_oversubscription: 1000",
           "job.yaml:4:18: error: the links up from a pod would have 100 B/s together"),
    joined("A dragonfly whose global links, told apart, have less than a link can",
           "topology: dragonfly, size: 4, router_ports: 1, group_routers: 2, bandwidth: 1 GB/s, latency: 1 us, "
           "local_bandwidth: 1 GB/s, global_bandwidth: 3 kB/s, global_links: 4, local_latency: 1 us, "
           "global_latency: 1 us",
           "job.yaml:4:18: error: the links between two groups would have 750 B/s each, less than a link can",
           more="network: {routing: deterministic}\n"),
    joined("A link whose efficiency leaves too little", SWITCH.replace("300 GB/s", "50 kB/s, efficiency: 1 %"),
           "job.yaml:2:3: error: the links of class dim0.up would have 500 B/s, 1 % of 50 kB/s, less than a link can",
           "raise the efficiency"),
    joined("A scale-out fabric whose up-links have less than a link can", "", "job.yaml:",
           "error: the links up from a leaf switch would have 20 B/s together", whole=THIN_SCALE_OUT),
    joined("A dimension called latency", SWITCH + ", name: latency",
           "job.yaml:4:79: error: 'latency' is what results call a time that no link bounds", "another name"),
    graph("A link class called latency", "{from: nic0, to: plx0,", "{from: nic0, to: plx0, class: latency,",
          "job.yaml:9:39: error: 'latency' is what results call a time that no link bounds", "another name"),
    joined("A member beyond the size of an edge-list",
           "topology: edge-list, size: 2, links: [{from: gpu0, to: gpu2, bandwidth: 1 GB/s, latency: 1 us}]",
           "job.yaml:4:63: error: there is no 'gpu2'", "valid devices are gpu0 to gpu1"),
    joined("A NIC beyond those that a scale-out fabric joins", "",
           "job.yaml:8:61: error: there is no 'nic9'", "valid NICs are nic0 to nic1", whole=NIC_NINE),
    joined("An edge-list without links", "topology: edge-list, size: 2",
           "job.yaml:4:7: error: 'cluster.dims[].links' is missing", "a list such as [{from: gpu0, to: gpu1"),
    joined("An edge-list of no links", "topology: edge-list, links: []",
           "job.yaml:4:36: error: 'cluster.dims[].links' is empty", "a list such as [{from: gpu0, to: gpu1"),
    graph("A link given in both directions that has both", "{from: nic0, to: plx0",
          "{from: plx0, to: gpu1, bandwidth: 31.5 GB/s, latency: 250 ns}\n      - {from: nic0, to: plx0",
          "job.yaml:9:16: error: a second link from plx0 to gpu1", "parallel links are one with `count`"),
    graph("NICs of devices by name", "bandwidth: 25 GB/s}", "bandwidth: 25 GB/s, of: [nic0, nic0]}",
          "job.yaml:5:46: error: unknown NIC 'nic0'; valid NICs are 0 to 0", "write the number alone: 0 for nic0"),
    joined("A torus without sizes", "topology: torus, size: 16, bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:7: error: 'cluster.dims[].sizes' is missing", "for example sizes: [4, 4, 4]"),
    joined("A torus with half a member", "topology: torus, sizes: [2.5], bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:32: error: invalid number of members '2.5'", "whole numbers from 1, for example"),
    joined("A torus with an empty axis", "topology: torus, sizes: [0, 4], bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:32: error: invalid number of members '0'", "whole numbers from 1, for example"),
    joined("A torus with shares for other axes", "topology: torus, sizes: [4, 4], axis_shares: [1], bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:53: error: 1 shares for 2 axes", "one for each of `sizes`"),
    joined("A torus whose axis has more than the bandwidth", "topology: torus, sizes: [4], axis_shares: [2], bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:50: error: '2' is no share of the bandwidth", "at most 100 %"),
    joined("A torus with a share that is none", "topology: torus, sizes: [4], axis_shares: [half], bandwidth: 25 GB/s, latency: 1 us",
           "job.yaml:4:50: error: 'half' is not a share", "write a ratio such as"),
    tree("uplinks: -1", "job.yaml:4:", "uplinks: -1 is out of range; expected 0 to 65536"),
    text("More links than a fabric may have, told apart",
         JOB.replace(SWITCH, TREE.replace("size: 2", "size: 65536") + ", uplinks: 4096") + "network: {routing: ecmp}\n",
         "job.yaml:4:5: error: the fabric would have 537001984 links", "`network.routing: spray`"),
    matrix("NCCL's dump of the topology in place of a matrix", ['<system version="1">', "</system>"],
           "topo.txt:1:1: error: this is XML, as NCCL_TOPO_DUMP_FILE writes it", "`nvidia-smi topo -m`"),
    matrix("A topology matrix that is none", ["Failed to initialize NVML"],
           "topo.txt:1:1: error: no heading of a topology matrix", "the output of `nvidia-smi topo -m`"),
    matrix("A topology matrix with an unknown entry", ["\tGPU0\tGPU1", "GPU0\tX\tPIY", "GPU1\tPIX\tX"],
           "topo.txt:2:8: error: unknown connection 'PIY'", "PIX, PXB, PHB"),
    matrix("A topology matrix with more NVLinks than there are", ["\tGPU0\tGPU1", "GPU0\tX\tNV4096", "GPU1\tNV4096\tX"],
           "topo.txt:2:8: error: NV4096: 1 to 1024 NVLinks can join two GPUs"),
    matrix("A topology matrix with a row too few", ["\tGPU0\tGPU1", "GPU0\tX\tPIX"],
           "topo.txt:2:1: error: the matrix ends before the row of GPU1"),
    matrix("A topology matrix with an entry too few", ["\tGPU0\tGPU1", "GPU0\tX", "GPU1\tPIX\tX"],
           "topo.txt:2:1: error: 1 entries in the row of GPU0; the heading has 2"),
    matrix("A topology matrix that is not symmetric", ["\tGPU0\tGPU1", "GPU0\tX\tNV4", "GPU1\tNV2\tX"],
           "topo.txt:3:6: error: GPU1 to GPU0 is another way than GPU0 to GPU1 in line 2"),
    matrix("A topology matrix of another node", ["\tGPU0", "GPU0\tX"],
           "job.yaml:5:22: error: the matrix has 1 GPUs, the node 2 devices", "write devices: 1"),
    text("A topology matrix that is not there", MATRIX, "job.yaml:5:22: error: 'topo.txt' cannot be opened",
         "relative to the file that names it"),
]

EFFICIENCIES = [
    dimension("300 GB/s", f"300 GB/s, efficiency: {text}", f"job.yaml:4:68: error: cluster.dims[].efficiency: {said}",
              "write an efficiency such as '80 %'")
    for text, said in (("0 %", "'0 %' is zero; an efficiency must be positive"),
                       ("120 %", "'120 %' is too large; an efficiency is at most 100 %"),
                       ("0.8", "'0.8' has no unit"),
                       ("-5 %", "'-5 %' is negative; an efficiency must not be"),
                       ("good", "'good' is not an efficiency"))
] + [
    dimension("300 GB/s", "300 GB/s, efficiency: 80 GB/s",
              "cluster.dims[].efficiency: '80 GB/s' is not an efficiency: unknown unit 'GB/s'"),
    dimension("300 GB/s", "300 GB/s, eficiency: 80 %", "unknown key 'eficiency' in 'cluster.dims[]'",
              "did you mean 'efficiency'?"),
    graph("A link of no efficiency", "gpu0, to: plx0, bandwidth: 31.5 GB/s",
          "gpu0, to: plx0, bandwidth: 31.5 GB/s, efficiency: 0 %",
          "job.yaml:7:66: error: cluster.node.links[].efficiency: '0 %' is zero; an efficiency must be positive"),
    graph("NICs that give more than they have", "bandwidth: 25 GB/s", "bandwidth: 25 GB/s, efficiency: 101 %",
          "job.yaml:5:54: error: cluster.node.nics.efficiency: '101 %' is too large; an efficiency is at most 100 %"),
    text("An efficiency of PCIe as a bare number, beside a topology matrix",
         MATRIX.replace("pcie: 31.5 GB/s", "pcie: 31.5 GB/s, pcie_efficiency: 0.76"),
         "job.yaml:6:52: error: cluster.node.capacities.pcie_efficiency: '0.76' has no unit"),
]

ALGORITHMS = [
    more("collectives: {algorithms: {all_reduce: rnig}}", "job.yaml:7:40: error: unknown algorithm 'rnig'",
         "did you mean 'ring'?"),
    more("collectives: {algorithms: {all_to_all: halving}}", "job.yaml:7:40: error: unknown algorithm 'halving'",
         "did you mean 'halving-doubling'?"),
    more("collectives: {algorithms: {all_gather: in-network}}",
         "job.yaml:7:40: error: 'in-network' cannot do all_gather"),
    more("collectives: {algorithms: {all_reduce: [ring, in-network]}}",
         "job.yaml:8:40: error: in-network needs switches that add up, which '2 ring' has not", job=TWO_DIMENSIONS),
    more("collectives: {algorithms: {all_reduce: in-network}}\nnetwork: {granularity: step}",
         "job.yaml:8:24: error: 'step' has no meaning where switches add up", "name other algorithms"),
    more("collectives: {algorithms: {all_reduse: ring}}", "job.yaml:7:28: error: unknown key 'all_reduse'",
         "did you mean 'all_reduce'?"),
    more("collectives: {algorithms: {all_reduce: [ring, ring]}}",
         "job.yaml:7:40: error: 2 algorithms for a cluster of 1 dimension (2 switch)",
         "name one per dimension"),
    more("collectives: {algorithms: {all_reduce: [ring]}}",
         "1 algorithm for a cluster of 2 dimensions (2 switch, 2 ring)", job=TWO_DIMENSIONS),
    more("collectives: {algorithms: {all_reduce: {dim0: ring}}}",
         "job.yaml:7:40: error: 'collectives.algorithms.all_reduce' is a map; a list of words"),
    more("collectives: {algorithms: {all_reduce: [[ring]]}}",
         "job.yaml:7:41: error: an element of 'collectives.algorithms.all_reduce' is a list"),
    more("collectives: {algorithms: {all_reduce: []}}",
         "job.yaml:7:40: error: 0 algorithms for a cluster of 1 dimension"),
    more("collectives: {chunks: 0}",
         "job.yaml:7:23: error: collectives.chunks: 0 is out of range; expected 1 to 65536"),
    more("collectives: {queue: random}", "collectives.queue: unknown value 'random'"),
    more("collectives: {library: nckl}", "collectives.library: unknown value 'nckl'", "did you mean 'nccl'?"),
]

def call(keys, *message):
    """A collective as a job, on two nodes."""
    return text(f"`workload: {{{keys}}}`", f"cluster: dgx-a100\nnodes: 2\nworkload: {{{keys}}}\n", *message)


CALLS = [
    call("collective: all_reduse, size: 1 GiB", "workload.collective: unknown value 'all_reduse'", "did you mean 'all_reduce'?"),
    call("collective: all_reduce", "'all_reduce' needs a size", "size: 1 GiB"),
    call("collective: all_reduce, size: 1", "size"),
    call("collective: all_reduce, size: -1 B", "size"),
    call("collective: all_reduce, size: [1 MiB, 2 MiB]", "size"),
    call("collective: barrier, size: 1 MiB", "a barrier carries no data"),
    call("collective: all_reduce, size: 1 GiB, ranks: 1", "'all_reduce' has only one rank here"),
    call("collective: all_reduce, size: 1 GiB, ranks: 17", "the job has 17 ranks, the cluster only 16 devices"),
    call("collective: all_reduce, size: 1 GiB, ranks_per_node: 9", "9 ranks on each node, which has 8 devices", "8 at most"),
    call("collective: all_reduce, size: 1 GiB, ranks: 8, ranks_per_node: 2", "8 ranks, and 2 on each of 2 nodes", "4 at most"),
    call("collective: all_reduce, size: 1 GiB, batch: {global: 8}", "'batch' belongs to a model to train, not to a collective"),
    call("collective: all_reduce, size: 1 GiB, goal: x.goal", "are two jobs"),
    call("collective: all_reduce, size: 1 MiB, skew: 1", "every rank has as much in all_reduce", "call all_to_all"),
    call("collective: all_to_all, size: 1 MiB, skew: 1", "NCCL's all-to-all is simulated as one whole", "collectives.library: fixed"),
    call("collective: all_to_all, size: 1 MiB, skew: 5", "invalid exponent '5' of Zipf's law", "from 0 (all alike) to 4"),
    call("collective: all_to_all, size: 1 MiB, skew: 1, shares: [1, 2]", "'shares' and 'skew' both say who gets how much"),
    call("collective: all_to_all, size: 1 MiB, seed: 1", "'seed' draws who gets how much of 'skew'", "skew: 1"),
    call("collective: all_to_all, size: 1 MiB, shares: [1, 2]", "2 shares in a row, for 16 ranks"),
    call("collective: all_to_all, size: 1 MiB, shares: {a: 1}", "a map where shares are expected", "write a list"),
    call("collective: all_to_all, size: 1 MiB, shares: nowhere.csv", "nowhere.csv: error: cannot be opened"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 2}, skew: 1", "'skew' belongs to 'collective'"),
    text("Sizes that differ in one of two jobs", "cluster: dgx-a100\nnodes: 2\ncollectives: {library: fixed}\njobs:\n"
         "  - {name: a, workload: {collective: all_to_all, size: 1 MiB, ranks: 8, skew: 1}}\n"
         "  - {name: b, workload: {collective: all_to_all, size: 1 MiB, ranks: 8}}\n",
         "job.yaml:5:73: error: sizes that differ are those of an only job"),
    call("size: 1 GiB", "'size' belongs to 'collective'"),
    call("exchange: {tokens: 1073741824, hidden: 1048576, experts: 1048576, experts_per_token: 1048576}",
         "the tokens of all ranks are together more than 2^62 bytes", "write fewer tokens"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 63, experts_per_token: 4}", "63 experts on 16 ranks", "ranks: N"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 17}", "a token goes to 17 of 16 experts"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 2, groups: 3}", "16 experts in 3 groups"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 4, groups: 8, groups_per_token: 1}",
         "4 experts of a token in 1 of 8 groups of 2"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 2}, size: 1 GiB", "'size' belongs to 'collective'"),
    call("exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 2, dispatch: trtllm-one-sided}",
         "connects the ranks of one node only", "dispatch: deepep, or fewer ranks"),
    call("product: {m: 0, n: 1, k: 1}", "workload.product.m: 0 is out of range; expected 1 to"),
    call("product: {m: 1, n: 1}", "k"),
    call("product: {m: 1, n: 1, k: 1}, batch: {global: 1}", "'batch' belongs to a model to train, not to a product"),
    call("product: {m: 1, n: 1, k: 1}, precision: int4", "workload.precision: unknown value 'int4'"),
]

NCCL = [
    *[more(f"collectives: {{{key}: {value}}}", f"job.yaml:7:{17 + len(key)}: error: '{key}' means nothing with "
           "'library: fixed'", "write 'library: nccl', or leave it out")
      for key, value in (("version", "2.18.5"), ("launch", "mpi"), ("algo", "ring"), ("proto", "ll"))],
    *[more(f"collectives: {{library: nccl, {key}: {value}}}", f"job.yaml:7:{32 + len(key)}: error: '{key}' means "
           "nothing with 'library: nccl'", "leave it out, or write 'library: fixed'")
      for key, value in (("algorithms", "{all_reduce: ring}"), ("chunks", "2"), ("queue", "lifo"),
                         ("active_chunks", "2"))],
    more("collectives: {library: nccl, version: newest}", "job.yaml:7:39: error: invalid NCCL version 'newest'",
         "write 2.18.5 or 2.27"),
    more("collectives: {library: nccl, version: 21805}", "invalid NCCL version '21805'"),
    more("collectives: {library: nccl, version: 1.3.4}", "unsupported NCCL 1.3.4; supported releases are 2.x"),
    more("collectives: {library: nccl, launch: slurm}", "collectives.launch: unknown value 'slurm'"),
    more("collectives: {library: nccl, algo: rign}", "job.yaml:7:36: error: NCCL has no 'rign'",
         "did you mean 'ring'?"),
    more("collectives: {library: nccl, algo: []}", "job.yaml:7:36: error: 'algo' is an empty list"),
    more("collectives: {library: nccl, proto: [ll, 128]}", "job.yaml:7:37: error: NCCL has no '128'"),
    more("collectives: {library: nccl, algo: [NVLS, PAT], proto: LL}",
         "NCCL has none of the algorithms of 'algo' in a protocol of 'proto'", "ring and tree run in all"),
    more("collectives: {library: nccl}\nnetwork: {granularity: step}",
         "job.yaml:8:24: error: 'step' has no meaning with 'library: nccl'", "no small set of messages"),
]

MACHINES = [
    Row(f"`--set cluster.{setting}`", 2, [*message],
        ["run", "dgx.yaml", "--set", "cluster." + setting], {"dgx.yaml": DGX})
    for setting, *message in (
        ("node.interconnect=nvlnk", "cluster.node.interconnect: unknown value 'nvlnk'", "did you mean 'nvlink'?"),
        ("node.multicast=maybe", "'maybe' is neither true nor false"),
        ("node={device: a40, devices: 2, interconnect: pcie, multicast: true, "
         "fabric: {topology: switch, bandwidth: 1 GB/s, latency: 1 us}}",
         "'multicast' is of NVLink switches, but 'interconnect' is pcie", "write 'interconnect: nvlink'"),
        ("node={device: a40, devices: 2, interconnect: nvlink, multicast: true, "
         "fabric: {topology: ring, bandwidth: 1 GB/s, latency: 1 us}}",
         "'multicast' is of NVLink switches, but the fabric is a ring", "leave it out"),
        ("node.device.architecture=amper", "unknown value 'amper'", "did you mean 'ampere'?"),
        ("scale_out.network=infinband", "no 'infinband' among the shipped networks", "did you mean 'infiniband'?"),
        ("scale_out.network={kind: roce, stack: {latency: 8 us}}", "'cluster.scale_out.network.stack.thread' is missing"),
        ("scale_out.network={efficiency: 97 %}", "'cluster.scale_out.network.kind' is missing"),
        ("scale_out.network={kind: ethernet, stack: {thread: 2 GB/s, threads: 0, latency: 8 us}}",
         "cluster.scale_out.network.stack.threads: 0 is out of range"),
        ("node.fabric.link=nvlink-33", "no 'nvlink-33' among the shipped links", "did you mean 'nvlink-3'?"),
        ("node.fabric.link.efficiency=0.8", "cluster.node.fabric.link.efficiency: '0.8' has no unit"),
        ("scale_out.in_network_reduction=1", "'1' is neither true nor false"))
]

PLACEMENTS = [
    more("placement: anywhere", "job.yaml:7:12: error: not a placement", "random(7), devices(0,1,4,5) or a list of device numbers"),
    more("placement: random(x)", "job.yaml:7:12: error: not a placement"),
    more("placement: {0: 1}", "job.yaml:7:12: error: not a placement"),
    more("placement: [0, 0]", "job.yaml:7:12: error: placement puts two ranks on device 0"),
    more("placement: [0, 7]",
         "job.yaml:7:12: error: placement puts rank 1 on device 7; the cluster has devices 0 to 1"),
    more("placement: [0, -1]", "job.yaml:7:12: error: not a placement"),
    more("placement: [1]", "job.yaml:7:12: error: placement lists 1 device, the job has 2 ranks"),
    more("placement: [1, [0]]", "job.yaml:7:12: error: not a placement"),
]

PERTURBATIONS = [
    more("perturb: {ranks: {2: {compute: 1.3}}}", "job.yaml:7:19: error: perturb.ranks.2: the job has no such rank",
         "its ranks are 0 to 1"),
    more("perturb: {ranks: {a100: {compute: 1.3}}}", "job.yaml:7:19: error: perturb.ranks.a100: not a rank"),
    more("perturb: {ranks: {1: {}, 01: {}}}", "perturb.ranks.01: rank 1 is given twice"),
    more("perturb: {ranks: {1: 1.3}}", "'perturb.ranks.1' is a plain value; a map of keys is expected"),
    more("perturb: {ranks: {1-0: {}}}", "job.yaml:7:19: error: perturb.ranks.1-0: the range goes backwards: its first rank, 1, is above its last, 0", "write 0-1"),
    more("perturb: {ranks: {x: {}}}", "job.yaml:7:19: error: perturb.ranks.x: not a rank", "40-47"),
    more("perturb: {links: {dim0.up.bandwith: 50 %}}", "unknown key 'bandwith' in 'perturb.links.dim0.up'", "did you mean 'bandwidth'?"),
    more("perturb: {ranks: {0-9: {}}}", "perturb.ranks.0-9: more ranks than the cluster has devices, 2"),
    more("perturb: {ranks: {0-1: {}, 1: {}}}", "perturb.ranks.1: rank 1 is given twice"),
    more("perturb: {ranks: {1: {slower: 10 %, compute: 1.1}}}", "perturb.ranks.1: 'compute' and 'slower' say the same"),
    more("perturb: {ranks: {1: {slower: 1.3}}}", "job.yaml:7:31: error: perturb.ranks.1.slower: 1.3 is no share", "write 30 %"),
    more("perturb: {ranks: {1: {slower: -3 %}}}", "job.yaml:7:31: error: perturb.ranks.1.slower"),
    more("perturb: {nodes: {1: {slower: 10 %}}}", "job.yaml:7:19: error: perturb.nodes.1: the cluster has no such node",
         "its only node is 0"),
    more("perturb: {nodes: {a: {slower: 10 %}}}", "perturb.nodes.a: not a node"),
    more("perturb: {nics: {node0.nic0: dead}}", "job.yaml:7:18: error: perturb.nics.node0.nic0: no NIC is called so",
         "this cluster has no NICs"),
    more("perturb: {links: {dim0.up: deaf}}", "'perturb.links.dim0.up' is 'deaf'; a map of keys or a word is expected", "words: dead"),
    more("reliability: {mtbf: 50000, restart: 1 min, checkpoint: {time: 30 s}}",
         "job.yaml:7:21: error: reliability.mtbf: '50000' has no unit", "50000 h"),
    more("reliability: {restart: 1 min, checkpoint: {time: 30 s}}", "'reliability.mtbf' is missing"),
    more("reliability: {mtbf: 5 years, checkpoint: {time: 30 s}}", "'reliability.restart' is missing"),
    more("reliability: {mtbf: 5 years, restart: 1 min}", "'reliability.checkpoint' does not say how long writing takes"),
    more("reliability: {mtbf: 5 years, restart: 1 min, checkpoint: {time: 30 s, bandwidth: 1 GB/s}}",
         "reliability.checkpoint: 'time' and 'bandwidth' say the same"),
    more("reliability: {mtbf: 5 years, restart: 1 min, checkpoint: {time: 30 s, interval: 0 s}}",
         "reliability.checkpoint.interval: '0 s' is zero", "30 min"),
    more("reliability: {mtbf: 5 years, per: rack, restart: 1 min, checkpoint: {time: 30 s}}",
         "reliability.per: unknown value 'rack'", "device, node, job"),
    more("perturb: {ranks: {1: {compute: 0}}}", "job.yaml:7:32: error: perturb.ranks.1.compute: 0 is out of range",
         "above 0"),
    more("perturb: {ranks: {1: {compute: -2}}}", "job.yaml:7:32: error: perturb.ranks.1.compute"),
    more("perturb: {ranks: {1: {compute: 1e30}}}", "job.yaml:7:32: error: perturb.ranks.1.compute"),
    more("perturb: {ranks: {1: {start: 1}}}", "job.yaml:7:30: error: perturb.ranks.1.start"),
    more("perturb: {ranks: {1: {strat: 1 ms}}}", "unknown key 'strat' in 'perturb.ranks.1'", "did you mean 'start'?"),
    more("perturb: {jitter: {seed: 3}}", "'perturb.jitter.sigma' is missing"),
    more("perturb: {jitter: {sigma: 120 %}}", "job.yaml:7:27: error: perturb.jitter.sigma: 1.2 is out of range",
         "0 % to 100 %"),
    more("perturb: {jitter: {sigma: -1 %}}", "job.yaml:7:27: error: perturb.jitter.sigma"),
    more("perturb: {jitter: {sigma: 2 %, per: gpu}}", "perturb.jitter.per: unknown value 'gpu'", "node, rank, operation"),
    more("perturb: {jitter: {sigma: 2 %, seed: -1}}", "perturb.jitter.seed: -1 is out of range"),
    more("perturb: {links: {dim0.upp: {bandwidth: 50 %}}}",
         "job.yaml:7:19: error: perturb.links.dim0.upp: no link or end of links is called so", "did you mean 'dim0.up'?"),
    more("perturb: {links: {'dim0.up[2]': {bandwidth: 50 %}}}", "perturb.links.dim0.up[2]: no link",
         "the links of this class are dim0.up[0] to dim0.up[1]"),
    more("perturb: {links: {dim0: {up: {bandwidth: 50%, latency: 1 us}}}}",
         "job.yaml:7:19: error: perturb.links.dim0: no link or end of links is called so",
         "hint: a name with dots is one key: links: {dim0.up: {bandwidth: 50%, latency: 1 us}}"),
    more("perturb: {links: {infiniband: {bandwidth: 50 %}}}", "perturb.links.infiniband: no link",
         "classes of links: dim0.up, dim0.down"),
    more("perturb: {links: {dim0.up: {bandwidth: 0 %}}}", "perturb.links.dim0.up.bandwidth"),
    more("perturb: {links: {dim0.up: {bandwidth: 150 %}}}", "perturb.links.dim0.up.bandwidth"),
    more("perturb: {links: {dim0.up: {at: [{time: 2 ms, bandwidth: 50 %}, {time: 1 ms, bandwidth: 100 %}]}}}",
         "job.yaml:7:72: error: perturb.links.dim0.up.at[].time: 1 ms is not after the change before it"),
    more("perturb: {links: {dim0.up: {at: [{time: 0 ms, bandwidth: 50 %}]}}}", "is not after the start",
         "what holds from the start on is `bandwidth` beside `at`"),
    more("perturb: {links: {dim0.up: {at: [{time: 1 ms}]}}}", "'perturb.links.dim0.up.at[].bandwidth' is missing"),
    more("perturb: {links: {dim0.up: {traffic: {most: 100 %, period: 1 ms}}}}", "most: 100 % leaves nothing of the link"),
    more("perturb: {links: {dim0.up: {traffic: {least: 50 %, most: 40 %, period: 1 ms}}}}", "is more than `most`"),
    more("perturb: {links: {dim0.up: {traffic: {most: 40 %, period: 0 ms}}}}", "period: 0 ps is too short; at least 1 us is expected"),
    more("perturb: {links: {dim0.up: {traffic: {most: 40 %, period: 1 ps}}}}", "period: 1 ps is too short; at least 1 us is expected"),
    more("perturb: {links: {dim0.up: {at: [{time: 1 ms, bandwidth: 50 %}]}}}\nnetwork: {model: alpha-beta}",
         "perturb.links.dim0.up: links change over time in the flow network only, and this is alpha-beta"),
    more("perturb: {links: {dim0.up: {dead: true, bandwidth: 50 %}}}", "'bandwidth' means nothing for dead links"),
    more("perturb: {link: {dim0.up: {bandwidth: 50 %}}}", "unknown key 'link' in 'perturb'", "did you mean 'links'?"),
    more("perturb: {ranks: {1: {start: 3000 h}}}", "job.yaml:7:30: error: perturb.ranks.1.start", "too large"),
]

MEASURED = [
    measured("Measured kernels that are not there", None, "kernels.csv: error: cannot be opened"),
    measured("Measured kernels without a column", "dtype,m,n,latency_us\nbfloat16,1,1,1\n",
             "kernels.csv:1:1: error: the columns are those of no kind of kernels", "dtype,m,n,k,latency_us"),
    measured("Measured kernels of no rows", "dtype,m,n,k,latency_us\n", "kernels.csv:1: error: no rows"),
    measured("A measured kernel of no time", "dtype,m,n,k,latency_us\nbfloat16,128,128,128,0\n",
             "kernels.csv:2:22: error: latency_us '0' is not a time"),
    measured("Measured kernels of two columns of one name", "dtype,m,n,k,latency_us,latency_us\nbfloat16,128,128,128,5,6\n",
             "kernels.csv:1: error: two columns are called 'latency_us'"),
    measured("Measured kernels of a column that is a slip", "dtype,m,n,k,layot,latency_us\nbfloat16,128,128,128,NN,5\n",
             "kernels.csv:1: error: unknown column 'layot'", "did you mean 'layout'?"),
    measured("A measured kernel faster than the device", "dtype,m,n,k,latency_us\nbfloat16,4096,4096,4096,0.5\n",
             "kernels.csv:2: error: 4096x4096x4096 in 500.0 ns would be 2.749e+05 TFLOP/s; the peak of d is 100"),
    measured("A measured kernel of no stage", "dtype,m,n,k,layout,latency_us\nbfloat16,128,128,128,TT,5\n",
             "kernels.csv:2:22: error: layout 'TT' is not known", "one of TN, NN, NT"),
    measured("Measured experts in place of the model's",
             "dtype,kernel,tokens,hidden,inter,topk,experts,tp,ep,distribution,latency_us\n"
             "bfloat16,moe,256,2048,512,8,256,1,4,balanced,37.9\n",
             "kernels.csv:2: error: measured times of fused experts cannot replace the model's", "name files of GEMMs and of attention"),
]

ROWS = (FILES + FOREIGN_ROWS + KEYS + VALUES + CLUSTERS + MACHINES + FABRICS + EFFICIENCIES + ALGORITHMS + CALLS + NCCL + PLACEMENTS +
        PERTURBATIONS + MEASURED)
