#include "record/names.h"

#include <cstring>

#include "base/fixed_table.h"
#include "base/pages.h"

namespace memtool::capture {

namespace {

struct NameKey {
  std::uint64_t low;
  std::uint64_t high;
  friend bool operator==(const NameKey&, const NameKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const { return Mix(low, high); }
};

constexpr std::size_t kTextBytes = std::size_t{8} << 20U;  // touched as far as it is used

FixedTable<NameKey, std::size_t{1} << 14U> g_keys;
static_assert((1U << 14U) / 4 * 3 == kMaxNames);
Name g_names[kMaxNames + 1];  // null text: there was no room for it
char* g_text = nullptr;
std::size_t g_used = 0;

const char* Keep(const Name& name) {
  if (g_text == nullptr) {
    g_text = static_cast<char*>(MapPages(kTextBytes));
  }
  if (g_text == nullptr || name.length > kTextBytes - g_used) {
    return nullptr;
  }
  char* text = g_text + g_used;
  memcpy(text, name.text, name.length);
  g_used += name.length;
  return text;
}

}  // namespace

std::uint32_t InternName(const Name& name) {
  NameKey key{19, name.length};
  for (std::size_t i = 0; i < name.length; ++i) {
    key.low = Mix(key.low, static_cast<unsigned char>(name.text[i]));
    key.high = Mix(key.high + 1, static_cast<unsigned char>(name.text[i]));
  }
  bool added = false;
  const std::uint32_t id = g_keys.Find(key, &added);
  if (added) {
    g_names[id] = {Keep(name), name.length};
  }
  return id == 0 || g_names[id].text == nullptr ? 0 : id;
}

Name ToName(std::uint32_t id) {
  return g_names[id];
}

}  // namespace memtool::capture
