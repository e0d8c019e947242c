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
    bring("A profile of a world without ranks", {"p.json": PROFILE.replace('"world_size": 1', '"world_size": -1')},
          "p.json: error: is of a world of -1 ranks", '"distributedInfo": {"world_size": ...} has from 1 to 16777216'),
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
    bring("A profile with its events twice", {"r.json": PROFILE[:-1] + ', "traceEvents": []}'}, "r.json: error: has 'traceEvents' twice",
          "is it two profiles in one file? give each its own"),
    bring("A profile with its rank in two places", {"r.json": PROFILE[:-1] + ', "distributedInfo": {"rank": 1}}'},
          "r.json: error: has 'distributedInfo' twice"),
    bring("A profile with its rank twice", {"r.json": PROFILE.replace('"rank": 0', '"rank": 0, "rank": 1')},
          "r.json: error: has 'distributedInfo.rank' twice"),
    *[bring(f"A profile whose world is {what}", {"r.json": PROFILE.replace('"world_size": 1', f'"world_size": {value}')},
            f"r.json: error: 'distributedInfo.world_size' is {said}; a whole number is expected", '{"rank": 0, "world_size": 8}')
      for what, value, said in (("a word", '"many"', "'many'"), ("a fraction", "1.5", "1.5"), ("a list", "[8]", "a list"), ("a map", "{}", "a map"),
                                ("a flag", "true", "true"))],
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

LAUNCH = ("torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 "
          "--seq-length 512 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 50257")


def launch(what, old, new, *message, options=(), name="run.sh"):
    assert old in LAUNCH
    return bring(what, {name: LAUNCH.replace(old, new) + "\n"}, *message, options=options)


def more(what, arguments, *message, options=()):
    """A launch with more arguments."""
    return bring(what, {"run.sh": LAUNCH + " " + arguments + "\n"}, *message, options=options)


