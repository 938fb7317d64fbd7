#!/usr/bin/env bash
# Print the Python of a virtual environment with Spark, which runs the documented SQL in the tests. It
# is made the first time, from the Python of .venv, outside the tree and kept:
# ~/.cache/kymograph/spark-PYTHON-MACHINE, about 500 MB. Fails with one line when it cannot be had.
. "$(dirname "$0")/common.sh"

package='pyspark>=4,<5'
[ -x "$venv/bin/python" ] || die 'there is no .venv yet; run: make build'
version=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kymograph
directory=$cache/spark-$version-$(uname -m)
log=$root/build/spark.log
mkdir -p "$cache" "$root/build"

exec 9>"$cache/spark.lock"
flock 9
have java || apt_install default-jre-headless
if [ "$(cat "$directory/complete" 2>/dev/null)" != "$package" ]; then
    rm -rf "$directory"
    {
        "$venv/bin/python" -m venv "$directory" &&
            timeout 900 "$directory/bin/python" -m pip install -q --disable-pip-version-check \
                --no-compile "$package"
    } >"$log" 2>&1 || die "pip could not install $package; see build/spark.log"
    echo "$package" >"$directory/complete"
fi
echo "$directory/bin/python"
