#!/usr/bin/env bash
# Puts known bugs back, one at a time, and explores until the simulator finds each.
#
#   sim/mutants/run.sh [--seeds N] [--jobs J] [--work DIR] [PATCH…]
#
# Copies the workspace to a work folder, applies one patch of sim/mutants/, builds with the
# profile `sim`, explores, and says after how many seeds which oracle spoke. A patch that does
# not apply is an error, not a pass: the code it mutates has moved and the patch has to follow.
# Ends with 1 when a mutant was not found or a patch did not apply.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seeds=2000 jobs=2 work=${TMPDIR:-/tmp}/verdict-mutants
patches=()
while (($#)); do
  case $1 in
    --seeds) seeds=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --work) work=$2; shift 2 ;;
    *) patches+=("$(realpath "$1")"); shift ;;
  esac
done
((${#patches[@]})) || patches=("$here"/*.patch)

mkdir -p "$work"
# Outside of any repository, git applies patches to plain files.
export GIT_CEILING_DIRECTORIES=$work
failed=0
printf '%-34s %-10s %s\n' mutant seeds found
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  # Times are kept, so that cargo builds again only what the patches touch.
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  (cd "$root" && git ls-files -co --exclude-standard -z | tar --null -T - -cf -) |
    tar -xf - -C "$work/tree"
  if ! (cd "$work/tree" && git apply --check "$patch") 2>"$work/$name.log"; then
    printf '%-34s %-10s %s\n' "$name" - "THE PATCH DOES NOT APPLY: $(head -1 "$work/$name.log")"
    failed=1
    continue
  fi
  touched=$(cd "$work/tree" && git apply --numstat "$patch" | cut -f3)
  (cd "$work/tree" && git apply "$patch")
  (cd "$work/tree" && touch $touched)
  if ! (cd "$work/tree" && CARGO_TARGET_DIR="$work/target" cargo build -q -p verdict-sim --profile sim) 2>"$work/$name.log"; then
    printf '%-34s %-10s %s\n' "$name" - "DOES NOT BUILD, see $work/$name.log"
    failed=1
    continue
  fi
  code=0
  "$work/target/sim/verdict-sim" explore --seeds "$seeds" --jobs "$jobs" --failures 1 \
    --check-every 0 >"$work/$name.log" 2>&1 || code=$?
  if ((code == 0)); then
    printf '%-34s %-10s %s\n' "$name" "$seeds" "NOT FOUND"
    failed=1
  else
    first=$(grep -m1 '^seed ' "$work/$name.log" | cut -c1-140)
    ran=$(grep -m1 -oE '^[0-9]+ seeds in' "$work/$name.log" | cut -d' ' -f1)
    printf '%-34s %-10s %s\n' "$name" "$ran" "$first"
  fi
done
exit $failed
