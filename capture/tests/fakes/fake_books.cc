#include "fakes/fake_books.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fake {

Books& B() {
  static Books* books = [] {
    auto* made = new Books;
    const char* capacity = getenv("FAKE_DRIVER_CAPACITY");
    made->capacity = capacity == nullptr ? UINT64_MAX : strtoull(capacity, nullptr, 10);
    made->fail_frees = getenv("FAKE_DRIVER_FAIL_FREES") != nullptr;
    return made;
  }();
  return *books;
}

std::string BookName(int device, const char* kind) {
  return (device < 0 ? std::string("host") : std::to_string(device)) + " " + kind;
}

bool Room(int device, std::uint64_t size) {
  return device < 0 || (size <= B().capacity && B().used[device] <= B().capacity - size);
}

void Enter(const Block& block) {
  Count& count = B().counts[block.book];
  ++count.allocs;
  count.bytes += block.size;
  count.live += block.size;
  count.peak = count.live > count.peak ? count.live : count.peak;
  if (block.device >= 0) {
    std::uint64_t& used = B().used[block.device];
    used += block.size;
    std::uint64_t& peak = B().device_peak[block.device];
    peak = used > peak ? used : peak;
  }
}

void Leave(const Block& block) {
  Count& count = B().counts[block.book];
  ++count.frees;
  count.live -= block.size;
  if (block.device >= 0) {
    B().used[block.device] -= block.size;
  }
}

namespace {

Pointer NewAddress(std::uint64_t size) {
  if (const auto old = B().reusable.find(size); old != B().reusable.end()) {
    const Pointer address = old->second;
    B().reusable.erase(old);
    return address;
  }
  const Pointer address = B().next;
  B().next += (size + 511) / 512 * 512 + 512;
  return address;
}

}  // namespace

int Allocate(Pointer* out, std::uint64_t size, const char* kind, Context* context, int device) {
  const std::scoped_lock lock(B().mutex);
  const std::string book = BookName(device, kind);
  if (size == 0) {
    ++B().counts[book].failed;
    return kInvalid;
  }
  if (!Room(device, size)) {
    ++B().counts[book].failed;
    return kOutOfMemory;
  }
  const Block block{.size = size, .book = book, .device = device, .context = context};
  *out = NewAddress(size);
  B().blocks.emplace(*out, block);
  Enter(block);
  return kOk;
}

int AllocateHere(Pointer* out, std::uint64_t size, const char* kind, bool of_context) {
  return t_context == nullptr
             ? static_cast<int>(kNoContext)
             : Allocate(out, size, kind, of_context ? t_context : nullptr, t_context->device);
}

int Release(Pointer pointer) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().blocks.find(pointer);
  if (pointer == 0) {
    return kOk;
  }
  if (found == B().blocks.end() || B().fail_frees) {
    ++B().unknown_frees;
    return kInvalid;
  }
  if (!found->second.host) {
    B().reusable.emplace(found->second.size, pointer);
  }
  Leave(found->second);
  B().blocks.erase(found);
  return kOk;
}

int EnterHost(void* pointer, std::uint64_t size, const char* kind) {
  const std::scoped_lock lock(B().mutex);
  const Block block{
      .size = size, .book = BookName(-1, kind), .device = -1, .context = t_context, .host = true};
  B().blocks.emplace(reinterpret_cast<Pointer>(pointer), block);
  Enter(block);
  return kOk;
}

void EndContext(Context* context) {
  const std::scoped_lock lock(B().mutex);
  for (auto at = B().blocks.begin(); at != B().blocks.end();) {
    if (at->second.context == context) {
      Leave(at->second);
      at = B().blocks.erase(at);
    } else {
      ++at;
    }
  }
  t_context = t_context == context ? nullptr : t_context;
}

namespace {

// A handle's memory is freed when nothing refers to it and nothing maps it.
void DropIfUnused(std::unordered_map<Pointer, Block>::iterator handle) {
  if (handle->second.refs == 0 && handle->second.maps == 0) {
    Leave(handle->second);
    B().handles.erase(handle);
  }
}

void WriteBooks() {
  const char* path = getenv("FAKE_DRIVER_BOOKS");
  if (path == nullptr) {
    return;
  }
  const std::string name = std::string(path) + "." + std::to_string(getpid());
  FILE* out = fopen(name.c_str(), "w");
  if (out == nullptr) {
    return;
  }
  const std::scoped_lock lock(B().mutex);
  fprintf(out, "{\"books\": {");
  const char* comma = "";
  for (const auto& [book, count] : B().counts) {
    fprintf(out,
            "%s\n \"%s\": {\"allocs\": %lu, \"frees\": %lu, \"failed\": %lu, \"bytes\": %lu, "
            "\"live\": %lu, \"peak\": %lu}",
            comma, book.c_str(), count.allocs, count.frees, count.failed, count.bytes, count.live,
            count.peak);
    comma = ",";
  }
  fprintf(out, "},\n \"device_peak\": [%lu, %lu], \"unknown_frees\": %lu}\n", B().device_peak[0],
          B().device_peak[1], B().unknown_frees);
  fclose(out);
}

// Writes the books after main; the objects above still exist, because they are never destroyed.
struct AtExit {
  ~AtExit() { WriteBooks(); }
} g_at_exit;

}  // namespace

int CreateHandle(Pointer* handle, std::uint64_t size, int device) {
  const std::scoped_lock lock(B().mutex);
  const Block block{
      .size = size, .book = BookName(device, "vmm"), .device = device, .context = nullptr};
  if (!Room(device, size)) {
    ++B().counts[block.book].failed;
    return kOutOfMemory;
  }
  *handle = B().next_handle++;
  B().handles.emplace(*handle, block);
  Enter(block);
  return kOk;
}

int ReleaseHandle(Pointer handle) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().handles.find(handle);
  if (found == B().handles.end() || found->second.refs == 0) {
    return kInvalid;
  }
  --found->second.refs;
  DropIfUnused(found);
  return kOk;
}

int RetainHandle(Pointer* handle, Pointer address) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().maps.find(address);
  if (found == B().maps.end()) {
    return kInvalid;
  }
  *handle = found->second;
  ++B().handles.find(*handle)->second.refs;
  return kOk;
}

int Map(Pointer address, Pointer handle) {
  const std::scoped_lock lock(B().mutex);
  const auto found = B().handles.find(handle);
  if (found == B().handles.end() || !B().maps.emplace(address, handle).second) {
    return kInvalid;
  }
  ++found->second.maps;
  return kOk;
}

// Unmaps all that is mapped in the range.
int Unmap(Pointer address, std::uint64_t size) {
  const std::scoped_lock lock(B().mutex);
  auto at = B().maps.lower_bound(address);
  if (at == B().maps.end() || at->first >= address + size) {
    return kInvalid;
  }
  while (at != B().maps.end() && at->first < address + size) {
    const auto handle = B().handles.find(at->second);
    --handle->second.maps;
    DropIfUnused(handle);
    at = B().maps.erase(at);
  }
  return kOk;
}

Pointer Reserve(std::uint64_t size) {
  const std::scoped_lock lock(B().mutex);
  const Pointer address = B().next;
  B().next += size;
  return address;
}

}  // namespace fake
