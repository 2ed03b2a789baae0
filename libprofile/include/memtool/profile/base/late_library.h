// A library that is opened when it is first needed: most runs do without it, and opening it, with
// all that it needs, would take a good part of a short run. A build without
// MEMTOOL_LIBRARIES_LATE links it as any other, and then nothing here opens anything.
//
// Its functions are pointers that MEMTOOL_LATE_FUNCTION initialises and Find() sets:
//
//   decltype(&::cairo_create) create = MEMTOOL_LATE_FUNCTION(::cairo_create);
//   LateLibrary library("libcairo.so.2");
//   library.Find("cairo_create", create);
#pragma once

#include <dlfcn.h>

#include <string>

#ifdef MEMTOOL_LIBRARIES_LATE
#  define MEMTOOL_LATE_FUNCTION(name) nullptr
#else
#  define MEMTOOL_LATE_FUNCTION(name) (&(name))
#endif

namespace memtool {

class LateLibrary {
 public:
  // `file`: the name that the loader searches for. It stays open until the process ends.
  explicit LateLibrary(const char* file) : file_(file) {}

  template <class Function>
  void Find(const char* name, Function*& function) {
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(Address(name));
    }
  }

  // What the loader said; empty = all functions were found.
  [[nodiscard]] const std::string& Missing() const { return missing_; }

 private:
  void* Address(const char* name) {
    if (!missing_.empty()) {
      return nullptr;
    }
    if (library_ == nullptr) {
      library_ = ::dlopen(file_, RTLD_NOW | RTLD_LOCAL);
    }
    void* const address = library_ == nullptr ? nullptr : ::dlsym(library_, name);
    if (address == nullptr) {
      missing_ = ::dlerror();
    }
    return address;
  }

  const char* file_;
  void* library_ = nullptr;
  std::string missing_;
};

}  // namespace memtool
