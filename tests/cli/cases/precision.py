# SPDX-License-Identifier: MIT
"""Low precision: what recipes keep of weights and save of activations."""
from case import Case

BF16 = "run configs/studies/llama3-8b-precision.yaml"
MXFP8, NVFP4 = BF16 + " --set workload.precision=mxfp8", BF16 + " --set workload.precision=nvfp4"
FP8 = BF16 + " --set workload.precision=fp8"
WEIGHTS = "(2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)"
BEHIND = "2 * (2 * 4096 + 14336)"  # bytes a token that a layer saves for its products in bf16
CAST = "(3 * 4096 + 14336)"  # values that it saves cast


def more(use):
    """What the second command keeps for a use over what the first one keeps."""
    return f"({{2/memory/by/{use}}} - {{/memory/by/{use}}}) / 1e9"


CASES = [
    Case("Copies beside the weights in mxfp8", (BF16, MXFP8), more("parameters"), "GB",
         f"32 * {WEIGHTS} * 2 * (1 + 1 / 32) / 1e9", "both orientations of all layers, with a scale for 32 values"),
    Case("the same in nvfp4", (BF16, NVFP4), more("parameters"), "GB",
         f"28 * {WEIGHTS} * 2 * (1 / 2 + 1 / 16) / 1e9", "the last four layers stay in bf16"),
    Case("Saved activations in mxfp8, less than in bf16", (MXFP8, BF16), more("activations"), "GB",
         f"32 * 16384 * ({BEHIND} - {CAST} * (1 + 1 / 32)) / 1e9", "inputs of products are kept cast, with scales"),
    Case("the same in nvfp4", (NVFP4, BF16), more("activations"), "GB",
         f"28 * 16384 * ({BEHIND} - {CAST} * (1 / 2 + 1 / 16)) / 1e9", "9 bits for 16"),
    Case("the same in fp8", (FP8, BF16), more("activations"), "GB",
         f"32 * 16384 * ({BEHIND} - {CAST}) / 1e9", "scales of whole tensors are too few to count"),
]
