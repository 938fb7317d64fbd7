#!/usr/bin/env bash
# Print the Python of a virtual environment with the programs that judge exports in the tests:
# HTA, which reads the traces of PyTorch's profiler, and pyarrow and duckdb for Parquet. It is made
# the first time, from the Python of .venv, and kept. Fails with one line when it cannot be had.
. "$(dirname "$0")/common.sh"

# HTA asks for a notebook server too, which nothing of what is tested needs.
packages=('numpy<3' 'pandas<3' 'networkx<4' 'plotly<7' 'pydot<5' psutil pyyaml 'pyarrow>=14' 'duckdb>=1')
judge='HolisticTraceAnalysis==0.5.0'
directory=$root/build/analysis
log=$root/build/analysis.log

one_at_a_time analysis
[ -x "$venv/bin/python" ] || die 'there is no .venv yet; run: make build'
want="$(cat "$venv/kymograph-setup") ${packages[*]} $judge"
if [ "$(cat "$directory/kymograph-setup" 2>/dev/null)" != "$want" ]; then
    rm -rf "$directory"
    pip=("$directory/bin/python" -m pip install -q --disable-pip-version-check)
    {
        "$venv/bin/python" -m venv "$directory" &&
            timeout 400 "${pip[@]}" "${packages[@]}" &&
            timeout 100 "${pip[@]}" --no-deps "$judge"
    } >"$log" 2>&1 || die "pip could not install HTA, pyarrow and duckdb; see build/analysis.log"
    echo "$want" >"$directory/kymograph-setup"
fi
echo "$directory/bin/python"
