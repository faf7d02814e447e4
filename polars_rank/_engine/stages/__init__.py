"""The stages of a plan, from rows to one row per query."""
