"""Evaluations on engines of many processes.

This room holds what does not depend on the engine: frames, partitions, jobs. It imports
the files of ``parts`` beside it.
"""
