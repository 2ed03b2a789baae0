#include "memtool/profile/answers/oom_advice.h"

#include <algorithm>
#include <utility>

#include "answers/oom/oom_figures.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

using Kind = OomAdviceKind;
using State = OomSettingState;

const Setting* SettingNamed(const OomCase& found, std::string_view name) {
  const auto at = std::find_if(found.settings.begin(), found.settings.end(),
                               [name](const Setting& setting) { return setting.name == name; });
  return at == found.settings.end() ? nullptr : &*at;
}

bool IsDefault(const Setting& setting) {
  return setting.value.empty() || setting.value == "{}" || setting.value == "false" ||
         setting.value == "0" || setting.value == "-1" ||
         (setting.name == "pinned_num_register_threads" && setting.value == "1");
}

class Adviser {
 public:
  explicit Adviser(const OomCase& found) : found_(found) {}

  std::vector<OomAdvice> Take() && {
    Settings();
    if (found_.failed) {
      OtherProcesses(true);
      if (HasTable()) {
        ForTable(*found_.message->program);
      } else {
        ForVerdict();
      }
      if (found_.message && !found_.message->remedy.empty() && !IsAbsurd()) {
        Add({.kind = Kind::kOfWording});
      } else if (IsUnknown() && advice_.empty()) {
        Add({.kind = Kind::kNeedLess});
      }
      OtherProcesses(false);
      OtherMemory();
    } else if (found_.state && !found_.state->exceeds()) {
      FreeForOthers(found_.state->gives);
    }
    Next();
    return std::move(advice_);
  }

 private:
  [[nodiscard]] bool IsAbsurd() const { return found_.conclusion.reason == OomReason::kAbsurd; }
  void Add(OomAdvice advice) { advice_.push_back(std::move(advice)); }
  [[nodiscard]] bool Has(OomAdviceKind kind) const {
    return std::any_of(advice_.begin(), advice_.end(),
                       [kind](const OomAdvice& advice) { return advice.kind == kind; });
  }

  void Settings() {
    if (!found_.snapshot || !found_.state) {
      return;
    }
    OomAdvice changed{.kind = Kind::kSettingsChanged};
    for (const Setting& setting : found_.settings) {
      if (!IsDefault(setting) && !setting.name.starts_with("roundup_power2_divisions.")) {
        changed.settings.push_back(setting);
      }
    }
    if (changed.settings.empty()) {
      changed.kind = found_.settings.empty() ? Kind::kSettingsUnknown : Kind::kSettingsDefault;
    }
    Add(std::move(changed));
  }

  void FreeForOthers(const FreeMemory& gives) {
    if (gives.returnable > 0) {
      Add({.kind = Kind::kEmptyCache, .bytes = gives.returnable});
    }
    if (gives.private_pool > 0) {
      Add({.kind = Kind::kPoolsKeepIt, .bytes = gives.private_pool});
    }
  }

  [[nodiscard]] bool HasTable() const {
    return found_.message && found_.message->program && found_.breakdown &&
           found_.breakdown->kind == BreakdownTotal::kProgram;
  }

  // The part that most of a program's memory goes to.
  void ForTable(const OomProgram& program) {
    constexpr double kMax = 0.4;
    const std::int64_t whole = found_.breakdown->whole.bytes;
    Layouts(program, whole);
    const auto part = [&](const std::optional<OomNumber>& bytes, Kind kind) {
      const double share = bytes && whole > 0 ? Ratio(bytes->bytes, whole) : 0.0;
      if (share >= kMax) {
        Add({.kind = kind, .bytes = bytes->bytes, .share = Fraction(bytes->bytes, whole)});
      }
      return share >= kMax;
    };
    const bool temporaries = part(program.temporaries, Kind::kFewerTemporaries);
    const bool arguments = part(program.arguments, Kind::kSmallerArguments);
    if (!temporaries && !arguments) {
      Add({.kind = Kind::kDivideRequest, .bytes = GetBytes(found_.facts.requested_bytes)});
    }
    if (found_.conclusion.reason == OomReason::kFragmentation) {
      ForFragmentation();
    }
    constexpr double kMuch = 0.05;
    if (program.fragmentation && program.temporaries && program.temporaries->bytes > 0) {
      const auto share = Fraction(program.fragmentation->bytes, program.temporaries->bytes);
      if (share.value_or(0) >= kMuch) {
        Add({.kind = Kind::kFragmentedLayout,
             .bytes = program.fragmentation->bytes,
             .share = share});
      }
    }
    if (const auto& remat = found_.message->remat) {
      Add({.kind = Kind::kRematStopped,
           .bytes = remat->reached.bytes,
           .lacking = remat->goal.bytes});
    }
  }

