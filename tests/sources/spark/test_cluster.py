"""A cluster that loses a worker in the middle of a count gives the tally of one that does not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from servers.spark import need_java, on_spark
from sources.spark.cluster import end, running, wait_for

pytestmark = on_spark


def test_a_worker_that_is_lost_changes_no_bit_of_the_tally(tmp_path):
    need_java()
    with running(tmp_path) as cluster:
        cluster.add_worker("first")
        lost = cluster.add_worker("second")
        notes = tmp_path / "notes"
        notes.mkdir()
        script = Path(__file__).parent / "counted_twice.py"
        driver, log = cluster.run(script, str(notes))

        def places():
            return {
                task: Path(task.read_text()).relative_to(tmp_path).parts[0]
                for task in notes.glob("task-*")
                if int(task.name.split("-")[1]) >= 2 and task.read_text()
            }

        def waiting():
            return not (notes / "go").exists() and set(places().values()) == {"first", "second"}

        wait_for(waiting, driver, log)
        end(lost)  # one of its tasks is done, another one is being counted
        (notes / "go").touch()
        assert driver.wait(120) == 0, log.read_text()[-3000:]
        assert "rows 6000, " in log.read_text()
        assert "same True" in log.read_text(), log.read_text()[-3000:]
        ran = Counter(task.name.split("-")[1] for task in notes.glob("task-*"))
        assert sorted(ran) == [str(part) for part in range(6)]
        assert max(ran.values()) > 1  # what was lost was counted again
