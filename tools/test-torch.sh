#!/usr/bin/env bash
# Run the tests that compare kymograph.profile with a real torch.profiler, and print as the last
# line  N passed, M failed, K skipped.
#
# tools/test-torch.sh [--install] [VERSION | newest]...
#
# VERSION is a version of torch, such as 2.11.0; without one, the newest is taken. With several, the
# tests run with each in turn, whatever the others did, and a line for each comes before the last:
#     make test-torch TORCH='newest 2.11.0 2.8.0'
# It fails if a test failed with any of them. --install only installs.
#
# torch is installed once, from the package registry that pip uses, into an environment
# outside the tree: ~/.cache/kymograph/torch-VERSION-PYTHON-MACHINE, without VERSION for the newest.
# KYMO_TORCH_DIR names another place for a single one. On x86_64 each takes several GB. Where it
# cannot be installed, the tests are skipped with a loud message.
. "$(dirname "$0")/common.sh"

only_install=false
if [ "${1:-}" = --install ]; then
    only_install=true
    shift
fi
[ $# != 0 ] || set -- newest
[ $# = 1 ] || [ -z "${KYMO_TORCH_DIR:-}" ] || die 'KYMO_TORCH_DIR works only with one version'

tools/build.sh
python_version=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
results=$root/build/results-torch
rm -rf "$results"
mkdir -p "$results"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kymograph
mkdir -p "$cache"

# Set `torch` and `packages` for version $1.
choose() {
    local version=${1#newest}
    torch=${KYMO_TORCH_DIR:-$cache/torch-${version:+$version-}$python_version-$(uname -m)}
    packages=$torch/lib/python$python_version/site-packages
}

# The bytecode is kept, whatever the environment asks for: the tests import torch many times.
has_torch() {
    [ -f "$torch/complete" ] &&
        PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE='' python -c 'import torch' 2>/dev/null
}

install_torch() {
    local version=${1#newest}
    say "installing torch $1 into $torch; this takes minutes, once"
    rm -rf "$torch"
    python -m venv "$torch" &&
        timeout 1200 "$torch/bin/python" -m pip install -q --disable-pip-version-check --no-compile \
            "torch${version:+==$version}" numpy &&
        touch "$torch/complete"
}

# One process installs at a time: another may want the same.
ensure_torch() {
    has_torch && return
    (
        flock 9
        has_torch || { install_torch "$1" && has_torch; }
    ) 9>"$cache/torch.lock"
}

# The script of torch's memory viewer, which its pages load from the network.
find_viewer() {
    viewer=${KYMO_MEMORY_VIZ:-$torch/MemoryViz.js}
    if ! [ -f "$viewer" ]; then
        local address
        address=$(grep -o 'https://[^"]*/MemoryViz.js' "$packages/torch/cuda/_memory_viz.py" | head -n 1)
        { timeout 60 curl -fsSL -o "$viewer.new" "$address" && mv "$viewer.new" "$viewer"; } 2>/dev/null ||
            say "MemoryViz.js could not be fetched; its test is skipped"
    fi
}

# Each of the programs below runs in a process of its own: without bytecode, they would spend most of
# their time compiling torch.
unset PYTHONDONTWRITEBYTECODE

status=0
for version in "$@"; do
    choose "$version"
    if ! ensure_torch "$version"; then
        say "TORCH $version COULD NOT BE INSTALLED: kymograph.profile IS NOT COMPARED WITH torch.profiler"
        tools/count.py skip "$results" "torch.profiler of $version" "pip could not install torch $version"
        continue
    fi
    if $only_install; then
        continue
    fi
    [ $# = 1 ] || say "with torch $(PYTHONPATH=$packages python -c 'import torch; print(torch.__version__)')"
    find_viewer
    KYMO_MEMORY_VIZ=$viewer PYTHONPATH=$packages timeout -k 10 1200 \
        python -m pytest tests/torch -q -p no:cacheprovider -o faulthandler_timeout=900 \
        --junitxml="$results/torch-$version.xml" || status=1
    [ -f "$results/torch-$version.xml" ] ||
        tools/count.py fail "$results" "torch.profiler of $version" 'the tests did not run'
done
$only_install && exit $status
sums=$(for version in "$@"; do
    echo "torch $version: $(tools/count.py total "$results" "*torch*$version*" | tail -n 1)"
done)
total=$(tools/count.py total "$results")
[ $# = 1 ] || total=$(sed '$d' <<<"$total" && echo "$sums" && tail -n 1 <<<"$total")
echo "$total"
exit $status
