"""State that outlives a kernel call: resource containers, variables, queues, devices, the rendezvous, cancellation."""
