Out of memory.
Trying to allocate 16.00GiB
