#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""training_test.py PROGRAM: jobs from a model against calculations by hand: breakdowns of mixed clusters, bubbles of pairs of
passes and what they hold in memory, what sharding costs with every shipped software, late ranks, uneven experts."""
import json
import sys

from orrery_program import SMALL_JOB, SOURCE, run_parts, write_files

MIXED = """\
cluster:
  nodes: [{node: dgx-h100, count: 1}, {node: dgx-h200, count: 1}]
  scale_out: {topology: switch, latency: 600 ns}
placement: strided
workload:
  model: {hidden: 1024, layers: 4, heads: 16, vocab: 1024, sequence: 512}
  parallel: {data: 2, zero: 0}
  batch: {global: 2, micro: 1}
  input: {sample: 110 KB, decode: 10 us, copy: 12 GB/s, prefetch: 0}
memory: {remote: {bandwidth: 20 GB/s, latency: 5 us}}
"""
# Eight ranks, 16 equal layers of which every part is a GEMM or a kernel of memory, hosts and links that take no time.
EQUAL_STAGES = """\
cluster: {device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 100000 GB/s, latency: 0 ns}]}
workload:
  model: {hidden: 2048, layers: 16, heads: 16, vocab: 0, sequence: 1024, position: none}
  parallel: {pipeline: 8}
  batch: {global: 16, micro: 1}
  schedule: {kind: dualpipe}
"""
OVERLAPPED = """\
cluster: dgx-a100
workload:
  model: {hidden: 1024, layers: 8, heads: 16, vocab: 0, sequence: 1024, position: none}
  parallel: {data: 8}
  batch: {global: 32, micro: 1}
"""
SHARDED = """\
cluster: dgx-h100
nodes: 1
workload:
  model: {hidden: 4096, layers: 4, heads: 32, vocab: 32000, sequence: 4096, gated_mlp: true, ffn_hidden: 11008}
  parallel: {data: 8, zero: 0}
  batch: {global: 8, micro: 1}
"""
LATE = """\
cluster: dgx-h100
nodes: 1
workload:
  model: {hidden: 1024, layers: 8, heads: 16, vocab: 1024, sequence: 1024}
  parallel: {pipeline: 4, data: 2, zero: 0}
  batch: {global: 16, micro: 1}
"""
UNEVEN = """\
cluster: dgx-h100
nodes: 1
workload:
  model: {hidden: 1024, layers: 2, heads: 16, vocab: 0, sequence: 1024, position: rotary, experts: 64, experts_per_token: 8, expert_hidden: 512}
  parallel: {data: 8, expert: 8, expert_skew: 2, zero: 0}
  batch: {global: 8, micro: 1}
"""


NO_HOST = "workload.software.host.launch=0 us"


def result_of(program, checks, folder, text, *settings):
    write_files(folder, {"job.yaml": text})
    arguments = [word for setting in settings for word in ("--set", setting)]
    outcome = program.run(["run", "job.yaml", "--allow-oom", *arguments, "--json", "-", "--deterministic"], folder, seconds=60)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{settings} runs", f"{outcome.broken}\n{outcome.stderr}"):
        return None
    return json.loads(outcome.stdout)


def time_of(program, checks, folder, text, *settings):
    result = result_of(program, checks, folder, text, *settings)
    return result["iteration_time_s"] if result else float("nan")


def check_mixed_input(program, checks, folder):
    """Ranks of every type of device wait for their input, which is no computation of theirs."""
    # 110 KB at 20 GB/s and 5 us, 10 us to decode, 110 KB at 12 GB/s: 10.5 + 10 + 9.166667 us.
    right = 110e3 / 20e9 + 5e-6 + 10e-6 + 110e3 / 12e9
    for part in result_of(program, checks, folder, MIXED, NO_HOST)["breakdown"]:
        exposed = part["exposed_comm_s"].get("input", 0)
        checks.check(abs(exposed - right) < 1e-11 and part["host_s"] == 0, f"rank {part['members']} waits for its input", part)


def check_bubble(program, checks, folder):
    """DualPipe's bubble in its order of passes, from what forward and backward passes take."""
    # One micro-batch through the two layers of a stage, on a rank by itself.
    alone = EQUAL_STAGES.replace("pipeline: 8", "data: 8").replace("  schedule: {kind: dualpipe}\n", "")
    busy = [result_of(program, checks, folder, alone, NO_HOST, "workload.model.layers=2", f"workload.batch.global={batch}")
            ["breakdown"][0]["compute_s"] for batch in (16, 32)]
    whole = (busy[1] - busy[0]) / 2
    result = result_of(program, checks, folder, EQUAL_STAGES, NO_HOST)
    bubble = result["iteration_time_s"] - max(part["compute_s"] for part in result["breakdown"])
    # With forward passes F, input gradients I and weight gradients W of a stage, W < F < I, the order of passes gives
    # (p/2 - 1)(2F + I - W). DeepSeek-V3's closed form (p/2 - 1)(F&B + B - 3W) is (p/2 - 1)(F + 2I - W), which is the most. Weight
    # gradients are GEMMs alone, a third of those of all, slower by adding up, and kernels of memory stand beside the
    # others: W is a quarter of F + I + W or somewhat more, F a third, I two fifths. So both are 0.75 to 0.95 of
    # (p/2 - 1)(F + I + W); one pass that starts before the other of its pair would take F from it, a third.
    checks.check(0.75 < bubble / (3 * whole) < 0.95, "dualpipe: the bubble of pairs that begin and end together",
                 f"{bubble} {whole}")
    for kind in ("dualpipe", "dualpipev"):
        pair = result_of(program, checks, folder, EQUAL_STAGES, f"workload.schedule.kind={kind}", "workload.batch.global=32")
        checks.check(pair is not None, f"{kind} ends")


