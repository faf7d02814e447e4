"""Experiments: arms that are compared, and rankers that are interleaved.

This room says whether a difference is more than chance. It imports ``log`` and
``behavior``.
"""
