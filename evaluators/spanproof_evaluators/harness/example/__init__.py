"""A suite to copy from: a small shop's repository and database, and a scripted agent whose faults are known."""

from spanproof_evaluators.harness.example.making import VARIANTS, Example, write_example

__all__ = ["VARIANTS", "Example", "write_example"]
