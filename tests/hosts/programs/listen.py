"""Listens at a port of all addresses, as any other program may."""

import socket
import sys
import time

listener = socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True)
print("listens", flush=True)
time.sleep(3600)
