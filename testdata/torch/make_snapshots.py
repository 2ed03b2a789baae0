#!/usr/bin/env python3
"""Writes small PyTorch memory snapshots in every form that memtool reads, and files that are wrong
in one way each, with the error that each must give (malformed/manifest.tsv).

    make_snapshots.py FOLDER

Standard library only; the same bytes on every run. No file needs PyTorch.
"""
import base64
import gzip
import json
import os
import pickle
import pickletools
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'plots'))
import generate as plots  # noqa: E402

MIB = plots.MIB
BASE = 0x7F0000000000


def frame(name, line, filename='train.py'):
    return {'name': name, 'filename': filename, 'line': line}


F_MAIN, F_STEP, F_LINEAR = frame('main', 10), frame('step', 20), frame('forward', 5, 'linear.py')
F_NATIVE = frame('c10::alloc<std::array<int, 2>[]>(char const*)', 0, '??')


def snapshot(schema='2.11', devices=1):
    """Two blocks live, one pending, one freed before the end, one allocated before recording."""
    order = ['1.13', '2.0', '2.1', '2.3', '2.5', '2.8', '2.10', '2.11', '2.12']
    since = lambda version: order.index(schema) >= order.index(version)
    step = [F_LINEAR, F_STEP, F_MAIN]
    init = [F_NATIVE, F_MAIN]

    def event(action, addr, size, time, stack, stream=0, pool=(0, 0), **more):
        e = {'action': action, 'addr': addr, 'size': size, 'stream': stream}
        if since('2.3'):
            e['time_us'] = 1700000000000000 + time
        if since('2.8'):
            e['compile_context'] = '0/1' if time == 3 else 'N/A'
        if since('2.10'):
            e['user_metadata'] = 'step:1' if time >= 5 else ''
        if since('2.11'):
            e['pool_id'] = pool
        if stack is not None:
            e['frames'] = stack
        e.update(more)
        return e

    def block(device, at, size, requested, state, stack):
        b = {'size': size, 'requested_size': requested, 'state': state}
        if since('2.1'):
            b['address'] = BASE + device * (1 << 36) + at
            b['frames'] = stack
        elif state != 'inactive' or requested:
            b['history'] = [{'addr': at, 'real_size': requested, 'frames': stack},
                            {'addr': at, 'real_size': 7}]
        if schema == '1.13':
            del b['requested_size']
        return b

    segments, traces = [], []
    for device in range(devices):
        at = BASE + device * (1 << 36)
        live = list(step)
        early = list(init)
        traces.append([
            event('segment_alloc', at, 2 * MIB, 0, live),
            event('alloc', at, 1000, 1, live),
            event('alloc', at + 1024, 500, 2, [F_STEP, F_MAIN], stream=7),
            event('free_requested', at + 1024, 500, 3, []),
            event('free_completed', at + 1024, 500, 3, []),
            event('free_completed', at + 1536, 300, 4, None),
            event('alloc', at + 2048, 2000, 5, [F_STEP, F_MAIN], pool=(0, 1)),
            event('free_requested', at + 2048, 2000, 6, None),
            {'action': 'oom', 'device_free': 12345, 'size': 1 << 40, 'stream': 0, 'frames': step},
            event('snapshot', 0, 0, 8, []),
        ])
        if since('2.11'):
            traces[-1][1]['forward_frames'] = ['  File "train.py", line 1, in main\n']
        if since('2.12'):
            traces[-1].append(event('annotate', at, 0, 9, []))
            traces[-1].append(event('teleport', at, 1, 10, [], flavour='sweet'))
        segment = {
            'device': device, 'address': at, 'total_size': 2 * MIB, 'stream': 0,
            'segment_type': 'small', 'allocated_size': 1536, 'active_size': 1536 + 2048,
            'blocks': [
                block(device, 0, 1024, 1000, 'active_allocated', live),
                block(device, 1024, 512, 500, 'inactive', []),
                block(device, 1536, 512, 400, 'active_allocated', early),
                block(device, 2048, 2048, 2000, 'active_pending_free', []),
                block(device, 4096, 2 * MIB - 4096, 9999999, 'inactive', []),
            ]}
        if since('2.0'):
            segment['requested_size'] = 3400
        if since('2.1'):
            segment.update(segment_pool_id=(0, 0), is_expandable=False, frames=live)
        segments.append(segment)
    if schema == '1.13':
        return segments
    snap = {'segments': segments, 'device_traces': traces + [[]]}
    if since('2.3'):
        snap['allocator_settings'] = {
            'PYTORCH_CUDA_ALLOC_CONF': 'max_split_size_mb:64', 'max_split_size': -1,
            'garbage_collection_threshold': 0.5, 'expandable_segments': False,
            'roundup_power2_divisions': {'1': 0, '2': 4}}
    if since('2.5'):
        marks = [('START', 'forward', 1), ('START', 'step', 2), ('END', 'forward', 3),
                 ('START', 'forward', 4), ('END', 'nothing', 5)]
        snap['external_annotations'] = [
            {'stage': s, 'name': n, 'device': 0, 'time_us': 1700000000000000 + t}
            for s, n, t in marks]
    if since('2.12'):
        snap['allocator_settings']['trace_alloc_max_entries'] = 100
        snap['trace_alloc_overflowed'] = [True]
        snap['host_segments'] = [{
            'device': 0, 'address': 4096, 'total_size': 4096, 'allocated_size': 4096,
            'active_size': 4096, 'requested_size': 4000, 'stream': 0, 'segment_type': 'large',
            'segment_pool_id': (0, 0), 'is_expandable': False, 'frames': [],
            'blocks': [{'address': 4096, 'size': 4096, 'requested_size': 4000,
                        'state': 'active_allocated', 'frames': []}]}]
        snap['host_traces'] = [[event('alloc', 4096, 4000, 1, [])]]
        snap['of_a_later_version'] = {'segments_hint': [1, 2, 3], 'x': None}
    return snap


