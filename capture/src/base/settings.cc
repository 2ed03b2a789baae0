#include "base/settings.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace memtool::capture {

namespace {

Settings g_settings;
char g_out[4096];
char g_rank[64];
char g_cupti[4096];

const char* Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// A number, optionally followed by K, M or G; false when it is not one.
bool ParseNumber(const char* text, std::uint64_t* value) {
  std::uint64_t number = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    const auto digit = static_cast<std::uint64_t>(*at - '0');
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, digit, &number)) {
      return false;
    }
  }
  if (at == text) {
    return false;
  }
  if (const unsigned shift = *at == 'K' ? 10 : *at == 'M' ? 20 : *at == 'G' ? 30 : 0; shift != 0) {
    if (number >> (64U - shift) != 0) {
      return false;
    }
    number <<= shift;
    ++at;
  }
  *value = number;
  return *at == '\0';
}

void ReadNumber(const char* name, std::uint64_t* value) {
  const char* text = Variable(name);
  if (text != nullptr && !ParseNumber(text, value)) {
    Warn(name, " is not a number; the default is used");
  }
}

void ReadSwitch(const char* name, bool* value) {
  if (const char* text = Variable(name); text != nullptr) {
    *value = strcmp(text, "0") != 0 && strcmp(text, "off") != 0;
  }
}

void ReadStacks() {
  const char* text = Variable("MEMTOOL_CAPTURE_STACKS");
  if (text == nullptr) {
    return;
  }
  const bool both = strcmp(text, "both") == 0;
  g_settings.native_stacks = both || strcmp(text, "native") == 0;
  g_settings.python_stacks = both || strcmp(text, "python") == 0;
  if (!g_settings.native_stacks && !g_settings.python_stacks && strcmp(text, "off") != 0) {
    Warn("MEMTOOL_CAPTURE_STACKS is not one of off, native, python, both: ", text);
    g_settings.native_stacks = g_settings.python_stacks = true;
  }
}

// USR1, USR2, with or without SIG.
void ReadSignal() {
  const char* text = Variable("MEMTOOL_CAPTURE_SIGNAL");
  if (text == nullptr) {
    return;
  }
  const char* name = StartsWith(text, "SIG") ? text + 3 : text;
  g_settings.signal = Equal(name, "USR1") ? SIGUSR1 : Equal(name, "USR2") ? SIGUSR2 : 0;
  if (g_settings.signal == 0) {
    Warn("MEMTOOL_CAPTURE_SIGNAL is neither USR1 nor USR2: ", text);
  }
}

// What a launcher calls the rank in the job, how many there are, the rank in the node, and the
// node; null where it does not say.
struct Launcher {
  const char* rank;
  const char* world;
  const char* local;
  const char* node;
};

constexpr std::size_t kMaxNumberLength = 19;

// Appends "NAME=VALUE"; nothing where there is no such variable, or no room.
void AddIdentity(const char* name, const char* variable) {
  const char* value = variable == nullptr ? nullptr : Variable(variable);
  const std::size_t length = strlen(g_rank);
  if (value == nullptr || strlen(value) > kMaxNumberLength ||
      length + strlen(name) + strlen(value) + 3 > sizeof g_rank) {
    return;
  }
  char* to = g_rank + length;
  if (length > 0) {
    *to++ = ' ';
  }
  CopyText(to, static_cast<std::size_t>(g_rank + sizeof g_rank - to), name);
  to += strlen(name);
  *to++ = '=';
  CopyText(to, static_cast<std::size_t>(g_rank + sizeof g_rank - to), value);
}

// All of one launcher: what another one says, below which it was started, is of other processes.
void ReadRank() {
  const Launcher launchers[] = {
      {"RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr},
      {"PMIX_RANK", nullptr, nullptr, nullptr},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", nullptr},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID"}};
  for (const Launcher& launcher : launchers) {
    AddIdentity(launcher.rank, launcher.rank);
    if (g_rank[0] != '\0') {
      AddIdentity("world", launcher.world);
      AddIdentity("local", launcher.local);
      AddIdentity("node", launcher.node);
      return;
    }
  }
}

// A relative name is relative to the folder in which the program starts: it may be in another one
// when it allocates, and the file has to be found again later.
void MakeAbsolute() {
  char folder[2048];
  if (g_settings.out[0] == '/' || getcwd(folder, sizeof folder) == nullptr || folder[0] != '/') {
    return;
  }
  char name[sizeof g_out];
  CopyText(name, sizeof name, g_settings.out);
  std::size_t length = 0;
  for (const char* at = folder; *at != '\0'; ++at) {
    g_out[length++] = *at;
    if (*at == '%') {
      g_out[length++] = '%';  // part of the folder's name, not a field
    }
  }
  if (length > 1) {
    g_out[length++] = '/';
  }
  CopyText(g_out + length, sizeof g_out - length, name);
  g_settings.out = g_out;
}

}  // namespace

