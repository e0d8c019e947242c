# SPDX-License-Identifier: MIT
"""Seeds of the fuzzers of whole files, studies and documents. Everything is made up, or of this repository."""
import json
import pathlib
import struct

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DEVICE = "{name: x, peak: {bf16: 312 TFLOP/s}, memory: {capacity: 80 GB, bandwidth: 2039 GB/s}}"
BETWEEN = b"\n%%\n"


def read(path):
    return (SOURCE / path).read_bytes()


def head(path, lines):
    return b"".join(read(path).splitlines(keepends=True)[:lines])


def astra_inputs_seeds():
    """system.json, network.yml, memory.json, groups.json, and algorithms of nodes."""
    system = {"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 2, "preferred-dataset-splits": 4,
              "all-reduce-implementation": ["ring", "halvingDoubling"], "all-gather-implementation": ["ring", "ring"],
              "reduce-scatter-implementation": ["direct3", "ring"], "all-to-all-implementation": ["oneDirect"],
              "collective-optimization": "localBWAware", "local-mem-bw": 2039.5, "roofline-enabled": 1, "peak-perf": 312,
              "trace-enabled": 0, "track-local-mem": True, "local-mem-trace-filename": "x", "replay-only": False,
              "model-shared-bus": 1, "L": 1, "o": 2, "g": 3, "G": 0.5, "local-reduction-delay": 7, "boost-mode": 0,
              "inter-dimension-scheduling": "baseline", "intra-dimension-scheduling": "SCF"}
    custom = {"scheduling-policy": "FIFO", "all-reduce-implementation-custom": ["custom"], "per-node-custom-implementation": "nodes.yml",
              "all-to-all-implementation": ["doubleBinaryTree"]}
    network = "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25 ]\nlatency: [ 500.0, 0 ]\n"
    memories = [{"memory-type": kind, "remote-mem-latency": 100, "remote-mem-bw": 40.5, "num-nodes": 2, "num-npus-per-node": 4} for kind in
                ("NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")]
    groups = '{"1": [0, 1, 2, 3], "7": [4, 5]}'
    return [BETWEEN.join(text.encode() for text in (json.dumps(one, indent=1), network, json.dumps(memory), groups, "12: PREFIX\n3: a\n"))
            for one in (system, custom) for memory in memories] + [b"", BETWEEN * 4 + b"0: x\n"]


def astra_trace_seeds(make):
    """Traces of two ranks in ASTRA-sim's schema. `make`: make_seeds, which knows the wire format."""
    plain = [message.replace(make.DEPENDENCIES, b"") for message in (
        make.node(1, 4, make.attribute(b"num_ops", make.number(7, 5000)), make.attribute(b"tensor_size", make.number(9, 4096)),
                  make.attribute(b"is_cpu_op", make.number(27, 0))),
        make.node(2, 7, make.attribute(b"comm_type", make.number(9, 0)), make.attribute(b"comm_size", make.number(9, 65536)),
                  make.attribute(b"involved_dim", make.data(28, make.data(1, b"\1"))), make.attribute(b"pg_name", make.data(29, b"1"))),
        make.node(3, 2, make.attribute(b"tensor_size", make.number(9, 64))))]
    def ends(kind, end, peer):
        return make.node(4, kind, make.attribute(b"comm_size", make.number(9, 128)), make.attribute(end, make.number(7, peer)),
                         make.attribute(b"comm_tag", make.number(7, 1))).replace(make.DEPENDENCIES, make.data(5, b"\1"))
    def trace(*nodes):
        return make.frame(make.METADATA) + b"".join(make.frame(node) for node in nodes)
    return [trace(*plain[:2]), trace(*plain), trace(*plain, ends(5, b"comm_dst", 1)) + BETWEEN + trace(*plain, ends(6, b"comm_src", 0)),
            trace(*plain, ends(5, b"comm_dst", 1)), trace(plain[0], plain[0])]


def algorithm_seeds(make):
    """The collective in a byte, then a graph for each of two ranks."""
    def message(kind, end, peer, *after):
        return make.node(1 + len(after), kind, make.attribute(b"comm_size", make.number(9, 32)), make.attribute(end, make.number(7, peer))
                         ).replace(make.DEPENDENCIES, make.data(5, b"".join(after)))
    graphs = [make.frame(make.METADATA) + make.frame(message(5, b"comm_dst", 1 - rank)) + make.frame(message(6, b"comm_src", 1 - rank, b"\1"))
              for rank in range(2)]
    return [bytes([choice]) + BETWEEN.join(graphs) for choice in (0, 2, 6, 7, 16, 22)]


