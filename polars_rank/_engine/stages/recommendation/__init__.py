"""Measures of users' lists of items: these are joined with what is known of items.

``evaluate_lists`` is the stage: ``recording`` tells what its measures need, ``items``
what the history and the catalog say, ``rows_of_lists`` joins that, and ``in_parts``
does so with some users at a time, within a memory limit. They import other stages, and
nothing of what follows these.
"""
