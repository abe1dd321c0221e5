"""What commands do for models of tables."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.commands.kinds.contract import Kind
from tallybayes.cli.io.chosen_rows import ChosenRows
from tallybayes.cli.io.model_file import ModelFile
from tallybayes.cli.io.rows import Rows
from tallybayes.cli.io.strays import need_finite, note_strays, strings_beside_numbers
from tallybayes.cli.report.data_quality import note_stale
from tallybayes.cli.terminal.console import Bar, note
from tallybayes.cli.terminal.failures import USAGE, Failure
from tallybayes.estimators.tables.calibrated import Calibrated
from tallybayes.estimators.tables.weighted import WeightedNaiveBayes

__all__ = ["TableModels"]

UNDECIDED_KINDS: set[str | None] = {None, "number or date"}  # of columns without a value so far


class TableModels(Kind):
    """Models of tables."""

    def explain(self, file: ModelFile, source: Rows, rows: ChosenRows, json: bool) -> None:
        from tallybayes.cli.report.explaining import explain

        if not rows:
            raise Failure(
                "Missing option '--row': the number of the row, from 0 (or --key COL=VALUE)", USAGE
            )
        explain(file, source, rows, json)

    def show(self, file: ModelFile, path: str, tables: bool, show_all: bool, json: bool) -> None:
        from tallybayes.cli.report.showing import show

        show(file, path, tables, show_all, json)

    def need_reweighting(self, file: ModelFile, path: str, parts: Any) -> None:
        if not file.model.chooses_on_rows:
            raise Failure(
                f"{path} is a plain model without calibration: nothing in it is learned on rows "
                "but the counts, which are exact"
            )
        if parts is not None and not isinstance(file.model, WeightedNaiveBayes):
            raise Failure(f"--parts is for weighted models, and {path} is a plain one", USAGE)

    def reweight(
        self, file: ModelFile, source: Rows, bar: Bar, target: str | None, parts: Any, group: Any
    ) -> int:
        if parts is not None:
            file.model.set_params(parts=parts)
        most = file.model.sample_size
        table, labels, weights, groups = file.sampled(source, bar, target, most, group)
        with bar.during("learning weights"):
            if isinstance(file.model, WeightedNaiveBayes):
                file.model.reweight(table, labels, weights, groups)
            elif isinstance(file.model, Calibrated):
                file.model.recalibrate(table, labels, weights, groups)
        return len(labels)

    def take_in(self, whole: ModelFile, first: str, part: ModelFile, path: str) -> None:
        if whole.target and part.target and whole.target != part.target:
            raise Failure(
                f"{first} predicts {whole.target!r} and {path} predicts {part.target!r}: only "
                "models of one target merge"
            )
        for name in whole.kinds.keys() & part.kinds.keys():
            kinds = {whole.kinds[name], part.kinds[name]}
            if "date" in kinds and len(kinds) > 1 and not kinds & UNDECIDED_KINDS:
                raise Failure(
                    f"column {name!r} holds {whole.holds(name)} in {first} and {part.holds(name)} "
                    f"in {path}: train both with --column {name}=categorical"
                )
        mine_set, theirs_set = whole.model.get_params(), part.model.get_params()
        if type(whole.model) is type(part.model) and str(mine_set) != str(theirs_set):
            note(f"note: {path} was trained with other options; those of {first} are kept")
        whole.model.merge(part.model)
        whole.target = whole.target or part.target
        for name, kind in part.kinds.items():
            mine = whole.kinds.get(name)
            if mine in UNDECIDED_KINDS or (mine != kind and kind not in UNDECIDED_KINDS):
                whole.kinds[name] = kind if mine in UNDECIDED_KINDS else "number or text"

    def before_learning(self, file: ModelFile) -> Any:
        return strings_beside_numbers(file.model)

    def need_sound(self, file: ModelFile, source: Rows) -> None:
        need_finite(file.model, source)

    def after_learning(self, file: ModelFile, source: Rows, before: Any) -> None:
        note_strays(file, source, known=before)

    def note_stale(self, file: ModelFile, path: str) -> None:
        note_stale(file, path)
