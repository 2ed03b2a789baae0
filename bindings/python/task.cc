#include "task.h"

#include <pthread.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace memtool::python {

namespace {

constexpr std::chrono::milliseconds kLook{50};  // for signals: at once, to a person
// Reading stops at its next 256 KiB, and so within milliseconds; an answer that is being worked out
// does not look whether it is wanted.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kPatienceWithPipes{100};

struct Running {
  std::shared_ptr<Task> task;
  pid_t process;  // a fork has the list, and not the threads
};

struct Registry {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Running> running;
};

// Never destroyed: threads may outlive everything that is.
Registry& TheRegistry() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): threads are the process's
  static auto* const registry = new Registry;
  return *registry;
}

void Enter(const std::shared_ptr<Task>& task) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.running.push_back({task, ::getpid()});
}

void Leave(const std::shared_ptr<Task>& task) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::erase_if(registry.running, [&](const Running& one) { return one.task == task; });
  registry.changed.notify_all();
}

// How the work ends, for the one who waits.
struct End {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
  std::exception_ptr thrown;

  void Reach(std::exception_ptr what) {
    const std::lock_guard lock(mutex);
    reached = true;
    thrown = std::move(what);
    changed.notify_all();
  }
  bool WaitFor(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, time, [this] { return reached; });
  }
};

std::exception_ptr Try(const std::function<void(Task&)>& work, Task& task) {
  try {
    work(task);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// A thread that leaves all signals to the others: Python's handlers belong to its own.
void StartThread(std::function<void()> body) {
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(body)).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The task is wanted as long as this is there.
class Wanted {
 public:
  explicit Wanted(Task& task) : task_(task) {}
  ~Wanted() { task_.Abandon(); }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

 private:
  Task& task_;
};

bool WaitWithoutLock(End& end) {
  const py::gil_scoped_release release;
  return end.WaitFor(kLook);
}

}  // namespace

void RunTask(std::function<void(Task&)> work, const std::function<void(const Task&)>& on_progress) {
  const auto task = std::make_shared<Task>();
  const auto end = std::make_shared<End>();
  const Wanted wanted(*task);
  Enter(task);
  try {
    StartThread([task, end, work]() mutable {
      std::exception_ptr thrown = Try(work, *task);
      work = nullptr;  // what it owns may be large, and must be gone before the process ends
      end->Reach(std::move(thrown));
      Leave(task);
    });
  } catch (const std::system_error&) {
    // There is no thread to be had: Ctrl-C has to wait.
    const py::gil_scoped_release release;
    end->Reach(Try(work, *task));
    Leave(task);
  }
  work = nullptr;
  for (bool ended = false; !ended;) {
    ended = WaitWithoutLock(*end);
    if (PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
    on_progress(*task);
  }
  if (end->thrown) {
    std::rethrow_exception(end->thrown);
  }
}

void StopTasks() {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  const auto is_there = [&](bool with_pipes) {
    return std::any_of(registry.running.begin(), registry.running.end(), [&](const Running& one) {
      return one.process == ::getpid() && (with_pipes || !one.task->may_wait);
    });
  };
  for (const Running& one : registry.running) {
    one.task->Abandon();
  }
  registry.changed.wait_for(lock, kPatienceWithPipes, [&] { return !is_there(true); });
  registry.changed.wait_for(lock, kPatience, [&] { return !is_there(false); });
}

}  // namespace memtool::python
