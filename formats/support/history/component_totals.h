// Totals of components over time, as Ascend's profilers sample them: of PyTorch's allocator (PTA),
// the graph engine (GE), modules of CANN, the process (APP), the device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::ascend {

// What the profilers call their own sum of PTA and GE.
inline constexpr std::string_view kPrintedSum = "PTA+GE";
// And what is no part of these: what the driver counts for the process, and for all of the device.
inline constexpr std::string_view kProcess = "APP";
inline constexpr std::string_view kWholeDevice = "Device";

struct Sample {
  std::string_view component;
  StackId stack;
  std::int64_t time = 0;
  std::int64_t live = 0;                   // what is allocated, or reserved where nothing else is
  std::optional<std::int64_t> reserved{};  // beside what is allocated
  bool rounded = false;                    // no whole number of bytes in the file
};

// Totals of one level of one device: of each component one allocation that its next total replaces.
class ComponentSeries {
 public:
  // False where the time is before that of the component's last total.
  bool Add(const Sample& sample);
  // The writer's own sum of PTA and GE, which is no sample: whether it is that of their totals.
  void Check(std::int64_t printed);
  [[nodiscard]] bool empty() const { return events_.empty(); }
  void MoveTo(History& history, Trace& trace, DomainId domain);

 private:
  struct Component {
    std::int64_t time = kNoTime;
    std::int64_t live = 0;
    std::int64_t reserved = 0;
    std::uint64_t key = 0;
  };
  void Push(Event event);
  void Reserve(Component& component, std::int64_t reserved);

  std::map<std::string, Component, std::less<>> components_;
  RowVector<Event> events_;
  std::uint64_t keys_ = 0;
  std::int64_t last_time_ = kNoTime;
  std::uint64_t checked_ = 0;
  std::uint64_t agreeing_ = 0;
  bool sorted_ = true;
};

class ComponentTotals {
 public:
  // False for a sample that is none: it has no component or an amount below 0, or its time is
  // before that of the component's last.
  bool Add(std::int32_t device, const Sample& sample);

  // Per device, the outermost level first, which the next one lies within. Parts of what the
  // process has taken are on the driver's level, and are called components, on devices of `beside`,
  // whose allocators have ledgers of their own: these come to lie within the process too.
  void MoveTo(History& history, const std::map<std::int32_t, std::vector<DomainId>>& beside = {});
  void AddDiagnostics(RecordingBuilder& builder) const;

 private:
  // What a component's total is a part of. Each level holds the ones before it, so that they are
  // never added up.
  enum class Level : std::uint8_t {
    kPart,     // of what the process has taken
    kProcess,  // what the driver counts for the process
    kDevice,   // what is used of the device, whoever uses it
  };
  static constexpr std::size_t kLevels = 3;
  using Levels = std::array<ComponentSeries, kLevels>;
  static Level LevelOf(std::string_view component);
  static std::string NameOf(std::int32_t device, Level level, bool beside);
  static void AddTraces(std::int32_t device, Levels& levels, std::span<const DomainId> beside,
                        History& history);
  Levels* LevelsOf(std::int32_t device);

  std::map<std::int32_t, Levels> devices_;
  std::uint64_t sums_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace memtool::formats::ascend
