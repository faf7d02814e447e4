"""Measures in training loops, experiment trackers and tests of other tools.

Nothing here is a dependency: a framework is imported by the user, or where a class of
its own has to be made. All rooms but the namespaces and the command may be imported.
"""
