"""What many systems tell about measures and collections, and over time.

This room orders systems, plans sample sizes, standardizes scores, follows trends and
judges reproductions. It imports ``compare`` and the rooms below it.
"""
