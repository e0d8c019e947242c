# SPDX-License-Identifier: MIT
"""Orrery's outputs in pandas, cell by cell: open it in an editor that knows `# %%`, or run it as a whole:

    ORRERY=build/release/orrery python3 docs/examples/notebook.py

Everything goes by files: a command writes them, pandas reads them."""
# %% What the cells share
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

ORRERY = os.environ.get("ORRERY", "orrery")
STUDIES = Path(__file__).resolve().parents[2] / "configs" / "studies"
FOLDER = Path(tempfile.mkdtemp(prefix="orrery-"))
pd.set_option("display.width", 160, "display.max_columns", 20)


def orrery(*words):
    """Runs a command; what it says on standard error is shown if it fails."""
    subprocess.run([ORRERY, "-q", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


# %% One run: where the time of each class of ranks goes
orrery("run", STUDIES / "llama2-13b-four-nodes.yaml", "--out", FOLDER / "run", "--json", FOLDER / "run.json")
result = json.loads((FOLDER / "run.json").read_text())
breakdown = pd.json_normalize(result["breakdown"]).set_index("members")
print(breakdown.filter(regex="_s$|^exposed").round(4), end="\n\n")

# %% The links of the run, and its operations
links = pd.DataFrame(result["links"]).set_index("class")
print(links[["count", "busy", "mean_utilisation"]].round(3), end="\n\n")
operations = pd.read_csv(FOLDER / "run" / "operations.csv")
operations["ms"] = (operations.end_ps - operations.start_ps) * 1e-9
print(operations.groupby("kind").ms.agg(["count", "sum"]).round(1), end="\n\n")

# %% A sweep as CSV: a pivot table, and ratios to a column
orrery("sweep", STUDIES / "smoke-sweep.yaml", "--out", FOLDER / "sweep")
points = pd.read_csv(FOLDER / "sweep" / "points.csv")
times = points.pivot_table(index=["plan", "micro"], columns="cluster", values="iteration_time_s")
print(times.div(times.iloc[:, 0], axis=0).round(3), end="\n\n")

# %% The same points from the data base and as JSON lines
import sqlite3

with sqlite3.connect(FOLDER / "sweep" / "points.sqlite") as base:
    best = pd.read_sql("SELECT plan, min(iteration_time_s) AS best_s FROM points GROUP BY plan", base)
print(best, end="\n\n")
lines = pd.read_json(FOLDER / "sweep" / "points.jsonl", lines=True)
assert (lines.iteration_time_s - points.iteration_time_s).abs().max() < 1e-12

# %% A search: the best plans, and what they give up for memory
orrery("search", STUDIES / "llama2-13b-four-nodes.yaml", "--fix", "context=1", "--json", FOLDER / "search.json")
search = json.loads((FOLDER / "search.json").read_text())
plans = pd.json_normalize(search["best"] + search["others"]).rename(columns=lambda name: name.removeprefix("plan."))
plans["memory_GiB"] = plans.memory_bytes / 2**30
print(plans[["tensor", "pipeline", "data", "recompute", "iteration_time_s", "memory_GiB"]].head(5).round(2), end="\n\n")

# %% Noise over seeds
orrery("run", STUDIES / "resnet-50-ddp.yaml", "--set", "perturb.jitter={sigma: 2 %}", "--seeds", 20, "--json", FOLDER / "seeds.json")
seeds = pd.DataFrame(json.loads((FOLDER / "seeds.json").read_text())["runs"])
print(seeds.iteration_time_s.quantile([0.5, 0.9, 0.99]).round(4), end="\n\n")

# %% Goodput over checkpoint intervals
orrery("goodput", STUDIES / "llama3-8b-fsdp.yaml", "--mtbf", "5 years", "--restart", "10 min", "--checkpoint-time", "30 s",
       "--json", FOLDER / "goodput.json")
goodput = pd.DataFrame(json.loads((FOLDER / "goodput.json").read_text())["intervals"])
print(goodput.drop(columns="simulated").round(4), end="\n\n")

# %% A collective by size
orrery("collective", "--cluster", "dgx-h100", "--nodes", 2, "--op", "all_reduce", "-b", "1M", "-e", "1G", "-f", "4",
       "--json", FOLDER / "collective.json")
rows = pd.DataFrame(json.loads((FOLDER / "collective.json").read_text())["rows"])
print(rows[["bytes", "time_us", "busbw_GBps", "algorithm", "protocol"]])
