"""Evaluation in bounded memory: queries in buckets on disk, evaluated in turn.

``source`` is the lazy frame, ``spill`` the work; ``budget`` says how many buckets,
``buckets`` fills them, ``temporary`` and ``resume`` keep their folder. They are
imported where a limit is given.
"""
