#!/usr/bin/env bash
# Everything that can be said about the sources without running them.
. "$(dirname "$0")/common.sh"

tools/build.sh
tools/setup.sh lint

failed=()
check() {
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

sources() {
    local dirs
    mapfile -t dirs < <(ls -d include src ext tests bench examples 2>/dev/null)
    find "${dirs[@]}" -name "$1" | sort
}

includes_go_down() {
    ! grep -nE '^[[:space:]]*#[[:space:]]*include.*\.\.' $(sources '*.[ch]') /dev/null
}

# A file that no list names is never compiled, and so never checked either.
lists_are_complete() {
    local file list name status=0
    for file in $(find src ext tests/core tests/fuzz bench -name '*.c' 2>/dev/null) $(find python/kymograph -name '*.py' -o -name '*.pyi' -o -name py.typed 2>/dev/null); do
        case $file in
        python/*) list=python/meson.build name=${file#python/} ;;
        tests/*/test_*.c | tests/*/fuzz_*.c | bench/bench_*.c)
            list=$(dirname "$file")/meson.build name=$(basename "$file" .c) name=${name#*_} ;;
        *) list=$(dirname "$file")/meson.build name=$(basename "$file") ;;
        esac
        if ! grep -q "'$name'" "$list"; then
            echo "$file: not named in $list" >&2
            status=1
        fi
    done
    return $status
}

compiles_with() {
    CC=$1 configure "build/lint-$1" -Dpython=true -Dwerror=true -Dbench=true
    compile "build/lint-$1"
}

# Of those that are compiled here: some are for another architecture.
tidy() {
    sed -n 's#.*"file": "../../\(.*\)".*#\1#p' build/lint-clang/compile_commands.json |
        grep -E '^(src|ext)/' | sort -u | xargs -r -P "$(nproc)" -n 4 \
        clang-tidy -p build/lint-clang --quiet 2>/dev/null
}

shell_scripts() {
    local script status=0
    for script in tools/*.sh tools/matrix tools/judge .ci/run; do
        bash -n "$script" || status=1
    done
    if have shellcheck; then
        shellcheck -S warning -e SC1091,SC2034,SC2046,SC2154 tools/*.sh tools/matrix tools/judge .ci/run || status=1
    fi
    return $status
}

python_types() { [ ! -e python/kymograph/__init__.py ] || quiet mypy; }

check 'format' tools/format.sh --check
check 'includes' includes_go_down
check 'source lists' lists_are_complete
check 'gcc -Werror' compiles_with gcc
check 'clang -Werror' compiles_with clang
check 'clang-tidy' tidy
check 'ruff' ruff check -q .
check 'mypy' python_types
check 'shell scripts' shell_scripts

if [ ${#failed[@]} != 0 ]; then
    printf 'lint: %s\n' "${failed[@]}" >&2
    exit 1
fi
say 'lint: nothing to complain about'
