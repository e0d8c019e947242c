#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""models_test.py PROGRAM: a config.json of Hugging Face is a model: one of each architecture has the number of parameters
that is published, and trains; memory by plan is that of `run`."""
import json
import math
import sys

from orrery_program import SMALL_JOB, run_parts

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
         "max_position_embeddings": 131072, "hidden_act": "silu", "rope_theta": 500000.0, "rope_scaling": None,
         "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "rms_norm_eps": 1e-05,
         "torch_dtype": "bfloat16", "_name_or_path": "meta-llama/Llama-3.1-8B"}


def like(base, **changes):
    return {**base, **changes}


QWEN3 = like(LLAMA, model_type="qwen3", hidden_size=4096, num_hidden_layers=36, intermediate_size=12288, head_dim=128,
             vocab_size=151936)
DEEPSEEK = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
            "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
            "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8,
            "topk_group": 4, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 129280, "max_position_embeddings": 163840, "tie_word_embeddings": False,
            "num_nextn_predict_layers": 0}
# The keys of each config.json that sizes follow from, and the parameters of the published weights.
PUBLISHED = {
    "Llama 3.1 8B": (LLAMA, 8_030_261_248),
    "Mistral 7B": (like(LLAMA, model_type="mistral", vocab_size=32000, sliding_window=4096), 7_241_732_096),
    "Mixtral 8x7B": (like(LLAMA, model_type="mixtral", vocab_size=32000, num_local_experts=8, num_experts_per_tok=2),
                     46_702_792_704),
    "Qwen2.5 7B": (like(LLAMA, model_type="qwen2", hidden_size=3584, num_hidden_layers=28, num_attention_heads=28,
                        num_key_value_heads=4, intermediate_size=18944, vocab_size=152064), 7_615_616_512),
    "Qwen3 8B": (QWEN3, 8_190_735_360),
    "Qwen3 30B-A3B": (like(QWEN3, model_type="qwen3_moe", hidden_size=2048, num_hidden_layers=48, num_key_value_heads=4,
                           intermediate_size=6144, moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8,
                           decoder_sparse_step=1, mlp_only_layers=[]), 30_532_122_624),
    "Qwen1.5 MoE A2.7B": (like(LLAMA, model_type="qwen2_moe", hidden_size=2048, num_hidden_layers=24, num_attention_heads=16,
                               num_key_value_heads=16, intermediate_size=5632, moe_intermediate_size=1408,
                               shared_expert_intermediate_size=5632, num_experts=60, num_experts_per_tok=4,
                               vocab_size=151936, decoder_sparse_step=1), 14_315_784_192),
    "Gemma 7B": ({"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
                  "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000,
                  "max_position_embeddings": 8192, "hidden_act": "gelu"}, 8_537_680_896),
    "Gemma 2 9B": ({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
                    "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
                    "max_position_embeddings": 8192}, 9_241_705_984),
    "Phi 3 mini": (like(LLAMA, model_type="phi3", hidden_size=3072, num_key_value_heads=32, intermediate_size=8192,
                        vocab_size=32064), 3_821_079_552),
    "GPT-2": ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
               "n_inner": None, "vocab_size": 50257, "activation_function": "gelu_new"}, 124_439_808),
    "GPT-NeoX-20B": ({"model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64,
                      "intermediate_size": 24576, "vocab_size": 50432, "max_position_embeddings": 2048,
                      "tie_word_embeddings": False}, 20_554_567_680),
    "OPT 6.7B": ({"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "ffn_dim": 16384,
                  "vocab_size": 50272, "max_position_embeddings": 2048}, 6_658_473_984),
    "BLOOM": ({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112, "vocab_size": 250880,
               "seq_length": 2048}, 176_247_271_424),
    "StarCoder2 3B": ({"model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24,
                       "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152,
                       "max_position_embeddings": 16384, "use_bias": True}, 3_030_371_328),
    "DeepSeek-V2-Lite": (like(DEEPSEEK, model_type="deepseek_v2", hidden_size=2048, num_hidden_layers=27,
                              num_attention_heads=16, intermediate_size=10944, moe_intermediate_size=1408,
                              n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1,
                              n_group=1, topk_group=1, q_lora_rank=None, vocab_size=102400), 15_706_484_224),
    "DeepSeek-V3": (DEEPSEEK, 671_026_404_352),
    "gpt-oss 20B": (like(LLAMA, model_type="gpt_oss", hidden_size=2880, num_hidden_layers=24, num_attention_heads=64,
                         head_dim=64, intermediate_size=2880, num_local_experts=32, num_experts_per_tok=4,
                         vocab_size=201088, attention_bias=True, mlp_bias=True), 20_914_757_184),
}
# Norms of queries and keys, biases of queries, keys and values, positions that are no tokens, gates of a shared expert.
TOLERANCE = 3e-4


def show(program, checks, folder, name, *arguments):
    done = program.run(["model", "show", name, *arguments, "--json", "-"], folder)
    if not checks.check(done.code == 0 and not done.broken, f"{name} {arguments}", done.stderr):
        return {}
    return json.loads(done.stdout)


def check_published(program, checks, folder):
    for name, (config, parameters) in PUBLISHED.items():
        (folder / "config.json").write_text(json.dumps(config))
        document = show(program, checks, folder, "config.json")
        found = document.get("parameters", 0)
        checks.check(math.isclose(found, parameters, rel_tol=TOLERANCE), f"{name}: its parameters",
                     f"{found}, published {parameters}: {found / parameters - 1:+.2e}")
        checked = program.run(["check", "config.json"], folder)
        checks.check(checked.code == 0 and "ok (model)" in checked.stdout, f"{name}: check knows it", checked.stdout)


def check_as_workload(program, checks, folder):
    """As `workload.model`, with keys of Orrery on top; shipped models of the same weights take as long."""
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (folder / "job.yaml").write_text(SMALL_JOB.replace("gpt3-6.7b", "config.json"))
    (folder / "named.yaml").write_text(SMALL_JOB.replace("gpt3-6.7b", "llama3-8b"))
    whole = program.run(["run", "job.yaml", "--allow-oom", "--json", "-"], folder)
    checks.check("131072 tokens" in whole.stderr, "says how long its sequences are", whole.stderr)
    ours = program.run(["run", "job.yaml", "--set", "workload.model.sequence=2048", "--json", "own.json"], folder)
    named = program.run(["run", "named.yaml", "--set", "workload.model.sequence=2048", "--json", "named.json"], folder)
    checks.check(ours.code == 0 and named.code == 0, "both run", ours.stderr + named.stderr)
    checks.check("131072" not in ours.stderr, "a sequence that is given needs no warning", ours.stderr)
    checks.check("Llama-3.1-8B of 8.03 B parameters" in program.run(["run", "own.json"], folder).stdout, "by its name")
    times = [json.loads((folder / name).read_text())["iteration_time_s"] for name in ("own.json", "named.json")]
    checks.check(times[0] == times[1], "as the shipped model", times)
    again = program.run(["run", "own.json", "--json", "-"], folder)
    checks.check(json.loads(again.stdout)["iteration_time_s"] == times[0], "a result of it runs again", again.stderr)


# Keys without which transformers would take a default of its own, by the type of the model.
REQUIRED = {
    "Llama 3.1 8B": ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
                     "max_position_embeddings"],
    "Mixtral 8x7B": ["num_local_experts", "num_experts_per_tok", "num_key_value_heads", "intermediate_size"],
    "gpt-oss 20B": ["num_local_experts", "num_experts_per_tok", "head_dim"],
    "Qwen3 8B": ["intermediate_size", "head_dim", "num_key_value_heads"],
    "Qwen3 30B-A3B": ["num_experts", "num_experts_per_tok", "moe_intermediate_size"],
    "Qwen1.5 MoE A2.7B": ["num_experts", "shared_expert_intermediate_size"],
    "DeepSeek-V3": ["n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts",
                    "first_k_dense_replace", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                    "intermediate_size"],
    "GPT-2": ["n_embd", "n_layer", "n_head", "n_positions"],
    "OPT 6.7B": ["ffn_dim"],
    "BLOOM": ["n_embed", "n_layer", "seq_length"],
}
NULLABLE = ("num_key_value_heads", "q_lora_rank", "n_shared_experts")
# Values that no key of the kind has, and what is said of them.
WRONG = [
    ("Llama 3.1 8B", {"hidden_size": [4096]}, "hidden_size: a list is not a whole number"),
    ("Llama 3.1 8B", {"hidden_size": "4k"}, "hidden_size: '4k' is not a whole number"),
    ("Llama 3.1 8B", {"intermediate_size": -14336}, "intermediate_size: -14336 is out of range; expected 1 to"),
    ("Llama 3.1 8B", {"vocab_size": -1}, "vocab_size: -1 is out of range"),
    ("Llama 3.1 8B", {"num_local_experts": -1}, "num_local_experts: -1 is out of range"),
    ("Mixtral 8x7B", {"num_local_experts": 0}, "num_local_experts: 0 is out of range; expected 1 to"),
    ("Mixtral 8x7B", {"num_local_experts": -1}, "num_local_experts: -1 is out of range; expected 1 to"),
    ("DeepSeek-V3", {"n_routed_experts": 0}, "n_routed_experts: 0 is out of range; expected 1 to"),
    ("DeepSeek-V3", {"kv_lora_rank": {}}, "kv_lora_rank: a map is not a whole number"),
    ("Qwen1.5 MoE A2.7B", {"shared_expert_intermediate_size": -5632}, "shared_expert_intermediate_size: -5632 is out of range"),
    ("Qwen3 30B-A3B", {"mlp_only_layers": 3}, "mlp_only_layers: '3' is not a list"),
    ("Llama 3.1 8B", {"hidden_act": 3}, "hidden_act: '3' is not a name"),
    ("Llama 3.1 8B", {"hidden_act": ["silu"]}, "hidden_act: a list is not a name"),
    ("Llama 3.1 8B", {"_name_or_path": {}}, "_name_or_path: a map is not a name"),
    ("Llama 3.1 8B", {"model_type": ["llama"]}, "unknown architecture a list"),
    *[("Llama 3.1 8B", {key: value}, f"{key}: {shown} is neither true nor false")
      for key in ("tie_word_embeddings", "attention_bias", "mlp_bias", "use_bias")
      for value, shown in (("yes", "'yes'"), (1, "'1'"), ([], "a list"), ({}, "a map"))],
]


def check_required(program, checks, folder):
    """A key without which it would be another model is an error, by its own name and place."""
    for name, keys in REQUIRED.items():
        for key in keys:
            config = dict(PUBLISHED[name][0])
            del config[key]
            configs = [(config, f"'{key}' is missing")]
            if key not in NULLABLE:
                configs.append((like(config, **{key: None}), f"'{key}' is null"))
            for config, message in configs:
                (folder / "config.json").write_text(json.dumps(config, indent=1))
                done = program.run(["model", "show", "config.json"], folder)
                checks.check(done.code == 2 and message in done.stderr, f"{name}: {message}", done.stderr or done.stdout)
                checks.check(done.stderr.startswith("config.json:"), "where", done.stderr)
    own = {"num_key_value_heads": "kv_heads", "intermediate_size": "ffn_hidden", "num_local_experts": "experts"}
    config = dict(PUBLISHED["Mixtral 8x7B"][0])
    for theirs, ours in own.items():
        config[ours] = config.pop(theirs)
    (folder / "config.json").write_text(json.dumps(config))
    checks.check(math.isclose(show(program, checks, folder, "config.json")["parameters"], PUBLISHED["Mixtral 8x7B"][1],
                              rel_tol=TOLERANCE), "keys of Orrery stand in for them")


def check_wrong(program, checks, folder):
    for name, changes, message in WRONG:
        (folder / "config.json").write_text(json.dumps(like(PUBLISHED[name][0], **changes)))
        done = program.run(["model", "show", "config.json"], folder)
        checks.check(done.code == 2 and not done.broken and message in done.stderr, f"{name} with {changes}", done.stderr)


# What a config.json has that Orrery reads as a window, or leaves out: changes, and what is said of it. FLOPs of a token are six
# for each weight that it passes and 12 * heads * head_dim for each key that it sees in a layer, forward and backward. gpt-oss
# 20B: 24 layers with 64 heads of 64 see 131,072 keys: 155 GFLOP, beside 21.6 of weights; half of the layers with a window
# of 128 leave 77.3 + 0.08 + 21.6. Mistral 7B: 32 layers, 32 heads of 128, 32,768 keys: 51.5 of 94.2, an eighth of it with
# 4,096. Gemma 3 4B: 34 layers, 8 heads of 256: 110 of 133; five of 34 layers see all, 29 see 1,024.
GEMMA3 = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "num_attention_heads": 8,
          "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 10240, "vocab_size": 262208,
          "max_position_embeddings": 131072, "sliding_window": 1024, "sliding_window_pattern": 6}
MISTRAL = like(LLAMA, model_type="mistral", vocab_size=32000, max_position_embeddings=32768, sliding_window=4096)
GPT_OSS = like(PUBLISHED["gpt-oss 20B"][0], sliding_window=128)
WINDOWED = [
    (GPT_OSS, {"layer_types": ["sliding_attention", "full_attention"] * 12}, 99.0e9),
    (GPT_OSS, {}, 99.0e9),
    (GPT_OSS, {"layer_types": ["full_attention", "sliding_attention"] * 12}, 99.0e9),
    (GPT_OSS, {"layer_types": ["full_attention"] * 24}, 176e9),
    (GEMMA3, {}, 40.0e9),
    (MISTRAL, {}, 49.1e9),
    (MISTRAL, {"sliding_window": None}, 94.2e9),
    # An eighth of the 24 layers that see 4,096 keys, all of the 8 others: 42.7 + 51.5 * (24 / 8 + 8) / 32.
    (MISTRAL, {"sliding_window_pattern": "LLLG"}, 60.4e9),
    (QWEN3, {"sliding_window": 4096, "use_sliding_window": False}, None),
    (QWEN3, {"sliding_window": 4096}, None),
]
LEFT_OUT = [
    (LLAMA, {"use_parallel_residual": True}, "use_parallel_residual is not modelled"),
    # 36 layers of 32 + 2 * 8 heads of 128.
    (QWEN3, {"attention_bias": True}, "attention_bias: biases of queries, keys and values alone are not modelled, 221 K of 8.19 B"),
    # 34 layers with two more norms of 2560.
    (GEMMA3, {}, "norms behind attention and MLP are not modelled, 174 K of 3.88 B"),
    (LLAMA, {"bos_token_id": 1, "attention_dropout": 0.1, "rope_scaling": {"factor": 8.0}, "use_cache": True}, None),
    (LLAMA, {"temperature": 0.6, "sparse_thing": False, "some_factor": 0.5, "another": None, "a_list": []}, None),
]
TEXT = {key: value for key, value in QWEN3.items() if key not in ("model_type", "architectures")}
# Models under names that nobody here knows, by their keys: the parameters they have, and what is said.
BY_KEYS = [
    ({"model_type": "new_vl", "text_config": like(QWEN3, model_type="new_vl_text"),
      "vision_config": {"hidden_size": 1152, "depth": 27, "intermediate_size": 4304}}, 8_190_735_360,
     ["unknown architecture 'new_vl_text': read by its keys as a transformer with grouped-query attention, a gated MLP",
      "'vision_config', of about 411 M parameters, is left out"]),  # 27 * (4 * 1152^2 + 2 * 1152 * 4304)
    ({"model_type": "new_vl", "text_config": TEXT, "patch_merge": 2}, 8_190_735_360,
     ["only the language model is taken, from 'text_config'", "beside the language model, and not read: patch_merge"]),
    ({"model_type": "new_vl", "text_config": TEXT}, 8_190_735_360, ["unknown architecture 'new_vl': read by its keys"]),
    (TEXT, 8_190_735_360, ["a config.json without 'model_type': read by its keys"]),
    (like(PUBLISHED["Qwen3 30B-A3B"][0], model_type="new_moe"), 30_532_122_624, ["a gated MLP, experts and rotary positions"]),
    (like(DEEPSEEK, model_type="new_latent", hidden_act="silu"), 671_026_404_352, ["with latent attention"]),
    (like(QWEN3, model_type="ungated", hidden_act="relu2"), 36 * 4096 * (2 * 12288 + 2 * 4096 + 2 * 1024) + 2 * 151936 * 4096,
     ["an ungated MLP"]),
]
# What would be another model: an error that names the key.
REFUSED = [
    (QWEN3, {"linear_num_key_heads": 16}, "'linear_num_key_heads' stands for linear attention, and no key says which layers are"),
    (QWEN3, {"layer_types": ["linear_attention"] * 36}, "'linear_num_key_heads' is missing"),
    (QWEN3, {"layer_types": ["conv"] * 36}, "layer_types: Orrery does not model layers of 'conv'"),
    (QWEN3, {"layer_types": ["full_attention"] * 12}, "layer_types has the types of 12 of 36 layers"),
    (QWEN3, {"mamba_d_state": 128}, "'mamba_d_state' stands for state-space layers, and no key says which layers are"),
    (QWEN3, {"is_encoder_decoder": True}, "'is_encoder_decoder' stands for an encoder with a decoder"),
    (QWEN3, {"model_type": "x", "hidden_act": "gelu_pytorch_tanh"}, "its activation does not say whether the MLP is gated"),
    ({"model_type": "mamba", "hidden_size": 1024}, {}, "num_hidden_layers, num_attention_heads, intermediate_size, vocab_size, "
     "max_position_embeddings are missing"),
    (LLAMA, {"sequenc": 4096, "attn_kind": "x"}, "not read, and not known to change nothing: sequenc, attn_kind"),
    (LLAMA, {"sequenc": 4096}, "did you mean 'sequence' for 'sequenc'?"),
    (LLAMA, {"new_parts": 4}, "not read, and not known to change nothing: new_parts"),
    (PUBLISHED["Qwen1.5 MoE A2.7B"][0], {"shared_expert_intermediate_size": 5000},
     "a shared expert of width 5000 is no multiple of an expert's 1408"),
    (LLAMA, {"intermediate_size": [14336] * 31 + [8192]}, "intermediate_size: layers have different ones"),
]
def check_left_out(program, checks, folder):
    """What is not modelled is said with its size, and what changes nothing is not said."""
    for base, changes, message in LEFT_OUT:
        (folder / "config.json").write_text(json.dumps(like(base, **changes)))
        done = program.run(["model", "show", "config.json"], folder)
        said = [line for line in done.stderr.splitlines() if "warning: " in line and "training may take" not in line]
        right = any(message in line for line in done.stderr.splitlines()) if message else not said
        checks.check(done.code == 0 and right, f"{base['model_type']} with {changes}: {message}", done.stderr)


def check_windows(program, checks, folder):
    """Windows change the FLOPs of a token, by which layers have one."""
    for base, changes, flops in WINDOWED:
        (folder / "config.json").write_text(json.dumps(like(base, **changes)))
        document = show(program, checks, folder, "config.json")
        found = document.get("flops_per_token", 0)
        whole = flops is None or math.isclose(found, flops, rel_tol=0.005)
        checks.check(whole, f"{base['model_type']} with {changes}: its FLOPs", f"{found}, {flops}")


def check_by_keys(program, checks, folder):
    for config, parameters, messages in BY_KEYS:
        (folder / "config.json").write_text(json.dumps(config))
        done = program.run(["model", "show", "config.json", "--json", "-"], folder)
        found = json.loads(done.stdout)["parameters"] if done.code == 0 else 0
        checks.check(math.isclose(found, parameters, rel_tol=TOLERANCE), f"{messages}: its parameters", f"{found} {done.stderr}")
        for message in messages:
            checks.check(message in done.stderr, message, done.stderr)


def check_refused(program, checks, folder):
    for base, changes, message in REFUSED:
        (folder / "config.json").write_text(json.dumps(like(base, **changes)))
        done = program.run(["model", "show", "config.json"], folder)
        checks.check(done.code == 2 and message in done.stderr and done.stderr.count("error: ") == 1, message, done.stderr)


def check_sequence_hint(program, checks, folder):
    """What the warning says makes the sequence shorter than the longest, and the warning go."""
    for longest in (131072, 2048):
        (folder / "config.json").write_text(json.dumps(like(LLAMA, max_position_embeddings=longest)))
        (folder / "job.yaml").write_text(SMALL_JOB.replace("gpt3-6.7b", "config.json"))
        warned = program.run(["run", "job.yaml", "--allow-oom"], folder, seconds=60).stderr
        setting = next(line.split("hint: --set ")[1] for line in warned.splitlines() if "workload.model.sequence" in line)
        checks.check(int(setting.split("=")[1]) < longest, f"shorter than {longest}", setting)
        again = program.run(["run", "job.yaml", "--allow-oom", "--set", setting], folder, seconds=60)
        checks.check(again.code == 0 and "training may take" not in again.stderr, f"{setting} works", again.stderr)
        shown = program.run(["model", "show", "config.json"], folder).stderr
        checks.check("--set" not in shown and '"sequence": ' in shown, "model show has no --set", shown)
        shorter = int(shown.split('"sequence": ')[1].split()[0])
        (folder / "config.json").write_text(json.dumps(like(LLAMA, max_position_embeddings=longest, sequence=shorter)))
        checks.check(not program.run(["model", "show", "config.json"], folder).stderr, "its hint works as well")


def check_plans(program, checks, folder):
    """Of the fullest rank, as `run` has it."""
    plan = "tensor=4,pipeline=2,data=2"
    document = show(program, checks, folder, "gpt3-6.7b", "--parallel", plan, "--parallel", "tensor=8")
    checks.check([one["gpus"] for one in document["plans"]] == [16, 8], "both plans", document["plans"])
    (folder / "job.yaml").write_text(SMALL_JOB)
    run = program.run(["run", "job.yaml", "--set", "workload.software=megatron-2024", "--set", "cluster=dgx-h100",
                       "--json", "-"], folder)
    memory = json.loads(run.stdout)["memory"]
    checks.check(document["plans"][0]["total_bytes"] == memory["peak_bytes"], "as run", (document["plans"][0], memory))
    blanks = show(program, checks, folder, "gpt3-6.7b", "--parallel", " tensor=4 , pipeline = 2,data=2")["plans"][0]
    checks.check(blanks["total_bytes"] == document["plans"][0]["total_bytes"], "blanks make no difference", blanks)
    for wrong, message in (("data=rest", "'data=rest': there is no cluster to fill"),
                           ("tensor=8,tensor=4", "'tensor' is given twice"), ("tensor=", "'tensor=' is no degree")):
        done = program.run(["model", "show", "gpt3-6.7b", "--parallel", wrong], folder)
        checks.check(done.code == 2 and message in done.stderr, wrong, done.stderr)
    unknown = program.run(["model", "show", "gpt3-6.7b", "--parallel", "foo=3"], folder).stderr
    known = unknown.split("known: ")[1].strip().split(", ")
    checks.check(len(known) == len(set(known)) and "tensor" in known, "each known key once", unknown)
    common = show(program, checks, folder, "llama3-70b")["plans"]
    checks.check(len(common) > 5, "common plans without any given", common)
    for one in common:
        parts = [one[f"{part}_bytes"] for part in ("weights", "gradients", "optimizer", "activations")]
        checks.check(sum(parts) == one["total_bytes"], f"{one['parallel']}: parts make the total", one)
        checks.check(one["recomputed_total_bytes"] < one["total_bytes"], "recomputation saves memory", one)


if __name__ == "__main__":
    sys.exit(run_parts(check_published, check_as_workload, check_required, check_wrong, check_left_out, check_windows,
                       check_by_keys, check_refused, check_sequence_hint, check_plans))
