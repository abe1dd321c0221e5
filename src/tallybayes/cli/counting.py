"""Training on rows: the tally of all rows, and a sample for hyperparameters tuned on rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tallybayes.cli.console import Bar, document, line, number_of, progress, say
from tallybayes.cli.files import Output
from tallybayes.cli.model_file import ModelFile
from tallybayes.cli.notes import note_unlabelled
from tallybayes.cli.options import ClassWeight
from tallybayes.cli.places import need_columns
from tallybayes.cli.rows import Plan, Rows
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.sources import Counted, Sample
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.sources.cells import Kind

__all__ = ["MAX_SAMPLE_ROWS", "Counting", "count"]


MAX_SAMPLE_ROWS = 1 << 15  # rows that a plain model is measured on


@dataclass(eq=False)
class Counting:
    """Training on rows.

    Parameters
    ----------
    rows : Rows
    target : str
    families : dict
        Declared families; None leaves the column out.
    plain : bool
        Whether the model is a NaiveBayes, else a WeightedNaiveBayes.
    options : dict
        Of that model.
    class_weight : dict, "balanced" or None
        By which the counts of all rows are multiplied at the end.
    group : str, optional
        The column of groups, which is not learned from, now or later.
    """

    rows: Rows
    target: str
    families: dict[str, Any]
    plain: bool
    options: dict[str, Any]
    class_weight: ClassWeight = None
    group: str | None = None
    _counted: Counted = field(init=False)

    def run(self, bar: Bar) -> TableClassifier:
        """Counts the rows, and learns what is learned on some of them.

        Where a later row shows that a column of dates holds something else, the source is counted
        from scratch; what is read once cannot be, and that is an error.
        """
        weight = self.rows.weight
        need_columns(self.rows, self.target, self.families, weight)
        make = NaiveBayes if self.plain else WeightedNaiveBayes
        if self.group is not None:
            self.families = {**self.families, self.group: None}
        columns: Any = dict(self.families) or "auto"
        model = make(columns, class_weight=self.class_weight, **self.options)
        plan = Plan(
            bar,
            "counting",
            self.target,
            kinds=self._declared_kinds(),
            left_out=[n for n, f in self.families.items() if f is None and n != self.group],
            fitting=True,
            weight=weight,
            group=self.group,
            then="" if self.plain else "learning weights",
        )
        with self.rows.reading(plan):
            self._counted = model._fit_source(
                self.rows, self.target, weight, at_least=MAX_SAMPLE_ROWS, groups=self.group
            )
        if self.class_weight is not None:  # later rows have the weights that these have
            model.set_params(class_weight=dict(model.class_weight_))
        return model

    def _declared_kinds(self) -> dict[str, Kind | None]:
        return {
            name: "number or date" if family.reads == "numbers" else "text"
            for name, family in self.families.items()
            if family is not None
        }

    @property
    def sample(self) -> Sample:
        """A fair sample of the rows that were counted."""
        return self._counted.sample

    @property
    def whole(self) -> bool:
        """Whether all rows are in it."""
        return len(self._counted.sample.labels) == self._counted.n_rows

    def model_file(self, model: TableClassifier) -> ModelFile:
        """The model with what its file holds besides."""
        file = ModelFile(model, self.target, {}, self.rows.spelling)
        file.weight_column, file.flatten = self.rows.weight, self.rows.flatten
        declared = self._declared_kinds()
        for name in file.names:
            file.kinds[name] = declared.get(name)
            if name in file.table.counted:
                file.kinds[name] = self.rows.kind_of(name)
                file.kinds[name] = file.kind(name)
        return file


def count(rows: Rows, target: str, families: dict[str, Any], output: Output, json: bool) -> None:
    """Counts rows into a file, without a measurement."""
    output.need_as_made()
    counting = Counting(rows, target, families, plain=True, options={})
    with progress() as bar:
        file = counting.model_file(counting.run(bar))
    note_unlabelled(rows)
    with output.alone() as save:
        save(file)
    if json:
        classes = dict(zip(file.classes, file.class_rows.tolist(), strict=True))
        left_out = rows.unlabelled
        content = {"rows": file.rows, "rows_without_label": left_out, "classes": classes}
        document("count", {"model": output.path, **content})
        return
    say(line(f"{number_of(file.rows, 'row')} counted; the counts are in {output.path}"))
