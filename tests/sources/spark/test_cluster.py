"""A cluster that repeats tasks, runs some twice, or loses a worker in the middle of a count gives
the tally of one that does not."""

from collections import Counter
from pathlib import Path

import pytest

from servers.spark import need_java, on_spark
from sources.spark.cluster import end, running, wait_for

pytestmark = on_spark

PATHS = ["rows", "files"]  # that Spark hands to Python, and that tasks read themselves


def ran(notes):
    """How often each task has counted, by its number."""
    return Counter(int(note.name.split("-")[1]) for note in notes.glob("task-*"))


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """What one driver says of all its counts, and the folder with the notes of their tasks. It
    loses a worker with each path."""
    need_java()
    folder = tmp_path_factory.mktemp("cluster")
    with running(folder) as cluster:
        names = ["first", "second", "third"]
        workers = {
            name: cluster.add_worker(name, f"127.0.0.{i + 1}") for i, name in enumerate(names)
        }
        script = Path(__file__).parent / "counted_again.py"
        driver, log = cluster.run(script, str(folder))
        for path, lost in zip(PATHS, ["third", "second"], strict=True):
            notes = folder / f"{path} killed"

            def places(notes=notes):
                """The workers on which tasks wait, having counted."""
                return {
                    Path(text).relative_to(folder).parts[0]
                    for note in notes.glob("task-*")
                    if int(note.name.split("-")[1]) >= 2 and (text := note.read_text())
                }

            wait_for(lambda names=names, places=places: places() == set(names), driver, log)
            end(workers[lost])  # what it has counted has not arrived
            names = [name for name in names if name != lost]
            (notes / "go").touch()
        assert driver.wait(120) == 0, log.read_text()[-3000:]
        yield log.read_text(), folder


@pytest.mark.parametrize("path", PATHS)
def test_a_worker_that_is_lost_changes_no_bit_of_the_tally(counted, path):
    said, folder = counted
    assert f"{path} undisturbed: 6000 rows" in said
    assert f"{path} killed: 6000 rows, same True" in said, said
    tasks = ran(folder / f"{path} killed")
    assert set(tasks) == set(ran(folder / f"{path} undisturbed"))
    assert len(tasks) >= 6
    assert max(tasks.values()) > 1  # what was lost was counted again


@pytest.mark.parametrize("path", PATHS)
def test_tasks_that_are_repeated_or_run_twice_count_once(counted, path):
    said, folder = counted
    assert f"{path} repeated: 6000 rows, same True" in said, said
    tasks = ran(folder / f"{path} repeated")
    assert tasks[0] > 1  # it failed, having counted
    assert tasks[1] > 1  # it counted beside its copy
