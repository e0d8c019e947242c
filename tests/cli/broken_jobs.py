# SPDX-License-Identifier: MIT
"""Broken jobs from a model."""
import re

from error_row import JOB, Row

TITLE = "Jobs from a model"

MODEL = """\
cluster: dgx-a100
workload:
  model: {hidden: 1024, layers: 8, heads: 16, kv_heads: 4, vocab: 51200, sequence: 1024}
  parallel: {data: 8}
  batch: {global: 16, micro: 1}
"""
EXPERTS = MODEL.replace("sequence: 1024", "sequence: 1024, experts: 8, experts_per_token: 2")
RESNET = re.sub("{hidden.*}", "resnet-50", MODEL)
DLRM = re.sub("{hidden.*}", "dlrm", MODEL).replace("micro: 1", "micro: 2")


DISPATCH = "experts: {{dispatch: {{name: deepep, exchange: copies, processors: {}, processor_rate: 15 GB/s}}}}\n"


def job(what, parallel, *message, more="", batch="{global: 16, micro: 1}", base=MODEL):
    """A sound job with other degrees, another batch and further keys of `workload`."""
    text = re.sub("  parallel: .*", f"  parallel: {{{parallel}}}", base)
    text = re.sub("  batch: .*", f"  batch: {batch}", text)
    return Row(what, 2, list(message), files={"job.yaml": text + "".join(f"  {line}\n" for line in more.splitlines())})


def whole(what, content, *message, code=2):
    return Row(what, code, list(message), files={"job.yaml": content})


def model(what, keys, *message):
    """The sound job with another model."""
    return whole(what, re.sub("{hidden.*}", "{" + keys + "}", MODEL), *message)


def hugging_face(title, more, *expected):
    """A config.json of two layers with one thing wrong."""
    return model(title, "model_type: llama, hidden_size: 1024, num_hidden_layers: 2, num_attention_heads: 16, "
                 f"intermediate_size: 4096, vocab_size: 512, max_position_embeddings: 1024, {more}", *expected)


SIZES = "hidden: 1024, layers: 8, heads: 16, vocab: 51200, sequence: 1024"

LINEAR = MODEL.replace("heads: 16", "kinds: {linear: {mixer: gated-delta, key_heads: 4, value_heads: 16, key_size: 64, "
                       "value_size: 64}}, pattern: [linear], heads: 16")

TWO_JOBS = """\
cluster: dgx-a100
jobs:
  - name: a
    workload: {chakra: {prefix: rank}}
  - name: b
    workload:
      model: {hidden: 1024, layers: 8, heads: 16, vocab: 51200, sequence: 1024}
      parallel: {data: 4}
      batch: {global: 16}
"""

