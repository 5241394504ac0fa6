"""The conversion engine and the Celery application around it."""
