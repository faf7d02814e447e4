"""The evaluation of frames. Start in ``plan.py``, which names the stages in order."""
