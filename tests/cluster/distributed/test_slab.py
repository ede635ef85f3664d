"""Slabs: blocks hold what was put into them, views are reported once when they die, and nothing leaks."""

import fcntl
import gc
import mmap
import os
import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from tests import children
from thalweg._src.base import dtypes
from thalweg._src.cluster.distributed import slab as slabs
from thalweg._src.cluster.distributed.slab import Block, FreeSpace, MappedSlab, Slab
from thalweg._src.runtime.kernels.types import from_numpy

pytestmark = pytest.mark.skipif(not slabs.available(), reason="this system has no sealed files in memory")

MIB = 1 << 20


def _random(nbytes, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8))


def _read(slab, block):
    view = MappedSlab(slab.fd, slab.nbytes).view(*block, lambda offset: None)
    return view.tobytes()


def _resident(slab):
    return os.fstat(slab.fd).st_blocks * 512


def _mappings():
    with open("/proc/self/maps") as file:
        return sum("memfd:thalweg" in line for line in file)


@pytest.fixture
def slab():
    slab = Slab(16 * MIB)
    yield slab
    slab.close()


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 4097, 65535, 65536, MIB, 3 * MIB + 5])
def test_a_block_holds_what_was_put_into_new_and_into_used_memory(slab, nbytes):
    for seed in range(3):
        content = _random(nbytes, seed)
        block = slab.put([content])
        assert block.nbytes == nbytes
        assert block.offset % (mmap.PAGESIZE if nbytes >= 65536 else 64) == 0
        assert _read(slab, block) == content.numpy().tobytes()
        slab.free(block.offset)


def test_a_block_that_is_partly_in_new_memory_holds_what_was_put(slab):
    slab.free(slab.put([_random(2 * MIB)]).offset)
    content = _random(5 * MIB, 1)
    block = slab.put([content])
    assert block.offset == 0
    assert _read(slab, block) == content.numpy().tobytes()


@pytest.mark.parametrize("parallel_from", [MIB, 32 * MIB])
def test_buffers_follow_each_other_in_a_block(slab, monkeypatch, parallel_from):
    monkeypatch.setattr(slabs, "_PARALLEL_COPY", parallel_from)
    large = _random(2 * MIB)
    for _ in range(2):
        block = slab.put([memoryview(b"one"), torch.tensor([1, 2], dtype=torch.uint8), memoryview(b""), large])
        assert _read(slab, block) == b"one\x01\x02" + large.numpy().tobytes()
        slab.free(block.offset)
    read_only = memoryview(large.numpy().tobytes())
    assert _read(slab, slab.put([read_only])) == read_only


def test_there_is_no_room_in_a_full_slab_until_a_block_is_freed(slab):
    assert slab.put([torch.zeros(16 * MIB + 1, dtype=torch.uint8)]) is None
    block = slab.put([torch.zeros(16 * MIB, dtype=torch.uint8)])
    assert block == Block(0, 16 * MIB)
    assert slab.bytes_in_use == 16 * MIB
    assert slab.put([memoryview(b"")]) is None
    slab.free(block.offset)
    assert slab.bytes_in_use == 0
    assert slab.put([memoryview(b"")]) == Block(0, 0)


def test_only_blocks_can_be_freed_and_only_once(slab):
    block = slab.put([memoryview(b"1234")])
    with pytest.raises(ValueError, match="starts at offset 64"):
        slab.free(block.offset + 64)
    slab.free(block.offset)
    with pytest.raises(ValueError, match="starts at offset 0"):
        slab.free(block.offset)


def test_a_buffer_that_cannot_be_copied_leaves_no_block(slab):
    with pytest.raises(ValueError, match="contiguous"):
        slab.put([torch.zeros(MIB, dtype=torch.uint8)[::2]])
    assert slab.bytes_in_use == 0


