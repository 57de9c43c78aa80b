#!/usr/bin/env bash
# Puts known bugs back, one at a time, and explores until the simulator finds each.
#
#   sim/mutants/run.sh [--check] [--seeds N] [--repeat K] [--shrink S] [--jobs J] [--work DIR]
#                      [--binary FILE] [ID…]
#
# --check only asks git whether every patch still applies; .ci/run does that. Otherwise each patch
# is applied to a copy of the checked out files under DIR, built incrementally with the profile
# `sim`, and explored from K start seeds (0, 1,000,000, 2,000,000, …), N seeds each. With --shrink
# what each start found is shrunk, for S seconds at most. Prints a row of the table in README.md
# for each. Ends with 1 when a mutant survives one of its starts, or a patch does not apply or
# build. --binary builds nothing: FILE is a simulator that has all mutants behind the environment
# variable MUTANT.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seeds=2000 repeat=1 shrink=0 jobs=2 work=$root/target/mutants check='' binary=''
ids=()
while (($#)); do
  case $1 in
    --check) check=1; shift ;;
    --seeds) seeds=$2; shift 2 ;;
    --repeat) repeat=$2; shift 2 ;;
    --shrink) shrink=$2; shift 2 ;;
    --binary) binary=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --work) work=$2; shift 2 ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) ids+=("$1"); shift ;;
  esac
done

patches=()
if ((${#ids[@]})); then
  for id in "${ids[@]}"; do
    found=("$here/$id"-*.patch)
    [ -e "${found[0]}" ] || { echo "no mutant $id" >&2; exit 2; }
    patches+=("${found[0]}")
  done
else
  patches=("$here"/*.patch)
fi

failed=0
if [ -n "$check" ]; then
  for patch in "${patches[@]}"; do
    git -C "$root" apply --check "$patch" || { echo "does not apply: ${patch##*/}"; failed=1; }
  done
  echo "${#patches[@]} mutants looked at"
  exit $failed
fi

tree=$work/tree
mkdir -p "$tree"
work=$(cd "$work" && pwd) tree=$work/tree
# Outside of any repository, git applies patches to plain files.
export GIT_CEILING_DIRECTORIES=$work CARGO_INCREMENTAL=1 CARGO_TARGET_DIR=$work/target

# Gives the copy the files of the root that differ, so that cargo builds only what changed.
refresh() {
  git -C "$root" ls-files -co --exclude-standard | while IFS= read -r file; do
    [ -f "$root/$file" ] || continue
    cmp -s "$root/$file" "$tree/$file" && continue
    mkdir -p "$tree/$(dirname "$file")"
    cp "$root/$file" "$tree/$file"
  done
  (cd "$tree" && find core sim net-tokio -type f) | while IFS= read -r file; do
    [ -f "$root/$file" ] || rm "$tree/$file"
  done
}

# Builds the simulator with a patch, or says why not.
build() {
  refresh
  (cd "$tree" && git apply "$1") || { echo 'DOES NOT APPLY'; return 1; }
  (cd "$tree" && cargo build -q -p verdict-sim --profile sim) || { echo 'DOES NOT BUILD'; return 1; }
}

# The value at a per cent of the sorted numbers on stdin.
at() { sort -n | awk -v p="$1" '{ v[NR] = $1 } END { i = int((NR * p + 99) / 100); print v[i < 1 ? 1 : i] }'; }

# Explores from one start; adds to the counts, oracles and steps.
explore() {
  local from=$1 code=0 first number
  rm -rf "$work/found"
  "$sim" explore --from "$from" --seeds "$seeds" --jobs "$jobs" \
    --failures 1 --check-every 0 --save "$work/found" >"$log" 2>&1 || code=$?
  ((code)) || return 1
  first=$(grep -m1 '^seed ' "$log")
  number=$(sed -E 's/^seed ([0-9]+):.*/\1/' <<<"$first")
  counts+="$((number - from + 1))"$'\n'
  oracles+="$(grep -oE '^seed [0-9]+: (O[0-9]+|[a-z ]+)' <<<"$first" | sed -E 's/^seed [0-9]+: //')"$'\n'
  ((shrink)) || return 0
  "$sim" shrink "$work/found/seed-$number.toml" --time-limit-s "$shrink" >"$log.shrunk" 2>&1
  steps+="$(sed -nE 's/.* shrunk to ([0-9]+) .*/\1/p' "$log.shrunk")"$'\n'
}

echo '| id | mutant | source | seeds to find, median | p95 | oracle | shrunk steps |'
echo '|---|---|---|---|---|---|---|'
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  id=${name%%-*} title=${name#*-} log=$work/$name.log
  row="| $id | $title | $(sed -n 's/^# Source: //p' "$patch")"
  if [ -n "$binary" ]; then
    export MUTANT=$id; sim=$binary
  else
    sim=$CARGO_TARGET_DIR/sim/verdict-sim
    why=$(build "$patch" 2>"$log") || { echo "$row | $why, see $log | | | |"; failed=1; continue; }
  fi
  counts='' oracles='' steps='' survived=0
  for ((start = 0; start < repeat; start++)); do
    explore $((start * 1000000)) || survived=$((survived + 1))
  done
  if ((survived)); then failed=1; row+=" (SURVIVED $survived of $repeat)"; fi
  who=$(printf %s "$oracles" | sort | uniq -c | sort -rn | awk '{ $1 = ""; print substr($0, 2) }' | paste -sd, | sed 's/,/, /g')
  echo "$row | $(printf %s "$counts" | at 50) | $(printf %s "$counts" | at 95) | $who | $(printf %s "$steps" | at 50) |"
done
exit $failed
