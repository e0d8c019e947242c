# SPDX-License-Identifier: MIT
"""Broken workloads of other formats."""
import gzip

from error_row import Row

TITLE = "Imports"

ASTRA = "DATA\n1\nconv -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 4096 10\n"
SIMAI = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 "
         "checkpoint_initiates: 0\n1\nembedding_layer -1 100 ALLREDUCE 4096 100 ALLREDUCE 4096 100 ALLREDUCE 4096 10\n")
GOAL = "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 7\n}\nrank 1 {\nl1: recv 8b from 0 tag 7\n}\n"
PROFILE = ('{"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": [{"ph": "X", "cat": "kernel",'
           ' "name": "gemm", "ts": 100.5, "dur": 20, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, "correlation": 1}}]}')


def bring(what, files, *message, options=(), names=None, code=2):
    return Row(what, code, list(message), ["workload", "import", *(names or files), "-o", "out", *options], files)


def astra(what, old, new, *message, options=("--ranks", "4")):
    assert old in ASTRA
    return bring(what, {"job.txt": ASTRA.replace(old, new)}, *message, options=options)


def goal(what, old, new, *message):
    assert old in GOAL
    return bring(what, {"job.goal": GOAL.replace(old, new)}, *message)


FILES = [
    bring("An import of a file that is not there", {}, "nowhere.txt: error: cannot be read: No such file or directory",
          names=["nowhere.txt"]),
    bring("An import of a folder", {"folder": None}, "folder: error: is a folder", "name the files in it"),
    bring("An import of an empty file", {"job.txt": ""}, "job.txt: error: is empty"),
    bring("An import of a text of no format", {"job.txt": "remember the milk\n"},
          "job.txt: error: not a workload of a known format", "give --format, one of astra-text, simai, goal, kineto"),
    bring("An import of bytes", {"job.bin": bytes(range(256))}, "job.bin: error: not a workload of a known format"),
    bring("A text as a profile", {"job.txt": "remember the milk\n"}, "job.txt", "error: not JSON", options=["--format", "kineto"]),
    bring("An unknown format", {"job.txt": ASTRA}, "--format: error: unknown value 'chakra'", options=["--format", "chakra"]),
    bring("An import into a file", {"job.goal": GOAL, "out": "x"}, "out: error: ", names=["job.goal"]),
    bring("An import over its own file", {"out/groups.json": GOAL}, "out/groups.json: error: is read and would be written over",
          "write to another place", names=["out/groups.json"]),
    bring("Two files of a format with one", {"a.goal": GOAL, "b.goal": GOAL},
          "a.goal: error: more than one file has no meaning for goal", "leave it out"),
    Row("An import without a folder", 2, ["--out is required"], ["workload", "import", "job.goal"], {"job.goal": GOAL}),
    Row("An import of nothing", 2, ["files is required"], ["workload", "import", "-o", "out"]),
    *[bring(f"`{option[0]}` of GOAL", {"job.goal": GOAL}, f"job.goal: error: {option[0]} has no meaning for goal",
            options=option)
      for option in (["--ranks", "2"], ["--model-parallel", "2"], ["--iterations", "2"], ["--no-pipeline"],
                     ["--replicate"])],
    bring("`--ranks 0`", {"job.txt": ASTRA}, "--ranks: Value 0 not in range", options=["--ranks", "0"]),
]

TEXTS = [
    astra("A text workload without its number of ranks", "DATA", "DATA", "job.txt", "--ranks", options=()),
    astra("A text workload with too few layers", "\n1\n", "\n2\n", "job.txt", "error: "),
    astra("A text workload with an unknown parallelism", "DATA\n", "DATAA\n", "job.txt:1", "error: ",
          "did you mean 'DATA'?"),
    astra("A text workload with half a layer", " 4096 10\n", "\n", "job.txt:3", "error: "),
    astra("A text workload with an unknown collective", "ALLREDUCE", "ALLREDUSE", "job.txt:3", "error: "),
    astra("A text workload with a time that is none", " 100 NONE", " soon NONE", "job.txt:3", "error: "),
    astra("A text workload with a negative size", "4096", "-4096", "job.txt:3", "error: "),
    astra("Hybrid parallelism without its groups", "DATA\n", "HYBRID_DATA_MODEL\n", "job.txt", "--model-parallel"),
    bring("SimAI's groups that do not divide its ranks", {"job.txt": SIMAI.replace("all_gpus: 4", "all_gpus: 3")},
          "job.txt:1", "error: "),
    bring("SimAI's size beyond counting", {"job.txt": SIMAI.replace("ALLREDUCE 4096", "ALLGATHER 9223372036854775807", 1)},
          "job.txt:3:", "error: a message of 9223372036854775807 bytes, more than 1152921504606846976"),
    bring("`--model-parallel` of SimAI", {"job.txt": SIMAI}, "--model-parallel has no meaning for simai",
          options=["--model-parallel", "2"]),
]

SCHEDULES = [
    goal("A schedule without a rank", "rank 1 {\nl1: recv 8b from 0 tag 7\n}\n", "", "job.goal", "error: "),
    goal("A schedule with an unknown operation", "send 8b", "sent 8b", "job.goal:3", "error: "),
    goal("A schedule with a message to no rank", "to 1", "to 7", "job.goal:3", "error: "),
    goal("A schedule with a label that is not there", "tag 7\n}\nrank 1", "tag 7\nl1 requires l2\n}\nrank 1",
         "job.goal:4", "error: "),
    goal("A schedule that waits for itself", "tag 7\n}\nrank 1",
         "tag 7\nl2: calc 5\nl1 requires l2\nl2 requires l1\n}\nrank 1", "job.goal", "waits for itself"),
    goal("A schedule that is not closed", "rank 1 {\nl1: recv 8b from 0 tag 7\n}", "rank 1 {\nl1: recv 8b from 0 tag 7",
         "job.goal", "error: "),
]

PROFILES = [
    bring("A profile that is cut off", {"r.json": PROFILE[:-9]}, "r.json", "error: not JSON"),
    bring("A compressed profile that is cut off", {"r.json.gz": gzip.compress(PROFILE.encode(), mtime=0)[:-20]},
          "r.json.gz", "error: "),
    bring("A profile without events", {"r.json": '{"distributedInfo": {"rank": 0, "world_size": 1}}'},
          "r.json: error: no traceEvents"),
    bring("A profile of no device", {"r.json": PROFILE.replace('"kernel"', '"cpu_op"')},
          "r.json: error: no operation of a device among the events"),
    bring("A profile that does not say its rank", {"a.json": PROFILE.replace('"rank": 0, "world_size": 1', '"a": 1'),
                                                   "b.json": PROFILE}, "a.json: error: does not say which rank it is of"),
    bring("Two profiles of one rank", {"a.json": PROFILE, "b.json": PROFILE}, "error: is of rank 0, and so is"),
    bring("A profile of two ranks, alone", {"r.json": PROFILE.replace('"world_size": 1', '"world_size": 2')},
          "r.json", "error: "),
]

ROWS = FILES + TEXTS + SCHEDULES + PROFILES
