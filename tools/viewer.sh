#!/usr/bin/env bash
# Make the timeline's page: tools/viewer.sh [--check]. Its sources are formatted and linted, types
# are checked, its tests run, and viewer/timeline/dist is made anew from viewer/timeline/src. With
# --check nothing is changed, and it is an error if the format or dist is not up to date. Needs
# node; building Kymograph does not.
. "$(dirname "$0")/common.sh"

page=$root/viewer/timeline
if ! have node || ! have npm; then
    die 'the timeline is made with node and npm, which are not here; viewer/timeline/dist has it as it was made last'
fi
tools=$root/build/timeline
if ! cmp -s "$page/package-lock.json" "$tools/package-lock.json" || [ ! -x "$tools/node_modules/.bin/tsc" ]; then
    say 'installing the tools of the timeline'
    rm -rf "$tools"
    mkdir -p "$tools"
    cp "$page/package.json" "$page/package-lock.json" "$tools"
    if ! (cd "$tools" && quiet npm ci --no-audit --no-fund --ignore-scripts); then
        rm -rf "$tools"
        [ "${1:-}" = --check ] || die 'npm could not install the tools of the timeline'
        say 'THE TIMELINE WAS NOT CHECKED: npm could not install its tools'
        exit 0
    fi
fi
cd "$page"
bundle() { # bundle FILE OUT
    "$tools"/node_modules/.bin/esbuild "$1" --bundle --format=iife --target=es2022 --charset=utf8 --legal-comments=none --minify \
        --log-level=warning --outfile="$2"
}

if [ "${1:-}" = --check ]; then
    quiet "$tools"/node_modules/.bin/prettier --check src test || die 'the timeline is not formatted; run tools/viewer.sh'
else
    quiet "$tools"/node_modules/.bin/prettier --write src test
fi
"$tools"/node_modules/.bin/tsc -p .
"$tools"/node_modules/.bin/tsc -p test
# Named one by one: what lies below a directory that git ignores is otherwise left out.
OXLINT_TSGOLINT_PATH=$tools/node_modules/.bin/tsgolint quiet "$tools"/node_modules/.bin/oxlint --no-ignore -c .oxlintrc.json src/*.ts test/*.ts
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
for test in test/*.test.ts; do
    [ ! -e "$test" ] || "$tools"/node_modules/.bin/esbuild "$test" --bundle --platform=node --format=esm \
        --log-level=warning --outfile="$made/tests/$(basename "$test" .ts).mjs"
done
[ ! -d "$made/tests" ] || quiet node --test "$made/tests"
bundle src/main.ts "$made/timeline.js"
if [ "${1:-}" = --check ]; then
    cmp -s "$made/timeline.js" dist/timeline.js || die 'viewer/timeline/dist is not up to date; run tools/viewer.sh'
else
    cp "$made/timeline.js" dist/timeline.js
fi
