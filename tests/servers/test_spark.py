"""The session that other tests use."""

from servers.spark import on_spark, session

pytestmark = on_spark


def test_there_is_one_session_a_process_and_its_tasks_run_this_python(spark):
    import sys

    assert spark is session()
    assert spark.sparkContext.pythonExec == sys.executable
    assert spark.range(5).where("id > 1").count() == 3


def test_the_session_listens_on_the_loopback_address_alone(spark):
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None
