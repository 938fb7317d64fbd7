#!/usr/bin/env bash
# Run every test that needs no special hardware, and print as the last line
#   N passed, M failed, K skipped
# Each step leaves JUnit files in build/results; tools/count.py adds them up.
. "$(dirname "$0")/common.sh"

rm -rf "$results"
mkdir -p "$results"
export KYMO_TEST=1 # the steps need not count for themselves

# step NAME COMMAND...: a step that fails without a failed test to show for it is one. After the
# deadline no other begins.
step() {
    local name=$1 status=0
    if past_deadline; then
        left_out "${name^^}: THIS STEP IS" "$name"
        return
    fi
    local TIMEFORMAT="== $name: %0R s, %0U + %0S s of a core"
    shift
    say "$name"
    echo "$name" >"$results/step" # .ci/run waits for one of them
    time "$@" || status=$?
    tools/count.py step "$results" "$name" $status
}

# Without a build there may be no Python to count with.
if ! tools/build.sh; then
    echo 'failed: build' >"$results/everything"
    echo '0 passed, 1 failed, 0 skipped' | tee "$results/summary"
    exit 1
fi

c_tests() { tools/ctest.sh "$build" core; }
python_tests() {
    KYMO_BUILD_DIR=$build timeout -k 10 3000 \
        python tools/pytest-files.py "$results" python -- tests/python/test_*.py
}

# When the tests leave a core idle, what comes after them is built. What fails there fails
# again, and says so, when it is needed.
in_background bash -c 'tools/sanitize.sh --build && tools/fuzz.sh --build' >/dev/null 2>&1 &
beside=$!
trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
step 'C tests' c_tests
step 'Python tests' python_tests
hurry "$beside"
while kill -0 "$beside" 2>/dev/null && ! past_deadline; do sleep 1; done
kill -- "-$beside" 2>/dev/null || true
step 'sanitizers' tools/sanitize.sh
step 'fuzzing' env FUZZ_SECONDS="${FUZZ_SECONDS:-10}" tools/fuzz.sh
step 'other Pythons' tools/each-python.sh

tools/count.py total "$results" | tee "$results/everything"
tail -n 1 "$results/everything" >"$results/summary"
grep -q ' 0 failed' "$results/summary"
