"""A fitted model as lookups and simple densities, which a page can evaluate by itself."""
