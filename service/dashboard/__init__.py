"""The dashboard: pages that are rendered here, read without scripting, and are kept live by server-sent events."""
