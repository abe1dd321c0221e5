#!/usr/bin/env bash
# Installs the programs that tests start and pip does not bring, where they are missing. Debian and
# Ubuntu; elsewhere it says what is missing.
set -euo pipefail

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null || missing+=(postgresql)
command -v java > /dev/null || missing+=(openjdk-17-jre-headless)

if (( ${#missing[@]} == 0 )); then
    exit 0
fi
if ! command -v apt-get > /dev/null; then
    echo "Install what the tests start: ${missing[*]}" >&2
    exit 1
fi
as_root=()
[[ $(id -u) == 0 ]] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
# no server is started by installing it: the tests start their own
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
    "${missing[@]}"
