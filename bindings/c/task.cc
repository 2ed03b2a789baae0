#include "task.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "outcome.h"

namespace memtool::c {

namespace {

using Work = std::function<std::unique_ptr<Outcome>(Task&)>;

std::unique_ptr<Outcome> Try(const Work& work, Task& task) {
  try {
    return work(task);
  } catch (const Abandoned&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return WithoutMemory();
  } catch (const std::exception& fault) {
    return InternalFault(fault.what());
  } catch (...) {
    return InternalFault("unknown");
  }
}

// A thread that leaves all signals to the others: the caller's handlers belong to its own.
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

}  // namespace

void Task::Reach(std::unique_ptr<Outcome> outcome) {
  const std::lock_guard lock(mutex_);
  reached_ = true;
  outcome_ = std::move(outcome);
  changed_.notify_all();
}

bool Task::WaitFor(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return reached_; });
}

std::unique_ptr<Outcome> Task::Take() {
  const std::lock_guard lock(mutex_);
  return std::move(outcome_);
}

void Start(const std::shared_ptr<Task>& task, Work work) {
  try {
    StartThread([task, work]() mutable {
      std::unique_ptr<Outcome> outcome = Try(work, *task);
      work = nullptr;  // what it owns may be large, and must be gone before the process ends
      task->Reach(std::move(outcome));
    });
  } catch (const std::system_error&) {
    task->Reach(Try(work, *task));
  }
}

}  // namespace memtool::c
