"""--column and --decimal: families with parameters, columns left out, dates, spellings."""

import numpy as np
import pytest

from tallybayes import load
from tallybayes.cli.families import column_families
from tallybayes.cli.messages import Failure
from tallybayes.families import Bernoulli, Binned, Categorical, Gaussian, Poisson, Smooth


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("age=gaussian", Gaussian()),
        ("age=Gaussian( ddof = 1, relative_to=feature )", Gaussian(ddof=1, relative_to="feature")),
        ("age=binned(bins=16)", Binned(bins=16)),
        ("age=binned(bins='auto', cuts=supervised,)", Binned(cuts="supervised")),
        ("age=smooth(width=None,strength=4.5)", Smooth(strength=4.5)),
        ("age=poisson()", Poisson()),
        ("age=categorical", Categorical()),
        ("age=categorical(alpha=2)", Categorical(alpha=2)),
        ("age=none", None),
    ],
)
def test_families(text, family):
    assert column_families([text]) == {"age": family}


def test_names_may_have_any_character():
    given = ["a=b=poisson", "收入(月)=binned(bins=4)", "x y=bernoulli(alpha=3)"]
    found = column_families(given)
    assert list(found) == ["a=b", "收入(月)", "x y"]
    assert isinstance(found["x y"], Bernoulli)
    assert found["x y"].alpha == 3


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("age", ["NAME=FAMILY", "gaussian, categorical, bernoulli, poisson,"]),
        ("=gaussian", ["NAME=FAMILY"]),
        ("age=gausian", ["Did you mean 'gaussian'?"]),
        (
            "age=binned(bin=16)",
            ["no parameter 'bin'", "Did you mean 'bins'?"],
        ),
        ("age=binned(16)", ["name=value", "bins='auto'"]),
        ("age=binned(bins=16", ["NAME=FAMILY(parameter=value)"]),
        ("age=binned(bins=)", ["name=value"]),
        ("age=binned(bins=many)", ["bins is a whole number or 'auto', not 'many'"]),
        ("age=binned(bins=1.5)", ["not 1.5"]),
        ("age=binned(bins=True)", ["not True"]),
        ("age=binned(bins=0)", ["bins is at least 1, not 0"]),
        ("age=binned(bins=-4)", ["bins is at least 1, not -4"]),
        ("age=binned(bins=2,bins=3)", ["name=value"]),
        ("age=binned(**{'bins': 2})", ["name=value"]),
        ("age=gaussian(ddof=exit(3))", ["name=value", "ddof=0.0"]),
        ("age=gaussian(relative_to=all)", ["'largest' or 'feature', not 'all'"]),
        ("age=none(x=1)", ["none has no parameters"]),
    ],
)
def test_what_is_no_family(text, parts):
    with pytest.raises(Failure) as caught:
        column_families([text])
    assert caught.value.code == 2
    for part in parts:
        assert part in str(caught.value)


def test_one_column_twice():
    with pytest.raises(Failure, match="'a' twice"):
        column_families(["a=gaussian", "a=poisson"])


def test_parameters_reach_the_model(run, files):
    words = ("--column", "age=binned(bins=5)", "--column", "pay=gaussian(ddof=1)")
    run("fit", "--plain", "comma.csv", "--target", "buys", *words, "--no-estimate")
    by_name = {c["column"]: c for c in run("show", "comma.tally", "--json").document["columns"]}
    assert by_name["age"]["family"] == "binned, 5 bins"
    assert load("comma.tally").columns["pay"] == Gaussian(ddof=1)


