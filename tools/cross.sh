#!/usr/bin/env bash
# Build everything for the other architecture (aarch64 from x86_64 and the reverse), and run the C
# tests and some of the Python tests in qemu's user mode where it is installed. With arguments:
# only these Python tests.
. "$(dirname "$0")/common.sh"

tools/setup.sh cross

case $(uname -m) in
x86_64) cpu=aarch64 deb=arm64 ;;
*) cpu=x86_64 deb=amd64 ;;
esac
dir=$root/build/cross-$cpu
sysroot=$root/build/cross-sysroot-$cpu
lib=$sysroot/usr/lib/$cpu-linux-gnu
package=$dir/package/kymograph # as it would be installed
packages=(libzstd-dev zlib1g-dev libstdc++6 python3-dev python3-pytest)

# A Python for that architecture, and the libraries, unpacked into a directory of ours. apt gets a
# state directory of its own, so that nothing of the system's configuration is touched.
fetch_packages() {
    on_debian || die "unpack ${packages[*]} for $cpu, and what they depend on, under $sysroot"
    rm -rf "$sysroot"
    local apt=$sysroot/apt
    local options=(-qq -o "APT::Architecture=$deb" -o "APT::Architectures::=$deb"
        -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
        -o APT::Sandbox::User=root)
    say "fetching a Python for $cpu"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    quiet apt-get "${options[@]}" update
    quiet apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
    local archive
    for archive in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$archive" "$sysroot"
    done
    [ -e "$sysroot/lib" ] || ln -s usr/lib "$sysroot/lib" # what a package of newer suites does
    rm -rf "$apt"
}

[ -e "$lib/libzstd.so" ] && [ -e "$lib/libstdc++.so.6" ] && [ -e "$sysroot/usr/bin/python3" ] ||
    fetch_packages

emulator=$(command -v "qemu-$cpu" || command -v "qemu-$cpu-static" || true)
[ -n "$emulator" ] || die "there is no qemu-$cpu: install it to build for $cpu"

# Tests run the command and the interpreter by name, where nothing tells that they need the emulator.
bin=$root/build/cross-bin-$cpu
run="\"$emulator\" -L \"$sysroot\" -E KYMO_EMULATED=1"
mkdir -p "$bin"
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$run" "$dir/src/cli/kymograph" >"$bin/kymograph"
printf '#!/bin/sh\nexec %s -E KYMO_EMULATOR=%s -E LD_LIBRARY_PATH=%s "%s" "$@"\n' "$run" \
    "$bin/python" "$package" "$sysroot/usr/bin/python3" >"$bin/python"
chmod +x "$bin"/*

description=build/cross-$cpu.ini
cat >"$description.new" <<END
[binaries]
c = '$cpu-linux-gnu-gcc'
ar = '$cpu-linux-gnu-ar'
strip = '$cpu-linux-gnu-strip'
pkg-config = 'pkg-config'
python = '$bin/python'
exe_wrapper = ['$emulator', '-L', '$sysroot', '-E', 'KYMO_EMULATED=1', '-E', 'KYMO_PROGRAM=$bin/kymograph']

[built-in options]
c_args = ['--sysroot=$sysroot']
c_link_args = ['--sysroot=$sysroot']

[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$lib/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
END
cmp -s "$description" "$description.new" || rm -rf "$dir"
mv "$description.new" "$description"
configure "$dir" --cross-file "$description" -Dpython=true
compile "$dir"

rm -rf "$dir/package"
mkdir -p "$dir/package"
cp -r python/kymograph "$package"
cp "$dir"/ext/module/_core*.so "$dir/src/libkymo.so.0" "$dir/src/preload/libkymo-preload.so" "$package"

# Those that need neither other programs nor children that make threads, which the emulator does
# not have, nor compile anything.
tests=("$@")
[ $# != 0 ] || for name in tracer_{calls,c_calls,life,names,slices,tasks} spans args op traceback \
    memory memory_{objects,others,stacks} profiler_{modules,operators}; do
    tests+=("tests/python/test_$name.py")
done

status=0
if [ $# = 0 ]; then
    say "running the C tests for $cpu in $emulator"
    tools/ctest.sh "$dir" "cross-$cpu" --timeout-multiplier 10 || status=$?
fi
say "running Python tests for $cpu in $emulator"
PYTHONPATH=$root/tests/emulated:$dir/package KYMO_BUILD_DIR=$dir \
    "$bin/python" -m pytest -q -p no:cacheprovider --junit-xml "$results/cross-$cpu-python.xml" \
    "${tests[@]}" || status=$?
[ $# != 0 ] || tools/count.py total "$results" "cross-$cpu*"
exit $status
