"""The input side of slim: datasets that name their files and their decoder, and providers that read them by queues."""