def test_a_column_that_is_left_out_is_not_asked_for(run, tmp_path):
    lines = ["id,x,y", *(f"r{i},{i},{'ab'[i % 2]}" for i in range(9))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    run("fit", "t.csv", "-t", "y", "--column", "id=none", "--no-estimate")
    (tmp_path / "new.csv").write_text("x\n1\n2\n")
    assert run("predict", "t.tally", "new.csv").out.count("\n") == 3
    (tmp_path / "more.csv").write_text("x,y\n1,a\n")
    for command in ("evaluate", "update", "forget"):
        run(command, "t.tally", "more.csv")
    run("explain", "t.tally", "new.csv", "--row", 0)


def test_a_date_with_a_family_for_numbers(run, files):
    words = (
        "fit",
        "--plain",
        "comma.csv",
        "--target",
        "buys",
        "--column",
        "since=gaussian",
        "--json",
    )
    found = {c["column"]: c for c in run(*words).document["columns"]}
    assert (found["since"]["holds"], found["since"]["family"]) == ("dates", "Gaussian")
    assert run("predict", "comma.tally", "comma.csv", "--proba").out == (
        run("predict", "comma.tally", "table.parquet", "--proba").out
    )


def test_a_family_for_numbers_waits_for_the_first_value(run, tmp_path):
    lines = ["late,y", *(f",{'ab'[i % 2]}" for i in range(200)), "2020-01-01,a", "2021-01-01,b"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = (
        "fit",
        "--plain",
        "t.csv",
        "-t",
        "y",
        "--column",
        "late=binned",
        "--block",
        200,
        "--json",
    )
    assert run(*words).document["columns"][0]["holds"] == "dates"


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_number_among_texts_has_one_spelling(run, tmp_path, block):
    cells = ["3.0", "3", "3.00", "2.50", "2.5", "x", "007", "7", "-0.0", "1e3", "true", "TRUE"]
    cells += ["x"] * 8  # so that the column is mainly strings
    lines = ["c,y", *(f"{c},{'ab'[i % 2]}" for i, c in enumerate(cells * 9))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    run("fit", "--plain", "t.csv", "-t", "y", "--no-estimate", "--block", block)
    (table,) = run("show", "t.tally", "--tables", "--json").document["tables"]
    assert set(table["rows"]) == {"3", "2.5", "x", "7", "0", "1000", "True"}
    run("fit", "--plain", "t.csv", "-t", "y", "--no-estimate", "--column", "c=categorical")
    (table,) = run("show", "t.tally", "--tables", "--json").document["tables"]
    assert set(table["rows"]) == {"3", "2.5", "x", "007", "7", "0", "1e3", "True"}


def decimal_commas(tmp_path, name="t.csv"):
    rng = np.random.default_rng(3)
    rows = [(x + (i % 2), i % 2) for i, x in enumerate(rng.normal(size=60).tolist())]
    (tmp_path / "point.csv").write_text("x,y\n" + "".join(f"{x!r},{'ab'[y]}\n" for x, y in rows))
    text = "x;y\n" + "".join(f"{x!r};{'ab'[y]}\n".replace(".", ",") for x, y in rows)
    (tmp_path / name).write_text(text)
    return name


def test_decimal_commas(run, tmp_path):
    name = decimal_commas(tmp_path)
    assert "add --decimal ," in run("fit", "--plain", name, "-t", "y", "--no-estimate").err
    assert (
        "decimal"
        not in run("fit", "--plain", name, "-t", "y", "--decimal", ",", "--no-estimate").err
    )
    run("fit", "--plain", "point.csv", "-t", "y", "--no-estimate")
    expected = run("predict", "point.tally", "point.csv", "--proba").out
    # a model knows how its data was written, and an option overrides
    assert run("predict", "t.tally", name, "--proba").out == expected
    assert run("predict", "t.tally", "point.csv", "--decimal", ".", "--proba").out == expected
    line = run("predict", "t.tally", "point.csv", code=1).line
    assert "line 2" in line
    assert "not a number" in line
    assert (
        "cannot be distinguished"
        in run("predict", "t.tally", name, "--decimal", ",", "--delimiter", ",", code=2).line
    )
    assert "neither . nor ," in run("predict", "t.tally", name, "--decimal", "x", code=2).line


def test_what_python_saves_again_keeps_how_data_is_read(run, files, tmp_path):
    run("fit", decimal_commas(tmp_path), "-t", "y", "--decimal", ",", "--no-estimate")
    load("t.tally").partial_fit([{"x": 1.0}], ["a"]).save("t.tally")
    found = run("update", "t.tally", "t.csv", "--json").document
    assert (found["rows_before"], found["rows_after"]) == (61, 121)


def test_merging_learns_what_a_column_without_values_holds(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("when,x,y\n,1,a\n,2,b\n")
    (tmp_path / "dates.csv").write_text("when,x,y\n2020-01-01,1,a\n2021-01-01,2,b\n")
    for options in ((), ("--column", "when=gaussian")):
        for name in ("gaps", "dates"):
            run("fit", "--plain", f"{name}.csv", "-t", "y", "--no-estimate", *options)
        for pair in (("gaps.tally", "dates.tally"), ("dates.tally", "gaps.tally")):
            run("merge", *pair, "-o", "both.tally")
            assert run("show", "both.tally", "--json").document["columns"][0]["holds"] == "dates"
            run("predict", "both.tally", "dates.csv")


def test_dates_and_numbers_do_not_merge(run, tmp_path):
    (tmp_path / "n.csv").write_text("when,y\n3,a\n4,b\n")
    (tmp_path / "d.csv").write_text("when,y\n2020-01-01,a\n2021-01-01,b\n")
    for name in ("n", "d"):
        run("fit", f"{name}.csv", "-t", "y", "--no-estimate")
    line = run("merge", "n.tally", "d.tally", "-o", "x.tally", code=1).line
    assert "holds numbers in n.tally and dates in d.tally" in line
