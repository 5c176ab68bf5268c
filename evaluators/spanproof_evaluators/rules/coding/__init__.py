"""What a recorded coding agent did, from its calls: commands that check something, and files that it changed."""
