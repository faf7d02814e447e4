"""The evaluation of frames. Start in ``plan.py``, which names the stages in order.

``tracing``, ``stages``, ``checks`` and ``spill`` make the parts of a plan. It imports
``conventions`` and what that imports, files, and readers.
"""
