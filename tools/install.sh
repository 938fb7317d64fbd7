#!/usr/bin/env bash
# Install library, headers, pkg-config file, program and man page under $DESTDIR$PREFIX.
. "$(dirname "$0")/common.sh"

tools/setup.sh
rm -rf build/install
quiet meson setup build/install --prefix="${PREFIX:-/usr/local}" -Dtests=false
compile build/install
DESTDIR=${DESTDIR:-} meson install -C build/install --no-rebuild
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ]; then
    ldconfig
fi
