"""The limits of recipe.md (Limits), and those that keep expansion itself bounded in time and memory."""

from __future__ import annotations

TEXT_BYTES = 4 * 2**20
CANONICAL_BYTES = 64 * 2**20
OBJECTS = 100_000
LOOP_TURNS = 1_000_000
EXPRESSION_NODES = 1_000_000
SET_INTEGERS = 100_000
EXPRESSION_LEVELS = 16
SOURCES = 64
NAME_BYTES = 512
ID_CHARACTERS = 100

INTEGER_MAX = 2**63 - 1
"""The largest integer of a recipe."""

CANONICAL_INTEGER_MAX = 2**53 - 1
"""The largest integer that RFC 8785 can spell, so the largest that may reach the canonical form."""

DOCUMENT_LEVELS = 100
"""Lists and objects inside each other in the text; an expression of 16 levels needs fewer than 60."""

NUMERAL_CHARACTERS = 1_000
FORMULA_CHARACTERS = 1_000
TEXT_VARIABLES = 256

EXPANSION_STEPS = 2_000_000
"""What a recipe may cost in ways that the other limits do not see; a step is a few microseconds."""

ITEMS_A_STEP = 4
"""Parts of a text, list or scope that are evaluated or copied in one step; of a formula it is two."""

FAULTS = 1_000
"""Faults that one error lists."""
