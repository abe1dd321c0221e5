"""Counts of several parties in Flower's simulation: a round of SecAgg+ sums their vectors."""

import numpy as np
import pandas as pd
import pytest

from tallybayes import Schema, collect
from tallybayes.tally import TableTally

pytest.importorskip("flwr", reason="Flower is not installed: docs/decisions/0038")

SCHEMA = Schema.declare({"a": ["x", "y", "z"], "b": ["u", "v"]}, classes=["no", "yes"])
PARTIES, LARGEST = 3, 2**21
"""LARGEST is the largest count of a party that SecAgg+ takes without rounding: 2²² steps of one row
from −2²¹ on, of which up to 1,023 parties stay below its modulus 2³²."""


def rows_of(party):
    """The rows of one party."""
    rng = np.random.default_rng(party)
    n = 200 + 50 * party
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], n),
            "b": rng.choice(["u", "v"], n),
            "t": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
        }
    )


@pytest.mark.filterwarnings("ignore")
def test_secure_aggregation_gives_the_pooled_counts():
    from flwr.client import ClientApp, NumPyClient
    from flwr.client.mod import secaggplus_mod
    from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.server import LegacyContext, ServerApp, ServerConfig
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
    from flwr.simulation import run_simulation

    n = len(collect(rows_of(0), "t", SCHEMA).to_vector())
    found = []

    class Party(NumPyClient):
        def __init__(self, number):
            self.number = number

        def fit(self, parameters, config):
            vector = collect(rows_of(self.number), "t", SCHEMA).to_vector()
            return [vector.astype(np.float64)], 1, {}  # weight 1 each: the mean is the sum / n

    def party(context):
        return Party(int(context.node_config["partition-id"])).to_client()

    class Sum(FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            assert len(results) == PARTIES
            assert not failures
            (mean,) = parameters_to_ndarrays(results[0][1].parameters)
            found.append(np.rint(mean * PARTIES).astype(np.int64))
            return super().aggregate_fit(server_round, results, failures)

    server = ServerApp()

    @server.main()
    def main(grid, context):
        strategy = Sum(
            fraction_evaluate=0.0,
            min_fit_clients=PARTIES,
            min_available_clients=PARTIES,
            initial_parameters=ndarrays_to_parameters([np.zeros(n)]),
        )
        whole = LegacyContext(context, config=ServerConfig(num_rounds=1), strategy=strategy)
        secure = SecAggPlusWorkflow(
            num_shares=PARTIES,
            reconstruction_threshold=2,
            max_weight=1,
            clipping_range=float(LARGEST),
            quantization_range=2 * LARGEST,
        )
        DefaultWorkflow(fit_workflow=secure)(grid, whole)

    run_simulation(server, ClientApp(party, mods=[secaggplus_mod]), num_supernodes=PARTIES)
    pooled = collect(pd.concat([rows_of(party) for party in range(PARTIES)]), "t", SCHEMA)
    assert TableTally.from_vector(SCHEMA, found[0]) == pooled
