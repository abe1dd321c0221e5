#!/usr/bin/env bash
# What somebody new does, from the README alone: a clone, a new HOME, no cache of packages, nothing
# of this shell's environment; `make demo`, `make examples`, `make test`, then a CSV of their own.
#
#   tools/fresh_machine.sh [FOLDER]     FOLDER is for the clone; else one that is removed again
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$(mktemp -d)}
[[ $# -gt 0 ]] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/home"
git clone --quiet "$here" "$folder/tally bäyes"

as_new() {
  (cd "$folder/tally bäyes" && env -i HOME="$folder/home" PATH=/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 PIP_CACHE_DIR="$folder/no cache" "$@")
}

as_new make demo
as_new make examples
as_new make test

# a table of one's own: a semicolon, a gap, quotes, words that are not English
own="$folder/meine kunden.csv"
{
  echo 'Alter;Stadt;Einkommen;kauft'
  for i in $(seq 200); do
    age=$((18 + i * 7 % 50))
    city=$([[ $((i % 3)) -eq 0 ]] && echo '"Köln; rechts"' || echo 北京)
    income=$([[ $((i % 11)) -eq 0 ]] && echo '' || echo $((1000 + age * 40 + i % 13)))
    echo "$age;$city;$income;$([[ $((age + i % 5)) -gt 45 ]] && echo ja || echo nein)"
  done
} > "$own"
run=(.venv/bin/tallybayes)
as_new "${run[@]}" fit "$own" --target kauft -o "$folder/m.tally"
as_new "${run[@]}" predict "$folder/m.tally" "$own" --proba | head -n 3
as_new "${run[@]}" explain "$folder/m.tally" "$own" --row 0
as_new "${run[@]}" show "$folder/m.tally" | head -n 12
if as_new "${run[@]}" fit "$own" --target kaufte 2> "$folder/error"; then
  echo "a wrong target was taken" >&2
  exit 1
fi
grep -q 'kauft' "$folder/error"
echo "A fresh machine gets through."
