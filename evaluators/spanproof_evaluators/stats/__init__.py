"""Intervals for rates and means, each with its source."""