WORKLOADS = [
    whole("A workload of nothing", "cluster: dgx-a100\nworkload: {}\n",
          "job.yaml:2:11: error: a workload needs traces to replay, a collective to call or a model to train",
          "write chakra: {prefix: ...}, profile: FILE, layers: FILE, goal: FILE, collective: NAME with size, exchange: {...}, product: {...}, or model: NAME with parallel and batch"),
    whole("Degrees without a model", "cluster: dgx-a100\nworkload:\n  parallel: {data: 8}\n",
          "job.yaml:3:3: error: a workload needs traces to replay, a collective to call or a model to train"),
    whole("Traces and a model", MODEL + "  chakra: {prefix: rank}\n",
          "job.yaml:3:10: error: 'model' belongs to a model to train, not to traces",
          "leave out 'chakra' to train a model, or this key to replay traces"),
    whole("`recompute` of traces", JOB.replace("{prefix: rank}", "{prefix: rank}\n  recompute: full"),
          "error: 'recompute' belongs to a model to train, not to traces"),
    whole("A model of no name", re.sub("{hidden.*}", "gpt3-175", MODEL),
          "job.yaml:3:10: error: no 'gpt3-175' among the shipped models", "did you mean 'gpt3-175b'?"),
    whole("Software of no name", MODEL + "  software: megatron-2023\n",
          "job.yaml:6:13: error: no 'megatron-2023' among the shipped software", "did you mean"),
    whole("A model without a batch", MODEL.replace("  batch: {global: 16, micro: 1}\n", ""),
          "job.yaml:3:3: error: 'workload.batch' is missing"),
    job("No global batch", "data: 8", "job.yaml:5:10: error: 'workload.batch.global' is missing", batch="{micro: 1}"),
    job("`tensr: 2`", "tensr: 2", "job.yaml:4:14: error: unknown key 'tensr'", "did you mean 'tensor'?"),
    job("`tp: 8` beside `tensor: 4`", "tp: 8, tensor: 4", "job.yaml:4:14: error: 'tp' is 'workload.parallel.tensor', which is given at job.yaml:4:29, too", "leave one of them out"),
    job("`gbs` beside `batch`", "data: 8", "job.yaml:6:3: error: 'gbs' is 'workload.batch.global', which is given at job.yaml:5:19, too", more="gbs: 32"),
    job("`gbs` that is a list", "data: 8", "error: workload.batch.global: a list is not a whole number", batch="{micro: 1}", more="gbs: [1, 2]"),
    job("Accumulation that makes another batch", "data: 8", "error: 3 micro-batches of 8 replicas are no global batch of 16", "give two of workload.batch.global, micro and accumulation", batch="{global: 16, accumulation: 3}"),
    job("Accumulation beyond what can be counted", "data: 8", "error: 4294967296 micro-batches of 8 replicas are too many", batch="{accumulation: 4294967296}"),
    job("A micro-batch that is no number", "data: 8", "error: workload.batch.micro: 'largest' is not a", batch="{global: 16, micro: largest}"),
    job("Software like no other", "data: 8", "error: no 'megatron-20' among the shipped software", more="software: {like: megatron-20, dropout: true}"),
    job("Software like a map", "data: 8", "error: 'like' is a map; the name of a file is expected", "a name in software, or a path", more="software: {like: {name: a}}"),
    Row("Software like itself", 2, ["error: more than 8 files are each like another", "a name in software, or a path"],
        files={"job.yaml": MODEL + "  software: self.yaml\n", "self.yaml": "like: self.yaml\n"}),
    job("A key of the default software that is none", "data: 8", "error: unknown key 'dropouts' in 'workload.software'", "did you mean 'dropout'?", more="software: {dropouts: true}"),
    model("An architecture of Hugging Face that is not known", "model_type: mamba, hidden_size: 1024",
          "job.yaml:3:11: error: unknown architecture 'mamba', and its keys are not all of a transformer's: num_hidden_layers, ",
          "llama", "docs/jobs.md"),
    model("A config.json without its architecture", "architectures: [LlamaForCausalLM], hidden_size: 1024",
          "job.yaml:3:10: error: a config.json without 'model_type', and its keys are not all of a transformer's"),
    model("A config.json with lightning attention", "model_type: minimax_text_01, hidden_size: 1024, attn_type_list: [0, 1]",
          "job.yaml:3:", "error: 'attn_type_list' stands for lightning attention, which Orrery does not model"),
    hugging_face("A config.json with a key that is not understood", "hidden_sizes: 3", "job.yaml:3:",
                 "error: not read, and not known to change nothing: hidden_sizes", "did you mean 'hidden_size'"),
    hugging_face("A config.json with linear attention in no layer", "linear_num_key_heads: 16",
                 "error: 'linear_num_key_heads' stands for linear attention, and no key says which layers are such"),
    hugging_face("A config.json with Mamba layers in no layer", "mamba_n_heads: 16",
                 "error: 'mamba_n_heads' stands for state-space layers, and no key says which layers are such"),
    hugging_face("A config.json with linear attention without its sizes", "layer_types: [full_attention, linear_attention]",
                 "error: 'linear_num_key_heads' is missing", "layers of gated-delta need it"),
    hugging_face("A config.json whose pattern is a list", "hybrid_override_pattern: [M]",
                 "error: hybrid_override_pattern: a list is not a text"),
    hugging_face("A config.json whose layers are a word", "layer_types: full_attention",
                 "error: layer_types: 'full_attention' is not a list"),
    hugging_face("A config.json with attention in a layer that it does not have", "attn_layer_indices: [7]",
                 "error: attn_layer_indices: there is no layer 7"),
    hugging_face("A config.json with a word among the numbers of layers", "attn_layer_indices: [a]",
                 "error: attn_layer_indices: 'a' is not a whole number"),
    hugging_face("A config.json with an MLP of another kind", "num_experts: 8, num_experts_per_tok: 2, mlp_layer_types: [dense, wide]",
                 "error: mlp_layer_types: Orrery does not model layers of 'wide'"),
    hugging_face("A config.json that types fewer MLPs than it has", "num_experts: 8, num_experts_per_tok: 2, mlp_layer_types: [sparse]",
                 "error: mlp_layer_types has the types of 1 of 2 layers"),
    hugging_face("A config.json whose layers have different sizes", "head_dim: [64, 128]",
                 "error: head_dim: layers have different ones"),
    model("A config.json with another kind of layers", "model_type: llama, hidden_size: 1024, num_hidden_layers: 2, "
          "num_attention_heads: 16, intermediate_size: 4096, vocab_size: 512, max_position_embeddings: 1024, "
          "layer_types: [full_attention, conv]", "error: layer_types: Orrery does not model layers of 'conv'"),
    model("A config.json that types fewer layers than it has", "model_type: llama, hidden_size: 1024, num_hidden_layers: 3, "
          "num_attention_heads: 16, intermediate_size: 4096, vocab_size: 512, max_position_embeddings: 1024, "
          "layer_types: [full_attention, full_attention]", "error: layer_types has the types of 2 of 3 layers"),
    model("A config.json of an unknown type whose activation is used both ways", "model_type: x, hidden_size: 1024, "
          "num_hidden_layers: 8, num_attention_heads: 16, intermediate_size: 4096, vocab_size: 512, "
          "max_position_embeddings: 1024, hidden_act: gelu_pytorch_tanh",
          "error: unknown architecture 'x', and its activation does not say whether the MLP is gated", "gated_mlp"),
    whole("Layers and traces", "cluster: dgx-a100\nworkload: {layers: a.txt, goal: b.goal}\n",
          "error: 'layers' and 'goal' are two jobs"),
    whole("A model beside a table of layers", "cluster: dgx-a100\nworkload: {layers: a.txt, model: gpt3-13b}\n",
          "error: 'model' belongs to a model to train, not to traces", "leave out 'layers' to train a model"),
    whole("A table of layers that is none", "cluster: dgx-a100\nworkload: {layers: job.yaml}\n",
          "job.yaml: error: is no table of layers of ASTRA-sim 1.0 or SimAI"),
    model("A config.json without its layers", "model_type: llama, hidden_size: 1024, num_attention_heads: 16, vocab_size: 512, "
          "max_position_embeddings: 1024, intermediate_size: 4096", "job.yaml:3:10: error: 'num_hidden_layers' is missing"),
    model("A config.json of Mixtral without its experts", "model_type: mixtral, hidden_size: 1024, num_hidden_layers: 8, "
          "num_attention_heads: 16, num_key_value_heads: 8, intermediate_size: 4096, vocab_size: 512, "
          "max_position_embeddings: 1024, num_experts_per_tok: 2", "job.yaml:3:10: error: 'num_local_experts' is missing",
          "a model of type mixtral is another one"),
    model("A config.json whose switch is a word", "model_type: llama, hidden_size: 1024, num_hidden_layers: 8, "
          "num_attention_heads: 16, intermediate_size: 4096, vocab_size: 512, max_position_embeddings: 1024, "
          "tie_word_embeddings: 'yes'", "tie_word_embeddings: 'yes' is neither true nor false"),
    job("`recompute: ful`", "data: 8", "job.yaml:6:14: error: workload.recompute: unknown value 'ful'",
        "did you mean 'full'?", more="recompute: ful"),
    job("`gradients: fp8`", "data: 8", "job.yaml:6:14: error: workload.gradients: unknown value 'fp8'",
        more="gradients: fp8"),
    *[job(f"`price: {price}`", "data: 8", "price: '", "' is not a price", hint, more=f"tokens: 1T\nprice: {price}")
      for price, hint in (("cheap", "such as 2.50, '$2.50' or '2.50 USD/h'"), ("2 $/day", "the price of one device for an hour"),
                          ("'2,50 EUR'", "write 2.50, with a decimal point"), ("85 %", "the price of one device for an hour"), ("2 USD EUR", "such as 2.50, '$2.50' or '2.50 USD/h'"))],
    job("`schedule: 1f1b`", "data: 8", "'workload.schedule' is a plain value; a map of keys is expected",
        "write workload.schedule.kind: 1f1b", more="schedule: 1f1b"),
    job("`bucket: 25`", "data: 8", "job.yaml:6:21: error: workload.overlap.bucket: '25' has no unit",
        more="overlap: {bucket: 25}"),
    job("fp8 on an A100", "data: 8", "job.yaml:6:14: error: the job computes in fp8, for which device "
        "'a100-sxm-80gb' has no peak", "workload.precision: fp64 or fp32 or tf32 or fp16 or bf16 or int8; or add peak.fp8 to the device",
        more="precision: fp8"),
    job("fp64 with gradients of the software", "data: 8", "job.yaml:6:14: error: gradients in fp32 of a job in fp64",
        "workload.gradients: fp64", more="precision: fp64"),
    job("Input without storage", "data: 8", "job.yaml:6:10: error: no storage for input", "memory.remote.bandwidth",
        more="input: {sample: 1 KB}"),
    job("Checkpoints that never come", "data: 8", "job.yaml:6:15: error: no checkpoint falls into the simulated iterations",
        "workload.iterations: 10", more="checkpoint: {every: 10}"),
    job("Servers that get the parameters first", "data: 4, exchange: parameter-server, servers: 2",
        "job.yaml:6:22: error: parameter servers hold the parameters", more="initial_broadcast: true"),
    job("PipeDream with ZeRO", "data: 2, pipeline: 4, zero: 1",
        "job.yaml:6:20: error: pipedream updates the weights after every micro-batch: ZeRO cannot shard them",
        "workload.parallel.zero: 0", more="schedule: {kind: pipedream}"),
    job("PipeDream with one stage", "data: 8", "job.yaml:6:20: error: a pipeline of one stage has nothing to flush",
        more="schedule: {kind: pipedream}"),
    whole("fp32 on a device that has none", MODEL.replace("dgx-a100", "tpu-v4-pod") + "  precision: fp32\n",
          "job.yaml:6:14: error: the job computes in fp32", "workload.precision: fp16 or bf16"),
]

