"""The commands: each parses, calls one function, prints and exits."""
