"""Rows in databases: DuckDB, and PostgreSQL or others by ADBC."""
