"""The agent side: make what an agent did visible and provable."""
