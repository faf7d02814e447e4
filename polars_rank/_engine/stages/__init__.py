"""The stages of a plan, from rows to one row per query.

They import ``tracing``, ``checks`` and the files beside the rooms; ``plan.py`` joins
them.
"""