MODELS = [
    model("A model without layers", "hidden: 1024, heads: 16, vocab: 512, sequence: 64",
          "job.yaml:3:10: error: 'workload.model.layers' is missing"),
    model("A model of an unknown kind", "kind: rnn", "job.yaml:3:17: error: workload.model.kind: unknown value 'rnn'"),
    model("Patches and a vocabulary", SIZES + ", patches: {size: 16, classes: 10}",
          "error: 'vocab' means nothing beside 'patches'", "leave it out"),
    model("More bidirectional layers than there are",
          "kind: recurrent, recurrent: {hidden: 8, vocab: 10, encoder: 1, bidirectional: 2, decoder: 1, source: 5, target: 5}",
          "error: 2 bidirectional layers of an encoder of 1 layer", "at most 1"),
    model("Heads that do not divide the hidden size", SIZES.replace("heads: 16", "heads: 15"),
          "job.yaml:3:43: error: hidden 1024 is not a multiple of 15 heads", "8 or 16 heads, or give head_size"),
    model("Heads that cannot share theirs of keys", SIZES + ", kv_heads: 5",
          "error: 16 heads cannot share 5 kv_heads evenly", "kv_heads divides heads: 4 or 8"),
    model("A pattern of no kinds", SIZES + ", pattern: [full]",
          "error: 'pattern' names kinds of layers, and there are none", "give kinds beside it"),
    model("Kinds of layers without a pattern", SIZES + ", kinds: {full: {}}",
          "error: 'kinds' without a pattern: no layer is of any of them", "give pattern"),
    model("A pattern of a kind that is not there", SIZES + ", kinds: {full: {}}, pattern: [2 ful]",
          "error: '2 ful' is no kind of layer", "full"),
    model("A pattern longer than the model", SIZES + ", kinds: {full: {}}, pattern: [9 full]",
          "error: a pattern of 9 layers, and the model has 8", "at most 8 layers"),
    model("A kind of which no layer is", SIZES + ", kinds: {full: {}, other: {}}, pattern: [full]",
          "error: no layer is of kind 'other'", "name it in pattern"),
    model("A kind of layers of nothing", SIZES + ", kinds: {empty: {mixer: none, feed_forward: none}}, pattern: [empty]",
          "error: a layer of nothing: neither a mixer nor what follows it", "feed_forward: dense, or a mixer"),
    model("A kind with experts in a dense model", SIZES + ", kinds: {full: {feed_forward: experts}}, pattern: [full]",
          "error: experts in layers of this kind, but the model has none", "give experts"),
    model("Kinds that leave no layer with experts",
          SIZES + ", experts: 8, experts_per_token: 2, kinds: {full: {feed_forward: dense}}, pattern: [full]",
          "error: no layer has experts, by the kinds of layers", "feed_forward: experts in one of the kinds"),
    model("Heads of values that are no multiple of those of keys",
          SIZES + ", kinds: {linear: {mixer: gated-delta, key_heads: 3, value_heads: 4, key_size: 8, value_size: 8}}, "
          "pattern: [linear]",
          "error: 4 value_heads are not a multiple of 3 key_heads", "key_heads divides value_heads: 2 or 4"),
    model("An interval of windows without a window", SIZES + ", window_interval: 2",
          "error: 'window_interval' has no meaning without a window or chunk", "give window or chunk"),
    model("An interval of windows beside kinds",
          SIZES + ", window: 64, window_interval: 2, kinds: {full: {}}, pattern: [full]",
          "error: 'window_interval' and 'kinds' both say which layers see all keys", "leave window_interval out"),
    model("Chunks that do not divide the sequence", SIZES + ", chunk: 100",
          "does not divide into chunks of 100", "a multiple of the chunk"),
    model("An indexer without latent attention", SIZES + ", indexer: {heads: 2, head: 8, keys: 64}",
          "error: an indexer takes the compressed queries of latent attention, and there are none",
          "give latent_attention.query_rank"),
    model("An indexer beside a window",
          SIZES + ", position: none, latent_attention: {query_rank: 8, key_value_rank: 8, head: 8, value_head: 8}, "
          "window: 64, indexer: {heads: 2, head: 8, keys: 64}",
          "error: an indexer chooses among all keys, and a window or chunk leaves some out", "leave out the window"),
    model("An indexer of a model that is not causal",
          SIZES + ", position: none, latent_attention: {query_rank: 8, key_value_rank: 8, head: 8, value_head: 8}, "
          "causal: false, indexer: {heads: 2, head: 8, keys: 64}",
          "error: an indexer chooses among the tokens before a query, and the model is not causal", "causal: true"),
    model("Norms of heads in latent attention",
          SIZES + ", position: none, latent_attention: {key_value_rank: 8, head: 8, value_head: 8}, head_norms: true",
          "error: 'head_norms' means nothing beside latent attention", "leave it out"),
    model("Experts of which none is used", SIZES + ", experts: 8",
          "error: no expert is used: experts_per_token is 0", "between 1 and the 8 experts"),
    model("More experts for a token than there are", SIZES + ", experts: 8, experts_per_token: 9",
          "error: 9 experts per token, but a layer has 8", "at most 8"),
    model("Groups that do not divide the experts", SIZES + ", experts: 8, experts_per_token: 2, expert_groups: 3",
          "error: 8 experts do not divide into 3 groups", "expert_groups divides experts: 2 or 4"),
    model("More groups for a token than there are",
          SIZES + ", experts: 8, experts_per_token: 2, expert_groups: 4, groups_per_token: 5",
          "error: 2 experts of a token cannot come from 5 of 4 groups of 2"),
    model("Layers of experts that never come", SIZES + ", experts: 8, experts_per_token: 2, expert_interval: 9",
          "error: none of 8 layers has experts", "at most 8"),
    model("Shared experts of a dense model", SIZES + ", shared_experts: 1",
          "error: 'shared_experts' has no meaning without experts"),
    model("A model too large to count", SIZES.replace("layers: 8", "layers: 100000").replace(
          "hidden: 1024", "hidden: 1048576"), "error: the sizes make 1.3e+18 parameters", "at most 10^15"),
    model("A recommendation model whose parts do not fit", "kind: dlrm, tables: 4, rows: 100, dimension: 64, "
          "dense_features: 13, bottom: [512, 32], top: [64, 1]",
          "error: the last layer has 32 values, a row of the tables 64", "end it with 64"),
    model("A network of no convolutions", "kind: convolutional, convolutions: [], features: 8, classes: 8",
          "error: 'convolutions' must be a list of at least one"),
    model("A convolution pooled over more than its output",
          "kind: convolutional, features: 8, classes: 8, convolutions: [{inputs: 3, outputs: 8, size: 4, pool: 5}]",
          "error: 5 by 5 pixels of an output of 4 by 4", "at most the size of the output"),
    model("A convolution with a stride that repeats", "kind: convolutional, features: 8, classes: 8, "
          "convolutions: [{inputs: 3, outputs: 3, size: 8, stride: 2, repeat: 2}]",
          "error: a convolution whose output is smaller than its input cannot follow itself",
          "list the one with a stride or a pool apart"),
    model("More predictions than tokens", SIZES + ", predictions: 2048",
          "error: 2048 predictions in a sequence of 1024 tokens", "at most 1024"),
    *[whole(f"A precision of {bits} bits that is not modelled", MODEL + f"  precision: {word}\n",
            f"error: workload.precision: unknown value '{word}'", f"hint: {hint}")
      for word, bits, hint in (("fp4", 4, "did you mean 'nvfp4'?"),
                               ("fp6", 6, "known: fp64, fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4, int8"))],
    job("mxfp8 on a device that has none", "data: 8", "job.yaml:6:14: error: the job computes in mxfp8, for which device "
        "'h100-sxm' has no peak", "or fp8", "or add peak.mxfp8 to the device", more="precision: mxfp8",
        base=MODEL.replace("dgx-a100", "dgx-h100")),
    job("A recipe of another precision", "data: 8", "error: the recipe 'nvfp4' is of nvfp4, not of fp8",
        "precision: nvfp4, or another recipe, or none", more="precision: fp8\nrecipe: nvfp4",
        base=MODEL.replace("dgx-a100", "dgx-b200")),
    job("A recipe that leaves all layers in bf16", "data: 8", "error: the recipe leaves 8 layers in bf16, and the model has 8",
        "fewer of workload.recipe.first and workload.recipe.last, or workload.precision: bf16",
        more="recipe: {name: half, precision: mxfp8, first: 4, last: 4}", base=MODEL.replace("dgx-a100", "dgx-b200")),
    job("A recipe of a convolutional network", "data: 8", "error: only layers of transformers have a recipe of low precision",
        "leave workload.recipe out, and write workload.precision: fp8 or bf16", more="recipe: delayed",
        base=RESNET.replace("dgx-a100", "dgx-h100")),
    job("A product that recipes do not know", "data: 8", "error: a recipe knows no 'projectoin'", "projection",
        more="recipe: {name: mine, products_in_bf16: [projectoin]}", base=MODEL.replace("dgx-a100", "dgx-h100")),
    job("A recipe without products", "data: 8", "error: no GEMM is left in low precision",
        "workload.precision: bf16, without a recipe",
        more="recipe: {name: none, stages_in_bf16: [forward, input-gradient, weight-gradient]}",
        base=MODEL.replace("dgx-a100", "dgx-h100")),
    job("Casts of a recipe that move more than can be counted", "data: 8",
        "error: the casts of operands to fp8 move more bytes than can be counted",
        "less of workload.recipe.operand and workload.recipe.normalised",
        more="recipe: {name: mine, operand: 1 TiB}", base=MODEL.replace("dgx-a100", "dgx-h100")),
    whole("Overlapping parameters beside the software's own keys", MODEL + "  overlap: {parameters: false}\n",
          "unknown key 'parameters' in 'workload.overlap'", "here it is 'workload.software.overlap.parameters'"),
    whole("Software that fuses norms in no precision there is",
          MODEL + "  software: {name: some, fused_norm: [fp17]}\n",
          "job.yaml:6:", "error: no precision is called 'fp17'", "did you mean 'fp16'?"),
    whole("Software with the wait for a host of old",
          MODEL + "  software: {name: some, expert_host: 1 ms}\n",
          "job.yaml:6:", "error: 'expert_host' is gone", "host: {launch: 30 us, router: 40, reads_sizes: true}"),
    whole("A launch of a kernel that takes hours",
          MODEL + "  software: {name: some, host: {launch: 2500 h}}\n",
          "job.yaml:6:", "error: a launch cannot take", "at most 1"),
    whole("An operator of too many kernels",
          MODEL + "  software: {name: some, host: {kernels: {product: 5000}}}\n",
          "job.yaml:6:", "error:", "5000"),
]

