// The sentences of `memtool oom`.
#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/analysis/values.h"
#include "memtool/profile/sizes.h"
#include "oom_case.h"
#include "rows.h"

namespace memtool::commands {

namespace {

using formats::OomWording;

// Below this share of live data a card is large enough for it.
constexpr double kMuchRoom = 0.75;

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

std::string FreeAndCached(const OomCase& found) {
  const OomVerdict& verdict = found.verdict;
  if (!found.state) {
    return "free + cached is " + FormatSize(verdict.in_all);
  }
  return fmt::format("{} free in the driver + {} in {} free block{} is {}",
                     SizeOf(found.facts.free), FormatSize(found.state->usable_free),
                     FormatCount(found.state->usable_pieces),
                     found.state->usable_pieces == 1 ? "" : "s", FormatSize(verdict.in_all));
}

std::string Fragmentation(const OomCase& found) {
  std::string text = fmt::format(
      "fragmentation: {}, {:.1f}x the request", FreeAndCached(found),
      Share(found.verdict.in_all, std::max<std::int64_t>(BytesOf(found.facts.asked), 1)));
  return text + (found.state ? fmt::format(", but the largest block is {}: in one piece it "
                                           "would fit",
                                           FormatSize(found.state->usable_largest))
                             : ", but no piece fits");
}

std::string Full(const OomCase& found) {
  const std::string where = found.facts.capacity ? "the device is full" : "full";
  return fmt::format("{}: {}, {} less than asked, even in one piece", where, FreeAndCached(found),
                     FormatSize(found.verdict.short_in_all));
}

std::string Limit(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const std::int64_t held = SaturatingAdd(
      SaturatingAdd(BytesOf(facts.live), BytesOf(facts.pending)), BytesOf(facts.cached));
  return fmt::format(
      "limit: PyTorch may take {}, holds {} and asked {} more; the device had {} free",
      SizeOf(facts.limit), FormatSize(held), SizeOf(facts.asked), SizeOf(facts.free));
}

std::string Unexplained(const OomCase& found) {
  if (found.state && found.facts.asked && found.state->usable_largest >= found.facts.asked->bytes) {
    return fmt::format("unexplained: a free block of {} was there for the {} asked",
                       FormatSize(found.state->usable_largest), SizeOf(found.facts.asked));
  }
  return fmt::format(
      "unexplained: the driver said {} free, more than the {} asked; the figures do not tell "
      "why it refused",
      SizeOf(found.facts.free),
      SizeOf(found.facts.wanted ? found.facts.wanted : found.facts.asked));
}

std::string Unknown(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (!facts.asked) {
    return "unknown: the message gives no figures";
  }
  if (!facts.free) {
    return fmt::format("unknown: of the {} asked the message says no more", SizeOf(facts.asked));
  }
  return fmt::format("unknown: the driver was {} short; what the allocator had free is not told",
                     FormatSize(found.verdict.short_of_driver));
}

std::string Why(const OomCase& found) {
  std::string text;
  switch (found.verdict.why) {
    case OomWhy::kFragmentation:
      text = Fragmentation(found);
      break;
    case OomWhy::kFull:
      text = Full(found);
      break;
    case OomWhy::kLimit:
      text = Limit(found);
      break;
    case OomWhy::kUnexplained:
      text = Unexplained(found);
      break;
    case OomWhy::kUnknown:
      return Unknown(found);
  }
  return found.verdict.close ? text + " (close: rounding of the figures could turn this)" : text;
}

// What the verdict rules out.
std::optional<std::string> Not(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const std::int64_t held = SaturatingAdd(BytesOf(facts.live), BytesOf(facts.pending));
  if (found.verdict.why == OomWhy::kFragmentation && found.ladder) {
    const double share = Share(held, found.ladder->whole.bytes);
    if (found.ladder->kind == OomWhole::kCapacity && share <= kMuchRoom) {
      return fmt::format("a small card: live data fills {:.0f}% of it", 100 * share);
    }
    return std::nullopt;
  }
  if (found.verdict.why == OomWhy::kFull) {
    if (!found.state) {
      return fmt::format("fragmentation: with the {} cached in one piece it would not fit",
                         SizeOf(facts.cached));
    }
    return fmt::format("fragmentation: {} of the {} cached can serve this request",
                       FormatSize(found.state->usable_free), FormatSize(found.state->free));
  }
  return std::nullopt;
}

class Adviser {
 public:
  Adviser(const OomCase& found, const std::string& path) : found_(found), path_(path) {}

