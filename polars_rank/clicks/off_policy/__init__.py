"""Off-policy estimates: what another ranking would have scored on a log.

This room weighs clicks by propensities, for new rankings, with errors and checks of
support. It imports ``log``, ``behavior`` and ``bias``.
"""
