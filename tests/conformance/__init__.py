"""Conformance of encoders and verifiers: one table of cases, the oracle's verdict on each, and whoever must agree.

blocks        a case: rows of source words, and what the oracle says that they become
words         source words by value, by neighbourhood, and scattered
grouped_cases, fp8_row_cases, cast_cases
              the tables
native        the native module's answers in the oracle's terms
"""
