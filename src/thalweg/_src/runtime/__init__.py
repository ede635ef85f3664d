"""From a session's request to running programs: the pipeline, the step, the local backend."""
