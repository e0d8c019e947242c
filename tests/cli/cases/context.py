# SPDX-License-Identifier: MIT
"""Context parallelism: what ranks exchange, what a causal mask leaves each of them, and the loss in chunks."""
from case import Case

RUN = "run configs/studies/context-parallel.yaml --set collectives.library=fixed"
MORE = " --set workload.batch.global=3"
KIND = " --set workload.parallel.context_kind="
CONTIGUOUS = " --set workload.parallel.context_balance=contiguous"
BYTES = "{/links/0/bytes} - {2/links/0/bytes}"
TOKENS = "32768 / 8"
QUERIES, PAIRS = "32 * 128", "2 * 8 * 128"
KEPT = "{/memory/by/activations} - {2/memory/by/activations}"


def of_a_sequence(kind):
    return RUN + KIND + kind + MORE, RUN + KIND + kind


def chunks(settings):
    return RUN, RUN + " --set 'workload.loss={" + settings + "}'"


CASES = [
    Case("All-to-all (Ulysses): bytes that a GPU sends for one more sequence", of_a_sequence("all-to-all"), BYTES, "B",
         f"4 * 2 * ({QUERIES} + {PAIRS} + {QUERIES}) * {TOKENS} * 2 * 7 / 8",
         "4 layers, forward and backward: queries, keys and values there, results back, 7/8 of each to others"),
    Case("ring", of_a_sequence("ring"), BYTES, "B", f"4 * (7 + 7 + 8) * {PAIRS} * {TOKENS} * 2",
         "keys and values go on 7 times in each pass, their gradients 8 times, back to where they belong"),
    Case("all-gather", of_a_sequence("all-gather"), BYTES, "B", f"4 * 3 * 7 * {PAIRS} * {TOKENS} * 2",
         "gathered in each pass, gradients reduced and scattered"),
    Case("Work of attention of the last of 8 ranks with one piece of the sequence each, over that of ranks with two",
         (RUN + KIND + "all-gather" + CONTIGUOUS, RUN + KIND + "all-gather"),
         "{/kernels/0/flops} / {2/kernels/0/flops}", "", "(2 * 8 - 1) / 8", "7 whole blocks and half of its own, for 4 in the mean"),
    Case("Loss in 8 chunks, fused: memory less", chunks("chunks: 8"), KEPT, "B",
         f"6 * {TOKENS} * 32000 - 6 * {TOKENS} * 32000 / 8 - 2 * 32000 * 4096",
         "a logit takes 6 B, of an eighth of the tokens; the gradient of the head's weights is held instead"),
    Case("with the head's input alone held", chunks("chunks: 8, held: hidden"), KEPT, "B",
         f"6 * {TOKENS} * 32000 - 6 * {TOKENS} * 32000 / 8 - 4 * {TOKENS}",
         "the logarithm of a sum for each token is held instead"),
    Case("with all logits held", chunks("chunks: 8, held: logits"), KEPT, "B",
         f"2 * {TOKENS} * 32000 - 2 * {TOKENS} * 32000 / 8", "4 B of each logit stay"),
]
