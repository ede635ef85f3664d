"""Programs with loops: while and for statements, break, continue, lists and elements."""

from tests.graph.autograph.collected import ONE, TWO, VECTOR, program

COUNTS = [(0,), (1,), (2,), (6,)]


@program(COUNTS)
def counting(n):
    i = 0
    while i < n:
        i += 1
    return i


@program(COUNTS)
def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


@program([(1,), (6,), (7,), (27,)])
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program([(48, 18), (17, 5), (5, 0)])
def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@program(TWO)
def two_conditions(a, b):
    while a < 20 and b < 9:
        a += 3
        b += 1
    return a * 100 + b


@program(COUNTS)
def nested_whiles(n):
    total, i = 0, 0
    while i < n:
        j = 0
        while j < i:
            total += j
            j += 1
        i += 1
    return total


@program(ONE)
def while_break(x):
    while x < 100:
        x += abs(x) + 1
        if x > 20:
            break
    return x


@program(ONE)
def while_true(x):
    while True:
        x += 3
        if x > 10:
            break
    return x


@program(ONE)
def while_true_return(x):
    while True:
        x += 3
        if x > 10:
            return x
        if x == 6:
            return -1


@program(ONE)
def while_continue(x):
    total = 0
    while x > 0:
        x -= 1
        if x % 3 == 0:
            continue
        total += x
    return total


@program(ONE)
def break_and_continue(x):
    total = 0
    while x < 12:
        x += 1
        if x == 4:
            continue
        if x > 9:
            break
        total += x
    return total * 100 + x


@program(ONE)
def while_else(x):
    while x < 10:
        x += 4
        if x == 9:
            break
    else:
        x = -x
    return x


@program(ONE)
def while_else_without_break(x):
    while x < 10:
        x += 4
    else:
        x = -x
    return x


@program(ONE)
def return_in_while(x):
    while x < 10:
        if x == 5:
            return 77
        x += 1
    return x


@program(TWO)
def return_in_nested_whiles(a, b):
    while a < 5:
        c = b
        while c < 5:
            if a + c == 6:
                return a * 10 + c
            c += 1
        a += 1
    return -1


@program(ONE)
def return_of_a_pair_in_while(x):
    while x < 10:
        x += 3
        if x == 6:
            return x, 1
    return x, 0


@program(TWO)
def while_in_if(a, b):
    if a > b:
        while b < 5:
            b += 2
    else:
        b = -b
    return b


@program(TWO)
def if_in_while(a, b):
    while a < 10:
        if b > 2:
            a += b
        elif b == 1:
            a += 4
        else:
            a += 1
            b += 1
    return a * 10 + b


@program(ONE)
def local_of_an_iteration(x):
    total = 0
    while x > 0:
        square = x * x
        total += square
        x -= 1
    return total


@program(ONE)
def used_in_the_condition_only(x):
    go = True
    while go:
        x += 2
        go = x < 7
    return x


@program(ONE)
def walrus_in_condition(x):
    total = 0
    while (y := x * 2) < 12:
        total += y
        x += 1
    return total + y


@program(COUNTS)
def for_range(n):
    total = 0
    for i in range(n):
        total += i
    return total


@program(TWO)
def for_range_of_two(a, b):
    total = 1
    for i in range(a, b):
        total = total * 3 + i
    return total


@program([(0, 7, 2), (7, 0, -3), (3, 3, 1), (5, -4, -1)])
def for_range_with_step(a, b, step):
    total = 1
    for i in range(a, b, step):
        total = total * 2 + i
    return total


@program([(0, 7), (8, 1)])
def for_range_downwards(a, b):
    total = 1
    for i in range(b, a, -2):
        total = total * 2 + i
    return total


@program(VECTOR)
def for_vector(values):
    total = 0
    for value in values:
        total += value
    return total


@program(VECTOR)
def for_vector_largest(values):
    best = -100
    for value in values:
        if value > best:
            best = value
    return best


@program(VECTOR)
def for_vector_break(values):
    total = 0
    for value in values:
        if value < 0:
            break
        total += value
    return total


@program(VECTOR)
def for_vector_continue(values):
    total = 0
    for value in values:
        if value < 0:
            continue
        total += value
    return total


@program(VECTOR)
def for_vector_else(values):
    found = 5
    for value in values:
        if value == 1:
            found = 1
            break
    else:
        found = 0
    return found


@program(VECTOR)
def for_vector_return(values):
    position = 0
    for value in values:
        if value == 1:
            return position
        position += 1
    return -1


@program([([[1, 2], [3, 4]],), ([[5, 6]],)])
def for_matrix(rows):
    total = 0
    for row in rows:
        for value in row:
            total = total * 3 + value
    return total


@program([([[1, 2, 3], [3, 4, 5]],)])
def for_rows_with_unpacking(rows):
    total = 0
    for row in rows:
        total = total * 2 + row[0] * row[1] - row[2]
    return total


@program(COUNTS)
def for_in_for(n):
    total = 0
    for i in range(n):
        for j in range(i):
            total += i * j + 1
    return total


@program(COUNTS)
def break_of_inner_loop(n):
    total = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            total += 1
        if total > 10:
            break
    return total


@program(COUNTS)
def continue_of_outer_loop(n):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        for j in range(n):
            if j == 2:
                continue
            total += j
    return total


