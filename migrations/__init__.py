"""Alembic migrations of the tables in schemas/tables.py, run by the program itself (workers/database.py)."""
