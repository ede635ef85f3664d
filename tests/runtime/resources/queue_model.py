"""A plain model of queues: lists, and the rules in the order in which they apply."""

import random


class Request:
    """A request to the queue and its `result`."""

    def __init__(self, kind, wanted=0, elements=(), small=False):
        self.kind = kind
        self.wanted = wanted
        self.elements = list(elements)
        self.small = small
        self.taken = []
        self.result = None
        self.is_stopped = False  # its step was cancelled, and it is about to be withdrawn


class Model:
    """Elements are (priority, name); `kind` is fifo, shuffle or priority."""

    def __init__(self, kind, capacity, stay, seed):
        self.kind = kind
        self.capacity = capacity
        self.stay = stay if kind == "shuffle" else 0
        self.random = random.Random(seed)
        self.items = []
        self.closed = False
        self.putters = []
        self.takers = []

    def request(self, request):
        (self.putters if request.kind in ("put", "close") else self.takers).append(request)
        self.settle()

    def cancel(self, request):
        self.putters = [r for r in self.putters if r is not request]
        self.takers = [r for r in self.takers if r is not request]
        request.result = "withdrawn"
        self.give_back(request)
        self.settle()

    def close_and_cancel(self):
        self.closed = True
        for request in self.putters:
            request.result = "cancelled"
        self.putters = []
        self.settle()

    def settle(self):
        moved = True
        while moved:
            moved = False
            while self.putters and not self.putters[0].is_stopped and self.move_putter(self.putters[0]):
                moved = True
                if self.putters[0].result is not None:
                    self.putters.pop(0)
            while self.takers and not self.takers[0].is_stopped and self.move_taker(self.takers[0]):
                moved = True
                if self.takers[0].result is not None:
                    self.takers.pop(0)

    def move_putter(self, request):
        """Makes progress for the first request; returns False if that is impossible."""
        if self.closed:
            request.result = "cancelled"
        elif request.kind == "close":
            self.closed, request.result = True, "done"
        elif len(self.items) >= self.capacity >= 0:
            return False
        else:
            self.items.append(request.elements.pop(0))
            if not request.elements:
                request.result = "done"
        return True

    def move_taker(self, request):
        if self.closed and len(self.items) + len(request.taken) < request.wanted:
            self.give_back(request)
            if not (request.small and self.items):
                request.result = "out of range"
                return True
            request.wanted = len(self.items)
        if len(self.items) - (0 if self.closed else self.stay) <= 0:
            return False
        request.taken.append(self.take())
        if len(request.taken) == request.wanted:
            request.result = request.taken
        return True

    def take(self):
        if self.kind == "shuffle":
            chosen = int(self.random.random() * len(self.items))
            self.items[chosen], self.items[-1] = self.items[-1], self.items[chosen]
            return self.items.pop()
        if self.kind == "priority":
            return self.items.pop(self.items.index(min(self.items, key=lambda item: item[0])))
        return self.items.pop(0)

    def give_back(self, request):
        if self.kind == "shuffle":
            self.items = self.items + request.taken
        else:
            self.items = request.taken + self.items
        request.taken = []
