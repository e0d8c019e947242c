#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clusters_test.py PROGRAM: every cluster that `orrery list clusters` names can be shown, as text and as a drawing.

The text names every figure that the cluster, its node, device, links and network call assumed.
"""
import csv
import json
import re
import sys

from broken_machines import slot
from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

TOO_MANY = "links are too many to draw"


def assumed_in(path):
    """The entries of `assumed` in a file, which stand on one line, and the names of the files that it takes in."""
    text = path.read_text()
    found = re.search(r"^assumed: \[(.*)\]", text, re.M)
    parts = dict(re.findall(r"^ *(node|device|network|nvlink|pcie|link): ([\w.-]+)", text, re.M))
    return [word.strip() for word in found.group(1).split(",")] if found else [], parts


def assumed_of(cluster):
    """The paths that `orrery cluster show` should print."""
    paths = []

    def take(folder, name, prefix, parts):
        figures, inner = assumed_in(SOURCE / "configs" / folder / f"{name}.yaml")
        paths.extend(f"{prefix}.{figure}" for figure in figures)
        return {part: inner[part] for part in parts if part in inner}

    of_cluster = take("clusters", cluster, "cluster", ["node", "network"])
    of_node = take("nodes", of_cluster["node"], "cluster.node", ["device", "link"])
    if "link" in of_node:
        take("links", of_node["link"], "cluster.node.fabric.link", [])
    links = take("devices", of_node["device"], "cluster.node.device", ["nvlink", "pcie"])
    for key, name in links.items():
        take("links", name, f"cluster.node.device.{key}", [])
    if "network" in of_cluster:
        take("networks", of_cluster["network"], "cluster.scale_out.network", [])
    return paths


def check_text(cluster, shown, checks):
    checks.check(shown.code == 0 and not shown.broken, f"{cluster}: cannot be shown", shown.stderr)
    checks.check(re.search(r"^[1-9]\d* devices, [\s\S]{,200}\s\d+ directed links$", shown.stdout, re.M), f"{cluster}: no counts",
                 shown.stdout)
    listed = re.findall(r"^  (cluster\..*)$", shown.stdout, re.M)
    checks.check(sorted(listed) == sorted(assumed_of(cluster)), f"{cluster}: not what its files call assumed",
                 f"shown {sorted(listed)}\nfiles {sorted(assumed_of(cluster))}")


def check_drawing(cluster, drawn, checks):
    if TOO_MANY in drawn.stderr:
        return checks.check(drawn.code == 2 and cluster.startswith("tpu-"), f"{cluster}: too large to draw")
    edges = drawn.stdout.count(" -> ")
    links = edges + drawn.stdout.count("dir=both")
    checks.check(drawn.code == 0 and not drawn.broken, f"{cluster}: cannot be drawn", drawn.stderr)
    checks.check(drawn.stdout.startswith("digraph ") and drawn.stdout.endswith("}\n"), f"{cluster}: no digraph")
    checks.check(drawn.stdout.count("{") == drawn.stdout.count("}"), f"{cluster}: braces do not match")
    return checks.check(links > 0, f"{cluster}: a drawing without links")


def check_classes(program, checks, folder):
    """`classes` changes all listed links of a class, and no others."""
    def links(*changes):
        settings = [word for change in changes for word in ("--set", f"cluster.node.classes.{change}")]
        shown = program.run(["cluster", "show", "a100-pcie", *settings, "--format", "csv"], folder).stdout
        table = csv.DictReader(line for line in shown.splitlines() if line and not line.startswith("#"))
        return [(row["class"], *(float(row[column]) for column in ("bandwidth (B/s)", "efficiency (%)", "latency (s)")))
                for row in table]
    before = links()
    checks.check(len(before) == 6 and links("pcie.bandwidth=31.5 GB/s", "nvlink.latency=150 ns") == before,
                 "a class set to what its links have changes nothing", before)
    slower = links("pcie.bandwidth=16 GB/s", "nvlink.bandwidth=20 GB/s", "sockets.latency=1 us", "sockets.efficiency=50 %")
    # A bridge is 12 links; efficiencies stay those of the kind of link.
    expected = {"nvlink": (240e9, 80, 150e-9), "pcie": (16e9, 76.19, 250e-9), "sockets": (16e9, 50, 1e-6)}
    checks.check(len(slower) == 6 and all(tuple(rest) == expected[name] for name, *rest in slower), "classes of links", slower)


def check_sockets(program, checks, folder):
    """Bandwidths that NCCL takes between Intel's sockets by their model: of NCCL's dump of a topology, one GPU a socket."""
    for family, model, rate in [(6, 0x55, 10), (6, 0x54, 6), (6, 0x8F, 22), (6, 0xCF, 40), (7, 0xCF, 10)]:
        sockets = "".join(f'<cpu numaid="{i}" arch="x86_64" vendor="GenuineIntel" familyid="{family}" modelid="{model}">\n'
                          + slot(0x20 + i, "0x030200", f'<gpu dev="{i}" sm="90" rank="{i}"></gpu>') + "</cpu>\n" for i in range(2))
        write_files(folder, {"system.xml": f'<system version="1">\n{sockets}</system>\n'})
        imported = program.run(["cluster", "import", "system.xml"], folder).stdout
        checks.check(f"{{from: cpu0, to: cpu1, bandwidth: {rate} GB/s," in imported,
                     f"sockets of family {family}, model {model}, are joined by {rate} GB/s", imported)


def main():
    program = Program(sys.argv[1])
    checks = Checks()
    with scratch_folder() as folder:
        listed = json.loads(program.run(["list", "clusters", "--json", "-"], folder).stdout)["items"]
        names = [item["name"] for item in listed]
        shown = program.run(["list", "clusters"], folder).stdout
        checks.check(all(re.search(rf"^  {re.escape(name)} ", shown, re.M) for name in names) and
                     not re.search(r"left out at \d+ columns: [;,]", shown),
                     "the text names all, and which columns a screen does not hold", shown)
        files = sorted(path.stem for path in (SOURCE / "configs" / "clusters").glob("*.yaml"))
        checks.check(names == files, "`orrery list clusters` is the files of configs/clusters", names)
        for name in names:
            show = ["cluster", "show", name, "--nodes", "2"]
            check_text(name, program.run(show, folder), checks)
            check_drawing(name, program.run([*show, "--dot"], folder), checks)
        routed = program.run(["cluster", "show", "dgx-superpod", "--nodes", "64", "--set",
                              "network.routing=deterministic"], folder)
        # 64 nodes are two units: 16 leaf switches, each with 32 links to 32 spine switches of their own.
        checks.check(" 16 leaf, 32 spine)" in routed.stdout and "    512    50 GB/s" in routed.stdout,
                     "dgx-superpod under deterministic routing has a link for each cable", routed.stdout)
        check_classes(program, checks, folder)
        check_sockets(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
