"""Judgments made of clicks, and their agreement with others.

This room estimates the relevance of documents, with intervals, priors and grades. It
imports ``log`` and ``bias``.
"""
