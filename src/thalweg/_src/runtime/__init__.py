"""From fetches and feeds to running programs: compilation passes, executables, tracing."""
