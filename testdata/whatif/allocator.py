"""A caching allocator as PyTorch describes it, in plain lists that are searched from end to end; it records what it
does. Nothing of memtool's model is in it."""

import random

MIB = 1 << 20
CARD = 1 << 31  # bytes that expandable segments reserve addresses for, 9/8 times


class Block:
    def __init__(self, address, size, segment):
        self.address, self.size, self.segment = address, size, segment
        self.requested = 0
        self.frames = []
        self.state = "free"  # used, pending
        self.mapped = True
        self.age = 0


class Segment:
    """A range of addresses; its blocks in order, end to end."""

    def __init__(self, address, size, stream, small, owner, expandable, frames):
        self.address, self.size, self.stream = address, size, stream
        self.small, self.owner, self.expandable, self.frames = small, owner, expandable, frames
        self.blocks = [Block(address, size, self)]


class OutOfMemory(Exception):
    pass


class Allocator:
    def __init__(self, limit=None, expandable=False, max_split=None, rounding=20 * MIB, gc=0.0, fraction=None,
                 divisions=0, large=20 * MIB, seed=0, padding=0, platform="CUDA"):
        self.limit, self.expandable, self.max_split = limit, expandable, max_split
        self.rounding, self.gc, self.fraction, self.divisions = rounding, gc, fraction, divisions
        self.large, self.padding, self.platform = large, padding, platform
        self.random = random.Random(seed)
        self.segments, self.trace, self.slots = [], [], set()
        self.reserved, self.searches, self.retries = 0, 0, 0
        self.retry_at = []
        self.clock = 0

    # --- what is recorded ---
    def record(self, action, address, size, stream, frames, **more):
        self.clock += 7
        entry = {"action": action, "addr": address, "size": size, "stream": stream, "frames": frames,
                 "time_us": 1700000000000000 + self.clock}
        entry.update(more)
        self.trace.append(entry)

    # --- sizes ---
    def rounded(self, size):
        size += self.padding
        if size < 512:
            return 512
        if self.divisions > 1 and size > 512 * self.divisions:
            power = 1
            while power * 2 <= size:
                power *= 2
            if power == size:
                return size
            step = power // self.divisions
            if step == 0:
                return power * 2
            return size if size % step == 0 else size - size % step + step
        return (size + 511) // 512 * 512

    def segment_size(self, size):
        if size <= MIB:
            return 2 * MIB
        if size < 10 * MIB:
            return self.large
        return (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)

    # --- the driver ---
    def place(self, size):
        """Any address that is free: nothing but ties between equal blocks may depend on it."""
        while True:
            slot = self.random.randrange(1, 4096)
            if slot not in self.slots:
                self.slots.add(slot)
                return 0x700000000000 + slot * (1 << 33)

    def driver_gives(self, size):
        return self.limit is None or self.reserved + size <= self.limit

    # --- searching ---
    def free_blocks(self, stream, small, owner):
        found = [b for s in self.segments if (s.stream, s.small, s.owner) == (stream, small, owner)
                 for b in s.blocks if b.state == "free" and b.mapped]
        return sorted(found, key=lambda b: (b.size, b.address))

    def neighbour(self, block, step):
        row = block.segment.blocks.index(block) + step
        return block.segment.blocks[row] if 0 <= row < len(block.segment.blocks) else None

    def could_be(self, block):
        after = self.neighbour(block, 1)
        return block.size + (after.size if after is not None and not after.mapped else 0)

    def find(self, size, stream, small, owner):
        if self.fraction is not None and self.gc > 0 and not small and owner == (0, 0):
            self.searches += 1
        candidates = [b for b in self.free_blocks(stream, small, owner) if b.size >= size]
        if not candidates:
            return None
        chosen = candidates.pop(0)
        if chosen.segment.expandable:
            if self.expandable:
                while candidates and chosen.segment.expandable and self.could_be(candidates[0]) < self.could_be(chosen):
                    chosen = candidates.pop(0)
            else:
                while chosen.segment.expandable:
                    if not candidates:
                        return None
                    chosen = candidates.pop(0)
        if self.max_split is not None:
            if size < self.max_split and chosen.size >= self.max_split:
                return None
            if size >= self.max_split and chosen.size >= size + self.rounding:
                return None
        return chosen

    def splits(self, block, size):
        rest = block.size - size
        if block.segment.small or self.expandable:
            return rest >= 512
        return (self.max_split is None or size < self.max_split) and rest > MIB

    # --- requests ---
    def malloc(self, requested, stream=0, owner=(0, 0), frames=()):
        frames = list(frames)
        size = self.rounded(requested)
        small = size <= MIB
        block = self.find(size, stream, small, owner)
        if block is None:
            if self.fraction is not None and self.gc > 0:
                self.collect(frames)
            block = self.more(size, stream, small, owner, frames)
        if block is None and self.max_split is not None and self.give_oversize(size, stream, small, owner, frames):
            block = self.more(size, stream, small, owner, frames)
        if block is None:
            self.retries += 1
            self.retry_at.append(len(self.trace))
            self.give_all(frames)
            block = self.more(size, stream, small, owner, frames)
        if block is None:
            self.record("oom", 0, size, stream, frames)
            entry = self.trace[-1]
            del entry["addr"]
            entry["device_free"] = self.limit - self.reserved if self.limit is not None else 0
            raise OutOfMemory
        if self.splits(block, size):
            rest = Block(block.address + size, block.size - size, block.segment)
            rest.age = self.searches
            block.size = size
            row = block.segment.blocks.index(block)
            block.segment.blocks.insert(row + 1, rest)
        block.state, block.requested, block.frames = "used", requested, frames
        self.record("alloc", block.address, requested, stream, frames, pool_id=list(owner))
        return block

    def more(self, size, stream, small, owner, frames):
        whole = self.segment_size(size)
        if self.fraction is not None and self.reserved + whole > self.fraction * CARD:
            return None
        if self.expandable:
            return self.expand(size, stream, small, owner, frames)
        if not self.driver_gives(whole):
            return None
        segment = Segment(self.place(whole), whole, stream, small, owner, False, frames)
        self.segments.append(segment)
        self.reserved += whole
        self.record("segment_alloc", segment.address, whole, stream, frames)
        return segment.blocks[0]

    def free(self, block, frames=(), later=False):
        frames = list(frames)
        self.record("free_requested", block.address, block.requested, block.segment.stream, frames)
        block.state = "pending"
        if not later:
            self.finish(block, frames)

    def finish(self, block, frames=()):
        self.record("free_completed", block.address, block.requested, block.segment.stream, list(frames))
        block.state, block.requested, block.frames, block.age = "free", 0, [], self.searches
        self.tidy(block.segment)

    def tidy(self, segment):
        """Free neighbours of one kind (mapped or not) are one block."""
        blocks = segment.blocks
        row = 0
        while row + 1 < len(blocks):
            one, two = blocks[row], blocks[row + 1]
            if one.state == two.state == "free" and one.mapped == two.mapped:
                one.size += two.size
                one.age = max(one.age, two.age)
                del blocks[row + 1]
            else:
                row += 1

    # --- giving back ---
    def wait(self):
        for segment in self.segments:
            for block in list(segment.blocks):
                if block.state == "pending":
                    self.finish(block)

    def give_segment(self, segment, frames):
        self.segments.remove(segment)
        self.slots.discard((segment.address - 0x700000000000) >> 33)
        self.reserved -= segment.size
        self.record("segment_free", segment.address, segment.size, segment.stream, list(frames))

    def whole_free(self, segment):
        return not segment.expandable and len(segment.blocks) == 1 and segment.blocks[0].state == "free"

    def give_all(self, frames):
        self.wait()
        for small in (False, True):
            ranges = [s for s in self.segments if s.small == small and s.owner == (0, 0)]
            for segment in sorted(ranges, key=lambda s: (s.stream, s.size, s.address)):
                if self.whole_free(segment):
                    self.give_segment(segment, frames)
            for segment in ranges:
                if segment.expandable:
                    self.give_pages(segment, frames)

    def give_pages(self, segment, frames):
        page = 2 * MIB if segment.small else self.large
        for block in [b for b in segment.blocks if b.state == "free" and b.mapped]:
            begin = block.address - segment.address
            first = (begin + page - 1) // page * page
            last = (begin + block.size) // page * page
            if first >= last:
                continue
            parts = []
            for start, end, mapped in ((begin, first, True), (first, last, False), (last, begin + block.size, True)):
                if start < end:
                    part = Block(segment.address + start, end - start, segment)
                    part.mapped, part.age = mapped, self.searches
                    parts.append(part)
            row = segment.blocks.index(block)
            segment.blocks[row:row + 1] = parts
            self.reserved -= last - first
            self.record("segment_unmap", segment.address + first, last - first, segment.stream, list(frames))
        self.tidy(segment)

    def give_oversize(self, size, stream, small, owner, frames):
        key = max(size, self.max_split)
        blocks = self.free_blocks(stream, small, owner)
        fitting = [b for b in blocks if b.size >= key]
        if fitting and not fitting[0].segment.expandable:
            self.give_segment(fitting[0].segment, frames)
            return True
        given = 0
        for block in reversed([b for b in blocks if self.max_split <= b.size < key]):
            if given >= key:
                break
            if not block.segment.expandable:
                given += block.size
                self.give_segment(block.segment, frames)
        return given >= key

    def collect(self, frames):
        goal = self.reserved - int(self.gc * (self.fraction * CARD))
        if goal <= 0:
            return
        ages = {}
        for segment in self.segments:
            if not segment.small and segment.owner == (0, 0) and self.whole_free(segment):
                ages[segment] = self.searches - segment.blocks[0].age
        given = 0
        while given < goal and ages:
            mean = sum(ages.values()) / len(ages)
            old = sorted((s for s in ages if ages[s] >= mean), key=lambda s: (s.stream, s.size, s.address))
            for segment in old:
                del ages[segment]
                given += segment.size
                self.give_segment(segment, frames)

    def empty_cache(self, frames):
        self.give_all(frames)

    # --- expandable segments ---
    def expand(self, size, stream, small, owner, frames):
        page = 2 * MIB if small else self.large
        spot = None
        ranges = [s for s in self.segments if s.expandable and (s.stream, s.small, s.owner) == (stream, small, owner)]
        for segment in sorted(ranges, key=lambda s: s.address):
            for row, block in enumerate(segment.blocks):
                if block.mapped:
                    continue
                if row > 0 and segment.blocks[row - 1].state == "free" and segment.blocks[row - 1].mapped:
                    row -= 1
                room = 0
                for other in segment.blocks[row:]:
                    if other.state != "free" or room >= size:
                        break
                    room += other.size
                if room >= size:
                    spot = (segment, segment.blocks[row].address)
                    break
            if spot:
                break
        if spot is None:
            whole = (CARD + CARD // 8 + page - 1) // page * page
            segment = Segment(self.place(whole), whole, stream, small, owner, True, frames)
            segment.blocks[0].mapped = False
            self.segments.append(segment)
            spot = (segment, segment.address)
        segment, start = spot
        while True:
            row = next(i for i, b in enumerate(segment.blocks) if b.address == start)
            block = segment.blocks[row]
            if block.mapped and block.size >= size:
                return block
            target = segment.blocks[row + 1] if block.mapped else block
            have = block.size if block.mapped else 0
            want = min(size - have, target.size)
            end = target.address - segment.address + want
            bytes_ = (end + page - 1) // page * page - (target.address - segment.address)
            if not self.driver_gives(bytes_):
                return None
            row = segment.blocks.index(target)
            if bytes_ < target.size:
                rest = Block(target.address + bytes_, target.size - bytes_, segment)
                rest.mapped = False
                segment.blocks.insert(row + 1, rest)
                target.size = bytes_
            target.mapped, target.age = True, self.searches
            self.reserved += bytes_
            self.record("segment_map", target.address, bytes_, stream, frames)
            self.tidy(segment)

    # --- the file ---
    def runs(self):
        """Segments as a snapshot lists them: of expandable ones every run of mapped pages."""
        for segment in sorted(self.segments, key=lambda s: s.address):
            run = []
            for block in segment.blocks + [None]:
                if block is None or not block.mapped:
                    if run:
                        yield segment, run
                    run = []
                else:
                    run.append(block)

    def snapshot(self):
        segments = []
        for segment, blocks in self.runs():
            used = [b for b in blocks if b.state == "used"]
            busy = [b for b in blocks if b.state != "free"]
            segments.append({
                "device": 0, "address": blocks[0].address, "total_size": sum(b.size for b in blocks),
                "allocated_size": sum(b.size for b in used), "active_size": sum(b.size for b in busy),
                "requested_size": sum(b.requested for b in busy), "stream": segment.stream,
                "segment_type": "small" if segment.small else "large", "segment_pool_id": list(segment.owner),
                "is_expandable": segment.expandable, "frames": segment.frames,
                "blocks": [{"address": b.address, "size": b.size, "requested_size": b.requested,
                            "state": {"used": "active_allocated", "pending": "active_pending_free",
                                      "free": "inactive"}[b.state], "frames": b.frames} for b in blocks]})
        return segments

    def settings(self):
        conf = []
        if self.expandable:
            conf.append("expandable_segments:True")
        if self.max_split is not None:
            conf.append(f"max_split_size_mb:{self.max_split // MIB}")
        if self.gc > 0:
            conf.append(f"garbage_collection_threshold:{self.gc}")
        if self.divisions:
            conf.append(f"roundup_power2_divisions:{self.divisions}")
        return {f"PYTORCH_{self.platform}_ALLOC_CONF": ",".join(conf),
                "max_split_size": -1 if self.max_split is None else self.max_split,
                "garbage_collection_threshold": self.gc, "expandable_segments": self.expandable,
                "roundup_power2_divisions": {str(1 << i): self.divisions for i in range(16)}}
