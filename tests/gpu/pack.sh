#!/usr/bin/env bash
# Put Kymograph and pytest into build/gpu/VERSION, for tests/gpu/run on a machine that has torch but
# no network: copy that directory there with the tree.
#
# tests/gpu/pack.sh PYTHON
#
# PYTHON is any CPython with headers of the version that the other machine has, such as python3.12.
. "$(dirname "$0")/../../tools/common.sh"

[ $# = 1 ] || die 'usage: tests/gpu/pack.sh PYTHON'
python=$(command -v "$1") || die "there is no $1"
full=$("$python" -c 'import platform; print(platform.python_version())')
version=${full%.*}
tools/each-python.sh --build "$full" "$python"
env=$root/build/env-$full
[ -d "$env" ] || die "Kymograph could not be built with $python"
packed=$root/build/gpu/$version
rm -rf "$packed"
mkdir -p "$packed"
cp -R "$env/lib/python$version/site-packages/kymograph" "$packed"
quiet "$env/bin/python" -m pip install -q --disable-pip-version-check --target "$packed" pytest
find "$packed" -name __pycache__ -prune -exec rm -rf {} +
find "$packed/kymograph" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec strip --strip-debug {} + 2>/dev/null || true
say "packed into $packed: $(du -sh "$packed" | cut -f1)"
