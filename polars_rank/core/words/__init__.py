"""The words that formulas are made of: a ranking's, of subtopics, lists and catalogs.

Each is bound to columns here, or by the engine. This room imports the files beside it
and ``exact``.
"""