EXPERTS = "--num-experts 8 "
LAUNCHES = [
    launch("An argument with a word for a number", "--num-layers 4", "--num-layers two",
           "run.sh:1: error: '--num-layers' has 'two'; one whole number is expected"),
    launch("An argument with a number beyond counting", "--num-layers 4", "--num-layers 9223372036854775807",
           "run.sh:1: error: '--num-layers' has '9223372036854775807'; a number up to 2147483648 is expected"),
    launch("A degree that no machine has", "--num-layers 4", "--num-layers 4 --tensor-model-parallel-size 100000",
           "run.sh:1: error: '--tensor-model-parallel-size' is 100000; 1 to 65536 is expected"),
    launch("A bucket of no gradient", "--num-layers 4", "--num-layers 4 --ddp-bucket-size 0",
           "run.sh:1: error: '--ddp-bucket-size' is 0; 1 to 1e+15 gradients are expected"),
    launch("Replicas that do not divide the cluster", "--num-layers 4", "--num-layers 4 --tensor-model-parallel-size 3",
           "run.sh:1: error: a replica has 3 ranks, which do not divide the 8 of the cluster", "--nodes N",
           options=["--cluster", "dgx-h100"]),
    bring("A division without a result", {"run.sh": LAUNCH.replace("4", "$(( (-9223372036854775807-1) / -1 ))", 1) + "\n"},
          "run.sh:1: error: '--num-layers' is '$((", "and the script does not give"),
    bring("A script whose variable doubles", {"run.sh": "A=--x\n" + 'A="$A $A"\n' * 60 + LAUNCH + " $A\n"},
          "error: the value of 'A' is longer than 131072 characters", "does it grow over and over?"),
    bring("A script of too many words", {"run.sh": "A=x\n" + 'A="$A $A"\n' * 14 + LAUNCH + " $A\n"},
          "run.sh:16: error: the command has 16", "words, more than 10000"),
    bring("A script that does not end", {"run.sh": "".join(f"for {v} in 1 2 3 4 5 6 7 8 9; do\n" for v in "abcdef") + "X=1\n" +
                                        "done\n" * 6 + LAUNCH + "\n"},
          "error: the script runs more than 200000 commands", "a loop that does not end?"),
    bring("A script whose values are copied over and over", {"run.sh": "A=0123456789\n" + "A=$A$A\n" * 13 + "for i in " + "1 " * 9000 +
                                                             "; do\nB=$A\ndone\n" + LAUNCH + "\n"},
          "run.sh:15: error: the script's commands take more than 256 MiB of values", "a loop that does not end?"),
    bring("A script of subshells in one another", {"run.sh": "A=1\n" + "( " * 2000 + "\n" + LAUNCH + "\n"},
          "run.sh:2: error: more than 100 loops, groups and conditions in one another"),
    bring("A script of loops in one another", {"run.sh": "for i in 1; do " * 2000 + "\n" + LAUNCH + "\n"},
          "run.sh:1: error: more than 100 loops, groups and conditions in one another"),
    bring("A command of keywords alone", {"run.sh": "then " * 50000 + "\n" + LAUNCH + "\n"},
          "run.sh:1: error: more than 100 keywords at the start of a command"),
    launch("An argument without its value", "--hidden-size 1024", "--hidden-size",
           "run.sh:1: error: '--hidden-size' has no value; one whole number is expected"),
    launch("An argument with a variable that a script does not give", "--num-layers 4", "--num-layers $LAYERS",
           "run.sh:1: error: '--num-layers' is '$LAYERS', and the script does not give 'LAYERS'", "--define LAYERS=VALUE"),
    launch("A launch without the sizes of its model", "--hidden-size 1024", "",
           "run.sh:1: error: '--hidden-size' is not among the arguments of Megatron-LM", "--model NAME"),
    launch("A launch without its batch", "--global-batch-size 8", "",
           "run.sh:1: error: '--global-batch-size' is not among the arguments of Megatron-LM",
           "--set workload.batch.global=N"),
    launch("A launch whose vocabulary is not known", "--vocab-size 50257", "--tokenizer-type SentencePieceTokenizer",
           "run.sh:1: error: the size of the vocabulary is not known: the tokenizer is 'SentencePieceTokenizer'",
           "--set workload.model.vocab=N"),
    launch("A launch of T5", "pretrain_gpt.py", "pretrain_t5.py",
           "run.sh:1: error: 'pretrain_t5.py' trains an encoder and a decoder (T5), which is not simulated"),
    more("An encoder and a decoder", "--decoder-seq-length 128", "run.sh:1: error: an encoder and a decoder (T5) are not simulated"),
    bring("A script that is cut in a quote", {"run.sh": LAUNCH + ' --save "out\n'},
          "run.sh:1: error: a quote that begins here does not end", "the file may be truncated"),
    bring("A script that launches nothing", {"run.sh": "#!/bin/bash\necho torchrun\n"},
          "run.sh: error: no command in it launches a program with arguments"),
    more("An unknown argument, strictly", "--num-layer 3",
         "run.sh:1: error: '--num-layer' is no argument of Megatron-LM that is known here", "did you mean '--num-layers'?",
         options=["--strict"]),
    more("Two precisions", "--fp16", "run.sh:1: error: '--bf16' and '--fp16' are two precisions"),
    more("Gradients in two precisions", "--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32",
         "run.sh:1: error: '--grad-reduce-in-bf16' and '--accumulate-allreduce-grads-in-fp32' contradict each other"),
    more("Chunks by two arguments",
         "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 --num-virtual-stages-per-pipeline-rank 2",
         "run.sh:1: error: '--num-virtual-stages-per-pipeline-rank' and '--num-layers-per-virtual-pipeline-stage' say the same"),
    more("Layers that do not make chunks", "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3",
         "run.sh:1: error: 4 layers do not make chunks of 3 on 2 stages"),
    more("A word that an argument does not take", "--recompute-granularity some",
         "run.sh:1: error: '--recompute-granularity' is 'some'; one of selective, full is expected"),
    more("Relative positions", "--position-embedding-type relative",
         "run.sh:1: error: relative position embeddings are not simulated"),
    more("A window that is none", "--window-size wide", "run.sh:1: error: '--window-size' is 'wide,'", "--window-size 128,0"),
    more("A pattern with an unknown letter", "--hybrid-override-pattern MXM*",
         "run.sh:1: error: 'MXM*' has 'X'; layers M (Mamba-2), * (attention), - (MLP) and E (experts) are simulated"),
    more("A pattern of other layers", "--hybrid-override-pattern M-M",
         "run.sh:1: error: '--num-layers' is 4, and the pattern of layers has 3"),
    more("A frequency of experts that is none", EXPERTS + "--moe-layer-freq often",
         "run.sh:1: error: '--moe-layer-freq' is 'often'; a number or a list of 0 and 1 is expected"),
    more("Experts in no layer", EXPERTS + "--moe-layer-freq '[0]*4'",
         "run.sh:1: error: '--moe-layer-freq' has no layer with experts"),
    more("A way of context parallelism that is none", "--context-parallel-size 2 --cp-comm-type mail",
         "run.sh:1: error: '--cp-comm-type' is 'mail'; one of p2p, allgather, a2a, a2a+p2p is expected"),
    more("A state of an unknown type", "--use-precision-aware-optimizer --exp-avg-dtype int3",
         "run.sh:1: error: a state of the optimizer is of a type that is not known"),
    bring("Replicas of an optimizer on unknown ranks",
          {"run.sh": LAUNCH.replace("--nnodes 1 --nproc_per_node 8", "") +
           " --use-distributed-optimizer --num-distributed-optimizer-instances 2\n"},
          "run.sh:1: error: how many ranks there are is not known", "--set workload.parallel.shard=N"),
    launch("A definition that is none", "4", "4", "--define: error: 'LAYERS' is no definition", options=["--define", "LAYERS"]),
    bring("A configuration of arguments that is a list", {"run.yaml": "- --num-layers\n"},
          "run.yaml: error: is a list; a map of arguments is expected", options=["--format", "megatron"]),
    launch("`--iterations` of a launch script", "4", "4", "run.sh: error: --iterations has no meaning for megatron",
           options=["--iterations", "2"]),
    bring("`--cluster` of GOAL", {"job.goal": GOAL}, "job.goal: error: --cluster has no meaning for goal",
          options=["--cluster", "dgx-a100"]),
]

