# SPDX-License-Identifier: MIT
"""Command lines whose answers are texts: those of the documents and of the shipped sweeps, and a command for each table
that neither has."""
import re
import shlex

from documented_commands_test import blocks_of
from orrery_program import SOURCE, sweeps

# Work of more than a few seconds.
LONG = re.compile(r"validate (?!nccl$)|--cross|--launcher|--seeds \d\d|a100-a800-sweep|all-reduce-jitter")
# Answers of another form than text, and pipes.
OTHER = re.compile(r"--format|--json -|--print|list (keys|schema|results|result-schema)|--help|-o -|--out -|--convert|"
                   r"completion|cluster import|\bman\b|--launcher-flags|astra-sim|--timeline|\.dot|--sources=|[|><;&$*]")
TABLES = """
list algorithms
list clusters
list devices
list dispatch
list figures
list libraries
list links
list models
list networks
list nodes
list optimizers
list recipes
list software
list studies
list topologies
model show llama3-70b
model show deepseek-v3
cluster show dgx-h100
cluster show gb200-nvl72
check configs/studies/gpt-neox-20b.yaml
run configs/studies/gpt-neox-20b.yaml --details
run configs/studies/gpt-neox-20b.yaml --critical-path
run configs/studies/gpt-neox-20b.yaml --sources
run configs/studies/deepseek-v3-2048-h800.yaml --details
run configs/studies/two-jobs.yaml --details --critical-path
run configs/studies/straggler.yaml --details --critical-path
run configs/studies/parameter-server.yaml --details
run configs/studies/handbook-2b-8gpu.yaml --set perturb.jitter.sigma=2% --seeds 3
explain configs/studies/gpt-neox-20b.yaml
explain configs/studies/llama3-8b-fsdp.yaml
explain configs/studies/two-jobs.yaml
goodput configs/studies/gpt-neox-20b.yaml --mtbf '50000 h' --restart '10 min' --checkpoint-time '60 s'
search configs/studies/handbook-2b-8gpu.yaml
search configs/studies/llama2-13b-four-nodes.yaml --fix sequence=true --fix zero=1 --vary nodes=2,4
sweep configs/studies/smoke-sweep.yaml
sweep configs/studies/h100-h800.yaml
sweep configs/studies/strong-scaling.yaml
compare configs/studies/gpt3-175b-128-a100.yaml configs/studies/gpt3-175b-128-a800.yaml
compare configs/studies/handbook-2b-8gpu.yaml configs/studies/handbook-2b-4nodes.yaml configs/studies/gpt-neox-20b.yaml
compare configs/studies/handbook-2b-8gpu.yaml configs/studies/handbook-2b-4nodes.yaml configs/studies/gpt-neox-20b.yaml configs/studies/opt-175b-992.yaml configs/studies/mixtral-8x7b-ep.yaml
collective --cluster dgx-h100 --nodes 2 --op all_reduce -b 8 -e 8G -f 1024
collective --cluster dgx-a100 --cluster hgx-a800 --nodes 2 --op all_reduce -b 1M -e 16G -f 16
collective --cluster dgx-a100 --op all_reduce --library fixed --algo each -b 1K -e 1G -f 64
workload inspect traces/gpt-tp4pp2dp2/rank --groups traces/gpt-tp4pp2dp2/groups.json
workload lint traces/gpt-tp4pp2dp2/rank --groups traces/gpt-tp4pp2dp2/groups.json
validate nccl
""".strip().splitlines()


def documented():
    """The commands of the documents that succeed, in their order, without the program's name."""
    for path in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]:
        for lines, _ in blocks_of(path.read_text()):
            for line, code in lines:
                if code == 0:
                    yield re.sub(r"^(build/release/)?orrery ", "", line)


def is_short(line):
    return not LONG.search(line) and not OTHER.search(line)


def command_lines():
    """Each command once, as words."""
    lines = [*documented(), *(f"sweep {path.relative_to(SOURCE)}" for path in sweeps()), *TABLES]
    return [shlex.split(line) for line in dict.fromkeys(line.strip() for line in lines) if is_short(line)]
