#include "objects/object_table.h"

#include <atomic>
#include <cstring>

#include "base/fixed_table.h"
#include "base/pages.h"
#include "base/text.h"
#include "objects/elf_image.h"
#include "wire.h"

namespace memtool::capture {

namespace {

constexpr std::size_t kTextBytes = std::size_t{1} << 22U;  // paths of one table

struct Table {
  Object* rows = nullptr;
  char* text = nullptr;
  std::size_t count = 0;
  std::size_t text_size = 0;
  std::uint32_t left_out = 0;
};

struct Counters {
  unsigned long long adds = 0;
  unsigned long long subs = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

Lock g_lock;
Table g_now;
Table g_next;
Counters g_counters;  // of g_now
std::atomic<std::uint32_t> g_version{0};
std::uint32_t g_last_id = 0;
std::uint32_t g_most_left_out = 0;
std::atomic<std::uint32_t> g_left_out{0};

bool HaveTables() {
  for (Table* table : {&g_now, &g_next}) {
    if (table->rows == nullptr) {
      table->rows = static_cast<Object*>(MapPages(kMaxObjects * sizeof(Object)));
    }
    if (table->text == nullptr) {
      table->text = static_cast<char*>(MapPages(kTextBytes));
    }
    if (table->rows == nullptr || table->text == nullptr) {
      return false;
    }
  }
  return true;
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

// The path in the table's own text, or nullptr when there is no room.
const char* KeepPath(Table& table, const char* path) {
  const std::size_t size = CutLength(path, wire::kMaxText - 1);
  if (kTextBytes - table.text_size <= size) {
    return nullptr;
  }
  char* kept = table.text + table.text_size;
  memcpy(kept, path, size);
  kept[size] = '\0';
  table.text_size += size + 1;
  return kept;
}

void AddObject(const dl_phdr_info& info, Table& table) {
  Object row;
  row.bias = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
      row.eh_frame_hdr = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
      row.tables = FindSegment(info, row.eh_frame_hdr);
    }
  }
  const BuildId build_id = FindBuildId(info);
  row.build_id_size = static_cast<std::uint32_t>(
      build_id.size < sizeof row.build_id ? build_id.size : sizeof row.build_id);
  memcpy(row.build_id, build_id.bytes, row.build_id_size);
  row.identity = Identity(info, build_id);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) {
      continue;
    }
    if (row.path == nullptr) {
      row.path = KeepPath(table, info.dlpi_name);
    }
    if (table.count == kMaxObjects || row.path == nullptr) {
      ++table.left_out;
      return;
    }
    row.start = info.dlpi_addr + segment.p_vaddr;
    row.size = segment.p_memsz;
    row.file_offset = segment.p_offset;
    table.rows[table.count++] = row;
  }
}

// Shell sort: the linker's list is mostly in descending order, and may be thousands long.
void Sort(Table& table) {
  for (const std::size_t gap : {1750U, 701U, 301U, 132U, 57U, 23U, 10U, 4U, 1U}) {
    for (std::size_t i = gap; i < table.count; ++i) {
      const Object row = table.rows[i];
      std::size_t at = i;
      for (; at >= gap && table.rows[at - gap].start > row.start; at -= gap) {
        table.rows[at] = table.rows[at - gap];
      }
      table.rows[at] = row;
    }
  }
}

// The number of rows that start at or before `address`.
std::size_t CountUpTo(const Table& table, std::uintptr_t address) {
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
  return low;
}

const Object* FindIn(const Table& table, std::uintptr_t address) {
  const std::size_t count = CountUpTo(table, address);
  if (count == 0 || address - table.rows[count - 1].start >= table.rows[count - 1].size) {
    return nullptr;
  }
  return &table.rows[count - 1];
}

// One walk over the linker's list, which does not change while it lasts. It ends at the first step
// when the table is current.
struct Pass {
  Objects::Look look = nullptr;
  std::uintptr_t address = 0;
  void* data = nullptr;
  bool started = false;
  bool current = false;
  Counters counters;
};

int OnObject(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  Pass& pass = *static_cast<Pass*>(data);
  if (!pass.started) {
    pass.started = true;
    pass.counters = {info->dlpi_adds, info->dlpi_subs};
    pass.current = pass.counters == g_counters;
    if (pass.current) {
      if (pass.look != nullptr) {
        pass.look(FindIn(g_now, pass.address), pass.address, pass.data);
      }
      return 1;
    }
    g_next.count = 0;
    g_next.text_size = 0;
    g_next.left_out = 0;
  }
  AddObject(*info, g_next);
  return 0;
}

void UseNext(const Counters& counters) {
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
  g_counters = counters;
  g_most_left_out = g_now.left_out > g_most_left_out ? g_now.left_out : g_most_left_out;
  const std::uint32_t without_id = g_last_id < kMaxMappingIds ? 0 : g_last_id - kMaxMappingIds + 1;
  g_left_out.store(g_most_left_out + without_id, std::memory_order_relaxed);
  g_version.fetch_add(1, std::memory_order_release);
}

// With the lock held. With a `look`, repeats until one pass has found the table current.
bool Walk(Pass pass) {
  constexpr int kMaxTries = 100;  // a thread that loads and unloads without end
  for (int tries = 0; tries < kMaxTries && HaveTables(); ++tries) {
    pass.started = false;
    dl_iterate_phdr(OnObject, &pass);
    if (pass.current || !pass.started) {
      return pass.current;
    }
    UseNext(pass.counters);
    if (pass.look == nullptr) {
      return true;
    }
  }
  return false;
}

}  // namespace

int IterateObjects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  const LockGuard guard(g_lock);
  return ForEachObject(visit, data);
}

std::uint32_t Objects::Refresh() {
  const LockGuard guard(g_lock);
  Walk({});
  return Version();
}

std::uint32_t Objects::Version() {
  return g_version.load(std::memory_order_acquire);
}

bool Objects::LookAt(std::uintptr_t address, Look look, void* data) {
  const LockGuard guard(g_lock);
  return Walk({.look = look, .address = address, .data = data});
}

std::uint32_t Objects::LeftOut() {
  return g_left_out.load(std::memory_order_relaxed);
}

void Objects::FindIds(const std::uintptr_t* addresses, std::uint32_t count, std::uint32_t* ids) {
  const LockGuard guard(g_lock);
  const Object* last = nullptr;  // neighbours in a stack are often neighbours in memory
  for (std::uint32_t i = 0; i < count; ++i) {
    // A return address may be the first byte after its function.
    const std::uintptr_t address = addresses[i] - 1;
    if (last == nullptr || address - last->start >= last->size) {
      last = FindIn(g_now, address);
    }
    ids[i] = last == nullptr ? 0 : last->id;
  }
}

bool Objects::CopyAfter(std::uintptr_t start, Object* object, char* text, std::size_t size) {
  const LockGuard guard(g_lock);
  const std::size_t at = CountUpTo(g_now, start);
  if (at == g_now.count) {
    return false;
  }
  *object = g_now.rows[at];
  CopyText(text, size, object->path);
  object->path = text;
  return true;
}

void Objects::WaitForLinker() {
  dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 1; }, nullptr);
}

Lock& Objects::TableLock() {
  return g_lock;
}

}  // namespace memtool::capture
