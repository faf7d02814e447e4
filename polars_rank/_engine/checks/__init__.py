"""Rules for data: counted, verified, enforced.

Stages put them into plans. They import the files beside the rooms, and no stage.
"""
