// Whether this is still the process that the log belongs to. pthread_atfork reports fork(); a child
// that the program makes by clone, _Fork or the bare system call is recognised by a page that the
// kernel clears in children.
#pragma once

namespace memtool::capture {

// Once, when the library is loaded.
void WatchForks();
// True in a child until ForkSettled(). Costs one load; where the kernel cannot clear pages, a
// system call.
bool Forked();
// True for one thread of the child, which has to renew what the parent left; the others wait here
// until it has.
bool SettleFork();
void ForkSettled();

}  // namespace memtool::capture
