#!/usr/bin/env bash
# What somebody new does, from the README alone: a clone, a new HOME, nothing of this shell's
# environment; `make demo`, then a CSV of their own. Without --short also no cache of packages,
# `make examples` and `make test`; with it, the wheel that this checkout has built of the same source.
#
#   tools/fresh_machine.sh [--short] [FOLDER]     FOLDER is for the clone; else one that is removed again
set -euo pipefail

short=no
if [[ ${1:-} == --short ]]; then
  short=yes
  shift
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$(mktemp -d)}
[[ $# -gt 0 ]] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/home"
clone="$folder/tally bäyes"
git clone --quiet "$here" "$clone"

cache="$folder/no cache"
if [[ $short == yes ]]; then
  cache=$(python3 -m pip cache dir)
  if [[ -d "$here/build/wheels" ]]; then
    mkdir -p "$clone/build"
    cp -r "$here/build/wheels" "$clone/build/wheels"
  fi
fi

as_new() {
  (cd "$clone" && env -i HOME="$folder/home" PATH=/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 PIP_CACHE_DIR="$cache" "$@")
}

as_new make demo
if [[ $short == no ]]; then
  as_new make examples
  as_new make test
fi

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
as_new "${run[@]}" update "$folder/m.tally" "$own"
as_new "${run[@]}" forget "$folder/m.tally" "$own"
as_new .venv/bin/python -c 'import sys, tallybayes
print(tallybayes.load(sys.argv[1]).predict([{"Alter": 60, "Stadt": "北京"}]))' "$folder/m.tally"

# documents of one's own: a folder for each class
mkdir -p "$folder/post/ja" "$folder/post/nein"
for i in $(seq 12); do
  echo "Das gefällt mir gut, Nummer $i" > "$folder/post/ja/$i.txt"
  echo "leider nicht gut genug, $i" > "$folder/post/nein/$i.txt"
done
as_new "${run[@]}" fit "$folder/post" -o "$folder/post.tally" --quiet
echo "leider nicht" | as_new "${run[@]}" predict "$folder/post.tally" - --proba

if as_new "${run[@]}" fit "$own" --target kaufte 2> "$folder/error"; then
  echo "a wrong target was taken" >&2
  exit 1
fi
grep -q 'kauft' "$folder/error"
echo "A fresh machine gets through."