def test_a_block_can_be_freed_while_this_thread_allocates(slab):
    block = slab.put([memoryview(b"1234")])
    with slab._lock:  # as when the garbage collector finds the last reference to a view
        slab.free(block.offset)
    assert slab.bytes_in_use == 0


def test_a_closed_slab_has_no_room_and_its_blocks_stay_readable(slab):
    block = slab.put([memoryview(b"1234")])
    mapped = MappedSlab(slab.fd, slab.nbytes)
    slab.close()
    assert slab.put([memoryview(b"1234")]) is None
    assert mapped.view(*block, lambda offset: None).tobytes() == b"1234"
    slab.trim()
    slab.free(block.offset)
    with pytest.raises(ValueError, match="closed"):
        slab.fd


def test_threads_do_not_get_each_others_blocks(slab):
    wrong = []

    def use(number):
        mapped = MappedSlab(slab.fd, slab.nbytes)
        content = torch.full((1 + 40_000 * number,), number, dtype=torch.uint8)
        for _ in range(200):
            block = slab.put([content])
            if block is not None and (mapped.view(*block, slab.free) != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert slab.bytes_in_use == 0
    assert slab.put([torch.zeros(slab.nbytes, dtype=torch.uint8)]) is not None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 63, 64, 1000, 5000, 65536, 70_000, 200_000]), st.integers(0, 9))))
