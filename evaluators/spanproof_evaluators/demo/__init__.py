"""The demo: a small real world, two agents that act on it, and the report on what they did.

Its agent processes load this package too, so nothing heavy is imported here.
"""
