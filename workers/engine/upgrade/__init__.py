"""Upgrades of files of framing 1 and 2 to framing 3, their payload words unchanged (container-v3.md, section 14)."""
