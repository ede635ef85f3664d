"""The optimizers of Keras: their hyperparameters and the number of steps are variables, and schedules set the rate."""
