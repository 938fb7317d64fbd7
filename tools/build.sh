#!/usr/bin/env bash
# tools/build.sh [demo]: build in build/main, and install the package from there into .venv/.
# With `demo`, only what is installed is built, and .venv/ has only the tools for that. With
# KYMO_WERROR=true a warning is an error.
. "$(dirname "$0")/common.sh"

what=${1:-all}
case $what in
demo) tools/setup.sh ;;
*) tools/setup.sh test ;;
esac

# meson-python takes seconds even when nothing changed; the stamp takes none.
fingerprint() {
    cat "$venv/kymograph-setup"
    find src include ext python viewer docs/man LICENSE README.md meson.build meson.options pyproject.toml tests/*/meson.build \
        -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
}

# What a stamp says was built: all of it, or only what is installed.
stamp=$venv/kymograph-build
now=$(fingerprint | sha256sum)
known=$(cat "$stamp" 2>/dev/null || true)
if [ -x "$venv/bin/kymograph" ] && { [ "$known" = "$now all" ] || [ "$what $known" = "demo $now demo" ]; }; then
    exit
fi

installed() {
    meson introspect --targets "$build" | python -c '
import json, os, sys
for target in json.load(sys.stdin):
    if target["installed"]:
        for name in target["filename"]:
            print(os.path.relpath(name, sys.argv[1]))
' "$build"
}

# First by hand, because pip hides what the compiler says; pip then finds it all done.
say 'configuring'
configure "$build" -Dpython=true -Dwerror="${KYMO_WERROR:-false}"
targets=()
compile_args=()
built=all
if [ "$what" = demo ]; then
    built=demo
    mapfile -t targets < <(installed)
    compile_args=("${targets[@]/#/-Ccompile-args=}")
fi
say 'compiling'
compile "$build" "${targets[@]}"
# All of it may be there while only the package is not, or the reverse.
if [ "${known% *}" != "$now" ] || [ ! -x "$venv/bin/kymograph" ]; then
    say 'installing kymograph into .venv'
    quiet pip install --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
        -Cbuild-dir="$build" -Csetup-args=-Dtests=true "${compile_args[@]}" .
fi
echo "$now $built" >"$stamp"
