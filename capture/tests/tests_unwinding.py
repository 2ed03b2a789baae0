"""Unwind tables: every form that compilers write, and tables and frames that are wrong."""
import re

from harness import SKIPPED, compare_books, events_of, read_header, same
from tests_hostile import only_x86, program

# As many as were looked at when the reads were bounded: numbers are seeds, so that more of them are
# `damaged_tables LIBRARY FOLDER 700 1000000`.
DAMAGED = 700


def stacks_of(env):
    """-> per allocation, the names of its frames, innermost first."""
    names = dict(re.findall(r"^  (\d+): 0x[0-9a-f]+(?: M=\d+)? (.+?)(?: \S+:\d+:\d+ s=\d+)?$",
                            env.ask("raw", env.log()), re.M))
    return [[names.get(number, "") for number in row[5]] for row in events_of(env, env.log())
            if row[1] == "alloc"]


def test_shapes(env):
    """Every form of rule is followed to the end, out of a signal handler too."""
    if only_x86():
        return SKIPPED
    calling = program(env, "calling", r'''
int main(int count, char** words) {
  begin();
  void* library = open_or_end(words[1]);
  ((void (*)(void (*)(void)))dlsym(library, "CallFromEveryShape"))(allocate);
  return 0;
}
''')
    env.run(calling, env.programs / "libunwind_shapes.so")
    same(0, read_header(env.log())["unwind"], "stacks that ended early")
    found = set()
    for stack in stacks_of(env):
        assert stack[-1] == "_start" and "main" in stack, stack
        found |= {shape for shape in ("Plain", "Saving", "Growing", "Realigned", "Cleaning", "Signalled")
                  if any(shape in frame for frame in stack)}
    same({"Plain", "Saving", "Growing", "Realigned", "Cleaning", "Signalled"}, found, "shapes")


def test_damaged_tables(env):
    """Whatever the tables of a library say, its callers end as they do without the shim."""
    found = env.run(env.programs / "damaged_tables", env.programs / "libunwind_shapes.so", env.folder,
                    0, DAMAGED)
    same(f"0 of {DAMAGED} harmed", found.stdout.strip(), "damaged tables")


# Functions whose rules are wrong about them: `name`, what it does to the registers and undoes.
MISLEADING = {
    "scratch": ("push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmov %rsp,%rbp\n"
                ".cfi_def_cfa_register 6\nmov {value},%rbp\nsub $16,%rsp", "add $16,%rsp\npop %rbp"),
    "forgot": ("push %rbp\nsub $48,%rsp\nmov {value},%rax\nmov %rax,(%rsp)\nmov %rax,8(%rsp)",
               "add $48,%rsp\npop %rbp"),
    "saved": ("push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-1048576\nmov {value},%rbp",
              "pop %rbp\n.cfi_def_cfa_offset 8"),
    "stored": ("push %rbp\nmov {value},%rbp\n.cfi_escape 0x0f,3,0x76,0,6", "pop %rbp"),
    "itself": ("push %rbp\n.cfi_def_cfa_offset 16\nmov {value},%rbp\n.cfi_escape 0x10,6,2,0x76,8",
               "pop %rbp\n.cfi_def_cfa_offset 8"),
    "below": ("push %rbp\n.cfi_def_cfa_offset -4096", "pop %rbp\n.cfi_def_cfa_offset 8"),
    "above": ("push %rbp\n.cfi_def_cfa_offset 16777216", "pop %rbp\n.cfi_def_cfa_offset 8"),
    "signal": ("push %rbp\nsub $16,%rsp\n.cfi_signal_frame", "add $16,%rsp\npop %rbp"),
}
# What a register holds that is none of a frame: small, not canonical, without access, odd, a heap's.
VALUES = ("$0x12345", "$0x4141414141414141", "hidden(%rip)", "%rsp", "$-8", "heap(%rip)")


def misleading():
    """-> the functions in assembly, their names."""
    lines, names = [], []
    for kind, (before, after) in MISLEADING.items():
        for number, value in enumerate(VALUES if "{value}" in before else VALUES[:1]):
            name = f"{kind}_{number}"
            names.append(name)
            lines += [".text", f".globl {name}", f".type {name},@function", f"{name}:",
                      ".cfi_startproc", *before.replace("{value}", value).split("\n"), "call allocate",
                      *after.split("\n"), "ret", ".cfi_endproc", f".size {name},.-{name}"]
    return "".join(f'__asm__("{line}");\n' for line in lines), names


