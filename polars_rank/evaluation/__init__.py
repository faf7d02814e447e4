"""Functions that evaluate frames.

They make requests of the engine, which they import with all that is below it.
"""
