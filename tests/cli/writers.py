# SPDX-License-Identifier: MIT
"""Every command that writes, with what it reads and each file or folder that it can be told to write: for the tests that
kill it, run two of it at once, and have it write over what it reads."""
import dataclasses
import json
import shutil
from pathlib import Path

from broken_astra import base as astra_sim_files
from broken_astra import flags as astra_sim_flags
from orrery_program import SOURCE, write_files

JOB = """\
cluster: cluster.yaml
nodes: 2
workload:
  model: model.yaml
  parallel: {tensor: 4, pipeline: 2, data: 2}
  batch: {global: 16, micro: 1}
"""
SWEEP = "experiment: job.yaml\nvary: [{key: workload.batch.micro, values: [1, 2]}]\n"
KERNELS = "m,n,k,time_us\n4096,4096,4096,600\n8192,8192,8192,4600\n8192,8192,4096,2300\n"
GOODPUT = ["--mtbf", "50000 h", "--restart", "10 min", "--checkpoint-time", "30 s"]
NOISE = ["--set", "perturb={jitter: {sigma: 1 %}}", "--seeds", "3"]
EXAMPLES = SOURCE / "docs" / "examples"
CONFIGS = SOURCE / "configs"
TRACES = ("rank.0.et", "*")
RUN = ("result.json", "*")
PICTURES = {"--svg": "x.svg", "--vega": "x.vega.json"}


@dataclasses.dataclass
class Writer:
    """A command line without its outputs; `reads` are files in the folder of inputs(), `writes` {option: name}, where
    folders end with '/'. `together` are patterns of the files of its folder that belong together, the one first without
    which nobody takes the others for complete."""

    words: list
    reads: list
    writes: dict
    together: tuple = ("result.json", "*.txt")
    is_study: bool = False  # keeps results in the folder `points`, and goes on with them

    @property
    def name(self):
        return " ".join(word for word in self.words[:2] if not word.startswith("-"))

    def command(self, where=""):
        """All of it, with each output below `where`."""
        outputs = []
        for option, name in self.writes.items():
            before, equals, path = name.rpartition("=")
            outputs += [option, f"{before}{equals}{where}{path}"]
        return [*self.words, *outputs]

    def paths(self):
        return [name.rpartition("=")[2] for name in self.writes.values()]


