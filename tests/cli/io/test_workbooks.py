"""Workbooks at the command line."""

from __future__ import annotations

import openpyxl


def test_a_workbook_goes_through_the_commands(run, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active["A1"] = "see the other sheet"
    sheet = book.create_sheet("sales")
    lines = ["age,town,y"]
    sheet.append(["age", "town", "y"])
    for i in range(40):
        sheet.append([i % 9, "ab"[i % 2], "uv"[i % 3 == 0]])
        lines.append(f"{i % 9},{'ab'[i % 2]},{'uv'[i % 3 == 0]}")
    book.save(tmp_path / "t.xlsx")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    given = ("-t", "y", "--plain", "--no-estimate")
    assert "has the sheets 'notes', 'sales'" in run("fit", "t.xlsx", *given, code=1).line
    run("fit", "t.xlsx", "--sheet", "sales", *given)
    run("fit", "t.csv", *given, "-o", "c.tally")
    expected = run("predict", "c.tally", "t.csv", "--proba").out
    assert run("predict", "t.tally", "t.xlsx", "--sheet", "sales", "--proba").out == expected
    stdin = (tmp_path / "t.xlsx").read_bytes()
    assert (
        run("predict", "t.tally", "-", "--sheet", "sales", "--proba", stdin=stdin).out == expected
    )
    found = run("doctor", "t.xlsx", "--sheet", "sales", "-t", "y", "--json").document
    assert "fit t.xlsx --target y --sheet sales" in found["command"]
    assert "tallybayes.files('t.xlsx', sheet='sales')" in found["python"]
    assert found["sound"]
    assert (
        "suffix gives the format" in run("predict", "t.tally", "t.csv", "-o", "p.xlsx", code=2).err
    )
