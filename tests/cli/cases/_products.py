# SPDX-License-Identifier: MIT
"""FLOPs of a transformer layer by the model of docs/compute.md, as arithmetic to read. A product of m x k times k x n
counts 2 m n (k + 120): its prologue is 240 bytes of bf16. Flash attention, at half the peak like the products, counts
half for a causal mask, and 2.5 times that backward."""


def forward(tokens, hidden, sequence, tensor=1):
    h, a = hidden, hidden // tensor
    return (f"(2 * {tokens} * ({7 * a} * ({h} + 120) + {h} * ({a} + 120) + {h} * ({4 * a} + 120))"
            f" + 2 * {tokens} * {sequence} * {a})")


def backward(tokens, hidden, sequence, tensor=1):
    h, a = hidden, hidden // tensor
    return (f"(2 * {tokens} * ({h} * ({3 * a} + 120) + {5 * a} * ({h} + 120) + {h} * ({4 * a} + 120))"
            f" + 2 * 12 * {h} * {a} * ({tokens} + 120) + 2.5 * 2 * {tokens} * {sequence} * {a})")
