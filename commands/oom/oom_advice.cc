// What `memtool oom` advises. Each sentence has its number.
#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_case.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

using formats::OomWording;

std::int64_t BytesOf(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->bytes : 0;
}

double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::string SizeOf(const std::optional<Quantity>& quantity) {
  return FormatSize(BytesOf(quantity));
}

// A short path for the shell lines in advice: with spaces or worse it needs quotes, which are the
// shell's business.
std::string Shown(const std::string& path) {
  const bool plain = path.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "._-+=:,@%/") == std::string::npos;
  return plain && !path.empty() ? path : "FILE";
}

const Setting* Find(const OomCase& found, std::string_view name) {
  const auto at = std::find_if(found.settings.begin(), found.settings.end(),
                               [name](const Setting& setting) { return setting.name == name; });
  return at == found.settings.end() ? nullptr : &*at;
}

class Adviser {
 public:
  Adviser(const OomCase& found, const std::string& path) : found_(found), path_(path) {}

  std::vector<OomSentence> Take() && {
    Settings();
    if (found_.failed) {
      OtherProcesses(true);
      ForVerdict();
      OtherProcesses(false);
      OtherMemory();
    } else if (found_.state) {
      FreeForOthers(found_.state->gives);
    }
    Next();
    return std::move(sentences_);
  }

 private:
  void Add(std::string word, std::string text) {
    sentences_.push_back({std::move(word), std::move(text)});
  }

  // Settings that differ from the defaults.
  void Settings() {
    if (!found_.snapshot) {
      return;
    }
    std::string on;
    for (const Setting& setting : found_.settings) {
      const bool off = setting.value.empty() || setting.value == "{}" || setting.value == "false" ||
                       setting.value == "0" || setting.value == "-1" ||
                       (setting.name == "pinned_num_register_threads" && setting.value == "1");
      if (!off && !setting.name.starts_with("roundup_power2_divisions.")) {
        on += (on.empty() ? "" : " · ") + setting.name + " " + setting.value;
      }
    }
    Add("ON", found_.settings.empty()
                  ? "unknown: this snapshot does not tell the allocator's settings"
              : on.empty() ? "nothing: all allocator settings are at their defaults"
                           : on);
  }

  void FreeForOthers(const FreeMemory& gives) {
    if (gives.returnable > 0) {
      Add("TRY", "torch.cuda.empty_cache() would give back " + ReturnableText(gives));
    }
    if (gives.private_pool > 0) {
      Add("NOTE", PrivatePoolText(gives));
    }
  }

  void ForVerdict() {
    const OomFacts& facts = found_.facts;
    switch (found_.verdict.why) {
      case OomWhy::kFragmentation:
        return ForFragmentation();
      case OomWhy::kFull:
        return ForFull();
      case OomWhy::kTooLarge:
        return Add("TRY", facts.asked
                              ? "to divide it: a smaller batch, or shards on several devices"
                              : "printing the sizes that the program computes: a negative "
                                "or unset one becomes such a request");
      case OomWhy::kLimit:
        if (!facts.limit) {
          return Add("TRY",
                     "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0, which lifts the limit; the system "
                     "may run short of memory then");
        }
        Add("TRY", fmt::format("a higher set_per_process_memory_fraction: the limit is {} of "
                               "{}, the device had {} free",
                               SizeOf(facts.limit), SizeOf(facts.capacity), SizeOf(facts.free)));
        if (Cached() >= BytesOf(facts.asked)) {
          ForFragmentation();  // what is cached counts for the limit too
        }
        return;
      default:
        return;
    }
  }

  [[nodiscard]] std::int64_t Cached() const {
    return found_.state ? found_.state->usable_free : BytesOf(found_.facts.cached);
  }

  void ForFragmentation() {
    const std::string gain =
        fmt::format("so that the {} cached can serve large blocks", FormatSize(Cached()));
    if (found_.snapshot) {
      ForFragmentedSnapshot(gain);
    } else {
      ForFragmentedMessage(gain);
    }
  }

  void ForFragmentedMessage(const std::string& gain) {
    const auto names = [this](std::string_view setting) {
      const auto& advice = found_.message->advice;
      return std::find(advice.begin(), advice.end(), setting) != advice.end();
    };
    const OomPlatform platform = PlatformOf(found_);
    const std::string setting = platform.variable + "=expandable_segments:True, " + gain;
    if (!platform.cuda) {
      if (names("expandable_segments")) {
        Add("TRY", setting + ", where this build supports it (others warn and go on without)");
      }
    } else if (found_.message->wording == OomWording::kTorchUnallocated) {
      Add("TRY", setting + " (a snapshot tells whether it is already on)");
    } else {
      Add("TRY", "a PyTorch from 2.1 on with " + setting);
    }
    if (names("max_split_size_mb") && CanSplit()) {
      Add("TRY", fmt::format("what the message says, max_split_size_mb, {}", SplitRange()));
    }
  }

