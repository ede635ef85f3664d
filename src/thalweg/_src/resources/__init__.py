"""What outlives a kernel call: containers of named state, variables, the rendezvous, cancellation."""
