"""What the command prints: results, messages, help and progress.

This room imports no other of the command.
"""