TITAN = ('[model]\nname = "llama3"\nflavor = "8B"\n\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n\n'
         "[parallelism]\ntensor_parallel_degree = 2\n")
ZERO = ('{\n  "train_batch_size": 64,\n  "train_micro_batch_size_per_gpu": 2,\n  "gradient_accumulation_steps": 4,\n'
        '  "zero_optimization": {\n    "stage": 2\n  },\n  "bf16": {"enabled": true}\n}\n')
ACCELERATE = ("distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_offload_params: false\n"
              "mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n")
ON_H100 = ("--cluster", "dgx-h100", "--nodes", "1")
LLAMA = (*ON_H100, "--model", "llama3-8b")
BATCH = ("--set", "workload.batch.global=64", "--set", "workload.batch.micro=2")


def titan(what, old, new, *message, options=ON_H100):
    assert old in TITAN
    return bring(what, {"job.toml": TITAN.replace(old, new)}, *message, options=options)


def zero(what, old, new, *message, options=LLAMA):
    assert old in ZERO
    return bring(what, {"ds.json": ZERO.replace(old, new)}, *message, options=options)


def accelerate(what, old, new, *message, options=(*LLAMA, *BATCH)):
    assert old in ACCELERATE
    return bring(what, {"acc.yaml": ACCELERATE.replace(old, new)}, *message, options=options)


