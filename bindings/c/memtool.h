/* memtool for other programs, in plain C: files are read, the program's own command lines are
 * answered, and answers are columns of numbers and words. What the program asks and answers:
 * memtool(1); what is here: bindings/c/README.md.
 *
 * Texts end with a NUL that their size does not count. They are UTF-8 unless it says otherwise;
 * what is not UTF-8 in an input is U+FFFD. Sizes are bytes, times microseconds. JSON is that of the
 * command's `--format json`.
 *
 * Ownership: what a function returns belongs to the caller, who gives it to the function named
 * there, once. What a struct points to belongs to that struct. Nothing here changes after it was
 * returned, but for a task.
 *
 * Threads: any thread may call any function at any time; only freeing something must not overlap
 * with another use of it. There is no state but what the caller holds. A task has a thread of its
 * own, which leaves all signals to others.
 *
 * Errors: a function that returns a pointer returns NULL when there is no memory. All else that can
 * fail is in the outcome. Nothing is thrown, printed or ended, except by memtool_main.
 */
#ifndef MEMTOOL_H
#define MEMTOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct memtool_text {
  const char* bytes;
  size_t size;
} memtool_text;

/* --- what comes back --- */

/* A file that was read. */
typedef struct memtool_input {
  const char* format; /* for people */
  int has_history;    /* 1: it holds events, and so there are moments */
} memtool_input;

typedef struct memtool_error {
  const char* code;  /* "io", "malformed", "limit", "usage", …; "memory", "internal" */
  memtool_text text; /* all of it on one line, as the program says it, without control characters */
  memtool_text input; /* the file that it is about, bytes as they were given; empty: none */
  memtool_text message;
  memtool_text hint; /* what to do about it; may be empty */
  int64_t offset;    /* the byte in the input, unpacked; -1: not known */
  int system_error;  /* errno, where the operating system refused something; else 0 */
} memtool_error;

typedef struct memtool_column {
  const char* key;   /* as in JSON */
  const char* title; /* as in the command's table; empty: it has no such column */
  const char* unit;  /* "bytes", "count", "ordinal", "ratio", "microseconds", "address", "text" or
                        "nested" */
  /* What one number is: q int64, i int32, h int16, b int8, Q uint64, d double, ? a byte that is 0
   * or 1; 0: there are no numbers, but lists and objects (memtool_nested). */
  char type;
  const void* data;       /* rows numbers. Of text: which word, -1 where it is missing. */
  const uint8_t* missing; /* rows bytes, 1 where a number is missing; NULL: nowhere, and for text */
  /* Of text: word n are the bytes word_ends[n] up to word_ends[n + 1] of words. */
  size_t word_count;
  const char* words;
  const int64_t* word_ends; /* NULL: this is no text */
} memtool_column;

typedef struct memtool_table {
  const char* question;    /* the command */
  const char* unit;        /* of amounts: "bytes", or what is counted */
  const char* sample_type; /* what was summed up: "space" */
  size_t rows;
  size_t column_count;
  const memtool_column* columns;
  memtool_text inputs;      /* JSON, a list of objects: path, format, moment */
  memtool_text diagnostics; /* JSON, a list of objects */
  memtool_text figures;     /* JSON, an object: what is said besides the rows */
} memtool_table;

typedef struct memtool_outcome {
  int code; /* the program's exit code: 0, 1 a threshold, 4 damage with --strict; else it failed */
  memtool_text out;           /* what the program would write out, of any encoding */
  memtool_text err;           /* and say */
  const memtool_error* error; /* NULL: none */
  const memtool_table* table; /* NULL: the answer is in `out` */
  const memtool_input* input; /* of memtool_load, valid as long as the outcome */
} memtool_outcome;

/* NULL is allowed. A stream made of it remains. */
void memtool_outcome_free(memtool_outcome* outcome);

/* --- work --- */

typedef struct memtool_task memtool_task;

typedef struct memtool_named_input {
  const char* name; /* as the command line has it */
  const memtool_input* input;
} memtool_named_input;

/* Begins to read a file. `moment`: "peak", "event:1000", …, only looked at whether there can be
 * such a one; or NULL. What the pointers point to is copied. To be freed by memtool_task_free.
 * Where no thread can be had, the work is done when this returns. */
memtool_task* memtool_load(const char* path, const char* moment);
/* Begins a command line, without the program's name. Names that are among `inputs` are not read
 * again. `as_table`: 1: an answer with rows becomes a table instead of text. */
memtool_task* memtool_ask(const char* const* words, size_t word_count,
                          const memtool_named_input* inputs, size_t input_count, int as_table);
/* Waits at most so long. 1: the work is done. */
int memtool_wait(memtool_task* task, unsigned milliseconds);
/* How far reading has come, in bytes as they lie in the file; and how many there are, -1 for a
 * pipe. */
uint64_t memtool_bytes_read(const memtool_task* task);
int64_t memtool_bytes_total(const memtool_task* task);
/* 1: it reads a pipe, whose writer may take any time. */
int memtool_reads_pipe(const memtool_task* task);
/* The work is not wanted any more. Reading ends at its next 256 KiB; an answer that is being worked
 * out, or a pipe that nobody writes to, goes on, also
 * while the process ends. */
void memtool_cancel(memtool_task* task);
/* The outcome, once; NULL while the work goes on. To be freed by memtool_outcome_free. */
memtool_outcome* memtool_finish(memtool_task* task);
/* Cancels what goes on. NULL is allowed. */
void memtool_task_free(memtool_task* task);

/* --- columns --- */

/* A column of lists and objects: its values as one JSON list in `out`. */
memtool_outcome* memtool_nested(const memtool_outcome* outcome, size_t column);

/* The table as one batch of Arrow's C stream interface, whose consumer gets numbers without a copy:
 * text is dictionary-encoded; lists and objects are text, as JSON. NULL also where there is no
 * table. To be freed by memtool_stream_free, also when its consumer has released it. */
struct ArrowArrayStream;
struct ArrowArrayStream* memtool_stream(const memtool_outcome* outcome);
void memtool_stream_free(struct ArrowArrayStream* stream);
/* The same for the stream in a PyCapsule named "arrow_array_stream": its destructor, in a process
 * of CPython. */
void memtool_capsule_free(void* capsule);

/* --- words --- */

const char* memtool_version(void); /* lives for ever */
/* In `out`, JSON: command → [summary, option → [what its value is called, short help, letter, may
 * be repeated]], without the commands that need a process of their own. */
memtool_outcome* memtool_vocabulary(void);
/* In `out`, bytes as a terminal may have them, at most `width` cells; `code`: how many cells that
 * takes. */
memtool_outcome* memtool_show(const char* bytes, size_t size, size_t width);

/* --- the program --- */

/* The whole program, in a process of its own: it reads and writes the process's own descriptors,
 * bounds its memory and takes its signals. `argv` begins with the program's name. `folder`: where
 * libmemtool_capture.so lies; or NULL. Returns the exit code. */
int memtool_main(int argc, const char* const* argv, const char* folder);

#ifdef __cplusplus
}
#endif

#endif /* MEMTOOL_H */
