// A call of the fake driver that CUPTI may watch.
#pragma once

#include <cstddef>
#include <cstring>

#include "fakes/fake_observer.h"

namespace fake {

// What CUPTI sees of a call: its number and a struct of its arguments, before and after. Calls that
// the driver makes itself are not shown.
inline Observer g_observer = nullptr;
inline thread_local int t_depth = 0;

// The arguments as a C struct of them lies in memory.
template <class... Args>
struct Arguments {
  explicit Arguments(const Args&... args) { (Put(args), ...); }
  template <class Arg>
  void Put(const Arg& arg) {
    at = (at + alignof(Arg) - 1) / alignof(Arg) * alignof(Arg);
    std::memcpy(bytes + at, &arg, sizeof arg);
    at += sizeof arg;
  }
  alignas(16) char bytes[(std::size_t{0} + ... + (sizeof(Args) + 8))];
  std::size_t at = 0;
};

template <class Body, class... Args>
int Traced(unsigned id, const Body& body, Args... args) {
  if (g_observer == nullptr || t_depth > 0) {
    return body();
  }
  ++t_depth;
  Arguments<Args...> arguments(args...);
  std::uint64_t correlation = 0;
  g_observer({id, false, arguments.bytes, nullptr, &correlation});
  const int status = body();
  g_observer({id, true, arguments.bytes, &status, &correlation});
  --t_depth;
  return status;
}

}  // namespace fake
