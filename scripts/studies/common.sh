# SPDX-License-Identifier: MIT
# What the studies share. They stand on plain shell: a loop over --set, jq for a figure of the result, column for the
# table, gnuplot for the picture.
# shellcheck shell=sh

orrery=${ORRERY:-build/release/orrery}
folder=${1:-results/$(basename "$0" .sh)}
for tool in "$orrery" jq column; do
  command -v "$tool" >/dev/null || {
    echo "error: '$tool' is missing" >&2
    echo "  hint: scripts/build release orrery; scripts/setup jq bsdextrautils gnuplot-nox" >&2
    exit 2
  }
done
mkdir -p "$folder"

# figure FILTER ARGUMENTS...: that figure of one simulation.
figure() {
  filter=$1
  shift
  result=$("$orrery" "$@" --quiet --json -) || return
  echo "$result" | jq -r "$filter"
}

# table TSV: on the terminal.
table() { column -t -s "$(printf '\t')" "$1"; }

# picture TSV SVG X-AXIS Y-AXIS: the columns of the table over its first one, where gnuplot is installed.
picture() {
  if ! command -v gnuplot >/dev/null; then
    echo "no picture: gnuplot is not installed" >&2
    return
  fi
  curves=$(head -n 1 "$1" | awk -F '\t' '{print NF}')
  gnuplot -e "set terminal svg size 800,500; set output '$2'; set datafile separator tab; set key autotitle columnhead top left;
    set logscale x 2; set grid; set xlabel '$3'; set ylabel '$4'; set yrange [0:*];
    plot for [i=2:$curves] '$1' using 1:i with linespoints linewidth 2"
  echo "$2"
}
