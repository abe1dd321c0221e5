"""The faults of tools/mutants.toml can be planted: what they change is there, once."""

from collections import Counter

import pytest
from tools.mutants import SUFFIXES, Fault, Result, all_faults, meaning, page

from package.tree import ROOT

FAULTS = all_faults()
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src").rglob("*"))
    if path.suffix in SUFFIXES
}


def test_there_are_enough_faults_in_each_part():
    assert len(FAULTS) >= 80
    assert sum(fault.in_kernels for fault in FAULTS) >= 16


def test_no_two_faults_have_one_title():
    assert [title for title, n in Counter(fault.title for fault in FAULTS).items() if n > 1] == []


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.title for fault in FAULTS])
def test_a_fault_changes_one_place_and_names_tests_that_exist(fault):
    """Where the text has moved on, plant the fault in what took its place."""
    found = {name: text.count(fault.old) for name, text in TEXTS.items() if fault.old in text}
    below = {name: n for name, n in found.items() if name.startswith(f"{fault.where}/")}
    assert sum(below.values()) == 1, f"the text is found in {below or 'no file'}"
    assert fault.new != fault.old
    assert fault.tests
    assert [test for test in fault.tests if not (ROOT / test).exists()] == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (0, "survived"),
        (1, "caught"),
        (-11, "caught"),
        (None, "caught"),
        (2, "broken"),
        (5, "broken"),
    ],
)
def test_a_fault_is_caught_by_a_failure_a_crash_or_no_end(status, outcome):
    assert meaning(status) == outcome


def test_the_page_names_survivors_and_says_whether_the_bar_is_met():
    faults = [Fault(f"fault {i}", "src", "a", "b", ["tests/bayes"]) for i in range(20)]
    results = [Result(fault, "caught", 1.0) for fault in faults]
    assert "20 of 20 faults are caught, 100.0%; at least 95%: met" in page(results, "command")
    results[7:9] = [Result(fault, "survived", 1.0) for fault in faults[7:9]]
    text = page(results, "command")
    assert "18 of 20 faults are caught, 90.0%; at least 95%: missed" in text
    assert "- fault 7: not explained" in text
