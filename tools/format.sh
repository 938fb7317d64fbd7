#!/usr/bin/env bash
# Rewrite the sources to the project's format: tools/format.sh [--check].
. "$(dirname "$0")/common.sh"

tools/setup.sh lint

mapfile -t c_sources < <(find include src ext tests bench examples -name '*.[ch]' 2>/dev/null | sort)
mapfile -t python_dirs < <(ls -d python tests bench tools examples viewer 2>/dev/null)

if [ "${1:-}" = --check ]; then
    [ ${#c_sources[@]} = 0 ] || clang-format --dry-run -Werror "${c_sources[@]}"
    ruff format -q --check "${python_dirs[@]}"
else
    [ ${#c_sources[@]} = 0 ] || clang-format -i "${c_sources[@]}"
    ruff format -q "${python_dirs[@]}"
fi
