"""A progress bar for learning that takes long: where it is shown, and where it is not."""

import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tallybayes import (
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
    progress,
    set_num_threads,
    set_progress,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Bars come without a delay, and nothing that a test asks for stays."""
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.001)
    monkeypatch.delenv("TALLYBAYES_PROGRESS", raising=False)
    yield
    set_progress(None)


class Seen:
    """What a bar was told; learning can wait until it is there."""

    def __init__(self):
        self.what, self.steps, self.moved, self.closed = [], [], threading.Event(), 0

    def __call__(self, what):
        self.what.append(what)
        return self

    def update(self, seconds, step):
        assert seconds >= 0.0
        self.steps.append(step)
        self.moved.set()

    def close(self):
        self.closed += 1

    def split(self, document):
        assert self.moved.wait(60.0)
        return document.split()


def fit(analyzer):
    TextNB(model="multinomial", ngram_range=(1, 1), analyzer=analyzer).fit(
        ["a b", "b c", "c d"], ["x", "y", "x"]
    )


def test_a_bar_is_there_while_something_is_learned(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "opened", seen)
    set_progress(True)
    fit(seen.split)
    assert seen.what == ["TextNB.fit"]
    assert seen.closed == 1


def test_it_goes_when_learning_fails(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "opened", seen)
    set_progress(True)

    def fails(document):
        seen.split(document)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fit(fails)
    assert seen.closed == 1


def test_none_without_terminal_or_notebook_nor_where_it_is_switched_off(monkeypatch):
    def refused(what):
        raise AssertionError(what)

    monkeypatch.setattr(progress, "opened", refused)
    threads = threading.active_count()
    for shown, terminal, variable in ((None, False, None), (False, True, None), (None, True, "0")):
        set_progress(shown)
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda t=terminal: t))
        if variable:
            monkeypatch.setenv("TALLYBAYES_PROGRESS", variable)
        with progress.learning_shown("it"):
            assert threading.active_count() == threads
    set_progress(True)
    with progress.on_progress(print), progress.learning_shown("it"):
        assert threading.active_count() == threads


def test_a_terminal_has_one_by_default(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "opened", seen)
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    with progress.learning_shown("it"):
        assert seen.moved.wait(60.0)
        with progress.learning_shown("within"):
            pass
    assert seen.what == ["it"]


# ---- steps ---------------------------------------------------------------------------------------
def told(work):
    """The steps that work tells, by what they are, in its order."""
    heard = {}

    def hear(step):
        assert 0 <= step.done <= step.total
        heard.setdefault(step.what, []).append(step.done)

    with progress.on_progress(hear):
        work()
    return heard


def rows(n=300):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("abc"), n)})
    return x, np.where(x["a"] + (x["b"] == "a") + rng.normal(size=n) > 0.5, "yes", "no")


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_of_tables_tell_their_steps(threads):
    set_num_threads(threads)
    try:
        heard = told(lambda: WeightedNaiveBayes().fit(*rows()))
    finally:
        set_num_threads(None)
    assert heard["fits"] == [0, 1, 2, 3, 4, 5, 6]
    assert heard["corrections"][:3] == heard["smooth functions"][:3] == [0, 1, 2]
    assert "rounds of pairs" not in heard


def test_the_steps_of_a_fit_by_itself_are_told():
    """Pairs that have a number at most are chosen by the fit of all rows first."""
    heard = told(lambda: WeightedNaiveBayes(interactions=1).fit(*rows()))
    assert heard["rounds of pairs"][0] == 0


def test_weights_of_documents_tell_their_steps():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    words = [["sun", "tea", "rain"], ["cash", "win", "now"]]
    documents = [" ".join(rng.choice(words[k], 4)) + f" {i % 7}" for i, k in enumerate(y)]
    heard = told(lambda: TextNB().fit(documents, y))
    assert heard["ways to read terms"] == [0, 1, 2, 3, 4, 5]
    assert heard["penalties of a ridge"][:2] == [0, 1]


def test_steps_within_a_step_are_told_where_it_is_the_only_one():
    def work(outer):
        with progress.steps("outer", outer) as tick:
            with progress.steps("inner", 2) as inside:
                inside()
            tick()

    assert told(lambda: work(2)) == {"outer": [0, 1]}
    assert told(lambda: work(1)) == {"outer": [0, 1], "inner": [0, 1]}
    with progress.steps("unheard", 1) as tick:
        tick()


def test_a_bar_shows_the_steps(monkeypatch):
    seen = Seen()
    monkeypatch.setattr(progress, "opened", seen)
    set_progress(True)
    with progress.learning_shown("it"), progress.steps("fits", 3) as tick:
        tick()
        seen.moved.clear()
        assert seen.moved.wait(60.0)
    assert str(seen.steps[-1]) == "1 of 3 fits"


class Notebook(ModuleType):
    """IPython as the kernel of a notebook has it; `outputs` are what cells show."""

    def __init__(self):
        super().__init__("IPython")
        self.outputs, self.changed = [], threading.Event()

    def get_ipython(self):
        return SimpleNamespace(kernel=object())

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        self.outputs.append(data)
        return self

    def update(self, data, *, raw):
        self.outputs.append(data)
        self.changed.set()


def test_a_notebook_has_an_element_that_goes_away(monkeypatch):
    notebook = Notebook()
    display = ModuleType("IPython.display")
    display.display = notebook.display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.learning_shown("<b>.fit"):
        assert notebook.changed.wait(60.0)
    assert "<progress" in notebook.outputs[0]["text/html"]
    assert "&lt;b&gt;.fit … 0 s" in notebook.outputs[0]["text/html"]
    assert notebook.outputs[-1] == {"text/html": "", "text/plain": ""}


def test_rich_draws_it_on_a_terminal_and_without_rich_there_is_none(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    bar = progress.opened("it")
    bar.update(2.0, progress.Step("fits", 2, 6))
    bar.close()
    assert "it: 2 of 6 fits" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert progress.opened("it") is None
    set_progress(True)
    NaiveBayes().fit([["a"], ["b"]], ["x", "y"])


def test_what_is_asked_for_is_true_false_or_none():
    with pytest.raises(TypeError, match="True, False or None, got 1"):
        set_progress(1)
