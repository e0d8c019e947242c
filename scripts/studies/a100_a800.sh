#!/bin/sh
# SPDX-License-Identifier: MIT
# What does an A800, whose NVLink has 200 GB/s where an A100 has 300, cost? That depends on how much of each layer goes
# over NVLink: Llama 2 13B on four nodes, spread over 2, 4 and 8 GPUs.
#
#   scripts/studies/a100_a800.sh [FOLDER]     table.tsv and picture.svg go there
set -eu
cd "$(dirname "$0")/../.."
. scripts/studies/common.sh

step() {  # CLUSTER TENSOR: milliseconds
  figure '.iteration_time_s * 1e3 * 10 | round / 10' run configs/studies/llama2-13b-four-nodes.yaml \
    --set cluster="$1" --set workload.parallel.tensor="$2"
}

printf 'tensor\tA100 (ms)\tA800 (ms)\tA800/A100\n' >"$folder/table.tsv"
for tensor in 2 4 8; do
  a100=$(step dgx-a100 "$tensor")
  a800=$(step hgx-a800 "$tensor")
  printf '%s\t%s\t%s\t%s\n' "$tensor" "$a100" "$a800" "$(echo "$a800 $a100" | awk '{printf "%.3f", $1 / $2}')" >>"$folder/table.tsv"
done
table "$folder/table.tsv"
cut -f 1,2,3 "$folder/table.tsv" >"$folder/times.tsv"
picture "$folder/times.tsv" "$folder/picture.svg" 'tensor-parallel GPUs' 'iteration (ms)'
