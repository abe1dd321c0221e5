"""Modules of Python and JavaScript: what a row may hold, and what they need."""

import datetime
import decimal
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from export.back_ends import JavaScript, Python, node
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.families import Categorical

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=20 * i) for i in range(8)]


def rows(n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "age": rng.normal(y, 1.0).round(2),
            "job": np.array(["cook", "nurse", "pilot"])[(y + rng.integers(0, 2, n)) % 3],
            "since": pd.to_datetime([DAYS[i] for i in (y * 3 + rng.integers(0, 4, n)) % 8]),
            "code": rng.integers(0, 4, n) + y,
            "member": rng.random(n) < 0.3 + 0.4 * y,
        }
    ), np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def model():
    x, y = rows()
    return NaiveBayes(columns={"code": Categorical()}).fit(x, y)


def test_python_needs_the_standard_library_alone(model, tmp_path):
    model.export(tmp_path / "written.py")
    row = {"age": 0.4, "job": "cook", "member": True}
    (tmp_path / "run.py").write_text(
        f"import sys, json; sys.path.insert(0, {str(tmp_path)!r}); import written\n"
        f"print(json.dumps([written.predict({row}), written.predict_proba({row}), "
        "'numpy' in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "run.py")], capture_output=True, check=True
    )
    label, proba, has_numpy = json.loads(done.stdout)
    assert label == model.predict_one(row)
    assert proba == pytest.approx(model.predict_proba_one(row), abs=1e-12)
    assert not has_numpy


VALUES = {
    "age": [
        1,
        True,
        np.float32(0.5),
        np.int64(2),
        decimal.Decimal("0.25"),
        "1.5",
        " 2e0 ",
        np.nan,
        None,
    ],
    "job": ["cook", np.str_("nurse"), "never seen", None, 3, 2.5, True],
    "since": [
        DAYS[2],
        datetime.datetime(2020, 2, 3, 12, 30),
        datetime.datetime(2020, 2, 3, 12, tzinfo=datetime.UTC),
        pd.Timestamp("2020-03-01"),
        pd.NaT,
        "2020-02-10",
        "2020-02-10 12:30",
        None,
    ],
    "code": [1, 1.0, "1", np.int8(3), 1e300, 2**70, 0.1, 1e-7, 1.5e16, None],
    "member": [True, np.bool_(False), 1, 0.0, "True", None],
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
@pytest.mark.parametrize("column", VALUES)
def test_values_of_every_type_are_read_as_the_model_reads_them(model, column):
    module = Python.module(model.to_python())
    for value in VALUES[column]:
        row = {"age": 0.5, "job": "pilot", "since": DAYS[1], "code": 2, "member": False}
        row[column] = value
        expected = model.predict_proba_one(row)
        assert module["predict_proba"](row) == pytest.approx(expected, abs=1e-12), value


@pytest.mark.parametrize("value", [[1], {"a": 1}, 1j, np.datetime64("2020-01-01")])
def test_what_is_no_value_is_an_error(model, value):
    module = Python.module(model.to_python())
    with pytest.raises(ValueError, match="is no number, string, boolean, date or time"):
        module["predict"]({"age": value})


def test_refusals_name_the_column():
    model = MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"])
    module = Python.module(model.to_python(names=["u", "v"]))
    assert module["predict"]({"u": 2, "v": 0}) == "a"
    for row in ({"u": -1, "v": 0}, {"u": np.inf, "v": 0}, {"v": 0}, {"u": "many", "v": 0}):
        with pytest.raises(ValueError, match="column 'u': the model does not take"):
            module["predict"](row)
    with pytest.raises(ValueError, match="names= gives two columns one name"):
        model.to_python(names=["u", "u"])


@pytest.mark.parametrize(
    "family", [MultinomialNB, GaussianNB, CategoricalNB, BernoulliNB], ids=repr
)
def test_many_columns_are_a_few_times_the_model_file(family, tmp_path):
    rng = np.random.default_rng(0)
    model = family().fit(rng.integers(0, 4, (600, 300)), rng.integers(0, 10, 600))
    model.save(tmp_path / "model.tally")
    [*paths] = [*model.export(tmp_path / "model.py"), *model.export(tmp_path / "model.mjs")]
    size = (tmp_path / "model.tally").stat().st_size
    assert all((tmp_path / path).stat().st_size < 3 * size for path in paths)


@pytest.fixture(scope="module")
def javascript():
    found = JavaScript()
    yield found
    found.close()


CODES = [0, 1, 2.0, 1e300, 0.1, 1e-7, 1.5e16, 1e-5, 123456789.125, 2.0**63, -0.0]


@pytest.mark.filterwarnings("ignore::tallybayes.errors.TallyWarning")
def test_numbers_are_levels_by_the_same_digits(javascript):
    import pyarrow as pa

    table = pa.table({"code": [float(code) for code in CODES]})
    model = NaiveBayes(columns={"code": Categorical()}).fit(table, np.arange(len(CODES)) % 2)
    labels, proba = javascript.scored(model, table, "rows")
    assert labels == model.predict(table).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(table), rtol=0, atol=1e-12)