def test_misled(env):
    """Rules that lead out of the stack: on the thread's, on another's and on one of its own."""
    if only_x86():
        return SKIPPED
    functions, names = misleading()
    misled = program(env, "misled", f"#include <ucontext.h>\nvoid *hidden, *heap;\n{functions}\n"
                     f"void {'(void), '.join(names)}(void);\n"
                     f"static void (*const all[])(void) = {{{', '.join(names)}}};\n" + r'''
static void run_all(void) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) all[i]();
}
static void* in_thread(void* unused) { cuCtxSetCurrent(context); run_all(); return unused; }
static void on_signal(int number) { run_all(); }
static ucontext_t back, other;
int main(void) {
  begin();
  hidden = mmap(0, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 32768;
  heap = malloc(65536);
  run_all();
  pthread_t thread;
  pthread_create(&thread, 0, in_thread, 0);
  pthread_join(thread, 0);
  /* A stack with nothing readable above it. */
  char* stack = pages(0, 65536, 0);
  mprotect(stack + 61440, 4096, PROT_NONE);
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = 61440;
  other.uc_link = &back;
  makecontext(&other, run_all, 0);
  swapcontext(&back, &other);
  stack_t handlers = {.ss_sp = stack, .ss_size = 61440};
  sigaltstack(&handlers, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, 0);
  raise(SIGUSR2);
  printf("done\n");
  return 0;
}
''')
    same("done\n", env.run(misled, shim=False).stdout, "without the shim")
    same("done\n", env.run(misled).stdout, "under the shim")
    same(4 * len(names), sum(row[1] == "alloc" for row in events_of(env, env.log())), "allocations")
    assert read_header(env.log())["unwind"] > 2 * len(names), "these stacks end early"


def test_other_stacks(env):
    """Stacks that are not the thread's are followed to their own end."""
    switching = program(env, "switching", r'''
#include <ucontext.h>
static ucontext_t back, other;
void inner(void) { allocate(); __asm__ volatile(""); }
void routine(void) { inner(); __asm__ volatile(""); }
int main(void) {
  begin();
  char* stack = pages(0, 1 << 22, 0);
  mprotect(stack + (1 << 22) - 4096, 4096, PROT_NONE);
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = (1 << 22) - 4096;
  other.uc_link = &back;
  makecontext(&other, routine, 0);
  swapcontext(&back, &other);
  return 0;
}
''')
    env.run(switching)
    compare_books(env, "other stacks")
    (stack,) = stacks_of(env)
    same(["allocate", "inner", "routine"], stack[:3], "frames")


# Of a version: offsets of the head in the thread state and in what that points at (-1: it points at
# the frame), of a frame's link, code and owner (0: it has none), of a code object's name, file,
# first line and lines, and of a string's characters.
INTERPRETERS = {
    "3.9.1": (24, -1, 24, 32, 0, 112, 104, 40, 120, 48),
    "3.10.1": (24, -1, 24, 32, 0, 112, 104, 40, 120, 48),
    "3.11.1": (56, 8, 48, 32, 0, 128, 112, 72, 136, 48),
    "3.12.1": (56, 0, 8, 0, 70, 128, 112, 68, 136, 40),
    "3.13.1": (72, -1, 8, 0, 70, 128, 112, 68, 136, 40),
}


