# Sourced by the other scripts: where things are, and how to ask for what is missing.
# shellcheck shell=bash
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv
build=$root/build/main
results=$root/build/results
PATH=$venv/bin:$PATH
export PATH

say() { printf '== %s\n' "$*" >&2; }
die() {
    printf 'kymograph: %s\n' "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Packages that tests trace, for Python $1. Only wheels are taken, and each by itself: where
# there is none the tests skip and say so.
guests=(greenlet)
install_guests() {
    local guest
    for guest in "${guests[@]}"; do
        quiet "$1" -m pip install -q --disable-pip-version-check --only-binary :all: "$guest" ||
            say "there is no $guest for $1; its tests will be skipped"
    done
}

on_debian() { have apt-get && have dpkg; }

# Install Debian packages, or print the command that does and fail.
apt_install() {
    if on_debian && [ "$(id -u)" = 0 ]; then
        say "installing $*"
        apt_quiet install "$@" && return
        apt_quiet update && apt_quiet install "$@" && return
        die "could not install: $*"
    elif on_debian; then
        die "missing packages; run: sudo apt-get install $*"
    else
        die "missing packages; install what Debian calls: $*"
    fi
}

apt_quiet() {
    local log
    log=$(mktemp)
    if DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        [ "$1" = update ] && cat "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# configure DIR ARGS...: set up a meson build directory, from nothing when the arguments
# or the Python changed. Meson itself notices changes of its files.
configure() {
    local dir=$1 key
    shift
    key="${CC:-cc} $(cat "$venv/kymograph-setup") $*"
    if [ ! -f "$dir/build.ninja" ] || [ "$(cat "$dir/kymograph-key" 2>/dev/null)" != "$key" ]; then
        rm -rf "$dir"
        quiet meson setup "$dir" "$@"
        printf '%s\n' "$key" >"$dir/kymograph-key"
    fi
}

# Run a command and show what it printed only when it fails.
quiet() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ $status = 0 ] || cat "$log" >&2
    rm -f "$log"
    return $status
}

# Run ninja in a build directory and show only what the compiler complained about.
compile() {
    local log status=0
    log=$(mktemp)
    ninja -C "$@" >"$log" 2>&1 || status=$?
    if [ $status != 0 ] && ! grep -q '^FAILED:' "$log"; then
        cat "$log" >&2
    elif [ $status != 0 ] || grep -q 'warning:' "$log"; then
        sed -n '/warning:\|^FAILED:/,$ { /^\[[0-9]*\/[0-9]*\]/!p }' "$log" >&2
    fi
    rm -f "$log"
    return $status
}
