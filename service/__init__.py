"""FastAPI routes, dashboard and command line."""