  std::vector<OomSentence> Take() && {
    Settings();
    if (found_.failed) {
      ForVerdict();
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
      const bool off = setting.value.empty() || setting.value == "false" || setting.value == "0" ||
                       setting.value == "-1" ||
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
    switch (found_.verdict.why) {
      case OomWhy::kFragmentation:
        return ForFragmentation();
      case OomWhy::kFull:
        return ForFull();
      case OomWhy::kLimit:
        return Add("TRY",
                   fmt::format("a higher set_per_process_memory_fraction: the limit is {} of "
                               "{}, the device had {} free",
                               SizeOf(found_.facts.limit), SizeOf(found_.facts.capacity),
                               SizeOf(found_.facts.free)));
      default:
        return;
    }
  }

  void ForFragmentation() {
    const std::int64_t cached =
        found_.state ? found_.state->usable_free : BytesOf(found_.facts.cached);
    const std::string gain =
        fmt::format("so that the {} cached can serve large blocks", FormatSize(cached));
    if (!found_.snapshot) {
      const auto& advice = found_.message->advice;
      const bool knows = found_.message->wording == OomWording::kTorchUnallocated;
      Add("TRY", fmt::format("{}PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, {}{}",
                             knows ? "" : "a PyTorch from 2.1 on with ", gain,
                             knows ? " (a snapshot tells whether it is already on)" : ""));
      if (std::find(advice.begin(), advice.end(), "max_split_size_mb") != advice.end()) {
        Add("TRY", fmt::format("what the message says, max_split_size_mb, below the {} asked",
                               SizeOf(found_.facts.asked)));
      }
      return;
    }
    const Setting* expandable = Find(found_, "expandable_segments");
    if (expandable != nullptr && expandable->value == "true") {
      Add("NOT",
          fmt::format("expandable_segments: it is on already ({} of {} segments can grow)",
                      FormatCount(found_.state->expandable), FormatCount(found_.state->segments)));
    } else if (expandable != nullptr) {
      Add("TRY", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, " + gain + " (it is off)");
    } else {
      Add("TRY", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, " + gain +
                     ", where this PyTorch has it");
    }
    const Setting* split = Find(found_, "max_split_size");
    if (split != nullptr && split->value == "-1" &&
        (expandable == nullptr || expandable->value != "true")) {
      Add("TRY", fmt::format("else max_split_size_mb below the {} asked: it is not set",
                             SizeOf(found_.facts.asked)));
    }
  }

  void ForFull() {
    if (!found_.facts.live) {
      return;
    }
    const std::int64_t lacking = found_.verdict.short_in_all;
    if (lacking > found_.facts.live->bytes) {
      Add("TRY", fmt::format("a smaller request: giving up all {} live would not make room for {}",
                             SizeOf(found_.facts.live), SizeOf(found_.facts.asked)));
      return;
    }
    Add("TRY", fmt::format("to hold {} less of the {} live: a smaller batch, checkpointing, "
                           "sharding, or offloading",
                           FormatSize(lacking), SizeOf(found_.facts.live)));
  }

  // Memory that others hold and that alone would have been enough.
  void OtherMemory() {
    const std::int64_t lacking = found_.verdict.why == OomWhy::kFull
                                     ? found_.verdict.short_in_all
                                     : found_.verdict.short_of_driver;
    if (lacking <= 0) {
      return;
    }
    if (found_.message) {
      for (const formats::OomProcess& process : found_.message->others) {
        // Where the message names no process as its own, one that holds more than PyTorch is it.
        const bool own = !found_.message->process && process.used &&
                         process.used->bytes >= BytesOf(found_.facts.live);
        if (process.used && !own && process.used->bytes >= lacking) {
          Add("TRY",
              fmt::format("ending process {}: it holds {} of this GPU, {} were lacking",
                          process.pid, FormatSize(process.used->bytes), FormatSize(lacking)));
        }
      }
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
    if (found_.facts.live) {
      Add("NEXT", fmt::format("who holds the {}? needs a snapshot: see memtool help recording",
                              SizeOf(found_.facts.live)));
    } else if (found_.failed) {
      Add("NEXT", "who held what? needs a snapshot or a profile: see memtool help recording");
    }
  }

  const OomCase& found_;
  const std::string& path_;
  std::vector<OomSentence> sentences_;
};

}  // namespace

std::string Headline(const OomCase& found) {
  const std::string where = found.where.empty() ? "" : " on " + found.where;
  const OomFacts& facts = found.facts;
  if (!found.failed) {
    return fmt::format("NO OUT-OF-MEMORY EVENT {}{}: {} reserved, {} live at {}",
                       found.elsewhere ? "at this moment" : "in this file", where,
                       FormatSize(found.state->reserved), FormatSize(found.state->live),
                       found.moment);
  }
  std::string text = "OUT OF MEMORY" + where;
  if (!facts.asked) {
    return text + (facts.free ? fmt::format(": driver had {} free", SizeOf(facts.free)) : "");
  }
  text += ": asked " + SizeOf(facts.asked);
  if (!facts.free) {
    return text;
  }
  text += fmt::format(", driver had {} free", SizeOf(facts.free));
  const std::int64_t lacking = found.verdict.short_of_driver;
  if (lacking > 0) {
    text += fmt::format(" ({} short)", FormatSize(lacking));
  }
  return text;
}

std::vector<OomSentence> Reasons(const OomCase& found) {
  std::vector<OomSentence> sentences;
  if (found.failed) {
    sentences.push_back({"WHY", Why(found)});
    if (auto ruled_out = Not(found)) {
      sentences.push_back({"NOT", *std::move(ruled_out)});
    }
    return sentences;
  }
  const OomState& state = *found.state;
  const std::string where =
      state.pieces == 0 && state.free > 0
          ? std::string("in no block that the file lists")
          : fmt::format("in {} piece{}, the largest {}", FormatCount(state.pieces),
                        state.pieces == 1 ? "" : "s", FormatSize(state.largest_free));
  sentences.push_back(
      {"KNOWN", fmt::format("{} of what is reserved is free ({:.2f}%), {}", FormatSize(state.free),
                            100 * Share(state.free, state.reserved), where)});
  return sentences;
}

std::vector<OomSentence> Advice(const OomCase& found, const std::string& path) {
  return Adviser(found, path).Take();
}

}  // namespace memtool::commands
