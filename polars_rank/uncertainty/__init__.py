"""How much values depend on disputed choices, missing labels and labels by a model.

``bounds`` imports evaluation alone; ``estimate`` imports ``bounds``; ``audit`` imports
``bounds`` and ``comparison``.
"""
