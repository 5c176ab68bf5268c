"""From production to the set: recorded trials as candidates for tasks, and failures by the layer they point to."""