def parsed_files_seeds():
    """A byte that says so, then a tree as core/config/parsed_files.cpp packs it, or a whole file behind its heading."""
    place = b"\1\2"
    scalar = b"\1" + place + b"\3abc"
    tree = b"\3" + place + b"\2" + b"\1a" + place + scalar + b"\1b" + place + b"\2" + place + b"\2" + scalar + b"\0" + place
    body = b"a.yamla: 1\n" + tree
    start = 27  # of "orrery.parsed/2 0.2.0\n" and what follows: wrong places are what this is about
    index = struct.pack("<6Q", 1, start, start + 6, start + 11, start + len(body), 0)
    return [b"\0" + tree, b"\0" + scalar, b"\0" + b"\2" + place + b"\xff\xff\xff\xff\x0f", b"\1" + index + body, b"\1" + b"\xff" * 48]


def shares_seeds():
    """The kind of file and the number of ranks in a byte, then the file."""
    row, square = "4, 2,1, 1\n", "# by sender\n0,2,1,1\n1,0,1,1\n2,2,0,2\n1,1,1,0\n"
    lists = "[4, 2, 1.5, 1]\n", "- [0, 2, 1, 1]\n- [1, 0, 1, 1]\n- [2, 2, 0, 2]\n- [1, 1, 1, 0]\n"
    return [bytes([6]) + row.encode(), bytes([6]) + square.encode(), bytes([7]) + lists[0].encode(), bytes([7]) + lists[1].encode(),
            bytes([2]) + b"1,1\n", bytes([6]) + b"9007199254740992,1,1,1\n", bytes([6]) + b"0,0,0,0\n", bytes([6]) + b'"1",\t2 ,3,4\r\n']


EXPERIMENT = f"""cluster:
  device: {DEVICE}
  dims: [{{topology: switch, size: 4, bandwidth: 300 GB/s, latency: 700 ns}}]
workload: {{collective: all_reduce, size: 1 MB}}
collectives: {{library: fixed}}
"""


def result_seeds():
    experiment = {"cluster": {"device": {"name": "x"}, "dims": [{"topology": "switch", "size": 4}]}, "workload": {"collective": "all_reduce"}}
    inputs = [{"path": "result.json", "kind": "data", "sha256": "0" * 64}, {"path": "configs/x.yaml", "kind": "configuration", "sha256": ""}]
    document = {"schema": "orrery.result/1", "version": "0.2.0", "iteration_time_s": 0.5, "by_hand": "cluster.dims", "experiment": experiment,
                "nearest_run": {"name": "a", "not_compared": ["recompute"]},
                "evidence": {"figures": [{"key": "a.b", "value": "1", "file": "x.yaml", "line": 3, "kind": "measured", "default": False,
                                          "source": "s", "citations": ["c", 1]}]},
                "provenance": {"file": "x.yaml", "set": ["nodes=2"], "options": [], "commit": "", "folder": "/nowhere", "inputs": inputs}}
    texts = [json.dumps(document, indent=indent) for indent in (2, None)]
    return [text.encode() for text in texts + [texts[0].split("\n", 2)[2], texts[0].replace('"data"', '"configuration"'),
                                               texts[0].replace("0.5", "1e999")]]


def launch_yaml_seeds():
    """The name of the file and the launcher in a byte, then the file."""
    folder = "docs/examples/launch_scripts/"
    return [bytes([0 | 4]) + read(folder + "bridge.yaml"), bytes([0]) + read(folder + "model_config.yaml"), bytes([2 | 8]) +
            read("docs/examples/llama3_70b.toml"), bytes([1 | 12]) + read("docs/examples/zero3.json"), bytes([3 | 128]) +
            read(folder + "gpt3_175b.sh")]


