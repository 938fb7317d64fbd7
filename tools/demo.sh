#!/usr/bin/env bash
# Record the demo program and show where its time went.
. "$(dirname "$0")/common.sh"

tools/build.sh demo
say 'kymograph run -o demo.kymo examples/demo.py'
.venv/bin/kymograph run -o demo.kymo examples/demo.py
say 'kymograph report demo.kymo'
.venv/bin/kymograph report demo.kymo
cat <<END

The capture is demo.kymo. What to do next:
  .venv/bin/kymograph view demo.kymo                 the timeline, in a browser
  .venv/bin/kymograph report demo.kymo --tree        the tree of calls
  .venv/bin/kymograph export demo.kymo --to chrome   a timeline for Perfetto or chrome://tracing
  .venv/bin/kymograph export demo.kymo --to html     flame graph and timeline in one page
  .venv/bin/kymograph --help                         everything else
The same from C, without any Python: examples/spans.c
END
