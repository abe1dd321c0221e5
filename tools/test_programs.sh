#!/usr/bin/env bash
# Installs the programs that tests start and pip does not bring, and clang, where they are missing. Debian and
# Ubuntu; elsewhere it says what is missing. Tests of servers fail without theirs; tests of pages are
# skipped without a browser, with the reason.
set -euo pipefail

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null || missing+=(postgresql)
command -v mariadbd > /dev/null || missing+=(mariadb-server)
command -v java > /dev/null || missing+=(openjdk-17-jre-headless)
command -v clang++ > /dev/null || missing+=(clang)
browser=()
command -v chromium > /dev/null || command -v chromium-browser > /dev/null || browser+=(chromium)

if (( ${#missing[@]} + ${#browser[@]} == 0 )); then
    exit 0
fi
if ! command -v apt-get > /dev/null; then
    echo "Install what the tests start: ${missing[*]} ${browser[*]}" >&2
    exit $(( ${#missing[@]} > 0 ))
fi
as_root=()
[[ $(id -u) == 0 ]] || as_root=(sudo)

# no server is started by installing it: the tests start their own
install() {
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@"
}

"${as_root[@]}" apt-get update -qq || true
(( ${#missing[@]} == 0 )) || install "${missing[@]}"
(( ${#browser[@]} == 0 )) || install "${browser[@]}" ||
    echo "No browser could be installed: tests of pages are skipped" >&2