def test_damaged_python(env):
    """An interpreter whose chains are sound at first, and then damaged in every link."""
    interpreter = program(env, "interpreter", r'''
#include <stdint.h>
enum { HEAD, INDIRECT, PREVIOUS, CODE, OWNER, NAME, FILE_NAME, FIRST_LINE, LINES, CHARACTERS, OFFSETS };
static int at[OFFSETS];
static const char* version;
char PyCode_Type[512];
static char* state;
const char* Py_GetVersion(void) { return version; }
void* PyGILState_GetThisThreadState(void) { return state; }
#define WORD(object, offset) (*(uintptr_t*)((object) + (offset)))
enum { FRAMES = 5, ROOM = 1024 };
static char *frames, *codes, *strings, *head;
static int line;
static void build(void) {  /* anew, and with lines that were never seen */
  state = pages(0, 16384, 0);
  frames = pages(0, 16384, 0);
  codes = pages(0, 16384, 0);
  strings = pages(0, 16384, 0);
  head = at[INDIRECT] < 0 ? state + at[HEAD] : frames + 8192 + at[INDIRECT];
  if (at[INDIRECT] >= 0) WORD(state, at[HEAD]) = (uintptr_t)frames + 8192;
  WORD(head, 0) = (uintptr_t)frames;
  for (int i = 0; i < FRAMES; ++i) {
    char *frame = frames + i * ROOM, *code = codes + i * ROOM, *text = strings + i * ROOM;
    WORD(frame, at[PREVIOUS]) = i + 1 < FRAMES ? (uintptr_t)frame + ROOM : 0;
    WORD(frame, at[CODE]) = (uintptr_t)code;
    WORD(code, 8) = (uintptr_t)PyCode_Type;
    WORD(code, at[NAME]) = WORD(code, at[FILE_NAME]) = (uintptr_t)text;
    *(int*)(code + at[FIRST_LINE]) = ++line;
    WORD(code, at[LINES]) = (uintptr_t)text + 512;
    WORD(text, 16) = 5;
    *(unsigned*)(text + 32) = 1 << 2 | 1 << 5 | 1 << 6;
    memcpy(text + at[CHARACTERS], "sound", 5);
    WORD(text, 512 + 16) = 4;
  }
}
int main(int count, char** words) {
  version = words[1];
  for (int i = 0; i < OFFSETS; ++i) at[i] = atoi(words[2 + i]);
  begin();
  build();
  allocate();
  char* hidden = (char*)mmap(0, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 8192;
  char* edge = pages(0, 8192, 0) + 4096 - 8;  /* its last 8 bytes can be read */
  mprotect(edge + 8, 4096, PROT_NONE);
  const uintptr_t wild[] = {1, 16, 0x123450, (uintptr_t)hidden, (uintptr_t)edge, 0x4141414141414140,
                            (uintptr_t)-8, (uintptr_t)-16, 0x7fffffffffff, (uintptr_t)PyCode_Type};
  for (int w = 0; w < (int)(sizeof wild / sizeof *wild); ++w) {
    for (int place = 0; place < 14; ++place) {
      build();
      char *frame = frames + ROOM, *code = codes + ROOM, *text = strings + ROOM;
      uintptr_t* places[] = {
          &WORD(state, at[HEAD]), &WORD(head, 0), &WORD(frame, at[PREVIOUS]), &WORD(frame, at[CODE]),
          &WORD(code, 8), &WORD(code, at[NAME]), &WORD(code, at[FILE_NAME]), &WORD(code, at[LINES]),
          &WORD(text, 16), &WORD(text, 32), &WORD(text, 512 + 16)};
      if (place < 11) *places[place] = wild[w];
      if (place == 11) state = (char*)wild[w];
      if (place == 12) WORD(frames, at[PREVIOUS]) = (uintptr_t)frames;  /* a ring */
      if (place == 13) {
        WORD(frames, at[PREVIOUS]) = (uintptr_t)frames;
        if (at[OWNER]) frames[at[OWNER]] = 3;  /* of frames that are not Python's */
      }
      alarm(20);
      allocate();
    }
  }
  /* Pages that could be read, and are still pointed at when they are gone. */
  char** parts[] = {&state, &frames, &codes, &strings};
  for (int gone = 0; gone < 4; ++gone) {
    build();
    allocate();
    WORD(codes + 4 * ROOM, 8) = 0;  /* the outermost: what is before it is read as before */
    allocate();
    munmap(*parts[gone], 16384);
    allocate();
  }
  build();
  allocate();
  printf("done\n");
  return 0;
}
''')
    for version, offsets in INTERPRETERS.items():
        for path in env.logs():
            path.unlink()
        same("done\n", env.run(interpreter, version, *offsets).stdout, version)
        header = read_header(env.log())
        same(5, header["python"], f"{version}: on, and never compared")
        assert header["unwind"] > 50, f"{version}: {header['unwind']} stacks ended early"
        for number in (0, -1):
            same(5, stacks_of(env)[number].count("sound"), f"{version}: frames of a sound chain")
