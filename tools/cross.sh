#!/usr/bin/env bash
# Build library, program and C tests for the other architecture (aarch64 from x86_64
# and the reverse), and run the C tests in qemu's user mode where it is installed.
. "$(dirname "$0")/common.sh"

tools/setup.sh cross

case $(uname -m) in
x86_64) cpu=aarch64 deb=arm64 ;;
*) cpu=x86_64 deb=amd64 ;;
esac
dir=$root/build/cross-$cpu
sysroot=$root/build/cross-sysroot-$cpu
lib=$sysroot/usr/lib/$cpu-linux-gnu

# zstd and zlib for that architecture, unpacked into a directory of ours. apt gets a state
# directory of its own, so that nothing of the system's configuration is touched.
fetch_libraries() {
    on_debian || die "put libzstd and zlib for $cpu under $sysroot"
    local apt=$sysroot/apt
    local options=(-qq -o "APT::Architecture=$deb" -o "APT::Architectures::=$deb"
        -o "Dir::State=$apt/state" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
        -o APT::Sandbox::User=root)
    say "fetching zstd and zlib for $cpu"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    quiet apt-get "${options[@]}" update
    (cd "$apt" && quiet apt-get "${options[@]}" download "libzstd-dev:$deb" "libzstd1:$deb" \
        "zlib1g-dev:$deb" "zlib1g:$deb")
    for package in "$apt"/*.deb; do
        dpkg-deb -x "$package" "$sysroot"
    done
    rm -rf "$apt"
}

[ -e "$lib/libzstd.so" ] && [ -e "$lib/libz.a" ] || fetch_libraries

emulator=$(command -v "qemu-$cpu" || command -v "qemu-$cpu-static" || true)
mkdir -p build
# Tests run the command from a shell, where nothing tells that it needs the emulator.
program=$root/build/cross-$cpu-kymograph
if [ -n "$emulator" ]; then
    printf '#!/bin/sh\nexec "%s" -L "%s" -E "%s" "%s" "$@"\n' "$emulator" "/usr/$cpu-linux-gnu" \
        "LD_LIBRARY_PATH=$lib" "$dir/src/cli/kymograph" >"$program"
    chmod +x "$program"
fi
description=build/cross-$cpu.ini
cat >"$description.new" <<END
[binaries]
c = '$cpu-linux-gnu-gcc'
ar = '$cpu-linux-gnu-ar'
strip = '$cpu-linux-gnu-strip'
pkg-config = 'pkg-config'
${emulator:+exe_wrapper = ['$emulator', '-L', '/usr/$cpu-linux-gnu', '-E', 'LD_LIBRARY_PATH=$lib', '-E', 'KYMO_EMULATED=1', '-E', 'KYMO_PROGRAM=$program']}

[built-in options]
c_link_args = ['-L$lib', '-Wl,-rpath-link,$lib']

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
configure "$dir" --cross-file "$description"
if [ -n "$emulator" ]; then
    say "running the $cpu tests in $emulator"
    tools/ctest.sh "$dir" "cross-$cpu" --timeout-multiplier 10
    tools/count.py total "$results" "cross-$cpu"
else
    compile "$dir"
    say "built $dir; no qemu-$cpu here to run its tests"
fi