def test_blocks_never_overlap_and_free_space_is_merged(operations):
    total = MIB
    space, blocks = FreeSpace(total), {}
    for nbytes, choice in operations:
        if choice < 4 and blocks:
            offset = sorted(blocks)[choice % len(blocks)]
            space.add(offset, offset + blocks.pop(offset))
            continue
        alignment = 4096 if nbytes >= 65536 else 64
        size = -(-nbytes // alignment) * alignment
        offset = space.take(size, alignment)
        if offset is None:
            edges = [0, *(edge for start in sorted(blocks) for edge in (start, start + blocks[start])), total]
            longest = max(end - start for start, end in zip(edges[::2], edges[1::2], strict=True))
            assert longest < size + alignment - 64
            continue
        assert offset % alignment == 0
        assert 0 <= offset <= total - size
        assert all(offset + size <= start or start + blocks[start] <= offset for start in blocks)
        blocks[offset] = size
    for offset, size in blocks.items():
        space.add(offset, offset + size)
    assert space.take(total, 4096) == 0


def test_space_of_the_size_needed_is_reused_before_larger_space_is_split():
    space = FreeSpace(MIB)
    first, _, third, _ = (space.take(size, 64) for size in (640, 64, 128, 64))
    space.add(first, first + 640)
    space.add(third, third + 128)
    assert space.take(128, 64) == third


def test_freed_memory_is_used_again(slab):
    for _ in range(50):
        blocks = [slab.put([_random(nbytes)]) for nbytes in (MIB, 100, 70_000)]
        for block in blocks:
            slab.free(block.offset)
    assert _resident(slab) < 1.2 * MIB


def test_memory_that_was_not_used_lately_is_given_back(slab, monkeypatch):
    monkeypatch.setattr(slabs, "_KEPT", MIB)
    content = _random(MIB, 1)
    blocks = [slab.put([content]) for _ in range(8)]
    kept = blocks.pop(5)
    for block in blocks:
        slab.free(block.offset)
    for _ in range(2):
        slab.trim()
        assert _resident(slab) == 8 * MIB
    slab.trim()
    assert _resident(slab) == 2 * MIB
    assert _read(slab, kept) == content.numpy().tobytes()
    assert slab.bytes_in_use == MIB
    again = [slab.put([content]) for _ in range(8)]
    assert {_read(slab, block) for block in again} == {content.numpy().tobytes()}
    for block in [kept, *again]:
        slab.free(block.offset)
    assert slab.put([torch.zeros(slab.nbytes, dtype=torch.uint8)]) is not None


def test_a_small_block_keeps_no_more_than_its_page(slab, monkeypatch):
    monkeypatch.setattr(slabs, "_KEPT", 0)
    small, large = slab.put([memoryview(b"1234")]), slab.put([_random(4 * MIB)])
    slab.free(large.offset)
    for _ in range(3):
        slab.trim()
    assert _resident(slab) == mmap.PAGESIZE
    assert _read(slab, small) == b"1234"


def test_what_is_in_use_at_once_again_and_again_is_not_given_back(slab, monkeypatch):
    monkeypatch.setattr(slabs, "_KEPT", 0)
    for _ in range(4):
        for block in [slab.put([_random(MIB)]) for _ in range(8)]:
            slab.free(block.offset)
        slab.trim()
        assert _resident(slab) == 8 * MIB


@pytest.mark.parametrize(
    "derive",
    [
        lambda view: view[5:],
        lambda view: view.view(np.uint16)[4:].reshape(-1, 2),
        lambda view: memoryview(view)[5:],
        lambda view: from_numpy(view, dtypes.uint8),
        lambda view: from_numpy(view[8:], dtypes.uint8).view(torch.int32)[7:],
        lambda view: from_numpy(view, dtypes.uint8)[7:].numpy()[::2],
    ],
)
def test_a_view_is_released_once_when_nothing_refers_to_its_memory(slab, derive):
    block, released = slab.put([_random(80_000)]), []
    view = MappedSlab(slab.fd, slab.nbytes).view(*block, released.append)
    assert not view.flags.writeable
    derived = derive(view)
    del view
    gc.collect()
    assert not released
    del derived
    assert released == [block.offset]


def test_a_tensor_in_a_cycle_releases_its_view_when_it_is_collected(slab):
    block, released = slab.put([_random(4096)]), []

    class Holder:
        pass

    holder = Holder()
    holder.tensor = from_numpy(MappedSlab(slab.fd, slab.nbytes).view(*block, released.append), dtypes.uint8)
    holder.own = holder
    gc.collect()
    del holder
    assert not released
    gc.collect()
    assert released == [block.offset]


def test_a_view_is_released_by_the_thread_that_drops_it(slab):
    released = []
    views = [MappedSlab(slab.fd, slab.nbytes).view(64, 10, lambda offset: released.append(threading.get_ident()))]
    thread = threading.Thread(target=views.clear)
    thread.start()
    thread.join()
    assert released == [thread.ident]


def test_a_closed_mapping_lasts_as_long_as_its_views(slab):
    before = _mappings()
    block = slab.put([memoryview(b"1234")])
    mapped = MappedSlab(slab.fd, slab.nbytes)
    tensor = from_numpy(mapped.view(*block, lambda offset: None), dtypes.uint8)
    mapped.close()
    with pytest.raises(ValueError, match="closed"):
        mapped.view(*block, lambda offset: None)
    assert bytes(tensor.tolist()) == b"1234"
    assert _mappings() == before + 1
    del tensor
    assert _mappings() == before


@pytest.mark.parametrize(("offset", "nbytes"), [(-1, 1), (0, -1), (0, 16 * MIB + 1), (16 * MIB, 1), (1 << 70, 0)])
def test_views_outside_the_slab_are_refused(slab, offset, nbytes):
    released = []
    with pytest.raises(ValueError, match=r"are not in a slab of 16777216 bytes"):
        MappedSlab(slab.fd, slab.nbytes).view(offset, nbytes, released.append)
    assert not released


@pytest.mark.parametrize("nbytes", [0, -4096, 16 * MIB + 4096])
def test_a_size_that_is_not_that_of_the_file_is_refused(slab, nbytes):
    with pytest.raises(ValueError, match="in a file of 16777216 bytes"):
        MappedSlab(slab.fd, nbytes)


def _sealed(flags, seals):
    file = os.memfd_create("test", os.MFD_ALLOW_SEALING | flags)
    os.ftruncate(file, 2 * MIB)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    return file


@pytest.mark.parametrize("sort", ["file", "may shrink", "huge pages"])
def test_files_whose_memory_may_vanish_are_refused(tmp_path, sort):
    if sort == "file":
        (tmp_path / "file").write_bytes(bytes(4096))
        file = os.open(tmp_path / "file", os.O_RDWR)
    elif sort == "may shrink":
        file = _sealed(0, fcntl.F_SEAL_GROW)
    else:
        try:
            file = _sealed(os.MFD_HUGETLB, fcntl.F_SEAL_SHRINK)
        except OSError as error:
            pytest.skip(f"no huge pages: {error}")
    try:
        with pytest.raises(ValueError, match="a slab must be"):
            MappedSlab(file, 4096)
    finally:
        os.close(file)


def test_no_file_can_change_its_size_under_a_mapping(slab):
    for size in (0, 32 * MIB):
        with pytest.raises(PermissionError):
            os.ftruncate(slab.fd, size)


def test_slabs_leave_no_files_and_no_mappings():
    def use():
        slab = Slab(4 * MIB)
        mapped = MappedSlab(slab.fd, slab.nbytes)
        block = slab.put([_random(100_000)])
        view = mapped.view(*block, slab.free)
        del view
        assert slab.bytes_in_use == 0
        return slab, mapped

    before = os.listdir("/proc/self/fd"), _mappings()
    for _ in range(3):
        for each in use():
            each.close()
        use()
    assert (os.listdir("/proc/self/fd"), _mappings()) == before


def test_a_slab_that_is_closed_during_a_copy_is_unmapped_after_it(monkeypatch):
    before, during = _mappings(), []
    slab, write = Slab(4 * MIB), slabs._Memory.write

    def close_and_write(memory, *args):
        slab.close()
        write(memory, *args)
        during.append(_mappings())

    monkeypatch.setattr(slabs._Memory, "write", close_and_write)
    assert slab.put([_random(2 * MIB)]) == Block(0, 2 * MIB)
    assert during == [before + 1]
    assert _mappings() == before


CHILD = """
import sys
from thalweg._src.base import dtypes
from thalweg._src.cluster.distributed.slab import MappedSlab
from thalweg._src.runtime.kernels.types import from_numpy

def released(offset):
    raise AssertionError("called while the process ends")

fd, nbytes, offset, size = map(int, sys.argv[1:])
view = MappedSlab(fd, nbytes).view(offset, size, released)
tensor = from_numpy(view, dtypes.uint8)
print(int(view.sum()), tensor[:4].tolist())
"""


def test_another_process_reads_a_block_and_ends_quietly_with_a_view(slab):
    content = _random(3 * MIB)
    block = slab.put([content])
    command = [sys.executable, "-c", CHILD, slab.fd, slab.nbytes, *block]
    child = children.run(command, pass_fds=[slab.fd], env=children.environment())
    assert child.stdout.strip() == f"{int(content.sum())} {content[:4].tolist()}"
    assert child.stderr == ""


LIMITED = """
import resource, torch
from thalweg._src.cluster.distributed import slab as slabs

slab = slabs.Slab(16 << 20)
content = torch.zeros(2 << 20, dtype=torch.uint8)
slab.free(slab.put([content]).offset)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
first = slab.put([content])
print(first.offset, slab.put([content]), slab.put([content]), slab.bytes_in_use)
slab.free(first.offset)
slabs._KEPT = 0
for _ in range(3):
    slab.trim()
print(slab.put([content]), slab.bytes_in_use)
"""


def test_there_is_no_room_when_the_system_refuses_new_pages():
    child = children.run([sys.executable, "-c", LIMITED], env=children.environment())
    assert child.stdout.split() == ["0", "None", "None", str(2 * MIB), "None", "0"]


def test_systems_without_files_in_memory_have_no_slabs(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    assert not slabs.available()
