# SPDX-License-Identifier: MIT
"""Pages of the commands other than `run`, as tests make them in a folder that has SMALL_JOB as job.yaml."""
from orrery_program import STUDIES


def write_log(program, folder):
    """log.json, which `calibrate` reads."""
    program.run(["collective", "--cluster", "dgx-a100", "--library", "nccl", "--op", "all_reduce", "-b", "8", "-e", "8G",
                 "--set", "cluster.nccl.base.ring.ll=9 us", "--json", "log.json"], folder)


# By the page: its command, its headings, and what shows that its numbers are the document's.
PAGES = {
    "compare.html": (
        ["compare", STUDIES / "gpt3-175b-128-a100.yaml", STUDIES / "gpt3-175b-128-a800.yaml"],
        ["Beside the time", "Where the time goes", "Memory of the fullest rank", "What makes the difference",
         "Settings that differ", "Operations of the critical path"],
        lambda data: [run["time_s"] for run in data["runs"]]),
    "explain.html": (["explain", "job.yaml"], ["Resources", "Other plans"], lambda data: [data["iteration_time_s"]]),
    "sweep.html": (["sweep", STUDIES / "smoke-sweep.yaml"], ["Iteration time over micro", "Iteration time over memory of the fullest device", "Points"],
                   lambda data: [min(point["iteration_time_s"] for point in data["points"])]),
    "search.html": (
        ["search", STUDIES / "llama2-13b-four-nodes.yaml", "--fix", "sequence=true", "--vary", "zero=1", "--vary", "context=1"],
        ["Iteration time over memory of the fullest device", "The best plans", "Infeasible plans"],
        lambda data: [data["best"][0]["iteration_time_s"]]),
    "collective.html": (
        ["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "1K", "-e", "1G", "-f", "4"],
        ["Time and bus bandwidth over message size", "Numbers"], lambda data: [data["rows"][-1]["time_us"] * 1e-6]),
    "calibrate.html": (
        ["calibrate", "log.json", "--cluster", "dgx-a100", "--launch", "mpi", "--version", "2.30", "--out", "calibrated.yaml"],
        ["Collectives"], lambda data: [data["rows"][-1]["after_s"]]),
    "validate.html": (["validate", "nccl", "experts"], ["Collectives", "Exchanges of experts"], lambda data: []),
}
