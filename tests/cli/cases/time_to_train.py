# SPDX-License-Identifier: MIT
"""Days and device-years of whole trainings."""
from case import Case

GPT3 = "run configs/studies/gpt3-175b-1024.yaml --set workload.tokens=300e9"
V100 = ("run configs/studies/gpt3-175b-1024.yaml --allow-oom --set workload.tokens=300e9 --set workload.recompute=none "
        "--set 'workload.parallel={data: 1}' --set workload.schedule.kind=1f1b --set workload.schedule.virtual_stages=1 "
        "--set workload.batch.global=8 --set nodes=1 --set cluster=configs/studies/clusters/one-v100.yaml")
DAYS, YEARS = "{/training_run/days}", "{/training_run/device_years}"

CASES = [
    Case("300 B tokens of GPT-3 175B on 1,024 A100: days for each second of a step", GPT3,
         DAYS + " / {/iteration_time_s}", "", "300e9 / (1536 * 2048) / 86400",
         "steps of 1,536 sequences of 2,048 tokens"),
    Case("the same in days", GPT3, DAYS, "days", "8 * 300e9 * 175e9 / (1024 * 140e12) / 86400",
         "8 T P/(n X) of Narayanan et al., SC'21, with recomputation at their 140 TFLOP/s: 34 days", 5,
         "109 model TFLOP/s here are 145 with recomputation; our layout"),
    Case("device-years over days", GPT3, YEARS + " / " + DAYS, "", "1024 / 365.25", "1,024 devices"),
    Case("energy of the devices over device-years", GPT3, "{/training_run/energy_kwh} / " + YEARS, "kWh",
         "0.4 * 24 * 365.25", "400 W of an A100 SXM"),
    Case("GPT-3 175B on one V100 that had the memory", V100, YEARS, "years", "355",
         "the tutorial's 355 GPU-years for training GPT-3", 60,
         "it takes 28 TFLOP/s for a V100, half of what its best matrix products reach here"),
    Case("the same at 28 TFLOP/s", V100, YEARS + " * {/model_tflops_per_gpu} / 28", "years",
         "6 * 174.6e9 * 300e9 / 28e12 / 86400 / 365.25", "6 T P/X", 5, "attention and the head, which 6 P leaves out"),
]