def test_dates_of_javascript(javascript, model, tmp_path):
    model.export(tmp_path / "model.mjs")
    (tmp_path / "run.mjs").write_text(
        'import { predictProba } from "./model.mjs";\n'
        'const dates = [new Date("2020-02-10"), "2020-02-10", "2020-02-10T00:00:00Z", '
        '"2020-02-10 00:00:00", 18302, new Date(NaN)];\n'
        "console.log(JSON.stringify(dates.map((since) => predictProba({ since }))));"
    )
    done = subprocess.run([node(), str(tmp_path / "run.mjs")], capture_output=True, check=True)
    *found, missing = json.loads(done.stdout)
    expected = [*model.predict_proba_one({"since": datetime.date(2020, 2, 10)}).values()]
    np.testing.assert_allclose(found, [expected] * 5, rtol=0, atol=1e-12)
    np.testing.assert_allclose(missing, [*model.predict_proba_one({}).values()], atol=1e-12)


def test_types_of_a_row(model):
    lines = model.to_javascript().types.splitlines()
    assert lines[0] == 'export type Label = "no" | "yes";'
    assert '  "age"?: number | null;' in lines
    assert '  "job"?: string | null;' in lines
    assert '  "since"?: Date | string | number | null;' in lines
    assert '  "member"?: boolean | string | null;' in lines
    codes = CategoricalNB().fit([[0, 1], [1, 0]], [3, 4]).to_javascript()
    assert codes.types.startswith("export type Label = 3 | 4;")
    assert '  "x0": number;' in codes.types.splitlines()


def test_labels_that_javascript_cannot_hold():
    model = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}], [2**53, 1])
    with pytest.raises(ValueError, match="the label 9007199254740992 is a whole number of 2⁵³"):
        model.to_javascript()
    assert Python.module(model.to_python())["classes"] == [1, 2**53]


ODDITIES = ["</script", "\u2028", "\x00"]
ODD = "</script>\u2028'\"\\`${x}\n\x00\ud800__proto__"


def test_nothing_of_a_stranger_is_in_the_text(tmp_path):
    model = NaiveBayes(columns={"__proto__": Categorical()})
    model.fit([{ODD: 1.0, "__proto__": ODD}, {ODD: 2.0, "__proto__": "b"}], [ODD, "b"])
    row = {ODD: 1.0, "__proto__": ODD}
    code, types = model.to_javascript()
    text = model.to_python()
    assert not any(part in own for own in (text, code, types) for part in ODDITIES)
    module = Python.module(text)
    assert module["predict"](row) == model.predict_one(row)
    javascript = tmp_path / "model.mjs"
    javascript.write_text(code, encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        'import { predictProba } from "./model.mjs";\n'
        f"console.log(JSON.stringify(predictProba(JSON.parse({json.dumps(json.dumps(row))}))));"
    )
    done = subprocess.run([node(), str(tmp_path / "run.mjs")], capture_output=True, check=True)
    expected = [*model.predict_proba_one(row).values()]
    np.testing.assert_allclose(json.loads(done.stdout), expected, rtol=0, atol=1e-12)
