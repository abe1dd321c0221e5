"""Families of real numbers: Gaussians, atoms beside densities, and kernel densities."""
