#include "objects.h"

#include <cstring>

namespace memtool::capture {

namespace {

struct Table {
  Object* rows = nullptr;
  std::size_t count = 0;
};

Lock g_lock;
Table g_now;
Table g_next;
unsigned long long g_adds = 0;
unsigned long long g_subs = 0;
std::atomic<std::uint32_t> g_unloads{1};
std::atomic<std::uint32_t> g_version{0};
std::uint32_t g_last_id = 0;

struct Counters {
  unsigned long long adds = 0;
  unsigned long long subs = 0;
};

int ReadCounters(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  *static_cast<Counters*>(data) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

std::uint64_t Identity(const dl_phdr_info& info, const BuildId& id) {
  std::uint64_t hash = Mix(1, info.dlpi_addr);
  for (const char* c = info.dlpi_name; *c != '\0'; ++c) {
    hash = Mix(hash, static_cast<unsigned char>(*c));
  }
  for (std::size_t i = 0; i < id.size; ++i) {
    hash = Mix(hash, id.bytes[i]);
  }
  return hash;
}

int AddObject(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  Table& table = *static_cast<Table*>(data);
  const unsigned char* hdr = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
      hdr = reinterpret_cast<const unsigned char*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  const BuildId build_id = FindBuildId(*info);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) {
      continue;
    }
    if (table.count == kMostObjects) {
      return 1;
    }
    table.rows[table.count++] = {.start = info->dlpi_addr + segment.p_vaddr,
                                 .size = segment.p_memsz,
                                 .file_offset = segment.p_offset,
                                 .bias = info->dlpi_addr,
                                 .eh_frame_hdr = hdr,
                                 .path = info->dlpi_name,
                                 .build_id = build_id,
                                 .identity = Identity(*info, build_id),
                                 .id = 0};
  }
  return 0;
}

// Insertion: the linker's list is nearly sorted, and short.
void Sort(Table& table) {
  for (std::size_t i = 1; i < table.count; ++i) {
    const Object row = table.rows[i];
    std::size_t at = i;
    for (; at > 0 && table.rows[at - 1].start > row.start; --at) {
      table.rows[at] = table.rows[at - 1];
    }
    table.rows[at] = row;
  }
}

const Object* FindIn(const Table& table, std::uintptr_t address) {
  std::size_t low = 0;
  std::size_t high = table.count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (table.rows[middle].start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || address - table.rows[low - 1].start >= table.rows[low - 1].size) {
    return nullptr;
  }
  return &table.rows[low - 1];
}

}  // namespace

Objects::Objects() {
  g_lock.Acquire();
}

Objects::~Objects() {
  g_lock.Release();
}

bool Objects::Refresh() {
  Counters counters;
  dl_iterate_phdr(ReadCounters, &counters);
  if (counters.adds == g_adds && counters.subs == g_subs) {
    return false;
  }
  if (g_now.rows == nullptr) {
    g_now.rows = static_cast<Object*>(MapPages(kMostObjects * sizeof(Object)));
    g_next.rows = static_cast<Object*>(MapPages(kMostObjects * sizeof(Object)));
  }
  if (g_now.rows == nullptr || g_next.rows == nullptr) {
    return false;
  }
  g_next.count = 0;
  dl_iterate_phdr(AddObject, &g_next);
  Sort(g_next);
  for (std::size_t i = 0; i < g_next.count; ++i) {
    Object& row = g_next.rows[i];
    const Object* old = FindIn(g_now, row.start);
    row.id = old != nullptr && old->identity == row.identity && old->start == row.start
                 ? old->id
                 : ++g_last_id;
  }
  const Table swap = g_now;
  g_now = g_next;
  g_next = swap;
  if (counters.subs != g_subs) {
    g_unloads.fetch_add(1, std::memory_order_release);
  }
  g_adds = counters.adds;
  g_subs = counters.subs;
  g_version.fetch_add(1, std::memory_order_release);
  return true;
}

const Object* Objects::Find(std::uintptr_t address) const {
  return FindIn(g_now, address);
}

const Object* Objects::begin() const {
  return g_now.rows;
}

const Object* Objects::end() const {
  return g_now.rows + g_now.count;
}

std::uint32_t Objects::UnloadCount() {
  return g_unloads.load(std::memory_order_acquire);
}

std::uint32_t Objects::Version() {
  return g_version.load(std::memory_order_acquire);
}

void Objects::ResetLock() {
  g_lock.Reset();
}

}  // namespace memtool::capture