  void ForFragmentedSnapshot(const std::string& gain) {
    const Setting* expandable = Find(found_, "expandable_segments");
    const std::string setting = PlatformOf(found_).variable + "=expandable_segments:True, " + gain;
    if (expandable != nullptr && expandable->value == "true") {
      Add("NOT",
          fmt::format("expandable_segments: it is on already ({} of {} segments can grow)",
                      FormatCount(found_.state->expandable), FormatCount(found_.state->segments)));
    } else {
      Add("TRY",
          setting + (expandable != nullptr ? " (it is off)" : ", where this PyTorch has it"));
    }
    const Setting* split = Find(found_, "max_split_size");
    if (split != nullptr && split->value == "-1" && CanSplit() &&
        (expandable == nullptr || expandable->value != "true")) {
      Add("TRY", fmt::format("else max_split_size_mb {}: it is not set", SplitRange()));
    }
  }

  // PyTorch takes no less than 21 (kLargeBuffer is 20 MiB).
  [[nodiscard]] bool CanSplit() const {
    constexpr std::int64_t kLeast = std::int64_t{22} << 20U;
    return BytesOf(found_.facts.asked) >= kLeast;
  }
  [[nodiscard]] std::string SplitRange() const {
    return fmt::format("above 20 and below the {} asked", SizeOf(found_.facts.asked));
  }

  void ForFull() {
    const auto live = LiveOf(found_);
    if (!live || live->bytes <= 0) {
      return;
    }
    const std::int64_t lacking = found_.verdict.short_in_all;
    if (lacking > live->bytes) {
      Add("TRY", fmt::format("a smaller request: giving up all {} live would not make room for {}",
                             SizeOf(live), SizeOf(found_.facts.asked)));
      return;
    }
    Add("TRY", fmt::format("to hold {} less of the {} live: a smaller batch, checkpointing, "
                           "sharding, or offloading",
                           FormatSize(lacking), SizeOf(live)));
  }

  [[nodiscard]] std::int64_t Lacking() const {
    return found_.verdict.why == OomWhy::kFull ? found_.verdict.short_in_all
                                               : found_.verdict.short_of_driver;
  }

  // The one of the processes that a message names which is its own: where it does not say so, the
  // smallest that holds at least what PyTorch does. In a container it may be none.
  [[nodiscard]] const formats::OomProcess* Own() const {
    const formats::OomProcess* own = nullptr;
    const std::int64_t held =
        SaturatingAdd(BytesOf(found_.facts.live), BytesOf(found_.facts.cached));
    for (const formats::OomProcess& each : found_.message->others) {
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
    const formats::OomProcess* own = Own();
    const std::int64_t held =
        SaturatingAdd(BytesOf(found_.facts.live), BytesOf(found_.facts.cached));
    for (const formats::OomProcess& each : found_.message->others) {
      if (!each.used || &each == own || each.used->bytes < Lacking() ||
          (each.used->bytes > held) != first) {
        continue;
      }
      std::string share =
          found_.facts.capacity
              ? fmt::format(" ({:.0f}% of it)",
                            100 * Share(each.used->bytes, found_.facts.capacity->bytes))
              : std::string();
      Add("TRY", fmt::format("ending process {}: it holds {} of this {}{}, {} were lacking",
                             each.pid, FormatSize(each.used->bytes), PlatformOf(found_).device,
                             share, FormatSize(Lacking())));
    }
  }

  // Memory that others hold and that alone would have been enough.
  void OtherMemory() {
    const std::int64_t lacking = Lacking();
    if (lacking <= 0 || found_.verdict.why == OomWhy::kTooLarge) {
      return;
    }
    const auto enough = [&](std::int64_t bytes, std::string text) {
      if (bytes >= lacking) {
        Add("NOTE", FormatSize(bytes) + " " + std::move(text) + ", " + FormatSize(lacking) +
                        " were lacking");
      }
    };
    if (found_.ladder) {
      for (const OomPart& part : found_.ladder->parts) {
        if (part.key == "non_framework") {
          enough(part.bytes, "of this process lie outside PyTorch's allocator");
        } else if (part.key == "private_pools") {
          enough(part.bytes, "are free in pools of CUDA graphs");
        }
      }
    }
    if (found_.state) {
      enough(found_.state->other_stream_free, "are free for other streams only");
      enough(found_.state->private_free, "are free in pools of CUDA graphs or MemPools");
      enough(found_.state->other_class_free, "are free in segments for blocks of another size");
      enough(found_.state->pending, "wait for a stream to give them up");
    }
  }

  void Next() {
    if (found_.snapshot) {
      const std::string rest = "--at " + found_.at + " " + Shown(path_);
      Add("NEXT", fmt::format("memtool top {} · memtool segments {}", rest, rest));
      return;
    }
    if (found_.message && found_.message->wording == OomWording::kHost) {
      return Add("NEXT", "the kernel's log and the limits of the job (cgroup, ulimit) tell more");
    }
    if (const auto live = LiveOf(found_); live && live->bytes > 0) {
      Add("NEXT", fmt::format("who holds the {}? needs a {}: see memtool help recording",
                              SizeOf(live), IsPool(found_) ? "device memory profile" : "snapshot"));
    } else if (found_.failed) {
      Add("NEXT", "who held what? needs a snapshot or a profile: see memtool help recording");
    }
  }

  const OomCase& found_;
  const std::string& path_;
  std::vector<OomSentence> sentences_;
};

}  // namespace

std::vector<OomSentence> Advice(const OomCase& found, const std::string& path) {
  return Adviser(found, path).Take();
}

}  // namespace memtool::commands
