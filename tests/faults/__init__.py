"""Pipelines that are killed at random points, again and again, and must lose and
repeat nothing: `make faults`.
"""
