// What the fake driver tells the mock of CUPTI about its calls.
#pragma once

#include <cstdint>

struct ObservedCall {
  unsigned id;  // CUPTI's number of the function
  bool after;
  const void* arguments;  // a struct of them
  const int* status;      // after the call
  std::uint64_t* correlation;
};
using Observer = void (*)(const ObservedCall&);
extern "C" void fakeObserve(Observer observer);
