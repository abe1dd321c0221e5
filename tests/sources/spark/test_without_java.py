"""Without Java there is no Spark session, and so no Spark DataFrame to learn from.

Nothing in tallybayes starts a session: what a person reads is Spark's own message, which
docs/scale.md explains. The rest of the package does not need Java, its code for Spark included.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "scale.md"
EXITED = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
NOT_SET = "JAVA_HOME is not set"
NOT_THERE = "bin/java: No such file or directory"

OWN = ["tallybayes.engines.stream", "tallybayes.sources.spark", "tallybayes.sources.spark_tasks"]

IMPORTS = f"""
import importlib
for name in {OWN!r}:
    importlib.import_module(name)
"""
LEARNS = """
import tallybayes
rows = [{"x": 1.0, "y": "u"}, {"x": 2.0, "y": "v"}]
print(tallybayes.NaiveBayes().fit(rows, "y").classes_.tolist())
"""
STARTS = """
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
try:
    SparkSession.builder.master("local[1]").getOrCreate()
except PySparkException as error:
    print(error)
"""


@pytest.fixture
def without_java(tmp_path):
    """Runs Python where the only programs are those that Spark's scripts use, other than java."""
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))

    def run(program, **environment):
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**kept, "PATH": str(tmp_path), "HOME": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=True,
        )

    return run


@pytest.mark.parametrize(("home", "said"), [(None, NOT_SET), ("nowhere", NOT_THERE)])
def test_spark_says_what_the_guide_explains(without_java, tmp_path, home, said):
    environment = {} if home is None else {"JAVA_HOME": str(tmp_path / home)}
    found = without_java(STARTS, **environment)
    assert found.stdout.strip() == EXITED
    assert said in found.stderr
    guide = GUIDE.read_text(encoding="utf-8")
    assert f"`{EXITED}`" in guide
    assert f"`{said}`" in guide


def test_what_spark_is_learned_with_is_imported_without_java(without_java):
    found = without_java(IMPORTS + LEARNS)
    assert found.stdout.strip() == "['u', 'v']"
    assert found.stderr == ""