def waves():
    """Four steps of training, for pictures: 64 MiB from before the recording, activations of four
    layers that come and go (16 MiB each), gradients (8 MiB each), and 6 MiB a step that stay; the
    fourth step meets an OOM. 192 MiB are reserved, 64 MiB more from the second step on."""
    trace, blocks, marks, start = [], {}, [], 1700000000000000
    stacks = {'forward': [F_LINEAR, F_STEP, F_MAIN], 'backward': [frame('backward', 30), F_STEP, F_MAIN],
              'log': [frame('append', 7, 'metrics.py'), F_STEP, F_MAIN]}

    def put(action, addr, size, stack):
        trace.append({'action': action, 'addr': addr, 'size': size, 'stream': 0, 'frames': stack,
                      'time_us': start + 10 * len(trace)})

    def alloc(at, mib, name):
        blocks[BASE + at * MIB] = (mib * MIB, stacks[name])
        put('alloc', BASE + at * MIB, mib * MIB, stacks[name])

    def free(at):
        size, _ = blocks.pop(BASE + at * MIB)
        put('free_requested', BASE + at * MIB, size, [])
        put('free_completed', BASE + at * MIB, size, [])

    blocks[BASE] = (64 * MIB, [])
    for step in range(4):
        marks.append({'stage': 'START', 'name': f'ProfilerStep#{step}', 'device': 0,
                      'time_us': start + 10 * len(trace)})
        if step == 1:
            put('segment_alloc', BASE + 192 * MIB, 64 * MIB, stacks['forward'])
        for layer in range(4):
            alloc(64 + 16 * layer, 16, 'forward')
        if step == 3:
            trace.append({'action': 'oom', 'device_free': 5 * MIB, 'size': 96 * MIB, 'stream': 0,
                          'frames': stacks['backward'], 'time_us': start + 10 * len(trace)})
        for layer in range(4):
            alloc(128 + 8 * layer, 8, 'backward')
            free(64 + 16 * layer)
        alloc(160 + 6 * step, 6, 'log')
        for layer in range(4):
            free(128 + 8 * layer)
    listed, used = [], BASE
    for addr, (size, stack) in sorted(blocks.items()) + [(BASE + 256 * MIB, (0, []))]:
        if addr > used:
            listed.append({'address': used, 'size': addr - used, 'requested_size': 0,
                           'state': 'inactive', 'frames': []})
        if size:
            listed.append({'address': addr, 'size': size, 'requested_size': size,
                           'state': 'active_allocated', 'frames': stack})
        used = addr + size
    held = sum(size for size, _ in blocks.values())
    segment = {'device': 0, 'address': BASE, 'total_size': 256 * MIB, 'stream': 0,
               'segment_type': 'large', 'allocated_size': held, 'active_size': held,
               'requested_size': held, 'segment_pool_id': (0, 0), 'is_expandable': False,
               'frames': [], 'blocks': listed}
    return {'segments': [segment], 'device_traces': [trace], 'external_annotations': marks}


