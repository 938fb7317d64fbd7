#!/usr/bin/env bash
# Run the tests that compare kymograph.profile with a real torch.profiler, and print as the last
# line  N passed, M failed, K skipped.
#
# torch is installed once, from the package registry that pip uses, into an environment
# outside the tree: KYMO_TORCH_DIR, or ~/.cache/kymograph/torch-PYTHON-MACHINE. On x86_64 that is
# several GB. Where it cannot be had, the tests are skipped, and that is said loudly.
. "$(dirname "$0")/common.sh"

tools/build.sh
python_version=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
torch=${KYMO_TORCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kymograph/torch-$python_version-$(uname -m)}
packages=$torch/lib/python$python_version/site-packages
results=$root/build/results-torch
rm -rf "$results"
mkdir -p "$results"

has_torch() { [ -f "$torch/complete" ] && PYTHONPATH=$packages python -c 'import torch' 2>/dev/null; }

install_torch() {
    say "installing torch into $torch; this takes minutes, once"
    rm -rf "$torch"
    python -m venv "$torch" &&
        timeout 1200 "$torch/bin/python" -m pip install -q --disable-pip-version-check torch &&
        touch "$torch/complete"
}

if ! has_torch && ! { install_torch && has_torch; }; then
    say 'TORCH COULD NOT BE INSTALLED: kymograph.profile IS NOT COMPARED WITH torch.profiler'
    tools/count.py skip "$results" 'torch.profiler' 'pip could not install torch'
    tools/count.py total "$results"
    exit 0
fi

# The script of torch's memory viewer, which its pages load from the network.
viewer=${KYMO_MEMORY_VIZ:-$torch/MemoryViz.js}
if ! [ -f "$viewer" ]; then
    address=$(grep -o 'https://[^"]*/MemoryViz.js' "$packages/torch/cuda/_memory_viz.py" | head -n 1)
    { timeout 60 curl -fsSL -o "$viewer.new" "$address" && mv "$viewer.new" "$viewer"; } 2>/dev/null ||
        say "MemoryViz.js could not be fetched; its test is skipped"
fi

status=0
KYMO_MEMORY_VIZ=$viewer PYTHONPATH=$packages timeout -k 10 1200 \
    python -m pytest tests/torch -q -p no:cacheprovider -o faulthandler_timeout=900 \
    --junitxml="$results/torch.xml" || status=1
[ -f "$results/torch.xml" ] || tools/count.py fail "$results" 'torch.profiler' 'the tests did not run'
tools/count.py total "$results"
exit $status