DEGREES = [
    job("A job of more ranks than devices", "tensor: 2, data: 8",
        "job.yaml:4:31: error: the job has 16 ranks (tensor 2 x context 1 x data 8 x pipeline 1), the cluster 8 devices",
        "take a cluster of 16 devices (raise `nodes`, or a `size` of its `dims`), or workload.parallel.data: 4"),
    job("More stages than devices", "pipeline: 16",
        "job.yaml:4:24: error: the job has 16 ranks", "(raise `nodes`, or a `size` of its `dims`), or lower the degrees"),
    job("More ranks than can be counted", "tensor: 65536, context: 16777216, data: 16777216",
        "job.yaml:4:38: error: the job has more than 16777216 ranks", "lower the degrees of workload.parallel"),
    job("Servers without a device", "data: 8, exchange: parameter-server, servers: 2",
        "job.yaml:4:20: error: the job has 10 ranks (tensor 1 x context 1 x data 8 x pipeline 1 + 2 servers)",
        "or workload.parallel.data: 4"),
    job("`tensor: 0`", "tensor: 0", "job.yaml:4:22: error: workload.parallel.tensor: 0 is out of range; expected 1"),
    job("`zero: 4`", "zero: 4", "workload.parallel.zero: 4 is out of range; expected 0 to 3"),
    job("Heads that do not divide among ranks", "tensor: 3",
        "job.yaml:4:22: error: 16 attention heads do not divide among 3 tensor-parallel ranks",
        "workload.parallel.tensor: one of 1, 2, 4, 8, 16 (the divisors of heads)"),
    job("Heads of keys that neither divide nor repeat", "tensor: 6",
        "error: 4 heads of keys and values neither divide among 6 tensor-parallel ranks nor repeat evenly",
        "workload.parallel.tensor: one of 1, 2, 4, or a multiple of 4"),
    job("Heads of linear attention that do not divide", "tensor: 8",
        "error: 4 heads of keys of linear attention do not divide among 8 tensor-parallel ranks",
        "the divisors of key_heads", base=LINEAR),
    job("A state that context-parallel ranks would hand on", "context: 2, data: 4",
        "error: layers of kind 'linear' pass a state along the sequence", "workload.parallel.context: 1", base=LINEAR),
    job("A window in a ring", "context: 2, data: 4",
        "error: a query sees 64 of 1024 keys, and a ring would pass on all of them",
        "workload.parallel.context_kind: all-gather", base=MODEL.replace("heads: 16", "window: 64, heads: 16")),
    job("Chunks that context-parallel ranks do not divide", "context: 8, context_kind: all-gather",
        "error: 128 tokens of a context-parallel rank do not divide into 256 chunks",
        base=MODEL.replace("heads: 16", "chunk: 4, heads: 16")),
    job("An indexer over context-parallel ranks", "context: 2, data: 4",
        "error: an indexer over keys of context-parallel ranks is not modelled", "workload.parallel.context: 1",
        base=MODEL.replace("heads: 16, kv_heads: 4", "heads: 16, position: none, latent_attention: {query_rank: 8, "
                           "key_value_rank: 8, head: 8, value_head: 8}, indexer: {heads: 2, head: 8, keys: 64}")),
    job("A sequence that does not divide", "context: 3",
        "job.yaml:4:23: error: a sequence of 1024 tokens does not divide among 3 context-parallel ranks",
        "workload.parallel.context: one of 1, 2, 4, 8"),
    job("Heads that do not divide among ranks of an all-to-all", "context: 8, context_kind: all-to-all",
        "job.yaml:4:23: error: 12 attention heads of a tensor-parallel rank do not divide among 8 ranks of an all-to-all",
        "workload.parallel.context: one of 1, 2, 3, 4, 6, 12, or workload.parallel.context_kind: ring or all-gather",
        base=MODEL.replace("heads: 16, kv_heads: 4", "heads: 12, kv_heads: 4").replace("hidden: 1024", "hidden: 768")),
    job("Heads of keys that neither divide nor repeat among ranks of an all-to-all", "context: 4, context_kind: all-to-all",
        "error: 6 heads of keys and values of a tensor-parallel rank neither divide among 4 ranks of an all-to-all nor repeat",
        "workload.parallel.context: one of 1, 2, 3, 6, or a multiple of 6",
        base=MODEL.replace("heads: 16, kv_heads: 4", "heads: 12, kv_heads: 6").replace("hidden: 1024", "hidden: 768")),
    job("Ranks that do not divide into groups", "context: 8, context_kind: all-to-all+ring, context_inner: 3",
        "error: 8 context-parallel ranks do not divide into groups of 3", "workload.parallel.context_inner: one of 1, 2, 4, 8"),
    job("Groups without an all-to-all in them", "context: 8, context_inner: 4",
        "error: context_inner changes nothing: it is of all-to-all within groups", "workload.parallel.context_kind: all-to-all+ring"),
    job("A balance of ranks that have whole sequences", "context: 4, context_kind: all-to-all, context_balance: contiguous",
        "error: context_balance changes nothing: all ranks have as much to do either way", "leave it out"),
    job("More chunks of the loss than tokens", "context: 8", "error: 128 tokens of a micro-batch cannot be cut into 256 chunks",
        "workload.loss.chunks: 1 to 128", more="loss: {chunks: 256}"),
    job("Chunks of the loss of a model without a vocabulary", "data: 8", "error: loss changes nothing: the model has no logits of a vocabulary",
        "leave it out, or give workload.model.vocab", more="loss: {chunks: 2}", base=MODEL.replace("vocab: 51200", "vocab: 0")),
    job("Chunks of the loss of a model that is no transformer", "data: 8", "error: loss changes nothing: the model has no logits of a vocabulary",
        "leave it out", more="loss: {chunks: 2}", base=RESNET),
    job("Sequence parallelism over tokens that do not divide", "tensor: 8, sequence: true",
        "job.yaml:4:35: error: sequence parallelism: 1022 tokens of a micro-batch do not divide among 8",
        "workload.parallel.sequence: false, or workload.parallel.tensor: one of 1, 2", base=MODEL.replace("sequence: 1024", "sequence: 1022")),
    job("Layers that do not divide among stages", "pipeline: 3",
        "job.yaml:4:24: error: 8 layers do not divide among 3 stages",
        "workload.parallel.pipeline: one of 1, 2, 4, 8, or workload.pipeline_layers: [3, 3, 2]"),
    job("Layers that do not divide among chunks", "pipeline: 4", "job.yaml:4:24: error: 8 layers do not divide among 4 "
        "stages of 4 chunks", "workload.parallel.pipeline times virtual_stages: one of 1, 2, 4, 8, or workload.pipeline_layers: [0, 0",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 4}"),
    job("Layers that do not divide among many chunks", "pipeline: 8", "8 layers do not divide among 8 stages of 16 chunks",
        "workload.pipeline_layers: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 16}"),
    job("A list of layers with the wrong sum", "pipeline: 2", "job.yaml:6:20: error: pipeline_layers lists 2 stages "
        "with 7 layers in all; the job has 2 stages with 8", "for example workload.pipeline_layers: [4, 4]",
        more="pipeline_layers: [4, 3]"),
    job("A list of layers for too few stages", "pipeline: 4", "job.yaml:6:20: error: pipeline_layers lists 1 stage with "
        "8 layers in all; the job has 4 stages with 8", more="pipeline_layers: [8]"),
    job("A list of layers that is none", "pipeline: 2", "job.yaml:6:20: error: not a list of numbers of layers",
        "for example [7, 8, 8, 7], or even, or a layout such as 'Ett|(tt|)*2L'", more="pipeline_layers: [4, four]"),
    job("A layout with a letter that is no part of one", "pipeline: 2", "job.yaml:6:20: error: character 3 of the layout: "
        "x is no part of a layout", "E: embedding, t: layer, m: multi-token prediction, L: loss", more="pipeline_layers: 'Etx|tL'"),
    job("A layout with an open parenthesis", "pipeline: 2", "job.yaml:6:20: error: character 2 of the layout: this "
        "parenthesis is not closed", "for example (tt|)*4", more="pipeline_layers: 'E(t|t*7L'"),
    job("A layout with a parenthesis that closes nothing", "pipeline: 2", "character 4 of the layout: no parenthesis is "
        "open here", "for example (tt|)*4", more="pipeline_layers: 'Ett)*2|L'"),
    job("A layout with nested parentheses", "pipeline: 2", "character 4 of the layout: a parenthesis within another",
        "write the inner one out", more="pipeline_layers: 'E(t(t)*2|)*2L'"),
    job("A layout with a star and no number", "pipeline: 2", "character 3 of the layout: no number of times behind '*'",
        "for example t*3", more="pipeline_layers: 'Et*|tL'"),
    job("A layout beyond any pipeline", "pipeline: 2", "character 3 of the layout: more parts than any pipeline has",
        "at most 1048576 in all", more="pipeline_layers: 'Et*9999999|tL'"),
    job("A layout without an embedding", "pipeline: 2", "character 1 of the layout: the embedding does not come first",
        "begin with E", more="pipeline_layers: 't*4|t*4L'"),
    job("A layout with two embeddings", "pipeline: 2", "character 6 of the layout: the embedding stands on the first "
        "stage, before its layers", "one E, at the start", more="pipeline_layers: 'Ettt|Et*5L'"),
    job("A layout without a loss", "pipeline: 2", "character 10 of the layout: the layout ends without a loss", "end with L",
        more="pipeline_layers: 'Et*4|t*4,'"),
    job("A layout that goes on behind the loss", "pipeline: 2", "character 6 of the layout: the loss is not the last",
        "end with L", more="pipeline_layers: 'Et*4L|t*4'"),
    job("A layout with multi-token prediction apart from the loss", "pipeline: 2", "character 6 of the layout: modules of "
        "multi-token prediction stand on another stage than the loss", "m before L on the last stage", more="pipeline_layers: 'Et*8m|L'"),
    job("A layout with a layer behind multi-token prediction", "pipeline: 2", "character 8 of the layout: a layer behind a "
        "module of multi-token prediction", "m behind the last t", more="pipeline_layers: 'Et*7|,mtL'"),
    job("A layout with modules that the model has not", "pipeline: 2", "job.yaml:6:20: error: the layout has 1 modules of "
        "multi-token prediction (m), the model has 0", "no m before L, or workload.model.mtp_layers: 1",
        more="pipeline_layers: 'Et*4|t*4mL'"),
    job("A layout with too few layers", "pipeline: 2", "pipeline_layers lists 2 stages with 7 layers in all; the job has 2 "
        "stages with 8", more="pipeline_layers: 'Et*4|t*3L'"),
    job("A rule for layers that is none", "pipeline: 2", "job.yaml:6:20: error: not a rule for the layers of stages",
        "for example {account_for: [embedding, loss]}, or {first: 3, last: 3}", more="pipeline_layers: {account_for: head}"),
    job("A rule for layers with both ways to make room", "pipeline: 2", "ends that count as layers, and stages with layers of "
        "their own", "for example {account_for: [embedding, loss]}", more="pipeline_layers: {account_for: loss, first: 3}"),
    job("Ends that count as layers and do not divide", "pipeline: 4", "job.yaml:6:20: error: 8 layers and 2 that count as such do "
        "not divide among 4 stages", "for example workload.pipeline_layers: [2, 2, 2, 2]",
        more="pipeline_layers: {account_for: [embedding, loss]}"),
    job("A first stage whose rest does not divide", "pipeline: 4", "8 layers, less 1 on the first stage and none of their own on the "
        "last, do not divide among 4 stages", "for example workload.pipeline_layers: [2, 2, 2, 2]", more="pipeline_layers: {first: 1}"),
    job("An order with a degree twice", "data: 8, order: [tensor, data, data, pipeline]",
        "job.yaml:4:30: error: not an order of the four degrees", "each of tensor, context, data and pipeline once"),
    job("An order of three", "data: 8, order: [tensor, data, pipeline]",
        "job.yaml:4:30: error: not an order of the four degrees"),
    job("An order of an unknown degree", "data: 8, order: [tensor, context, data, expert]",
        "job.yaml:4:30: error: not an order of the four degrees"),
]

