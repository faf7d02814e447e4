"""Position bias: how likely a position is examined, estimated from a log.

This room estimates propensities and applies them to the rows of a log. It imports
``log`` and ``behavior``.
"""