  // Buffers that padding makes much larger.
  void Layouts(const OomProgram& program, std::int64_t whole) {
    constexpr std::size_t kNamed = 2;
    constexpr double kExpansion = 1.5;
    constexpr double kMuch = 0.01;
    auto groups = MakeGroups(program);
    std::erase_if(groups, [whole](const OomBufferGroup& group) {
      const std::int64_t needed = SaturatingSubtract(group.bytes, group.padding);
      return needed <= 0 || Ratio(group.bytes, needed) < kExpansion ||
             (whole > 0 && Ratio(group.padding, whole) < kMuch);
    });
    std::stable_sort(
        groups.begin(), groups.end(),
        [](const OomBufferGroup& a, const OomBufferGroup& b) { return a.padding > b.padding; });
    for (std::size_t i = 0; i < std::min(kNamed, groups.size()); ++i) {
      Add({.kind = Kind::kLayout,
           .bytes = groups[i].bytes,
           .lacking = groups[i].padding,
           .buffers = groups[i]});
    }
  }

  // XLA's compiler gives a kernel its scratch in VMEM: the program's own sizes do not matter.
  [[nodiscard]] bool IsOfKernel() const {
    return found_.message && found_.message->wording == OomWording::kXlaScoped &&
           found_.message->kind.find("vmem") != std::string::npos;
  }

  void ForVerdict() {
    switch (found_.conclusion.reason) {
      case OomReason::kFragmentation:
        return ForFragmentation();
      case OomReason::kFull:
      case OomReason::kHeldElsewhere:
      case OomReason::kLastPage:
        return ForFull();
      case OomReason::kPoolRefused:
        Add({.kind = Kind::kFreeDevice,
             .bytes = SaturatingSubtract(GetBytes(found_.facts.limit), OwnBytes())});
        return ForFull();
      case OomReason::kNeither:
        ForFragmentation();  // pages of what is cached can join what the driver has free
        return ForFull();
      case OomReason::kTooLarge:
      case OomReason::kNoFigures:
        if (IsOfKernel()) {
          return Add(
              {.kind = Kind::kSmallerBlocks, .bytes = GetBytes(found_.facts.requested_bytes)});
        }
        if (found_.facts.requested_bytes) {
          Add({.kind = Kind::kDivideRequest, .bytes = GetBytes(found_.facts.requested_bytes)});
        }
        return;
      case OomReason::kAbsurd:
        return Add({.kind = Kind::kCheckSizes});
      case OomReason::kMpsLimit:
        return Add({.kind = Kind::kLiftMpsLimit});
      case OomReason::kReserve:
        return Add({.kind = Kind::kRaiseReserve,
                    .bytes = GetBytes(found_.facts.requested_bytes),
                    .variable = GetPlatform(found_).variable});
      case OomReason::kLimit:
      case OomReason::kUnstatedLimit:
        Add({.kind = Kind::kRaiseLimit, .bytes = GetBytes(found_.facts.limit)});
        if (Cached() >= GetBytes(found_.facts.requested_bytes)) {
          ForFragmentation();  // what is cached counts towards the limit too
        }
        return;
      case OomReason::kDriverRefused:
        if (found_.message &&
            GetBytes(found_.facts.private_pools) < GetBytes(found_.facts.requested_bytes)) {
          Add({.kind = Kind::kOtherRefusals});
        }
        return;
      default:
        return;
    }
  }

  // Of a message: memory was short, and how much is not known.
  [[nodiscard]] bool IsUnknown() const {
    const OomReason reason = found_.conclusion.reason;
    return found_.message &&
           (reason == OomReason::kOnlyRequested || reason == OomReason::kFreeUnknown ||
            reason == OomReason::kCacheUnknown || reason == OomReason::kProgramOnly);
  }

