"""The conversion engine: a library that knows nothing of Celery, SQL or HTTP."""