@program(ONE)
def python_iterable(x):
    for value in [1, 2, 3]:
        x = x * value + 1
    return x


@program(ONE)
def python_iterable_break(x):
    total = 0
    for value in (1, 2, 3, 4):
        if value * x > 6:
            break
        total += value
    return total


@program(ONE)
def python_iterable_continue(x):
    total = 0
    for value in (1, 2, 3, 4):
        if value == x:
            continue
        total += value
    return total


@program(ONE)
def python_iterable_return(x):
    for value in (1, 2, 3, 4):
        if value * 2 > x:
            return value
    return 0


@program(ONE)
def python_iterable_else(x):
    for value in (1, 2, 3):
        if value == x:
            break
    else:
        x = 50
    return x


@program(ONE)
def python_generator(x):
    total = 0
    for i, name in enumerate(["a", "bb"]):
        total += x * i + len(name)
    for a, (b, c) in zip([1, 2], [(3, 4), (5, 6)]):
        total += a * b - c
    return total


@program(ONE)
def break_by_a_python_value(x):
    for i in range(100):
        if i > 3:
            break
        x += i
    return x


@program(COUNTS)
def for_last_value(n):
    i = -1
    for i in range(n):
        pass
    return i


@program(COUNTS)
def appended(n):
    values = []
    for i in range(n):
        values.append(i * i)
    total = 0
    for value in values:
        total = total * 2 + value
    return total + len(values)


@program(COUNTS)
def appended_to_elements(n):
    values = [7, 8]
    for i in range(n):
        if i > 1:
            values.append(i)
    return values[0] + 10 * values[-1] + 100 * len(values)


@program(COUNTS)
def appended_in_nested_loops(n):
    values = []
    for i in range(n):
        for j in range(i):
            values.append(i * j)
    total = 0
    for value in values:
        total = total * 3 + value
    return total


@program(COUNTS)
def appended_in_a_python_loop(n):
    values = []
    for i in (1, 2, 3):
        values.append(n * i)
    return values[0] + values[2] + len(values)


@program([([1, 2, 3], 1), ([4, 5], 0)])
def element_assigned(values, i):
    values[i] = 9
    total = 0
    for value in values:
        total = total * 10 + value
    return total


@program([([1, 2, 3],), ([4, 5],)])
def elements_assigned_in_loop(values):
    for i in range(len(values)):
        values[i] += i * 2
    return values[0] * 100 + values[len(values) - 1]


@program(VECTOR)
def length(values):
    return len(values)


@program(VECTOR)
def loop_up_to_length(values):
    i = total = 0
    while i < len(values):
        total = total * 2 + values[i]
        i += 1
    return total


@program(COUNTS)
def carried_list(n):
    pair = [1, 1]
    for _ in range(n):
        pair = [pair[1], pair[0] + pair[1]]
    return pair[0]


@program(COUNTS)
def carried_dictionary(n):
    state = {"a": 1, "b": 2}
    for i in range(n):
        state["a"] = state["b"] + i
        state["b"] = state["a"] - 1
    return state["a"] * 10 + state["b"]


@program(COUNTS)
def carried_tuple(n):
    state = (0, (1, 2))
    while state[0] < n:
        count, (a, b) = state
        state = (count + 1, (b, a + b))
    return state[1][0]


@program(COUNTS)
def carried_float(n):
    x = 1.0
    for i in range(n):
        x = x / 2 + 1
    return x


@program(COUNTS)
def carried_boolean(n):
    even = True
    for _ in range(n):
        even = not even
    return even


@program(COUNTS)
def unrelated_python_object(n):
    names = {"a", "b"}
    i = 0
    while i < n:
        names.add("c")
        i += len(names)
    return i


@program(ONE)
def loop_after_return(x):
    if x > 5:
        return 0
    while x < 5:
        x += 2
    return x


@program(ONE)
def loop_with_try(x):
    while x < 10:
        try:
            if x == 5:
                break
            x += 1
        finally:
            x += 0
    return x


@program(ONE)
def loop_with_with(x):
    while x < 10:
        with memoryview(b""):
            if x == 5:
                break
            x += 1
    return x


@program([(4,), (9,), (25,), (30,)])
def prime(n):
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


@program([([5, 2, 9, 1, 7],), ([1],)])
def sorted_by_insertion(values):
    i = 1
    while i < len(values):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
        i += 1
    return values


@program([([1, 3, 5, 7, 9], 7), ([1, 3, 5, 7, 9], 4)])
def binary_search(values, wanted):
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return -1


@program([(2, 10), (3, 0), (5, 3)])
def power(base, exponent):
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base
        base = base * base
        exponent = exponent // 2
    return result


@program(VECTOR)
def enumerated(values):
    total = 0
    for i, value in enumerate(values):
        total += i * value
    for i, value in enumerate(values, 3):
        if i > 5:
            break
        total += i * value
    return total


@program([([1, 2, 3], [4, 5]), ([], [1]), ([3, 4], [2, 8])])
def in_parallel(one, other):
    total = 0
    for a, b in zip(one, other):
        total = total * 2 + a - b
    for i, (a, b) in enumerate(zip(other, one)):
        if a > b:
            continue
        total += i * a
    return total