BATCHES = [
    job("A batch that does not divide", "data: 8",
        "job.yaml:5:19: error: a global batch of 20 does not divide into 8 replicas of micro-batches of 1",
        "workload.batch.global: 16 or 24, or workload.parallel.data times workload.batch.micro one of 1, 2, 4, 5, 10, 20", batch="{global: 20}"),
    job("A batch smaller than its parts", "data: 8",
        "job.yaml:5:19: error: a global batch of 4 does not divide into 8 replicas of micro-batches of 2",
        "workload.batch.global: 16, or workload.parallel.data times workload.batch.micro one of 1, 2, 4", batch="{global: 4, micro: 2}"),
    job("Micro-batches that do not interleave", "pipeline: 4, data: 2",
        "job.yaml:5:19: error: interleaving takes micro-batches 4 at a time (one for each stage), and 5 do not divide so",
        "workload.schedule.group: 5, or workload.batch.global: 8 or 16, or workload.schedule.kind: 1f1b", batch="{global: 10}",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2}"),
    job("A batch of sizes beyond counting", "data: 8", "job.yaml:5:37: error: a micro-batch of 3.44e+10 tokens makes "
        "more work than can be counted", "a smaller workload.batch.micro or workload.model.sequence, or a larger workload.parallel.context",
        batch="{global: 268435456, micro: 16777216}", base=MODEL.replace("sequence: 1024", "sequence: 2048")),
    job("More micro-batches than memory has room for", "data: 8", "job.yaml:5:19: error: the job has programs of "
        "about 3e+11 operations (536870912 micro-batches, 1 iterations), more than the 1e+08 that fit in memory",
        "a smaller workload.batch.global, a larger workload.batch.micro", batch="{global: 4294967296}"),
    job("`global: 0`", "data: 8", "job.yaml:5:19: error: workload.batch.global: 0 is out of range", batch="{global: 0}"),
]

SCHEDULES = [
    job("Chunks without an interleaved schedule", "pipeline: 2", "job.yaml:6:42: error: virtual_stages: 2 has no meaning "
        "for the schedule 1f1b", "workload.schedule.kind: 1f1b-interleaved beside it, or workload.schedule.virtual_stages: 1",
        more="schedule: {kind: 1f1b, virtual_stages: 2}"),
    job("Interleaving of one stage", "data: 8", "job.yaml:6:54: error: interleaving needs more than one pipeline stage",
        "leave workload.schedule.virtual_stages out, or raise workload.parallel.pipeline",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2}"),
    job("Interleaving with one chunk", "pipeline: 2", "job.yaml:6:20: error: 1f1b-interleaved interleaves nothing with one "
        "chunk per stage", "workload.schedule.virtual_stages: 2 or more, or workload.schedule.kind: 1f1b",
        more="schedule: {kind: 1f1b-interleaved}"),
    job("Groups without an interleaved schedule", "pipeline: 2", "job.yaml:6:21: error: group has no meaning for the schedule "
        "1f1b", "workload.schedule.kind: 1f1b-interleaved beside it, or leave group out", more="schedule: {group: 4}"),
    job("Groups shorter than the pipeline", "pipeline: 4, data: 2", "error: groups of 2 micro-batches do not keep the pipeline "
        "full: there are 4 stages", "workload.schedule.group: 4, or workload.schedule.kind: 1f1b", batch="{global: 16, micro: 1}",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2, group: 2}"),
    job("Groups longer than the batch", "pipeline: 4, data: 2", "error: groups of 9 micro-batches do not keep the pipeline "
        "full: there are 8 micro-batches", "workload.schedule.group: 4, or workload.schedule.kind: 1f1b", batch="{global: 16, micro: 1}",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2, group: 9}"),
    job("Groups with too short a rest", "pipeline: 4, data: 2", "error: groups of 5 micro-batches do not keep the pipeline "
        "full: of 8 micro-batches the last group would have 3, fewer than the 4 stages", "workload.schedule.group: 4, or "
        "workload.schedule.kind: 1f1b", batch="{global: 16, micro: 1}",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2, group: 5}"),
    job("An unknown schedule", "pipeline: 2", "error: workload.schedule.kind: unknown value '1f1p'",
        "did you mean '1f1b'?", more="schedule: {kind: 1f1p}"),
]

