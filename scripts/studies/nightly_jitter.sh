#!/bin/sh
# SPDX-License-Identifier: MIT
# How much of a plan's time does noise cost? A collective waits for its slowest rank, so that noise of a mean of zero
# makes steps longer, the more so the larger the share of them that is computing: Llama 2 13B on four nodes, spread over
# 2, 4 and 8 GPUs, with 5 % of noise for each rank, drawn anew for each seed. In plain shell, every night:
#
#   0 1 * * *  cd orrery && scripts/studies/nightly_jitter.sh results/jitter-$(date +\%F)
#
#   scripts/studies/nightly_jitter.sh [FOLDER]     table.tsv goes there
#
# Every figure is a file of its own that is there whole or not at all: started again, it goes on where it was cut off.
set -eu
cd "$(dirname "$0")/../.."
. scripts/studies/common.sh

mkdir -p "$folder/figures"
time_of() {  # TENSOR SEED: seconds of an iteration; without noise for seed 0
  file=$folder/figures/tensor-$1-seed-$2
  if [ ! -e "$file" ]; then
    noise=""
    if [ "$2" -gt 0 ]; then noise="--set perturb.jitter.per=rank --set perturb.jitter.sigma=0.05 --set perturb.jitter.seed=$2"; fi
    # shellcheck disable=SC2086 # options or none
    "$orrery" run configs/studies/llama2-13b-four-nodes.yaml --quiet \
      --set workload.parallel.tensor="$1" $noise --print iteration_time_s --csv >"$file.part"
    mv "$file.part" "$file"
    echo "tensor $1, seed $2: $(cat "$file") s" >&2
  fi
  cat "$file"
}

printf 'tensor\tquiet (s)\tmean (s)\tworst (s)\tmean/quiet\tworst/quiet\n' >"$folder/table.tsv.part"
for tensor in 2 4 8; do
  times=$(for seed in 0 1 2 3 4 5 6 7 8; do time_of "$tensor" "$seed"; done)
  echo "$times" | awk -v tensor="$tensor" '
    NR == 1 {quiet = $1; next}
    {sum += $1; if ($1 > worst) worst = $1}
    END {
      mean = sum / (NR - 1)
      printf "%d\t%.4f\t%.4f\t%.4f\t%.3f\t%.3f\n", tensor, quiet, mean, worst, mean / quiet, worst / quiet
    }' >>"$folder/table.tsv.part"
done
mv "$folder/table.tsv.part" "$folder/table.tsv"
table "$folder/table.tsv"
