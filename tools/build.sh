#!/usr/bin/env bash
# Build everything once, in build/main, and install the package from there into .venv/.
. "$(dirname "$0")/common.sh"

tools/setup.sh

# meson-python takes seconds even when nothing changed; the stamp takes none.
fingerprint() {
    cat "$venv/kymograph-setup"
    find src include ext python viewer LICENSE README.md meson.build meson.options pyproject.toml tests/*/meson.build \
        -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
}

stamp=$venv/kymograph-build
now=$(fingerprint | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" = "$now" ] && [ -x "$venv/bin/kymograph" ]; then
    exit
fi

say 'building'
# First by hand, because pip hides what the compiler says; pip then finds it all done.
configure "$build" -Dpython=true
compile "$build"
quiet pip install --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
    -Cbuild-dir="$build" -Csetup-args=-Dtests=true .
echo "$now" >"$stamp"
