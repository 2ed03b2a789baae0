/* memtool_capture.h: what a program can tell the capture shim (libmemtool_capture.so).
 *
 * Every function is weak: a program that is not run under `memtool run` links and runs all the
 * same, if it calls them through the MEMTOOL_CAPTURE macro, which does nothing then:
 *
 *     MEMTOOL_CAPTURE(mark)("epoch", 3);
 *
 * All of them may be called from any thread. None blocks for longer than a record takes to write,
 * none fails: what cannot be recorded is counted in the log and shown by `memtool info`. Tags and
 * marks make no log: those before the first allocation or free wait for it.
 *
 * C89 and C++. No other header of memtool is needed. */
#ifndef MEMTOOL_CAPTURE_H
#define MEMTOOL_CAPTURE_H

/* NOLINTBEGIN(modernize-deprecated-headers): also C */
#include <stddef.h>
#include <stdint.h>
/* NOLINTEND(modernize-deprecated-headers) */

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEMTOOL_CAPTURE_API
#  define MEMTOOL_CAPTURE_API __attribute__((weak))
#endif

/* Calls a function when the shim is loaded; its value is lost. */
#define MEMTOOL_CAPTURE(name)    \
  if (!memtool_capture_##name) { \
  } else                         \
    memtool_capture_##name

/* Version of this interface: 1. */
MEMTOOL_CAPTURE_API int memtool_capture_version(void);

/* Recording on and off. It is on from the start unless MEMTOOL_CAPTURE_ENABLED=0. What is freed
 * while it is off stays live in the log. */
MEMTOOL_CAPTURE_API void memtool_capture_start(void);
MEMTOOL_CAPTURE_API void memtool_capture_stop(void);
MEMTOOL_CAPTURE_API int memtool_capture_is_active(void);

/* What an allocator of the program's own hands out of memory that it got from the driver. It has a
 * domain of its own beside the driver's and is never added to that. `domain` names the allocator
 * and must live as long as the process (a literal); `device` is the ordinal, -1 for the host;
 * `stream` may be null. */
MEMTOOL_CAPTURE_API void memtool_capture_record_alloc(const char* domain, const void* pointer,
                                                      size_t size, int device, const void* stream);
MEMTOOL_CAPTURE_API void memtool_capture_record_free(const char* domain, const void* pointer);

/* Names what the calling thread allocates until the matching pop; tags nest, the innermost counts.
 * Up to 16 deep; deeper ones are counted. A forked child keeps them. */
MEMTOOL_CAPTURE_API void memtool_capture_push_tag(const char* name);
MEMTOOL_CAPTURE_API void memtool_capture_pop_tag(void);

/* A named moment: `memtool top --at mark:NAME`. */
MEMTOOL_CAPTURE_API void memtool_capture_mark(const char* name, int64_t value);

/* A moment to look at later: the mark "snapshot". (The log holds the state at every moment.) */
MEMTOOL_CAPTURE_API void memtool_capture_snapshot(void);

struct memtool_capture_totals {
  uint64_t events;    /* written */
  uint64_t dropped;   /* not written: the log was full or stopped */
  uint64_t log_bytes; /* of the log file */
};
/* `size` is sizeof(struct memtool_capture_totals): later versions may add members. */
MEMTOOL_CAPTURE_API void memtool_capture_stats(struct memtool_capture_totals* totals, size_t size);

/* The log file of this process; "" before the first event. */
MEMTOOL_CAPTURE_API const char* memtool_capture_log_path(void);

#ifdef __cplusplus
}
#endif

#endif /* MEMTOOL_CAPTURE_H */
