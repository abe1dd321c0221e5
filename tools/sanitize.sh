#!/usr/bin/env bash
# Runs the kernel tests on kernels built with address and undefined-behaviour sanitizers.
#
#   tools/sanitize.sh PYTHON FOLDER [pytest arguments]
#
# FOLDER holds the package with sanitized kernels, PYTHON's environment what it and the tests need:
# `make sanitize` makes both and calls this. tests/kernels/conftest.py sees to it that the kernels
# under test are those of FOLDER. Needs GCC's sanitizer libraries, which come with g++. Fails if a test fails or if a
# sanitizer reports anything, in whatever process of the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$1
folder=$(realpath "$2")
shift 2

# the runtime must be in the process before anything else, and the C++ library with it: ASan looks
# for the exception functions once, when it starts
libraries=
for name in libasan.so libubsan.so libstdc++.so; do
    path=$("${CXX:-g++}" -print-file-name="$name")
    if [[ $path != /* ]]; then
        echo "${CXX:-g++} has no $name; install GCC with its sanitizer libraries" >&2
        exit 1
    fi
    libraries+="${libraries:+ }$(readlink -f "$path")"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Reports go to files, so that none is lost in what a test captures. UBSan writes its own words to
# stderr whatever it is told, but then it aborts, and ASan reports the abort and its stack. Most of
# the time would go into the stack of each allocation: three frames of it are enough.
status=0
run() {
    local log=$1 allocator=$2 code=0
    shift 2
    LD_PRELOAD=$libraries \
        PYTHONMALLOC=$allocator \
        PYTHONPATH=$folder \
        SANITIZED_KERNELS=$folder \
        ASAN_OPTIONS="detect_leaks=0:handle_abort=1:malloc_context_size=3:log_path='$work/report'" \
        UBSAN_OPTIONS="abort_on_error=1:log_path='$work/report'" \
        timeout --kill-after=10 "${SANITIZE_TIMEOUT:-1800}" \
        "$python" -P -m pytest -p no:cacheprovider -p no:faulthandler --capture=sys "$@" \
        >"$work/$log" 2>&1 || code=$?
    # 5: of tests that are chosen by hand, none is among these
    if [[ $code -ne 0 && $code -ne 5 ]]; then status=$code; fi
}

# Kernels that read Python's own small objects, strings above all, are tested with an allocation for
# each object. Elsewhere arrays are read, which NumPy allocates, and Python's pools are quicker.
objects=(tests/kernels/{count/test_kernel_{labels,levels,strings},text/test_kernel_{text,text_fuzz}}.py)
run objects malloc "${objects[@]}" "$@"
run arrays pymalloc tests/kernels "${objects[@]/#/--ignore=}" "$@"

for report in "$work"/report.*; do
    [[ -e $report ]] || continue
    cat "$report" >&2
    status=1
done

if [[ $status -ne 0 ]]; then
    tail -n 200 "$work/objects" "$work/arrays" >&2
    echo "sanitizers: FAILED, see above" >&2
    exit 1
fi
# without pytest's own words, so that only the test suite's summary reads as one
passed=$(grep -hoE '[0-9]+ passed' "$work/objects" "$work/arrays" | awk '{n += $1} END {print n}')
if [[ -z $passed ]]; then
    echo "sanitizers: no test ran" >&2
    exit 1
fi
echo "sanitizers: $passed kernel tests ran clean in ${SECONDS}s"