def check_memory_of_pairs(program, checks, folder):
    """Without a pipeline a micro-batch goes forward beside another that goes backward: layer by layer, one or two more."""
    def activations(layers, overlapped):
        settings = [f"workload.model.layers={layers}"]
        settings += ["workload.schedule={kind: 1f1b, overlap_passes: true}"] if overlapped else []
        result = result_of(program, checks, folder, OVERLAPPED, *settings)
        return result["memory"]["by"]["activations"]
    # Activations of n layers are n s + w: what each saves, and what one works with. In the first step one more layer is
    # saved beside all n, and two are worked with: (n + 1) s + 2 w.
    saved = activations(9, False) - activations(8, False)
    working = activations(8, False) - 8 * saved
    checks.check(activations(8, True) == 9 * saved + 2 * working, "overlapping passes hold one layer more",
                 f"{activations(8, True)} {saved} {working}")


def check_sharding(program, checks, folder):
    """Sharding more never makes an iteration faster where only communication changes, whatever the software."""
    for file in sorted((SOURCE / "configs" / "software").glob("*.yaml")):
        text = file.read_text()
        if "\ninference" in text or "scatter_gather" not in text or "transformers" in text.splitlines()[0]:
            continue
        software = f"workload.software={file.stem}"
        times = {zero: time_of(program, checks, folder, SHARDED, software, f"workload.parallel.zero={zero}") for zero in (1, 2, 3)}
        # ZeRO 3 may hide what a framework gathers in one piece behind its optimizer: no longer than gathering takes by
        # itself, 2 bytes of all parameters at the 300 GB/s or more that an all-gather of 8 GPUs has.
        layer = 4096 * (4 * 4096 + 3 * 11008)
        gather = 0 if "\n  parameters: true" in text else 2 * (4 * layer + 2 * 32000 * 4096) * 7 / 8 / 300e9
        checks.check(times[1] <= times[2] <= times[3] + gather, f"{file.stem}: ZeRO 1, 2 and 3", f"{times} {gather}")


def check_late_ranks(program, checks, folder):
    """Whoever is late or slow: no iteration ends earlier; a late rank delays the broadcast before the first one."""
    for text in (LATE, LATE + "  initial_broadcast: true\n", SMALL_JOB):
        healthy = time_of(program, checks, folder, text)
        for rank in (0, 3, 7):
            for change in ("start: 50 us", "start: 20 ms", "compute: 1.2", "start: 1 ms, compute: 1.01"):
                late = time_of(program, checks, folder, text, f"perturb.ranks={{{rank}: {{{change}}}}}")
                checks.check(late >= healthy, f"rank {rank} with {change}", f"{late} {healthy}")
    broadcast = LATE + "  initial_broadcast: true\n"
    late = result_of(program, checks, folder, broadcast, "perturb.ranks={7: {start: 20 ms}}")
    healthy = result_of(program, checks, folder, LATE)
    checks.check(late["iteration_time_s"] == healthy["iteration_time_s"], "the barrier takes up what a rank is late",
                 f"{late['iteration_time_s']} {healthy['iteration_time_s']}")
    checks.check(late["initial_broadcast_s"] > 0.02, "before the first iteration", late["initial_broadcast_s"])


def check_uneven_experts(program, checks, folder):
    """Popular experts lie where a seed draws them; folded as unfolded; no rank receives more rows than tokens make."""
    even = time_of(program, checks, folder, UNEVEN, NO_HOST, "workload.parallel.expert_skew=0")
    times = [time_of(program, checks, folder, UNEVEN, NO_HOST, f"workload.parallel.expert_seed={seed}") for seed in range(1, 9)]
    checks.check(min(times) > even, "uneven experts take longer", f"{times} {even}")
    checks.check(len(set(times)) > 4, "another seed, other places", times)
    checks.check(times[0] == time_of(program, checks, folder, UNEVEN, NO_HOST), "seed 1 by default", times)
    write_files(folder, {"job.yaml": UNEVEN})
    folded = program.run(["run", "job.yaml", "--allow-oom", "--verify-fold"], folder, seconds=60)
    checks.check(folded.code == 0, "uneven experts fold exactly", folded.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_mixed_input, check_bubble, check_memory_of_pairs, check_sharding, check_late_ranks,
                       check_uneven_experts, apart=True))