SHARING = [
    job("A shard of nothing", "data: 8, shard: 4", "job.yaml:4:30: error: shard: 4 shares nothing without zero",
        "workload.parallel.zero: 1, 2 or 3, or leave workload.parallel.shard out"),
    job("Shards that do not divide", "data: 8, zero: 3, shard: 3",
        "job.yaml:4:39: error: 8 replicas (data times context) do not divide into shards of 3",
        "workload.parallel.shard: one of 1, 2, 4, 8"),
    job("Nobody to be asynchronous", "data: 8, asynchronous: true",
        "job.yaml:4:37: error: asynchronous: true needs exchange: parameter-server",
        "workload.parallel.exchange: parameter-server"),
    job("Servers of nobody", "data: 8, servers: 2", "job.yaml:4:32: error: servers: 2 needs exchange: parameter-server",
        "workload.parallel.exchange: parameter-server, or leave workload.parallel.servers out"),
    job("Parameter servers beside tensor parallelism", "tensor: 2, data: 2, exchange: parameter-server",
        "job.yaml:4:44: error: parameter servers serve whole replicas",
        "leave only workload.parallel.data and servers, or write workload.parallel.exchange: collective"),
    job("Parameter servers of a recommendation model", "data: 4, exchange: parameter-server",
        "job.yaml:4:33: error: a recommendation model keeps its tables on the workers", "exchange: collective",
        base=DLRM, batch="{global: 16, micro: 4}"),
]

EXPERT = [
    job("Expert parallelism without experts", "data: 8, expert: 4",
        "job.yaml:4:31: error: expert: 4, but the model has no experts", "leave it out, or take a model with experts"),
    job("Skew without experts", "data: 8, expert_skew: 1",
        "job.yaml:4:36: error: expert_skew changes nothing: experts are not spread over ranks", "leave it out"),
    job("Skew of experts that every rank has", "data: 8, expert_skew: 1",
        "job.yaml:4:36: error: expert_skew changes nothing: experts are not spread over ranks",
        "leave it out, or give workload.parallel.expert, the ranks that share the experts", base=EXPERTS),
    job("Places of experts that are all alike", "data: 8, expert: 8, expert_seed: 2",
        "job.yaml:4:47: error: expert_seed changes nothing: all experts are equally popular",
        "give workload.parallel.expert_skew", base=EXPERTS),
    job("Skew beyond reason", "data: 8, expert: 8, expert_skew: 5",
        "error: invalid exponent 5 of Zipf's law for experts", "between 0 (all alike) and 4", base=EXPERTS),
    job("Experts that do not divide", "data: 6, expert: 3", "job.yaml:4:31: error: 8 experts do not divide among 3 "
        "expert-parallel ranks", "workload.parallel.expert: one of 1, 2", base=EXPERTS, batch="{global: 12}"),
    job("Replicas that do not divide among experts", "data: 4, expert: 8",
        "job.yaml:4:31: error: expert: 8 does not divide the 4 ranks of data times context", "workload.parallel.expert: one of 1, 2, 4",
        base=EXPERTS),
    job("Tensor parallel experts whose tokens are whole", "tensor: 2, data: 4, expert: 4",
        "job.yaml:4:13: error: experts with tensor parallelism need sequence parallelism", "workload.parallel.sequence: true",
        base=EXPERTS),
    job("Dispatch of experts that every rank has", "data: 8",
        "job.yaml:6:23: error: experts.dispatch changes nothing: experts are not spread over ranks",
        "workload.parallel.expert", more="experts: {dispatch: deepep}", base=EXPERTS),
    job("Dispatch by a library of no name", "data: 8, expert: 8", "error: no 'deep-ep' among the shipped dispatch",
        "did you mean 'deepep'?", more="experts: {dispatch: deep-ep}", base=EXPERTS),
    whole("DeepEP beside the fixed library",
          EXPERTS.replace("data: 8", "data: 8, expert: 8") + "  experts: {dispatch: deepep}\ncollectives: {library: fixed}\n",
          "error: tokens are dispatched by 'deepep', which is timed with 'library: nccl' only",
          "write dispatch: all-to-all"),
    job("Shared experts beside a dispatch, with tensor parallelism", "tensor: 2, data: 4, expert: 4, sequence: true",
        "error: shared experts with tensor parallelism communicate themselves: no overlap",
        "leave workload.experts.overlap_shared out", more="experts: {overlap_shared: true}", base=EXPERTS),
    job("Shared experts beside a dispatch, of a model that has none", "data: 8, expert: 8",
        "error: experts.overlap_shared changes nothing: the model has no shared experts",
        "workload.model.shared_experts",
        more="experts: {overlap_shared: true}", base=EXPERTS),
    job("Tensor parallelism of experts that there are not", "tensor: 2, data: 4, expert_tensor: 2",
        "job.yaml:4:49: error: expert_tensor: 2, but the model has no experts",
        "leave it out, or take a model with experts"),
    job("A dispatch that takes more multiprocessors than there are", "data: 8, expert: 8",
        "error: 'deepep' takes 109 multiprocessors, and device 'a100-sxm-80gb' has 108",
        "workload.experts.dispatch.processors: at most 108", more=DISPATCH.format(109), base=EXPERTS),
    job("A dispatch that leaves no multiprocessor to the pass beside it", "pipeline: 2, data: 4, expert: 4",
        "error: 'deepep' takes 108 multiprocessors beside what is computed, and device 'a100-sxm-80gb' has 108",
        "workload.experts.dispatch.processors: at most 107",
        more=DISPATCH.format(108) + "schedule: {kind: 1f1b, overlap_passes: true}\n", base=EXPERTS),
    job("A dispatch within NVLink domains over two of them", "data: 16, expert: 16",
        "error: 'trtllm-one-sided' connects the ranks of one node only, but of expert-parallel group expert0 rank 0 is on "
        "node 0, rank 8 on node 1", "workload.experts.dispatch: deepep, or a smaller workload.parallel.expert",
        more="experts: {dispatch: trtllm-one-sided}",
        base=EXPERTS.replace("dgx-a100", "dgx-b200\nnodes: 2").replace("experts: 8", "experts: 16")),
    job("DualPipe of an odd number of stages", "pipeline: 1, data: 8", "error: 1 stages do not meet in the middle",
        "an even workload.parallel.pipeline: 2", more="schedule: {kind: dualpipe}"),
    job("DualPipe of too few micro-batches", "pipeline: 4, data: 4",
        "error: dualpipe takes at least 8 micro-batches, an even number, and there are 4",
        "workload.batch.global: 32, or workload.schedule.kind: 1f1b", more="schedule: {kind: dualpipe}"),
    job("Overlapping passes of GPipe", "pipeline: 2, data: 4",
        "error: overlap_passes has no meaning for the schedule gpipe", "workload.schedule.kind: 1f1b",
        more="schedule: {kind: gpipe, overlap_passes: true}"),
    job("Modules beside full recomputation", "data: 8",
        "error: everything is computed again: there is nothing to choose", more="recompute: full\nrecompute_modules: norm"),
    job("A module of no name", "data: 8", "error: no module is called 'norms'", "norm",
        more="recompute_modules: norms"),
    job("The up-projection of attention that has none", "data: 8",
        "error: up-projection is of latent attention, which the model does not have", more="recompute_modules: up-projection"),
    job("Modules beside a choice of GEMMs", "data: 8",
        "error: this software's selective recomputation chooses every second GEMM, not modules",
        "leave workload.recompute_modules out, or workload.recompute: none",
        more="recompute: selective\nsoftware: torchtitan-2025\nrecompute_modules: norm"),
    job("Attention that is computed again twice", "data: 8",
        "error: selective recomputation computes attention again already",
        "leave attention out, or workload.recompute: none",
        more="recompute: selective\nrecompute_modules: core_attn",
        base=MODEL.replace("sequence: 1024", "sequence: 1024, attention: plain")),
    job("Shared experts computed again beside the dispatch", "data: 8, expert: 8",
        "error: shared experts beside the dispatch are not computed again by themselves",
        "workload.experts.overlap_shared: false, or leave shared-experts out",
        more="experts: {overlap_shared: true}\nrecompute_modules: shared_experts",
        base=EXPERTS.replace("experts: 8", "experts: 8, shared_experts: 1")),
    *[job(f"The module {module} of a model without it", "data: 8",
          f"error: {name} changes nothing: {reason}", f"leave {name} out", more=f"recompute_modules: [{module}]", base=base)
      for module, name, reason, base in (
          ("core_attn", "attention", "no layer has attention", LINEAR),
          ("mlp", "mlp", "no layer is dense", EXPERTS),
          ("moe", "experts", "the model has none", MODEL),
          ("moe_act", "expert-activation", "the model has no experts", MODEL),
          ("shared_experts", "shared-experts", "the model has none", EXPERTS),
          ("moe_act, activation", "expert-activation", "activation has those of experts", EXPERTS),
          ("moe_act, moe", "expert-activation", "experts are computed again with it", EXPERTS),
          ("shared_experts, moe", "shared-experts", "experts have the shared ones among them",
           EXPERTS.replace("experts: 8", "experts: 8, shared_experts: 1")))],
    job("A capacity that is none", "data: 8", "error: invalid capacity factor 2000", "between 0 (experts take all that comes) and 1024",
        more="experts: {capacity_factor: 2000}", base=EXPERTS),
    job("A capacity without experts", "data: 8", "error: capacity_factor, but the model has no experts",
        "leave it out, or take a model with experts", more="experts: {capacity_factor: 1.25}"),
    job("More copies of experts than experts", "data: 8, expert: 8, expert_skew: 1",
        "error: 16 redundant experts, more than the 8 experts", "at most 8", more="experts: {redundant: 16}", base=EXPERTS),
    job("Copies of experts that are all alike", "data: 8, expert: 8",
        "error: redundant experts balance nothing: all experts are equally popular",
        "leave it out, or give workload.parallel.expert_skew, the exponent of Zipf's law",
        more="experts: {redundant: 8}", base=EXPERTS),
    job("Padding to no capacity", "data: 8", "error: pad_to_capacity without a capacity: experts take all that comes",
        "workload.experts.capacity_factor: 1.25, or leave it out", more="experts: {pad_to_capacity: true}", base=EXPERTS),
    job("Skew of padded experts", "data: 8, expert: 8, expert_skew: 1",
        "error: expert_skew changes nothing: every expert has as many rows as its capacity",
        "leave it out, or workload.experts.pad_to_capacity: false",
        more="experts: {pad_to_capacity: true, capacity_factor: 1.25}", base=EXPERTS),
    job("A capacity above the mean of experts that are all alike", "data: 8, expert: 8",
        "error: capacity_factor changes nothing: experts that are all alike take the mean",
        "workload.experts.pad_to_capacity: true where the framework pads",
        more="experts: {capacity_factor: 1.25}", base=EXPERTS),
    job("A capacity above what any expert gets", "data: 8, expert: 8, expert_skew: 1",
        "error: capacity_factor changes nothing: an expert gets at most 4 times the mean",
        "leave it out", more="experts: {capacity_factor: 4}", base=EXPERTS),
    job("Hybrid sharding within the ranks that share experts", "data: 8, expert: 8, zero: 1, shard: 4",
        "job.yaml:4:50: error: the 4 ranks that share one copy of the model do not divide into groups of 8 that share the "
        "experts", "a multiple of workload.parallel.expert, or leave workload.parallel.shard out", base=EXPERTS),
]

