"""Measurements. Nothing here is installed."""
