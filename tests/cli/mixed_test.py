#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mixed_test.py ORRERY [COUNT [SEED]]: random experiments that mix what users may write: clusters, models, degrees,
schedules, ZeRO, experts, libraries, network models, faults, several jobs. Folded, with every rank by itself and without
fast-forwarding they are the same: every row of operations.csv, every word of the summary. Experiments that are refused
are refused in the same words each time. Without COUNT as many as a minute allows."""
import random
import sys
from pathlib import Path

from orrery_program import Checks, Program, scratch_folder

COUNT, SEED = 24, 1
WAYS = {"folded": [], "unfolded": ["--no-fold"], "step by step": ["--no-fast-forward"]}
SCHEDULES = ["gpipe", "1f1b", "1f1b-interleaved, virtual_stages: 2", "zero-bubble", "pipedream", "dualpipe", "dualpipev",
             "zb-h2", "zb-v", "1f1b-interleaved, virtual_stages: 2, group: 4"]
CLUSTERS = {"dgx-a100": 8, "dgx-h100": 8, "dgx-1v": 8, "dgx-2": 16, "dgx-b200": 8, "gcp-a3-mega": 8, "mi300x-8": 8, "a100-pcie": 8}


def maybe(draw, share, text):
    return [text] if draw.random() < share else []


def degrees(draw, devices):
    """Some product of the degrees is `devices`."""
    left, chosen = devices, {}
    for name in draw.sample(["tensor", "pipeline", "context"], 3):
        chosen[name] = draw.choice([d for d in (1, 1, 2, 2, 4, 8, 3) if left % d == 0])
        left //= chosen[name]
    return {**chosen, "data": left}


def model(draw, parallel):
    heads = draw.choice([8, 16, 24])
    layers = parallel["pipeline"] * draw.choice([1, 2, 3, 4])
    words = [f"layers: {layers}", f"hidden: {heads * draw.choice([32, 64])}", f"heads: {heads}", f"vocab: {draw.choice([512, 1024, 32000])}",
             f"sequence: {draw.choice([128, 512, 2048])}", f"tied_embeddings: {draw.choice(['true', 'false'])}"]
    experts = draw.random() < 0.35
    if experts:
        words += [f"experts: {draw.choice([4, 8, 16])}", f"experts_per_token: {draw.choice([1, 2])}"]
        words += maybe(draw, 0.3, f"dense_layers: {draw.randrange(layers)}")
    return "{" + ", ".join(words) + "}", experts


def workload(draw, devices):
    parallel = degrees(draw, devices)
    text, has_experts = model(draw, parallel)
    micro = draw.choice([1, 1, 2])
    batch = parallel["data"] * micro * draw.choice([1, 2, 4, 6]) * (parallel["pipeline"] if draw.random() < 0.5 else 1)
    words = [f"{name}: {degree}" for name, degree in parallel.items()]
    words += maybe(draw, 0.5, f"zero: {draw.choice([1, 1, 2, 3])}")
    words += maybe(draw, 0.95 if has_experts and parallel["tensor"] > 1 else 0.3, "sequence: true")
    words += maybe(draw, 0.2, "context_kind: all-gather")
    words += maybe(draw, 0.2, "order: [data, tensor, context, pipeline]")
    if has_experts:
        words += maybe(draw, 0.7, f"expert: {draw.choice([2, 2, 4])}")
        words += maybe(draw, 0.3, f"expert_skew: {draw.choice([0.3, 1])}")
    lines = [f"model: {text}", "parallel: {" + ", ".join(words) + "}", f"batch: {{global: {batch}, micro: {micro}}}"]
    if parallel["pipeline"] > 1:
        lines += maybe(draw, 0.6, f"schedule: {{kind: {draw.choice(SCHEDULES)}}}")
    lines += maybe(draw, 0.4, f"overlap: {{gradients: {draw.choice(['true', 'false'])}}}")
    lines += maybe(draw, 0.3, f"recompute: {draw.choice(['none', 'selective', 'full'])}")
    lines += maybe(draw, 0.4, f"iterations: {draw.choice([2, 3])}")
    lines += maybe(draw, 0.2, "initial_broadcast: true")
    lines += maybe(draw, 0.3, f"software: {draw.choice(['megatron-2022', 'megatron-2025', 'fsdp-2023', 'deepspeed-2023'])}")
    return lines


def faults(draw, ranks):
    rank = draw.randrange(ranks)
    return draw.choice([f"ranks: {{{rank}: {{compute: 1.1}}}}", f"ranks: {{{rank}: {{start: 1 ms}}}}",
                        "links: {node0.nic0: {bandwidth: 50 %}}", "jitter: {per: rank, sigma: 3 %, seed: 4}",
                        "jitter: {per: operation, sigma: 2 %, seed: 3}"])


def experiment(draw):
    cluster = draw.choice(list(CLUSTERS))
    nodes = draw.choice([1, 1, 2, 2, 3, 4])
    devices = CLUSTERS[cluster] * nodes
    lines = [f"cluster: {cluster}", f"nodes: {nodes}"]
    if draw.random() < 0.15 and nodes > 1:
        half = devices // 2
        lines.append("jobs:")
        for name in ("one", "two"):
            lines += [f"  - name: {name}", "    workload:", *("      " + line for line in workload(draw, half))]
    else:
        lines += ["workload:", *("  " + line for line in workload(draw, devices))]
    lines += maybe(draw, 0.25, f"network: {{model: {draw.choice(['alpha-beta', 'flow'])}, granularity: {draw.choice(['phase', 'step'])}}}")
    lines += maybe(draw, 0.25, f"collectives: {{library: fixed, chunks: {draw.choice([1, 2, 3])}}}")
    lines += maybe(draw, 0.25, "perturb: {" + faults(draw, devices) + "}")
    return "\n".join(lines) + "\n"


def outcome(program, folder, name, extra):
    done = program.run(["run", "job.yaml", "--allow-oom", "--deterministic", "--out", name, "--ranks", "all", *extra], folder, seconds=300)
    table = Path(folder, name, "operations.csv")
    return done, table.read_bytes() if done.code == 0 else b""


def main():
    program, checks = Program(sys.argv[1]), Checks()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else SEED)
    ran = rows = 0
    refusals = {}
    for number in range(count):
        text = experiment(draw)
        with scratch_folder() as folder:
            Path(folder, "job.yaml").write_text(text)
            (first, table), *others = [outcome(program, folder, name.replace(" ", "-"), extra) for name, extra in WAYS.items()]
            checks.check(first.code in (0, 2) and not first.broken, f"experiment {number} ends as promised", text + first.stderr)
            for name, (other, same) in zip(list(WAYS)[1:], others):
                checks.check(other.code == first.code and same == table, f"experiment {number}: folded and {name}: every row", text + other.stderr)
                checks.check(first.code != 0 or other.stdout == first.stdout, f"experiment {number}: folded and {name}: the summary",
                             text + first.stdout + other.stdout)
            ran += first.code == 0
            rows += table.count(b"\n")
            if first.code != 0:
                reason = first.stderr.split("error: ")[-1].splitlines()[0]
                refusals[reason] = refusals.get(reason, 0) + 1
    checks.check(3 * ran > count, "a third of the experiments run at least", refusals)
    print(f"{ran} of {count} experiments ran, {rows} rows")
    if count > COUNT:
        for reason, times in sorted(refusals.items(), key=lambda item: -item[1])[:12]:
            print(f"{times:5} refused: {reason[:140]}")
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
