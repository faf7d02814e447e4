"""Files of a command line: runs, judgments and values, opened and told apart.

This room imports ``output`` and the files beside the rooms.
"""
