"""Stores: how fast they learn beside a bare INSERT, and what crashes leave of them."""
