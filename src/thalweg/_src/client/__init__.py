"""What programs use: sessions, variables, optimizers."""
