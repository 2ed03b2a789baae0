// The project's own libcupti.so.12: passes the fake driver's calls on to one subscriber.
//
// MOCK_CUPTI_SUBSCRIBE=N  cuptiSubscribe_v2 fails with N; the holder of 39 is "Nsight Systems"
// MOCK_CUPTI_MANY=1 as CUPTI since 13.2: alongside that holder, when asked for MOCK_CUPTI_ENABLE=N
// cuptiEnableCallback fails with N
// MOCK_CUPTI_NEWEST=N  knows no number above N, as an older CUPTI
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "fakes/fake_observer.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  std::uint32_t context_id;
  std::uint64_t* correlation;
  std::uint32_t correlation_id;
};
using Callback = void (*)(void*, int, std::uint32_t, const void*);

struct Subscriber {
  Callback callback = nullptr;
  void* user = nullptr;
  std::set<std::uint32_t> enabled;
};
Subscriber g_subscriber;

constexpr int kDriverDomain = 1;
constexpr int kOtherSubscriber = 39;
constexpr int kInvalid = 1;

void Observe(const ObservedCall& call) {
  if (g_subscriber.enabled.count(call.id) == 0) {
    return;
  }
  CallbackData data{};
  data.site = call.after ? 1 : 0;
  data.parameters = call.arguments;
  // Valid at exit only: a reader that looks earlier crashes.
  data.returned = call.after ? const_cast<int*>(call.status) : nullptr;
  data.correlation = call.correlation;
  g_subscriber.callback(g_subscriber.user, kDriverDomain, call.id, &data);
}

int Wanted(const char* variable) {
  const char* text = getenv(variable);
  return text == nullptr ? 0 : atoi(text);
}

}  // namespace

namespace {

int Enter(void** subscriber, Callback callback, void* user) {
  g_subscriber.callback = callback;
  g_subscriber.user = user;
  *subscriber = &g_subscriber;
  return 0;
}

}  // namespace

API int cuptiSubscribe(void** subscriber, Callback callback, void* user) {
  if (g_subscriber.callback != nullptr) {
    return kOtherSubscriber;
  }
  if (const int status = Wanted("MOCK_CUPTI_SUBSCRIBE"); status != 0) {
    return status;
  }
  return Enter(subscriber, callback, user);
}

struct Params {
  std::size_t size;
  const char* name;
  char* old_name;
  std::size_t old_size;
  unsigned char many;
};

API int cuptiSubscribe_v2(void** subscriber, Callback callback, void* user, Params* params) {
  constexpr std::size_t kOlder = offsetof(Params, many);
  const bool newer = Wanted("MOCK_CUPTI_MANY") != 0;
  if (params == nullptr || (params->size != kOlder && !(newer && params->size == kOlder + 1))) {
    return kInvalid;
  }
  const int status = cuptiSubscribe(subscriber, callback, user);
  if (status != kOtherSubscriber) {
    return status;
  }
  snprintf(params->old_name, params->old_size, "Nsight Systems");
  const bool beside = params->size > kOlder && params->many == 1;
  return beside ? Enter(subscriber, callback, user) : status;
}

API int cuptiUnsubscribe(void*) {
  g_subscriber = Subscriber{};
  return 0;
}

API int cuptiEnableCallback(std::uint32_t enable, void* subscriber, int domain, std::uint32_t id) {
  if (subscriber != &g_subscriber || domain != kDriverDomain || enable != 1) {
    return kInvalid;
  }
  if (const int status = Wanted("MOCK_CUPTI_ENABLE"); status != 0) {
    return status;
  }
  if (const int newest = Wanted("MOCK_CUPTI_NEWEST");
      newest != 0 && id > static_cast<std::uint32_t>(newest)) {
    return kInvalid;
  }
  g_subscriber.enabled.insert(id);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto observe = reinterpret_cast<void (*)(Observer)>(dlsym(driver, "fakeObserve"));
  observe(Observe);
  return 0;
}
