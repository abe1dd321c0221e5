"""Spark's daemon of Python workers, which has imported what tasks need: a worker is a fork of it,
and would import the same for a second or two."""

from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

NEEDED = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.sql.pandas.serializers",
    "tallybayes.engines.tables",
    "tallybayes.estimators.naive_bayes",
    "tallybayes.sources.spark_tasks",
)

if __name__ == "__main__":
    for name in NEEDED:
        with suppress(ImportError):  # a task says what is lacking
            import_module(name)
    manager()
