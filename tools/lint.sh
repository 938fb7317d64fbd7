#!/usr/bin/env bash
# Everything that can be said about the sources without running them.
. "$(dirname "$0")/common.sh"

if [ "${1:-}" = --unless-late ]; then
    past_deadline || "${@:2}"
    exit
fi

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

# A backtrace or a profile of ours shows names of functions alone: "find" says nothing there,
# "find_rule" does.
functions_name_their_object() {
    local verbs='activate|add|advance|append|apply|arrange|ask|attach|begin|build|call|change|check|choose|claim|clear|close|collect|compare|convert|copy|count|create|cut|decode|define|delete|describe|detach|drain|drop|dump|encode|end|enter|evaluate|exit|expire|explain|fetch|fill|find|finish|flush|follow|forget|free|get|give|grow|handle|hash|help|hold|init|insert|join|judge|keep|leave|list|load|lock|look|lookup|lose|make|mark|match|measure|merge|move|next|note|open|order|pack|parse|pass|peek|pick|place|pop|prepare|print|publish|push|put|read|record|refill|refuse|register|release|remember|remove|report|reserve|reset|resolve|restore|resume|run|save|scan|search|send|set|settle|show|skip|sort|start|step|stop|store|summarize|sweep|take|tell|test|touch|track|try|unpack|update|use|verify|visit|wait|wake|walk|want|watch|widen|work|wrap|write'
    ! grep -nE "(^|\)\) )(static|KYMO_INLINE|KYMO__COLD)[^;={}()]*[ *]($verbs)\(" \
        $(find ext src -name '*.[ch]' | sort) /dev/null
}

compiles_with() { # compiles_with COMPILER [meson option...]
    local compiler=$1
    shift
    CC=$compiler configure "build/lint-$compiler" -Dpython=true -Dwerror=true -Dbench=true "$@"
    compile "build/lint-$compiler"
}

# Of those that are compiled here: some are for another architecture.
# The analyzer follows the paths through a function until it has seen this many states. Its own
# limit is 225000, which takes eight times as long; TIDY_STATES=225000 for a thorough look.
tidy() {
    local states=${TIDY_STATES:-15000}
    sed -n 's#.*"file": "../../\(.*\)".*#\1#p' build/lint-clang/compile_commands.json |
        grep -E '^(src|ext)/' | sort -u | xargs -r -P "$(nproc)" -n 4 "$0" --unless-late \
        clang-tidy -p build/lint-clang --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config \
        --extra-arg=-Xclang --extra-arg=max-nodes="$states" 2>/dev/null
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
check 'function names' functions_name_their_object
check 'ruff' ruff check -q .
check 'mypy' python_types
check 'shell scripts' shell_scripts
# Where there is no node, the page is the one that was made last.
if have npm; then
    check 'timeline' tools/viewer.sh --check
else
    say 'THE TIMELINE WAS NOT CHECKED: there is no npm here'
fi
# With KYMO_WERROR=true the tests' own build has been one with warnings as errors already.
[ "${KYMO_WERROR:-}" = true ] || check 'gcc -Werror' compiles_with gcc
# Nothing that clang warns about depends on what it optimizes; gcc's warnings do.
check 'clang -Werror' compiles_with clang -Doptimization=0
check 'clang-tidy' tidy
! past_deadline || say 'CLANG-TIDY DID NOT LOOK AT EVERYTHING: this machine is too slow today'

if [ ${#failed[@]} != 0 ]; then
    printf 'lint: %s\n' "${failed[@]}" >&2
    exit 1
fi
say 'lint: nothing to complain about'
