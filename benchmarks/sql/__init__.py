"""Scoring by `to_sql`, beside `predict` and beside other SQL that says the same."""
