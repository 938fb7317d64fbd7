#!/usr/bin/env bash
# Print the Pythons that kymograph can be built with, newest first: CPython 3.10 or
# later that starts and has its headers. With PYTHON set, only that one, or an
# error that says what is wrong with it.
set -euo pipefail

probe='
import os, sys, sysconfig
if sys.implementation.name != "cpython": sys.exit("it is not CPython")
if sys.version_info < (3, 10): sys.exit("it is older than 3.10")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit("it has no headers (Python.h)")
v = sys.version_info
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# Sort key: finished releases before previews, builds with the GIL before those without.
key = "%d.%d.%03d.%03d.%03d" % (v.releaselevel == "final", not free, v[0], v[1], v[2])
# The real interpreter, even when asked from inside a virtual environment.
exe = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
name = "%d.%d.%d%s" % (*v[:3], "t" if free else "")
print(key, name, exe)
'

if [ -n "${PYTHON:-}" ]; then
    if ! found=$("$PYTHON" -I -c "$probe" 2>&1) || [[ $found != *' /'* ]]; then
        [[ $found == 'it '* ]] || found='it does not run'
        echo "kymograph: PYTHON=$PYTHON cannot be used: $found" >&2
        exit 1
    fi
    echo "${found#* }"
    exit
fi

candidates() {
    local dirs file
    IFS=: read -ra dirs <<<"$PATH:/usr/bin:/usr/local/bin"
    for file in "${dirs[@]/%//python3}" "${dirs[@]/%//python3.1[0-9]}" "${dirs[@]/%//python3.1[0-9]t}"; do
        compgen -G "$file" || true
    done
    compgen -G "${HOME:-/nonexistent}/.pyenv/versions/*/bin/python3" || true
    compgen -G "${HOME:-/nonexistent}/.local/share/uv/python/*/bin/python3" || true
}

candidates | sort -u | while read -r python; do
    "$python" -I -c "$probe" 2>/dev/null || true
done | sort -u -k3,3 | sort -r -k1,1 | cut -d' ' -f2-
