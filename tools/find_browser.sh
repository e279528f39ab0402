#!/bin/sh
# Says which browser the studio's tests will use. Installs Debian's Chromium where that is possible: as root, with apt.
for name in "$PLIANT_CHROMIUM" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
        echo "Browser for the studio's tests: $(command -v "$name")"
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No browser is there: installing Debian's Chromium for the studio's tests"
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
        echo "Browser for the studio's tests: $(command -v chromium)"
        exit 0
    fi
fi
if [ -n "$PLIANT_REQUIRE_BROWSER" ]; then
    echo "No Chromium or Chrome was found, and none could be installed: the studio's browser tests cannot run." >&2
    exit 1
fi
echo "No Chromium or Chrome was found: the studio's browser tests will be skipped."
