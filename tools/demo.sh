#!/usr/bin/env bash
# Build the demo program against the built library, record it, and show the capture.
. "$(dirname "$0")/common.sh"

tools/build.sh
mkdir -p build/demo
"${CC:-cc}" -std=gnu11 -O2 -g -Iinclude examples/demo.c -o build/demo/demo \
    -L"$build/src" -lkymo -Wl,-rpath,"$build/src" -lpthread

say 'recording build/demo/demo into demo.kymo'
rm -f demo.kymo
build/demo/demo demo.kymo
.venv/bin/kymo info demo.kymo
cat <<END

The capture is demo.kymo. What to do next:
  .venv/bin/kymo --help            what else can be asked of it
  examples/demo.c                  the program that was recorded
END
