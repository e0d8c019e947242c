# SPDX-License-Identifier: MIT
"""Days and device-years of whole trainings."""
from case import Case

GPT3 = "run configs/studies/gpt3-175b-1024.yaml --set workload.tokens=300e9"
V100 = ("run configs/studies/gpt3-175b-1024.yaml --allow-oom --set workload.tokens=300e9 --set workload.recompute=none "
        "--set 'workload.parallel={data: 1}' --set workload.schedule.kind=1f1b --set workload.schedule.virtual_stages=1 "
        "--set workload.batch.global=8 --set nodes=1 --set cluster=configs/studies/clusters/one-v100.yaml")
GPT4 = (V100.replace("tokens=300e9", "tokens=13e12").replace("cluster=configs/studies/clusters/one-v100.yaml", "cluster=dgx-a100")
        + " --set workload.model=gpt4-moe --set workload.software=megatron-2022 --set workload.precision=bf16")
OPT = ("run configs/studies/opt-175b-992.yaml --set workload.tokens=300e9")
NEOX = "run configs/studies/gpt-neox-20b-96.yaml --set workload.tokens=472.5e9"
OPENFOLD = "run configs/studies/openfold-128.yaml --set workload.tokens=10e6"
VIT = "run configs/studies/vit-l-8.yaml --set workload.tokens=75.7e9"
DAYS, YEARS = "{/training_run/days}", "{/training_run/device_years}"

CASES = [
    Case("300 B tokens of GPT-3 175B on 1,024 A100: days for each second of a step", GPT3,
         DAYS + " / {/iteration_time_s}", "", "300e9 / (1536 * 2048) / 86400",
         "steps of 1,536 sequences of 2,048 tokens"),
    Case("the same in days", GPT3, DAYS, "days", "8 * 300e9 * 175e9 / (1024 * 140e12) / 86400",
         "8 T P/(n X) of Narayanan et al., SC'21, with recomputation at their 140 TFLOP/s: 34 days", 5,
         "144 TFLOP/s by this formula here; our layout"),
    Case("device-years over days", GPT3, YEARS + " / " + DAYS, "", "1024 / 365.25", "1,024 devices"),
    Case("energy of the devices over device-years", GPT3, "{/training_run/energy_kwh} / " + YEARS, "kWh",
         "0.4 * 24 * 365.25", "400 W of an A100 SXM"),
    Case("GPT-3 175B on one V100 that had the memory", V100, YEARS, "years", "355",
         "the tutorial's 355 GPU-years for training GPT-3", 60,
         "it takes 28 TFLOP/s for a V100, half of what its best matrix products reach here"),
    Case("the same at 28 TFLOP/s", V100, YEARS + " * {/model_tflops_per_gpu} / 28", "years",
         "6 * 174.6e9 * 300e9 / 28e12 / 86400 / 365.25", "6 T P/X", 5, "attention and the head, which 6 P leaves out"),
    Case("13 T tokens at a millisecond each", GPT4, YEARS + " * {/tokens_per_s_per_gpu} / 1000", "years",
         "13e12 * 1e-3 / 86400 / 365.25", "the lecture's 412 years for GPT-4 on one A100"),
    Case("GPT-4 as rumoured on one A100 that had the memory", GPT4, YEARS, "years", "412", "the lecture's 412 years", 1000,
         "a millisecond for a token that passes 277 B parameters is 1.7 PFLOP/s, five times the peak of an A100"),
    Case("OPT-175B: 300 B tokens on 992 A100", OPT, DAYS, "days", "33", "its model card: 33 days of training", 18.5,
         "147 TFLOP/s of Zhang et al. with recomputation are 106 tokens/s a GPU, as 33 days are; 130 here, with the rates "
         "of Megatron-LM"),
    Case("the same against two months", OPT, DAYS, "days", "60", "the lecture's two months on 1,024 A100", 55.5,
         "the months hold 35 restarts and what was lost by them; 992 of the 1,024 GPUs trained"),
    Case("GPT-NeoX-20B: 150,000 steps of 1,538 sequences on 96 A100", NEOX, DAYS, "days", "1830 / 24",
         "1,830 hours of Black et al.", 6, "709 tokens/s a GPU for 747, with the rates of Megatron-DeepSpeed"),
    Case("the same against a month", NEOX, DAYS, "days", "30", "the lecture's 30 days on 96 A100", 170,
         "at 117 TFLOP/s the 150,000 steps of Black et al. take 76 days: the lecture's 30 are less than the whole"),
    Case("ViT-L: 300 epochs of ImageNet on A100, GPU-hours", VIT, "{/training_run/device_days} * 24", "hours", "1960",
         "the lecture's 1,960 GPU hours", 81, "the lecture says neither which ViT nor how many images nor which GPU"),
    Case("OpenFold: 10 M proteins on 128 A100", OPENFOLD, DAYS, "days", "8", "8 days (developer.nvidia.com)", 87,
         "its many small kernels wait for the host and are far from fused (arXiv 2404.11068); the Evoformer alone, crops "
         "of 256 residues throughout, one recycle for 1.5"),
    Case("the same against 11 days", OPENFOLD, DAYS, "days", "11", "the lecture's 11 days on 128 A100", 91,
         "and 11 days are AlphaFold's, on 128 TPUs"),
]
