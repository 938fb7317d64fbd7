#!/usr/bin/env bash
# Run each fuzz target for FUZZ_SECONDS. What it finds is kept in build/fuzz/corpus and
# used again next time; an input that breaks something is left in build/fuzz/crashes. With
# --build, the targets are built only; with --run NAME, that one is run.
. "$(dirname "$0")/common.sh"

seconds=${FUZZ_SECONDS:-60}
mkdir -p "$results" build/fuzz/crashes

run() {
    local name=$1 corpus=build/fuzz/corpus/$1 seeds=()
    mkdir -p "$corpus"
    [ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
    if quiet "build/fuzz/build/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="build/fuzz/crashes/$name-" "$corpus" "${seeds[@]}"; then
        tools/count.py pass "$results" "$name"
    else
        tools/count.py fail "$results" "$name" 'see build/fuzz/crashes'
        return 1
    fi
}

if [ "${1:-}" = --run ]; then
    run "$2"
    exit
fi

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
mapfile -t programs < <(basename -s .c "${targets[@]}" | sed 's#^#tests/fuzz/#')
compile build/fuzz/build "${programs[@]}"
[ "${1:-}" != --build ] || exit 0

# One on each core: they need nothing else.
basename -s .c "${targets[@]}" | FUZZ_SECONDS=$seconds xargs -n 1 -P "$(nproc)" tools/fuzz.sh --run