OTHER_KINDS = [
    *[job(f"`{key}` of a convolutional network", f"data: 4, {key}", f"error: only transformers have '{key.split(':')[0]}'",
          "leave it out; data, zero and shard are for every model", base=RESNET)
      for key in ("tensor: 2", "context: 2", "pipeline: 2", "expert: 2", "expert_tensor: 2", "expert_skew: 1",
                  "expert_seed: 2", "sequence: true")],
    *[job(f"`{key}` of experts of a convolutional network", "data: 8", f"error: only transformers have '{key}'",
          "leave it out", more=f"experts: {{{key}: {value}}}", base=RESNET)
      for key, value in (("capacity_factor", 2), ("pad_to_capacity", "true"), ("redundant", 8), ("row_multiple", 16))],
    job("Stages of a convolutional network", "data: 8", "job.yaml:6:20: error: only transformers have a pipeline",
        more="pipeline_layers: [1]", base=RESNET),
    job("Chunks of a convolutional network", "data: 8", "job.yaml:6:54: error: only transformers have a pipeline",
        more="schedule: {kind: 1f1b-interleaved, virtual_stages: 2}", base=RESNET),
    job("Weight gradients of a convolutional network put off", "data: 8",
        "job.yaml:6:20: error: only transformers put weight gradients off", "workload.schedule.kind: 1f1b",
        more="schedule: {kind: zero-bubble}", base=RESNET),
    job("Recomputation of a convolutional network", "data: 8",
        "job.yaml:6:14: error: only transformers recompute activations", "recompute: none", more="recompute: full",
        base=RESNET),
    *[whole(f"Casts to fp8 that move more than can be counted, of {operand}",
            MODEL.replace("dgx-a100", "dgx-h100") + "  precision: fp8\n"
            f"  software: {{name: fast, fp8: {{{operand}}}}}\n",
            "job.yaml:7:13: error: the casts of operands to fp8 move more bytes than can be counted",
            "less of workload.software.fp8.operand and workload.software.fp8.normalised")
      for operand in ("operand: 1 TiB", "operand: 1 PiB", "normalised: 1 PiB")],
    *[whole(f"Memory beside the job that no device has: {footprint}",
            MODEL + f"  software: {{name: greedy, footprint: {{{footprint}}}}}\n", f"error: {found}", hint)
      for footprint, found, hint in (("reserve: 8 PiB", "reserve: 8.000 PiB is more than any device has", "7 GiB"),
                                     ("deterministic: 1 TiB", "deterministic: 1.000 TiB is more than any device has",
                                      "as in 32 MiB"),
                                     ("workspaces: {hoper: {products: 1 MiB}}", "no architecture is called 'hoper'",
                                      "hopper"),
                                     ("loss: 1 GiB", "loss: 1.000 GiB of each logit", "at most 64 B"),
                                     ("fragments: 2", "fragments: 2 is no share", "between 0 and 1"))],
    job("Adapters beside a GEMM of no name", "data: 8", "error: '' is not known here",
        "known: qkv, projection, up, down",
        more='lora: {targets: [""]}'),
    job("More images at once than can be counted", "data: 8", "job.yaml:5:35: error: 1048576 samples at once are too many",
        "batch.micro: at most 262144", batch="{global: 8388608, micro: 1048576}", base=RESNET),
    job("Micro-batches of a recommendation model", "data: 8", "job.yaml:5:30: error: a recommendation model takes its "
        "whole batch at once, not in 2 micro-batches", "batch.micro: 2", base=DLRM),
]

MUON = "optimizer: muon"
HOSTS = [
    job("An optimizer that nobody knows", "data: 8", "error: no 'adamm' among the shipped optimizers", "did you mean 'adam'?", more="optimizer: adamm"),
    job("A state of no bytes", "data: 8", "error: a state has 1 to 16 bytes", "for example 2 B for bf16",
        more="optimizer: {moment: 0 B}"),
    job("Scales without states", "data: 8", "error: there are no states to scale", "leave it out, or give the optimizer moments",
        more="optimizer: {moments: 0, block: 256}"),
    job("Matrices of a convolutional network", "data: 8",
        "error: 'muon' is of matrices of transformers, and the model is none", "write workload.optimizer: adam", more=MUON,
        base=RESNET),
    job("Matrices on servers of parameters", "data: 4, exchange: parameter-server, servers: 4",
        "error: 'muon' needs whole matrices, which servers of parameters do not have",
        "workload.parallel.exchange: collective, or workload.optimizer: adam", more=MUON),
    job("Products on matrices beyond counting", "data: 8", "error: the products of 'muon' are more operations than can be counted",
        "a smaller workload.model.hidden, or fewer workload.optimizer.matrices.iterations", more=MUON,
        base=MODEL.replace("hidden: 1024", "hidden: 262144, ffn_hidden: 1024")),
    job("A share above all", "data: 8", "error: states: 2 is no share", "between 0 and 100 %", more="offload: {states: 2}"),
    job("States of servers of parameters on hosts", "data: 4, exchange: parameter-server, servers: 4",
        "error: servers of parameters have the optimizer's states",
        "leave it out, or write workload.parallel.exchange: collective", more="offload: {states: 100 %}"),
    job("Matrices updated by hosts", "data: 8", "error: the processors of hosts do not compute products of whole matrices",
        "workload.offload.update: device", more=MUON + "\noffload: {states: 100 %}"),
    job("Activations of split passes on hosts", "pipeline: 8",
        "error: activations of passes side by side, of split ones and of unflushed pipelines stay on the device",
        "workload.schedule.kind: 1f1b", more="schedule: {kind: zero-bubble}\noffload: {activations: 100 %}"),
    job("Activations of less than a layer on hosts", "data: 8",
        "error: 5 % of the 8 layers of a virtual stage is less than half a layer", "workload.offload.activations: 7 %",
        more="offload: {activations: 5 %}"),
    job("Hosts that are not known to update", "data: 8",
        "error: it is not known how fast hosts update states in their memory", "or workload.offload.update: device",
        more="offload: {states: 100 %}", base=MODEL.replace("dgx-a100", "grand-teton")),
    job("Hosts that are not known to be reached", "data: 8",
        "error: it is not known how fast devices reach the memory of their hosts",
        "write cluster.node.host: {to_device: 25 GB/s, from_device: 25 GB/s}", more="offload: {activations: 100 %}",
        base=MODEL.replace("cluster: dgx-a100", "cluster: tpu-v5p-pod\nnodes: 1")),
    Row("More than hosts have", 5, ["error: rank 0 needs", "of memory of its host, which has",
                                    "a smaller share in workload.offload, or a larger cluster.node.host.memory"],
        ["run", "job.yaml", "--set", "cluster.node.host.memory=1 GB"], {"job.yaml": MODEL + "  offload: {states: 100 %}\n"}),
    Row("`generate` with offload", 2, ["error: Chakra has no operation for copies between a device and its host",
                                       "--set workload.offload={}"],
        ["workload", "generate", "job.yaml", "-o", "out"], {"job.yaml": MODEL + "  offload: {states: 100 %}\n"}),
]