const Settings& GetSettings() {
  return g_settings;
}

const char* RankText() {
  return g_rank;
}

void ReadSettings() {
  if (const char* out = Variable("MEMTOOL_CAPTURE_OUT"); out != nullptr) {
    CopyText(g_out, sizeof g_out, out);
    g_settings.out = g_out;
  }
  MakeAbsolute();
  if (const char* cupti = Variable("MEMTOOL_CAPTURE_CUPTI"); cupti != nullptr) {
    CopyText(g_cupti, sizeof g_cupti, cupti);
    g_settings.cupti = g_cupti;
  }
  ReadSwitch("MEMTOOL_CAPTURE_ENABLED", &g_settings.enabled);
  ReadSwitch("MEMTOOL_CAPTURE_HOST", &g_settings.pinned);
  ReadSwitch("MEMTOOL_CAPTURE_FREES_STACK", &g_settings.free_stacks);
  ReadStacks();
  if (const char* python = Variable("MEMTOOL_CAPTURE_PYTHON"); python != nullptr) {
    g_settings.python_stacks = g_settings.python_stacks && strcmp(python, "off") != 0;
  }
  std::uint64_t depth = g_settings.depth;
  ReadNumber("MEMTOOL_CAPTURE_DEPTH", &depth);
  g_settings.depth = depth < 1           ? 1
                     : depth > kMaxDepth ? kMaxDepth
                                         : static_cast<std::uint32_t>(depth);
  ReadNumber("MEMTOOL_CAPTURE_MAX_BYTES", &g_settings.max_bytes);
  ReadNumber("MEMTOOL_CAPTURE_RUN", &g_settings.run);
  ReadRank();
  ReadSignal();
}

namespace {

struct Writer {
  char* at;
  char* end;
  void Put(char c) {
    if (at < end) {
      *at++ = c;
    }
  }
  void Text(const char* text) { Text(text, strlen(text)); }
  void Text(const char* text, std::size_t length) {
    for (const char* const stop = text + length; text != stop; ++text) {
      Put(*text == '/' ? '_' : *text);
    }
  }
};

void PutNumber(Writer& writer, unsigned long value) {
  char digits[kMaxDigits];
  writer.Text(digits, PutDigits(digits, value));
}

}  // namespace

// NOLINTNEXTLINE(readability-non-const-parameter): written by the writer
void ExpandName(char* to, std::size_t size, const char* pattern) {
  Writer writer{to, to + size - 1};
  const char* rank = g_rank;  // the value of its first "NAME=VALUE"
  while (*rank != '\0' && *rank++ != '=') {
  }
  std::size_t rank_length = 0;
  while (rank[rank_length] != '\0' && rank[rank_length] != ' ') {
    ++rank_length;
  }
  for (; *pattern != '\0'; ++pattern) {
    if (pattern[0] == '.' && pattern[1] == '%' && pattern[2] == 'r' && *rank == '\0') {
      pattern += 2;
      continue;
    }
    if (*pattern != '%' || pattern[1] == '\0') {
      writer.Put(*pattern);
      continue;
    }
    ++pattern;
    if (*pattern == 'p') {
      PutNumber(writer, static_cast<unsigned long>(getpid()));
    } else if (*pattern == 'r') {
      writer.Text(rank, rank_length);
    } else if (*pattern == 'h') {
      utsname names{};
      uname(&names);
      writer.Text(names.nodename);
    } else {
      writer.Put(*pattern);
    }
  }
  *writer.at = '\0';
}

// NOLINTNEXTLINE(readability-non-const-parameter): written by the writer
void NumberedName(char* to, std::size_t size, const char* name, unsigned number) {
  static constexpr char kEnding[] = ".mtcap";
  const std::size_t length = strlen(name);
  const std::size_t ending = sizeof kEnding - 1;
  const bool ends = length > ending && Equal(name + length - ending, kEnding);
  Writer writer{to, to + size - 1};
  for (std::size_t i = 0; i < (ends ? length - ending : length); ++i) {
    writer.Put(name[i]);
  }
  if (number > 1) {
    writer.Put('.');
    PutNumber(writer, number);
  }
  if (ends) {
    writer.Text(kEnding);
  }
  *writer.at = '\0';
}

}  // namespace memtool::capture
