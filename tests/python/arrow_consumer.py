"""A consumer of Arrow's C stream interface, written after its specification and by nothing else's code."""
import ctypes


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowStream(ctypes.Structure):
    pass


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ArrowSchema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                        ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
                        ("dictionary", ctypes.POINTER(ArrowSchema)), ("release", Release),
                        ("private_data", ctypes.c_void_p)]
ArrowArray._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                       ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                       ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                       ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
                       ("dictionary", ctypes.POINTER(ArrowArray)), ("release", Release),
                       ("private_data", ctypes.c_void_p)]
ArrowStream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowSchema))),
                        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
                        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
                        ("release", Release), ("private_data", ctypes.c_void_p)]

ITEMS = {b"l": ctypes.c_int64, b"i": ctypes.c_int32, b"s": ctypes.c_int16, b"c": ctypes.c_int8,
         b"L": ctypes.c_uint64, b"g": ctypes.c_double}


def bit(address, row):
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))[row // 8] >> (row % 8) & 1


def arrow_values(schema, array):
    """A column as a list, by the words of the interface's specification."""
    buffers, rows = array.buffers, array.length
    valid = [not buffers[0] or bit(buffers[0], row) for row in range(rows)]
    assert valid.count(0) == array.null_count
    if schema.format == b"U":
        offsets = ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_int64))
        text = [ctypes.string_at(buffers[2] + offsets[row], offsets[row + 1] - offsets[row]).decode()
                for row in range(rows)]
        return [value if here else None for value, here in zip(text, valid)]
    if schema.format == b"b":
        return [bool(bit(buffers[1], row)) if here else None for row, here in enumerate(valid)]
    data = ctypes.cast(buffers[1], ctypes.POINTER(ITEMS[schema.format]))
    values = [data[row] if here else None for row, here in enumerate(valid)]
    if schema.dictionary:
        words = arrow_values(schema.dictionary.contents, array.dictionary.contents)
        return [None if value is None else words[value] for value in values]
    return values


def arrow_table(answer):
    """-> the columns of an answer's stream, released as a consumer would."""
    capsule = answer.__arrow_c_stream__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ArrowStream.from_address(get(capsule, b"arrow_array_stream"))
    here = ctypes.addressof(stream)
    schema, array, end = ArrowSchema(), ArrowArray(), ArrowArray()
    assert stream.get_schema(here, ctypes.byref(schema)) == 0
    assert stream.get_next(here, ctypes.byref(array)) == 0
    assert stream.get_next(here, ctypes.byref(end)) == 0 and not end.release
    table = {schema.children[i].contents.name.decode():
             arrow_values(schema.children[i].contents, array.children[i].contents)
             for i in range(schema.n_children)}
    # The numbers are the answer's own, and outlive it.
    addresses = [array.children[i].contents.buffers[1] for i in range(array.n_children)]
    del capsule
    array.release(ctypes.addressof(array))
    schema.release(ctypes.addressof(schema))
    assert not array.release and not schema.release
    return table, addresses