def writers():
    job, cluster = ["job.yaml", "cluster.yaml", "model.yaml"], ["cluster.yaml"]
    traces = ["t/rank.0.et", "t/rank.5.et", "t/groups.json"]
    answer = {"--json": "x.json", "--out": "o/"}
    page = {"--html": "x.html"}
    return [
        Writer(["run", "job.yaml", "--deterministic"], job, {**answer, **page, "--timeline": "x.trace.json.gz", "--schedule-svg": "x.svg",
                                                             "--launcher-flags": "megatron=x.sh"}, RUN),
        Writer(["run", "traces.yaml", "--deterministic"], ["traces.yaml", *traces], {**answer, **page, "--timeline": "x.trace.json"},
               RUN),
        Writer(["run", "job.yaml", *NOISE], job, answer, is_study=True),
        Writer(["compare", "job.yaml", "--vs", "nodes=4"], job, {**answer, **page, **PICTURES}),
        Writer(["explain", "job.yaml"], job, {**answer, **page, **PICTURES}, is_study=True),
        Writer(["goodput", "job.yaml", *GOODPUT], job, {**answer, **PICTURES}, is_study=True),
        Writer(["search", "job.yaml", "--fix", "tensor=4", "--fix", "micro=1"], job,
               {**answer, **page, **PICTURES, "--write": "best.yaml", "--launcher-flags": "megatron=x.sh"}, is_study=True),
        Writer(["sweep", "sweep.yaml"], ["sweep.yaml", *job], {**answer, **page, **PICTURES}, is_study=True),
        Writer(["collective", "--cluster", "cluster.yaml", "--op", "all_reduce", "-b", "8", "-e", "1M"], cluster,
               {**answer, **page, **PICTURES}),
        Writer(["calibrate", "log.json", "kernels.csv", "--cluster", "cluster.yaml"], ["log.json", "kernels.csv", *cluster],
               {"--json": "x.json", "--out": "calibrated.yaml", "--software-out": "software.yaml", **page}),
        Writer(["validate", "--training-table", "table.yaml", "--jobs", "2"], ["table.yaml"], {**answer, **page}, is_study=True),
        Writer(["check", "job.yaml"], job, answer),
        Writer(["list", "models"], [], answer),
        Writer(["model", "show", "model.yaml", "--parallel", "tensor=8,data=2"], ["model.yaml"],
               {**answer, "--launcher-flags": "megatron=x.sh"}),
        Writer(["cluster", "show", "cluster.yaml"], cluster, answer),
        Writer(["workload", "generate", "job.yaml"], job, {"--out": "traces/", "--json": "x.json"}, together=TRACES),
        Writer(["workload", "import", "layers.txt", "--ranks", "8"], ["layers.txt"], {"--out": "layers/", "--json": "x.json"},
               together=TRACES),
        Writer(["workload", "import", "launch.sh", "--cluster", "h100.yaml", "--nodes", "4"], ["launch.sh", "h100.yaml"],
               {"--out": "imported.yaml", "--json": "x.json"}),
        Writer(["workload", "inspect", "t/rank", "--groups", "t/groups.json"], traces, answer),
        Writer(["workload", "lint", "t/rank", "--groups", "t/groups.json"], traces, answer),
        Writer(astra_sim_flags(), ["system.json", "network.yml", "memory.json", "job.0.et", "job.3.et"],
               {"--json": "x.json", **page, "--timeline": "x.trace.json"}),
        Writer(astra_sim_flags(), ["system.json", "network.yml", "memory.json", "job.0.et"], {"--convert": "converted.yaml"}),
        Writer(["man"], [], {"--out": "man/"}, together=()),
    ]


# Options of --help that write, and have no row above: `validate` writes these in minutes only.
UNTRIED = {("validate", "--plot"), ("validate", "--page"), ("validate", "--errors")}


def inputs(program, folder, batch=16):
    """All that the writers read. Another batch gives other answers of most."""
    write_files(folder, {
        "job.yaml": JOB.replace("global: 16", f"global: {batch}"), "sweep.yaml": SWEEP, "kernels.csv": KERNELS,
        "cluster.yaml": (CONFIGS / "clusters" / "dgx-a100.yaml").read_text(),
        "h100.yaml": (CONFIGS / "clusters" / "dgx-h100.yaml").read_text(),
        "model.yaml": (CONFIGS / "models" / "gpt3-6.7b.yaml").read_text(),
        "table.yaml": (CONFIGS / "validation" / "training" / "bert-2020.yaml").read_text(),
        "layers.txt": (EXAMPLES / "layers.txt").read_text().replace("8192000", f"{8192000 + batch}"),
        "launch.sh": (EXAMPLES / "launch_scripts" / "llama3_8b_fp8.sh").read_text(),
        "traces.yaml": "cluster: cluster.yaml\nnodes: 2\nworkload: {chakra: {prefix: t/rank, groups: t/groups.json}}\n",
        **astra_sim_files()})
    for words in (["workload", "generate", "job.yaml", "-o", "t"],
                  ["collective", "--op", "all_reduce", "--cluster", "cluster.yaml", "-b", "8", "-e", "1G", "--json", "log.json"]):
        made = program.run(words, folder)
        assert made.code == 0, made.stderr


def copy_of(folder, other):
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    return other


def files_below(folder):
    """{relative path: bytes} of all files below a folder."""
    folder = Path(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def without_effort(path, data):
    """A document without what it took, which is another amount each time."""
    if not path.endswith(".json"):
        return data
    document = json.loads(data)
    if isinstance(document, dict) and isinstance(document.get("simulation"), dict):
        for key in ("wall_s", "peak_rss_bytes"):
            document["simulation"].pop(key, None)
    return document
