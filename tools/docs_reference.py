"""The pages of the site's reference that are made from the package, for ``tools/docs.py``."""

from __future__ import annotations


def pages() -> dict[str, tuple[str, str]]:
    """By name, what each page is made of and its MyST text."""
    return {}
