#!/usr/bin/env bash
# Record the demo program and show where its time went.
. "$(dirname "$0")/common.sh"

tools/build.sh
say 'kymo run -o demo.kymo examples/demo.py'
.venv/bin/kymo run -o demo.kymo examples/demo.py
say 'kymo report demo.kymo'
.venv/bin/kymo report demo.kymo
cat <<END

The capture is demo.kymo. What to do next:
  .venv/bin/kymo report demo.kymo --tree        the tree of calls
  .venv/bin/kymo export demo.kymo --to chrome   a timeline for Perfetto or chrome://tracing
  .venv/bin/kymo export demo.kymo --to html     a flame graph for the browser
  .venv/bin/kymo --help                         everything else
The same from C, without any Python: examples/spans.c
END
