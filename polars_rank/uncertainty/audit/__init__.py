"""The effect of every disputed choice on one log.

This room evaluates each alternative and says which differences matter, or why none
does. It imports ``bounds`` and ``comparison``.
"""
