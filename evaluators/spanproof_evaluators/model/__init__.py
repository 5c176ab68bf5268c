"""The nouns of the evaluators: tasks, end states, results, outcomes, measures, decisions."""
