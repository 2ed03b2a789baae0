// The functions of memtool_capture.h.
#define MEMTOOL_CAPTURE_API __attribute__((visibility("default")))
#include <atomic>
#include <cstring>

#include "base/thread_state.h"
#include "memtool_capture.h"
#include "record/recorder.h"

using memtool::capture::Attributes;
using memtool::capture::Busy;

namespace {

constexpr std::size_t kMaxDomains = 199;
// The last one is for all that found no free place.
std::atomic<const char*> g_domains[kMaxDomains + 1];
constexpr const char* kOtherDomains = "other domains";

// Domains are few and named by literals, of which several may have the same text.
std::size_t DomainNumber(const char* domain) {
  for (std::size_t i = 0; i < kMaxDomains; ++i) {
    const char* known = g_domains[i].load(std::memory_order_acquire);
    if (known == nullptr && g_domains[i].compare_exchange_strong(known, domain)) {
      return i;
    }
    if (strcmp(known == nullptr ? domain : known, domain) == 0) {
      return i;
    }
  }
  memtool::capture::CountLostDomain();
  g_domains[kMaxDomains].store(kOtherDomains, std::memory_order_relaxed);
  return kMaxDomains;
}

Attributes DomainAttributes(const char* domain, int device) {
  const std::size_t number = DomainNumber(domain);
  return {.space = static_cast<memtool::wire::Space>(
              static_cast<std::size_t>(memtool::wire::Space::kUser) + number),
          .kind = device < 0 ? memtool::wire::Kind::kHost : memtool::wire::Kind::kDevice,
          .level = memtool::wire::Level::kUser,
          .device = device < 0 ? -1 : device,
          .name = g_domains[number].load(std::memory_order_acquire)};
}

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

extern "C" {

int memtool_capture_version(void) {
  return 1;
}

void memtool_capture_start(void) {
  memtool::capture::StartUp();
  memtool::capture::SetRecording(true);
}

void memtool_capture_stop(void) {
  memtool::capture::StartUp();
  memtool::capture::SetRecording(false);
}

int memtool_capture_is_active(void) {
  return memtool::capture::Recording() ? 1 : 0;
}

void memtool_capture_record_alloc(const char* domain, const void* pointer, size_t size, int device,
                                  const void* stream) {
  if (domain == nullptr || !memtool::capture::Recording()) {
    return;
  }
  const Busy busy;
  Attributes attributes = DomainAttributes(domain, device);
  attributes.stream = Address(stream);
  memtool::capture::RecordAlloc(attributes, Address(pointer), size);
}

void memtool_capture_record_free(const char* domain, const void* pointer) {
  if (domain == nullptr || pointer == nullptr || !memtool::capture::Recording()) {
    return;
  }
  const Busy busy;
  memtool::capture::RecordFree(DomainAttributes(domain, -1), Address(pointer));
}

void memtool_capture_push_tag(const char* name) {
  const Busy busy;
  memtool::capture::PushTag(name == nullptr ? "" : name);
}

void memtool_capture_pop_tag(void) {
  memtool::capture::PopTag();
}

void memtool_capture_mark(const char* name, int64_t value) {
  if (memtool::capture::Recording()) {
    const Busy busy;
    memtool::capture::RecordMark(name == nullptr ? "" : name, value);
  }
}

void memtool_capture_snapshot(void) {
  memtool_capture_mark("snapshot", 0);
}

void memtool_capture_stats(struct memtool_capture_totals* totals, size_t size) {
  const memtool::capture::Totals now = memtool::capture::GetTotals();
  const memtool_capture_totals all{now.events, now.dropped, now.bytes};
  if (totals != nullptr) {
    memcpy(totals, &all, size < sizeof all ? size : sizeof all);
  }
}

const char* memtool_capture_log_path(void) {
  return memtool::capture::LogPath();
}

}  // extern "C"
