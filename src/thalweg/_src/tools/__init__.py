"""What is run beside a program: the command line, the debugger, test cases, the simulator of clusters."""
