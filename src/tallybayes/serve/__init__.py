"""A model as a service over HTTP: predictions, explanations, learning and forgetting.

It needs the extra ``serve`` (FastAPI and uvicorn). ``tallybayes serve`` is its command line.
"""

from __future__ import annotations

from tallybayes.serve.bodies import Limits
from tallybayes.serve.server import is_store, listening, serve, source_of
from tallybayes.serve.service import Service, Settings
from tallybayes.serve.tokens import SCOPES, Token, Tokens

__all__ = [
    "SCOPES",
    "Limits",
    "Service",
    "Settings",
    "Token",
    "Tokens",
    "is_store",
    "listening",
    "serve",
    "source_of",
]