def native_pickle(root):
    """What torch::jit::Pickler writes: protocol 2, one batch per container, MARK even for empty
    ones, text memoised by value, containers memoised once filled and only when shared."""
    uses, memo, texts, out = {}, {}, {}, bytearray(b'\x80\x02')

    def count(value):
        if isinstance(value, (dict, list)):
            uses[id(value)] = uses.get(id(value), 0) + 1
            if uses[id(value)] == 1:
                for child in value.values() if isinstance(value, dict) else value:
                    count(child)

    def put(table, key):
        table[key] = len(memo) + len(texts)
        index = table[key]
        out.extend(b'q' + bytes([index]) if index < 256 else b'r' + struct.pack('<I', index))

    def get(index):
        out.extend(b'h' + bytes([index]) if index < 256 else b'j' + struct.pack('<I', index))

    def integer(value):
        if 0 <= value < 256:
            out.extend(b'K' + bytes([value]))
        elif 0 <= value < 65536:
            out.extend(b'M' + struct.pack('<H', value))
        elif -2**31 <= value < 2**31:
            out.extend(b'J' + struct.pack('<i', value))
        else:
            out.extend(b'\x8a\x08' + struct.pack('<q', value))

    def write(value):
        if value is None:
            out.extend(b'N')
        elif isinstance(value, bool):
            out.extend(b'\x88' if value else b'\x89')
        elif isinstance(value, int):
            integer(value)
        elif isinstance(value, float):
            out.extend(b'G' + struct.pack('>d', value))
        elif isinstance(value, str):
            if value in texts:
                return get(texts[value])
            out.extend(b'X' + struct.pack('<I', len(value)) + value.encode())
            put(texts, value)
        elif isinstance(value, tuple):
            for item in value:
                write(item)
            out.extend({1: b'\x85', 2: b'\x86', 3: b'\x87'}[len(value)])
        elif id(value) in memo:
            get(memo[id(value)])
        else:
            is_dict = isinstance(value, dict)
            out.extend(b'}(' if is_dict else b'](')
            for item in [x for kv in value.items() for x in kv] if is_dict else value:
                write(item)
            out.extend(b'u' if is_dict else b'e')
            if uses[id(value)] > 1:
                put(memo, id(value))
        return None

    count(root)
    write(root)
    return bytes(out) + b'.'


def page(data):
    """A page as trace_plot writes it: it begins with an empty line, and the base64 is padded with
    one to three zeros."""
    data += b'\x00' * (3 - len(data) % 3)
    files = json.dumps([{'name': 'snapshot.pickle', 'base64': base64.b64encode(data).decode()}])
    return ('\n<!DOCTYPE html>\n<html><body><script type="module">\n'
            'import {add_local_files} from "./MemoryViz.js"\n'
            f'const local_files = {files}\nadd_local_files(local_files, "Active Memory Timeline")\n'
            '</script></body></html>\n').encode()


def unshaped(data):
    """The same pickle with an empty FRAME after each EMPTY_DICT, and no other: no dict begins as
    another did, so that a reader has to follow each of them opcode by opcode."""
    ops = list(pickletools.genops(data))
    ends = [place for _, _, place in ops[1:]] + [len(data)]
    out = bytearray()
    for (op, _, begin), end in zip(ops, ends):
        out += b'' if op.name == 'FRAME' else data[begin:end]
        out += b'\x95' + bytes(8) if op.name == 'EMPTY_DICT' else b''
    return bytes(out)