TOO_LARGE = re.sub("{hidden.*}", "gpt3-13b", MODEL)
MEMORY = [
    whole("Sizes by the names of Hugging Face", MODEL.replace("hidden:", "hidden_size:"), "unknown key 'hidden_size'",
          "hint: here it is 'hidden'"),
    whole("A job that does not fit", TOO_LARGE, "job.yaml:3:3: error: rank 0 needs 2", "its device has 74.51 GiB",
          "parameters 2", "gradients 4", "optimizer 1", "activations", "would fit with",
          "; software megatron-2022 (default on ampere): plain attention\n", "; --allow-oom simulates it all the same", code=5),
    whole("A job that nothing makes fit", re.sub("{hidden.*}", "gpt-1t", MODEL), "job.yaml:3:3: error: rank 0 needs",
          "hint: no two changes of ", "are enough together; --allow-oom", code=5),
    Row("A generated job that does not fit", 5, ["job.yaml:3:3: error: rank 0 needs 2"],
        ["workload", "generate", "job.yaml", "-o", "out"], {"job.yaml": TOO_LARGE}),
    Row("`generate` of traces", 2, ["job.yaml: error: the experiment replays traces; there is nothing to generate",
                                    "give its workload a model, parallel and batch"],
        ["workload", "generate", "job.yaml", "-o", "out"]),
    Row("`generate` without a folder", 2, ["--out is required"], ["workload", "generate", "job.yaml"],
        {"job.yaml": MODEL}),
    Row("`generate` with DeepEP", 2, ["error: Chakra has no operation for how 'deepep' dispatches tokens",
                                      "--set workload.experts.dispatch=all-to-all"],
        ["workload", "generate", "job.yaml", "-o", "out"],
        {"job.yaml": EXPERTS.replace("data: 8", "data: 8, expert: 8") + "  experts: {dispatch: deepep}\n"}),
    *[Row(f"`generate` with {what}", 2, [f"error: Chakra has no operation for {message}", hint],
          ["workload", "generate", "job.yaml", "-o", "out"],
          {"job.yaml": f"cluster: dgx-a100\nnodes: 1\ncollectives: {{library: {library}}}\nworkload: {{{workload}}}\n"})
      for what, message, hint, library, workload in (
          ("an exchange of tokens", "how this library exchanges tokens", "workload.exchange.dispatch=all-to-all", "nccl",
           "exchange: {tokens: 1, hidden: 4096, experts: 16, experts_per_token: 2}"),
          ("sizes that differ", "an all_to_all whose sizes differ from pair to pair", "leave workload.shares", "fixed",
           "collective: all_to_all, size: 1 MiB, skew: 1"))],
    Row("`generate` into a file", 2, ["job.yaml: error: "], ["workload", "generate", "job.yaml", "-o", "job.yaml"],
        {"job.yaml": MODEL}),
    Row("`generate` where nothing can be made", 2, ["/proc/out: error: the folder cannot be made"],
        ["workload", "generate", "job.yaml", "-o", "/proc/out"], {"job.yaml": MODEL}),
    Row("`generate` over traces of more ranks", 2, ["out/rank.9.et: error: "],
        ["workload", "generate", "job.yaml", "-o", "out"], {"job.yaml": MODEL, "out/rank.9.et": b""}),
]

SEVERAL = [
    whole("Jobs beside a workload", TWO_JOBS + "workload: {chakra: {prefix: rank}}\n",
          "job.yaml:10:11: error: 'workload' is one job, and 'jobs' at job.yaml:2:1 are others: an experiment has one of the two",
          "put the workload into the list"),
    whole("An empty list of jobs", "cluster: dgx-a100\njobs: []\n", "job.yaml:2:7: error: 'jobs' is an empty list",
          "list a job at least"),
    whole("Jobs that are no list", "cluster: dgx-a100\njobs: {a: {}}\n",
          "job.yaml:2:7: error: 'jobs' is a map; a list is expected"),
    whole("Two jobs of one name", TWO_JOBS.replace("name: b", "name: a"),
          "job.yaml:5:11: error: two jobs are called 'a', one at job.yaml:3:11", "give each a name of its own"),
    whole("A job without a name", TWO_JOBS.replace("- name: a\n    workload", "- workload"),
          "job.yaml:3:5: error: 'jobs[].name' is missing"),
    whole("A job of an empty name", TWO_JOBS.replace("name: a", "name: ''"),
          "job.yaml:3:11: error: the name of a job is empty"),
    whole("A job without a workload", TWO_JOBS.replace("    workload: {chakra: {prefix: rank}}\n", ""),
          "job.yaml:3:5: error: job 'a' has no workload", "workload: a model to train, a collective to call, or traces to replay"),
    whole("A mistake in the workload of a job", TWO_JOBS.replace("data: 4", "dta: 4"),
          "job.yaml:8:18: error: unknown key 'dta' in 'jobs[].workload.parallel'", "did you mean 'data'?"),
    whole("The nodes of one job", TWO_JOBS.replace("  - name: b\n", "  - name: b\n    nodes: 4\n"),
          "unknown key 'nodes' in 'jobs[]'", "did you mean one of 'nodes', 'cluster.nodes', 'perturb.nodes'?"),
    whole("Jobs with more ranks than devices", "nodes: 1\n" + TWO_JOBS.replace("data: 4", "data: 8"),
          "job.yaml:1:1: error: the 2 jobs have 10 ranks, the cluster only 8 devices", "write `nodes: 2` or more"),
    whole("A list of devices shorter than the jobs", TWO_JOBS + "placement: [0, 1, 2, 3]\n",
          "job.yaml:10:12: error: placement lists 4 devices, the 2 jobs have 6 ranks"),
    whole("Two jobs on one device", TWO_JOBS + "placement: [0, 1, 2, 3, 4, 1]\n",
          "job.yaml:10:12: error: placement puts two ranks on device 1"),
    whole("A rank that no job has", TWO_JOBS + "perturb: {ranks: {6: {compute: 2}}}\n",
          "error: perturb.ranks.6: the job has no such rank", "its ranks are 0 to 5"),
    whole("A job that does not fit beside one that does", TWO_JOBS.replace("{hidden: 1024, layers: 8, heads: 16, vocab: 51200, "
                                                                           "sequence: 1024}", "gpt3-13b"),
          "job.yaml:7:7: error: rank 2, of job 'b', needs", "would fit with", code=5),
    Row("Traces of several jobs", 2, ["error: the experiment has several jobs, and traces are of one",
                                      "write an experiment for each job"],
        ["workload", "generate", "job.yaml", "--out", "traces"], {"job.yaml": TWO_JOBS}),
]

ROWS = WORKLOADS + SEVERAL + MODELS + DEGREES + BATCHES + SCHEDULES + SHARING + EXPERT + OTHER_KINDS + HOSTS + MEMORY