CONFIGURATIONS = [
    titan("torchtitan's file cut off", "tensor_parallel_degree = 2\n", "tensor_parallel_degr", "job.toml:10", "error: not TOML"),
    titan("An unknown flavor of torchtitan", '"8B"', '"9B"', "job.toml:3", "'9B' is no flavor of llama3 that is known here",
          "--model NAME or --model config.json"),
    titan("An unknown model of torchtitan", '"llama3"', '"flux"', "job.toml:2", "'flux' is no model of torchtitan"),
    titan("A key of thousands of parts", "seq_len = 8192", "seq_len = 8192\n" + ".".join(["a"] * 10000) + " = 1", "job.toml:8",
          "error: not TOML that is read: a line with more than 1000 points"),
    titan("A degree that is a text", "degree = 2", 'degree = "two"', "job.toml:10",
          "'parallelism.tensor_parallel_degree' has 'two'; one whole number is expected"),
    titan("A degree of zero", "degree = 2", "degree = 0", "job.toml:10", "is 0; 1 to 65536 is expected"),
    titan("Names of two versions of torchtitan", "local_batch_size = 2", "local_batch_size = 2\nbatch_size = 4", "job.toml:7",
          "'training.batch_size' and 'training.local_batch_size' (", "are one argument by the names of two versions",
          "leave one of them out"),
    titan("Degrees that are not those of the cluster", "degree = 2", "degree = 2\ndata_parallel_shard_degree = 2", "job.toml:11",
          "replicate 1 x shard 2 x context 1 x tensor 2 x pipeline 1 is 4, and the cluster has 8 devices", "--nodes N"),
    titan("A global batch that replicas do not divide", "seq_len = 8192", "seq_len = 8192\nglobal_batch_size = 20", "job.toml:8",
          "'training.global_batch_size' is 20, no multiple of local_batch_size 2 x 4 replicas = 8"),
    titan("A local batch of none", "local_batch_size = 2", "local_batch_size = 0", "job.toml:6", "is 0; 1 to 1073741824 is expected"),
    titan("Replicas of no known number", "degree = 2", "degree = 2", "data_parallel_shard_degree is what the other degrees leave",
          "--cluster NAME and --nodes N", options=()),
    titan("An unknown schedule of torchtitan", "degree = 2", 'degree = 2\npipeline_parallel_degree = 4\npipeline_parallel_schedule = "ZigZag"',
          "job.toml:12", "'ZigZag' is no schedule that is known here: 1F1B, GPipe"),
    titan("Stages that are not for their schedule", "degree = 2",
          'degree = 2\npipeline_parallel_degree = 4\npipeline_parallel_layers_per_stage = 4',
          "job.toml:", "32 layers in 9 stages (", "are not for schedule 1F1B of 4 ranks"),
    titan("A point that splits no layers", "degree = 2",
          'degree = 2\npipeline_parallel_degree = 2\npipeline_parallel_split_points = ["layers.40"]',
          "job.toml:12", "'layers.40' does not begin a stage of 32 layers"),
    titan("Micro-batches that do not divide", "degree = 2",
          "degree = 2\npipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 4",
          "job.toml:", "micro-batches of 4 do not divide the local batch of 2"),
    titan("An unknown way of checkpointing", "seq_len = 8192", 'seq_len = 8192\n[activation_checkpoint]\nmode = "some"', "job.toml:9",
          "'activation_checkpoint.mode' is 'some'; one of none, selective, full, memory_budget is expected"),
    titan("Selective checkpointing by an unknown rule", "seq_len = 8192",
          'seq_len = 8192\n[activation_checkpoint]\nselective_ac_option = "all"', "job.toml:9",
          "'all' is neither a number of layers nor op"),
    titan("`--define` for a file without variables", "8192", "8192", "--define: error: files of this launcher have no variables",
          options=(*ON_H100, "--define", "A=1")),
    titan("An argument that torchtitan has not, with `--strict`", "seq_len", "sequence_len", "job.toml:7",
          "'training.sequence_len' is no argument of torchtitan that is known here", "did you mean 'training.seq_len'?",
          options=(*ON_H100, "--strict")),
    zero("DeepSpeed's file cut off", '    "stage": 2\n  },\n  "bf16": {"enabled": true}\n}\n', '    "sta', "ds.json:"),
    zero("DeepSpeed's batch against its parts", "64", "256", "ds.json:2", "'train_batch_size' is 256, but "
         "train_micro_batch_size_per_gpu (2) x gradient_accumulation_steps (4) x 8 replicas = 64", "leave one of them out"),
    zero("DeepSpeed's batch that replicas do not divide", '64,\n  "train_micro_batch_size_per_gpu": 2', "60", "ds.json:2",
         "'train_batch_size' is 60, which 8 replicas x 4 micro-batches do not divide"),
    zero("DeepSpeed's batch of none", "64", "0", "ds.json:2", "'train_batch_size' is 0; 1 to 4294967296 is expected"),
    zero("A stage of ZeRO that there is not", '"stage": 2', '"stage": 4', "ds.json:6", "is 4; 0 to 3 is expected"),
    zero("DeepSpeed in two precisions", '"bf16": {"enabled": true}', '"bf16": {"enabled": true}, "fp16": {"enabled": true}',
         "ds.json:8", "'bf16.enabled' and 'fp16.enabled' are both true"),
    zero("A share of states beyond all", '"stage": 2', '"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 2}',
         "ds.json:6", "'ratio' is a share from 0 to 1"),
    zero("No accumulation at all", '"train_micro_batch_size_per_gpu": 2,\n  "gradient_accumulation_steps": 4',
         '"gradient_accumulation_steps": 0', "ds.json:3", "'gradient_accumulation_steps' is 0; 1 to 1048576 is expected"),
    zero("A bucket of nothing", '"stage": 2', '"stage": 2, "reduce_bucket_size": 0', "ds.json:6", "is 0; at least 1 is expected"),
    zero("A replica that does not divide the cluster", '"bf16"', '"tensor_parallel": {"autotp_size": 3}, "bf16"', "ds.json:",
         "a replica has 3 ranks, which do not divide the 8 of the cluster"),
    zero("A degree of DeepSpeed below 1", '"bf16"', '"tensor_parallel": {"autotp_size": 0}, "bf16"', "ds.json:",
         "is 0; 1 to 65536 is expected"),
    zero("DeepSpeed without a model", "64", "64", "ds.json:", "the file does not say the model", "--model NAME", options=ON_H100),
    zero("DeepSpeed with a model that there is not", "64", "64", "llama9-8b", options=(*ON_H100, "--model", "llama9-8b")),
    zero("DeepSpeed without a cluster", '"train_batch_size": 64,\n', "", "ds.json:", "follows from that of devices",
         options=("--model", "llama3-8b")),
    bring("A configuration that is a list", {"ds.json": "[1, 2]\n"}, "ds.json:1:1: error: the file is a list; a map is expected",
          options=(*LLAMA, "--format", "deepspeed")),
    accelerate("A strategy that FSDP has not", "FULL_SHARD", "SOME_SHARD", "acc.yaml:3", "'SOME_SHARD' is no sharding strategy"),
    accelerate("A precision that accelerate has not", "bf16", "int4", "acc.yaml:5", "'int4' is no precision"),
    accelerate("A number of machines that is none", "num_machines: 1", "num_machines: one", "acc.yaml:6", "'num_machines' is 'one'"),
    accelerate("FSDP without its batch", "bf16", "bf16", "neither 'train_batch_size' nor 'per_device_train_batch_size' says the batch",
               "--set workload.batch.global=N", options=LLAMA),
    accelerate("FSDP's names of accelerate and the Trainer", "  fsdp_offload_params: false", "  fsdp_offload_params: false\n  offload_params: true",
               "acc.yaml:5", "are one argument by the names of two versions"),
    Row("Flags of an unknown launcher", 2, ["--launcher-flags: error: unknown launcher 'torchtitans'", "did you mean 'torchtitan'?"],
        ["run", "job.yaml", "--launcher-flags", "torchtitans"]),
    Row("Flags into no file", 2, ["--launcher-flags: error: 'fsdp=' names no file", "write NAME or NAME=FILE"],
        ["run", "job.yaml", "--launcher-flags", "fsdp="]),
    Row("Flags of a job of traces", 2, ["torchtitan trains one transformer, and the experiment has none"],
        ["run", "job.yaml", "--launcher-flags", "torchtitan"]),
    Row("Flags of several plans", 2, ["--launcher-flags: error: is of one plan, and several are given"],
        ["model", "show", "llama3-8b", "--parallel", "data=8", "--parallel", "data=16", "--launcher-flags", "fsdp"]),
]

ROWS = FILES + TEXTS + SCHEDULES + PROFILES + REPLAYS + LAUNCHES + CONFIGURATIONS
