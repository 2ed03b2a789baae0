"""Unwind tables: every form that compilers write, and tables and frames that are wrong."""
from harness import SKIPPED, compare_books, events_of, read_header, same
from tests_hostile import only_x86, program

# As many as were looked at when the reads were bounded: numbers are seeds, so that more of them are
# `damaged_tables LIBRARY FOLDER 700 1000000`.
DAMAGED = 700


def stacks_of(env):
    """-> per allocation, the names of its frames, innermost first."""
    text = env.ask("raw", env.log())
    names = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 3 and words[0].endswith(":") and words[2].startswith("M="):
            names[words[0][:-1]] = line.split(words[2], 1)[1]
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
        assert "_start" in stack[-1] and any(" main " in frame for frame in stack), stack
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
    names = [frame.split()[0] for frame in stack if frame.split()]
    same(["allocate", "inner", "routine"], names[:3], "frames")
