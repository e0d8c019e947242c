#!/bin/sh
# SPDX-License-Identifier: MIT
# How large should a bucket of gradients be? Small ones start soon and pay latency often; one large one waits for the
# whole backward pass. Data parallelism on eight GPUs over a slow and a fast network.
#
#   scripts/studies/bucket_size.sh [FOLDER]     table.tsv and picture.svg go there
set -eu
cd "$(dirname "$0")/../.."
. scripts/studies/common.sh

printf 'bucket (MB)\t25 GB/s (ms)\t100 GB/s (ms)\n' >"$folder/table.tsv"
for megabytes in 8 16 32 64 128 256 512 1024 2048; do
  printf '%s' "$megabytes" >>"$folder/table.tsv"
  for bandwidth in 25 100; do
    printf '\t%s' "$(figure '.iteration_time_s * 1e3 * 10 | round / 10' run configs/studies/gradient-buckets.yaml \
      --set workload.overlap.bucket="$megabytes MB" --set cluster.dims.0.bandwidth="$bandwidth GB/s")" >>"$folder/table.tsv"
  done
  echo >>"$folder/table.tsv"
done
table "$folder/table.tsv"
picture "$folder/table.tsv" "$folder/picture.svg" 'bucket (MB)' 'iteration (ms)'
