"""Python objects as frames: dictionaries, rows, documents of other libraries, JSON.

What is here loops over objects that are in memory anyway, and imports no library that
they come from: an object is known by its attributes.
"""
