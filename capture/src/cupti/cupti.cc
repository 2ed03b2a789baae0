// The second backend: CUPTI's callbacks instead of interception, for programs whose calls no
// preloaded library sees. The driver loads this library because CUDA_INJECTION64_PATH names it. A
// callback says what a call was given and what it returned; the wrappers replay it, without calling
// the driver, and make the record.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/settings.h"
#include "base/thread_state.h"
#include "cuda/wrappers.h"
#include "objects/elf_image.h"
#include "providers/wrapping.h"
#include "record/recorder.h"

namespace memtool::capture {

namespace {

using wire::Space;

// CUPTI's own constants and types (cupti_callbacks.h), as far as they are needed.
constexpr int kDriverDomain = 1;
constexpr int kEnter = 0;
struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  const CuResult* returned;  // at exit
  const char* symbol;
  CuObject context;
  std::uint32_t context_id;
  std::uint64_t* correlation;  // ours between enter and exit
};
struct SubscriberParams {
  std::size_t struct_size;
  const char* name;
  char* old_name;
  std::size_t old_size;
  std::uint8_t allow_multiple;  // since 13.2: other tools may subscribe too
};
// CUPTI's sizes end with the last field that its user knows.
constexpr std::size_t kOneSubscriber = offsetof(SubscriberParams, allow_multiple);
constexpr std::size_t kManySubscribers = kOneSubscriber + sizeof(std::uint8_t);
constexpr int kInvalidParameter = 1;
using Callback = void (*)(void*, int, std::uint32_t, const CallbackData*);
using Subscribe = int (*)(void**, Callback, void*);
using SubscribeV2 = int (*)(void**, Callback, void*, SubscriberParams*);
using Enable = int (*)(std::uint32_t, void*, int, std::uint32_t);
using Unsubscribe = int (*)(void*);

enum class When : std::uint8_t {
  kAfter,
  kBefore,  // as a free of a device pointer
  kBeforeHost,
  kBeforeArray,
  kBeforeMipmap,
  kBeforeRelease,
  kBeforeUnmap,
  kBeforeContext,
  kPrimaryRelease,
  kPrimaryReset,
};

template <class... Args>
constexpr std::array<std::size_t, sizeof...(Args)> Offsets() {
  std::array<std::size_t, sizeof...(Args)> offsets{};
  std::size_t at = 0;
  std::size_t index = 0;
  ((at = (at + alignof(Args) - 1) / alignof(Args) * alignof(Args), offsets[index++] = at,
    at += sizeof(Args)),  // NOLINT(bugprone-sizeof-expression): of pointers too
   ...);
  return offsets;
}

template <class Value>
Value Read(const void* from) {
  Value value{};
  __builtin_memcpy(&value, from, sizeof value);  // NOLINT(bugprone-sizeof-expression)
  return value;
}

// CUPTI hands out a call's arguments as a struct of them in their order.
template <auto kWrapper>
struct Replay;
template <class... Args, CuResult (*kWrapper)(Args...)>
struct Replay<kWrapper> {
  template <std::size_t... kAt>
  static void Call(const void* parameters, std::index_sequence<kAt...> /*indices*/) {
    constexpr auto kOffsets = Offsets<Args...>();
    const auto* bytes = static_cast<const char*>(parameters);
    kWrapper(Read<Args>(bytes + kOffsets[kAt])...);
  }
  static void Call(const void* parameters) { Call(parameters, std::index_sequence_for<Args...>()); }
};

struct Row {
  std::uint32_t id;
  When when;
  void (*replay)(const void*);
};

constexpr Row kRows[] = {
#define MEMTOOL_CUPTI(name, id, when) {id, When::when, &Replay<&(name)>::Call},
#include "cupti/functions.inc"
#undef MEMTOOL_CUPTI
};

const Row* FindRow(std::uint32_t id) {
  for (const Row& row : kRows) {
    if (row.id == id) {
      return &row;
    }
  }
  return nullptr;
}

void ReplayCall(const Row& row, const CallbackData& data, CuResult status) {
  t_state.replay = 1;
  t_state.replay_status = status;
  row.replay(data.parameters);
  t_state.replay = 0;
}

void ContextCall(const Row& row, const CallbackData& data) {
  const Busy busy;
  const auto device = Read<CuDevice>(data.parameters);
  if (data.site == kEnter) {
    *data.correlation = Address(CudaPrimaryContext(device));
    if (row.when == When::kPrimaryReset && *data.correlation != 0) {
      RecordContextEnd(*data.correlation, device);
    }
  } else if (*data.correlation == 0) {
    return;
  } else if (row.when == When::kPrimaryReset && *data.returned != 0) {
    RecordFreeFailed(ContextAttributes(), *data.correlation,
                     static_cast<std::uint64_t>(*data.returned));
  } else if (row.when == When::kPrimaryRelease && *data.returned == 0 &&
             !CudaPrimaryIsActive(device)) {
    RecordContextEnd(*data.correlation, device);
  }
}

Attributes GetAttributes(When when) {
  switch (when) {
    case When::kBeforeHost:
      return FreeAttributes(Space::kHostPointer);
    case When::kBeforeArray:
      return FreeAttributes(Space::kArray);
    case When::kBeforeMipmap:
      return FreeAttributes(Space::kMipmap);
    case When::kBeforeRelease:
      return HandleAttributes();
    case When::kBeforeUnmap:
      return AddressAttributes();
    case When::kBeforeContext:
      return ContextAttributes();
    default:
      return FreeAttributes(Space::kDevicePointer);
  }
}

// Recorded at its beginning, as if done; taken back when the driver refused it.
void EarlyCall(const Row& row, const CallbackData& data) {
  if (data.site == kEnter) {
    return ReplayCall(row, data, 0);
  }
  const auto key = Read<std::uint64_t>(data.parameters);
  const bool left_out = row.when == When::kBeforeHost && !GetSettings().pinned;
  if (*data.returned != 0 && key != 0 && !left_out) {
    RecordFreeFailed(GetAttributes(row.when), key, static_cast<std::uint64_t>(*data.returned));
  }
}

// A call from inside a wrapper is recorded by the wrapper (both backends are loaded): the thread is
// busy.
void OnCall(void* /*user*/, int domain, std::uint32_t id, const CallbackData* data) {
  const Row* row = domain == kDriverDomain ? FindRow(id) : nullptr;
  if (row == nullptr || t_state.busy != 0 || !Recording()) {
    return;
  }
  if (row->when == When::kPrimaryRelease || row->when == When::kPrimaryReset) {
    ContextCall(*row, *data);
  } else if (row->when != When::kAfter) {
    EarlyCall(*row, *data);
  } else if (data->site != kEnter) {
    ReplayCall(*row, *data, *data->returned);
  }
}

template <class Function>
Function CuptiFunction(const char* name) {
  return reinterpret_cast<Function>(FindSymbolAnywhere(name, "libcupti.so"));
}

// The CUPTI that the program has loaded, the one that the user names, then the dynamic linker's.
bool LoadCupti() {
  using Dlopen = void* (*)(const char*, int);
  if (ObjectHolds("libcupti.so", nullptr)) {
    return true;
  }
  const auto open = reinterpret_cast<Dlopen>(FindNext("dlopen"));
  if (open == nullptr) {
    return false;
  }
  const char* named = GetSettings().cupti;
  if (named != nullptr) {
    return open(named, RTLD_NOW) != nullptr;
  }
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11", "libcupti.so"}) {
    if (open(name, RTLD_NOW) != nullptr) {
      return true;
    }
  }
  return false;
}