def varied(highest=(1 << 64) - 4096):
    """Events whose numbers have all lengths, whose keys differ, and whose lists are shared, empty,
    and repeated."""
    chance = random.Random(5)
    frames = [{'name': f'f{i}', 'filename': f'a{i}.py', 'line': i} for i in range(300)]
    stacks = [[chance.choice(frames) for _ in range(chance.choice([1, 2, 12, 40]))] for _ in range(20)]
    events = []
    for i in range(3000):
        event = {'action': chance.choice(['alloc', 'free_requested', 'free_completed']),
                 'addr': chance.choice([7, 300, 70000, 1 << 33, 1 << 47, (1 << 63) - 512, highest]) + i % 64,
                 'size': chance.choice([0, 255, 256, 65535, 65536, (1 << 31) - 1, 1 << 31, 1 << 40]),
                 'stream': chance.choice([0, 0, 0, 1 << 40])}
        if chance.random() < 0.9:
            event['time_us'] = chance.choice([0, 2.0, 1 << 50]) if i % 100 == 0 else 1_700_000_000_000_000 + i
        if chance.random() < 0.3:
            event['user_metadata'] = chance.choice(['', 'forward', {'step': i % 3}])
        stack = chance.choice(stacks)
        event['frames'] = chance.choice([stack, list(stack), list(stack), [], [frames[i % 300]]])
        if chance.random() < 0.1:
            event = dict(chance.sample(list(event.items()), len(event)))
        events.append(event)
    return {'segments': [], 'device_traces': [events]}


def forms():
    snap = snapshot()
    yield 'varied.pickle', pickle.dumps(varied(), protocol=4)
    low = varied(1 << 20)
    yield 'varied_low.pickle', pickle.dumps(low, protocol=4)
    yield 'varied_native.pickle', native_pickle(low)
    for name, data in [('proto2', pickle.dumps(snap, protocol=2)), ('proto4', pickle.dumps(snap, protocol=4)),
                       ('native', native_pickle(snap)), ('waves', pickle.dumps(waves(), protocol=4)),
                       ('varied', pickle.dumps(varied(), protocol=4)),
                       ('varied_native', native_pickle(low))]:
        yield f'{name}_unshaped.pickle', unshaped(data)
    yield 'proto2.pickle', pickle.dumps(snap, protocol=2)
    yield 'proto3.pickle', pickle.dumps(snap, protocol=3)
    yield 'proto4.pickle', pickle.dumps(snap, protocol=4)
    yield 'proto5.pickle', pickle.dumps(snap, protocol=5)
    yield 'native.pickle', native_pickle(snap)
    yield 'snapshot.json', json.dumps(snap).encode()
    yield 'indented.json', json.dumps(snap, indent=2).encode()
    yield 'page.html', page(pickle.dumps(snap, protocol=4))
    yield 'plot.html', plots.small_plot()
    yield 'page_at_once.html', page(pickle.dumps(snap, protocol=4)).lstrip()
    yield 'page_of_windows.html', b'\xef\xbb\xbf' + page(pickle.dumps(snap, protocol=4)).replace(b'\n', b'\r\n')
    yield 'later.json', b'\n\t' + json.dumps(snap).encode()
    yield 'packed.pickle.gz', gzip.compress(pickle.dumps(snap, protocol=4), mtime=0)
    yield 'list.pickle', pickle.dumps(snap['segments'], protocol=4)
    yield 'list.json', json.dumps(snap['segments']).encode()
    for schema in ['1.13', '2.0', '2.1', '2.3', '2.5', '2.8', '2.10', '2.12']:
        yield f'schema_{schema}.pickle', pickle.dumps(snapshot(schema), protocol=4)
        yield f'schema_{schema}_native.pickle', native_pickle(snapshot(schema))
    yield 'waves.pickle', pickle.dumps(waves(), protocol=4)
    yield 'three_devices.pickle', pickle.dumps(snapshot(devices=3), protocol=4)
    yield 'one_event.pickle', pickle.dumps(
        {'segments': [], 'device_traces': [snapshot()['device_traces'][0][:1]]}, protocol=4)
    yield 'empty.pickle', pickle.dumps({'segments': [], 'device_traces': [[]]}, protocol=4)
    many = {'segments': [], 'device_traces': [
        [{'action': 'alloc', 'addr': i, 'size': i, 'stream': 0, 'frames': [F_MAIN] * 1001}
         for i in range(2501)]]}
    yield 'batches.pickle', pickle.dumps(many, protocol=4)
    high = snapshot('2.10')
    high['segments'] = []
    high['device_traces'] = [[{'action': 'alloc', 'addr': (1 << 64) - 4096, 'size': 5, 'stream': 0}]]
    yield 'high_address.pickle', pickle.dumps(high, protocol=4)
    dicts = snapshot('2.10')
    dicts['device_traces'][0][1]['user_metadata'] = {'step': 3, 'action': 'alloc', 'addr': 1,
                                                     'size': 1 << 40}
    dicts['device_traces'][0][2]['user_metadata'] = {'step': 3, 'names': ['a', 'b']}
    yield 'metadata_dicts.pickle', pickle.dumps(dicts, protocol=4)
    short = snapshot()
    short['segments'][0]['blocks'].pop()
    yield 'blocks_missing.pickle', pickle.dumps(short, protocol=4)
    far = snapshot()
    far['segments'][0]['device'] = 9
    yield 'device_9.pickle', pickle.dumps(far, protocol=4)
    yield 'zeros_after.pickle', pickle.dumps(snap, protocol=4) + b'\0' * 3
    yield 'second_pickle.pickle', pickle.dumps(snap, protocol=4) * 2


