"""Alembic migrations of the tables in schemas/tables, run by the program itself (workers/database.py)."""
