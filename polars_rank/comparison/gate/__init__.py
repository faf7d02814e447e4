"""The gate, which says whether a change of a ranking may ship.

This room checks that two rankings are comparable, gives a verdict on each measure and
segment, and names documents that left. It imports ``compare`` and the rooms below it.
"""
