"""Distribution strategies: replicas of a model on several devices and tasks, kept in step."""
