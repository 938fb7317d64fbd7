#!/usr/bin/env bash
# tools/ctest.sh BUILD-DIR NAME [meson test options]: build and run the C tests of one
# build directory, quietly, and leave their results as build/results/NAME.xml.
. "$(dirname "$0")/common.sh"

dir=$1 name=$2
shift 2
mkdir -p "$results"
compile "$dir"
log=$dir/meson-logs/ctest.txt
status=0
# In a folder of their own, so that what they leave is seen, and goes.
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
TMPDIR=$temporary meson test -C "$dir" --no-rebuild --print-errorlogs "$@" >"$log" 2>&1 || status=$?
left=$(ls "$temporary")
[ -z "$left" ] || say "$name: left in the temporary directory: ${left//$'\n'/ }"
if [ $status != 0 ]; then
    cat "$log" >&2
fi
cp "$dir/meson-logs/testlog.junit.xml" "$results/$name.xml"
tools/count.py programs "$results" "$name" "$dir/meson-logs/testlog.json"
exit $status
