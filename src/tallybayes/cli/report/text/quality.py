"""How good a model of text is, as its learning measured it, and its classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.cli.io.document_file import DocumentFile
from tallybayes.cli.terminal.console import cut, line, number_of, table

__all__ = [
    "class_table",
    "description",
    "quality_document",
    "quality_in_short",
    "quality_table",
]

MEASURED = "each document left out"
MAX_CLASSES = 20


def _guess(file: DocumentFile) -> tuple[str, float, float]:
    """The most frequent class, its share, and the log-loss of the classes' shares."""
    share = file.class_rows / max(file.rows, 1e-300)
    some = share[share > 0.0]
    return (
        file.classes[int(share.argmax())],
        float(share.max()),
        float((some * -np.log(some)).sum()),
    )


def quality_document(file: DocumentFile) -> dict[str, Any]:
    """The figures for machines, under the names that models of tables have for them."""
    model = file.model
    name, share, entropy = _guess(file)
    return {
        "measured_on": MEASURED,
        "counts_changed_since": file.stale,
        "accuracy": model.accuracy_,
        "accuracy_standard_error": model.accuracy_se_,
        "log_loss": model.log_loss_,
        "log_loss_standard_error": model.log_loss_se_,
        "baseline": {"class": name, "accuracy": share, "log_loss": entropy},
    }


def quality_table(file: DocumentFile) -> list[Any]:
    """The figures for people."""
    model = file.model
    name, share, entropy = _guess(file)
    how = MEASURED + (", before the counts changed" if file.stale else "")
    numbers = table(
        f"Quality ({how})",
        ["measure", ">this model", "std. error", f">always {name!r}"],
        [
            ["accuracy", f"{model.accuracy_:.2%}", f"± {model.accuracy_se_:.2%}", f"{share:.2%}"],
            [
                "log-loss (nats)",
                f"{model.log_loss_:.4f}",
                f"± {model.log_loss_se_:.4f}",
                f"{entropy:.4f} *",
            ],
        ],
    )
    remarks = [
        "accuracy: the share of documents whose most probable class is the true one",
        "log-loss: the mean of -ln(probability of the true class); 0 is perfect",
        "* when each document is given the shares of the classes as its probabilities",
    ]
    return [numbers, *(line(remark, "dim") for remark in remarks), line()]


def quality_in_short(file: DocumentFile) -> str:
    """The accuracy in a sentence."""
    model = file.model
    name, share, _ = _guess(file)
    return (
        f"accuracy {model.accuracy_:.2%} ± {model.accuracy_se_:.2%} ({MEASURED}); "
        f"always {name!r}: {share:.2%}"
    )


def class_table(file: DocumentFile, show_all: bool) -> Any:
    """The classes and their documents."""
    count = file.class_rows
    order = np.arange(len(count))
    if not show_all and len(count) > MAX_CLASSES:
        order = np.argsort(-count, kind="stable")[:MAX_CLASSES]
    rows = [
        (file.classes[k], f"{count[k]:,.10g}", f"{count[k] / max(file.rows, 1e-300):.2%}")
        for k in order.tolist()
    ]
    if more := len(count) - len(order):
        rows.append((f"… and {more:,} more", "", ""))
    title = f"Classes ({file.target})" if file.target else "Classes"
    return table(title, ["class", ">documents", ">share"], rows)


def description(file: DocumentFile) -> str:
    """The vocabulary in words: how many terms, of what they are made, and whether hashed."""
    options = file.model._counter.options
    shortest, longest = options["ngram_range"]
    of = {"char": "characters", "char_wb": "characters within words"}
    units = of.get(options["analyzer"], "words and marks")
    runs = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
    terms = number_of(file.model.tally_.n_terms, "term")
    hashed = options["n_features"]
    kept = f"{terms} in {hashed:,} buckets" if hashed else terms
    if pruned := file.model.tally_.pruned:
        kept += f", each of which may lack {pruned:,.10g} of its documents"
    ridge = file.model.penalty_
    learned = f"a ridge of penalty {ridge:.3g}" if ridge is not None else "no ridge"
    return cut(f"{kept}: n-grams of {runs} {units}; {learned}", 200)
