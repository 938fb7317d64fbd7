#!/usr/bin/env bash
# Build the benchmarks with optimisation and run each in turn.
. "$(dirname "$0")/common.sh"

tools/build.sh
configure build/bench -Dbench=true -Dtests=false -Db_ndebug=true
compile build/bench
ran=0
for program in build/bench/bench/bench_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    ran=1
    say "$(basename "$program")"
    "$program"
done
for script in bench/bench_*.py; do
    [ -f "$script" ] || continue
    ran=1
    say "$script"
    python "$script"
done
[ $ran = 1 ] || say 'there are no benchmarks yet'