  [[nodiscard]] std::int64_t Cached() const {
    return found_.state ? found_.state->usable_free : GetBytes(found_.facts.cached);
  }

  void ForFragmentation() {
    if (found_.snapshot) {
      ForFragmentedSnapshot();
    } else {
      ForFragmentedMessage(*found_.message);
      if (found_.message->pool) {
        Add({.kind = Kind::kOtherAllocator});
      }
    }
  }

  void AddExpandable(State when) {
    Add({.kind = Kind::kExpandableSegments,
         .bytes = Cached(),
         .variable = GetPlatform(found_).variable,
         .when = when});
  }

  void AddMaxSplit(State when) {
    const std::int64_t requested_bytes = GetBytes(found_.facts.requested_bytes);
    if (requested_bytes >= (kMinSplitMiB + 2) << 20U) {
      Add({.kind = Kind::kMaxSplitSize, .bytes = requested_bytes, .when = when});
    }
  }

  void ForFragmentedMessage(const OomMessage& message) {
    const auto names = [&message](std::string_view setting) {
      return std::find(message.advice.begin(), message.advice.end(), setting) !=
             message.advice.end();
    };
    if (message.no_advice) {
      Add({.kind = Kind::kExpandableIsOn, .when = State::kLeftOut});
    } else if (GetPlatform(found_).cuda) {
      AddExpandable(message.wording == OomWording::kTorchUnallocated ? State::kPerhapsOn
                                                                     : State::kOfNewer);
    } else if (names("expandable_segments")) {
      AddExpandable(State::kPlatformMay);
    }
    if (names("max_split_size_mb")) {
      AddMaxSplit(State::kNamed);
    }
  }

  void ForFragmentedSnapshot() {
    const Setting* expandable = SettingNamed(found_, "expandable_segments");
    const bool on = expandable != nullptr && expandable->value == "true";
    if (on) {
      Add({.kind = Kind::kExpandableIsOn});
    } else {
      AddExpandable(expandable != nullptr ? State::kOff : State::kUnknown);
    }
    const Setting* split = SettingNamed(found_, "max_split_size");
    if (split != nullptr && split->value == "-1" && !on) {
      AddMaxSplit(State::kNotSet);
    }
  }

  void ForFull() {
    const auto live = GetLive(found_);
    if (const OomPart* const elsewhere = MostlyElsewhere(found_)) {
      ForHolder(*elsewhere);
      // Others' memory may stay: a little less of one's own would do as well.
      const bool of_others = elsewhere->key == "other" || elsewhere->key == "outside";
      if (!of_others || Lacking() > GetBytes(live)) {
        return;
      }
    }
    if (!live || live->bytes <= 0) {
      return;
    }
    const std::int64_t lacking = Lacking();
    if (lacking > live->bytes) {
      Add({.kind = Kind::kSmallerRequest,
           .bytes = GetBytes(found_.facts.requested_bytes),
           .lacking = lacking});
    } else {
      Add({.kind = Kind::kHoldLess, .bytes = lacking, .lacking = lacking});
    }
  }

  // Where that is most of the device.
  void ForHolder(const OomPart& elsewhere) {
    if (elsewhere.key == "non_framework") {
      Add({.kind = Kind::kFreeOutside, .bytes = elsewhere.bytes});
    } else if (elsewhere.key == "private_pools") {
      Add({.kind = Kind::kFewerPools, .bytes = elsewhere.bytes});
    } else if (!Has(Kind::kEndProcess)) {
      Add({.kind = elsewhere.key == "other" ? Kind::kFindProcesses : Kind::kFindOutside,
           .bytes = elsewhere.bytes});
    }
  }

  [[nodiscard]] std::int64_t Lacking() const {
    const OomReason reason = found_.conclusion.reason;
    return reason == OomReason::kFull || reason == OomReason::kPoolRefused ||
                   reason == OomReason::kLastPage
               ? found_.verdict.short_in_all
               : found_.verdict.short_of_driver;
  }

  [[nodiscard]] std::int64_t OwnBytes() const {
    return SaturatingAdd(GetBytes(found_.facts.live), GetBytes(found_.facts.cached));
  }

