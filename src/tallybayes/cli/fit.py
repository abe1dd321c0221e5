"""``tallybayes fit``: train on a file, and estimate how good the model is on new rows."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tallybayes.cli import options
from tallybayes.cli.messages import USAGE, Failure
from tallybayes.cli.options import class_weight_of, column_families_of, columns_of
from tallybayes.cli.quick_imports import import_estimators
from tallybayes.cli.reading import TEXT_FORMATS, Reading, reads_training
from tallybayes.errors import listed, suggestion
from tallybayes.sources import is_remote, is_url

if TYPE_CHECKING:
    from tallybayes.cli.files import Output

__all__ = ["fit"]

PLAIN = "Plain naive Bayes (with --plain)"
TEXT = "Models of text"
LABELS = "Many labels a row, and trees"
ANALYZERS = ("auto", "word", "char", "char_wb", "cjk")


@dataclass(frozen=True)
class FitOptions:
    """The options of the command, and their meaning for models of tables and of text."""

    train: Annotated[
        list[str],
        typer.Argument(
            metavar="TRAIN…",
            help="Labelled rows; - is standard input. Or documents: a folder with a folder for "
            "each class, a mailbox (mbox) for each class, or one with the label in a header.",
        ),
    ]
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            autocompletion=columns_of,
            help="The label's column (required for rows), or its header in a mailbox.",
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="The model file (default: TRAIN with .tally as suffix).",
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FAMILY",
            autocompletion=column_families_of,
            help="How to model a column: categorical, none to leave it out, or text, the documents "
            "of a model of text. With --plain also "
            "other families, such as gaussian or negative-binomial, with parameters as in "
            "'age=binned(bins=16)'; an unknown name lists them. May be repeated.",
        ),
    ] = None
    interactions: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto",
            help="The largest number of column pairs; auto chooses it by leave-one-out.",
        ),
    ] = "auto"
    parts: options.Parts = None
    group: options.Group = None
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            metavar="",
            help="Naive Bayes without weights and pairs.",
        ),
    ] = False
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            rich_help_panel=PLAIN,
            help="Pseudo-count added to each level and bin (default: 1); auto chooses it by "
            "leave-one-out.",
        ),
    ] = None
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="temperature|isotonic",
            rich_help_panel=PLAIN,
            help="Calibrate the probabilities on leave-one-out predictions.",
        ),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="ignore|level",
            rich_help_panel=PLAIN,
            help="Ignore missing values (the default), or treat them as a level.",
        ),
    ] = None
    labels_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            rich_help_panel=LABELS,
            help="What stands between the labels of a row in the target column, as in 'a;b'; an "
            "empty cell is a row without a label.",
        ),
    ] = None
    hierarchy_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            rich_help_panel=LABELS,
            help="What stands between the names of a class in a tree, as in 'animals/cats'.",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="balanced|LABEL=WEIGHT",
            help="Weigh rows by their label: balanced gives the classes equal weight; a label that "
            "is not named weighs 1. May be repeated.",
        ),
    ] = None
    ridge: Annotated[
        bool | None,
        typer.Option(
            "--ridge/--no-ridge",
            metavar="",
            rich_help_panel=TEXT,
            help="Whether to learn a ridge on top of the counts (default: yes); without one, a "
            "model that is updated stays as good as new.",
            show_default=False,
        ),
    ] = None
    analyzer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=TEXT,
            help="What documents are split into: word, char, char_wb (characters within words) or "
            "cjk; by default word, or char for Chinese, Japanese and Korean.",
        ),
    ] = None
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="SHORTEST-LONGEST",
            rich_help_panel=TEXT,
            help="How many of them a term has (default: 1-2).",
        ),
    ] = None
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            metavar="NUMBER",
            min=1,
            max=2**31 - 1,
            rich_help_panel=TEXT,
            help="Hash the terms into so many buckets, which bounds memory and drops their names.",
        ),
    ] = None
    max_terms: Annotated[
        int | None,
        typer.Option(
            "--max-terms",
            metavar="NUMBER",
            min=2,
            rich_help_panel=TEXT,
            help="Keep at most so many terms: when documents bring more, also with update, the "
            "rarest are dropped until half as many are left.",
        ),
    ] = None
    unlabelled: Annotated[
        str | None,
        typer.Option(
            metavar="WEIGHT|auto",
            rich_help_panel=TEXT,
            help="Learn from documents without a label, too: those with an empty label, or files "
            "beside the folders of the classes. Each counts as this much of a labelled one, from "
            "0 to 1; auto chooses it by labelled documents that are held out.",
        ),
    ] = None
    half_life: Annotated[
        float | None,
        typer.Option(
            "--half-life",
            metavar="NUMBER",
            rich_help_panel=TEXT,
            help="Let documents fade: after so many later ones, in the order in which they are "
            "read, a document has half its weight; here and in update.",
        ),
    ] = None
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Measure the model on these rows instead of on those left out."
        ),
    ] = None
    estimate: Annotated[
        bool,
        typer.Option(metavar="", help="Without --test, measure on rows held out of the whole fit."),
    ] = True
    page: options.Page = None
    force: options.Force = False
    json: options.Json = False

    @property
    def judged_on(self) -> list[str]:
        """The rows that a page shows the model on."""
        return self.train if self.test is None else [self.test]

    @property
    def model_path(self) -> str:
        """Where the model goes.

        Raises
        ------
        Failure
            With the code for usage, where it needs a name.
        """
        if self.output is not None:
            return self.output
        if self.train == ["-"]:
            raise Failure("from standard input the model needs a name: add -o MODEL", USAGE)
        if len(self.train) > 1:
            last = self.train[-1]
            elsewhere = is_url(last) or is_remote(last) or has_magic(last)
            if self.target is None and not elsewhere and not Path(last).exists():
                raise Failure(
                    f"{last}: No such file or directory. If it is the label's column, write "
                    f"--target {last!r}",
                    USAGE,
                )
            raise Failure("from several files the model needs a name: add -o MODEL", USAGE)
        path = Path(self.train[0])
        if is_url(self.train[0]):
            raise Failure("from a database the model needs a name: add -o MODEL", USAGE)
        if is_remote(self.train[0]):
            raise Failure("from a URL the model needs a name: add -o MODEL", USAGE)
        if has_magic(self.train[0]) and not path.exists():
            raise Failure("from a pattern the model needs a name: add -o MODEL", USAGE)
        if path.is_dir():
            name = path.name or path.resolve().name  # of "." as well
            return str(path.parent / f"{name}.tally")
        return str(Path(self.train[0].removesuffix(".gz")).with_suffix(".tally"))

    @property
    def labels_option(self) -> str | None:
        """The option by which a row has labels, or a class is in a tree; None without one."""
        if self.labels_separator is not None:
            return "--labels-separator"
        return None if self.hierarchy_separator is None else "--hierarchy-separator"

    def of_labels(self) -> FitOptions:
        """These options with --plain, for labels.

        Raises
        ------
        Failure
            With the code for usage, for options that labels do not have.
        """
        option = self.labels_option
        if self.labels_separator is not None and self.hierarchy_separator is not None:
            raise Failure(f"{option} and --hierarchy-separator: give one of the two", USAGE)
        if "" in (self.labels_separator, self.hierarchy_separator):
            raise Failure(f"{option} is what stands between labels: give it a character", USAGE)
        for name, value in (
            ("--alpha auto", self.alpha == "auto"),
            ("--calibrate", self.calibrate),
            ("--class-weight", self.class_weight),
            ("--group", self.group),
            ("--test", self.test),
            ("--report", self.page),
        ):
            if value:
                raise Failure(
                    f"{name} is for one class a row, and {option} counts labels: omit it, or use "
                    "MultiLabel or Hierarchy from Python",
                    USAGE,
                )
        return replace(self, plain=True)

    def table_settings(self) -> dict[str, Any]:
        """The parameters of a model of tables.

        Raises
        ------
        Failure
            With the code for usage, for options that are wrong or of models of text.
        """
        self._need_no_text()
        if not self.plain:
            _need_plain(alpha=self.alpha, calibrate=self.calibrate, missing=self.missing)
        elif self.interactions != "auto" or self.parts is not None:
            option = "--interactions" if self.interactions != "auto" else "--parts"
            raise Failure(f"{option} is for weighted models: omit --plain", USAGE)
        missing = self.missing or "ignore"
        if missing not in ("ignore", "level"):
            raise Failure(f"--missing {missing!r} is neither ignore nor level", USAGE)
        if self.calibrate not in (None, "temperature", "isotonic"):
            raise Failure(
                f"--calibrate {self.calibrate!r} is neither temperature nor isotonic", USAGE
            )
        if self.plain:
            rule = "a number from 0 on"
            alpha = options.share_or_auto(
                "--alpha", self.alpha or "1", rule, lambda a: 0.0 <= a < math.inf
            )
            return {"alpha": alpha, "missing": missing, "calibrate": self.calibrate}
        return {
            "interactions": options.number_or_auto("--interactions", self.interactions),
            "parts": options.number_or_auto("--parts", self.parts or "auto", minimum=1),
        }

    def text_settings(self) -> dict[str, Any]:
        """The parameters of a model of text.

        Raises
        ------
        Failure
            With the code for usage, for options that are wrong or of models of tables.
        """
        self._need_no_table()
        if self.half_life is not None and not 0.0 < self.half_life < float("inf"):
            raise Failure(f"--half-life {self.half_life:g} is not a number above 0", USAGE)
        if self.half_life is not None and self.unlabelled is not None:
            raise Failure(
                "--half-life weighs documents by their age, and --unlabelled all of them alike: "
                "give one of the two",
                USAGE,
            )
        analyzer = "auto" if self.analyzer is None else self.analyzer
        if analyzer not in ANALYZERS:
            raise Failure(
                f"--analyzer {analyzer!r} is not one of {listed(ANALYZERS)}."
                f"{suggestion(analyzer, ANALYZERS)}",
                USAGE,
            )
        unlabelled: float | str | None = None
        if self.unlabelled is not None:
            rule = "a weight above 0, at most 1,"
            unlabelled = options.share_or_auto(
                "--unlabelled", self.unlabelled, rule, lambda w: 0.0 < w <= 1.0
            )
        return {
            "ridge": self.ridge is not False,
            "analyzer": analyzer,
            "ngram_range": _ngrams(self.ngrams or "1-2"),
            "n_features": self.n_features,
            "max_terms": self.max_terms,
            "unlabelled": unlabelled,
            "half_life": self.half_life,
        }

    def _need_no_text(self) -> None:
        for option, value in (
            ("--ridge" if self.ridge else "--no-ridge", self.ridge),
            ("--analyzer", self.analyzer),
            ("--ngrams", self.ngrams),
            ("--n-features", self.n_features),
            ("--max-terms", self.max_terms),
            ("--unlabelled", self.unlabelled),
            ("--half-life", self.half_life),
        ):
            if value is not None:
                raise Failure(
                    f"{option} is for models of text, and this is one of tables: omit it, or "
                    "declare the column of documents, as in --column body=text",
                    USAGE,
                )

    def _need_no_table(self) -> None:
        if self.plain:
            raise Failure(
                "--plain is for rows: for a model of a folder or mailbox that stays as good as new "
                "under update and forget, --no-ridge",
                USAGE,
            )
        for option, value in (
            ("--interactions", None if self.interactions == "auto" else self.interactions),
            ("--parts", self.parts),
            ("--alpha", self.alpha),
            ("--calibrate", self.calibrate),
            ("--missing", self.missing),
            ("--class-weight", self.class_weight),
        ):
            if value is not None:
                raise Failure(
                    f"{option} is for models of tables, and this is one of text: omit it", USAGE
                )


def _ngrams(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    shortest, longest = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= shortest <= longest:
        raise Failure(
            f"--ngrams {text!r} is not a range from 1 on, such as 1-2, with the shorter length "
            "first",
            USAGE,
        )
    return shortest, longest


def _need_plain(**given: str | None) -> None:
    """Raises where an option sets what a weighted model chooses by itself."""
    for name, value in given.items():
        if value is not None:
            what = (
                "takes missing values as evidence"
                if name == "missing"
                else "chooses that by itself"
            )
            raise Failure(f"--{name} is for --plain: a weighted model {what}", USAGE)


@reads_training
def fit(given: FitOptions, reading: Reading) -> None:
    """Train a model on a file and measure it.

    The model is naive Bayes with weighted columns, and with pairs of columns where they help. Of
    documents it is one of text, with weighted terms.

    Examples:
        tallybayes fit train.csv --target sold
        tallybayes fit train.csv -t sold --column id=none -o sold.tally --report sold.html
        tallybayes fit counts.csv -t survived --weight n --plain
        tallybayes fit mails/ -o spam.tally
        tallybayes fit tickets.csv -t topics --labels-separator ';'
    """
    if given.unlabelled is not None and reading.skip_unlabelled:
        raise Failure(
            "--unlabelled learns from documents without a label, and --skip-unlabelled leaves them "
            "out: give one of the two",
            USAGE,
        )
    if "-" in given.train and given.test == "-":
        raise Failure("standard input cannot be both TRAIN and --test: give a file", USAGE)
    if given.labels_option is not None:
        given = given.of_labels()
    kinds = {_kind_of(path, given.target, reading.format) for path in given.train}
    if kinds & {"folder", "mailbox"} or reading.format in TEXT_FORMATS:
        if given.labels_option is not None:
            raise Failure(
                f"{given.labels_option} is for rows, and this is a folder or a mailbox: use "
                "MultiLabel or Hierarchy from Python",
                USAGE,
            )
        _fit_documents(given, reading)
    else:
        _fit_rows(given, reading)


def _kind_of(path: str, target: str | None, format: str | None) -> str:
    """What an input is; a folder is one of rows where a column is named and it holds data."""
    from tallybayes.sources import kind_of_input

    kind = kind_of_input(path, format)
    if kind == "folder" and target is not None:
        from tallybayes.sources import holds_data  # which imports Arrow

        return "rows" if holds_data(path) else kind
    return kind


class Outputs(NamedTuple):
    """The files that a fit writes."""

    model: Output
    page: Output | None


def _outputs(given: FitOptions) -> Outputs:
    """Where the files go; raises for data that is not there, and where a file cannot be written."""
    from tallybayes.cli.files import Output, page_beside
    from tallybayes.sources import need_data

    reads = [*given.train, *([given.test] if given.test else [])]
    path = given.model_path
    page = None
    if given.page is not None:
        page = page_beside(given.page, given.judged_on, reads, given.force)
    for data in reads:
        need_data(data)
    model = Output(path, "model", reads, force=given.force)
    if page is not None:
        page.need_apart(model)
    return Outputs(model, page)


def _fit_documents(given: FitOptions, reading: Reading) -> None:
    """Trains on a folder or on mailboxes."""
    settings = given.text_settings()
    if given.column:
        raise Failure("--column is for rows, and this is a folder or a mailbox: omit it", USAGE)
    outputs = _outputs(given)
    source = reading.open_documents(given.train, target=given.target)
    if given.target is not None and not source.takes_target:
        raise Failure(
            f"--target is for rows and mailboxes, and {source.name} has no files of rows (Parquet, "
            "CSV, JSON lines, Arrow): the classes of a folder of documents are its folders",
            USAGE,
        )
    _fit_text(given, reading, outputs, source, settings)


def _fit_text(
    given: FitOptions,
    reading: Reading,
    outputs: Outputs,
    source: Any,
    settings: dict[str, Any],
    column: str | None = None,
) -> None:
    """Trains a model of text."""
    import_estimators()
    from tallybayes.cli.console import note, progress
    from tallybayes.cli.files import note_unlabelled
    from tallybayes.cli.show_text import note_of_unlabelled
    from tallybayes.model_files import DocumentFile

    outputs.model.need_as_made()
    source.keep_group(given.group)
    with progress():
        file = DocumentFile.fit(source, given.target, column, flatten=reading.flatten, **settings)
    if source.keep_unlabelled:
        note(note_of_unlabelled(source, file.model))
    else:
        note_unlabelled(source, file.unit)
    _finish(given, reading, outputs, file, source)


def _fit_rows(given: FitOptions, reading: Reading) -> None:
    """Trains on rows: on a column of documents, or on a table."""
    families: dict[str, Any] = {}
    text_columns: list[str] = []
    if given.column:
        from tallybayes.cli.families import column_families, is_text

        families = column_families(given.column)
        text_columns = [name for name, family in families.items() if is_text(family)]
    settings = {} if text_columns else given.table_settings()
    weights = None if text_columns else class_weight_of(given.class_weight)
    if not given.plain:
        _need_levels(given.column or [], families)
    outputs = _outputs(given)
    from tallybayes.model_files import need_columns
    from tallybayes.sources import read_once

    target, group = given.target, given.group

    def need(rows: Any) -> None:
        if target is None:
            raise Failure(
                "Missing option '--target' / '-t': the label's column. The columns of "
                f"{rows.name} are {listed(rows.header)}",
                USAGE,
            )
        need_columns(rows, target, families, reading.weight, group)

    left_out = [name for name, family in families.items() if family is None and name != group]
    source = reading.open(given.train, left_out=left_out, need=need)
    # text with parameters is the family of tables
    parameters = re.compile(r"=\s*text\s*\(")
    table = given.plain or any(map(parameters.search, given.column or []))
    beside = [name for name, family in families.items() if family is None or name == group]
    beside += [] if group is None else [group]
    if text_columns and not table and {*source.header} <= {target, text_columns[0], *beside}:
        settings = given.text_settings()
        documents = reading.open_column(given.train, source, text_columns[0], target, beside)
        _fit_text(given, reading, outputs, documents, settings, text_columns[0])
        return
    if text_columns:  # a column of text beside others is one family among them
        settings, weights = given.table_settings(), class_weight_of(given.class_weight)
    if given.test is not None and not read_once(given.test):
        reading.open([given.test])
    import_estimators()
    from tallybayes.cli.console import progress
    from tallybayes.model_files import TableFile

    outputs.model.need_as_made()
    if given.labels_option is not None:
        _fit_labels(given, outputs, source, families, settings)
        return
    with progress():
        file = TableFile.fit(
            source,
            str(target),
            families,
            plain=given.plain,
            class_weight=weights,
            group=group,
            **settings,
        )
    _finish(given, reading, outputs, file, source)


def _fit_labels(
    given: FitOptions,
    outputs: Outputs,
    source: Any,
    families: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    """Trains on rows of many labels, or of classes in a tree, and saves the model."""
    from tallybayes import Hierarchy, MultiLabel, NaiveBayes
    from tallybayes.cli.console import document, line, number_of, progress, say
    from tallybayes.model_files import LabelFile

    inside = NaiveBayes(families or "auto", **settings)
    labels: Any = MultiLabel(inside, separator=given.labels_separator)
    if given.hierarchy_separator is not None:
        labels = Hierarchy(inside, separator=given.hierarchy_separator)
    with progress():
        file = LabelFile.fit_labels(source, str(given.target), families, labels)
    with outputs.model.alone() as save:
        save(file)
    path = outputs.model.path
    if given.json:
        of_labels = file.rows_of_classes
        document("fit", {"model": path, "rows": file.rows, "labels": of_labels})
        return
    counted = f"{number_of(file.rows, 'row')} of {number_of(len(file.classes), 'label')} counted"
    say(line(f"{counted}; the model is in {path}"))


def _finish(given: FitOptions, reading: Reading, outputs: Outputs, file: Any, source: Any) -> None:
    """Measures, saves, and reports. Files are written when nothing else can fail."""
    from tallybayes.cli.console import document, progress, say
    from tallybayes.cli.files import note_unlabelled, saved_page
    from tallybayes.cli.show import notes_of_fit, shown_of_fit
    from tallybayes.model_files import estimate, evaluate

    path, page = outputs.model.path, outputs.page
    is_text = file.unit == "document"
    figures = None
    with progress():
        if given.test is not None:
            test = reading.open_for(file, [given.test])
            of = "test" if is_text else "test file"
            figures = evaluate(file, test, name=f"{of} {given.test}")
            note_unlabelled(test, file.unit)
        elif given.estimate:
            figures = estimate(file)
    if not is_text:
        notes_of_fit(file, source, figures, given.json)
    report = None
    if page is not None:
        with progress():
            judged = reading.open_for(file, given.judged_on)
            learned = given.test is None
            about = {"model": path, "data": ", ".join(given.judged_on)}
            group = given.group if learned else None
            report = file.report(judged, about=about, learned=learned, group=group)
    content, shown = shown_of_fit(file, path, source, figures)
    with outputs.model.alone() as save:
        save(file)
    if report is not None and page is not None:
        report.save(page.path)
        shown.append(saved_page(report, page.path, path, file.unit))
    if given.json:
        document("fit", content)
    else:
        say(*shown)


def _need_levels(column: list[str], families: dict[str, Any]) -> None:
    """Raises where a column is declared as something that a weighted model does not read."""
    if not families:
        return
    from tallybayes.families import Bernoulli, Categorical

    for text, (name, family) in zip(column, families.items(), strict=True):
        plain = family in (None, Categorical(levels=getattr(family, "levels", None)), Bernoulli())
        if not plain and getattr(family, "reads", "") != "documents":
            raise Failure(
                f"--column {text!r} is for --plain: a weighted model reads numbers as cells and "
                f"smooths levels as it sees fit; it takes {name}=categorical, {name}=text "
                f"and {name}=none",
                USAGE,
            )
