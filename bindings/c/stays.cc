// The library's objects are never destroyed: work that nobody waits for any more may be using them
// while its process ends. What the compiler would have destroyed at the end comes here instead of
// to the C library.
extern "C" {

// NOLINTNEXTLINE(bugprone-reserved-identifier): the compiler's own name
[[gnu::visibility("hidden")]] int __cxa_atexit(void (* /*destroy*/)(void*), void* /*object*/,
                                               void* /*library*/) {
  return 0;
}

}  // extern "C"
