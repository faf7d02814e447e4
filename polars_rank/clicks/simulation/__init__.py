"""Click logs whose truth is known.

This room draws lists, users and clicks by a design. It imports no other room.
"""
