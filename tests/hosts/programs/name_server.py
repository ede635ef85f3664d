"""A name server: answers questions for addresses (A, AAAA) from a JSON file, which is read for each of them.

python name_server.py FILE
"""

import json
import socket
import struct
import sys

KINDS = {1: socket.AF_INET, 28: socket.AF_INET6}
SECONDS = 5  # that an answer may be kept, as in Kubernetes
NO_SUCH_NAME = 3


def answer(question, names):
    """Returns the answer to a question."""
    number, *_ = struct.unpack_from(">H", question)
    labels, at = [], 12
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode().lower())
        at += 1 + size
    (kind,) = struct.unpack_from(">H", question, at + 1)
    address = names.get(".".join(labels))
    packed = b""
    if address is not None and KINDS.get(kind) == (socket.AF_INET6 if ":" in address else socket.AF_INET):
        content = socket.inet_pton(KINDS[kind], address)
        packed = struct.pack(">HHHIH", 0xC00C, kind, 1, SECONDS, len(content)) + content
    flags = 0x8580 if address is not None else 0x8580 | NO_SUCH_NAME
    return struct.pack(">6H", number, flags, 1, bool(packed), 0, 0) + question[12 : at + 5] + packed


def main():
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 53))
    print("serves", flush=True)
    while True:
        question, sender = server.recvfrom(512)
        with open(sys.argv[1]) as file:
            server.sendto(answer(question, json.load(file)), sender)


main()
