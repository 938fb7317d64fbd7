#!/usr/bin/env bash
# The C tests under AddressSanitizer with UndefinedBehaviorSanitizer, and under
# ThreadSanitizer: two build directories of their own. With --build, those are made only.
. "$(dirname "$0")/common.sh"

tools/setup.sh

# ThreadSanitizer needs the address space where it expects it; where the kernel
# randomises more than that, setarch turns it off, if we are allowed to.
wrapper=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    wrapper=(setarch "$(uname -m)" -R)
fi

export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
# What is recorded in a signal handler allocates from our arena, which sanitizers do not know: for
# them it is the heap (src/base/alloc.c), and that would be reported.
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_signal_unsafe=0

# Compiling for ASan and UBSan at -O2 takes longer than all tests run.
configure build/asan -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
configure build/tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1
if [ "${1:-}" = --build ]; then
    compile build/asan
    compile build/tsan
    exit
fi

status=0
tools/ctest.sh build/asan asan || status=1
if past_deadline; then
    left_out 'THREADSANITIZER IS' tsan
else
    "${wrapper[@]}" tools/ctest.sh build/tsan tsan --timeout-multiplier 3 || status=1
fi
[ -n "${KYMO_TEST:-}" ] || tools/count.py total "$results" '[at]san'
exit $status
