#include "session/thread_pool.h"

#include <system_error>

namespace memtool::commands {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(guard_);
    ends_ = true;
    waiting_.clear();
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool ThreadPool::HasThread() {
  const std::lock_guard lock(guard_);
  if (threads_.size() < most_ && idle_ <= waiting_.size()) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      most_ = threads_.size();  // these will do
    }
  }
  return !threads_.empty();
}

void ThreadPool::Put(std::function<void()> task) {
  {
    const std::lock_guard lock(guard_);
    waiting_.push_back(std::move(task));
  }
  wakes_.notify_one();
}

bool ThreadPool::WorkOne() {
  std::unique_lock lock(guard_);
  if (waiting_.empty()) {
    return false;
  }
  const std::function<void()> task = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  task();
  return true;
}

void ThreadPool::Run() {
  std::unique_lock lock(guard_);
  while (true) {
    ++idle_;
    wakes_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --idle_;
    if (ends_) {
      return;
    }
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // and what it holds, while others may take theirs
    lock.lock();
  }
}

}  // namespace memtool::commands
