"""The commands, each a function whose signature is its grammar.

They import everything of the command below them, and the library.
"""
