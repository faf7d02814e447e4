"""The page of a difference: what it holds, its pictures, and the file.

It takes results as they are and imports no room that makes them.
"""
