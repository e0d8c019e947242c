#!/bin/sh
# SPDX-License-Identifier: MIT
# What does an A800 cost, plan by plan, and is that what last night said? GPT of 7.5 to 175 billion parameters under 103
# plans as a job array of Slurm, every night from a machine that submits jobs:
#
#   0 1 * * *  cd orrery && scripts/studies/nightly_slurm.sh results/$(date +\%F) results/$(date -d yesterday +\%F)
#
#   scripts/studies/nightly_slurm.sh [FOLDER [FOLDER-OF-BEFORE]]     table.tsv goes there, the sweep to FOLDER/sweep
#
# FOLDER is one that the nodes see, too. Started again, it goes on where it was cut off. SLURM: options of the array, as
# "--partition night --time-limit 30 --array-limit 100"; SWEEP: another sweep over two clusters, the last of its axes;
# LAUNCHER=local: on this machine. Ends with 1 if a plan's time differs from that of before.
set -eu
cd "$(dirname "$0")/../.."
. scripts/studies/common.sh

before=${2:-}
# shellcheck disable=SC2086 # several options
"$orrery" sweep "${SWEEP:-configs/studies/a100-a800-sweep.yaml}" --launcher "${LAUNCHER:-slurm}" ${SLURM:-} \
  --out "$folder/sweep" >"$folder/sweep.txt"

# Pairs of points that differ in the last axis alone; of those that could be simulated.
jq -r '.points | range(0; length; 2) as $i | [.[$i], .[$i + 1]] | select(all(.iteration_time_s))
  | [(.[0].settings | del(.cluster) | join(", ")), .[0].iteration_time_s, .[1].iteration_time_s,
     .[1].iteration_time_s / .[0].iteration_time_s] | @tsv' "$folder/sweep/result.json" |
  awk -F '\t' 'BEGIN {OFS = FS; print "plan", "A100 (s)", "A800 (s)", "A800/A100"}
    {printf "%s\t%.4f\t%.4f\t%.4f\n", $1, $2, $3, $4}' >"$folder/table.tsv"
table "$folder/table.tsv"

if [ -n "$before" ] && [ -e "$before/table.tsv" ]; then
  if ! diff "$before/table.tsv" "$folder/table.tsv"; then
    echo "times differ from those in $before" >&2
    exit 1
  fi
  echo "all times are those of $before"
fi
