// What the shim stands on: a lock without libpthread, per-thread flags, fixed tables in mapped
// memory. The shim lives in other people's processes: nothing here allocates with malloc, throws,
// or needs a symbol newer than GLIBC_2.28.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memtool::capture {

// A futex, because pthread_mutex_* moved between libraries and symbol versions.
class Lock {
 public:
  void Acquire();
  void Release();
  void Reset() { state_.store(0, std::memory_order_relaxed); }  // in a forked child

 private:
  std::atomic<std::uint32_t> state_{0};  // 0 free, 1 held, 2 held and waited for
};

class Hold {
 public:
  explicit Hold(Lock& lock) : lock_(lock) { lock_.Acquire(); }
  ~Hold() { lock_.Release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Lock& lock_;
};

// Initial-exec, so that reading it never allocates; __thread, because it needs no initialization.
struct ThreadState {
  std::uint32_t busy;       // inside a wrapper: what the driver calls from there is not recorded
  std::uint32_t thread_id;  // of the log; 0 = not written yet
  std::uint32_t epoch;      // the log that thread_id belongs to
  std::uint32_t tag_depth;
  std::uint32_t tags[16];    // pushed tags: see names.h
  std::uintptr_t stack_low;  // bounds of the thread's stack; 0 = not asked yet
  std::uintptr_t stack_high;
  std::uint32_t replay;        // a wrapper is told what a call did that has happened: see cupti.cc
  std::int32_t replay_status;  // the call's
  std::uint32_t inside;        // the recorder: see log.h
};
extern __thread ThreadState t_state __attribute__((tls_model("initial-exec")));

// Marks the thread as inside the shim. entered(): it was not before.
class Busy {
 public:
  Busy() : entered_(t_state.busy++ == 0) {}
  ~Busy() { --t_state.busy; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  bool entered_;
};

// Zeroed pages, or nullptr.
void* MapPages(std::size_t bytes);

// Open addressing over a fixed number of slots: full is full, so that memory stays bounded. Pages
// that no entry reached cost nothing. Not locked.
template <class Key, std::size_t kSlots>
class FixedTable {
 public:
  static constexpr std::uint32_t kFull = 0;
  static constexpr std::uint32_t kMost = kSlots / 4 * 3;
  struct Slot {
    Key key;
    std::uint32_t id;  // 0 = free
  };

  // The id of `key`; *added when it is new. kFull when there is no room.
  std::uint32_t Find(const Key& key, bool* added) {
    *added = false;
    if (slots_ == nullptr) {
      slots_ = static_cast<Slot*>(MapPages(kSlots * sizeof(Slot)));
      if (slots_ == nullptr) {
        return kFull;
      }
    }
    std::size_t at = static_cast<std::size_t>(key.Hash()) & (kSlots - 1);
    while (slots_[at].id != 0) {
      if (slots_[at].key == key) {
        return slots_[at].id;
      }
      at = (at + 1) & (kSlots - 1);
    }
    if (count_ >= kMost) {
      return kFull;
    }
    *added = true;
    slots_[at].key = key;
    slots_[at].id = ++count_;
    return count_;
  }
  void Clear() {
    if (slots_ != nullptr) {
      munmap(slots_, kSlots * sizeof(Slot));
      slots_ = nullptr;
    }
    count_ = 0;
  }

 private:
  Slot* slots_ = nullptr;
  std::uint32_t count_ = 0;
};

constexpr std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 32U;
}

// Text without the C library's locale or allocation.
std::size_t CutLength(const char* text, std::size_t most);
void CopyText(char* to, std::size_t size, const char* text);
// Loops of our own: dlsym is called before a sanitizer's replacements of strcmp and the like work.
bool StartsWith(const char* text, const char* prefix);
bool Equal(const char* a, const char* b);
const char* BaseName(const char* path);
// One line on stderr: only for settings that the user got wrong.
void Complain(const char* message, const char* detail);

std::int64_t Now(int clock);

}  // namespace memtool::capture