  // Which of the processes that a message names is this one: where the message does not say, the
  // smallest that holds at least what PyTorch does. In a container there may be none.
  [[nodiscard]] const OomProcess* Own() const {
    const OomProcess* own = nullptr;
    const std::int64_t held = OwnBytes();
    for (const OomProcess& each : found_.message->others) {
      const bool enough = !found_.message->process && each.used &&
                          SaturatingAdd(each.used->bytes, each.used->precision) >= held;
      own = enough && held > 0 && (own == nullptr || each.used->bytes < own->used->bytes) ? &each
                                                                                          : own;
    }
    return own;
  }

  // Other processes that hold more than was lacking. `first`: those that hold more than this one's
  // allocator, which come before all advice; else the others.
  void OtherProcesses(bool first) {
    if (!found_.message || Lacking() <= 0) {
      return;
    }
    const OomProcess* own = Own();
    for (const OomProcess& each : found_.message->others) {
      if (!each.used || &each == own || each.used->bytes < Lacking() ||
          (each.used->bytes > OwnBytes()) != first) {
        continue;
      }
      OomAdvice end{.kind = Kind::kEndProcess,
                    .bytes = each.used->bytes,
                    .lacking = Lacking(),
                    .pid = each.pid};
      if (const auto& capacity = found_.facts.capacity) {
        end.share = Fraction(each.used->bytes, capacity->bytes);
      }
      Add(std::move(end));
    }
  }

  // Memory that others hold and that alone would have been enough.
  void OtherMemory() {
    const std::int64_t lacking = Lacking();
    if (lacking <= 0 || found_.verdict.why == OomCause::kTooLarge) {
      return;
    }
    const auto enough = [&](std::int64_t bytes, Kind kind) {
      if (bytes >= lacking) {
        Add({.kind = kind, .bytes = bytes, .lacking = lacking});
      }
    };
    if (found_.breakdown) {
      for (const OomPart& part : found_.breakdown->parts) {
        if (&part == MostlyElsewhere(found_)) {
          continue;  // said already
        }
        if (part.key == "non_framework") {
          enough(part.bytes, Kind::kHeldOutside);
        } else if (part.key == "private_pools") {
          enough(part.bytes, Kind::kFreeInGraphPools);
        }
      }
    }
    if (found_.state) {
      enough(found_.state->other_stream_free, Kind::kFreeForOtherStreams);
      enough(found_.state->private_free, Kind::kFreeInPrivatePools);
      enough(found_.state->other_class_free, Kind::kFreeForOtherSizes);
      enough(found_.state->pending, Kind::kFreeLater);
    }
  }

  // It does not show what a kernel has inside, who else holds the device, or makes one buffer
  // smaller.
  [[nodiscard]] bool NoRecordingHelps() const {
    const bool one_piece =
        found_.verdict.why == OomCause::kTooLarge && (found_.verdict.by_wording || IsAbsurd());
    return IsOfKernel() || one_piece ||
           (MostlyElsewhere(found_) != nullptr && !Has(Kind::kHoldLess));
  }

  void Next() {
    if (found_.snapshot) {
      return Add({.kind = found_.unrecorded ? Kind::kRecordFirst : Kind::kLookAtMoment});
    }
    if (!advice_.empty() && NoRecordingHelps()) {
      return;
    }
    if (found_.message && found_.message->wording == OomWording::kHost) {
      return Add({.kind = Kind::kLookAtHost});
    }
    if (const auto& message = found_.message) {
      const bool buffers = message->program && !message->program->buffers.empty();
      if (buffers || (message->pool && !message->pool->chunks.empty())) {
        return Add({.kind = Kind::kLookAtTables, .buffers_listed = buffers});
      }
    }
    if (const auto live = GetLive(found_); live && live->bytes > 0) {
      Add({.kind = Kind::kFindHolders, .bytes = live->bytes});
    } else if (found_.failed) {
      Add({.kind = Kind::kFindWhoHeld});
    }
  }

  const OomCase& found_;
  std::vector<OomAdvice> advice_;
};

}  // namespace

std::vector<OomAdvice> Advise(const OomCase& found) {
  return Adviser(found).Take();
}

}  // namespace memtool
