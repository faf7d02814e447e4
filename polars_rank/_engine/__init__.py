"""How a frame is evaluated. Start in ``plan.py``, which names the stages in order."""
