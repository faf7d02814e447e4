"""From numbers to decisions: compare systems, gate a change, plan a test.

``compare`` imports the rooms ``input``, ``sums`` and ``tests``; ``gate`` and
``systems`` import ``compare``.
"""
