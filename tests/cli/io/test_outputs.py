"""What a command writes replaces nothing that it reads, and nothing that would be lost."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tallybayes
from tallybayes.cli import show
from tallybayes.cli.app import app
from tallybayes.model_files import TableFile

ROWS = "a,y\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(40))
FIT = ("-t", "y", "--plain", "--no-estimate")

COMMANDS = {
    "fit": ("fit", "d.csv", *FIT, "-o"),
    "fit --test": ("fit", "e.csv", *FIT, "--test", "d.csv", "-o"),
    "fit --report": ("fit", "d.csv", *FIT, "-o", "new.tally", "--report"),
    "fit several": ("fit", "e.csv", "[d].csv", *FIT, "-o"),
    "count": ("count", "d.csv", "-t", "y", "-o"),
    "predict": ("predict", "m.tally", "d.csv", "-o"),
    "evaluate": ("evaluate", "m.tally", "d.csv", "--report"),
    "report": ("report", "m.tally", "d.csv", "-o"),
    "update": ("update", "m.tally", "d.csv", "-o"),
    "forget": ("forget", "m.tally", "d.csv", "-o"),
    "reweight": ("reweight", "w.tally", "d.csv", "-o"),
}
"""Commands that read d.csv, up to the name of what they write."""

MODELS = ["fit", "fit --test", "fit several", "count", "update", "forget", "reweight", "merge"]
PAGES = ["fit --report", "evaluate", "report"]
ALL = {**COMMANDS, "merge": ("merge", "m.tally", "n.tally", "-o")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data, and a plain and a weighted model of them."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("d.csv", "e.csv", "rest.csv"):
            Path(name).write_text(ROWS)
        weighted = ("-t", "y", "--no-estimate", "--parts", "1")
        for options, model in ((FIT, "m.tally"), (weighted, "w.tally")):
            words = ["fit", "d.csv", *options, "-o", model]
            assert CliRunner().invoke(app, words).exit_code == 0
        shutil.copy("m.tally", "n.tally")
    return folder


@pytest.fixture
def place(run, made):
    """A copy of the data and of the models, in the folder of the test."""
    shutil.copytree(made, ".", dirs_exist_ok=True)
    return Path.cwd()


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_written_over_an_input(run, place, command):
    link, hard = Path("link.csv"), Path("hard.csv")
    link.symlink_to("d.csv")
    os.link("d.csv", hard)
    for name in ("d.csv", f"../{place.name}/d.csv", link, hard):
        for force in ((), ("--force",)):
            line = run(*COMMANDS[command], name, *force, code=2).line
            assert f"{name} would overwrite what is read" in line
    assert Path("d.csv").read_text() == ROWS
    assert not Path("new.tally").exists()


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_nothing_but_a_change_of_it_is_written_over_a_model_that_is_read(run, place, command):
    before = Path("m.tally").read_bytes()
    assert "what is read" in run(*COMMANDS[command], "m.tally", "--force", code=2).line
    assert Path("m.tally").read_bytes() == before


def test_a_file_in_a_folder_that_is_read_is_an_input(run, place):
    for name in ("data/1.csv", "mails/spam/1.txt", "mails/ham/1.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("d.csv", name)
    words = ("report", "m.tally", "data", "-o")
    assert "what is read" in run(*words, "data/1.csv", "--force", code=2).line
    run(*words, "data/page.html")
    run(*words, "data/page.html")  # is no data
    words = ("fit", "mails", "--no-ridge", "-o", "t.tally", "--report", "mails/spam/1.txt")
    assert "what is read" in run(*words, "--force", code=2).line
    assert Path("data/1.csv").read_text() == Path("mails/spam/1.txt").read_text() == ROWS


def test_standard_input_is_an_input(process, place):
    with open("d.csv", "rb") as data:
        job = process.start("predict", "m.tally", "-", "-o", "d.csv", "--force", stdin=data)
        _, err = job.communicate()
    assert (job.returncode, b"what is read" in err) == (2, True)
    assert Path("d.csv").read_text() == ROWS


@pytest.mark.parametrize("command", ALL)
def test_another_file_is_replaced_with_force_only(run, place, command):
    for name, content in (("note.csv", b"precious"), ("other.tally", b"\x00" * 3000)):
        if command == "predict" and name.endswith("tally"):
            continue
        Path(name).write_bytes(content)
        line = run(*ALL[command], name, code=2).line
        assert f"{name} exists" in line
        assert "--force" in line
        assert Path(name).read_bytes() == content
        run(*ALL[command], name, "--force")
        assert Path(name).read_bytes() != content
    Path("empty.csv").touch()  # as mktemp makes it
    run(*ALL[command], "empty.csv", *(["--force"] if command == "fit --report" else []))


@pytest.mark.parametrize("command", ALL)
def test_what_is_made_again_needs_no_force(run, place, command):
    name = "p.csv" if command == "predict" else "out"
    run(*ALL[command], name)
    again = ("--force",) if command == "predict" else ()
    run(*ALL[command], name, *again)


@pytest.mark.parametrize(
    ("command", "change"),
    [
        *((command, "update") for command in MODELS),
        ("fit", "forget"),
        ("fit", "merge"),
        ("fit", "Python"),
    ],
)
def test_a_model_with_other_rows_than_it_was_made_with_needs_force(run, place, command, change):
    run("fit", "d.csv", *FIT, "-o", "old.tally")
    changes = {
        "update": ("update", "old.tally", "rest.csv"),
        "forget": ("forget", "old.tally", "rest.csv"),
        "merge": ("merge", "old.tally", "m.tally", "-o", "old.tally"),
    }
    if change == "Python":
        tallybayes.load("old.tally").learn_one({"a": 3}, "p").save("old.tally")
    else:
        run(*changes[change])
    before = Path("old.tally").read_bytes()
    line = run(*ALL[command], "old.tally", code=2).err
    assert "old.tally is a model that has changed since it was made" in line
    assert "--force" in line
    assert Path("old.tally").read_bytes() == before
    run(*ALL[command], "old.tally", "--force")
    run(*ALL[command], "old.tally")  # which is now as it was made


def test_rows_that_come_and_go_leave_a_model_as_it_was_made(run, place):
    run("update", "m.tally", "rest.csv")
    run("forget", "m.tally", "rest.csv")
    run("reweight", "w.tally", "d.csv")
    for name in ("m.tally", "w.tally"):
        run("fit", "d.csv", *FIT, "-o", name)


def test_models_of_text_are_kept_as_those_of_tables_are(run, tmp_path):
    rows = "".join(
        f"{['good day', 'bad mess'][i % 2]} {'abc'[i % 3]},{'yn'[i % 2]}\n" for i in range(20)
    )
    Path("t.csv").write_text("text,y\n" + rows)
    fit = ("fit", "t.csv", "-t", "y", "--column", "text=text", "-o", "t.tally")
    run(*fit)
    run(*fit)
    run("update", "t.tally", "t.csv")
    assert "changed since it was made; it holds 40 documents" in run(*fit, code=2).line
    run(*fit, "--force")


def test_a_model_that_no_command_made_or_reads_needs_force(run, place):
    tallybayes.NaiveBayes().fit([{"a": 1}, {"a": 2}], ["p", "q"]).save("python.tally")
    damaged = bytearray(Path("m.tally").read_bytes())
    damaged[-1] ^= 1
    Path("damaged.tally").write_bytes(damaged)
    for name, why in (
        ("python.tally", "Python or release wrote"),
        ("damaged.tally", "cannot read"),
    ):
        assert why in run(*COMMANDS["fit"], name, code=2).line
        run(*COMMANDS["fit"], name, "--force")


def test_two_outputs_have_two_names(run, place):
    words = ("fit", "d.csv", *FIT, "-o", "new.tally", "--report", "./new.tally", "--force")
    assert "where the model goes" in run(*words, code=2).line
    assert not Path("new.tally").exists()


@pytest.mark.parametrize(
    "fails", [(TableFile, "notes"), (show, "informative_table"), (TableFile, "report")]
)
def test_a_fit_writes_its_files_last(run, place, monkeypatch, fails):
    def fail(*_, **__):
        raise ValueError("this fails")

    monkeypatch.setattr(*fails, fail)
    words = ("fit", "d.csv", *FIT, "-o", "new.tally", "--report", "new.html")
    assert run(*words, code=1).err.endswith("this fails\n")
    assert not Path("new.tally").exists()
    assert not Path("new.html").exists()
