"""The language of metrics, independent of frames.

The files beside the rooms (expressions, arguments, rules, sources) import no room;
``exact`` imports them, and each room those before it: ``exact``, ``words``,
``metric``.
"""
