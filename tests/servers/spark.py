"""A Spark session for tests: two threads of this machine, one small Java process, no web page.

Each process that runs tests has one session, which :func:`session` starts when it is first asked
for. Tests that use it carry :data:`on_spark`, so that they come first and one worker runs them.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LACKING = (
    "Spark needs Java 17 or newer, and there is no program java: run tools/test_programs.sh, or "
    "apt-get install openjdk-17-jre-headless"
)
on_spark = pytest.mark.xdist_group("spark")

# Java that starts fast: it neither optimizes much nor verifies the classes of Spark
SMALL_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": SMALL_JAVA,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "servers.spark_daemon",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_started: list[tuple[Any, str]] = []


def need_java() -> None:
    """Skips a test where Java is not installed, but fails where every program has to be."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return
    if os.environ.get("TALLYBAYES_NEEDS_PROGRAMS"):
        raise AssertionError(LACKING)
    pytest.skip(LACKING)


def python_path() -> str:
    """PYTHONPATH of Spark's Python processes, in which they find the daemon of these tests."""
    given = os.environ.get("PYTHONPATH")
    tests = str(Path(__file__).parent.parent)
    return tests if given is None else os.pathsep.join([*given.split(os.pathsep), tests])


def session() -> Any:
    """The session of this process."""
    need_java()
    if not _started:
        from pyspark.sql import SparkSession

        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYTHONPATH"] = python_path()
        folder = tempfile.mkdtemp(prefix="spark-")
        builder = SparkSession.builder.master("local[2]").appName("tallybayes tests")
        places = {"spark.local.dir": folder, "spark.sql.warehouse.dir": f"{folder}/warehouse"}
        for name, value in {**SETTINGS, **places}.items():
            builder = builder.config(name, value)
        _started.append((builder.getOrCreate(), folder))
    return _started[0][0]


def stop() -> None:
    """Ends the session, if one was started, and its Java process."""
    while _started:
        spark, folder = _started.pop()
        context = type(spark.sparkContext)
        gateway = context._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # at which Java ends
        gateway.proc.wait(20)
        context._gateway = context._jvm = None
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _spark_ends() -> Iterator[None]:
    yield
    stop()


@pytest.fixture
def spark() -> Any:
    """The session of this process."""
    return session()
