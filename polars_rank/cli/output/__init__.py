"""What the command prints beside results: messages, help and progress.

This room imports no other of the command.
"""
