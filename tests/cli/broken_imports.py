# SPDX-License-Identifier: MIT
"""Broken workloads of other formats."""
import gzip
import io
import json
import tarfile

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
    bring("An import of a file that is not there", {}, "nowhere.txt: error: cannot be read: there is no such file",
          names=["nowhere.txt"]),
    bring("An import of a folder", {"folder": None}, "folder: error: is a folder", "name the files in it"),
    bring("An import of an empty file", {"job.txt": ""}, "job.txt: error: is empty"),
    bring("An import of a text of no format", {"job.txt": "remember the milk\n"},
          "job.txt: error: not a workload of a known format", "give --format, one of astra-text, simai, goal, kineto"),
    bring("An import of bytes", {"job.bin": bytes(range(256))}, "job.bin: error: not a workload of a known format"),
    bring("AICB's log of a run", {"run.csv": "comm_type,comm_group,comm_group_size,msg_size\n"},
          "run.csv: error: not a workload of a known format", "this is AICB's log of a run"),
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
                     ["--symmetric"])],
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



def call(**notes):
    return ('{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_X", "ts": 100.5, "dur": 20, "pid": 0, "tid": 7, "args": '
            + json.dumps({"device": 0, "stream": 20, "In msg nelems": 8, "Out msg nelems": 8, "dtype": "Float", **notes}) + "}")


def world(ranks, *events):
    return ('{"distributedInfo": {"rank": 0, "world_size": %d}, "traceEvents": [' % ranks) + ", ".join(events) + "]}"


UNEVEN = world(8, call(**{"Collective name": "allreduce", "Group size": 3, "Process Group Name": "1",
                          "Process Group Description": "dp", "Process Group Ranks": "[0, 1, 3]"}))
PIPELINE = world(4, call(**{"Collective name": "send", "Group size": 4, "Process Group Name": "0", "Dst Rank": 1,
                            "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]"}))
EXECUTION = json.dumps({"schema": "1.0.1", "pid": 7, "nodes": [
    {"name": "record_param_comms", "id": 5, "rf_id": 3, "inputs": [[1, 2, 0, 8, 4, "cuda:0"], 1, 0, 0, "allreduce", [], []],
     "input_types": ["Tensor(float)"], "outputs": []}]})
HOST = ('{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 90, "dur": 5, "pid": 7, "tid": 7, "args": '
        '{"Collective name": "broadcast", "In msg nelems": 8}}')
STEP = PROFILE.replace('"traceEvents": [', '"traceEvents": [' + HOST + ", ")


def archive():
    """A tar archive with one member, compressed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("rank0.json"))
    return gzip.compress(packed.getvalue(), mtime=0)


ARCHIVE = archive()


def replay(what, workload, files, *message, cluster="cluster: dgx-a100\nnodes: 1\n"):
    return Row(what, 2, list(message), ["run", "job.yaml"], {"job.yaml": cluster + "workload: " + workload + "\n", **files})


REPLAYS = [
    bring("A rank in an uneven group, for all", {"r.json": UNEVEN},
          "r.json: error: process group 'dp' is ranks 0-1 and 3: how the other ranks of 8 are grouped cannot be told",
          options=["--symmetric"]),
    bring("A rank of a pipeline, for all", {"r.json": PIPELINE}, "of 4 stages, none of 3 have a profile",
          "give a profile of one rank of each stage", options=["--symmetric"]),
    bring("Execution traces alone", {"a.json": EXECUTION, "b.json": EXECUTION}, "they have no times of the device",
          "give the Kineto profiles of the same step, too"),
    bring("An execution trace of another step", {"e.json": EXECUTION, "r.json": STEP},
          "e.json: error: only 0 of its 1 calls of c10d have a partner among the 1 of the profile"),
    bring("An execution trace of another process", {"e.json": EXECUTION.replace('"pid": 7', '"pid": 8'), "r.json": STEP},
          "e.json: error: is an execution trace of process 8, of which there is no profile"),
    bring("An execution trace that is cut", {"e.json": EXECUTION[:-5], "r.json": STEP}, "e.json:1: error: not JSON"),
    bring("An execution trace of another schema", {"e.json": EXECUTION.replace("1.0.1", "2.7"), "r.json": STEP},
          'e.json: error: is a PyTorch execution trace of the unknown schema "2.7"',
          "schemas 1.0.x and 1.1.x are known"),
    *[bring(f"An execution trace whose nodes are {nodes}",
            {"e.json": f'{{"schema": "1.0.1", "nodes": {nodes}}}', "r.json": STEP},
            'e.json: error: "nodes" has no node', "expected a list of objects")
      for nodes in ("[]", "[1, 2]")],
    bring("An archive of profiles", {"r.json.gz": ARCHIVE}, "r.json.gz: error: is a tar archive, expected a profile",
          "unpack it with `tar xf`", options=["--format", "kineto"]),
    replay("An experiment with a text as profile", "{profile: r.txt}", {"r.txt": "remember the milk\n"},
           "r.txt: error: not JSON: it begins with 'remember the milk'",
           "expected a profile that torch.profiler exported"),
    replay("A profile of a world that is far too large", "{profile: r.json, symmetric: true}",
           {"r.json": PROFILE.replace('"world_size": 1', '"world_size": 16000000')},
           "the job has 16000000 ranks, the cluster only 8 devices", "write `nodes: 2000000` or more"),
    Row("A run of a text workload", 2,
        ["job.txt: error: is a table of layers of ASTRA-sim 1.0 or SimAI, not an experiment",
         "orrery workload import job.txt --out DIR"], ["run", "job.txt"], {"job.txt": SIMAI}),
    replay("An experiment with a profile that is not there", "{profile: nowhere.json}", {}, "nowhere.json: error: cannot be opened"),
    replay("An experiment with one profile of two ranks", "{profile: r.json}",
           {"r.json": PROFILE.replace('"world_size": 1', '"world_size": 2')}, "symmetric: true of an experiment"),
    replay("A profile and traces in one workload", "{profile: r.json, chakra: {prefix: rank}}", {"r.json": PROFILE},
           "job.yaml:3", "'chakra' and 'profile' are two jobs"),
    replay("A profile with the batch of a model", "{profile: r.json, batch: {micro: 1}}", {"r.json": PROFILE},
           "job.yaml:3", "'batch' belongs to a model to train, not to traces", "leave out 'profile'"),
    replay("`symmetric` of a model", "{model: gpt3-13b, symmetric: true}", {}, "job.yaml:3",
           "'symmetric' belongs to 'profile'"),
    replay("An empty list of profiles", "{profile: []}", {}, "job.yaml:3", "'profile' names no file"),
    Row("A run of a profile without a cluster", 2, ["r.json: error: a profile does not say on which cluster to replay it",
                                                    "--set cluster=NAME"], ["run", "r.json"], {"r.json": PROFILE}),
]

ROWS = FILES + TEXTS + SCHEDULES + PROFILES + REPLAYS
