#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults_test.py PROGRAM: what is perturbed may be said in several ways, which give the same result to the picosecond; it
folds exactly; `--cost` and `--seeds` say what `run` says of the same experiment with other settings."""
import json
import math
import sys

from orrery_program import SMALL_JOB, run_parts

# Nodes 0 and 1; data-parallel groups and pipeline sends cross the NICs.
JOB = SMALL_JOB.replace("nodes: 2", "nodes: 4").replace("data: 2", "data: 4")
# One exchange of gradients over two dimensions.
THEMIS = """
cluster:
  dims:
    - {name: package, topology: switch, size: 8, bandwidth: 200 GB/s, latency: 700 ns}
    - {name: node, topology: switch, size: 4, bandwidth: 100 GB/s, latency: 700 ns}
  device: a100-sxm-80gb
collectives: {library: fixed, chunks: 16, active_chunks: 2, dimension_order: themis}
workload:
  model: {layers: 4, hidden: 2048, heads: 16, vocab: 32000, sequence: 512}
  parallel: {data: 32}
  overlap: {gradients: false}
  batch: {global: 32, micro: 1}
"""
# Settings that say the same.
SAME = [
    (["perturb.nodes.1.compute=1.3"], [f"perturb.ranks.{rank}.compute=1.3" for rank in range(8, 16)]),
    (["perturb.nodes.1.slower=30 %"], ["perturb.ranks.8-15.compute=1.3"]),
    (["perturb.nodes.0-1.start=1 ms"], ["perturb.ranks.0-15.start=1 ms"]),
    (["perturb.nodes={0-1: {slower: 20 %}, 3: {compute: 1.5}}"],
     ["perturb.ranks={0-15: {compute: 1.2}, 24-31: {slower: 50 %}}"]),
    # A rank's own factor times its node's, the later start of both.
    (["perturb.nodes.0.compute=1.2", "perturb.ranks.3={compute: 1.5, start: 2 ms}", "perturb.nodes.0.start=1 ms"],
     ["perturb.ranks={0-2: {compute: 1.2, start: 1 ms}, 3: {compute: 1.8, start: 2 ms}, "
      "4-7: {compute: 1.2, start: 1 ms}}"]),
    # On strided placement, node 1 has every fourth rank.
    (["placement=strided", "perturb.nodes.1.compute=1.3"],
     ["placement=strided", *[f"perturb.ranks.{rank}.compute=1.3" for rank in range(1, 32, 4)]]),
    (["perturb.nics.node1.nic0=dead"], ["perturb.links={node1.nic0: {dead: true}}"]),
    (["perturb.nics={node1.nic0: {dead: true}}"], ["perturb.links.node1.nic0=dead"]),
    (["perturb.nics.node1.nic0.bandwidth=50 %"], ["perturb.links={node1.nic0: {bandwidth: 50 %}}"]),
    (["perturb.links.nic.up.bandwidth=50 %"], ["perturb.links={nic.up: {bandwidth: 50 %}}"]),
    (["perturb.links.nic.up[5].bandwidth=50 %", "perturb.links.nic.up[5].latency=1 us"],
     ['perturb.links={"nic.up[5]": {bandwidth: 50 %, latency: 1 us}}']),
    (["perturb.links.node1.nic0.up={bandwidth: 40 %}", "perturb.links.node1.nic0.up.bandwidth*=0.5"],
     ["perturb.links={node1.nic0.up: {bandwidth: 20 %}}"]),
    (["perturb.links.nic.up.traffic.most=60 %", "perturb.links.nic.up.traffic.period=10 ms"],
     ["perturb.links={nic.up: {traffic: {most: 60 %, period: 10 ms}}}"]),
    (["perturb.links.node2.nic0.at=[{time: 10 ms, bandwidth: 25 %}]", "perturb.links.node2.nic0.at.0.time=20 ms"],
     ["perturb.links={node2.nic0: {at: [{time: 20 ms, bandwidth: 25 %}]}}"]),
]
# Their passes are repeated, with noise that is the same in all of them, or not.
FOLDED = [["perturb.nodes.1.slower=30 %"], ["perturb.ranks.3.compute=1.3"], ["perturb.jitter.sigma=5 %"],
          ["perturb.jitter={per: rank, sigma: 5 %}"], ["perturb.jitter={per: operation, sigma: 5 %}"],
          ["perturb.jitter.sigma=5 %", "workload.iterations=2"], ["perturb.nodes.1.start=3 ms"]]


def options(settings):
    return [word for setting in settings for word in ("--set", setting)]


def answer(program, checks, folder, arguments, experiment="job.yaml"):
    done = program.run(["run", experiment, *arguments, "--json", "-"], folder, seconds=60)
    if not checks.check(done.code == 0 and not done.broken, " ".join(arguments), done.stderr):
        return {}
    return json.loads(done.stdout)


def check_same(program, checks, folder):
    healthy = answer(program, checks, folder, [])
    for ways in SAME:
        first, other = (answer(program, checks, folder, options(way)) for way in ways)
        checks.check(first.get("iteration_time_s") == other.get("iteration_time_s"), f"{ways[0]} is {ways[1]}",
                     (first.get("iteration_time_s"), other.get("iteration_time_s")))
        checks.check(first.get("iteration_time_s") != healthy.get("iteration_time_s"), f"{ways[0]} makes a difference")


def check_folding(program, checks, folder):
    for settings in FOLDED:
        done = program.run(["run", "job.yaml", "--verify-fold", *options(settings)], folder, seconds=60)
        checks.check(done.code == 0 and "no operation of 32 ranks differs" in done.stderr, f"{settings} folds exactly",
                     done.stderr)


def check_themis(program, checks, folder):
    """Orders of dimensions look at all lines: which device has the slow link means nothing."""
    (folder / "themis.yaml").write_text(THEMIS)
    times = [answer(program, checks, folder, options([f"perturb.links.package.up[{device}].bandwidth=20 %"]), "themis.yaml")
             .get("iteration_time_s") for device in (0, 5, 31)]
    checks.check(times[0] and len(set(times)) == 1, "Themis: a slow link is as slow at any device", times)


def check_culprit(program, checks, folder):
    done = program.run(["run", "job.yaml", "--set", "perturb.nodes.1.slower=30 %"], folder)
    checks.check("node1 (ranks 8-15)" in done.stdout, "the summary names the slow node", done.stdout)


def check_cost(program, checks, folder):
    healthy = answer(program, checks, folder, [])["iteration_time_s"]
    for setting in ("perturb.nodes.1.slower=30 %", "perturb.nics.node1.nic0=dead", "perturb.jitter.sigma=5 %"):
        slow = answer(program, checks, folder, ["--set", setting, "--cost"])
        cost = slow["cost"]
        checks.check(cost["undisturbed_s"] == healthy, f"{setting}: without it is the healthy run", cost)
        checks.check(math.isclose(cost["cost_s"], slow["iteration_time_s"] - healthy, abs_tol=1e-9), "the difference")
        checks.check(math.isclose(cost["percent"], 100 * (slow["iteration_time_s"] / healthy - 1), rel_tol=1e-9), "in percent")
        text = program.run(["run", "job.yaml", "--set", setting, "--cost"], folder).stdout
        checks.check(f"({cost['percent']:+.2f} %)" in text.splitlines()[-1], "the summary's last line says so", text)
        printed = program.run(["run", "job.yaml", "--set", setting, "--cost", "--print", "cost.percent"], folder).stdout
        checks.check(math.isclose(float(printed.split()[1]), cost["percent"]), "--print has it", printed)


def check_seeds(program, checks, folder):
    for settings in (["perturb.jitter={sigma: 5 %, seed: 3}"],
                     ["perturb.jitter.sigma=2 %", "perturb.links.nic.up.traffic={most: 60 %, period: 10 ms, seed: 7}"]):
        document = answer(program, checks, folder, [*options(settings), "--seeds", "9"])
        runs = document["runs"]
        times = sorted(run["iteration_time_s"] for run in runs)
        checks.check(len(set(times)) == 9, "every seed has a time of its own", times)
        for run in runs[::4]:
            single = answer(program, checks, folder, options(settings + run["settings"]))
            checks.check(single["iteration_time_s"] == run["iteration_time_s"], f"{run['settings']}: run says the same",
                         (single["iteration_time_s"], run))
        checks.check(runs[0]["iteration_time_s"] == answer(program, checks, folder, options(settings))["iteration_time_s"],
                     "the first are the experiment's own seeds")
        for share in (50, 90, 99):
            checks.check(document[f"p{share}_s"] == times[math.ceil(share * 9 / 100) - 1], f"p{share} by rank", times)
        checks.check((document["min_s"], document["max_s"]) == (times[0], times[-1]), "the ends")
        checks.check(math.isclose(document["mean_s"], sum(times) / 9, rel_tol=1e-9), "the mean")
        checks.check(document["undisturbed_s"] == answer(program, checks, folder, [])["iteration_time_s"], "undisturbed")
        above = 100 * (document["p99_s"] / document["undisturbed_s"] - 1)
        checks.check(math.isclose(document["p99_above_percent"], above, rel_tol=1e-9), "above undisturbed")
        alone = program.run(["run", "job.yaml", *options(settings), "--seeds", "9", "--jobs", "1"], folder).stdout
        many = program.run(["run", "job.yaml", *options(settings), "--seeds", "9", "--jobs", "4"], folder).stdout
        checks.check(alone == many and "over 9 seeds: p50 " in alone, "the same bytes whatever --jobs", alone + many)


def check_all_keys(program, checks, folder):
    """Whatever may stand below a name of links or a NIC ends the name in a path."""
    keys = json.loads(program.run(["list", "keys", "--json", "-"], folder).stdout)["items"]
    for above, name in (("perturb.links", "nic.up"), ("perturb.nics", "node1.nic0")):
        parts = [key["name"].split(">.", 1)[1] for key in keys if key["name"].startswith(f"{above}.<")]
        below = {part for part in parts if "." not in part and "[" not in part}
        checks.check(len(below) == 5, f"keys below {above}", below)
        for part in below:
            done = program.run(["run", "job.yaml", "--set", f"{above}.{name}.{part}=zzz"], folder)
            checks.check(done.code == 2 and f"{above}.{name}.{part}" in done.stderr.split("error:")[1],
                         f"{above}.{name}.{part} is refused by its name", done.stderr)


def check_slips(program, checks, folder):
    """A slip behind a name with dots is told from a name."""
    for name, slip, value, meant in (("perturb.nics.node1.nic0", "bandwith", "50 %", "bandwidth"),
                                     ("perturb.links.nic.up", "bandwith", "50 %", "bandwidth"),
                                     ("perturb.links.nic.up", "latencey", "1 us", "latency"),
                                     ("perturb.links.nic.up", "trafic", "60 %", "traffic")):
        done = program.run(["run", "job.yaml", "--set", f"{name}.{slip}={value}"], folder)
        checks.check(done.code == 2 and f"unknown key '{slip}' in '{name}'" in done.stderr and
                     f"did you mean '{meant}'?" in done.stderr, f"{name}.{slip}", done.stderr)
    done = program.run(["run", "job.yaml", "--set", "perturb.links.nic.up=50 %"], folder)
    checks.check(done.code == 2 and "'perturb.links.nic.up' is '50 %'" in done.stderr, "no slip, but no map", done.stderr)
    for what in ("ranks", "nodes"):
        done = program.run(["run", "job.yaml", "--set", f"perturb.{what}.7-3.compute=1.3"], folder)
        checks.check(done.code == 2 and f"perturb.{what}.7-3: the range goes backwards" in done.stderr and "3-7" in done.stderr,
                     f"{what} backwards", done.stderr)


def check_sweep(program, checks, folder):
    """Names with dots are one key for every path: here for a sweep."""
    (folder / "sweep.yaml").write_text("experiment: job.yaml\nvary:\n"
                                       "  - {key: perturb.links.nic.up.bandwidth, values: [100 %, 50 %]}\n")
    done = program.run(["sweep", "sweep.yaml", "--out", "points"], folder)
    checks.check(done.code == 0, "a sweep over the bandwidth of a class of links", done.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_same, check_folding, check_themis, check_culprit, check_cost, check_seeds, check_all_keys,
                       check_slips, check_sweep, files={"job.yaml": JOB}))