def model_seeds():
    common = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 128,
              "vocab_size": 1000, "max_position_embeddings": 128, "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "hidden_act": "silu"}
    more = {"llama": {}, "mistral": {"sliding_window": 32}, "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
            "deepseek_v3": {"q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
                            "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                            "first_k_dense_replace": 1, "moe_layer_freq": 1},
            "gemma2": {"layer_types": ["sliding_attention", "full_attention"] * 2, "head_dim": 16, "sliding_window": 16},
            "qwen3_next": {"layer_types": ["linear_attention"] * 3 + ["full_attention"], "linear_num_key_heads": 4, "linear_num_value_heads": 8,
                           "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4},
            "nemotron_h": {"hybrid_override_pattern": "M-M*", "mamba_num_heads": 8, "mamba_head_dim": 8, "ssm_state_size": 16, "n_groups": 2},
            "t5": {"d_model": 64, "num_layers": 4}, "unheard_of": {"text_config": common, "vision_config": {"hidden_size": 32, "depth": 2}}}
    foreign = [json.dumps({"model_type": name} | common | keys, indent=1) for name, keys in more.items()]
    own = ["hidden: 64\nlayers: 4\nheads: 8\nkey_value_heads: 2\nffn_hidden: 128\nvocab: 1000\nsequence: 128\nexperts: 8\nexperts_per_token: 2\n",
           "kind: dlrm\ntables: 4\nrows: 1000\ndimension: 16\nbottom: [32, 16]\ntop: [32, 1]\ndense_features: 8\n"]
    return [text.encode() for text in foreign + own] + [read(f"configs/models/{name}") for name in sorted(
        path.name for path in (SOURCE / "configs/models").glob("*.yaml"))[::8]]


def roles_seeds(make):
    trace = make.alike_seeds()[0]
    trace = trace[2:2 + struct.unpack(">H", trace[:2])[0]]
    ranks = [{"trace": 0, "groups": ["a", "b"], "peers": [1 - rank]} for rank in range(2)]
    roles = [{"schema": "orrery.roles/1", "ranks": ranks}, {"schema": "orrery.roles/1", "ranks": ranks[:1]}, {"ranks": []},
             {"schema": "orrery.roles/1", "ranks": [one | {"groups": ["", ""]} for one in ranks]},
             {"schema": "orrery.roles/1", "ranks": [{"trace": 0, "groups": [], "peers": []}] * 3}]
    small = make.frame(make.METADATA) + make.frame(make.node(1, 4).replace(make.DEPENDENCIES, b""))
    return [json.dumps(one).encode() + BETWEEN + bytes_ for one in roles for bytes_ in (trace, small)]


def file_kind_seeds(others):
    """The name of the file in a byte, then one of what the other fuzzers read. `others`: their seeds, by fuzzer."""
    names = {"fuzz_nccl_log": 8, "fuzz_kernel_file": 3, "fuzz_topo_matrix": 2, "fuzz_node_dump": 4, "fuzz_simai": 2, "fuzz_goal": 2,
             "fuzz_kineto": 1, "fuzz_gzip": 5, "fuzz_launch_script": 6, "fuzz_launch_files": 7, "fuzz_msccl": 4, "fuzz_chakra": 9,
             "fuzz_model_file": 1, "fuzz_sweep": 0, "fuzz_result": 1}
    seeds = [bytes([name]) + others[fuzzer][0] for fuzzer, name in names.items()]
    return seeds + [bytes([i % 2]) + text.encode() for i, text in enumerate((
        EXPERIMENT, '{"memory-type": "x"}', "topology: [ Ring ]\nnpus_count: [ 4 ]\n", "# A text\n\nfor people\n", "a,b\n1,2\n",
        "#!/usr/bin/env python\nimport torch\n", "vendid=0x2c9\nswitchguids=0x1\n", "\xff\xfea\0", '{"schema": "orrery.sweep/1"}'))]


def sweep_seeds():
    experiment = "\n".join("  " + line for line in EXPERIMENT.splitlines())
    axes = ["  - {key: workload.size, values: [1 MB, 4 MB]}\n", "  - {key: workload.size, name: step, values: {from: 1 KB, to: 1 GB, factor: 4}}\n",
            "  - {name: algorithm, settings: {ring: {collectives.algorithms.all_reduce: ring}, direct: {collectives.algorithms.all_reduce: direct}}}\n",
            "  - {key: 'cluster.dims.0.size', values: [2, x2, 4]}\n"]
    layout = "compare: algorithm\nshow: [iteration_time, memory]\nwhere: [step > 1]\nsort: iteration_time\ntop: 3\n"
    sweeps = [f"experiment:\n{experiment}\nvary:\n{''.join(axes[i:i + 2])}" for i in range(1, 4)] + [f"experiment:\n{experiment}\nvary:\n{axes[0]}"]
    return [text.encode() for text in sweeps + [sweeps[0] + layout, "vary: []\n", f"experiment:\n{experiment}\nvary:\n{''.join(axes[1:])}"]]


def points_seeds():
    problem = {"is_warning": True, "file": "x.yaml", "line": 3, "column": 1, "message": "m", "hint": "h", "node": "", "tight_memory": False,
               "out_of_memory": False, "rank": 3}
    figures = {"time_ps": 1000, "ranks": 4, "devices": 4, "device": "x", "job": "j", "computes_as_measured": False,
               "values": {"iteration_time_s": 1e-9, "bound": "x", "flag": True, "none": None},
               "jobs": [{"name": "a", "alone_ps": 1, "together_ps": 2}],
               "parts": [["device compute", 0.5, 0, ""], ["exposed communication (tensor)", 0.25, 3, "tensor"]], "links": [["nic", 0.5]]}
    points = [{"warnings": [problem], "refusal": [], "figures": figures}, {"warnings": [], "refusal": [problem | {"is_warning": False}]},
              {"warnings": [], "refusal": [], "stuck": {"report": "r", "node": "n", "rank": 1}}, {"warnings": [], "refusal": []}]
    return [json.dumps({"point": point, "result": None}).encode() for point in points] + [b"{}", b"[1"]


def table_seeds():
    """The kind of table in a byte, then the table."""
    folder = "configs/validation/"
    layers = b"n_head,n_kv_head,hidden,ffn_hidden,gated_mlp,num_tokens,tp,attn_pre_proj_us,attn_post_proj_us\n8,8,64,128,True,16,1,2.5,\n"
    csv = [(0, head(folder + "training-errors.csv", 8)), (1, head(folder + "collective-errors.csv", 8)), (2, layers),
           (3, b"dtype,m,n,k,latency_us\nbfloat16,512,128,4096,11.182\nfp8,1,2,3,4\n"),
           (3, b"dtype,batch,isl,heads,kv_heads,head_dim,latency_us\nbfloat16,1,1024,8,4,128,65.706\n"),
           (3, b"tokens,hidden,inter,topk,experts,tp,ep,distribution,kernel,dtype,latency_us\n8,64,32,2,8,1,4,power_law_1.2,x,fp8,9.5\n")]
    kinds = ["nccl/a100_1n_sendrecv", "compute/cublaslt-a100", "experts/deepep-gb200-1node", "training/automodel-experts",
             "traces/resnet-2-a100"]
    return [bytes([choice]) + text for choice, text in csv] + [bytes([4 + i]) + head(folder + name + ".yaml", 32) for i, name in enumerate(kinds)]


def corpora(make):
    """Seeds by fuzzer, but those of fuzz_file_kinds."""
    return {"fuzz_astra_inputs": astra_inputs_seeds(), "fuzz_astra_trace": astra_trace_seeds(make),
            "fuzz_algorithm_file": algorithm_seeds(make), "fuzz_parsed_files": parsed_files_seeds(), "fuzz_shares": shares_seeds(),
            "fuzz_result": result_seeds(), "fuzz_launch_yaml": launch_yaml_seeds(), "fuzz_model_file": model_seeds(),
            "fuzz_roles": roles_seeds(make), "fuzz_sweep": sweep_seeds(), "fuzz_points": points_seeds(), "fuzz_tables": table_seeds(),
            "fuzz_groups": group_seeds(), "fuzz_slurm_tasks": [b"12|3|RUNNING|None\n12|10|PENDING|ReqNodeNotAvail: a|b\n14|N/A|PENDING|\nx\n"]}


def group_seeds():
    groups = [{"0": [0, 1, 2, 3], "tensor": {"ranks": [4, 5]}}, {"1": [0, 0]}, [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [],
               "group_size": 8}, {"pg_name": "1", "pg_desc": "tp", "ranks": [0, 1], "group_size": 2}]]
    return [json.dumps(one).encode() for one in groups] + [b'{"a": [0, 1], "a": [2]}']

