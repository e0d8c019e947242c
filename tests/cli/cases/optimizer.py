# SPDX-License-Identifier: MIT
"""Optimizers and the memory of hosts: states, Newton-Schulz iterations, copies. Stages of two layers whose products
alone take time, at 156 TFLOP/s; a product of m x k times k x n counts 2 m n (k + 120) (docs/compute.md)."""
from case import Case

STAGE = "run configs/studies/pipeline-4-stages.yaml"
TIME, OTHER = "{/iteration_time_s}", "{2/iteration_time_s}"
COUNT = "2 * (12 * 4096**2 + 2 * 4096)"  # parameters of a stage: two layers, each with two norms
LINK = " --set 'cluster.device.pcie={bandwidth: 25 GB/s}'"


def states(name, each, reason):
    return Case(f"`{name}`: states and masters of a stage", STAGE + f" --set workload.optimizer={name}",
                "{/memory/by/optimizer}", "B", each, reason)


def iterations(length, side="4096"):
    return (f"(2 * {side}**2 * ({length} + 120) + 2 * {side}**2 * ({side} + 120)"
            f" + 2 * {side} * {length} * ({side} + 120))")


CASES = [
    states("adam", f"12 * {COUNT}", "master 4, moments 4 and 4"),
    states("adam-bf16", f"8 * {COUNT}", "master 4, moments 2 and 2"),
    states("adam-8bit", f"2 * ({COUNT} + 4 * {COUNT} / 256)", "two moments of a byte, a scale of 4 B for each 256 values"),
    states("sgd", f"4 * {COUNT}", "master alone"),
    states("muon", "2 * (8 * 12 * 4096**2 + 12 * 2 * 4096)", "master and momentum of matrices; Adam's states of norms"),
    Case("Muon: five Newton-Schulz iterations on the matrices of two layers, which the step takes longer",
         (STAGE + " --set workload.optimizer=muon", STAGE), f"{TIME} - {OTHER}", "s",
         f"2 * 5 * ({iterations(12288)} + {iterations(4096)} + 2 * {iterations(16384)}) / 156e12",
         "X X^T, its square, and that times X, of 4096 x 12288, x 4096, and twice x 16384"),
    Case("All states on the host, updated by the device: what the step takes longer over 25 GB/s of PCIe",
         (STAGE + LINK + " --set 'workload.offload={states: 100 %, update: device}'", STAGE), f"{TIME} - {OTHER}", "s",
         f"65 / 64 * 12 * {COUNT} / (0.873 * 25e9)", "64 buckets up and, one behind, down again", 0.05,
         "without offload the device's own update takes some nanoseconds"),
    Case("the same, bytes that stay on the device", STAGE + LINK + " --set 'workload.offload={states: 100 %, update: device}'",
         "{/memory/by/optimizer}", "B", f"12 * {COUNT} / 32", "two buckets of 64"),
]
