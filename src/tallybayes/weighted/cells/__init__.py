"""Columns as cells: the discretisation, counts of cells, and sums over their neighbours."""
