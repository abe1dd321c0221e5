"""One row at a time: learned, forgotten and predicted as a dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from tallybayes.engines.contract import merged_tables
from tallybayes.engines.table_score import (
    ANY,
    DATES,
    EITHER,
    IGNORED,
    NUMBERS,
    PLAIN,
    STRINGS,
    UNDECIDED,
    UNKNOWN,
    Counter,
    counted_rows,
    empty_counter,
    hold,
)
from tallybayes.errors import UnseenLevel, shown
from tallybayes.estimators.base import LIVE, LOCK, lock_of, take_place, twin_of
from tallybayes.estimators.table_base import TableClassifier
from tallybayes.explain.explanation import Explanation
from tallybayes.models.class_weights import ClassWeights, by_label
from tallybayes.models.data_warnings import warn_of_unknown_keys
from tallybayes.models.declarations import Declared, declared, names_declared
from tallybayes.models.live import Outgrown, live_score
from tallybayes.models.rows import Names, held_values
from tallybayes.models.table import TableModel
from tallybayes.schema import Schema
from tallybayes.scoring import warn_ruled_out
from tallybayes.validation import (
    is_missing_label,
    label_array,
    labels_and_codes,
    read_labels,
)

__all__ = ["RowByRow", "as_row", "row_counter"]


# ---- methods for one row at a time, with the names that river uses -------------------------------
class RowByRow(TableClassifier):
    """Base of a table classifier that learns and classifies rows as dicts. Not for direct use.

    Rows learned one by one wait in a counter of their own, ``_rows``, until the model is read.
    """

    def _fitted(self) -> TableModel:
        if "_rows" in self.__dict__:
            self._take_rows()
        model: TableModel | None = self.__dict__.get("_model")
        return super()._fitted() if model is None else model

    def _attribute(self, name: str) -> TableModel:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super()._attribute(name)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__ or "_rows" in self.__dict__

    def __copy__(self) -> Self:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super().__copy__()

    def __getstate__(self) -> Any:
        if "_rows" in self.__dict__:
            self._take_rows()
        return super().__getstate__()

    def _take_rows(self) -> None:
        """Merges the tally of the rows learned one by one into the model's."""
        with lock_of(self):
            rows = self.__dict__.get("_rows")
            if rows is None:  # another thread took them meanwhile
                return
            twin = twin_of(self)
            del twin.__dict__["_rows"]
            twin._add_rows(rows)
            take_place(twin, self)

    def _add_rows(self, rows: Any) -> None:
        """Merges the tally of a counter of rows into the model's, or begins a model with it."""
        what, seen = self.__dict__["_row_declared"]
        seen = seen.joined(rows.names)
        batch = counted_rows(rows, what.together, what.analyzers)
        if rows.holds:
            self._take_counted(batch, rows.largest(), seen, what)
            return
        if self.half_life is not None:
            batch = batch * (1.0 / self._growth(rows.rows - 1))
        if "_model" in self.__dict__:
            self._add_batch(batch, rows.rows, None, seen, what)
        else:
            self._hold(batch, seen, what, has_names=True)
        self._model.class_weight = self.__dict__["_row_class_weight"]

    def learn_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> Self:
        """Count one row.

        The row is read by the model when it is next asked for something; learning costs no reading.
        Where rows are learned, forgotten and asked in turn, what a row touches changes with it (all
        of it fades under a half-life), and families, bins and calibrations stay as chosen until a
        quarter as many rows have come or gone, or as many where there were more than 1,000; a call
        for a whole table reads and chooses everything from scratch.

        Parameters
        ----------
        x : dict
            Values by column name; a key that is lacking is a missing value, and a key that no row
            had before is a new column.
        y : label
            Of one type with the labels learned before.
        w : float, default=1.0
            Weight, from 0 on.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For a string that is not a number in a column that is declared as numbers, a level that
            is not declared, a date among other values, an infinite number, a label of another type,
            or a negative weight. Nothing of the row is counted then.
        """
        held = self.__dict__
        with held[LOCK] if LOCK in held else lock_of(self):
            try:
                as_given = held["half_life"] is None and held["class_weight"] is None
                if as_given and not held["_row_class_weight"] and LIVE not in held:
                    held["_rows"].learn(x, y, w)
                    return self
            except (KeyError, TypeError, ValueError):  # nothing of the row was counted
                pass
            if not 0.0 <= w < np.inf or is_missing_label(y):
                raise ValueError(
                    f"learn_one takes a label and a finite weight from 0 on, got y={shown(y)}, "
                    f"w={shown(w)}; forget_one takes rows away"
                )
            return self._learn_row(x, y, w)

    def _learn_row(self, x: Mapping[str, Any], y: Any, w: float) -> Self:
        rows, given = self.__dict__.get("_rows"), w
        if rows is None:
            rows = self._open_rows(x)
        live = self._live_score(rows)
        try:
            w = given * self._class_weight_to_learn().get(y, 1.0)
            weight = w * self._growth(rows.rows)
            if live is None:
                rows.learn(x, y, weight)
            else:
                self._learn_beside(live, rows, x, y, w, weight)
        except ValueError:  # read it as a table: that parses a string, or words the error
            if rows.rows or rows.holds:
                self._take_rows()
            else:
                self._close_rows()
            known = self.__sklearn_is_fitted__() and y in self.classes_.tolist()
            if given == 0.0 and known:  # the row is none, and partial_fit wants one that weighs
                return self
            return self.partial_fit([as_row(x)], [y], sample_weight=[given])
        except TypeError:  # a label that cannot be a key, or a row that is not a dict
            if not (rows.rows or rows.holds):
                self._close_rows()
            if isinstance(x, dict):
                raise
            return self._learn_row(as_row(x), y, given)
        if self.half_life is not None and rows.rows > 250.0 * self.half_life:
            self._take_rows()  # weights grow by halves that have passed: before squares overflow
        return self

    def _learn_beside(
        self, live: Any, rows: Any, x: Mapping[str, Any], y: Any, w: float, weight: float
    ) -> None:
        """Counts a row, and in the live score, which is dropped where it has no place for the row,
        and where an interrupt leaves it without the row or with a part of it.

        Raises
        ------
        TypeError, ValueError
            If the row cannot be counted; nothing was.
        """
        counted = False
        with live.lock:  # a fork waits until both have the row
            try:
                rows.learn(x, y, weight)
                counted = True
                live.learn(x, y, w)
            except Outgrown:
                self.__dict__.pop(LIVE, None)
            except BaseException as error:
                refused = isinstance(error, TypeError | ValueError)
                if refused and not counted:
                    raise
                self.__dict__.pop(LIVE, None)
                if refused:  # it would be taken for one of a row that was not counted
                    raise RuntimeError("the row was counted; its score is read again") from error
                raise

    def _live_score(self, rows: Any) -> Any:
        """The score that follows the rows, its choices made again where they are due; None where
        there is none, or where everything has to be read again."""
        live = self.__dict__.get(LIVE)
        if live is None or not live.choices_are_due:
            return live
        model: TableModel = self.__dict__["_model"]
        what, seen = self.__dict__["_row_declared"]
        try:
            tally = counted_rows(rows, what.together, what.analyzers, live.kept)
            if not rows.holds:
                pairs = model.tally.pairs
                others = [pair for pair in pairs if live.kept.isdisjoint(pair[0].names or ())]
                tally = merged_tables(model.tally.with_pairs(others), tally)
            of_others = model.with_tally(tally.held(tally.schema.classes))
            names = [name for name in seen.joined(rows.names).seen if name not in live.kept]
            of_others.seen = Names(names, seen.firm - live.kept)
            with live.lock:
                live.renew(of_others)
        except BaseException as error:
            self.__dict__.pop(LIVE, None)
            if isinstance(error, Outgrown | ValueError):
                return None
            raise
        return live

    def _class_weight_held(self) -> ClassWeights | None:
        if "_rows" in self.__dict__:
            held: ClassWeights = self.__dict__["_row_class_weight"]
            return held
        return super()._class_weight_held()

    def _growth(self, rows: int) -> float:
        """What the weight of a row is multiplied by, `rows` rows after the first pending one."""
        return 1.0 if self.half_life is None else float(2.0 ** (rows / self.half_life))

    def _open_rows(self, x: Mapping[str, Any]) -> Any:
        model = self.__dict__.get("_model")
        if model is None:
            self._validate_params()
            what = declared(self.columns)
            named = names_declared(self.columns)
            seen = Names(list(dict.fromkeys([*map(str, x), *named])), frozenset(named))
            schema, classes = None, self.classes
        else:
            seen, what, schema = model.seen, model.reading.declared, model.schema
            classes = schema.classes
        given = getattr(self, self._prior_parameter)
        if model is None and isinstance(given, Mapping):
            classes = [*given, *(() if classes is None else classes)]
        class_weight = self._class_weight_held()
        if class_weight is None:
            balanced = self.class_weight == "balanced"  # which is refused when a row is learned
            class_weight = {} if balanced else by_label(self.class_weight)
        rule = LabelRule(classes, None if given is None else len(given))
        rows = row_counter(seen.seen, schema, what, rule)
        self.__dict__["_rows"], self.__dict__["_row_declared"] = rows, (what, seen)
        self.__dict__["_row_class_weight"] = class_weight
        if model is not None and model.is_read("row_scorer"):
            # somebody asks in between: the score follows the rows
            live = live_score(model, 1.0 / self._growth(1))
            if live is not None:
                self.__dict__[LIVE] = live
        return rows

    def _close_rows(self) -> None:
        """Drops a counter without rows."""
        for name in ("_rows", "_row_declared", "_row_class_weight", LIVE):
            self.__dict__.pop(name, None)

    def forget_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> Self:
        """Remove one row; see :meth:`forget`.

        Rows that are learned and forgotten one by one change counts at once; the model is read when
        it is next asked for something. A row of weight 0 takes no count away.

        Parameters
        ----------
        x : dict
            Values by column name, as they were learned.
        y : str, number or bool
            The label it was learned with.
        w : float
            The weight it was learned with.

        Returns
        -------
        self
            The estimator itself.
        """
        if w == 0.0:
            return self._forget_weightless(y)
        with lock_of(self):
            if (model := self.__dict__.get("_model")) is not None:
                model.need_rows_to_forget()
            if self._forget_row(as_row(x), y, w):
                return self
        return self.forget([as_row(x)], [y], [w])

    def _forget_row(self, row: dict[Any, Any], y: Any, w: float) -> bool:
        """Takes a row out of a counter of all rows; whether that was possible. Otherwise nothing
        has changed, and the row has to be read as a table."""
        if not 0.0 < w < np.inf:
            return False
        rows, live = self.__dict__.get("_rows"), self.__dict__.get(LIVE)
        if opened := rows is None or not rows.holds:
            model = self._fitted()
            what = model.reading.declared
            if self.half_life is not None or model.decayed or what.together or what.analyzers:
                return False
            rows = self._open_rows(row)
            try:
                hold(rows, model.tally)
            except BaseException:  # an interrupt: it holds a part of the tally
                self._close_rows()
                raise
            if live is not None:  # it has followed the same rows
                self.__dict__[LIVE] = live
        live = self._live_score(rows)
        self.__dict__.pop(LIVE, None)
        w *= self.__dict__["_row_class_weight"].get(y, 1.0)
        try:
            forgotten = w > 0.0 and rows.forget(row, y, w)
        except (TypeError, ValueError):
            forgotten = False
        if not forgotten:
            if opened:  # it holds what the model has: nothing waits
                self._close_rows()
            return False
        if live is not None:
            with suppress(Outgrown):
                live.learn(row, y, -w)
                self.__dict__[LIVE] = live
        return True

    def _row_scorer(self) -> Any:
        return self._fitted().row_scorer

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The most probable label of one row as a dict; a key that is lacking is a missing value.

        Parameters
        ----------
        x : dict
            Values by column name.

        Returns
        -------
        label
            The most probable label.

        Raises
        ------
        ValueError
            For a string in a column of numbers, or, with ``unseen="error"``, a level that training
            did not have.
        """
        scorer = self.__dict__.get(LIVE) or self._row_scorer()
        row = as_row(x)
        if scorer is None:
            return self.predict([row]).tolist()[0]
        try:
            best = scorer.best(row)
        except KeyError as error:
            raise self._unseen_in_row(row, error) from None
        except ValueError:  # read it as a table: that parses a string, or words the error
            return self.predict([row]).tolist()[0]
        if scorer.doubtful:
            self._warn_of_row(row, scorer.found)
        if best < 0:
            warn_ruled_out(1, 1)
            best = -1 - best
        return self._model.labels[best]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """P(c | x) of one row as a dict, by label.

        Parameters
        ----------
        x : dict
            Values by column name.

        Returns
        -------
        dict
            The probability of each label.
        """
        shares = self._shares_of_row(as_row(x))
        if shares is None:
            return self._proba_by_label(x)
        return dict(zip(self._model.labels, shares, strict=True))

    def _shares_of_row(self, row: Mapping[str, Any]) -> list[float] | None:
        """P(c | x) by the counts alone; None for a row that has to be read as a table."""
        scorer = self.__dict__.get(LIVE) or self._row_scorer()
        if scorer is None:
            return None
        try:
            shares: list[float] = scorer.posterior(row)
        except KeyError as error:
            raise self._unseen_in_row(row, error) from None
        except ValueError:
            return None
        if scorer.doubtful:
            self._warn_of_row(row, scorer.found)
        if not shares:
            warn_ruled_out(1, 1)
            shares = np.exp(self._model.log_prior).tolist()
        return shares

    def _shares_of_rows(self, rows: Sequence[dict[Any, Any]]) -> list[list[float]]:
        """The values of :meth:`predict_proba_one` for each row, prepared once for all of them."""
        scorer = self.__dict__.get(LIVE) or self._row_scorer()
        found: list[list[float]] = []
        for row in rows:
            try:
                shares = [] if scorer is None else scorer.posterior(row)
            except (KeyError, ValueError):
                shares = []
            if not shares or scorer.doubtful:  # it warns, raises, or reads the row as a table
                shares = list(self.predict_proba_one(row).values())
            found.append(shares)
        return found

    def _warn_of_row(self, row: Mapping[str, Any], found: int) -> None:
        """Warns, as a table would, of a row that was scored; `found` of its keys are columns."""
        if not found and row:
            model = self._fitted()
            warn_of_unknown_keys([row], model.seen.seen, model.warned)
            return
        held = self._model  # without the rows that wait: of them it need not know
        assert isinstance(held, TableModel)
        if held.watched.may_be_odd(row, held.warned):
            self._read_rows([row])

    def _proba_by_label(self, x: Any) -> dict[Any, float]:
        """:meth:`predict_proba` of one row as a dict."""
        shares = self.predict_proba([as_row(x)])[0].tolist()
        return dict(zip(self._fitted().schema.classes.tolist(), shares, strict=True))

    def explain_one(self, row: Mapping[str, Any]) -> Explanation:
        """:meth:`explain` of one row as a dict; ``print`` it for a readable table.

        Parameters
        ----------
        row : dict
            Values by column name.

        Returns
        -------
        Explanation
            Of the one row.
        """
        return self.explain([as_row(row)])

    def _unseen_in_row(self, x: Mapping[str, Any], error: KeyError) -> UnseenLevel:
        name = error.args[0]
        value = next((v for key, v in x.items() if str(key) == name), None)
        return UnseenLevel(
            f"column {name!r} of the row holds {value!r}, which training did not have. Learn it "
            'first, or choose unseen="smooth" or "ignore".'
        )


# ---- how a dict is read, which labels are allowed, and how it is counted -------------------------
def as_row(x: Any) -> dict[Any, Any]:
    """A row as a dict: one as it is, or what another mapping or a series holds by name.

    Raises
    ------
    TypeError
        For what has no names, or has two dimensions.
    """
    if isinstance(x, dict):
        return x
    if not hasattr(x, "keys") or getattr(x, "ndim", 1) != 1:
        raise TypeError(
            f"a row is a dict of values by column, or a series with their names, got a "
            f"{type(x).__name__}: of several rows, use the methods for tables"
        )
    return dict(x)


class LabelRule:
    """Refuses a label with which waiting rows could not be merged. Asked about new labels only.

    Parameters
    ----------
    classes : array-like or None
        The classes that the model has, or declares.
    max_levels : int or None
        How many classes there may be, where their prior is given.
    """

    known: set[Any]

    def __init__(self, classes: Any, max_levels: int | None) -> None:
        self.known = set() if classes is None else set(label_array(classes).ravel().tolist())
        self.max_levels = max_levels

    def __call__(self, label: Any) -> None:
        if label in self.known:
            return
        if is_missing_label(label):
            raise ValueError(f"a row to learn has a label, got {label!r}")
        array = np.asarray([label])
        if array.ndim != 1:
            raise TypeError(f"a label is a string, a number or a boolean, got {label!r}")
        labels_and_codes(read_labels(array, 1, "learn_one"))
        other = next(iter(self.known), label)
        if isinstance(label, str) != isinstance(other, str) or array.tolist() != [label]:
            raise ValueError(f"the label {label!r} is of another type than {other!r}")
        if self.max_levels is not None and len(self.known) >= self.max_levels:
            raise ValueError(f"the label {label!r} has no place in the class prior that is given")
        self.known.add(label)


def row_counter(
    names: list[str], schema: Schema | None, what: Declared, rule: LabelRule
) -> Counter:
    """An empty counter of rows with these columns."""
    held = {} if schema is None else held_values(schema)
    holds, dates = [], []
    correlated = what.correlated
    for name in names:
        if what.is_text(name):
            dates.append(ANY)
        elif name in correlated:
            dates.append(PLAIN)
        elif name in held:
            dates.append(DATES if held[name].dates else PLAIN)
        else:
            dates.append(UNKNOWN)
        if name in what.columns_left_out:
            holds.append(IGNORED)
        elif what.is_text(name):
            holds.append(STRINGS)
        elif what.reads.get(name) == "numbers":
            holds.append(NUMBERS)
        else:  # a type as a key of columns= has to see the first value
            holds.append(UNDECIDED if what.by_type and name not in held else EITHER)
    least = [what.least(name) for name in names]
    others = UNDECIDED if what.by_type else EITHER
    counter = empty_counter(names, holds, least, dates, others, rule)
    for j, name in enumerate(names):
        max_levels = what.most_levels(name)
        if max_levels is not None:
            levels = what.levels(name)
            if levels is None:
                levels = _levels_of(schema, name)
            counter.declare(j, levels, max_levels)
        elif name in held and held[name].numbers and not held[name].strings:
            counter.declare(j, [], 0)  # its first string is read as a table: it may be infinite
    at = {name: j for j, name in enumerate(names)}
    for members, kind in what.together.items():
        if kind == "cross":
            counter.add_group([at[name] for name in members])
    return counter


def _levels_of(schema: Schema | None, name: str) -> list[str]:
    """The levels that a column has so far."""
    for group in () if schema is None else schema.groups:
        if group.key == ((name,), "levels") and group.levels is not None:
            return group.levels[0].tolist()  # type: ignore[no-any-return]
    return []
