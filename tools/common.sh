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

# What is compiled in the same way in two build directories is compiled once, where there is a
# ccache: those of the Pythons have most in common.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf '== %s\n' "$*" >&2; }
die() {
    printf 'kymograph: %s\n' "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Packages that tests trace, for Python $1. Only wheels are taken, and each by itself: where
# there is none the tests skip and say so.
guests=(greenlet numpy memray gunicorn uvicorn joblib pytest-xdist 'distributed>=2024')
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

# Show how far ninja is: on a terminal in one line, elsewhere a line at each quarter.
show_progress() {
    local tty=0
    [ ! -t 2 ] || tty=1
    awk -v tty=$tty -v log_file="$1" '
        { print >log_file }
        match($0, /^\[[0-9]+\/[0-9]+\]/) {
            split(substr($0, 2, RLENGTH - 2), n, "/")
            quarter = int(4 * n[1] / n[2])
            if (tty) { printf "\r   %d of %d", n[1], n[2] >"/dev/stderr"; shown = 1 }
            else if (quarter > last && n[2] >= 100) printf "   %d of %d\n", n[1], n[2] >"/dev/stderr"
            last = quarter
        }
        END { if (shown) printf "\r\033[K" >"/dev/stderr" }'
}

# Run ninja in a build directory; of what it prints, show only what the compiler complained about.
compile() {
    local log status=0
    log=$(mktemp)
    ninja -C "$@" 2>&1 | show_progress "$log" || status=$?
    if [ $status != 0 ] && ! grep -q '^FAILED:' "$log"; then
        cat "$log" >&2
    elif [ $status != 0 ] || grep -q 'warning:' "$log"; then
        sed -n '/warning:\|^FAILED:/,$ { /^\[[0-9]*\/[0-9]*\]/!p }' "$log" >&2
    fi
    rm -f "$log"
    return $status
}

# Is it later than KYMO_DEADLINE, in seconds since 1970? If so, callers skip the rest of what takes
# long, and say so.
past_deadline() { [ -n "${KYMO_DEADLINE:-}" ] && [ "$(date +%s)" -gt "$KYMO_DEADLINE" ]; }

# Say so: left_out 'FUZZING IS' NAME-OF-THE-RESULT.
left_out() {
    say "$1 LEFT OUT: this machine is too slow today"
    tools/count.py skip "$results" "$2" 'this machine is too slow today'
}

# Run a command with what everything else leaves of the cores. To be followed by `&`, and ended
# with all it started by `kill -- -$!`. Tests run in sessions of their own, and where the kernel
# divides the cores among sessions first (autogroups), `nice` alone means little: the command gets
# a session, too, and that is made nice.
in_background() {
    exec setsid bash -c '
        { echo 19 >/proc/self/autogroup; } 2>/dev/null
        exec nice -n 19 "$@"
    ' - "$@"
}

# What in_background runs as process PID is needed now: it gets the share of the cores that others
# get. On a busy machine it would take forever otherwise. (Where there are no autogroups, only root
# may do this.)
hurry() {
    { echo 0 >"/proc/$1/autogroup"; } 2>/dev/null || true
    renice -n 0 -g "$1" >/dev/null 2>&1 || true
}

# Until this script ends, no other one that calls this with the same NAME goes on: several tests
# may want the same thing at the same time, and only one of them may get it.
one_at_a_time() {
    mkdir -p "$root/build"
    exec 9>"$root/build/$1.lock"
    flock 9
}
