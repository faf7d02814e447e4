"""Files written completely or not at all, and crash-safe temporary folders.

It imports nothing of the package.
"""
