"""What a metric is: a registered function, its flags, and its documentation.

This room imports the files beside it, ``exact`` and ``words``.
"""
