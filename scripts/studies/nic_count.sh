#!/bin/sh
# SPDX-License-Identifier: MIT
# How many NICs does a node need? Llama 3 8B, its parameters sharded over 64 H100, and the all-reduce that the nodes
# are capable of, with 1, 2, 4 and 8 NICs of 400 Gb/s for eight GPUs.
#
#   scripts/studies/nic_count.sh [FOLDER]     table.tsv and picture.svg go there
set -eu
cd "$(dirname "$0")/../.."
. scripts/studies/common.sh

printf 'NICs\titeration (ms)\tMFU (%%)\tall-reduce of 1 GiB (GB/s)\n' >"$folder/table.tsv"
for nics in 1 2 4 8; do
  step=$(figure '[.iteration_time_s * 1e3, .mfu * 100] | map(. * 10 | round / 10) | @tsv' \
    run configs/studies/llama3-8b-fsdp.yaml --set nodes=8 --set workload.parallel.data=64 --set workload.batch.global=128 \
    --set cluster.node.nics.count="$nics")
  bandwidth=$(figure '.rows[0].busbw_GBps * 10 | round / 10' \
    collective --cluster dgx-h100 --nodes 8 --op all_reduce -b 1G --set cluster.node.nics.count="$nics")
  printf '%s\t%s\t%s\n' "$nics" "$step" "$bandwidth" >>"$folder/table.tsv"
done
table "$folder/table.tsv"
cut -f 1,2 "$folder/table.tsv" >"$folder/times.tsv"
picture "$folder/times.tsv" "$folder/picture.svg" 'NICs of a node' 'iteration (ms)'
