"""Benchmarks of tallybayes: ``python -m benchmarks speed``, run from the root of the checkout.

A benchmark is a named case whose answer is checked before its time is reported, beside a peer that
is measured in the same process. What was run, on which machine and with which versions is recorded
with the results.
"""