class Call:
    def __reduce__(self):
        return os.system, ('echo memtool ran this',)


def nested(opcode_pairs, depth):
    return b'\x80\x04' + opcode_pairs * depth


def event_pickle(**changes):
    snap = snapshot()
    snap['device_traces'][0][1].update(changes)
    return pickle.dumps(snap, protocol=4)


def malformed():
    P = b'\x80\x04'
    text = lambda s: b'\x8c' + bytes([len(s)]) + s
    snap = pickle.dumps(snapshot(), protocol=4)
    yield 'global.pickle', b'\x80\x02cos\nsystem\n(X\x02\0\0\0idtR.', \
        r'byte 2: contains GLOBAL os\.system: this is not a snapshot; nothing was executed'
    yield 'stack_global.pickle', pickle.dumps(Call(), protocol=4), \
        r'byte \d+: contains STACK_GLOBAL (posix|os|nt)\.system'
    yield 'hidden.pickle', pickle.dumps({'segments': [], 'device_traces': [[Call()]]}, protocol=4), \
        r'byte \d+: contains STACK_GLOBAL (posix|os|nt)\.system.*nothing was executed'
    yield 'inst.pickle', b'\x80\x02(S\x00'[:3] + b'ios\nsystem\n.', r'byte 3: contains INST os\.system'
    for name, code in [('obj', b'(N\x6f'), ('newobj', b'N)\x81'), ('newobj_ex', b'N)}\x92'),
                       ('reduce', b'N)R'), ('build', b'N}b'), ('ext1', b'\x82\x01'),
                       ('ext2', b'\x83\x01\x00'), ('ext4', b'\x84\x01\x00\x00\x00'),
                       ('persid', b'P1\n'), ('binpersid', b'NQ'), ('next_buffer', b'\x97'),
                       ('readonly_buffer', b'N\x98'), ('bytearray8', b'\x96' + b'\0' * 8),
                       ('empty_set', b'\x8f'), ('additems', b'(\x90'), ('frozenset', b'(\x91')]:
        yield f'{name}.pickle', P + code + b'.', rf'byte \d+: contains {name.upper()}.*nothing was executed'
    for name, code in [('dup', b'N2'), ('pop', b'N0'), ('int', b'I1\n'), ('long', b'L1L\n'),
                       ('float', b'F1\n'), ('get', b'g0\n'), ('put', b'Np0\n'),
                       ('unicode', b'Vx\n')]:
        yield f'{name}.pickle', P + code + b'.', rf'byte \d+: contains {name.upper()}'
    yield 'unknown_opcode.pickle', P + b'\xff.', r'0xff is not a pickle opcode'
    yield 'proto9.pickle', b'\x80\x05' + b'\x80\x09.', r'second PROTO'
    yield 'stop_only.pickle', P + b'.', r'STOP with 0 values'
    yield 'number.pickle', P + b'K\x01.', r'holds a number, not a memory snapshot'
    yield 'other_dict.pickle', pickle.dumps({'model': [1.5, 2.5]}, protocol=4), r'not a memory snapshot'
    yield 'cut.pickle', snap[:len(snap) // 2], r'ends before its STOP'
    yield 'cut_in_text.pickle', P + b'X\xff\xff\0\0abc', r'ends before its STOP'
    yield 'long_text.pickle', P + b'X\xff\xff\xff\xff' + b'a' * 100, r'string of 4294967295 bytes, over the limit'
    yield 'long_text8.pickle', P + b'\x8d' + b'\xff' * 8 + b'a' * 100, r'string of \d+ bytes, over the limit'
    yield 'long_bytes.pickle', P + b'B\xff\xff\xff\xff' + b'a' * 100, r'ends before its STOP'
    yield 'big_frame.pickle', P + b'\x95' + struct.pack('<Q', 1 << 63) + b'N.', r'FRAME of 9223372036854775808'
    yield 'frame_in_frame.pickle', P + b'\x95' + struct.pack('<Q', 50) + b'\x95' + struct.pack('<Q', 9) + b'N.', r'FRAME begins inside'
    yield 'memo_bomb.pickle', P + b'Nr\xff\xff\xff\xff.', r'memo entry 4294967295'
    yield 'memo_hole.pickle', P + b'h\x05.', r'memo entry 5, which does not exist'
    yield 'memo_hole_long.pickle', P + b'j\xff\xff\xff\xff.', r'memo entry 4294967295, which does not exist'
    yield 'memo_twice.pickle', P + b'Nq\x00Nq\x00\x86.', r'memo entry 0 a second time'
    yield 'memoize_nothing.pickle', P + b'\x94N.', r'memoises a value that is not there'
    yield 'no_mark.pickle', P + b']e.', r'no MARK'
    yield 'append_nothing.pickle', P + b'Na.', r'not there'
    yield 'append_to_number.pickle', P + b'K\x01K\x02a.', r'not an open list'
    yield 'setitems_on_list.pickle', P + b'](NNu.', r'not an open dict'
    yield 'odd_dict.pickle', P + b'}(Nu.', r'key that has no value'
    yield 'short_tuple.pickle', P + b'N\x87.', r'more values than there are'
    yield 'marks.pickle', nested(b'(', 100000), r'nested deeper than 1024'
    yield 'lists.pickle', nested(b'](', 100000), r'nested deeper than 1024'
    yield 'long_integer.pickle', P + b'\x8a\xff' + b'\x01' * 255 + b'.', r'integer of 255 bytes'
    yield 'nine_bytes.pickle', P + b'\x8a\x09' + b'\xff' * 9 + b'.', r'integer of 9 bytes'
    yield 'cycle_list.pickle', P + b']\x94h\x00a.', r'contains itself'
    cycle = {'segments': [], 'device_traces': [[]]}
    cycle['device_traces'][0].append(cycle['device_traces'])
    yield 'cycle_traces.pickle', pickle.dumps(cycle, protocol=4), r'contains itself'
    cycle = snapshot()
    cycle['device_traces'][0][0]['frames'] = loop = [F_MAIN]
    loop.append(loop)
    yield 'cycle_frames.pickle', pickle.dumps(cycle, protocol=4), r'contains itself'
    yield 'negative_size.pickle', event_pickle(size=-1), r'size: is negative: -1 bytes'
    yield 'huge_size.pickle', event_pickle(size=1 << 63), r'size: is 9223372036854775808 bytes'
    yield 'text_size.pickle', event_pickle(size='big'), r'size: is text where'
    yield 'text_frames.pickle', event_pickle(frames='main'), r'frames: is text where a list of frames'
    yield 'frames_of_text.pickle', event_pickle(frames=['main']), r'frames: is .* where a list of frames'
    yield 'mixed_frames.pickle', event_pickle(frames=[F_MAIN, 5]), r'holds a (frame|number) and a (number|frame)'
    yield 'far_time.pickle', event_pickle(time_us=1 << 62), r'time_us: is a number where'
    snap = snapshot()
    del snap['device_traces'][0][1]['size']
    yield 'no_size.pickle', pickle.dumps(snap, protocol=4), r'event\[1\]: alloc without size'
    snap = snapshot()
    del snap['device_traces'][0][1]['action']
    yield 'no_action.pickle', pickle.dumps(snap, protocol=4), r'holds an event and a dict'
    snap = snapshot()
    snap['device_traces'] = [snap['device_traces'][0]] * 2
    yield 'trace_twice.pickle', pickle.dumps(snap, protocol=4), r'two devices are the same list'
    snap = snapshot()
    snap['device_traces'][0].append(snap['device_traces'][0][1])
    yield 'event_twice.pickle', pickle.dumps(snap, protocol=4), r'event which also lies elsewhere'
    snap = snapshot()
    snap['segments'] = snap['segments'] * 2
    yield 'segment_twice.pickle', pickle.dumps(snap, protocol=4), r'segment which also lies elsewhere'
    snap = snapshot(devices=2)
    snap['segments'][1]['blocks'] = snap['segments'][0]['blocks']
    yield 'blocks_twice.pickle', pickle.dumps(snap, protocol=4), r'shares its blocks'
    snap = snapshot()
    snap['segments'][0]['device'] = -5
    yield 'device_negative.pickle', pickle.dumps(snap, protocol=4), r'no device -5'
    snap = snapshot()
    snap['segments'][0]['blocks'][0]['state'] = 'asleep'
    yield 'unknown_state.pickle', pickle.dumps(snap, protocol=4), r'state: is text where active'
    snap = snapshot()
    del snap['segments'][0]['address']
    yield 'no_address.pickle', pickle.dumps(snap, protocol=4), r'segment\[0\]: has no address'
    snap = snapshot()
    snap['segments'] = 'none'
    yield 'segments_of_text.pickle', pickle.dumps(snap, protocol=4), r'segments: is text'
    laughs = ['ha']
    for _ in range(200):
        laughs = [laughs] * 10
    yield 'laughs.pickle', pickle.dumps(laughs, protocol=4), r'not a memory snapshot'
    whole = json.dumps(snapshot()).encode()
    yield 'cut.json', whole[:len(whole) // 2], r'JSON text ends early'
    yield 'comma.json', whole.replace(b', "stream"', b',, "stream"', 1), r'not valid JSON'
    yield 'deep.json', b'{"segments": ' + b'[' * 100000, r'nested deeper than 1024'
    yield 'negative_size.json', whole.replace(b'"size": 1000,', b'"size": -1000,', 1), r'negative'
    yield 'huge_size.json', whole.replace(b'"size": 1000,', b'"size": 1e300,', 1), r'where a whole number'
    yield 'huge_integer.json', whole.replace(b'"size": 1000,', b'"size": 99999999999999999999,', 1), r'where a whole number'
    good = page(pickle.dumps(snapshot(), protocol=4))
    yield 'cut.html', good[:len(good) // 2], r'page ends inside'
    yield 'not_base64.html', good.replace(b'AAAA', b'A*AA', 1), r'not base64'
    yield from plots.malformed()
    yield 'unsafe.html', page(pickle.dumps(Call(), protocol=4)), r'contains STACK_GLOBAL (posix|os|nt)\.system'


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, 'forms'), exist_ok=True)
    os.makedirs(os.path.join(folder, 'malformed'), exist_ok=True)
    for name, data in forms():
        with open(os.path.join(folder, 'forms', name), 'wb') as f:
            f.write(data)
    with open(os.path.join(folder, 'malformed', 'manifest.tsv'), 'w') as manifest:
        manifest.write('# file\terror line matches (regular expression, any case)\n')
        for name, data, pattern in malformed():
            with open(os.path.join(folder, 'malformed', name), 'wb') as f:
                f.write(data)
            manifest.write(f'{name}\t{pattern}\n')


if __name__ == '__main__':
    main()
