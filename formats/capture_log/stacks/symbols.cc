#include "capture_log/stacks/symbols.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "capture_log/stacks/libdw.h"

namespace memtool::formats::capture_log {

namespace {

constexpr std::size_t kMaxInlined = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::string Demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, Free> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 && plain != nullptr ? plain.get() : name;
}

// Separate debug files are looked for here only: libdwfl's own search would ask the network.
// NOLINTNEXTLINE(readability-function-size): libdwfl's signature
int FindDebugFile(Dwfl_Module* module, void** /*user*/, const char* /*name*/, Dwarf_Addr /*base*/,
                  const char* /*file*/, const char* /*link*/, GElf_Word /*crc*/, char** found) {
  const unsigned char* id = nullptr;
  GElf_Addr address = 0;
  const int size = libdw::dwfl_module_build_id(module, &id, &address);
  if (size < 2) {
    return -1;
  }
  constexpr const char* kHex = "0123456789abcdef";
  std::string path = "/usr/lib/debug/.build-id/";
  for (int i = 0; i < size; ++i) {
    path += kHex[id[i] >> 4U];
    path += kHex[id[i] & 15U];
    path += i == 0 ? "/" : "";
  }
  path += ".debug";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) {
    *found = strdup(path.c_str());
  }
  return fd;
}

// Once libdw is loaded.
const Dwfl_Callbacks& Callbacks() {
  static const Dwfl_Callbacks callbacks = {.find_elf = nullptr,
                                           .find_debuginfo = FindDebugFile,
                                           .section_address = libdw::dwfl_offline_section_address,
                                           .debuginfo_path = nullptr};
  return callbacks;
}

std::string ToName(Dwarf_Die* die, std::string* system_name) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (libdw::dwarf_attr_integrate(die, name, &attribute) != nullptr) {
      if (const char* text = libdw::dwarf_formstring(&attribute); text != nullptr) {
        *system_name = text;
        return Demangle(text);
      }
    }
  }
  const char* plain = libdw::dwarf_diename(die);
  *system_name = plain == nullptr ? "" : plain;
  return *system_name;
}

}  // namespace

class Symbols::Module {
 public:
  Module(const std::string& path, const std::string& build_id) {
    struct stat status {};
    // The log names the file: nothing is opened whose reading could wait or act (devices, pipes,
    // and what the kernel makes up, which has no size).
    if (path.empty() || path.front() != '/' || build_id.empty() ||
        stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
      return;
    }
    closed_ = !LoadLibdw().empty();
    if (closed_) {
      return;
    }
    dwfl_ = libdw::dwfl_begin(&Callbacks());
    module_ = dwfl_ == nullptr ? nullptr
                               : libdw::dwfl_report_offline(dwfl_, path.c_str(), path.c_str(), -1);
    if (module_ == nullptr) {
      return;
    }
    libdw::dwfl_report_end(dwfl_, nullptr, nullptr);
    const unsigned char* id = nullptr;
    GElf_Addr address = 0;
    Dwarf_Addr bias = 0;
    libdw::dwfl_module_getelf(module_, &bias);
    bias_ = bias;
    const int size = libdw::dwfl_module_build_id(module_, &id, &address);
    if (size < 0 || std::string_view(reinterpret_cast<const char*>(id),
                                     static_cast<std::size_t>(size)) != build_id) {
      module_ = nullptr;
    }
  }
  ~Module() {
    if (dwfl_ != nullptr) {
      libdw::dwfl_end(dwfl_);
    }
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The file is there, and nothing to read it with.
  [[nodiscard]] bool closed() const { return closed_; }

  // `address` as in the file.
  std::vector<Symbol> At(std::uint64_t address) {
    std::vector<Symbol> symbols;
    if (module_ == nullptr) {
      return symbols;
    }
    FromDwarf(address + bias_, symbols);
    if (symbols.empty()) {
      GElf_Off offset = 0;
      GElf_Sym symbol;
      const char* name = libdw::dwfl_module_addrinfo(module_, address + bias_, &offset, &symbol,
                                                     nullptr, nullptr, nullptr);
      if (name != nullptr) {
        symbols.push_back({.name = Demangle(name), .system_name = name});
        LineAt(address + bias_, &symbols.back().file, &symbols.back().line);
      }
    }
    return symbols;
  }

 private:
  void LineAt(std::uint64_t address, std::string* file, std::int64_t* line) {
    if (Dwfl_Line* at = libdw::dwfl_module_getsrc(module_, address); at != nullptr) {
      int number = 0;
      const char* name = libdw::dwfl_lineinfo(at, nullptr, &number, nullptr, nullptr, nullptr);
      *file = name == nullptr ? "" : name;
      *line = number;
    }
  }

  // Small debug information describes no functions but those with something inlined in them.
  void FromDwarf(std::uint64_t address, std::vector<Symbol>& symbols) {
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = libdw::dwfl_module_addrdie(module_, address, &bias);
    if (unit == nullptr) {
      return;
    }
    std::string file;
    std::int64_t line = 0;
    LineAt(address, &file, &line);
    Dwarf_Die* scopes = nullptr;
    const int count = libdw::dwarf_getscopes(unit, address - bias, &scopes);
    const std::unique_ptr<Dwarf_Die, Free> owned(count > 0 ? scopes : nullptr);
    for (int i = 0; i < count && symbols.size() < kMaxInlined; ++i) {
      Dwarf_Die* die = &scopes[i];
      const int tag = libdw::dwarf_tag(die);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
        continue;
      }
      Symbol symbol{.file = file, .line = line};
      symbol.name = ToName(die, &symbol.system_name);
      symbols.push_back(std::move(symbol));
      if (tag == DW_TAG_subprogram) {
        return;
      }
      CallSite(unit, die, &file, &line);
    }
    symbols.clear();  // no function around it
  }

  // Where the inlined function was called.
  static void CallSite(Dwarf_Die* unit, Dwarf_Die* die, std::string* file, std::int64_t* line) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    *line = 0;
    if (libdw::dwarf_formudata(libdw::dwarf_attr(die, DW_AT_call_line, &attribute), &value) == 0) {
      *line = static_cast<std::int64_t>(value);
    }
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    file->clear();
    if (libdw::dwarf_formudata(libdw::dwarf_attr(die, DW_AT_call_file, &attribute), &value) == 0 &&
        libdw::dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count) {
      const char* name = libdw::dwarf_filesrc(files, value, nullptr, nullptr);
      *file = name == nullptr ? "" : name;
    }
  }

  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  std::uint64_t bias_ = 0;
  bool closed_ = false;
};

Symbols::Symbols(std::string executable) : executable_(std::move(executable)) {}
Symbols::~Symbols() = default;

std::string Symbols::GetPath(const MappingRow& mapping) const {
  return mapping.path.empty() ? executable_ : mapping.path;
}

Symbols::Module* Symbols::Open(const MappingRow& mapping) {
  const std::string path = GetPath(mapping);
  auto& module = modules_[path + '\0' + mapping.build_id];
  if (module == nullptr) {
    module = std::make_unique<Module>(path, mapping.build_id);
  }
  return module.get();
}

std::vector<Symbol> Symbols::At(const MappingRow& mapping, std::uint64_t address) {
  Module& module = *Open(mapping);
  without_libdw_ += module.closed() ? 1 : 0;
  return module.At(address - mapping.bias);
}

}  // namespace memtool::formats::capture_log
