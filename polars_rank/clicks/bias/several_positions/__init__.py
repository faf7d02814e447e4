"""Position bias from documents that were shown at several positions.

This room counts pairs of positions and fits the bias to them. It imports what ``bias``
may import, and shared files of ``bias``.
"""
