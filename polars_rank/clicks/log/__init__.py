"""Click logs: what is read, checked and counted.

This room binds the columns of a log, refuses rows that break a rule, and makes one row
of each impression. It imports the engine and no other room of click logs.
"""
