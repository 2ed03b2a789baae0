#include "base/thread_state.h"

namespace memtool::capture {

__thread ThreadState t_state __attribute__((tls_model("initial-exec")));

}  // namespace memtool::capture
