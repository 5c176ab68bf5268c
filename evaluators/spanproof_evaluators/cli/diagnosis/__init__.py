"""What ``spanproof doctor`` does: each step finds one thing out, and says what to do where it is not well."""