// Alongside other tools where this CUPTI allows it; an older one does not know the field that asks
// for it.
int SubscribeBeside(SubscribeV2 subscribe, void** subscriber, std::array<char, 64>& holder) {
  SubscriberParams params{kManySubscribers, "memtool", holder.data(), holder.size(), 1};
  const int status = subscribe(subscriber, OnCall, nullptr, &params);
  if (status != kInvalidParameter) {
    return status;
  }
  params.struct_size = kOneSubscriber;
  return subscribe(subscriber, OnCall, nullptr, &params);
}

// A CUPTI that is older than a function does not know its number. The others are reported.
int EnableRows(Enable enable, void* subscriber) {
  int enabled = 0;
  for (const Row& row : kRows) {
    const int status = enable(1, subscriber, kDriverDomain, row.id);
    if (status != 0 && status != kInvalidParameter) {
      return status;
    }
    enabled += status == 0 ? 1 : 0;
  }
  return enabled > 0 ? 0 : kInvalidParameter;
}

std::uint32_t StartCupti(std::array<char, 64>& holder) {
  const auto enable = LoadCupti() ? CuptiFunction<Enable>("cuptiEnableCallback") : nullptr;
  const auto unsubscribe = CuptiFunction<Unsubscribe>("cuptiUnsubscribe");
  const auto subscribe = CuptiFunction<Subscribe>("cuptiSubscribe");
  const auto subscribe_v2 = CuptiFunction<SubscribeV2>("cuptiSubscribe_v2");
  if (enable == nullptr || unsubscribe == nullptr || subscribe == nullptr) {
    return wire::kNoCupti;
  }
  void* subscriber = nullptr;
  int status = subscribe_v2 == nullptr ? subscribe(&subscriber, OnCall, nullptr)
                                       : SubscribeBeside(subscribe_v2, &subscriber, holder);
  if (status != 0) {
    return static_cast<std::uint32_t>(status);
  }
  holder = {};  // CUPTI names it even where it is not in the way
  status = EnableRows(enable, subscriber);
  if (status != 0) {
    unsubscribe(subscriber);
  }
  return static_cast<std::uint32_t>(status);
}

}  // namespace

}  // namespace memtool::capture

// Called by the driver's cuInit. Without CUPTI the program continues, and the log says why it is
// empty.
extern "C" MEMTOOL_EXPORT int InitializeInjection() {
  using namespace memtool::capture;  // NOLINT(google-build-using-namespace)
  static std::atomic<bool> done{false};
  if (done.exchange(true)) {
    return 1;
  }
  std::array<char, 64> holder{};
  const Busy busy;
  const std::uint32_t status = StartCupti(holder);
  RecordBackend(memtool::wire::Backend::kCupti, status, holder.data());
  return 1;
}
