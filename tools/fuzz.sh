#!/usr/bin/env bash
# Run each fuzz target for FUZZ_SECONDS. What it finds is kept in build/fuzz/corpus and
# used again next time; an input that breaks something is left in build/fuzz/crashes.
. "$(dirname "$0")/common.sh"

seconds=${FUZZ_SECONDS:-60}
mkdir -p "$results" build/fuzz/crashes

if ! why=$(tools/setup.sh fuzz 2>&1); then
    tools/count.py skip "$results" fuzz "${why##*$'\n'}"
    exit
fi
targets=(tests/fuzz/fuzz_*.c)
if [ ! -e "${targets[0]}" ]; then
    tools/count.py skip "$results" fuzz 'there are no fuzz targets'
    exit
fi

CC=clang configure build/fuzz/build -Dfuzz=true -Db_lundef=false \
    -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link
compile build/fuzz/build

status=0
for source in "${targets[@]}"; do
    name=$(basename "$source" .c)
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus"
    seeds=()
    [ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
    if quiet "build/fuzz/build/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="build/fuzz/crashes/$name-" "$corpus" "${seeds[@]}"; then
        tools/count.py pass "$results" "$name"
    else
        tools/count.py fail "$results" "$name" 'see build/fuzz/crashes'
        status=1
    fi
done
exit $status
