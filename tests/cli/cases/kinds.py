# SPDX-License-Identifier: MIT
"""FLOPs of models whose layers differ: windows, linear attention, state-space models, an indexer."""
from case import Case

RUN = "run configs/studies/long-context-windows.yaml"
LENGTH = " --set workload.model.sequence=131072"
LONG = RUN + LENGTH
OSS_LONG = RUN + " --set workload.model=gpt-oss-20b" + LENGTH
DATA = RUN + " --set 'workload.parallel={data: 16, zero: 3}' --set workload.batch.global=16"
FLOPS = "{/model_tflops_per_gpu} * 1e3 / {/tokens_per_s_per_gpu}"

GEMMA = "(3880089088 - 34 * 512 - 69 * 2560)"
OSS = "(24 * (2880 * 5120 + 4096 * 2880 + 4 * 3 * 2880**2 + 2880 * 32) + 201088 * 2880)"

CASES = [
    Case("Gemma 3 4B, 131,072 tokens, 29 of 34 layers with a window of 1,024: a token", LONG, FLOPS, "GFLOP",
         f"(6 * {GEMMA} + 12 * 8 * 256 * (5 * 131072 + 29 * 1024)) / 1e9",
         "6 FLOPs for each weight but norms (the table is the head), 12 · heads · size for each key that it sees"),
    Case("gpt-oss-20b, 12 of 24 layers with a window of 128", OSS_LONG, FLOPS, "GFLOP",
         f"(6 * {OSS} + 12 * 64 * 64 * (12 * 131072 + 12 * 128)) / 1e9",
         "products of attention, of 4 of 32 experts, of the router and the head; half the layers see all keys"),
    Case("the same without windows", OSS_LONG + " --set workload.model.window=131072", FLOPS, "GFLOP",
         f"(6 * {OSS} + 12 * 64 * 64 * 24 * 131072) / 1e9", "a window as long as the sequence leaves out no key"),
    Case("Mistral 7B, 32,768 tokens, all layers with a window of 4,096",
         RUN + " --set workload.model=mistral-7b --set workload.model.sequence=32768", FLOPS, "GFLOP",
         "(6 * (7241732096 - 32000 * 4096 - 65 * 4096) + 12 * 32 * 128 * 32 * 4096) / 1e9",
         "work of a windowed layer = full · window / sequence"),
    Case("Qwen3-Next 80B-A3B, 4,096 tokens, 36 of 48 layers with gated DeltaNet",
         DATA + " --set workload.model=qwen3-next-80b-a3b --allow-oom", FLOPS, "GFLOP",
         "(6 * (12 * (2048 * (2 * 4096 + 1024) + 4096 * 2048) + 36 * (2048 * (4096 + 8192 + 64) + 4096 * 2048)"
         " + 48 * (11 * 3 * 2048 * 512 + 2048 * 512) + 151936 * 2048)"
         " + 12 * 12 * 16 * 256 * 4096 + 36 * 3 * (8 * 32 * 128 * 128 + 2 * 4 * 8192)) / 1e9",
         "the delta rule takes 8 FLOPs for each value of a state forward, 3 times that in all, the convolution 2 · 4 for "
         "each of 8,192 values"),
    Case("Nemotron-H 8B, 8,192 tokens, 24 of 52 layers with Mamba-2", DATA + " --set workload.model=nemotron-h-8b", FLOPS,
         "GFLOP",
         "(6 * (24 * (4096 * (2 * 8192 + 2 * 1024 + 128) + 8192 * 4096) + 24 * 2 * 4096 * 21504"
         " + 4 * (4096 * 6144 + 4096 * 4096) + 131072 * 4096)"
         " + 4 * 12 * 32 * 128 * 8192 + 24 * 3 * (7 * 128 * 64 * 128 + 2 * 4 * 10240)) / 1e9",
         "Mamba-2's recurrence takes 7 FLOPs for each value of a state forward"),
]
