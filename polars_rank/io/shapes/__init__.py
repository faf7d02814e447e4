"""Tables of other shapes, as one row per document or per query and system.

The room imports the files of ``io`` that open frames.
"""
